/* The processes of who serves strangers: see household.h. */
#include "server/household.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rundir.h"
#include "server/concierge.h"
#include "server/crier.h"
#include "server/notary.h"
#include "server/pass.h"
#include "server/port.h"
#include "server/register.h"
#include "server/registrar.h"
#include "wire/client.h"

#define SOON_NS    2000000000ull  /* a front that dies within this time has not served */
#define END_NS     10000000000ull /* that the front and the warden have to end */
#define MOST_FALLS 5
#define SEND_MS    2000

void rf_household_say(const char *what, const char *more)
{
	fprintf(stderr, "ringfort %s: %s%s\n",
		strcmp(program_invocation_short_name, "ringfort-mcp") == 0 ? "mcp" : "serve", what,
		more);
}

void rf_household_fail(struct landlord *l, const struct rf_err *err)
{
	if (!l->why.code)
		l->why = *err;
	rf_loop_stop(l->loop);
}

/* ------------------------------------------------------------- the front */

static void announce(struct landlord *l)
{
	char where[512] = "", path[256] = "";

	if (l->is_announced)
		return;
	l->is_announced = true;
	if (l->options->on_ready) {
		l->options->on_ready(l->options->data, l, l->loop);
		return;
	}
	rf_rundir_path(path, sizeof(path));
	snprintf(where, sizeof(where), "%s/" RF_LANDLORD_SOCKET, path);
	rf_household_say("serves on ", where);
	for (size_t i = 0; i < l->port_count; i++)
		rf_household_say(l->papers.len ? "serves on https://" : "serves on http://",
				 rf_port_name(l->ports[i], where, sizeof(where)));
}

/* It is gone: the boxes that are kept are not, and another one goes on with them. */
static void on_fall(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;

	rf_event_cancel(l->front_event);
	l->front_event = NULL;
	rf_fd_done(&l->front);
	if (l->reg)
		rf_register_lose(l->reg);
	if (l->is_draining) {
		rf_loop_stop(l->loop);
		return;
	}
	l->falls = rf_loop_now() - l->front_since < SOON_NS ? l->falls + 1 : 0;
	if (l->options->on_ready) { /* whom it served does not know another one */
		rf_fail_say(&err, -EIO, "ringfort-front has ended");
		rf_fail_hint(&err, "start it again");
		rf_household_fail(l, &err);
		return;
	}
	if (l->falls >= MOST_FALLS) {
		rf_fail_say(&err, -EIO, "ringfort-front ends as soon as it is started");
		rf_fail_hint(&err, "its own words stand above");
		rf_household_fail(l, &err);
		return;
	}
	rf_household_say("ringfort-front has ended, and is started anew", "");
	if (rf_household_start_front(l, &err) < 0)
		rf_household_fail(l, &err);
}

static void on_front(void *data, int what)
{
	struct landlord *l = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(l->front, RF_WIRE_FRONT, &l->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0) /* also one that speaks nonsense */
		on_fall(l);
	else if (message.type == RF_WIRE_FRONT_KEY)
		rf_concierge_answer(l, &message);
	else if (message.type == RF_WIRE_FRONT_ASK)
		rf_registrar_answer(l, &message);
	else if (message.type == RF_WIRE_HERALD_SPAN)
		rf_crier_pass_span(l->crier, &message);
	else
		announce(l);
}

static int begin_front(struct landlord *l, struct rf_err *err)
{
	const struct rf_pass_rules rules = { (char **)(uintptr_t)l->options->hosts,
					     (char **)(uintptr_t)l->options->origins,
					     l->options->charter &&
						     l->options->charter->collector };
	const struct timeval most = { SEND_MS / 1000, 0 };
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_WIRE_PACKET);
	rf_pass_put_rules(&rules, &body);
	setsockopt(l->front, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (rf_wire_send(l->front, RF_WIRE_FRONT_BEGIN, 0, body.data, body.len, NULL, 0, err) < 0)
		return err->code;
	if (l->papers.len && rf_wire_send(l->front, RF_WIRE_FRONT_TLS, 0, l->papers.data,
					  l->papers.len, NULL, 0, err) < 0)
		return err->code;
	for (size_t i = 0; i < l->port_count; i++)
		if (listen(l->ports[i], SOMAXCONN) < 0 || /* a front before it may have shut it */
		    rf_wire_send(l->front, RF_WIRE_FRONT_LISTEN, 0, NULL, 0, &l->ports[i], 1, err) <
			    0)
			return err->code;
	return 0;
}

int rf_household_start_front(struct landlord *l, struct rf_err *err)
{
	char path[4096];
	const char *const argv[] = { path, l->papers.len ? "--tls" : NULL, NULL };

	snprintf(path, sizeof(path), "%s/ringfort-front", l->options->folder);
	l->front_since = rf_loop_now();
	l->has_guests = false;
	rf_concierge_forget(l);
	if (rf_client_start(path, argv, "front", &l->front, err) < 0)
		return err->code;
	if (begin_front(l, err) < 0)
		return rf_fail_in(err, "ringfort-front");
	return rf_loop_watch(l->loop, l->front, RF_LOOP_READ, on_front, l, &l->front_event, err);
}

void rf_household_renew_papers(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_buf papers;

	if (rf_papers_read(&l->options->papers, &papers, &err) < 0) {
		rf_papers_done(&papers);
		rf_household_say("the certificate stays as it was: ", err.msg);
		return;
	}
	rf_papers_done(&l->papers);
	l->papers = papers;
	if (l->front >= 0 && rf_wire_send(l->front, RF_WIRE_FRONT_TLS, 0, l->papers.data,
					  l->papers.len, NULL, 0, &err) < 0)
		rf_household_say("the front did not hear of the new certificate: ", err.msg);
	else
		rf_household_say("the certificate was read anew", "");
}

/* ------------------------------------------------------------- the clerk */

/* Nothing comes from it but its end.  What it was asked has failed; what it keeps is in files. */
static void on_clerk(void *data, int what)
{
	struct landlord *l = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	rf_event_cancel(l->clerk_event);
	l->clerk_event = NULL;
	rf_fd_done(&l->clerk);
	l->clerk_falls = rf_loop_now() - l->clerk_since < SOON_NS ? l->clerk_falls + 1 : 0;
	if (l->clerk_falls >= MOST_FALLS) {
		rf_fail_say(&err, -EIO, "ringfort-clerk ends as soon as it is started");
		rf_fail_hint(&err, "`ringfort doctor` may know why");
		rf_household_fail(l, &err);
		return;
	}
	rf_household_say("ringfort-clerk has ended, and is started anew", "");
	if (rf_household_start_clerk(l, &err) < 0)
		rf_household_fail(l, &err);
	else
		rf_concierge_renew(l);
}

void rf_household_lend_watcher(void *data)
{
	struct landlord *l = data;
	struct rf_err ignored = RF_ERR_INIT; /* then the clerk says that no watcher stands */
	RF_AUTO_FD int line = -1;

	if (l->clerk >= 0 && l->notary && rf_notary_lend(l->notary, &line, &ignored) == 0)
		rf_wire_send(l->clerk, RF_WIRE_CLERK_WATCHER, 0, NULL, 0, &line, 1, &ignored);
}

int rf_household_start_clerk(struct landlord *l, struct rf_err *err)
{
	const struct timeval most = { SEND_MS / 1000, 0 };
	char path[4096];
	const char *const argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s/ringfort-clerk", l->options->folder);
	l->clerk_since = rf_loop_now();
	if (rf_client_start(path, argv, "clerk", &l->clerk, err) < 0)
		return err->code;
	setsockopt(l->clerk, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	rf_household_lend_watcher(l);
	return rf_loop_watch(l->loop, l->clerk, RF_LOOP_READ, on_clerk, l, &l->clerk_event, err);
}

/* ------------------------------------------------------------- their ends */

/* Nothing more is said to it, so it ends; `end` can be read when it has: its connection, or its process. */
static void see_off(int *fd, int end)
{
	uint64_t until = rf_loop_now() + END_NS;
	char bytes[64];

	if (*fd < 0)
		return;
	shutdown(*fd, SHUT_WR);
	for (uint64_t now = rf_loop_now(); now < until; now = rf_loop_now()) {
		struct pollfd wait = { .fd = end, .events = POLLIN };
		ssize_t got = 0;

		if (poll(&wait, 1, (int)((until - now) / 1000000u) + 1) <= 0)
			continue;
		if (end == *fd)
			got = recv(*fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			break;
	}
	rf_fd_done(fd);
}

void rf_household_end(struct landlord *l)
{
	see_off(&l->front, l->front);
	see_off(&l->clerk, l->clerk);
	see_off(&l->warden, l->warden_process >= 0 ? l->warden_process : l->warden);
	rf_fd_done(&l->warden_process);
	rf_crier_free(l->crier);
	rf_notary_free(l->notary); /* last: it hears of all ends */
}
