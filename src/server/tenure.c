/* A server's warden: see tenure.h. */
#include "server/tenure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/concierge.h"
#include "server/registrar.h"
#include "wire/client.h"
#include "wire/peer.h"

#define HELLO_MS   10000
#define BUSY_MS    5000
#define SOON_NS    2000000000ull /* one that dies within this time has not served */
#define MOST_FALLS 5

static struct rf_wire_own rules_of(const struct landlord *l)
{
	return (struct rf_wire_own){
		.grace_ms = l->options->grace_s * 1000,
		.reserve_bytes = l->options->reserve_bytes,
		.margin_bytes = l->options->margin_bytes,
		.disk_mib = (uint32_t)((l->options->disk_bytes + (1u << 20) - 1) >> 20),
	};
}

/* The answer to OWN is waited for: what there is of boxes is known before anybody is served. */
static int hear_all(struct landlord *l, int fd, struct rf_err *err)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int got;

	do
		got = poll(&wait, 1, HELLO_MS);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return rf_fail_say(err, -ETIMEDOUT, "the warden does not answer");
	got = rf_wire_receive(fd, RF_WIRE_WARDEN, &l->in, &message, err);
	if (got == 0)
		return rf_fail_say(err, -ECONNRESET, "the warden has ended");
	if (got > 0 && message.type == RF_WIRE_REFUSED)
		return rf_wire_refused(&message, err);
	if (got > 0 && message.type == RF_WIRE_NEWS)
		rf_registrar_hear(l, &message);
	return got < 0 ? got : 0;
}

static int own(struct landlord *l, int fd, struct rf_err *err)
{
	struct rf_wire_own rules = rules_of(l);

	if (rf_wire_send(fd, RF_WIRE_OWN, 1, &rules, sizeof(rules), NULL, 0, err) < 0)
		return err->code;
	return hear_all(l, fd, err);
}

static int greet(struct landlord *l, int fd, struct rf_err *err)
{
	struct rf_wire_welcome welcome;

	if (rf_client_hello(fd, HELLO_MS, &welcome, err) < 0)
		return err->code;
	if (strcmp(welcome.version, RF_VERSION) != 0)
		return rf_fail_say(err, -EPROTO,
				   "the warden is of version %s, the server of " RF_VERSION,
				   welcome.version);
	rf_fd_done(&l->warden_process);
	l->warden_process = (int)syscall(SYS_pidfd_open, welcome.pid, 0);
	if (welcome.is_lesser)
		rf_household_say(
			"this machine gives lesser boxes only: requests need `weaker: allow`", "");
	return 0;
}

/* ------------------------------------------------------------- one that is there */

/* -ENOENT, -ECONNREFUSED: none is. */
static int find(struct landlord *l, struct rf_err *err)
{
	struct rf_peer self = { .has_any_groups = true };
	RF_AUTO_FD int fd = -1;
	pid_t pid;
	int code, waited = 0;

	code = rf_client_connect_to(RF_CLIENT_SERVERS, "warden", RF_CLIENT_WAIT_MS, &fd, &pid, err);
	if (code < 0)
		return code;
	if (rf_peer_note_self(&self, err) < 0 ||
	    rf_peer_compare(fd, RF_CLIENT_SERVERS_SELF, "warden", &self, err) < 0 ||
	    greet(l, fd, err) < 0)
		return err->code;
	/* The end of the server before us may not have reached it yet: nobody else is one, we have the lock. */
	while ((code = own(l, fd, err)) == -EBUSY && waited < BUSY_MS) {
		*err = (struct rf_err)RF_ERR_INIT;
		poll(NULL, 0, 20);
		waited += 20;
	}
	if (code == 0)
		l->warden = rf_fd_take(&fd);
	return code;
}

static int start(struct landlord *l, struct rf_err *err)
{
	char path[4096];
	const char *const argv[] = { path, "--private", l->options->on_ready ? NULL : "--lasting",
				     NULL };

	snprintf(path, sizeof(path), "%s/ringfort-warden", l->options->folder);
	if (rf_client_start(path, argv, "warden", &l->warden, err) < 0)
		return err->code;
	if (greet(l, l->warden, err) < 0)
		return err->code;
	return l->options->on_ready ? 0 : own(l, l->warden, err); /* one client's ends with it */
}

/* ------------------------------------------------------------- one that is lost */

static int renew(struct landlord *l, struct rf_err *err);

/* Its boxes are gone, and all connections to it: what the front has of them is taken back, so that it asks anew. */
static void lose(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;

	rf_event_cancel(l->warden_event);
	l->warden_event = NULL;
	rf_fd_done(&l->warden);
	rf_registrar_lose_all(l);
	l->warden_falls = rf_loop_now() - l->warden_since < SOON_NS ? l->warden_falls + 1 : 0;
	if (l->is_draining || l->options->on_ready || l->warden_falls >= MOST_FALLS) {
		rf_fail_say(&err, -EPIPE, "the warden has ended, and all boxes with it");
		rf_fail_hint(&err, "start the server again");
		rf_household_fail(l, &err);
		return;
	}
	rf_household_say("the warden has ended, and all boxes with it: another is started", "");
	if (renew(l, &err) < 0)
		rf_household_fail(l, &err);
}

static void on_warden(void *data, int what)
{
	struct landlord *l = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(l->warden, RF_WIRE_WARDEN, &l->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0)
		lose(l);
	else if (message.type == RF_WIRE_NEWS)
		rf_registrar_hear(l, &message);
	else if (message.type == RF_WIRE_REFUSED && rf_wire_refused(&message, &err))
		rf_household_say(err.msg, ""); /* what was wrong with the terms of a connection */
}

static int watch(struct landlord *l, struct rf_err *err)
{
	l->warden_since = rf_loop_now();
	return rf_loop_watch(l->loop, l->warden, RF_LOOP_READ, on_warden, l, &l->warden_event, err);
}

static int renew(struct landlord *l, struct rf_err *err)
{
	if (start(l, err) < 0 || watch(l, err) < 0)
		return err->code;
	rf_concierge_revoke_all(l);
	return l->has_guests ? rf_concierge_welcome_guests(l, err) : 0;
}

/* ------------------------------------------------------------- the whole */

int rf_tenure_begin(struct landlord *l, struct rf_err *err)
{
	struct rf_err why = RF_ERR_INIT;
	int code = l->options->on_ready ? -ENOENT : find(l, &why);

	if (code == 0) {
		rf_household_say("goes on with the sandboxes of the server before it", "");
		return watch(l, err);
	}
	if (code != -ENOENT && code != -ECONNREFUSED) {
		rf_household_say("sandboxes of a server before it are not taken over: ", why.msg);
		rf_household_say("they end when their grace is over", "");
	}
	return start(l, err) < 0 ? err->code : watch(l, err);
}

void rf_tenure_end(struct landlord *l, bool is_kept)
{
	struct rf_wire_own rules = { .grace_ms = 0 };
	struct rf_err ignored = RF_ERR_INIT;

	if (l->warden < 0 || l->options->on_ready)
		return;
	if (!is_kept)
		rf_wire_send(l->warden, RF_WIRE_OWN, 0, &rules, sizeof(rules), NULL, 0, &ignored);
	else
		rf_fd_done(&l->warden); /* its grace begins */
}
