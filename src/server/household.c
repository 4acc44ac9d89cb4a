/* The processes of who serves strangers: see household.h. */
#include "server/household.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
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
#define STUCK_NS   10000000000ull /* a front that has taken nothing for so long serves nobody */
#define DEAD_MS    5000           /* that who was killed has to be gone */

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

void rf_household_withdraw(const struct landlord *l, const char *key)
{
	const int told[] = { l->warden, l->clerk };

	/* Each, whether or not the other could be told. */
	for (size_t i = 0; i < RF_LEN(told); i++) {
		struct rf_err err = RF_ERR_INIT;

		if (told[i] >= 0 &&
		    rf_wire_send(told[i], RF_WIRE_WITHDRAW, 0, key, strlen(key), NULL, 0, &err) < 0)
			rf_household_say(err.msg, "");
	}
}

/* Whether it has ended by itself or only hung up: nothing of it runs from here on. */
static void kill_front(struct landlord *l)
{
	struct pollfd end = { .fd = l->front_process, .events = POLLIN };

	if (l->front_pid <= 0)
		return;
	if (l->front_process >= 0)
		rf_kernel_signal(l->front_process, 0, SIGKILL);
	else
		kill(l->front_pid, SIGKILL);
	if (l->front_process >= 0 && poll(&end, 1, DEAD_MS) <= 0)
		rf_household_say("ringfort-front was killed, and is not gone yet", "");
	else
		waitpid(l->front_pid, NULL, __WALL);
	rf_fd_done(&l->front_process);
	l->front_pid = 0;
}

/* What it has of connections it may have given to others: so these end, too. */
static void end_front(struct landlord *l)
{
	rf_event_cancel(l->front_event);
	l->front_event = NULL;
	rf_outbox_done(&l->to_front);
	rf_fd_done(&l->front);
	kill_front(l);
	rf_household_withdraw(l, "");
}

/* It is gone: the boxes that are kept are not, and another one goes on with them. */
static void on_fall(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;

	end_front(l);
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

int rf_household_tell_front(struct landlord *l, enum rf_wire_type type, uint64_t id,
			    const void *body, size_t len, const int *fds, size_t fd_count,
			    struct rf_err *err)
{
	int code = rf_outbox_send(&l->to_front, type, id, body, len, fds, fd_count, err);

	if (l->front_event && l->to_front.count > 0)
		rf_event_want(l->front_event, RF_LOOP_READ | RF_LOOP_WRITE);
	return code;
}

void rf_household_look_after_front(struct landlord *l)
{
	const struct rf_outbox *box = &l->to_front;

	if (l->front < 0 ||
	    (!box->is_full && (!box->stuck_ns || rf_loop_now() - box->stuck_ns < STUCK_NS)))
		return;
	rf_household_say("ringfort-front does not read, and is killed", "");
	on_fall(l);
}

static void on_front(void *data, int what)
{
	struct landlord *l = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got;

	if (what & RF_LOOP_WRITE && rf_outbox_flush(&l->to_front))
		rf_event_want(l->front_event, RF_LOOP_READ);
	got = rf_wire_receive(l->front, RF_WIRE_FRONT, &l->in, &message, &err);
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
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_WIRE_PACKET);
	rf_pass_put_rules(&rules, &body);
	if (rf_household_tell_front(l, RF_WIRE_FRONT_BEGIN, 0, body.data, body.len, NULL, 0, err) <
	    0)
		return err->code;
	if (l->papers.len && rf_household_tell_front(l, RF_WIRE_FRONT_TLS, 0, l->papers.data,
						     l->papers.len, NULL, 0, err) < 0)
		return err->code;
	for (size_t i = 0; i < l->port_count; i++)
		if (listen(l->ports[i], SOMAXCONN) < 0 || /* a front before it may have shut it */
		    rf_household_tell_front(l, RF_WIRE_FRONT_LISTEN, 0, NULL, 0, &l->ports[i], 1,
					    err) < 0)
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
	if (rf_client_start_child(path, argv, "front", &l->front, &l->front_pid, &l->front_process,
				  err) < 0)
		return err->code;
	if (fcntl(l->front, F_SETFL, O_NONBLOCK) < 0)
		return rf_fail(err, -errno, "ringfort-front");
	rf_outbox_init(&l->to_front, l->front);
	if (begin_front(l, err) < 0)
		return rf_fail_in(err, "ringfort-front");
	return rf_loop_watch(l->loop, l->front,
			     RF_LOOP_READ | (l->to_front.count > 0 ? RF_LOOP_WRITE : 0), on_front,
			     l, &l->front_event, err);
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
	if (l->front >= 0 && rf_household_tell_front(l, RF_WIRE_FRONT_TLS, 0, l->papers.data,
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
	rf_outbox_done(&l->to_front);
	see_off(&l->front, l->front);
	kill_front(l);
	see_off(&l->clerk, l->clerk);
	see_off(&l->warden, l->warden_process >= 0 ? l->warden_process : l->warden);
	rf_fd_done(&l->warden_process);
	rf_crier_free(l->crier);
	rf_notary_free(l->notary); /* last: it hears of all ends */
}
