/* The operator's own way to the clerk: see office.h. */
#include "server/office.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pack.h"
#include "server/api-key.h"
#include "server/clerk-terms.h"
#include "wire/door.h"

#define VISITORS 16 /* at once */

struct visitor {
	struct visitor *next;
	struct rf_office *office;
	struct rf_event *event;
	int fd;
	bool is_proven; /* of root's: it is in no sandbox */
};

struct rf_office {
	struct landlord *l;
	struct rf_event *event;
	int listener;
	struct visitor *visitors;
	size_t count;
	struct rf_buf in;
};

static void leave(struct visitor *visitor)
{
	struct rf_office *office = visitor->office;
	struct visitor **at = &office->visitors;

	while (*at && *at != visitor)
		at = &(*at)->next;
	if (*at)
		*at = visitor->next;
	rf_event_cancel(visitor->event);
	rf_wire_close(&visitor->fd);
	office->count--;
	free(visitor);
}

static void refuse(int fd, const struct rf_err *why)
{
	struct rf_err ignored = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	rf_pack_err(&body, why);
	rf_wire_send(fd, RF_WIRE_FRONT_STRANGER, 0, body.data, body.len, NULL, 0, &ignored);
}

/* Of all that a clerk can be asked an operator's scope is good for three questions, and its tenant has no part in these. */
static int connect_to_clerk(const struct landlord *l, int *ret_fd, struct rf_err *err)
{
	const struct rf_clerk_terms terms = {
		.terms = { .key = RF_CLERK_TERMS_OPERATOR,
			   .tenant = "local",
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
static void serve(struct visitor *visitor)
{
	struct rf_err err = RF_ERR_INIT, ignored = RF_ERR_INIT;
	RF_AUTO_FD int clerk = -1;

	if (geteuid() == 0 && !visitor->is_proven)
		rf_fail_say(&err, -EXDEV, "whoever asks may be in a sandbox");
	else
		connect_to_clerk(visitor->office->l, &clerk, &err);
	if (err.code)
		refuse(visitor->fd, &err);
	else
		rf_wire_send(visitor->fd, RF_WIRE_FRONT_CLERK, 0, RF_CLERK_TERMS_OPERATOR,
			     sizeof(RF_CLERK_TERMS_OPERATOR) - 1, &clerk, 1, &ignored);
	leave(visitor);
}

static void on_message(void *data, int what)
{
	struct visitor *visitor = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got =
		rf_wire_receive(visitor->fd, RF_WIRE_CLIENT, &visitor->office->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got > 0 && message.type == RF_WIRE_PROVE)
		visitor->is_proven = rf_peer_is_proof(message.fds[0]);
	else if (got > 0 && message.type == RF_WIRE_HELLO)
		serve(visitor);
	else
		leave(visitor);
}

static void on_visitor(void *data, int what)
{
	struct rf_office *office = data;
	struct sockaddr_storage who; /* nobody: its socket has no name */
	socklen_t len = sizeof(who);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int fd = accept4(office->listener, (struct sockaddr *)&who, &len,
				    SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct visitor *visitor;

	(void)what;
	if (fd < 0)
		return;
	if (rf_peer_check_free(fd, &office->l->self, "server", &err) < 0) {
		refuse(fd, &err);
		rf_wire_close(&fd);
		return;
	}
	visitor = office->count < VISITORS ? calloc(1, sizeof(*visitor)) : NULL;
	if (!visitor)
		return;
	*visitor = (struct visitor){ .next = office->visitors, .office = office, .fd = -1 };
	office->visitors = visitor;
	office->count++;
	visitor->fd = rf_fd_take(&fd);
	if (rf_loop_watch(office->l->loop, visitor->fd, RF_LOOP_READ, on_message, visitor,
			  &visitor->event, &err) < 0)
		leave(visitor);
}

int rf_office_open(struct landlord *l, struct rf_office **ret_office, struct rf_err *err)
{
	struct rf_office *office = calloc(1, sizeof(*office));

	if (!office)
		return rf_fail(err, -ENOMEM, "listen for the operator");
	*office = (struct rf_office){ .l = l, .listener = -1 };
	rf_buf_init(&office->in, RF_WIRE_ROOM);
	office->listener = rf_door_listen(l->run, RF_CLERK_TERMS_SOCKET, err);
	if (office->listener < 0 || rf_loop_watch(l->loop, office->listener, RF_LOOP_READ,
						  on_visitor, office, &office->event, err) < 0) {
		rf_office_close(office);
		return rf_fail_in(err, RF_CLERK_TERMS_SOCKET);
	}
	*ret_office = office;
	return 0;
}

void rf_office_close(struct rf_office *office)
{
	struct visitor *next;

	if (!office)
		return;
	for (struct visitor *visitor = office->visitors; visitor; visitor = next) {
		next = visitor->next;
		leave(visitor);
	}
	rf_event_cancel(office->event);
	if (office->listener >= 0)
		unlinkat(office->l->run, RF_CLERK_TERMS_SOCKET, 0);
	rf_fd_done(&office->listener);
	rf_buf_done(&office->in);
	free(office);
}
