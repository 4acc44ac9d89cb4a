/*
 * ringfort-clerk: does for strangers what takes the operator's rights.  Started by ringfort-serve, with the connection to it as descriptor 3.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/clerk-quota.h"
#include "server/clerk-stance.h"
#include "server/clerk-sweep.h"
#include "server/clerk.h"

#define HOST_FD 3

int main(int argc, char **argv)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU };
	struct rf_err err = RF_ERR_INIT;
	int type = 0;
	socklen_t len = sizeof(type);

	(void)argv;
	if (argc != 1 || getsockopt(HOST_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		fprintf(stderr, "ringfort-clerk: this is started by `ringfort serve`\n");
		return 125;
	}
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	fcntl(HOST_FD, F_SETFD, FD_CLOEXEC);
	if (chdir("/") == 0 && rf_clerk_stance_take(&err) == 0) {
		rf_clerk_sweep_begin();
		rf_clerk_quota_begin();
		rf_clerk_serve(HOST_FD, &err);
	}
	if (err.code) {
		fprintf(stderr, "ringfort-clerk: %s\n", err.msg);
		return 125;
	}
	return 0;
}
