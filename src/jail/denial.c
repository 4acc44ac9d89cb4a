/*
 * What the kernel refused a box: see denial.h.
 *
 * A record is one line: "audit(TIME:SERIAL): " and fields NAME=VALUE between blanks.  What strangers
 * name (paths, programs) stands in quotes, and in hexadecimal digits without quotes as soon as it
 * has a quote, a blank or a byte beyond ASCII, so that no name can pose as a field.
 */
#include "jail/denial.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "init/orders.h"
#include "jail/filter.h"

/* What would allow it. */
enum remedy {
	NOTHING,
	READ,
	WRITE,
	EXECUTE,
	CONNECT,
};

/* clang-format off */
/* Landlock's words for what was asked, by their beginnings; the first that fits counts. */
static const struct blocker {
	const char *word, *kind;
	enum remedy remedy;
} blockers[] = {
	{ "fs.execute",                 "file",    EXECUTE },
	{ "fs.read_",                   "file",    READ },
	{ "fs.",                        "file",    WRITE },
	{ "net.bind_",                  "network", NOTHING },
	{ "net.",                       "network", CONNECT },
	{ "scope.signal",               "signal",  NOTHING },
	{ "scope.abstract_unix_socket", "network", NOTHING },
	{ "ptrace",                     "ptrace",  NOTHING },
};
/* clang-format on */

/* ------------------------------------------------------------- fields */

struct slice {
	const char *at;
	size_t len;
};

/* The fields of a record, behind its stamp.  False for what is no record. */
static bool open_record(const char *text, size_t len, struct slice *fields)
{
	static const char head[] = "audit(";
	const char *end = text + strnlen(text, len), *at;

	if (end - text < (ptrdiff_t)sizeof(head) || strncmp(text, head, sizeof(head) - 1) != 0)
		return false;
	for (at = text + sizeof(head) - 1; at < end && *at != ')'; at++)
		if (!strchr("0123456789.:", *at))
			return false;
	if (end - at < 3 || strncmp(at, "): ", 3) != 0)
		return false;
	*fields = (struct slice){ at + 3, (size_t)(end - at - 3) };
	return true;
}

/* Finds the first field of that name; the value is as it stands, with its quotes. */
static bool find(struct slice fields, const char *name, struct slice *value)
{
	size_t name_len = strlen(name);

	while (fields.len > 0) {
		const char *blank = memchr(fields.at, ' ', fields.len);
		size_t len = blank ? (size_t)(blank - fields.at) : fields.len;

		if (len > name_len && memcmp(fields.at, name, name_len) == 0 &&
		    fields.at[name_len] == '=') {
			*value = (struct slice){ fields.at + name_len + 1, len - name_len - 1 };
			return true;
		}
		len += blank ? 1 : 0;
		fields.at += len;
		fields.len -= len;
	}
	return false;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The whole value as a number without sign, or false. */
static bool find_number(struct slice fields, const char *name, unsigned base, uint64_t *ret_number)
{
	struct slice value;
	uint64_t number = 0;

	if (!find(fields, name, &value))
		return false;
	if (base == 16 && value.len > 2 && strncmp(value.at, "0x", 2) == 0) {
		value.at += 2;
		value.len -= 2;
	}
	if (value.len == 0)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		int digit = digit_of(value.at[i]);

		if (digit < 0 || (unsigned)digit >= base ||
		    number > (UINT64_MAX - (unsigned)digit) / base)
			return false;
		number = number * base + (unsigned)digit;
	}
	*ret_number = number;
	return true;
}

/*
 * A stranger's name, fit to be shown: printable UTF-8, and question marks for what is not.  A leading
 * NUL is an abstract socket's, written as @.  *ret_is_whole is false if the name is another one now.
 */
static bool find_name(struct slice fields, const char *name, char what[RF_DENIAL_WHAT],
		      bool *ret_is_whole)
{
	struct slice value;
	size_t step = 1, len;
	bool is_text;

	if (!find(fields, name, &value) || value.len == 0)
		return false;
	if (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"') {
		value.at++;
		value.len -= 2;
	} else {
		step = 2;
		for (size_t i = 0; i < value.len; i++)
			if (value.len % 2 || digit_of(value.at[i]) < 0)
				return false; /* such as "(null)" */
	}
	len = value.len / step;
	*ret_is_whole = len < RF_DENIAL_WHAT;
	if (!*ret_is_whole)
		len = RF_DENIAL_WHAT - 1;
	for (size_t i = 0; i < len; i++)
		what[i] = step == 1 ? value.at[i]
				    : (char)(digit_of(value.at[i * 2]) * 16 +
					     digit_of(value.at[i * 2 + 1]));
	what[len] = '\0';
	is_text = rf_json_is_utf8(what, len);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)what[i];

		if (c == 0xc2 && is_text && (unsigned char)what[i + 1] < 0xa0) /* a control */
			what[i] = what[i + 1] = '?';
		else if (c >= ' ' && c != 0x7f && (c < 0x80 || is_text))
			continue;
		else
			what[i] = c == 0 && i == 0 ? '@' : '?';
		*ret_is_whole = false;
	}
	return len > 0;
}

/* ------------------------------------------------------------- rows */

static void add(struct rf_denials *denials, const struct rf_denial *denial)
{
	for (size_t i = 0; i < denials->count; i++)
		if (strcmp(denials->rows[i].kind, denial->kind) == 0 &&
		    strcmp(denials->rows[i].what, denial->what) == 0 &&
		    strcmp(denials->rows[i].rule, denial->rule) == 0)
			return;
	if (denials->count == RF_DENIAL_MAX)
		denials->more++;
	else
		denials->rows[denials->count++] = *denial;
}

/* A list of one path, as a policy has it: a string of JSON is one of YAML.  Nothing if it does not fit, or is no text. */
static void write_line(const char *before, const char *path, const char *after, char *out,
		       size_t size)
{
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, size);
	rf_buf_printf(&text, "%s[", before);
	rf_json_init(&json, &text, false);
	rf_json_string(&json, NULL, path);
	rf_buf_printf(&text, "]%s", after);
	*out = '\0';
	if (!text.has_failed && text.len < size && rf_json_is_utf8(path, strlen(path)))
		memcpy(out, text.data, text.len + 1);
}

/* What the kernel or a device keeps for itself: showing it in another way is seldom the answer. */
static bool is_special(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0 ||
	       strncmp(path, "/sys/", 5) == 0;
}

static void write_remedy(const struct rf_denials *denials, enum remedy remedy,
			 struct rf_denial *denial)
{
	static const char *const questions[] = {
		[READ] = "read", [WRITE] = "write", [EXECUTE] = "exec", [CONNECT] = "connect"
	};
	bool is_asked = remedy == CONNECT || (remedy == EXECUTE && !denials->has_commands) ||
			is_special(denial->what);
	char *out = denial->remedy;

	if (remedy == NOTHING)
		return;
	if (is_asked && !strpbrk(denial->what, " '\"\\$`*?;&|<>()[]{}~#!"))
		snprintf(out, sizeof(denial->remedy), "ringfort policy why %s %s",
			 questions[remedy], denial->what);
	else if (is_asked)
		return;
	else if (remedy == EXECUTE)
		write_line("commands: ", denial->what, "", out, sizeof(denial->remedy));
	else
		write_line(remedy == READ ? "files: { read: " : "files: { write: ", denial->what,
			   " }", out, sizeof(denial->remedy));
}

/* ------------------------------------------------------------- Landlock */

/* Its words are letters, digits, dots and commas; a list of them is told as it stands. */
static const struct blocker *find_blocker(struct slice fields, struct rf_denial *denial)
{
	struct slice words;

	if (!find(fields, "blockers", &words) || words.len == 0)
		return NULL;
	for (size_t i = 0; i < words.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_.,", words.at[i]))
			return NULL;
	snprintf(denial->rule, sizeof(denial->rule), "landlock: %.*s",
		 words.len < sizeof(denial->rule) ? (int)words.len : (int)sizeof(denial->rule),
		 words.at);
	for (size_t i = 0; i < RF_LEN(blockers); i++) {
		size_t len = strlen(blockers[i].word);

		if (words.len >= len && memcmp(words.at, blockers[i].word, len) == 0)
			return &blockers[i];
	}
	return NULL;
}

/* "ADDRESS:PORT" as far as either is told; addresses are digits, letters, colons and dots. */
static bool find_address(struct slice fields, char what[RF_DENIAL_WHAT])
{
	static const char *const ends[][2] = { { "daddr", "dest" }, { "saddr", "src" } };

	for (size_t i = 0; i < RF_LEN(ends); i++) {
		struct slice address = { "", 0 };
		uint64_t port = 0;
		bool has_address =
			find(fields, ends[i][0], &address) && address.len > 0 && address.len < 64;
		bool has_port = find_number(fields, ends[i][1], 10, &port) && port < 65536;
		bool is_6;

		for (size_t k = 0; has_address && k < address.len; k++)
			if (digit_of(address.at[k]) < 0 && !strchr(":.", address.at[k]))
				has_address = false;
		if (!has_address && !has_port)
			continue;
		is_6 = has_address && memchr(address.at, ':', address.len);
		snprintf(what, RF_DENIAL_WHAT, is_6 && has_port ? "[%.*s]" : "%.*s",
			 has_address ? (int)address.len : 0, address.at);
		if (has_port)
			snprintf(what + strlen(what), 8, ":%u", (unsigned)port);
		return true;
	}
	return false;
}

static void take_access(struct rf_denials *denials, struct slice fields)
{
	struct rf_denial denial = { 0 };
	const struct blocker *blocker;
	bool is_whole = true;
	uint64_t domain;

	if (!find_number(fields, "domain", 16, &domain) || domain == 0 || domain != denials->domain)
		return;
	blocker = find_blocker(fields, &denial);
	if (!blocker)
		return;
	denial.kind = blocker->kind;
	if (!find_name(fields, "path", denial.what, &is_whole) &&
	    !find_name(fields, "ocomm", denial.what, &is_whole) &&
	    !find_address(fields, denial.what)) {
		snprintf(denial.what, sizeof(denial.what), "unknown");
		is_whole = false;
	}
	if (strcmp(denial.what, RF_SENTINEL) == 0) /* tried by pid 1, to prove the wall */
		return;
	/* open(O_CREAT) of what is there asks beforehand whether it could be made, and goes on. */
	if (strncmp(denial.what, "/proc", 5) == 0 &&
	    strcmp(denial.rule, "landlock: fs.make_reg") == 0)
		return;
	if (is_whole)
		write_remedy(denials, blocker->remedy, &denial);
	add(denials, &denial);
}

static void take_domain(struct rf_denials *denials, struct slice fields)
{
	uint64_t domain, uid;

	if (denials->domain == 0 && find_number(fields, "domain", 16, &domain) &&
	    find_number(fields, "uid", 10, &uid) && uid == denials->uid)
		denials->domain = domain;
}

/* ------------------------------------------------------------- the filter */

/*
 * Whether a call that was answered with an errno is worth telling.  The record does not say which:
 * but what is absent is asked for in passing, by programs that do without, and what is answered as if
 * it had been done was not refused.
 */
static bool is_refusal(const struct rf_call_options *options, int nr)
{
	for (size_t g = 0; g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, options);
		enum rf_call_check check = rf_call_check(group, options);

		for (size_t i = 0; i < group->count; i++)
			if (group->calls[i].nr == nr)
				return verdict == RF_CALL_REFUSE ||
				       (verdict == RF_CALL_ALLOW && check != RF_CHECK_SETRLIMIT &&
					check != RF_CHECK_PRLIMIT);
	}
	return false;
}

static void take_call(struct rf_denials *denials, struct slice fields)
{
	struct rf_denial denial = { .kind = "syscall", .rule = "seccomp" };
	uint64_t uid, nr, code, arch;
	uint32_t action;

	if (!find_number(fields, "uid", 10, &uid) || uid != denials->uid ||
	    !find_number(fields, "arch", 16, &arch) || !find_number(fields, "syscall", 10, &nr) ||
	    !find_number(fields, "code", 16, &code))
		return;
	action = (uint32_t)code & SECCOMP_RET_ACTION_FULL;
	if (action == SECCOMP_RET_ERRNO) {
		if (arch != RF_FILTER_ARCH || nr >= RF_CALL_NUMBERS ||
		    !is_refusal(&denials->calls, (int)nr))
			return;
	} else if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
		   action == SECCOMP_RET_TRAP) {
		snprintf(denial.rule, sizeof(denial.rule), "seccomp: %s",
			 action == SECCOMP_RET_TRAP ? "SIGSYS" : "killed");
	} else {
		return;
	}
	if (arch == RF_FILTER_ARCH && nr < RF_CALL_NUMBERS &&
	    strcmp(rf_call_name((int)nr), "?") != 0) {
		snprintf(denial.what, sizeof(denial.what), "%s", rf_call_name((int)nr));
		snprintf(denial.remedy, sizeof(denial.remedy), "ringfort policy why syscall %s",
			 rf_call_name((int)nr));
	} else {
		snprintf(denial.what, sizeof(denial.what), "number %llu%s", (unsigned long long)nr,
			 arch == RF_FILTER_ARCH ? "" : " of another architecture");
	}
	add(denials, &denial);
}

void rf_denial_take(struct rf_denials *denials, unsigned type, const char *text, size_t len)
{
	struct slice fields;

	if (!open_record(text, len, &fields))
		return;
	if (type == RF_DENIAL_ACCESS)
		take_access(denials, fields);
	else if (type == RF_DENIAL_DOMAIN)
		take_domain(denials, fields);
	else if (type == RF_DENIAL_SECCOMP)
		take_call(denials, fields);
}
