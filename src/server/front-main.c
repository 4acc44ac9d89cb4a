/*
 * ringfort-front: reads what strangers send.  Started by ringfort-serve, with the connection to it as descriptor 3.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/front.h"

#define HOST_FD 3

/* Whoever starts it may have keys in the environment: none of them is for here, and so none is left in its memory. */
static void forget_environment(void)
{
	static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	static char *own[] = { path, NULL };

	for (char **at = environ; at && *at; at++)
		explicit_bzero(*at, strlen(*at));
	environ = own;
}

int main(int argc, char **argv)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU };
	struct rf_err err = RF_ERR_INIT;
	int type = 0;
	socklen_t len = sizeof(type);
	bool speaks_tls;

	speaks_tls = argc == 2 && strcmp(argv[1], "--tls") == 0;
	if (argc != (speaks_tls ? 2 : 1) ||
	    getsockopt(HOST_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET) {
		fprintf(stderr, "ringfort-front: this is started by `ringfort serve`\n");
		return 125;
	}
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	forget_environment();
	fcntl(HOST_FD, F_SETFD, FD_CLOEXEC);
	if (chdir("/") < 0 || rf_front_serve(HOST_FD, speaks_tls, &err) < 0) {
		fprintf(stderr, "ringfort-front: %s\n", err.msg);
		return 125;
	}
	return 0;
}
