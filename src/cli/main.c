/* ringfort: the command.  See command.h for the commands there are, cmd.h for how they are made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/style.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/config.h"
#include "workspace/closed.h"

/* Descriptors 0 to 2 are there, whatever the caller closed; else a pipe could take their place. */
static int hold_stdio(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int null = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR) : fd;

		if (null != fd) /* the lowest that is free, so it can only be this one */
			return -EBADF;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (hold_stdio() < 0) {
		fputs("ringfort: can't make sure of standard input, output and error\n", stderr);
		return RF_EXIT_FAILED;
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("ringfort " RF_VERSION);
		return 0;
	}
	rf_style_ask(rf_config_colour);
	rf_closed_allow();
	return rf_command_run(argc, argv);
}
