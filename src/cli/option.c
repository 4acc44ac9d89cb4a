/* Options: see option.h. */
#include "cli/option.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/style.h"

#define MAX_HELP (64 * 1024)

#define KEY(name, letter, arg, key, help)                                                          \
	{                                                                                          \
		name, letter, arg, RF_OPTION_KEY, key, help, POLICY                                \
	}
#define NET(name, letter, arg, key, help)                                                          \
	{                                                                                          \
		name, letter, arg, RF_OPTION_KEY, key, help, POLICY | ONLY(NET_SET)                \
	}
#define OWN(name, letter, arg, id, commands, help)                                                 \
	{                                                                                          \
		name, letter, arg, id, NULL, help, commands                                        \
	}
#define GROUP(help)                                                                                \
	{                                                                                          \
		NULL, 0, NULL, 0, NULL, help, 0                                                    \
	}

/* Who takes an option. */
#define ONLY(id) RF_CMD_BIT(RF_CMD_##id)
/* Whoever runs a program. */
#define RUNS (ONLY(RUN) | ONLY(SHELL) | ONLY(EXEC) | ONLY(SHADOW))
/* Whoever looks at writes that wait, or decides about them. */
#define APPROVALS                                                                                  \
	(ONLY(APPROVAL_LS) | ONLY(APPROVAL_SHOW) | ONLY(APPROVAL_ALLOW) | ONLY(APPROVAL_DENY))
/* Whoever makes a plan. */
#define POLICY                                                                                     \
	(RUNS | ONLY(AGENT_CREATE) | ONLY(POLICY_EXPLAIN) | ONLY(POLICY_WHY) | ONLY(POLICY_SHOW) | \
	 ONLY(POLICY_LEARN))
/* Whoever runs code, or tells how. */
#define CODE (ONLY(RUN) | ONLY(EXEC) | ONLY(AGENT_RUN) | ONLY(SHADOW) | ONLY(POLICY_EXPLAIN))
/* Whoever reads the files of a workspace, and whoever works on them. */
#define READS (ONLY(FILE_CAT) | ONLY(FILE_LS) | ONLY(FILE_STAT) | ONLY(FILE_FIND))
#define FILES (READS | ONLY(FILE_CP) | ONLY(FILE_RM))
/* Whoever works on a workspace. */
#define MOVES   (ONLY(CHECKPOINT) | ONLY(UNDO) | ONLY(FORK) | ONLY(DISCARD))
#define IN_ONE  (MOVES | ONLY(LOG) | ONLY(DIFF) | ONLY(APPLY) | FILES | ONLY(EXPORT) | ONLY(IMPORT))
#define EVENTS  (ONLY(AUDIT_SHOW) | ONLY(AUDIT_EXPORT)) /* whoever prints events */
#define TRAFFIC (ONLY(NET_LOG) | ONLY(NET_SUMMARY))     /* whoever tells of the network */
#define PERIOD  (EVENTS | ONLY(AUDIT_REPORT) | TRAFFIC) /* whoever reads those of a time */
#define CHANGES                                                                                    \
	(ONLY(NET_SET) | ONLY(NET_ALLOW) | ONLY(NET_DENY)) /* whoever changes a box's network */
#define ALL (RF_CMD_BIT(RF_CMD_COUNT) - 1)

/* clang-format off */
const struct rf_option rf_option_table[] = {
	GROUP("what it runs"),
	OWN("lang",       'l', "NAME",       RF_OPTION_LANG, CODE, "run code in this language: from -c, a file or standard input; auto: by the file's name"),
	OWN("code",       'c', "CODE",       RF_OPTION_CODE, CODE, "the code itself, for --lang"),
	OWN("list-langs", 0,   NULL,         RF_OPTION_LIST_LANGS, ONLY(RUN), "the languages, and what of them is on this machine"),

	GROUP("what becomes of it"),
	OWN("workspace",  0,   "DIR",        RF_OPTION_WORKSPACE, ONLY(SHADOW), "the directory that it works on, and that is only changed at the end"),
	OWN("verify",     0,   "COMMAND",    RF_OPTION_VERIFY, ONLY(SHADOW), "a line for a shell, run on the result in a box of its own; may be repeated"),
	OWN("ask",        0,   NULL,         RF_OPTION_ASK, ONLY(SHADOW), "ask before it is applied; needs a terminal"),
	OWN("allow",      0,   "PATH",       RF_OPTION_ALLOW, ONLY(SHADOW), "a change that acts later on the host, and may be applied all the same; may be repeated"),
	GROUP("which workspace"),
	OWN("workspace",  0,   "DIR",        RF_OPTION_WORKSPACE, ONLY(CREATE), "the directory that it lies over"),
	OWN("workspace",  0,   "DIR",        RF_OPTION_WORKSPACE, ONLY(AGENT_CREATE), "the directory that it works on (default: the current one)"),
	OWN("name",       'n', "NAME",       RF_OPTION_NAME, ONLY(CREATE), "what it is called"),
	OWN("workspace",  'w', "NAME",       RF_OPTION_WORKSPACE, IN_ONE, "which one (default: that over the current directory)"),
	OWN("at",         0,   "POINT",      RF_OPTION_AT, READS | ONLY(FILE_CP) | ONLY(EXPORT), "as it was there: a checkpoint's name, or @ID"),
	OWN("times",      'n', "8",          RF_OPTION_TIMES, ONLY(FORK), "so many of them: NAME-1, NAME-2 ..."),
	OWN("live",       0,   NULL,         RF_OPTION_LIVE, ONLY(CHECKPOINT) | ONLY(FORK), "copy what the program in it has done so far; it stands still meanwhile, and goes on"),
	OWN("stop",       0,   NULL,         RF_OPTION_STOP, MOVES, "end the program that runs in it first; what it changed is kept"),
	OWN("sync",       0,   NULL,         RF_OPTION_SYNC, ONLY(CHECKPOINT) | ONLY(UNDO) | ONLY(DISCARD) | ONLY(APPLY) | ONLY(SHADOW), "return when it would survive a power cut"),
	OWN("only",       0,   "PATH",       RF_OPTION_ONLY, ONLY(APPLY), "changes at or beneath it, and of what acts later only itself; may be repeated"),
	OWN("ours",       0,   NULL,         RF_OPTION_OURS, ONLY(APPLY), "where the directory was changed meanwhile, leave it so"),
	OWN("theirs",     0,   NULL,         RF_OPTION_THEIRS, ONLY(APPLY) | ONLY(UNDO), "overwrite what was changed in the directory meanwhile"),
	GROUP("which files"),
	OWN("name",       0,   "PATTERN",    RF_OPTION_NAME, ONLY(FILE_FIND), "whose name is like it, as '*.c'; with a slash, whose path is"),
	OWN("content",    0,   "TEXT",       RF_OPTION_CONTENT, ONLY(FILE_FIND), "lines that have it in them"),
	OWN("recursive",  'r', NULL,         RF_OPTION_RECURSIVE, ONLY(FILE_RM), "folders with all that is in them"),
	GROUP("what it may take"),
	OWN("max-bytes",  0,   "16G",        RF_OPTION_MAX_BYTES, ONLY(IMPORT) | ONLY(FILE_CP), "of all files together, unpacked (default: 16G; file cp: 256M)"),
	OWN("max-files",  0,   "1000000",    RF_OPTION_MAX_FILES, ONLY(IMPORT), "files, folders and links (default: 1000000)"),
	GROUP("what it sees"),
	KEY("read",       'r', "SRC[:DEST]", "files.read",       "show a file or directory, read-only"),
	KEY("write",      'w', "SRC[:DEST]", "files.write",      "show a file or directory, writable"),
	OWN("workspace",  0,   "DIR",        RF_OPTION_WORKSPACE, ONLY(RUN) | ONLY(SHELL) | ONLY(POLICY_EXPLAIN), "a directory, or the name of a workspace: what it changes there stays in a layer"),
	KEY("current",    0,   "read|none",  "files.current",    "the current directory (default: read)"),
	KEY("deny",       0,   "PATTERN",    "files.deny",       "hide files: a path, or a pattern such as '**/.env'"),
	KEY("credentials", 0,  "hide|show",  "files.credentials", "well-known ones in shown folders (default: hide)"),
	KEY("attributes", 0,   "refuse|keep", "files.attributes", "extended ones of files under --write (default: refuse)"),
	KEY("workdir",    0,   "PATH",       "workdir",          "where the program starts, inside"),
	KEY("env",        'e', "K=V",        "env.set",          "set a variable"),
	KEY("pass",       0,   "K",          "env.pass",         "pass on a variable of yours"),
	OWN("env-file",   0,   "FILE",       RF_OPTION_ENV_FILE, POLICY, "set variables from lines of K=V"),
	KEY("hostname",   0,   "NAME",       "hostname",         "the host's name inside"),

	GROUP("what it may use"),
	KEY("memory",     'm', "64M",        "limits.memory",     "all processes together, swap off"),
	KEY("cpu",        0,   "50%",        "limits.cpu",        "share of one processor; 200% is two"),
	KEY("cpu-time",   0,   "10s",        "limits.cpu_time",   "processor time"),
	KEY("time",       0,   "1s",         "limits.time",       "time on the clock"),
	KEY("pids",       0,   "64",         "limits.pids",       "processes and threads at one time"),
	KEY("open-files", 0,   "256",        "limits.open_files", "descriptors in each process"),
	KEY("file-size",  0,   "100M",       "limits.file_size",  "bytes in one file"),
	KEY("disk",       0,   "100M",       "limits.disk",       "bytes in /tmp, the home, /run ... together, and in a workspace"),
	KEY("inodes",     0,   "10000",      "limits.inodes",     "files there"),
	KEY("output",     0,   "1M",         "limits.output",     "standard output and error together"),
	KEY("require",    0,   "any|hard",   "limits.require",    "hard: refuse where a limit can't be kept exactly"),

	GROUP("what it may reach"),
	NET("net",        0,   "HOST[,HOST]|none|host", "network.allow", "hosts, as api.github.com, *.pkgs.example:443 or 'TCP db.example:5433'; none (the default); host: all of this machine's network; may be repeated"),
	NET("net-deny",   0,   "HOST[,HOST]", "network.deny",     "what of these it may not"),
	NET("net-mode",   0,   "enforce|report|open", "network.mode", "report: let all pass, and tell what would have been refused"),
	NET("host",       0,   "NAME=ADDRESS", "network.hosts",   "where a name leads, instead of what DNS says"),
	KEY("publish",    0,   "[ADDRESS:]PORT[:PORT]", "network.publish", "a port of this machine's loopback that leads to one inside; may be repeated"),
	KEY("credential", 0,   "NAME=env:VAR@HOST", "credentials", "added to requests to HOST outside the box, and allows HOST; also from file:PATH, cmd:COMMAND, stdin:"),

	GROUP("who it is for"),
	KEY("agent",      0,   "NAME",       "agent",             "whose breaker, budgets and records it goes by"),

	GROUP("how it is walled"),
	KEY("loopback",   0,   "on|off",     "network.loopback",  "inet sockets within the box"),
	KEY("unix",       0,   "on|off",     "network.unix",      "unix sockets (default: off); host ones in shown places too"),
	KEY("command",    0,   "NAME[,NAME]", "commands",         "the only programs that can be run; may be repeated"),
	KEY("syscalls",   0,   "default|strict|floor", "syscalls", "which system calls there are; floor: a profile decides"),
	KEY("seccomp",    0,   "FILE",       "seccomp",           "a system call profile in Docker's format, on top"),
	KEY("isolation",  0,   "process",    "isolation",         "what stands between"),
	KEY("weaker",     0,   "refuse|allow", "weaker",          "allow: run even where a wall is missing"),
	KEY("audit",      0,   "auto|required|off", "audit",      "record it where a watcher stands; required: or do not run"),
	OWN("profile",    'p', "NAME[,NAME]", RF_OPTION_PROFILE, POLICY, "python, git, agent ...: `policy show` lists them"),
	OWN("policy",     0,   "FILE",       RF_OPTION_POLICY, POLICY | ONLY(NET_SET), "read rules from a YAML or JSON file"),
	OWN("config",     0,   "FILE",       RF_OPTION_CONFIG, POLICY, "your settings, instead of ~/.config/ringfort/config.yaml"),
	OWN("no-config",  0,   NULL,         RF_OPTION_NO_CONFIG, POLICY, "do without your settings"),

	GROUP("which events"),
	OWN("since",      0,   "TIME",       RF_OPTION_SERVICE, PERIOD, "not before: 10m (ago), 2h, 7d, or 2026-11-16T06:50:00Z"),
	OWN("until",      0,   "TIME",       RF_OPTION_SERVICE, PERIOD, "before that"),
	OWN("kind",       'k', "NAME",       RF_OPTION_SERVICE, EVENTS, "run.ended, or a family: run; may be repeated"),
	OWN("agent",      0,   "NAME",       RF_OPTION_SERVICE, PERIOD, "of this agent"),
	OWN("box",        0,   "ID",         RF_OPTION_SERVICE, EVENTS | TRAFFIC, "of this box"),
	OWN("verdict",    0,   "WORD",       RF_OPTION_SERVICE, EVENTS, "ok, failed, timeout, memory, killed, denied ..."),
	OWN("last",       'n', "N",          RF_OPTION_SERVICE, EVENTS | ONLY(NET_LOG), "the last N of them"),
	OWN("log",        0,   "FOLDER",     RF_OPTION_SERVICE, PERIOD | ONLY(AUDIT_VERIFY), "a log that lies elsewhere"),

	GROUP("what it shows"),
	OWN("agent",      0,   "NAME",       RF_OPTION_SERVICE, ONLY(TOP), "agents whose name has this in it"),
	OWN("interval",   0,   "1s",         RF_OPTION_SERVICE, ONLY(TOP), "how often it looks, 100ms to 1h"),
	OWN("once",       0,   NULL,         RF_OPTION_SERVICE, ONLY(TOP), "one frame as text, and no terminal"),

	GROUP("what it keeps"),
	OWN("anchor",     0,   "syslog|FILE", RF_OPTION_SERVICE, ONLY(WATCH), "where signed heads are told, too; may be repeated"),
	OWN("hook",       0,   "PROGRAM",    RF_OPTION_SERVICE, ONLY(WATCH), "run this for each alarm, with the event as JSON on its standard input"),
	OWN("segment",    0,   "64M",        RF_OPTION_SERVICE, ONLY(WATCH), "bytes of one file of the log"),
	OWN("keep",       0,   "10G",        RF_OPTION_SERVICE, ONLY(WATCH), "bytes of all of them; older ones go (default: none)"),
	OWN("keep-days",  0,   "90",         RF_OPTION_SERVICE, ONLY(WATCH), "days that they are kept (default: for ever)"),

	GROUP("what it is held against"),
	OWN("anchor",     0,   "FILE",       RF_OPTION_SERVICE, ONLY(AUDIT_VERIFY), "heads that were told to somebody else, also among other lines"),
	OWN("key",        0,   "HEX",        RF_OPTION_SERVICE, ONLY(AUDIT_VERIFY), "the public key to trust (default: the log's key.pub)"),

	GROUP("what it tells"),
	OWN("to",         'o', "FILE",       RF_OPTION_TO, ONLY(POLICY_LEARN), "where the policy goes (default: standard output)"),
	OWN("paths",      0,   NULL,         RF_OPTION_PATHS, ONLY(POLICY_LEARN), "end TLS for every host, and learn methods and paths, too"),
	OWN("json",       0,   NULL,         RF_OPTION_JSON,
	    (POLICY & ~ONLY(POLICY_LEARN)) | ONLY(AGENT_RUN) | ONLY(AGENT_LS) | ONLY(AGENT_SHOW) | ONLY(POLICY_DIFF) | ONLY(DOCTOR) | ONLY(WARDEN) | ONLY(PS) | ONLY(BREAKER_LS) | ONLY(LOG) | ONLY(DIFF) | ONLY(APPLY) | ONLY(FILE_LS) | ONLY(FILE_STAT) | ONLY(FILE_FIND) | ONLY(HELP) | ONLY(KEY_CREATE) | ONLY(KEY_LS) | ONLY(CREDENTIAL_LS) | APPROVALS | ONLY(GATEWAY) | ONLY(WATCH) | ONLY(AUDIT_SHOW) | ONLY(AUDIT_VERIFY) | ONLY(AUDIT_REPORT) | TRAFFIC, "JSON instead of text"),
	OWN("long",       'l', NULL,         RF_OPTION_LONG, ONLY(FILE_LS), "type, mode, size and time as well"),
	OWN("stat",       0,   NULL,         RF_OPTION_STAT, ONLY(DIFF), "how much: lines of text, bytes of anything else"),
	OWN("patch",      'p', NULL,         RF_OPTION_PATCH, ONLY(DIFF), "the lines themselves, as `git apply` and `patch -p1` take them"),
	OWN("csv",        0,   NULL,         RF_OPTION_SERVICE, ONLY(AUDIT_SHOW) | TRAFFIC, "comma-separated values, a column for each field"),
	OWN("format",     0,   "jsonl|ocsf", RF_OPTION_SERVICE, ONLY(AUDIT_EXPORT), "how each event is written (default: jsonl)"),
	OWN("format",     0,   "text|html|json|policy", RF_OPTION_SERVICE, ONLY(AUDIT_REPORT), "how it is written; policy: the tighter one alone"),
	OWN("follow",     'f', NULL,         RF_OPTION_SERVICE, ONLY(AUDIT_SHOW) | ONLY(NET_LOG), "and stay, for what comes"),
	OWN("no-index",   0,   NULL,         RF_OPTION_SERVICE, EVENTS | ONLY(NET_LOG), "read all of the log, whatever its index says"),
	OWN("rebuild",    0,   NULL,         RF_OPTION_SERVICE, ONLY(AUDIT_INDEX), "make it anew"),
	OWN("tty",        't', NULL,         RF_OPTION_TTY, (RUNS & ~ONLY(SHADOW)) | ONLY(AGENT_RUN), "a terminal of its own instead of pipes"),
	OWN("plain",      0,   NULL,         RF_OPTION_PLAIN, RUNS | ONLY(AGENT_RUN), "text only: no colours, no escape sequences"),
	OWN("stats",      0,   NULL,         RF_OPTION_STATS, RUNS | ONLY(AGENT_RUN), "what the run used, on standard error"),
	OWN("no-warden",  0,   NULL,         RF_OPTION_NO_WARDEN, ONLY(RUN), "make the box here, even where a warden stands"),
	OWN("no-gateway", 0,   NULL,         RF_OPTION_NO_GATEWAY, RUNS | ONLY(AGENT_RUN) | ONLY(POLICY_LEARN), "a gateway for this run alone, even where one stands"),
	OWN("ceiling",    0,   "NAME|FILE",  RF_OPTION_CEILING, ONLY(WARDEN), "a profile or policy that no run goes beyond"),
	OWN("ceiling",    0,   "NAME|FILE",  RF_OPTION_CEILING, ONLY(MCP), "a profile or policy that no box goes beyond (default: large limits, no network, no file of this machine)"),
	OWN("listen",     0,   "ADDRESS:PORT", RF_OPTION_SERVICE, ONLY(SERVE), "a TCP port for who has a key, as 127.0.0.1:7070 or [::1]:7070; may be repeated"),
	OWN("host",       0,   "NAME",       RF_OPTION_SERVICE, ONLY(SERVE), "a name that requests on these ports may be for, besides addresses and localhost; may be repeated"),
	OWN("origin",     0,   "URL",        RF_OPTION_SERVICE, ONLY(SERVE), "a page's origin whose scripts may ask, as https://ui.example; may be repeated"),
	OWN("tls-cert",   0,   "FILE",       RF_OPTION_SERVICE, ONLY(SERVE), "these ports speak TLS: their certificate as PEM, and behind it what leads to a root"),
	OWN("tls-key",    0,   "FILE",       RF_OPTION_SERVICE, ONLY(SERVE), "the certificate's key, as PEM; SIGHUP reads both anew"),
	OWN("tls-client-ca", 0, "FILE",      RF_OPTION_SERVICE, ONLY(SERVE), "clients need a certificate of this authority, besides a key"),
	OWN("keep-sandboxes", 0, NULL,       RF_OPTION_SERVICE, ONLY(SERVE), "let sandboxes live on when it ends, for the next server, as long as --grace says"),
	OWN("memory-reserve", 0, "16M",      RF_OPTION_SERVICE, ONLY(SERVE), "memory that each box counts for at least, before another is begun (default: 16M)"),
	OWN("memory-margin", 0, "128M",      RF_OPTION_SERVICE, ONLY(SERVE), "memory that is left to this machine (default: 128M)"),
	OWN("disk-margin", 0,  "64M",        RF_OPTION_SERVICE, ONLY(SERVE), "space that boxes leave of the disk of workspaces (default: 64M)"),
	OWN("grace",      0,   "SECONDS",    RF_OPTION_SERVICE, ONLY(SERVE), "how long sandboxes outlive a server that was killed (default: 30)"),
	OWN("config",     0,   "FILE",       RF_OPTION_SERVICE, ONLY(SERVE), "a file that says all of this and more: ringfort.yaml (docs/server.md)"),
	OWN("check",      0,   NULL,         RF_OPTION_SERVICE, ONLY(SERVE), "look whether it could be served like this, and nothing else"),
	OWN("scope",      0,   "run,read",   RF_OPTION_SCOPE, ONLY(KEY_CREATE), "what it is good for: run, read, admin (default: run,read)"),
	OWN("ceiling",    0,   "NAME|FILE",  RF_OPTION_CEILING, ONLY(KEY_CREATE), "a profile or policy that no box of it goes beyond (default: an hour, no network, no file of this machine)"),
	OWN("tenant",     0,   "NAME",       RF_OPTION_TENANT, ONLY(KEY_CREATE), "keys of one tenant share their sandboxes (default: its own)"),
	OWN("tenant",     0,   "NAME",       RF_OPTION_TENANT, ONLY(CREDENTIAL_SET) | ONLY(CREDENTIAL_LS) | ONLY(CREDENTIAL_RM), "whose it is (default: local, who comes on the unix socket; of a list: everybody)"),
	OWN("tenant",     0,   "NAME",       RF_OPTION_TENANT, ONLY(APPROVAL_LS), "whose (default: everybody's)"),
	OWN("boxes",      0,   "64",         RF_OPTION_BOXES, ONLY(KEY_CREATE), "boxes at once"),
	OWN("memory",     0,   "4G",         RF_OPTION_SUM_MEMORY, ONLY(KEY_CREATE), "limits.memory of these boxes together (default: any)"),
	OWN("cpu",        0,   "400%",       RF_OPTION_SUM_CPU, ONLY(KEY_CREATE), "limits.cpu of these boxes together (default: any)"),
	OWN("disk",       0,   "10G",        RF_OPTION_SUM_DISK, ONLY(KEY_CREATE), "limits.disk of these boxes together (default: any)"),
	OWN("storage",    0,   "20G",        RF_OPTION_STORAGE, ONLY(KEY_CREATE), "what the tenant's workspaces may take together"),
	OWN("files",      0,   "1000000",    RF_OPTION_FILES, ONLY(KEY_CREATE), "files and folders in them"),
	OWN("rate",       0,   "600",        RF_OPTION_RATE, ONLY(KEY_CREATE), "runs, sandboxes and programs a minute (default: as many as there is room for)"),
	OWN("name",       'n', "NAME",       RF_OPTION_NAME, ONLY(KEY_CREATE), "what it is called, for people"),
	OWN("ahead",      0,   "8",          RF_OPTION_AHEAD, ONLY(WARDEN), "kinds of boxes that stand ready; 0: none"),
	OWN("status",     0,   NULL,         RF_OPTION_STATUS, ONLY(WARDEN) | ONLY(WATCH) | ONLY(GATEWAY), "whether one stands for you, and nothing else"),
	OWN("for",        0,   "10m",        RF_OPTION_FOR, ONLY(BREAKER_TRIP), "how long it stays open; without it, until it is reset"),
	OWN("reason",     0,   "TEXT",       RF_OPTION_REASON, ONLY(BREAKER_TRIP), "what whoever is refused is told"),
	OWN("reason",     0,   "TEXT",       RF_OPTION_REASON, ONLY(FREEZE) | ONLY(THAW) | ONLY(KILL) | CHANGES, "why: for the record, and for who started the box"),
	OWN("reason",     0,   "TEXT",       RF_OPTION_REASON, ONLY(APPROVAL_ALLOW) | ONLY(APPROVAL_DENY), "why: for the record"),
	OWN("names",      0,   "profiles",   RF_OPTION_NAMES, ONLY(HELP), "names for completions, one a line"),
	OWN("help",       'h', NULL,         RF_OPTION_HELP, ALL, "this text"),
	OWN("version",    0,   NULL,         RF_OPTION_VERSION, RUNS, "the version"),
};
/* clang-format on */

const size_t rf_option_count = RF_LEN(rf_option_table);

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

/* Walks the options of one command, and `next` from NULL. */
static const struct rf_option *next_of(enum rf_cmd_id id, const struct rf_option *option)
{
	const struct rf_option *end = rf_option_table + rf_option_count;

	for (option = option ? option + 1 : rf_option_table; option < end; option++)
		if (option->name && option->commands & RF_CMD_BIT(id))
			return option;
	return NULL;
}

static const struct rf_option *by_name(enum rf_cmd_id id, const char *name, size_t len)
{
	const struct rf_option *option = NULL;

	while ((option = next_of(id, option)))
		if (strlen(option->name) == len && strncmp(option->name, name, len) == 0)
			break;
	return option;
}

static const struct rf_option *by_letter(enum rf_cmd_id id, char letter)
{
	const struct rf_option *option = NULL;

	while ((option = next_of(id, option)))
		if (letter && option->letter == letter)
			break;
	return option;
}

/* The command that takes an option of this name, to say so to whoever gave it to another. */
static const char *whose(const char *name)
{
	for (int id = 0; id < RF_CMD_COUNT; id++)
		if (by_name((enum rf_cmd_id)id, name, strlen(name)))
			return rf_cmd_table[id].name;
	return NULL;
}

/* Options that other tools have, and what says the same here. */
/* clang-format off */
static const struct {
	const char *name, *hint;
} elsewhere[] = {
	{ "v",           "to show a folder: --read SRC[:DEST], or --write SRC[:DEST] to let it be changed" },
	{ "volume",      "to show a folder: --read SRC[:DEST], or --write SRC[:DEST] to let it be changed" },
	{ "mount",       "to show a folder: --read SRC[:DEST], or --write SRC[:DEST] to let it be changed" },
	{ "bind",        "to show a folder and let it be changed: --write SRC[:DEST]" },
	{ "ro-bind",     "to show a folder: --read SRC[:DEST]" },
	{ "network",     "it is `--net none` or `--net host`" },
	{ "share-net",   "it is `--net host`" },
	{ "unshare-net", "a box has no network unless you say `--net host`" },
	{ "timeout",     "it is `--time`, as in --time 10s" },
	{ "cwd",         "it is `--workdir`" },
	{ "chdir",       "it is `--workdir`" },
	{ "setenv",      "it is `--env NAME=VALUE`" },
	{ "clearenv",    "a box has no variable of yours unless you say `--pass NAME`" },
	{ "rm",          "leave it out: a box is always gone afterwards" },
	{ "user",        "leave it out: a box has a user of its own" },
	{ "privileged",  "there is no such box; --read, --write and --net widen one step by step" },
	{ "seccomp-profile", "`--syscalls strict` narrows the filter" },
};
/* clang-format on */

static const char *hint_from_elsewhere(const char *name)
{
	for (size_t i = 0; i < RF_LEN(elsewhere); i++)
		if (strcmp(name, elsewhere[i].name) == 0)
			return elsewhere[i].hint;
	return NULL;
}

static int fail_unknown(enum rf_cmd_id id, const char *arg, struct rf_err *err)
{
	const struct rf_option *option = NULL;
	const char *near = NULL;
	char name[48];
	int best = 3;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg + strspn(arg, "-"), "="),
		 arg + strspn(arg, "-"));
	/* A cluster of letters resembles everything. */
	while (strncmp(arg, "--", 2) == 0 && (option = next_of(id, option))) {
		int distance = rf_option_distance(name, option->name);

		/* The beginning of a name says more than a few letters in common. */
		if (name[0] && strncmp(option->name, name, strlen(name)) == 0)
			distance = 0;
		if (distance < best) {
			best = distance;
			near = option->name;
		}
	}
	rf_fail_say(err, -EINVAL, "there is no option `%.80s`", arg);
	if (strncmp(arg, "--", 2) == 0 && whose(name))
		return rf_fail_hint(err, "it belongs to `ringfort %s`", whose(name));
	if (hint_from_elsewhere(name))
		return rf_fail_hint(err, "%s", hint_from_elsewhere(name));
	if (near)
		return rf_fail_hint(err, "did you mean `--%s`?", near);
	return rf_fail_hint(err, "`ringfort %s --help` lists them%s", rf_cmd_table[id].name,
			    id == RF_CMD_RUN ? "; the program comes after `--`" : "");
}

int rf_option_hint(const struct rf_option *option, struct rf_err *err)
{
	if (!option->arg)
		return err->code;
	return rf_fail_hint(err, "for example: --%s %s", option->name, option->arg);
}

int rf_option_next(enum rf_cmd_id id, int argc, char **argv, int *at,
		   const struct rf_option **ret_option, const char **ret_value, struct rf_err *err)
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

		option = by_name(id, arg + 2, len);
		value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
	} else {
		option = by_letter(id, arg[1]);
		value = arg[2] ? arg + 2 : NULL;
	}
	if (!option)
		return fail_unknown(id, arg, err);
	if (!option->arg && value) {
		rf_fail_say(err, -EINVAL, "`--%s` takes no value", option->name);
		return rf_fail_hint(err, "write `--%s` and nothing more", option->name);
	}
	if (option->arg && !value && *at < argc)
		value = argv[(*at)++];
	if (option->arg && (!value || (!*value && strcmp(option->arg, "FILE") == 0))) {
		rf_fail_say(err, -EINVAL, "`--%s` needs a value", option->name);
		return rf_option_hint(option, err);
	}
	*ret_option = option;
	*ret_value = value;
	return 1;
}

void rf_option_help(enum rf_cmd_id id, FILE *out)
{
	const struct rf_style style = rf_style_of(fileno(out));
	RF_AUTO_BUF struct rf_buf text;
	const char *heading = NULL;

	rf_buf_init(&text, MAX_HELP);
	for (size_t i = 0; i < rf_option_count; i++) {
		const struct rf_option *option = &rf_option_table[i];
		char left[64];

		if (!option->name)
			heading = option->help;
		if (!option->name || !(option->commands & RF_CMD_BIT(id)))
			continue;
		if (heading)
			rf_buf_printf(&text, "\n%s%s:%s\n", rf_style_begin(style, RF_STYLE_HEADING),
				      heading, rf_style_end(style));
		heading = NULL;
		snprintf(left, sizeof(left), "%c%c --%s%s%s", option->letter ? '-' : ' ',
			 option->letter ? option->letter : ' ', option->name,
			 option->arg ? " " : "", option->arg ? option->arg : "");
		if (strlen(left) > 28) /* no room beside it */
			rf_buf_printf(&text, "  %s\n%*s", left, 31, "");
		else
			rf_buf_printf(&text, "  %-28s ", left);
		rf_style_paragraph(option->help, 31, &text);
	}
	fputs(text.data ? text.data : "", out);
}
