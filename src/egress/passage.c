/* The client's side of a box's way out: see passage.h. */
#include "egress/passage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/own-file.h"
#include "wire/gate.h"

#define BACKLOG 64 /* connections that wait to be taken in, for each published port */

bool rf_passage_join(rf_peer_self_fn *self, bool has_masks, int *ret_fd)
{
	struct rf_err why = RF_ERR_INIT;

	return !has_masks && rf_gate_connect(self, ret_fd, &why) == 0;
}

int rf_passage_reach(const char *program, bool may_stand, bool has_masks, int *ret_fd,
		     struct rf_err *err)
{
	if (may_stand && rf_passage_join(NULL, has_masks, ret_fd))
		return 0;
	return rf_gate_start(program, has_masks, ret_fd, err);
}

int rf_passage_name(char id[RF_PASSAGE_ID], struct rf_err *err)
{
	unsigned char random[(RF_PASSAGE_ID - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return rf_fail(err, -errno, "random bytes");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

int rf_passage_bind(const struct rf_net_publish *port, int *ret_fd, struct rf_err *err)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port->port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port->port) };
	const int on = 1;
	char text[INET6_ADDRSTRLEN] = "";
	bool is_v4;
	RF_AUTO_FD int fd = -1;

	memcpy(&v6.sin6_addr, port->address, sizeof(v6.sin6_addr));
	memcpy(&v4.sin_addr, port->address + 12, sizeof(v4.sin_addr));
	is_v4 = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
	inet_ntop(is_v4 ? AF_INET : AF_INET6,
		  is_v4 ? (const void *)&v4.sin_addr : (const void *)&v6.sin6_addr, text,
		  sizeof(text));
	fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
		 is_v4 ? sizeof(v4) : sizeof(v6)) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		rf_fail(err, -errno, "publish port %u on %s", port->port, text);
		return rf_fail_hint(err, "choose another one: --publish OTHER:%u", port->inside);
	}
	*ret_fd = rf_fd_take(&fd);
	return 0;
}

/* What nobody has a reason to send anywhere. */
static int list_canaries(const struct rf_plan *plan, struct rf_gate_canary *canaries,
			 char (*values)[RF_CANARY_VALUE], size_t *ret_count, struct rf_err *err)
{
	size_t count = 0;

	for (; plan->canaries && plan->canaries[count]; count++) {
		if (count == RF_GATE_CANARIES)
			return rf_fail_say(err, -E2BIG, "files.canaries: more than %d",
					   RF_GATE_CANARIES);
		rf_canary_value(plan->seed, count, values[count]);
		canaries[count] = (struct rf_gate_canary){ plan->canaries[count], values[count] };
	}
	*ret_count = count;
	return 0;
}

/* The policy's own roots, one file behind the other.  Who could change such a file could pose as every server, so it is the caller's own. */
static int read_roots(const struct rf_policy *policy, struct rf_buf *roots, struct rf_err *err)
{
	const char *path;

	for (size_t i = 0; (path = rf_policy_root(policy, i)); i++) {
		RF_AUTO_BUF struct rf_buf text = { 0 };
		int code = rf_own_file_read(path, RF_GATE_ROOTS - 1, &text, err);

		if (code == -ENOENT)
			return rf_fail_say(err, code, "network.roots: there is no file %s", path);
		if (code < 0)
			return rf_fail_in(err, "network.roots");
		if (!text.data || !strstr(text.data, "-----BEGIN CERTIFICATE-----"))
			return rf_fail_say(err, -EINVAL,
					   "network.roots: no certificate in PEM in %s", path);
		rf_buf_add(roots, text.data, text.len);
		rf_buf_puts(roots, "\n");
	}
	if (roots->has_failed)
		return rf_fail_say(err, -EFBIG, "network.roots: more than %d bytes together",
				   RF_GATE_ROOTS - 1);
	return 0;
}

int rf_passage_ask(int fd, const struct rf_passage_wish *wish, struct rf_err *err)
{
	struct rf_gate_credential credentials[RF_MAX_CREDENTIALS];
	struct rf_gate_canary canaries[RF_GATE_CANARIES];
	char values[RF_GATE_CANARIES][RF_CANARY_VALUE];
	RF_AUTO_BUF struct rf_buf policy, roots;
	struct rf_gate_open open = {
		.box = wish->id,
		.agent = wish->agent ? wish->agent : "",
		.credentials = credentials,
		.credential_count = wish->purse->count,
		.canaries = canaries,
		.holds_writes = wish->holds_writes,
		.looks_everywhere = wish->looks_everywhere,
	};

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	rf_buf_init(&roots, RF_GATE_ROOTS - 1);
	if (read_roots(wish->policy, &roots, err) < 0)
		return err->code;
	open.roots = roots.data;
	rf_policy_format_net(wish->policy, &policy);
	if (policy.has_failed)
		return rf_fail(err, -ENOMEM, "a policy's text");
	for (size_t i = 0; i < wish->purse->count; i++) {
		const struct rf_purse_item *item = &wish->purse->items[i];

		credentials[i] =
			(struct rf_gate_credential){ item->name, item->value, item->placeholder };
	}
	open.policy = policy.data ? policy.data : "";
	if (wish->decoys &&
	    list_canaries(wish->decoys, canaries, values, &open.canary_count, err) < 0)
		return err->code;
	return rf_gate_ask(fd, RF_PASSAGE_BOX, &open, err);
}
