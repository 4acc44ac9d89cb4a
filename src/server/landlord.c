/* Who serves strangers: see landlord.h. */
#include "server/landlord.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/pack.h"
#include "base/rundir.h"
#include "base/statedir.h"
#include "server/keyring.h"
#include "server/pass.h"
#include "server/port.h"
#include "wire/client.h"
#include "wire/door.h"

#define HELLO_MS   10000
#define LOOK_NS    500000000ull   /* how often it is looked which keys are left */
#define DRAIN_NS   30000000000ull /* what was asked may take so long to be answered */
#define SOON_NS    2000000000ull  /* a front that dies within this time has not served */
#define END_NS     10000000000ull /* that the front and the warden have to end */
#define MOST_FALLS 5
#define SEND_MS    2000

/*
 * The user's own processes, on the unix socket: as much as a large box may have, and no file of this machine, since it is the front that
 * asks for them.
 */
static const char local_ceiling[] =
	"version: 1\n"
	"files: { current: none, credentials: hide }\n"
	"network: none\n"
	"limits: { time: 24h, cpu_time: 24h, memory: 16G, cpu: 1600%, pids: 8192, open_files: "
	"65536,\n"
	"  file_size: 64G, disk: 64G, inodes: 4000000, output: 128M }\n";

struct known {
	struct known *next;
	char id[RF_API_KEY_ID];
};

struct landlord {
	const struct rf_landlord_options *options;
	struct rf_loop *loop;
	int run, lock;      /* $RUN, and that there is one server */
	int warden, front;  /* connections; or -1 */
	int warden_process; /* a descriptor of it, or -1 */
	int local;          /* for processes of the user's own */
	int ports[RF_LANDLORD_MOST];
	size_t port_count;
	struct rf_event *local_event, *front_event, *warden_event, *timer;
	struct rf_buf in;
	struct known *known; /* keys that the front was given connections for */
	struct timespec keys_changed;
	bool has_guests; /* the front has the connection for local clients */
	bool is_draining, is_announced;
	uint64_t front_since, drain_until;
	int falls;
	struct rf_err why; /* that it ends for */
};

static void say(const char *what, const char *more)
{
	fprintf(stderr, "ringfort serve: %s%s\n", what, more);
}

static void fail(struct landlord *l, const struct rf_err *err)
{
	if (!l->why.code)
		l->why = *err;
	rf_loop_stop(l->loop);
}

/* ------------------------------------------------------------- keys */

static int hand_over(struct landlord *l, uint64_t id, const struct rf_pass_holder *holder,
		     const char *ceiling, struct rf_err *err)
{
	const struct rf_terms terms = {
		.key = holder->key,
		.tenant = holder->tenant,
		.ceiling = ceiling,
		.boxes = holder->boxes,
	};
	RF_AUTO_BUF struct rf_buf body;
	RF_AUTO_FD int line = -1;

	rf_buf_init(&body, RF_PASS_BYTES);
	rf_pass_put_holder(holder, &body);
	if (rf_terms_ask(l->warden, &terms, &line, err) < 0)
		return err->code;
	return rf_wire_send(l->front, RF_WIRE_FRONT_HOLDER, id, body.data, body.len, &line, 1, err);
}

static int remember(struct landlord *l, const char *id, struct rf_err *err)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return rf_fail(err, -ENOMEM, "a key");
	memcpy(known->id, id, sizeof(known->id));
	known->next = l->known;
	l->known = known;
	return 0;
}

/* Whoever has no key, a wrong one or one that was removed is told the same, after the same work. */
static int look_up(struct landlord *l, uint64_t id, const char *text, size_t len,
		   struct rf_err *err)
{
	uint8_t secret[RF_API_KEY_SECRET] = { 0 };
	char key_id[RF_API_KEY_ID];
	struct rf_api_key key = { 0 };
	struct rf_pass_holder holder = { 0 };
	struct rf_err why = RF_ERR_INIT;
	bool is_it = rf_api_key_take_token(text, len, key_id, secret) &&
		     rf_keyring_find(key_id, &key, &why) == 0;
	int code = 0;

	is_it = rf_api_key_is_proven(&key, secret) && is_it;
	explicit_bzero(secret, sizeof(secret));
	if (!is_it) {
		if (why.code && why.code != -ENOENT)
			say(why.msg, "");
		rf_api_key_done(&key);
		rf_fail_say(err, -EACCES, "this is no key of this server's");
		return rf_fail_hint(err, "`ringfort key create` makes one");
	}
	memcpy(holder.key, key.id, sizeof(key.id));
	memcpy(holder.tenant, key.tenant, sizeof(key.tenant));
	holder.scopes = key.scopes;
	holder.boxes = key.boxes;
	holder.rate = key.rate;
	code = remember(l, key.id, err);
	if (code == 0)
		code = hand_over(l, id, &holder, key.ceiling, err);
	rf_api_key_done(&key);
	return code;
}

static void answer_key(struct landlord *l, const struct rf_wire_message *message)
{
	struct rf_err err = RF_ERR_INIT, ignored;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	if (look_up(l, message->id, message->body, message->len, &err) == 0)
		return;
	rf_pack_err(&body, &err);
	rf_wire_send(l->front, RF_WIRE_FRONT_STRANGER, message->id, body.data, body.len, NULL, 0,
		     &ignored);
}

/* True if the folder of keys is not as it was. */
static bool have_changed(struct landlord *l)
{
	RF_AUTO_FD int folder = rf_statedir_open_in("keys", false);
	struct stat status = { 0 };
	bool is_so;

	if (folder >= 0)
		fstat(folder, &status);
	is_so = status.st_mtim.tv_sec != l->keys_changed.tv_sec ||
		status.st_mtim.tv_nsec != l->keys_changed.tv_nsec;
	l->keys_changed = status.st_mtim;
	return is_so;
}

static void withdraw_removed(struct landlord *l)
{
	struct known **at = &l->known;

	if (!have_changed(l))
		return;
	while (*at) {
		struct known *known = *at;
		struct rf_api_key key = { 0 };
		struct rf_err err = RF_ERR_INIT;

		if (rf_keyring_find(known->id, &key, &err) == 0) {
			rf_api_key_done(&key);
			at = &known->next;
			continue;
		}
		rf_wire_send(l->front, RF_WIRE_FRONT_REVOKED, 0, known->id, strlen(known->id), NULL,
			     0, &err);
		*at = known->next;
		free(known);
	}
}

static void forget_known(struct landlord *l)
{
	while (l->known) {
		struct known *known = l->known;

		l->known = known->next;
		free(known);
	}
}

/* A port without a key is of no use: so there is one, which is shown this once. */
static int provide_key(const struct landlord *l, struct rf_err *err)
{
	struct rf_api_key key = { .scopes = RF_SCOPE_RUN | RF_SCOPE_READ | RF_SCOPE_ADMIN,
				  .boxes = RF_API_KEY_BOXES,
				  .name = "first" };
	char token[RF_API_KEY_TOKEN];
	RF_AUTO_FD int folder = rf_statedir_open_in("keys", false);
	int code;

	if (l->port_count == 0 || folder >= 0) /* whoever removed the last one wants none */
		return 0;
	key.ceiling = strdup(rf_api_key_ceiling);
	if (!key.ceiling)
		return rf_fail(err, -ENOMEM, "a key");
	code = rf_keyring_make(&key, token, err);
	rf_api_key_done(&key);
	if (code == 0) {
		say("there was no key yet.  This one is shown now and never again:\n", token);
		explicit_bzero(token, sizeof(token));
	}
	return code;
}

/* ------------------------------------------------------------- the front */

static int start_front(struct landlord *l, struct rf_err *err);

static void announce(struct landlord *l)
{
	char where[512] = "", path[256] = "";

	if (l->is_announced)
		return;
	l->is_announced = true;
	rf_rundir_path(path, sizeof(path));
	snprintf(where, sizeof(where), "%s/" RF_LANDLORD_SOCKET, path);
	say("serves on ", where);
	for (size_t i = 0; i < l->port_count; i++)
		say("serves on http://", rf_port_name(l->ports[i], where, sizeof(where)));
}

/* It is gone: the boxes that are kept are not, and another one goes on with them. */
static void on_fall(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;

	rf_event_cancel(l->front_event);
	l->front_event = NULL;
	rf_fd_done(&l->front);
	if (l->is_draining) {
		rf_loop_stop(l->loop);
		return;
	}
	l->falls = rf_loop_now() - l->front_since < SOON_NS ? l->falls + 1 : 0;
	if (l->falls >= MOST_FALLS) {
		rf_fail_say(&err, -EIO, "ringfort-front ends as soon as it is started");
		rf_fail_hint(&err, "its own words stand above");
		fail(l, &err);
		return;
	}
	say("ringfort-front has ended, and is started anew", "");
	if (start_front(l, &err) < 0)
		fail(l, &err);
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
		answer_key(l, &message);
	else
		announce(l);
}

static int begin_front(struct landlord *l, struct rf_err *err)
{
	const struct rf_pass_rules rules = { (char **)(uintptr_t)l->options->hosts,
					     (char **)(uintptr_t)l->options->origins };
	const struct timeval most = { SEND_MS / 1000, 0 };
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_WIRE_PACKET);
	rf_pass_put_rules(&rules, &body);
	setsockopt(l->front, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (rf_wire_send(l->front, RF_WIRE_FRONT_BEGIN, 0, body.data, body.len, NULL, 0, err) < 0)
		return err->code;
	for (size_t i = 0; i < l->port_count; i++)
		if (rf_wire_send(l->front, RF_WIRE_FRONT_LISTEN, 0, NULL, 0, &l->ports[i], 1, err) <
		    0)
			return err->code;
	return 0;
}

static int start_front(struct landlord *l, struct rf_err *err)
{
	char path[4096];
	const char *const argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s/ringfort-front", l->options->folder);
	l->front_since = rf_loop_now();
	l->has_guests = false;
	forget_known(l);
	if (rf_client_start(path, argv, "front", &l->front, err) < 0)
		return err->code;
	if (begin_front(l, err) < 0)
		return rf_fail_in(err, "ringfort-front");
	return rf_loop_watch(l->loop, l->front, RF_LOOP_READ, on_front, l, &l->front_event, err);
}

/* ------------------------------------------------------------- local clients */

static int check_guest(int fd, struct rf_err *err)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return rf_fail(err, -errno, "look who connects");
	return peer.uid == geteuid() ? 0 : rf_fail_say(err, -EPERM, "another user's process");
}

static int introduce_guests(struct landlord *l, struct rf_err *err)
{
	const struct rf_pass_holder local = {
		.key = "local",
		.tenant = "local",
		.scopes = RF_SCOPE_READ | RF_SCOPE_RUN | RF_SCOPE_ADMIN,
		.boxes = RF_TERMS_BOXES,
	};

	if (l->has_guests)
		return 0;
	if (hand_over(l, 0, &local, local_ceiling, err) < 0)
		return err->code;
	l->has_guests = true;
	return 0;
}

static void on_guest(void *data, int what)
{
	struct landlord *l = data;
	struct sockaddr_storage who; /* nobody: its socket has no name */
	socklen_t len = sizeof(who);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int fd =
		accept4(l->local, (struct sockaddr *)&who, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd < 0 || l->front < 0 || check_guest(fd, &err) < 0)
		return;
	if (introduce_guests(l, &err) < 0 ||
	    rf_wire_send(l->front, RF_WIRE_FRONT_GUEST, 0, NULL, 0, &fd, 1, &err) < 0)
		say(err.msg, "");
}

static int listen_locally(struct landlord *l, struct rf_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int code;

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

/* ------------------------------------------------------------- the warden */

/* Nothing comes but what was wrong with the terms of a connection; or its end. */
static void on_warden(void *data, int what)
{
	struct landlord *l = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(l->warden, RF_WIRE_WARDEN, &l->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got > 0) {
		if (message.type == RF_WIRE_REFUSED && rf_wire_refused(&message, &err))
			say(err.msg, "");
		return;
	}
	rf_fail_say(&err, -EPIPE, "the warden has ended, and all boxes with it");
	rf_fail_hint(&err, "start the server again");
	fail(l, &err);
}

static int start_warden(struct landlord *l, struct rf_err *err)
{
	struct rf_wire_welcome welcome;
	char path[4096];

	snprintf(path, sizeof(path), "%s/ringfort-warden", l->options->folder);
	if (rf_client_private(path, &l->warden, err) < 0 ||
	    rf_client_hello(l->warden, HELLO_MS, &welcome, err) < 0)
		return err->code;
	l->warden_process = (int)syscall(SYS_pidfd_open, welcome.pid, 0);
	if (strcmp(welcome.version, RF_VERSION) != 0)
		return rf_fail_say(err, -EPROTO,
				   "the warden is of version %s, the server of " RF_VERSION,
				   welcome.version);
	if (welcome.is_lesser)
		say("this machine gives lesser boxes only: requests need `weaker: allow`", "");
	return rf_loop_watch(l->loop, l->warden, RF_LOOP_READ, on_warden, l, &l->warden_event, err);
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
	if (l->front >= 0)
		withdraw_removed(l);
	rf_event_again(l->timer, rf_loop_now() + LOOK_NS);
}

/* The first asks politely: what was asked is answered, and no more is taken. */
static void on_signal(void *data, int signal)
{
	struct landlord *l = data;
	struct rf_err err = RF_ERR_INIT;

	(void)signal;
	if (l->is_draining || l->front < 0) {
		rf_loop_stop(l->loop);
		return;
	}
	l->is_draining = true;
	l->drain_until = rf_loop_now() + DRAIN_NS;
	rf_event_cancel(l->local_event);
	l->local_event = NULL;
	if (rf_wire_send(l->front, RF_WIRE_FRONT_DRAIN, 0, NULL, 0, NULL, 0, &err) < 0)
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
	for (const char *const *at = l->options->listen; *at; at++, l->port_count++)
		if (rf_port_open(*at, &l->ports[l->port_count], err) < 0)
			return err->code;
	return 0;
}

static int start(struct landlord *l, struct rf_err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (open_ports(l, err) < 0 || l->options->only_checks)
		return err->code;
	if (take_lock(l, err) < 0 || provide_key(l, err) < 0 || rf_loop_new(&l->loop, err) < 0 ||
	    rf_loop_signals(l->loop, &ends, on_signal, l, err) < 0 || start_warden(l, err) < 0 ||
	    listen_locally(l, err) < 0 || start_front(l, err) < 0)
		return err->code;
	have_changed(l);
	return rf_loop_timer(l->loop, rf_loop_now() + LOOK_NS, on_timer, l, &l->timer, err);
}

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

int rf_landlord_serve(const struct rf_landlord_options *options, struct rf_err *err)
{
	struct landlord l = {
		.options = options, .run = -1, .lock = -1, .warden = -1, .front = -1, .local = -1
	};
	int code;

	rf_buf_init(&l.in, RF_WIRE_ROOM);
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
	forget_known(&l);
	rf_fd_done(&l.local);
	see_off(&l.front, l.front);
	see_off(&l.warden, l.warden_process >= 0 ? l.warden_process : l.warden);
	rf_fd_done(&l.warden_process);
	rf_loop_free(l.loop);
	rf_buf_done(&l.in);
	rf_fd_done(&l.lock);
	rf_fd_done(&l.run);
	return code;
}
