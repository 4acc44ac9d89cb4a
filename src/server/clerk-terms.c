/* What is said to a server's clerk: see clerk-terms.h. */
#include "server/clerk-terms.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pack.h"
#include "wire/wire.h"

#define SCOPES 16 /* above all bits of enum rf_scope */

void rf_clerk_terms_pack(const struct rf_clerk_terms *terms, struct rf_buf *out)
{
	rf_pack_u32(out, terms->scopes);
	rf_pack_u32(out, terms->rate);
	rf_terms_pack(&terms->terms, out);
}

int rf_clerk_terms_unpack(const void *data, size_t len, struct rf_clerk_terms *ret_terms,
			  struct rf_err *err)
{
	struct rf_clerk_terms terms;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	terms.scopes = rf_pack_read_below(&in, SCOPES);
	terms.rate = rf_pack_read_u32(&in);
	if (in.has_failed || !terms.scopes)
		return rf_fail_say(err, -EBADMSG, "the terms of a connection are malformed");
	if (rf_terms_unpack(in.at, (size_t)(in.end - in.at), &terms.terms, err) < 0)
		return err->code;
	*ret_terms = terms;
	return 0;
}

void rf_clerk_terms_pack_ask(const struct rf_clerk_ask *ask, struct rf_buf *out)
{
	rf_pack_u32(out, ask->question);
	rf_buf_add(out, ask->body, ask->len);
}

int rf_clerk_terms_unpack_ask(const void *data, size_t len, struct rf_clerk_ask *ret_ask,
			      struct rf_err *err)
{
	struct rf_pack_reader in;
	uint32_t question;

	rf_pack_read_init(&in, data, len);
	question = rf_pack_read_below(&in, RF_CLERK_QUESTIONS);
	if (in.has_failed || question == 0)
		return rf_fail_say(err, -EBADMSG, "a question that there is not");
	*ret_ask = (struct rf_clerk_ask){ (enum rf_clerk_question)question, in.at,
					  (size_t)(in.end - in.at) };
	return 0;
}

int rf_clerk_terms_connect(int clerk, const struct rf_clerk_terms *terms, int *ret_fd,
			   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;
	int pair[2], code;

	rf_buf_init(&body, RF_TERMS_BYTES);
	rf_clerk_terms_pack(terms, &body);
	if (body.has_failed)
		return rf_fail_say(err, -E2BIG, "the ceiling of key %.60s is too long",
				   terms->terms.key);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	code = rf_wire_send(clerk, RF_WIRE_CLERK_TERMS, 0, body.data, body.len, &pair[1], 1, err);
	if (code == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
	return code;
}
