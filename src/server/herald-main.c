/*
 * ringfort-herald: tells others what happened.  Started by ringfort-serve, with the connection to it as descriptor 3.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/herald.h"

#define HOST_FD 3

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	int type = 0;
	socklen_t len = sizeof(type);

	(void)argv;
	if (argc != 1 || getsockopt(HOST_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		fprintf(stderr, "ringfort-herald: this is started by `ringfort serve`\n");
		return 125;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (char **at = environ; at && *at; at++) /* secrets may be there, and not for here */
		explicit_bzero(*at, strlen(*at));
	environ = NULL;
	fcntl(HOST_FD, F_SETFD, FD_CLOEXEC);
	if (rf_herald_serve(HOST_FD, &err) < 0) {
		fprintf(stderr, "ringfort-herald: %s\n", err.msg);
		return 125;
	}
	return 0;
}
