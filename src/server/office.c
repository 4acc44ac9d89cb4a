/* The operator's own way to the clerk: see office.h. */
#include "server/office.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pack.h"
#include "server/api-key.h"
#include "server/clerk-terms.h"
#include "wire/door.h"

struct rf_office {
	struct landlord *l;
	int listener;
	struct rf_door door;
	struct rf_buf in;
};

static int refuse(int fd, uint64_t id, const struct rf_err *why, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	rf_pack_err(&body, why);
	return rf_wire_send(fd, RF_WIRE_FRONT_STRANGER, id, body.data, body.len, NULL, 0, err);
}

/*
 * Of all that a clerk can be asked an operator's scope is good for three questions, and its tenant has no part in these; it is nobody's, so that no
 * tenant's questions are before the operator's.
 */
static int connect_to_clerk(const struct landlord *l, int *ret_fd, struct rf_err *err)
{
	const struct rf_clerk_terms terms = {
		.terms = { .key = RF_CLERK_TERMS_OPERATOR,
			   .tenant = "*",
			   .ceiling = rf_api_key_ceiling,
			   .boxes = 1 },
		.scopes = RF_SCOPE_OPERATOR,
	};

	if (l->clerk >= 0)
		return rf_clerk_terms_connect(l->clerk, &terms, ret_fd, err);
	rf_fail_say(err, -EAGAIN, "ringfort-clerk is being started anew");
	return rf_fail_hint(err, "try again in a moment");
}

/* What it came for; then we are done with it. */
static void serve(struct rf_door_visitor *visitor)
{
	const struct rf_office *office = visitor->door->host;
	struct rf_err err = RF_ERR_INIT, ignored = RF_ERR_INIT;
	RF_AUTO_FD int clerk = -1;

	if (rf_door_demand(visitor, &err) < 0 || connect_to_clerk(office->l, &clerk, &err) < 0)
		refuse(visitor->fd, 0, &err, &ignored);
	else
		rf_wire_send(visitor->fd, RF_WIRE_FRONT_CLERK, 0, RF_CLERK_TERMS_OPERATOR,
			     sizeof(RF_CLERK_TERMS_OPERATOR) - 1, &clerk, 1, &ignored);
	rf_door_leave(visitor);
}

static void on_message(void *data, int what)
{
	struct rf_door_visitor *visitor = data;
	struct rf_office *office = visitor->door->host;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(visitor->fd, RF_WIRE_CLIENT, &office->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got > 0 && message.type == RF_WIRE_PROVE)
		rf_door_take_proof(visitor, message.fds[0], &err); /* without one it is refused */
	else if (got > 0 && message.type == RF_WIRE_HELLO)
		serve(visitor);
	else
		rf_door_leave(visitor);
}

/* Who comes says at once what for, and is gone: who stays says nothing, and leaves when others come. */
static const struct rf_door_rules rules = {
	.who = "server",
	.instead = "ask as the user who runs the server, outside of any sandbox",
	.most = 64,
	.size = sizeof(struct rf_door_visitor),
	.has_any_groups = true,
	.is_for_all = true,
	.makes_room = true,
	.on_message = on_message,
	.refuse = refuse,
};

int rf_office_open(struct landlord *l, struct rf_office **ret_office, struct rf_err *err)
{
	struct rf_office *office = calloc(1, sizeof(*office));

	if (!office)
		return rf_fail(err, -ENOMEM, "listen for the operator");
	*office = (struct rf_office){ .l = l, .listener = -1 };
	rf_buf_init(&office->in, RF_WIRE_ROOM);
	rf_door_init(&office->door, &rules, office);
	office->listener = rf_door_listen(l->run, RF_CLERK_TERMS_SOCKET, err);
	if (office->listener < 0 ||
	    rf_door_open(&office->door, l->loop, office->listener, err) < 0) {
		rf_office_close(office);
		return rf_fail_in(err, RF_CLERK_TERMS_SOCKET);
	}
	*ret_office = office;
	return 0;
}

void rf_office_close(struct rf_office *office)
{
	if (!office)
		return;
	rf_door_done(&office->door);
	if (office->listener >= 0)
		unlinkat(office->l->run, RF_CLERK_TERMS_SOCKET, 0);
	rf_fd_done(&office->listener);
	rf_buf_done(&office->in);
	free(office);
}
