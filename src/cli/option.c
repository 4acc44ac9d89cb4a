/* Options: see option.h. */
#include "cli/option.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

#define KEY(name, letter, arg, key, help)                                                          \
	{                                                                                          \
		name, letter, arg, RF_OPTION_KEY, key, help                                        \
	}
#define OWN(name, letter, arg, id, help)                                                           \
	{                                                                                          \
		name, letter, arg, id, NULL, help                                                  \
	}

/* clang-format off */
static const struct rf_option options[] = {
	{ NULL, 0, NULL, 0, NULL, "what it sees" },
	KEY("read",       'r', "SRC[:DEST]", "files.read",       "show a file or directory, read-only"),
	KEY("write",      'w', "SRC[:DEST]", "files.write",      "show a file or directory, writable"),
	KEY("current",    0,   "read|none",  "files.current",    "the current directory (default: read)"),
	KEY("workdir",    0,   "PATH",       "workdir",          "where the program starts, inside"),
	KEY("env",        'e', "K=V",        "env.set",          "set a variable"),
	KEY("pass",       0,   "K",          "env.pass",         "pass on a variable of yours"),
	OWN("env-file",   0,   "FILE",       RF_OPTION_ENV_FILE, "set variables from lines of K=V"),
	KEY("hostname",   0,   "NAME",       "hostname",         "the host's name inside"),

	{ NULL, 0, NULL, 0, NULL, "what it may use" },
	KEY("memory",     'm', "64M",        "limits.memory",     "all processes together, swap off"),
	KEY("cpu",        0,   "50%",        "limits.cpu",        "share of one processor; 200% is two"),
	KEY("cpu-time",   0,   "10s",        "limits.cpu_time",   "processor time"),
	KEY("time",       't', "1s",         "limits.time",       "time on the clock"),
	KEY("pids",       0,   "64",         "limits.pids",       "processes and threads at one time"),
	KEY("open-files", 0,   "256",        "limits.open_files", "descriptors in each process"),
	KEY("file-size",  0,   "100M",       "limits.file_size",  "bytes in one file"),
	KEY("disk",       0,   "100M",       "limits.disk",       "bytes in /tmp, the home, /run ... together"),
	KEY("inodes",     0,   "10000",      "limits.inodes",     "files there"),
	KEY("output",     0,   "1M",         "limits.output",     "standard output and error together"),
	KEY("require",    0,   "any|hard",   "limits.require",    "hard: refuse where a limit can't be kept exactly"),

	{ NULL, 0, NULL, 0, NULL, "how it is walled" },
	KEY("net",        0,   "none|host",  "network.link",      "none: no network; host: all of this machine's"),
	KEY("loopback",   0,   "on|off",     "network.loopback",  "inet sockets within the box"),
	KEY("unix",       0,   "on|off",     "network.unix",      "unix sockets (default: off); host ones in shown places too"),
	KEY("syscalls",   0,   "default|strict", "syscalls",      "which system calls there are"),
	KEY("isolation",  0,   "process",    "isolation",         "what stands between"),
	KEY("weaker",     0,   "refuse|allow", "weaker",          "allow: run even where a wall is missing"),
	OWN("profile",    'p', "NAME[,NAME]", RF_OPTION_PROFILE,  "default, python, strict"),
	OWN("policy",     0,   "FILE",       RF_OPTION_POLICY,    "read rules from a YAML or JSON file"),

	{ NULL, 0, NULL, 0, NULL, "what it tells" },
	OWN("json",       0,   NULL,         RF_OPTION_JSON,      "one JSON object instead of text"),
	OWN("stats",      0,   NULL,         RF_OPTION_STATS,     "what the run used, on standard error"),
	OWN("help",       'h', NULL,         RF_OPTION_HELP,      "this text"),
	OWN("version",    0,   NULL,         RF_OPTION_VERSION,   "the version"),
};
/* clang-format on */

static int min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

int rf_option_distance(const char *a, const char *b)
{
	int row[64];
	int len = (int)strnlen(b, RF_LEN(row));

	if (len >= (int)RF_LEN(row) || strlen(a) > 256)
		return len + 256;
	for (int j = 0; j <= len; j++)
		row[j] = j;
	for (int i = 1; *a; a++, i++) {
		int diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= len; j++) {
			int above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
			diagonal = above;
		}
	}
	return row[len];
}

static const struct rf_option *by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < RF_LEN(options); i++)
		if (options[i].name && strlen(options[i].name) == len &&
		    strncmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static const struct rf_option *by_letter(char letter)
{
	for (size_t i = 0; i < RF_LEN(options); i++)
		if (letter && options[i].letter == letter)
			return &options[i];
	return NULL;
}

static int fail_unknown(const char *arg, struct rf_err *err)
{
	char name[48];
	const char *near = NULL;
	int best = 3;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg + strspn(arg, "-"), "="),
		 arg + strspn(arg, "-"));
	for (size_t i = 0; i < RF_LEN(options); i++) {
		int distance = options[i].name ? rf_option_distance(name, options[i].name) : best;

		/* The beginning of a name says more than a few letters in common. */
		if (options[i].name && name[0] && strncmp(options[i].name, name, strlen(name)) == 0)
			distance = 0;
		if (distance < best) {
			best = distance;
			near = options[i].name;
		}
	}
	rf_fail_say(err, -EINVAL, "there is no option `%.80s`", arg);
	if (near)
		return rf_fail_hint(err, "did you mean `--%s`?", near);
	return rf_fail_hint(err, "`ringfort run --help` lists them; the program comes after `--`");
}

int rf_option_next(int argc, char **argv, int *at, const struct rf_option **ret_option,
		   const char **ret_value, struct rf_err *err)
{
	const char *arg = *at < argc ? argv[*at] : NULL, *value = NULL;
	const struct rf_option *option;

	if (!arg || arg[0] != '-' || arg[1] == '\0')
		return 0;
	++*at;
	if (strcmp(arg, "--") == 0)
		return 0;
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		option = by_name(arg + 2, len);
		value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
	} else {
		option = by_letter(arg[1]);
		value = arg[2] ? arg + 2 : NULL;
	}
	if (!option)
		return fail_unknown(arg, err);
	if (!option->arg && value)
		return rf_fail_say(err, -EINVAL, "`--%s` takes no value", option->name);
	if (option->arg && !value && *at < argc)
		value = argv[(*at)++];
	if (option->arg && !value) {
		rf_fail_say(err, -EINVAL, "`--%s` needs a value", option->name);
		return rf_fail_hint(err, "for example: --%s %s", option->name, option->arg);
	}
	*ret_option = option;
	*ret_value = value;
	return 1;
}

void rf_option_help(FILE *out)
{
	for (size_t i = 0; i < RF_LEN(options); i++) {
		const struct rf_option *option = &options[i];
		char left[64];

		if (!option->name) {
			fprintf(out, "\n%s:\n", option->help);
			continue;
		}
		snprintf(left, sizeof(left), "%c%c --%s%s%s", option->letter ? '-' : ' ',
			 option->letter ? option->letter : ' ', option->name,
			 option->arg ? " " : "", option->arg ? option->arg : "");
		fprintf(out, "  %-28s %s\n", left, option->help);
	}
}
