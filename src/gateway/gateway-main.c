/*
 * ringfort-gateway: through which boxes reach the world.
 *
 *   ringfort-gateway --fd N     serves the client at the other end of descriptor N, and ends with it
 *
 * Started by who has a box; never by hand.
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
#include "gateway/ends.h"
#include "gateway/gateway.h"
#include "gateway/lockdown.h"
#include "gateway/tenant.h"

#define EXIT_FAILED 125

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort-gateway: %s\n", err->msg);
	return EXIT_FAILED;
}

static int read_line(int argc, char **argv, int *ret_fd, struct rf_err *err)
{
	char *end = NULL;
	long fd = argc == 3 && strcmp(argv[1], "--fd") == 0 ? strtol(argv[2], &end, 10) : -1;

	if (fd < 3 || fd > 1024 || *end || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
		rf_fail_say(err, -EINVAL, "this is started by `ringfort run --net`");
		return rf_fail_hint(err, "`ringfort help run`");
	}
	*ret_fd = (int)fd;
	return 0;
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

static int serve(int *fd, struct rf_err *err)
{
	struct rf_gateway gateway;
	struct rf_tenant *tenant;
	int code = rf_gateway_init(&gateway, err);

	if (code == 0)
		code = rf_ends_prepare(err);
	if (code == 0)
		code = rf_lockdown_raise(err);
	if (code == 0)
		code = rf_tenant_new(&gateway, fd, on_gone, gateway.loop, &tenant, err);
	if (code == 0)
		code = rf_loop_run(gateway.loop, err);
	rf_gateway_done(&gateway);
	return code;
}

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	int fd = -1;

	forget_environment();
	if (read_line(argc, argv, &fd, &err) < 0 || settle(&err) < 0 || serve(&fd, &err) < 0)
		return complain(&err);
	return 0;
}
