/* ringfort: the command.  See cmd.h for how commands are made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cmd.h"
#include "cli/option.h"

/* clang-format off */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "run",    rf_cmd_run,    "run a program in a box of its own" },
	{ "policy", rf_cmd_policy, "check a policy, or explain what it comes to" },
	{ "doctor", rf_cmd_doctor, "tell what this machine can enforce, and how to fix what it can't" },
};
/* clang-format on */

void rf_cmd_complain(const char *file, const struct rf_err *err)
{
	fputs("ringfort: ", stderr);
	if (file && err->line)
		fprintf(stderr, "%s:%d:%d: ", file, err->line, err->column);
	else if (file)
		fprintf(stderr, "%s: ", file);
	fprintf(stderr, "%s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
}

void rf_cmd_find_init(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		snprintf(slash + 1, size - (size_t)(slash + 1 - path), "ringfort-init");
		if (access(path, F_OK) == 0)
			return;
	}
	snprintf(path, size, RF_LIBEXECDIR "/ringfort-init");
}

static void print_help(FILE *out)
{
	fputs("usage: ringfort COMMAND [OPTIONS]\n\n"
	      "Runs what nobody reviewed in a disposable box: no files, processes, secrets,\n"
	      "network or time beyond the policy.\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; i < RF_LEN(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\nexamples:\n"
	      "  ringfort run -- python3 script.py         the current directory is read-only\n"
	      "  ringfort run --write . -- make            let it change the current directory\n"
	      "  ringfort run --memory 64M --time 1s --json -- node app.js\n"
	      "  ringfort policy explain --profile strict  what that box would be\n\n"
	      "`ringfort COMMAND --help` tells more.  `--version` prints the version.\n",
	      out);
}

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

static int unknown_command(const char *name)
{
	struct rf_err err;
	const char *near = NULL;
	int best = 3;

	for (size_t i = 0; i < RF_LEN(commands); i++) {
		int distance = rf_option_distance(name, commands[i].name);

		if (distance < best) {
			best = distance;
			near = commands[i].name;
		}
	}
	rf_fail_say(&err, -EINVAL, "there is no command `%.60s`", name);
	if (near)
		rf_fail_hint(&err, "did you mean `%s`?", near);
	else
		rf_fail_hint(
			&err,
			"`ringfort --help` lists them; to run a program: ringfort run -- %.60s",
			name);
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	if (hold_stdio() < 0)
		return RF_EXIT_FAILED;
	if (argc < 2) {
		print_help(stderr);
		return RF_EXIT_FAILED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("ringfort " RF_VERSION);
		return 0;
	}
	for (size_t i = 0; i < RF_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return unknown_command(argv[1]);
}
