/* Connections to ports inside a kept box: see reach.h. */
#include "warden/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "jail/task.h"
#include "wire/wire.h"

#define MOST 256 /* of one box, that pid 1 has not answered */

struct rf_reach {
	struct rf_reach_list *list;
	struct rf_reach *next, **at;
	uint32_t number, port;
	struct rf_reach_line line;
};

void rf_reach_drop(struct rf_reach *reach)
{
	*reach->at = reach->next;
	if (reach->next)
		reach->next->at = reach->at;
	reach->list->count--;
	*reach->line.holder = NULL;
	free(reach);
}

/* Who does not read its answer does not get it. */
static void refuse(struct rf_reach *reach, const struct rf_err *why)
{
	struct rf_err ignored;

	rf_wire_refuse(reach->line.fd, reach->line.id, why, &ignored);
	rf_reach_drop(reach);
}

int rf_reach_ask(struct rf_reach_list *list, int channel, uint32_t number, uint32_t port,
		 const struct rf_reach_line *line, struct rf_err *err)
{
	struct rf_reach *reach;
	int code;

	if (port < 1 || port > UINT16_MAX)
		return rf_fail_say(err, -EINVAL, "REACH: there is no port %u", port);
	if (list->count >= MOST) {
		rf_fail_say(err, -EAGAIN, "%d connections to the box wait already", MOST);
		return rf_fail_hint(err, "try again later");
	}
	reach = calloc(1, sizeof(*reach));
	if (!reach)
		return rf_fail(err, -ENOMEM, "reach a port");
	code = rf_task_reach(channel, number, (uint16_t)port);
	if (code < 0) {
		free(reach);
		return rf_fail(err, code, "ask pid 1 for a connection");
	}
	*reach = (struct rf_reach){ .list = list,
				    .next = list->first,
				    .at = &list->first,
				    .number = number,
				    .port = port,
				    .line = *line };
	if (reach->next)
		reach->next->at = &reach->next;
	list->first = reach;
	list->count++;
	*line->holder = reach;
	return 0;
}

/* Pid 1 shares the box with strangers: what it hands over is a connection of TCP that does not block, or is not passed on. */
static int check(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    (domain != AF_INET && domain != AF_INET6) || type != SOCK_STREAM)
		return -EPROTO;
	return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

void rf_reach_hear(struct rf_reach_list *list, const struct rf_report *report, int *fd)
{
	struct rf_reach *reach = list->first;
	struct rf_err err = RF_ERR_INIT;
	int code = report->code == 0  ? check(*fd)
		   : report->code > 0 ? -report->code
				      : -EPROTO; /* pid 1 is in the box: it is not believed */

	while (reach && reach->number != report->number)
		reach = reach->next;
	if (!reach)
		return;
	if (code < 0) {
		rf_fail_say(&err, code == -ECONNREFUSED ? code : -EHOSTUNREACH,
			    code == -ECONNREFUSED ? "nothing listens on port %u of the box"
						  : "port %u of the box can't be reached",
			    reach->port);
		refuse(reach, &err);
		return;
	}
	rf_wire_send(reach->line.fd, RF_WIRE_REACHED, reach->line.id, NULL, 0, fd, 1, &err);
	rf_reach_drop(reach);
}

void rf_reach_done(struct rf_reach_list *list)
{
	struct rf_err err = RF_ERR_INIT;

	rf_fail_say(&err, -ESRCH, "the box has just ended");
	for (struct rf_reach *reach = list->first, *next; reach; reach = next) {
		next = reach->next;
		refuse(reach, &err);
	}
}
