/*
 * ringfort-warden: the resident launcher.
 *
 *   ringfort-warden --private    serves descriptor 3, a connection to who started it
 *   ringfort-warden --private --lasting
 *                                the same for a server: the next one finds it at $RUN/serve-warden.sock
 *   ringfort-warden --standing   serves $RUN/warden.sock; `ringfort warden` starts it so
 *
 * Started by exec, so that it has fresh memory; it holds nothing of its caller's but what is named
 * here.  --ceiling-fd N: a policy that no request goes beyond.  --ahead N: shapes of boxes kept ready.
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
#include "base/kernel.h"
#include "base/limits.h"
#include "jail/janitor.h"
#include "jail/record.h"
#include "warden/warden.h"
#include "wire/client.h"
#include "wire/door.h"
#include "wire/peer.h"
#include "wire/wire.h"

#define OWNER_FD    3
#define AHEAD       8
#define AHEAD_MOST  256
#define SOCKET_NAME "warden.sock"

struct settings {
	bool is_private, is_standing, is_lasting;
	int ceiling; /* descriptor of a policy's text, or -1 */
	size_t ahead;
};

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort-warden: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  %s\n", err->hint);
	return 125;
}

static int read_number(const char *text, long most, long *ret_number)
{
	char *end = NULL;

	errno = 0;
	*ret_number = text ? strtol(text, &end, 10) : -1;
	return !text || !*text || *end || errno || *ret_number < 0 || *ret_number > most ? -EINVAL
											 : 0;
}

static int read_line(int argc, char **argv, struct settings *settings, struct rf_err *err)
{
	for (int i = 1; i < argc; i++) {
		long number;

		if (strcmp(argv[i], "--private") == 0) {
			settings->is_private = true;
		} else if (strcmp(argv[i], "--standing") == 0) {
			settings->is_standing = true;
		} else if (strcmp(argv[i], "--lasting") == 0) {
			settings->is_lasting = true;
		} else if (strcmp(argv[i], "--ceiling-fd") == 0 &&
			   read_number(argv[i + 1], 1023, &number) == 0) {
			settings->ceiling = (int)number;
			i++;
		} else if (strcmp(argv[i], "--ahead") == 0 &&
			   read_number(argv[i + 1], AHEAD_MOST, &number) == 0) {
			settings->ahead = (size_t)number;
			i++;
		} else {
			rf_fail_say(err, -EINVAL, "what is %.64s?", argv[i]);
			return rf_fail_hint(err, "start it with `ringfort warden`");
		}
	}
	if (settings->is_private == settings->is_standing ||
	    (settings->is_lasting && !settings->is_private)) {
		rf_fail_say(err, -EINVAL, "a warden is either --private or --standing");
		return rf_fail_hint(err, "start it with `ringfort warden`");
	}
	return 0;
}

/* A policy as `ringfort warden` formatted it: every path in it is absolute. */
static int read_ceiling(int fd, struct rf_policy **ret_policy, struct rf_err *err)
{
	char *text = fd >= 0 ? malloc(RF_MAX_POLICY_BYTES + 1) : NULL;
	ssize_t len;
	int code;

	*ret_policy = NULL;
	if (fd < 0)
		return 0;
	if (!text)
		return rf_fail(err, -ENOMEM, "read the ceiling");
	len = rf_fd_read(fd, text, RF_MAX_POLICY_BYTES + 1);
	if (len < 0 || len > RF_MAX_POLICY_BYTES)
		code = rf_fail(err, len < 0 ? (int)len : -E2BIG, "read the ceiling");
	else
		code = rf_policy_parse(text, (size_t)len, "/", "/", ret_policy, err);
	free(text);
	close(fd);
	return code;
}

/* Its socket, where no other warden of this user's has one: who stands holds the folder's lock. */
static int listen_in(int run, struct rf_err *err)
{
	if (rf_door_lock(run) < 0) {
		rf_fail_say(err, -EBUSY, "a warden of this user's is there already");
		return rf_fail_hint(err, "every `ringfort run` uses it; end it with SIGTERM to "
					 "start another");
	}
	return rf_door_listen(run, SOCKET_NAME, err);
}

/*
 * Where the next server of this user's finds it.  One that could not own the warden before us has taken its name by now: so
 * we look whether it is still ours before we take it away.
 */
static int listen_for_next(int run, struct stat *ret_socket, struct rf_err *err)
{
	int fd = rf_door_listen(run, RF_CLIENT_SERVERS, err);

	if (fd >= 0 && fstatat(run, RF_CLIENT_SERVERS, ret_socket, AT_SYMLINK_NOFOLLOW) < 0) {
		rf_fail(err, -errno, "look at %s", RF_CLIENT_SERVERS);
		rf_fd_done(&fd);
	}
	return fd < 0 ? err->code : fd;
}

static void take_name_away(int run, const struct stat *socket)
{
	struct stat now;

	if (fstatat(run, RF_CLIENT_SERVERS, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    now.st_ino != socket->st_ino || now.st_dev != socket->st_dev)
		return;
	unlinkat(run, RF_CLIENT_SERVERS, 0);
	unlinkat(run, RF_CLIENT_SERVERS_SELF, 0);
}

/* Holds nothing of who started it: no terminal, no directory, no stream; its words, where it stands. */
static int settle(const struct settings *settings, struct rf_err *err)
{
	RF_AUTO_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		return rf_fail(err, -errno, "open /dev/null");
	if (settings->is_private) {
		if (dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
			return rf_fail(err, -errno, "open /dev/null");
		setsid(); /* a ctrl-C in the owner's terminal is the owner's */
	}
	if (chdir("/") < 0)
		return rf_fail(err, -errno, "leave the working directory");
	return 0;
}

static void find_init(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		snprintf(slash + 1, size - (size_t)(slash + 1 - path), "ringfort-init");
}

static int serve(const struct settings *settings, struct rf_err *err)
{
	char init_path[4096];
	struct rf_warden_options options = {
		.init_path = init_path,
		.owner = settings->is_private ? fcntl(OWNER_FD, F_DUPFD_CLOEXEC, 10) : -1,
		.listener = -1,
		.ahead = settings->ahead,
	};
	RF_AUTO_FD int run = -1;
	struct rf_policy *ceiling = NULL;
	struct rf_janitor janitor = { .life = -1 };
	struct rf_peer self = { 0 };
	struct stat socket = { 0 };
	int code;

	rf_wire_never_wait();
	find_init(init_path, sizeof(init_path));
	if (settings->is_private && options.owner < 0)
		return rf_fail(err, -errno, "find the owner's connection");
	if (settings->is_private)
		close(OWNER_FD);
	if (read_ceiling(settings->ceiling, &ceiling, err) < 0)
		return rf_fail_in(err, "the ceiling");
	options.ceiling = ceiling;
	if (settings->is_standing) {
		run = rf_record_open_run(err);
		options.is_successor = run >= 0 && faccessat(run, SOCKET_NAME, F_OK, 0) == 0;
		options.listener = run < 0 ? run : listen_in(run, err);
		if (options.listener < 0 || rf_peer_note_self(&self, err) < 0 ||
		    rf_peer_write(run, RF_PEER_FILE, &self, err) < 0)
			return err->code;
	}
	if (settings->is_lasting) {
		run = rf_record_open_run(err);
		options.is_lasting = true;
		options.listener = run < 0 ? run : listen_for_next(run, &socket, err);
		if (options.listener < 0 || rf_peer_note_self(&self, err) < 0 ||
		    rf_peer_write(run, RF_CLIENT_SERVERS_SELF, &self, err) < 0)
			return err->code;
	}
	rf_record_sweep_all();
	rf_janitor_stand(&janitor);
	code = rf_warden_serve(&options, err);
	if (settings->is_lasting) {
		take_name_away(run, &socket);
	} else if (run >= 0) {
		unlinkat(run, SOCKET_NAME, 0);
		unlinkat(run, RF_PEER_FILE, 0);
	}
	rf_fd_done(&options.listener);
	rf_janitor_stop(&janitor);
	rf_policy_free(ceiling);
	return code;
}

int main(int argc, char **argv)
{
	struct settings settings = { .ceiling = -1, .ahead = AHEAD };
	struct rf_err err = RF_ERR_INIT;

	if (read_line(argc, argv, &settings, &err) < 0 || settle(&settings, &err) < 0 ||
	    serve(&settings, &err) < 0)
		return complain(&err);
	return 0;
}
