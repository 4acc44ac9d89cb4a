/* A fort: the connection to a warden, and what every call of the library needs. */
#include "lib/fort.h"

#include <errno.h>
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passwd.h"
#include "wire/client.h"

#define ANSWER_MS  10000 /* for a warden to look at the machine, while it is busy */
#define OPEN_LEAST offsetof(struct ringfort_open, timeout_ms) + sizeof(int)

const char *ringfort_version(void)
{
	return RF_VERSION;
}

/* ------------------------------------------------------------- structs of the caller's */

int rf_fort_take_struct(void *to, size_t to_size, size_t least, const void *from,
			struct rf_err *err)
{
	size_t size = 0;

	if (from)
		memcpy(&size, from, sizeof(size)); /* the first member of each */
	if (size < least) {
		rf_fail_say(err, -EINVAL, "a struct of %zu bytes, where there are %zu at least",
			    size, least);
		return rf_fail_hint(err, "begin it with its RINGFORT_..._INIT");
	}
	memset(to, 0, to_size);
	memcpy(to, from, size < to_size ? size : to_size);
	return 0;
}

int rf_fort_tell(struct ringfort_error *error, const struct rf_err *err)
{
	if (!error || error->size < sizeof(*error))
		return err->code;
	error->code = err->code;
	error->line = err->line;
	error->column = err->column;
	snprintf(error->message, sizeof(error->message), "%s", err->msg);
	snprintf(error->remedy, sizeof(error->remedy), "%s", err->hint);
	return err->code;
}

/* ------------------------------------------------------------- its life */

struct ringfort *rf_fort_ref(struct ringfort *fort)
{
	__atomic_add_fetch(&fort->users, 1, __ATOMIC_RELAXED);
	return fort;
}

void rf_fort_unref(struct ringfort *fort)
{
	if (__atomic_sub_fetch(&fort->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	rf_fd_done(&fort->fd);
	free(fort->home);
	free(fort->gateway);
	free(fort->caller);
	free(fort);
}

/* Not from the environment where that is another's, as in a setuid program. */
static const char *program_of(const struct ringfort_open *options)
{
	const char *named = options->warden ? options->warden : secure_getenv("RINGFORT_WARDEN");

	return named && *named ? named : RF_LIBEXECDIR "/ringfort-warden";
}

/* The one that was named, or the one that belongs to the warden: it lies beside it. */
static char *find_gateway(const struct ringfort_open *options, bool *ret_is_named)
{
	const char *named = options->gateway ? options->gateway : secure_getenv("RINGFORT_GATEWAY");
	const char *warden = program_of(options), *slash = strrchr(warden, '/');
	char *beside;

	*ret_is_named = named && *named;
	if (*ret_is_named)
		return strdup(named);
	return asprintf(&beside, "%.*sringfort-gateway", slash ? (int)(slash + 1 - warden) : 0,
			warden) < 0
		       ? NULL
		       : beside;
}

static int reach(struct ringfort *fort, const struct ringfort_open *options, struct rf_err *err)
{
	int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : ANSWER_MS;
	struct rf_wire_welcome welcome;
	RF_AUTO_FD int fd = -1;

	if (options->kind == RINGFORT_PRIVATE) {
		if (rf_client_private(program_of(options), &fd, err) < 0)
			return err->code;
	} else if (rf_client_connect(&fd, err) < 0) {
		if (err->code == -ENOENT || err->code == -ECONNREFUSED)
			rf_fail_hint(err, "start it with `ringfort warden`, or open a private one");
		return err->code;
	}
	if (rf_client_hello(fd, timeout_ms, &welcome, err) < 0)
		return err->code;
	if (strcmp(welcome.version, RF_VERSION) != 0) {
		rf_fail_say(err, -EPROTO, "the warden is of version %s, the library of " RF_VERSION,
			    welcome.version);
		return rf_fail_hint(err, "restart the one that is older");
	}
	fort->pid = (int)welcome.pid;
	fort->is_lesser = (int)welcome.is_lesser;
	if (options->kind == RINGFORT_PRIVATE)
		fort->fd = rf_fd_take(&fd);
	return 0;
}

int ringfort_open(const struct ringfort_open *options, struct ringfort **ret_fort,
		  struct ringfort_error *error)
{
	struct ringfort_open own = RINGFORT_OPEN_INIT;
	struct rf_err err = RF_ERR_INIT;
	struct ringfort *fort;

	if (options && rf_fort_take_struct(&own, sizeof(own), OPEN_LEAST, options, &err) < 0)
		return rf_fort_tell(error, &err);
	fort = calloc(1, sizeof(*fort));
	if (fort)
		*fort = (struct ringfort){ .users = 1,
					   .fd = -1,
					   .home = rf_passwd_home(geteuid()) };
	if (fort)
		fort->gateway = find_gateway(&own, &fort->has_own_gateway);
	if (!fort || !fort->home || !fort->gateway)
		rf_fail(&err, -ENOMEM, "open a fort");
	else if (own.kind != RINGFORT_PRIVATE && own.kind != RINGFORT_STANDING)
		rf_fail_say(&err, -EINVAL, "no such kind of fort: %d", (int)own.kind);
	else
		reach(fort, &own, &err);
	if (err.code) {
		if (fort)
			rf_fort_unref(fort);
		return rf_fort_tell(error, &err);
	}
	*ret_fort = fort;
	return 0;
}

struct ringfort *rf_fort_over(int *fd)
{
	struct ringfort *fort = calloc(1, sizeof(*fort));

	if (fort)
		*fort = (struct ringfort){ .users = 1,
					   .fd = rf_fd_take(fd),
					   .home = strdup("/"),
					   .gateway = strdup(""),
					   .is_steady = true };
	rf_fd_done(fd);
	if (fort && fort->home && fort->gateway)
		return fort;
	if (fort)
		rf_fort_unref(fort);
	return NULL;
}

void ringfort_close(struct ringfort *fort)
{
	if (fort)
		rf_fort_unref(fort);
}

int ringfort_warden_pid(const struct ringfort *fort)
{
	return fort->pid;
}

int ringfort_is_lesser(const struct ringfort *fort)
{
	return fort->is_lesser;
}

/* Nothing is said on a fort's own connection but what was wrong with a JOIN: its box sees the end. */
static void hear_nothing(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0)
		;
}

int rf_fort_connect(struct ringfort *fort, int *ret_fd, struct rf_err *err)
{
	int code;

	if (fort->fd >= 0)
		hear_nothing(fort->fd);
	code = fort->fd >= 0 ? rf_client_join(fort->fd, ret_fd, err)
			     : rf_client_connect(ret_fd, err);

	if (code == -EPIPE || code == -ECONNRESET || code == -ECONNREFUSED) {
		rf_fail_say(err, -ECONNRESET, "the warden has ended");
		rf_fail_hint(err, "open a new fort");
	}
	return code < 0 ? err->code : 0;
}
