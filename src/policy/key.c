/*
 * The keys of a policy: see key.h.
 *
 * A key enters this table together with its enforcer, so that nobody believes in a rule that nothing carries out.
 */
#include "policy/key.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "policy/near.h"

/* clang-format off */
static const struct rf_key_choice versions[] = { { "1", 1 }, { NULL } };
static const struct rf_key_choice isolations[] = {
	{ "auto", RF_ISOLATION_AUTO }, { "process", RF_ISOLATION_PROCESS },
	{ "container", RF_KEY_LATER }, { "gvisor", RF_KEY_LATER },
	{ "vm", RF_KEY_LATER }, { "wasm", RF_KEY_LATER }, { NULL },
};
static const struct rf_key_choice weakers[] = {
	{ "refuse", RF_WEAKER_REFUSE }, { "allow", RF_WEAKER_ALLOW }, { NULL },
};
static const struct rf_key_choice syscalls[] = {
	{ "floor", RF_SYSCALLS_FLOOR }, { "default", RF_SYSCALLS_DEFAULT },
	{ "strict", RF_SYSCALLS_STRICT }, { NULL },
};
static const struct rf_key_choice requires[] = {
	{ "any", RF_REQUIRE_ANY }, { "hard", RF_REQUIRE_HARD }, { NULL },
};
static const struct rf_key_choice currents[] = {
	{ "none", RF_CURRENT_NONE }, { "read", RF_CURRENT_READ }, { NULL },
};
static const struct rf_key_choice credentials[] = {
	{ "hide", RF_CREDENTIALS_HIDE }, { "show", RF_CREDENTIALS_SHOW }, { NULL },
};
static const struct rf_key_choice attributes[] = {
	{ "refuse", RF_XATTRS_REFUSE }, { "keep", RF_XATTRS_KEEP }, { NULL },
};
static const struct rf_key_choice links[] = {
	{ "none", RF_LINK_NONE }, { "gateway", RF_LINK_GATEWAY }, { "host", RF_LINK_HOST }, { NULL },
};
static const struct rf_key_choice modes[] = {
	{ "enforce", RF_NET_ENFORCE }, { "report", RF_NET_REPORT }, { "open", RF_NET_OPEN }, { NULL },
};
static const struct rf_key_choice writes[] = {
	{ "pass", RF_NET_WRITES_PASS }, { "hold", RF_NET_WRITES_HOLD }, { NULL },
};
static const struct rf_key_choice audits[] = {
	{ "off", RF_RECORDED_NOT }, { "auto", RF_RECORDED_AUTO },
	{ "required", RF_RECORDED_ALWAYS }, { "false", RF_RECORDED_NOT }, { NULL },
};
static const struct rf_key_choice counts[] = {
	{ "limits", RF_COUNTS_LIMITS }, { "failures", RF_COUNTS_FAILURES }, { NULL },
};
static const struct rf_key_choice reactions[] = {
	{ "record", RF_REACTION_RECORD }, { "freeze", RF_REACTION_FREEZE },
	{ "kill", RF_REACTION_KILL }, { NULL },
};
static const struct rf_key_choice switches[] = {
	{ "off", RF_SWITCH_OFF }, { "on", RF_SWITCH_ON },
	{ "false", RF_SWITCH_OFF }, { "true", RF_SWITCH_ON }, { NULL },
};

#define CHOICE(path, choices, strict, fallback, help) \
	{ path, RF_KEY_TYPE_CHOICE, RF_KEY_STRICT_##strict, choices, { fallback, fallback, fallback }, help }
#define TASTE(path, type, fallback, help) \
	{ path, RF_KEY_TYPE_##type, RF_KEY_STRICT_NEITHER, NULL, { fallback, fallback, fallback }, help }
#define LISTS(path, type, help) \
	{ path, RF_KEY_TYPE_##type, RF_KEY_STRICT_LISTS, NULL, { NULL }, help }
#define LIMIT(name) \
	{ "limits." name, RF_KEY_TYPE_LIMIT, RF_KEY_STRICT_LESS }
#define QUOTA(path, strict) \
	{ path, RF_KEY_TYPE_QUOTA, RF_KEY_STRICT_##strict }

const struct rf_key_info rf_key_table[RF_KEY_COUNT] = {
	[RF_KEY_VERSION] = CHOICE("version", versions, NEITHER, "1",
		"the version of this language"),
	[RF_KEY_EXTENDS] = LISTS("extends", SOURCES,
		"profiles and policy files that this one builds on"),
	[RF_KEY_ISOLATION] = CHOICE("isolation", isolations, MORE, "auto",
		"what stands between the code and the host"),
	[RF_KEY_WEAKER] = CHOICE("weaker", weakers, LESS, "refuse",
		"whether a machine that lacks a wall may run the box"),
	[RF_KEY_HOSTNAME] = TASTE("hostname", HOST, "box",
		"the host's name inside"),
	[RF_KEY_WORKDIR] = TASTE("workdir", PATH, NULL,
		"where the program starts, inside"),
	[RF_KEY_AGENT] = { "agent", RF_KEY_TYPE_AGENT, RF_KEY_STRICT_FIRST, NULL, { NULL },
		"who it is done for: breakers, budgets and records go by it" },
	[RF_KEY_SYSCALLS] = CHOICE("syscalls", syscalls, MORE, "default",
		"which system calls the filter lets through"),
	[RF_KEY_SECCOMP] = LISTS("seccomp", FILTERS,
		"system call profiles in Docker's format, on top of the filter"),

	[RF_KEY_LIMIT + RF_LIMIT_MEMORY]     = LIMIT("memory"),
	[RF_KEY_LIMIT + RF_LIMIT_CPU]        = LIMIT("cpu"),
	[RF_KEY_LIMIT + RF_LIMIT_CPU_TIME]   = LIMIT("cpu_time"),
	[RF_KEY_LIMIT + RF_LIMIT_TIME]       = LIMIT("time"),
	[RF_KEY_LIMIT + RF_LIMIT_PIDS]       = LIMIT("pids"),
	[RF_KEY_LIMIT + RF_LIMIT_OPEN_FILES] = LIMIT("open_files"),
	[RF_KEY_LIMIT + RF_LIMIT_FILE_SIZE]  = LIMIT("file_size"),
	[RF_KEY_LIMIT + RF_LIMIT_DISK]       = LIMIT("disk"),
	[RF_KEY_LIMIT + RF_LIMIT_INODES]     = LIMIT("inodes"),
	[RF_KEY_LIMIT + RF_LIMIT_OUTPUT]     = LIMIT("output"),
	[RF_KEY_REQUIRE] = CHOICE("limits.require", requires, MORE, "any",
		"how well each limit must be enforced"),

	[RF_KEY_READ] = LISTS("files.read", FILES,
		"files of the host to show, read-only"),
	[RF_KEY_WRITE] = LISTS("files.write", FILES,
		"files of the host to show, writable"),
	[RF_KEY_CURRENT] = CHOICE("files.current", currents, LESS, "read",
		"whether the current directory is shown"),
	[RF_KEY_DENY] = LISTS("files.deny", PATTERNS,
		"paths of the host that are hidden wherever they would show"),
	[RF_KEY_CREDENTIALS] = CHOICE("files.credentials", credentials, LESS, "hide",
		"whether well-known credentials at the top of shown folders are hidden"),
	[RF_KEY_ATTRIBUTES] = CHOICE("files.attributes", attributes, LESS, "refuse",
		"whether extended attributes can be set where a tree of the host is writable"),

	[RF_KEY_CANARIES] = LISTS("files.canaries", PATHS,
		"fake credentials to plant inside; who reads one is killed"),

	[RF_KEY_PASS] = LISTS("env.pass", NAMES,
		"variables of the caller to pass on"),
	[RF_KEY_SET] = LISTS("env.set", MAP,
		"variables to set"),

	[RF_KEY_LINK] = CHOICE("network.link", links, LESS, "none",
		"what the box's network leads to"),
	[RF_KEY_LOOPBACK] = CHOICE("network.loopback", switches, LESS, "on",
		"whether inet sockets work inside the box"),
	[RF_KEY_UNIX] = CHOICE("network.unix", switches, LESS, "off",
		"whether unix sockets can be made, besides pairs"),

	[RF_KEY_NET_MODE] = CHOICE("network.mode", modes, LESS, NULL,
		"what becomes of what no rule allows: refused; passed and reported; passed"),
	[RF_KEY_NET_ALLOW] = LISTS("network.allow", RULES,
		"hosts that can be reached, with methods or TCP, ports and paths; nothing else can"),
	[RF_KEY_NET_DENY] = LISTS("network.deny", RULES,
		"what of these can't, whatever else allows it"),
	[RF_KEY_NET_HOSTS] = LISTS("network.hosts", HOSTS,
		"names that lead to addresses of one's own choice"),
	[RF_KEY_NET_PUBLISH] = LISTS("network.publish", PORTS,
		"ports inside that the host can reach"),
	[RF_KEY_NET_FILTER] = CHOICE("network.filter", switches, MORE, NULL,
		"whether tokens, keys and passwords are masked in answers, by their form"),
	[RF_KEY_NET_MASK] = LISTS("network.mask", MASKS,
		"regular expressions of one's own: what matches is masked in answers"),
	[RF_KEY_NET_ROOTS] = LISTS("network.roots", ROOTS,
		"files of certificates that servers may have theirs from, besides the system's"),
	[RF_KEY_NET_WRITES] = CHOICE("network.writes", writes, MORE, NULL,
		"whether requests that do more than read pass, or wait until somebody has approved them"),
	[RF_KEY_NET_LIMIT + RF_NET_CONNECTIONS]    = QUOTA("network.connections", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_PENDING]        = QUOTA("network.pending", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_RATE]           = QUOTA("network.rate", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_BANDWIDTH]      = QUOTA("network.bandwidth", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_BANDWIDTH_UP]   = QUOTA("network.bandwidth_up", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_BANDWIDTH_DOWN] = QUOTA("network.bandwidth_down", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_REQUEST_SIZE]   = QUOTA("network.request_size", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_RESPONSE_SIZE]  = QUOTA("network.response_size", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_CONNECT_TIME]   = QUOTA("network.connect_time", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_IDLE_TIME]      = QUOTA("network.idle_time", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_TOTAL_TIME]     = QUOTA("network.total_time", LESS),
	[RF_KEY_NET_LIMIT + RF_NET_APPROVAL_TIME]  = QUOTA("network.approval_time", LESS),
	[RF_KEY_GRANTS] = LISTS("credentials", GRANTS,
		"secrets that are added to requests outside the box; inside there is only a placeholder"),

	[RF_KEY_COMMANDS] = LISTS("commands", PROGRAMS,
		"the only programs that can be run; without it, all can"),

	[RF_KEY_AUDIT] = CHOICE("audit", audits, MORE, "auto",
		"whether a watcher records the run, and whether it must"),
	[RF_KEY_COUNTS] = CHOICE("breaker.counts", counts, MORE, NULL,
		"what is a failure: a run that a limit ended or that was denied; or any that did not end well"),
	[RF_KEY_QUOTA + RF_QUOTA_FAILURES]      = QUOTA("breaker.failures", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_RATE]          = QUOTA("breaker.rate", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_OF]            = QUOTA("breaker.of", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_WITHIN]        = QUOTA("breaker.within", MORE),
	[RF_KEY_QUOTA + RF_QUOTA_OPEN]          = QUOTA("breaker.open", MORE),
	[RF_KEY_QUOTA + RF_QUOTA_RUNS_HOUR]     = QUOTA("budgets.runs_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_RUNS_DAY]      = QUOTA("budgets.runs_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_CPU_HOUR]      = QUOTA("budgets.cpu_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_CPU_DAY]       = QUOTA("budgets.cpu_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_DENIALS_HOUR]  = QUOTA("budgets.denials_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_DENIALS_DAY]   = QUOTA("budgets.denials_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_TIMEOUTS_HOUR] = QUOTA("budgets.timeouts_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_TIMEOUTS_DAY]  = QUOTA("budgets.timeouts_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_REQUESTS_HOUR] = QUOTA("budgets.requests_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_REQUESTS_DAY]  = QUOTA("budgets.requests_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_BYTES_HOUR]    = QUOTA("budgets.bytes_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_BYTES_DAY]     = QUOTA("budgets.bytes_per_day", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_MONEY_HOUR]    = QUOTA("budgets.money_per_hour", LESS),
	[RF_KEY_QUOTA + RF_QUOTA_MONEY_DAY]     = QUOTA("budgets.money_per_day", LESS),

	[RF_KEY_ALARM + RF_ALARM_FORKS]     = QUOTA("alarms.forks", LESS),
	[RF_KEY_ALARM + RF_ALARM_WRITES]    = QUOTA("alarms.writes", LESS),
	[RF_KEY_ON_ALARM + RF_ALARM_FORKS]  = CHOICE("alarms.on_forks", reactions, MORE, NULL,
		"what is done about a fork storm, besides being recorded"),
	[RF_KEY_ON_ALARM + RF_ALARM_WRITES] = CHOICE("alarms.on_writes", reactions, MORE, NULL,
		"what is done about a write storm, besides being recorded"),
	[RF_KEY_ALARM_BREAKER] = CHOICE("alarms.breaker", switches, MORE, NULL,
		"whether an alarm opens the breaker of its agent"),
	[RF_KEY_ALARM_ROLLBACK] = CHOICE("alarms.rollback", switches, MORE, NULL,
		"whether a run that an alarm or a canary ended is taken back in its workspace"),

	[RF_KEY_FINAL] = LISTS("final", KEYS,
		"keys that later sources may only make stricter"),
};
static_assert(RF_KEY_COUNT <= 8 * sizeof(rf_key_set), "a policy keeps one bit for each key");

const struct rf_key_section rf_key_sections[RF_KEY_SECTIONS] = {
	{ "limits", -1 }, { "files", -1 }, { "env", -1 }, { "network", RF_KEY_LINK },
	{ "breaker", -1 }, { "budgets", -1 }, { "alarms", -1 },
};

/* clang-format on */

int rf_key_find(const char *path)
{
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (strcmp(rf_key_table[i].path, path) == 0)
			return i;
	return -1;
}

int rf_key_find_section(const char *name)
{
	for (int i = 0; i < RF_KEY_SECTIONS; i++)
		if (strcmp(rf_key_sections[i].name, name) == 0)
			return i;
	return -1;
}

const char *rf_key_name(enum rf_key key)
{
	const char *dot = strchr(rf_key_table[key].path, '.');

	return dot ? dot + 1 : rf_key_table[key].path;
}

/*
 * Looks among the neighbours of an unknown key first, then for the same name in another section
 * (`memory` at the top is limits.memory).  NULL if nothing is near.
 */
static const char *nearest(const char *path)
{
	const char *dot = strchr(path, '.'), *name = dot ? dot + 1 : path;
	size_t prefix = (size_t)(name - path);
	struct rf_near best = rf_near_init(name);

	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const char *key = rf_key_table[i].path;
		bool is_top = !strchr(key, '.');

		if (prefix ? strncmp(key, path, prefix) == 0 : is_top)
			rf_near_consider(&best, name, rf_key_name((enum rf_key)i), key + prefix);
	}
	for (int i = 0; i < RF_KEY_SECTIONS && prefix == 0; i++)
		rf_near_consider(&best, name, rf_key_sections[i].name, rf_key_sections[i].name);
	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (strcmp(rf_key_name((enum rf_key)i), name) == 0 && best.distance > 0)
			best = (struct rf_near){ rf_key_table[i].path, 0 };
	return best.name;
}

bool rf_key_is_map(enum rf_key key)
{
	enum rf_key_type type = rf_key_table[key].type;

	return type == RF_KEY_TYPE_MAP || type == RF_KEY_TYPE_HOSTS || type == RF_KEY_TYPE_GRANTS;
}

int rf_key_refuse(const char *path, struct rf_err *err)
{
	const char *dot = strrchr(path, '.'), *name;

	if (strcmp(dot ? dot + 1 : path, "<<") == 0) {
		rf_fail_say(err, -EINVAL, "merge keys (<<) are not part of the policy language");
		return rf_fail_hint(err, "write the keys out");
	}
	rf_fail_say(err, -EINVAL, "%.80s: unknown key", path);
	name = nearest(path);
	return name ? rf_fail_hint(err, "did you mean \"%s\"?", name) : err->code;
}

const struct rf_limit_info *rf_key_figure(enum rf_key key)
{
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_LIMIT:
		return &rf_limit_table[key - RF_KEY_LIMIT];
	case RF_KEY_TYPE_QUOTA:
		if (key >= RF_KEY_ALARM)
			return &rf_alarm_table[key - RF_KEY_ALARM];
		if (key >= RF_KEY_QUOTA)
			return &rf_quota_table[key - RF_KEY_QUOTA];
		assert(key < RF_KEY_NET_LIMIT + RF_NET_LIMIT_COUNT);
		return &rf_net_limit_table[key - RF_KEY_NET_LIMIT];
	default:
		return NULL;
	}
}

bool rf_key_has_rest(enum rf_key key)
{
	const struct rf_key_info *info = &rf_key_table[key];

	return info->type == RF_KEY_TYPE_QUOTA ||
	       (info->type == RF_KEY_TYPE_CHOICE && !info->defaults[0]);
}

uint64_t rf_key_number(const struct rf_policy *policy, enum rf_key key)
{
	bool is_set = policy->set & RF_KEY_BIT(key);

	return !is_set && rf_key_table[key].type == RF_KEY_TYPE_QUOTA ? rf_key_figure(key)->for_run
								      : policy->values[key].number;
}

bool rf_key_is_as_strict(enum rf_key key, uint64_t a, uint64_t b)
{
	const struct rf_limit_info *figure = rf_key_figure(key);

	switch (rf_key_table[key].strict) {
	case RF_KEY_STRICT_LESS:
		return figure ? rf_limit_is_within(figure, a, b) : a <= b;
	case RF_KEY_STRICT_MORE:
		return a >= b;
	default:
		return a == b;
	}
}

const char *rf_key_choice_name(enum rf_key key, uint64_t value)
{
	for (const struct rf_key_choice *c = rf_key_table[key].choices; c && c->name; c++)
		if (c->value == (int)value)
			return c->name;
	return "?";
}
