/* Who serves strangers: see landlord.h. */
#include "server/landlord.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rundir.h"
#include "server/api-key.h"
#include "server/concierge.h"
#include "server/crier.h"
#include "server/household.h"
#include "server/notary.h"
#include "server/office.h"
#include "server/port.h"
#include "server/register.h"
#include "server/tenure.h"
#include "wire/door.h"

#define GUESTS   256            /* that the front has not heard of yet */
#define LOOK_NS  500000000ull   /* how often it is looked which keys are left */
#define TIDY_NS  10000000000ull /* how often what the register need not know any more goes */
#define SAY_NS   10000000000ull /* how often it is said that somebody needs a key */
#define GONE_NS  2000000000ull
#define DRAIN_NS 30000000000ull /* what was asked may take so long to be answered */

/* ------------------------------------------------------------- local clients */

static bool is_own_user(int fd)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/* Who tries again and again does not fill a log. */
static void complain(struct landlord *l, const struct rf_err *why)
{
	if (l->said_ns && rf_loop_now() - l->said_ns < SAY_NS)
		return;
	l->said_ns = rf_loop_now();
	rf_household_say("somebody on " RF_LANDLORD_SOCKET " needs a key: ", why->msg);
}

/* Guests of a front that is slow wait to be accepted. */
static bool has_room(const struct landlord *l)
{
	return l->to_front.count < GUESTS;
}

static void on_guest(void *data, int what)
{
	struct landlord *l = data;
	struct sockaddr_storage who; /* nobody: its socket has no name */
	socklen_t len = sizeof(who);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int fd =
		accept4(l->local, (struct sockaddr *)&who, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool has_no_descriptor = fd < 0 && (errno == EMFILE || errno == ENFILE);
	uint64_t id = 0;
	pid_t pid;

	(void)what;
	if (has_no_descriptor || !has_room(l))
		rf_event_want(l->local_event, 0); /* on_timer() looks again: they wait meanwhile */
	if (fd < 0 || l->front < 0 || !is_own_user(fd))
		return;
	/*
	 * Its uid alone would not do: a process in a sandbox of the same user's could have here what the sandbox is to keep from it.  Such a one is a stranger, as on a
	 * port: with a key it is served under the key's ceiling.
	 */
	if (rf_peer_check_free(fd, &l->self, "server", &pid, &err) < 0) {
		complain(l, &err);
		id = RF_PASS_CONFINED;
	}
	if ((!id && !l->has_guests && rf_concierge_welcome_guests(l, &err) < 0) ||
	    rf_household_tell_front(l, RF_WIRE_FRONT_GUEST, id, NULL, 0, &fd, 1, &err) < 0)
		rf_household_say(err.msg, "");
}

int rf_landlord_invite(struct landlord *l, int *ret_fd, struct rf_err *err)
{
	int ends[2];
	RF_AUTO_FD int own = -1;
	RF_AUTO_FD int other = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	own = ends[0];
	other = ends[1];
	if ((!l->has_guests && rf_concierge_welcome_guests(l, err) < 0) ||
	    rf_household_tell_front(l, RF_WIRE_FRONT_GUEST, 0, NULL, 0, &other, 1, err) < 0)
		return err->code;
	*ret_fd = rf_fd_take(&own);
	return 0;
}

static int listen_locally(struct landlord *l, struct rf_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int code;

	l->self.has_any_groups = true;
	if (rf_peer_note_self(&l->self, err) < 0)
		return err->code;
	if (unlinkat(l->run, RF_LANDLORD_SOCKET, 0) < 0 && errno != ENOENT)
		return rf_fail(err, -errno, "take an old " RF_LANDLORD_SOCKET " away");
	l->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->local < 0)
		return rf_fail(err, -errno, "a socket");
	/* By its folder's descriptor: a path may be longer than an address. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", l->run,
		 RF_LANDLORD_SOCKET);
	mask = umask(0177);
	code = bind(l->local, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (code < 0 || listen(l->local, 1024) < 0)
		return rf_fail(err, -errno, "listen on " RF_LANDLORD_SOCKET);
	return rf_loop_watch(l->loop, l->local, RF_LOOP_READ, on_guest, l, &l->local_event, err);
}

/* ------------------------------------------------------------- the whole */

static void on_timer(void *data, int what)
{
	struct landlord *l = data;

	(void)what;
	if (l->is_draining && rf_loop_now() >= l->drain_until) {
		rf_loop_stop(l->loop);
		return;
	}
	rf_household_look_after_front(l);
	if (l->front >= 0)
		rf_concierge_withdraw(l);
	if (rf_loop_now() - l->tidied_ns > TIDY_NS) {
		l->tidied_ns = rf_loop_now();
		rf_register_tidy(l->reg);
	}
	if (l->local_event)
		rf_event_want(l->local_event, has_room(l) ? RF_LOOP_READ : 0);
	rf_event_again(l->timer, rf_loop_now() + LOOK_NS);
}

/* The first asks politely (SIGUSR1: to leave the sandboxes for the next server): what was asked is answered, and no more is taken. */
static void on_signal(void *data, int signal)
{
	struct landlord *l = data;
	struct rf_err err = RF_ERR_INIT;

	if (signal == SIGHUP && l->papers.len) {
		rf_household_renew_papers(l);
		return;
	}
	l->keeps_sandboxes = l->options->keeps_sandboxes || signal == SIGUSR1;
	if (l->is_draining || l->front < 0 || l->options->on_ready) {
		rf_loop_stop(l->loop);
		return;
	}
	l->is_draining = true;
	l->drain_until = rf_loop_now() + DRAIN_NS;
	rf_event_cancel(l->local_event);
	l->local_event = NULL;
	if (rf_household_tell_front(l, RF_WIRE_FRONT_DRAIN, 0, NULL, 0, NULL, 0, &err) < 0)
		rf_loop_stop(l->loop);
}

static int take_lock(struct landlord *l, struct rf_err *err)
{
	l->run = rf_rundir_open(true);
	if (l->run < 0)
		return rf_fail(err, l->run, "the folder of sockets");
	l->lock = openat(l->run, "serve.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock < 0)
		return rf_fail(err, -errno, "open serve.lock");
	if (rf_door_lock(l->lock) == 0)
		return 0;
	rf_fail_say(err, -EBUSY, "a server of this user's is there already");
	return rf_fail_hint(err, "end it with SIGTERM to start another");
}

static int open_ports(struct landlord *l, struct rf_err *err)
{
	for (const char *const *at = l->options->listen; *at; at++, l->port_count++) {
		uint64_t until = rf_loop_now() + (l->options->only_checks ? 0 : GONE_NS);
		int code;

		/* The front of a server that was killed has it for a moment yet. */
		while ((code = rf_port_open(*at, &l->ports[l->port_count], err)) == -EADDRINUSE &&
		       rf_loop_now() < until)
			poll(NULL, 0, 50);
		if (code < 0)
			return code;
		*err = (struct rf_err)RF_ERR_INIT;
	}
	return 0;
}

/*
 * A server always records.  One that is a command's own is as that command: where its user has no folder for a watcher's socket (a cron job, a
 * container), nobody could stand there, and `ringfort run` goes on, too.
 */
static int begin_record(struct landlord *l, struct rf_err *err)
{
	RF_AUTO_FD int run = l->options->on_ready ? rf_rundir_open(true) : -1;

	if (l->options->on_ready && run < 0)
		return 0;
	return rf_notary_new(l->loop, l->options, rf_household_lend_watcher, l, &l->notary, err);
}

static int start(struct landlord *l, struct rf_err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (rf_papers_are_named(&l->options->papers) &&
	    rf_papers_read(&l->options->papers, &l->papers, err) < 0)
		return err->code;
	if (l->options->only_checks)
		return rf_crier_check(l->options->charter, err) < 0 ? err->code
								    : open_ports(l, err);
	if (!l->options->on_ready &&
	    (take_lock(l, err) < 0 || open_ports(l, err) < 0 || rf_concierge_provide(l, err) < 0 ||
	     rf_register_open(&l->reg, err) < 0))
		return err->code;
	if (rf_loop_new(&l->loop, err) < 0 ||
	    rf_loop_signals(l->loop, &ends, on_signal, l, err) < 0 || begin_record(l, err) < 0 ||
	    rf_tenure_begin(l, err) < 0 || rf_household_start_clerk(l, err) < 0 ||
	    (!l->options->on_ready &&
	     (listen_locally(l, err) < 0 || rf_office_open(l, &l->office, err) < 0)) ||
	    rf_crier_new(l->loop, l->options->charter, l->options->folder, l->notary, &l->crier,
			 err) < 0 ||
	    rf_household_start_front(l, err) < 0)
		return err->code;
	if (l->options->on_ready) /* it has no keys to look after */
		return 0;
	rf_register_lose(l->reg); /* what a server before this one had begun */
	rf_concierge_withdraw(l); /* notes how the folder is; nothing was given out yet */
	return rf_loop_timer(l->loop, rf_loop_now() + LOOK_NS, on_timer, l, &l->timer, err);
}

int rf_landlord_serve(const struct rf_landlord_options *options, struct rf_err *err)
{
	struct landlord l = { .options = options,
			      .run = -1,
			      .lock = -1,
			      .warden = -1,
			      .front = -1,
			      .clerk = -1,
			      .local = -1,
			      .warden_process = -1,
			      .front_process = -1 };
	int code;

	rf_buf_init(&l.in, RF_WIRE_ROOM);
	rf_outbox_init(&l.to_front, -1);
	code = start(&l, err);
	if (code == 0 && !options->only_checks)
		code = rf_loop_run(l.loop, err);
	if (code == 0 && l.why.code) {
		*err = l.why;
		code = err->code;
	}
	if (l.local >= 0)
		unlinkat(l.run, RF_LANDLORD_SOCKET, 0);
	for (size_t i = 0; i < l.port_count; i++)
		rf_fd_done(&l.ports[i]);
	rf_concierge_forget(&l);
	rf_fd_done(&l.local);
	rf_office_close(l.office);
	rf_tenure_end(&l, l.keeps_sandboxes);
	rf_household_end(&l);
	rf_register_close(l.reg);
	rf_loop_free(l.loop);
	rf_buf_done(&l.in);
	rf_papers_done(&l.papers);
	rf_fd_done(&l.lock);
	rf_fd_done(&l.run);
	return code;
}
