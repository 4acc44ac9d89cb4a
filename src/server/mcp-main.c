/*
 * ringfort-mcp: the Model Context Protocol on standard input and output; `ringfort mcp` becomes it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/mcp-pipe.h"

#define EXIT_FAILED 125

static void find_folder(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	char folder[4096];

	if (argc > 1) {
		fprintf(stderr,
			"ringfort mcp: what is %.64s?\n  hint: start it with `ringfort mcp`\n",
			argv[1]);
		return EXIT_FAILED;
	}
	find_folder(folder, sizeof(folder));
	if (rf_mcp_pipe_serve(folder, &err) == 0)
		return 0;
	fprintf(stderr, "ringfort mcp: %s\n", err.msg);
	if (err.hint[0])
		fprintf(stderr, "  hint: %s\n", err.hint);
	return EXIT_FAILED;
}
