/*
 * ringfort-mcp: the Model Context Protocol on standard input and output; `ringfort mcp` becomes it.
 *
 * --ceiling-fd N: a descriptor of the text of the policy that no box goes beyond.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "policy/policy.h"
#include "server/mcp-pipe.h"

#define EXIT_FAILED 125
#define FD_MOST     1023

static void find_folder(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

/* Reads the ceiling and closes its descriptor.  Gives `*ret_text`, which is a policy. */
static int read_ceiling(const char *number, char **ret_text, struct rf_err *err)
{
	char *end = NULL, *text;
	long fd = number ? strtol(number, &end, 10) : -1;
	struct rf_policy *policy = NULL;
	ssize_t len;

	if (!number || end == number || *end || fd <= STDERR_FILENO || fd > FD_MOST) {
		rf_fail_say(err, -EINVAL, "--ceiling-fd needs the number of a descriptor");
		return rf_fail_hint(err, "start it with `ringfort mcp --ceiling FILE`");
	}
	text = malloc(RF_MAX_POLICY_BYTES + 1);
	if (!text)
		return rf_fail(err, -ENOMEM, "read the ceiling");
	len = rf_fd_read((int)fd, text, RF_MAX_POLICY_BYTES + 1);
	close((int)fd);
	if (len < 0 || len > RF_MAX_POLICY_BYTES) {
		free(text);
		return rf_fail(err, len < 0 ? (int)len : -E2BIG, "read the ceiling");
	}
	text[len] = '\0';
	if (rf_policy_parse(text, (size_t)len, "/", "/", &policy, err) < 0) {
		free(text);
		return rf_fail_in(err, "the ceiling");
	}
	rf_policy_free(policy);
	*ret_text = text;
	return 0;
}

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	char folder[4096], *ceiling = NULL;
	bool has_ceiling = argc == 3 && strcmp(argv[1], "--ceiling-fd") == 0;
	int code = 0;

	if (argc > 1 && !has_ceiling) {
		fprintf(stderr,
			"ringfort mcp: what is %.64s?\n  hint: start it with `ringfort mcp`\n",
			argv[1]);
		return EXIT_FAILED;
	}
	find_folder(folder, sizeof(folder));
	if (has_ceiling)
		code = read_ceiling(argv[2], &ceiling, &err);
	if (code == 0)
		code = rf_mcp_pipe_serve(folder, ceiling, &err);
	free(ceiling);
	if (code == 0)
		return 0;
	fprintf(stderr, "ringfort mcp: %s\n", err.msg);
	if (err.hint[0])
		fprintf(stderr, "  hint: %s\n", err.hint);
	return EXIT_FAILED;
}
