/* The terms of a connection to a warden: see terms.h. */
#include "wire/terms.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pack.h"
#include "wire/wire.h"

void rf_terms_pack(const struct rf_terms *terms, struct rf_buf *out)
{
	rf_pack_string(out, terms->key);
	rf_pack_string(out, terms->tenant);
	rf_pack_string(out, terms->ceiling);
	rf_pack_u32(out, terms->boxes);
	rf_pack_bool(out, terms->is_recorded);
	rf_pack_u64(out, terms->sums.memory);
	rf_pack_u64(out, terms->sums.cpu);
	rf_pack_u64(out, terms->sums.disk);
	rf_pack_u64(out, terms->sums.storage);
	rf_pack_u64(out, terms->sums.files);
}

int rf_terms_unpack(const void *data, size_t len, struct rf_terms *ret_terms, struct rf_err *err)
{
	struct rf_terms terms;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	terms.key = rf_pack_read_string(&in, RF_TERMS_NAME);
	terms.tenant = rf_pack_read_string(&in, RF_TERMS_NAME);
	terms.ceiling = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES + 1);
	terms.boxes = rf_pack_read_below(&in, RF_TERMS_BOXES + 1);
	terms.is_recorded = rf_pack_read_bool(&in);
	terms.sums.memory = rf_pack_read_u64(&in);
	terms.sums.cpu = rf_pack_read_u64(&in);
	terms.sums.disk = rf_pack_read_u64(&in);
	terms.sums.storage = rf_pack_read_u64(&in);
	terms.sums.files = rf_pack_read_u64(&in);
	if (!rf_pack_is_whole(&in) || !terms.key[0] || !terms.tenant[0] || terms.boxes == 0)
		return rf_fail_say(err, -EBADMSG, "the terms of a connection are malformed");
	*ret_terms = terms;
	return 0;
}

int rf_terms_ask(int warden, const struct rf_terms *terms, int *ret_fd, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;
	int pair[2], code;

	rf_buf_init(&body, RF_TERMS_BYTES);
	rf_terms_pack(terms, &body);
	if (body.has_failed)
		return rf_fail_say(err, -E2BIG, "the ceiling of key %.60s is too long", terms->key);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	code = rf_wire_send(warden, RF_WIRE_BOUND, 0, body.data, body.len, &pair[1], 1, err);
	if (code == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
	return code;
}
