/*
 * ringfort-gateway: through which boxes reach the world.
 *
 *   ringfort-gateway --fd N       serves the client at the other end of descriptor N, and ends with it;
 *                                 with --mask in front of it, policies may have expressions of their own, whose engine is loaded only then
 *   ringfort-gateway --standing   the porter of a user's standing one (porter.h); `ringfort gateway` starts it so
 *   ringfort-gateway --many N     the gateway behind a porter: serves every connection that it sends on descriptor N
 *
 * With --standing --status it asks the one that stands, and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rundir.h"
#include "filter/own.h"
#include "gateway/ends.h"
#include "gateway/gateway.h"
#include "gateway/lockdown.h"
#include "gateway/porter.h"
#include "gateway/tenant.h"
#include "wire/client.h"
#include "wire/door.h"
#include "wire/gate.h"
#include "wire/peer.h"
#include "wire/wire.h"

#define EXIT_FAILED 125

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort-gateway: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	return EXIT_FAILED;
}

struct settings {
	int fd;       /* of --fd and --many */
	bool is_many; /* clients come on it */
	bool has_masks;
	bool is_standing, wants_status, is_json;
};

static int read_fd(const char *text, int *ret_fd)
{
	char *end = NULL;
	long fd = text ? strtol(text, &end, 10) : -1;

	if (fd < 3 || fd > 1024 || *end || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return -EINVAL;
	*ret_fd = (int)fd;
	return 0;
}

static int read_line(int argc, char **argv, struct settings *settings, struct rf_err *err)
{
	const char *first;

	settings->has_masks = argc > 1 && strcmp(argv[1], "--mask") == 0;
	argc -= settings->has_masks;
	argv += settings->has_masks;
	first = argc > 1 ? argv[1] : "";
	settings->is_many = strcmp(first, "--many") == 0;
	settings->is_standing = strcmp(first, "--standing") == 0;
	for (int i = 2; settings->is_standing && i < argc; i++) {
		settings->wants_status |= strcmp(argv[i], "--status") == 0;
		settings->is_json |= strcmp(argv[i], "--json") == 0;
	}
	if (settings->is_standing)
		return 0;
	if (argc == 3 && (settings->is_many || strcmp(first, "--fd") == 0) &&
	    read_fd(argv[2], &settings->fd) == 0)
		return 0;
	rf_fail_say(err, -EINVAL, "this is started by `ringfort run --net` and `ringfort gateway`");
	return rf_fail_hint(err, "`ringfort help gateway`");
}

/* Holds nothing of who started it; a key pressed at its terminal is meant for others. */
static int settle(struct rf_err *err)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU };
	RF_AUTO_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
	    chdir("/") < 0)
		return rf_fail(err, -errno, "let go of the caller");
	umask(077);
	for (size_t i = 0; i < RF_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	return 0;
}

/* Whoever starts it may have keys in the environment: none of them is for here, and so none is left in its memory. */
static void forget_environment(void)
{
	static const char *const kept[] = { "SSL_CERT_FILE=", "SSL_CERT_DIR=", "RES_OPTIONS=",
					    "LOCALDOMAIN=", "TZ=" };
	char **to = environ;

	for (char **from = environ; from && *from; from++) {
		bool is_kept = false;

		for (size_t i = 0; i < RF_LEN(kept); i++)
			is_kept = is_kept || strncmp(*from, kept[i], strlen(kept[i])) == 0;
		if (is_kept)
			*to++ = *from;
		else
			explicit_bzero(*from, strlen(*from));
	}
	if (to)
		*to = NULL;
}

static void on_gone(void *data)
{
	rf_loop_stop(data);
}

/* ------------------------------------------------------------- many clients */

struct hall {
	struct rf_gateway *gateway;
	int fd; /* on which they come; borrowed */
	struct rf_buf in;
};

/* The porter has looked at who it is; when the porter ends, so do we. */
static void on_join(void *data, int what)
{
	struct hall *hall = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_tenant *tenant;
	int code = rf_wire_receive(hall->fd, RF_WIRE_CLIENT, &hall->in, &message, &err);

	(void)what;
	if (code == -EAGAIN)
		return;
	if (code <= 0)
		rf_loop_stop(hall->gateway->loop);
	else if (message.type == RF_WIRE_JOIN)
		rf_tenant_new(hall->gateway, &message.fds[0], NULL, NULL, &tenant, &err);
}

static int open_hall(struct hall *hall, struct rf_err *err)
{
	struct rf_event *event;

	rf_buf_init(&hall->in, RF_WIRE_PACKET);
	fcntl(hall->fd, F_SETFL, O_NONBLOCK);
	return rf_loop_watch(hall->gateway->loop, hall->fd, RF_LOOP_READ, on_join, hall, &event,
			     err);
}

/* ------------------------------------------------------------- the gateway proper */

static int serve(const struct settings *settings, struct rf_err *err)
{
	struct rf_gateway gateway;
	struct hall hall = { .gateway = &gateway, .fd = settings->fd };
	struct rf_tenant *tenant;
	int fd = settings->fd, code = rf_gateway_init(&gateway, err);

	rf_wire_never_wait(); /* what comes from a server's clients may be made to block */
	if (code == 0)
		code = rf_ends_prepare(err);
	if (code == 0 && settings->has_masks) /* afterwards no file can be opened */
		code = rf_own_load(err);
	if (code == 0)
		code = rf_lockdown_raise(err);
	if (code == 0)
		code = settings->is_many
			       ? open_hall(&hall, err)
			       : rf_tenant_new(&gateway, &fd, on_gone, gateway.loop, &tenant, err);
	if (code == 0)
		code = rf_loop_run(gateway.loop, err);
	rf_buf_done(&hall.in);
	rf_gateway_done(&gateway);
	return code;
}

/* ------------------------------------------------------------- the one that stands */

#define ANSWER_MS 2000
#define EXIT_NONE 1

static int print_status(const struct rf_wire_welcome *welcome, bool is_json)
{
	if (is_json && welcome)
		printf("{ \"stands\": true, \"pid\": %u, \"version\": \"%s\" }\n", welcome->pid,
		       welcome->version);
	else if (welcome)
		printf("a gateway stands: pid %u, version %s\n", welcome->pid, welcome->version);
	else
		puts(is_json ? "{ \"stands\": false }"
			     : "no gateway stands; `ringfort gateway` starts one");
	return welcome ? 0 : EXIT_NONE;
}

static int ask(bool is_json, struct rf_err *err)
{
	struct rf_wire_welcome welcome;
	RF_AUTO_FD int fd = -1;
	int code = rf_gate_connect(NULL, &fd, err);

	if (code == 0)
		code = rf_client_hello(fd, ANSWER_MS, &welcome, err);
	if (code == 0)
		return print_status(&welcome, is_json);
	if (code == -ENOENT || code == -ECONNREFUSED)
		return print_status(NULL, is_json);
	return code == -EXDEV ? rf_fail_in(err, "a gateway stands, but not for this process")
			      : code;
}

static int take_lock(int run, struct rf_err *err)
{
	RF_AUTO_FD int fd =
		openat(run, "gateway.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return rf_fail(err, -errno, "open gateway.lock");
	if (rf_door_lock(fd) < 0) {
		rf_fail_say(err, -EBUSY, "a gateway of this user's is there already");
		return rf_fail_hint(err,
				    "every `ringfort run --net` uses it; end it with SIGTERM to "
				    "start another");
	}
	return rf_fd_take(&fd);
}

static int stand(struct rf_err *err)
{
	struct rf_peer self = { .has_any_groups = true };
	RF_AUTO_FD int run = rf_rundir_open(true), lock = -1, listener = -1;
	char program[4096] = "";
	int code;

	if (run < 0) {
		rf_fail(err, run, "open the folder of the gateway's socket");
		return rf_fail_hint(err, "XDG_RUNTIME_DIR must name a folder of yours, mode 0700");
	}
	lock = take_lock(run, err);
	if (lock < 0)
		return lock;
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return rf_fail(err, -errno, "find ringfort-gateway");
	if (rf_peer_note_self(&self, err) < 0 || rf_peer_write(run, RF_GATE_NOTE, &self, err) < 0)
		return err->code;
	listener = rf_door_listen(run, RF_GATE_SOCKET, err);
	if (listener < 0)
		return listener;
	if (chdir("/") < 0)
		return rf_fail(err, -errno, "leave the working directory");
	forget_environment();
	code = rf_porter_serve(listener, program, err);
	unlinkat(run, RF_GATE_SOCKET, 0);
	unlinkat(run, RF_GATE_NOTE, 0);
	return code;
}

static int carry_out(const struct settings *settings, struct rf_err *err)
{
	if (settings->wants_status)
		return ask(settings->is_json, err);
	if (settings->is_standing)
		return stand(err);
	forget_environment();
	return settle(err) < 0 ? err->code : serve(settings, err);
}

int main(int argc, char **argv)
{
	struct settings settings = { .fd = -1 };
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(argc, argv, &settings, &err);

	if (code == 0)
		code = carry_out(&settings, &err);
	return code < 0 ? complain(&err) : code;
}
