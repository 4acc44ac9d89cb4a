/* The gateway of one run: see egress.h. */
#include "cli/egress.h"

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
#include "cli/cmd.h"
#include "cli/trust.h"
#include "policy/net.h"
#include "policy/policy.h"

#define BACKLOG 64 /* connections that wait to be taken in, for each published port */

void rf_egress_init(struct rf_egress *egress)
{
	*egress = (struct rf_egress){ 0 };
	rf_outward_init(&egress->outward);
}

/* The gateway and the box must be told of one name. */
static int choose_id(struct rf_egress *egress, struct rf_err *err)
{
	unsigned char random[8];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return rf_fail(err, -errno, "random bytes");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(egress->id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* A port of the host's that will lead to one of the box's; taken before anything else is done. */
static int publish(struct rf_egress *egress, const struct rf_net_publish *port, struct rf_err *err)
{
	struct rf_outward *outward = &egress->outward;
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
	if (outward->port_count == RF_OUTWARD_PORTS)
		return rf_fail_say(err, -E2BIG, "network.publish: more than %d ports",
				   RF_OUTWARD_PORTS);
	fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
		 is_v4 ? sizeof(v4) : sizeof(v6)) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		rf_fail(err, -errno, "publish port %u on %s", port->port, text);
		return rf_fail_hint(err, "choose another one: --publish OTHER:%u", port->inside);
	}
	outward->ports[outward->port_count].inside = port->inside;
	outward->ports[outward->port_count++].listener = rf_fd_take(&fd);
	return 0;
}

static int publish_all(struct rf_egress *egress, const struct rf_net *net, struct rf_err *err)
{
	for (size_t i = 0; net && i < net->publish_count; i++)
		if (publish(egress, &net->publish[i], err) < 0)
			return err->code;
	return 0;
}

static int ask(struct rf_egress *egress, const struct rf_request *request,
	       enum rf_egress_writes writes, struct rf_err *err)
{
	struct rf_gate_credential credentials[RF_MAX_CREDENTIALS];
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_gate_open open = {
		.box = egress->id,
		.agent = request->plan->agent ? request->plan->agent : "",
		.holds_writes = writes == RF_EGRESS_HOLDS,
		.looks_everywhere = writes == RF_EGRESS_RELEASES,
	};

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	rf_policy_format_net(request->policy, &policy);
	if (policy.has_failed)
		return rf_fail(err, -ENOMEM, "a policy's text");
	for (size_t i = 0; i < request->purse.count; i++) {
		const struct rf_purse_item *item = &request->purse.items[i];

		credentials[i] =
			(struct rf_gate_credential){ item->name, item->value, item->placeholder };
	}
	open.credentials = credentials;
	open.credential_count = request->purse.count;
	open.policy = policy.data ? policy.data : "";
	return rf_gate_ask(egress->outward.fd, egress->outward.box, &open, err);
}

/* What the gateway presents for others must be believed inside. */
static int bring_trust(struct rf_egress *egress, struct rf_request *request,
		       enum rf_egress_writes writes, struct rf_err *err)
{
	const struct rf_place *places;
	size_t count;

	if (writes == RF_EGRESS_RELEASES || !request->plan->net ||
	    !(request->plan->net->needs_tls || writes == RF_EGRESS_HOLDS))
		return 0;
	if (rf_outward_await(&egress->outward, err) < 0)
		return err->code;
	if (!egress->outward.pem[0])
		return 0;
	if (rf_trust_new(egress->outward.pem, &egress->trust, err) < 0 ||
	    rf_trust_set(egress->trust, request->policy, err) < 0)
		return err->code;
	places = rf_trust_places(egress->trust, &count);
	return rf_request_bring(request, places, count, err);
}

int rf_egress_begin(struct rf_egress *egress, struct rf_request *request,
		    enum rf_egress_writes writes, struct rf_run_options *options,
		    struct rf_err *err)
{
	char program[4096];

	if (request->plan->link != RF_LINK_GATEWAY)
		return 0;
	if (options && publish_all(egress, request->plan->net, err) < 0)
		return err->code;
	rf_cmd_find("ringfort-gateway", program, sizeof(program));
	if (choose_id(egress, err) < 0 || rf_gate_start(program, &egress->outward.fd, err) < 0 ||
	    ask(egress, request, writes, err) < 0 || bring_trust(egress, request, writes, err) < 0)
		return rf_fail_in(err, "the network");
	if (options) {
		options->id = egress->id;
		options->outward = &egress->outward;
	}
	return 0;
}

void rf_egress_done(struct rf_egress *egress)
{
	rf_outward_done(&egress->outward);
	rf_trust_free(egress->trust);
	egress->trust = NULL;
}
