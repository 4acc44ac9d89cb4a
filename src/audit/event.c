/* Audit events: see event.h. */
#include "audit/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/redact.h"
#include "base/fd.h"

#define HEAD   6 /* bytes before the fields: version, kind, how many fields */
#define BEFORE 4 /* bytes before a field's value: its number, its length */
#define CUT    "..."

_Static_assert(RF_AUDIT_FIELD_END <= 8 * sizeof(rf_audit_set), "one bit for each field");

/* clang-format off */

/* What a field is, by its number.  A text has at most that many bytes. */
static const struct field {
	const char *name;
	enum rf_audit_type type;
	uint16_t max;
} fields[RF_AUDIT_FIELD_END] = {
	[RF_AUDIT_AGENT]         = { "agent",       RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_BOX]           = { "box",         RF_AUDIT_TEXT,   32 },
	[RF_AUDIT_USER]          = { "user",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_PID]           = { "pid",         RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_PROGRAM]       = { "program",     RF_AUDIT_FREE,   256 },
	[RF_AUDIT_POLICY]        = { "policy",      RF_AUDIT_DIGEST, RF_AUDIT_HASH },
	[RF_AUDIT_PLAN]          = { "plan",        RF_AUDIT_DIGEST, RF_AUDIT_HASH },
	[RF_AUDIT_ISOLATION]     = { "isolation",   RF_AUDIT_TEXT,   16 },
	[RF_AUDIT_VERDICT]       = { "verdict",     RF_AUDIT_TEXT,   16 },
	[RF_AUDIT_EXIT_CODE]     = { "exit_code",   RF_AUDIT_SIGNED, 8 },
	[RF_AUDIT_SIGNAL]        = { "signal",      RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_WALL_US]       = { "wall_us",     RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_CPU_US]        = { "cpu_us",      RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_START_US]      = { "start_us",    RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_MEMORY]        = { "memory",      RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_PIDS]          = { "pids",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_DISK]          = { "disk",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_DENIALS]       = { "denials",     RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_RING]          = { "ring",        RF_AUDIT_TEXT,   16 },
	[RF_AUDIT_WHAT]          = { "what",        RF_AUDIT_FREE,   512 },
	[RF_AUDIT_RULE]          = { "rule",        RF_AUDIT_FREE,   256 },
	[RF_AUDIT_REMEDY]        = { "remedy",      RF_AUDIT_FREE,   256 },
	[RF_AUDIT_REASON]        = { "reason",      RF_AUDIT_FREE,   256 },
	[RF_AUDIT_HOST]          = { "host",        RF_AUDIT_FREE,   256 },
	[RF_AUDIT_PORT]          = { "port",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_METHOD]        = { "method",      RF_AUDIT_FREE,   32 },
	[RF_AUDIT_PATH]          = { "path",        RF_AUDIT_FREE,   512 },
	[RF_AUDIT_CODE]          = { "code",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_BYTES_OUT]     = { "bytes_out",   RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_BYTES_IN]      = { "bytes_in",    RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_TOOL]          = { "tool",        RF_AUDIT_FREE,   128 },
	[RF_AUDIT_SERVER]        = { "server",      RF_AUDIT_FREE,   128 },
	[RF_AUDIT_TOOK_US]       = { "took_us",     RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_DECISION]      = { "decision",    RF_AUDIT_TEXT,   16 },
	[RF_AUDIT_BY]            = { "by",          RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_WORKSPACE]     = { "workspace",   RF_AUDIT_TEXT,   128 },
	[RF_AUDIT_CHECKPOINT_ID] = { "checkpoint",  RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_ADDED]         = { "added",       RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_MODIFIED]      = { "modified",    RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_DELETED]       = { "deleted",     RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_CREDENTIAL]    = { "credential",  RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_BREAKER]       = { "breaker",     RF_AUDIT_FREE,   288 },
	[RF_AUDIT_FROM]          = { "from",        RF_AUDIT_TEXT,   128 },
	[RF_AUDIT_TO]            = { "to",          RF_AUDIT_TEXT,   128 },
	[RF_AUDIT_UNTIL_MS]      = { "until_ms",    RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_BUDGET]        = { "budget",      RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_SPENT]         = { "spent",       RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_LIMIT]         = { "limit",       RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_SETTING]       = { "setting",     RF_AUDIT_TEXT,   128 },
	[RF_AUDIT_ALARM_NAME]    = { "alarm",       RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_SEVERITY]      = { "severity",    RF_AUDIT_TEXT,   16 },
	[RF_AUDIT_CHAIN]         = { "chain",       RF_AUDIT_DIGEST, RF_AUDIT_HASH },
	[RF_AUDIT_HEAD]          = { "head",        RF_AUDIT_DIGEST, RF_AUDIT_HASH },
	[RF_AUDIT_HEAD_SEQ]      = { "head_seq",    RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_SEGMENT]       = { "segment",     RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_BYTES]         = { "bytes",       RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_COUNT]         = { "count",       RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_VERSION]       = { "version",     RF_AUDIT_TEXT,   32 },
	[RF_AUDIT_SKEW_MS]       = { "skew_ms",     RF_AUDIT_SIGNED, 8 },
	[RF_AUDIT_OUTPUT]        = { "output",      RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_GRADES]        = { "grades",      RF_AUDIT_TEXT,   32 },
	[RF_AUDIT_TEXT_PART]     = { "text",        RF_AUDIT_TEXT,   RF_AUDIT_TEXT_MAX },
	[RF_AUDIT_PART]          = { "part",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_TENANT]        = { "tenant",      RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_KEY]           = { "key",         RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_REQUEST]       = { "request",     RF_AUDIT_FREE,   64 },
	[RF_AUDIT_TRACE]         = { "trace",       RF_AUDIT_TEXT,   64 },
	[RF_AUDIT_EXEC]          = { "exec",        RF_AUDIT_NUMBER, 8 },
	[RF_AUDIT_APPROVAL_ID]   = { "approval",    RF_AUDIT_TEXT,   32 },
};

#define F(name)  RF_AUDIT_BIT(RF_AUDIT_##name)
/* Any event may say whose it is. */
#define WHOSE    (F(AGENT) | F(BOX) | F(USER) | F(TENANT) | F(KEY) | F(REQUEST) | F(TRACE))

/* Which fields an event of a kind must have, and which it may have besides those of WHOSE. */
static const struct kind {
	const char *name;
	rf_audit_set must, may;
} kinds[RF_AUDIT_KIND_END] = {
	[RF_AUDIT_RUN_STARTED]    = { "run.started", F(BOX) | F(USER) | F(PROGRAM),
				      F(PID) | F(POLICY) | F(PLAN) | F(ISOLATION) | F(WORKSPACE) },
	[RF_AUDIT_RUN_ENDED]      = { "run.ended", F(BOX) | F(VERDICT),
				      F(PROGRAM) | F(EXIT_CODE) | F(SIGNAL) | F(WALL_US) | F(CPU_US) | F(START_US) |
				      F(MEMORY) | F(PIDS) | F(DISK) | F(DENIALS) | F(REASON) | F(ISOLATION) |
				      F(BYTES_OUT) | F(BYTES_IN) | F(OUTPUT) | F(GRADES) },
	[RF_AUDIT_RUN_REFUSED]    = { "run.refused", F(REASON),
				      F(PROGRAM) | F(POLICY) | F(PLAN) | F(RULE) | F(REMEDY) | F(RING) | F(BREAKER) |
				      F(UNTIL_MS) | F(VERDICT) },
	[RF_AUDIT_DENIAL]         = { "denial", F(RING) | F(WHAT),
				      F(RULE) | F(REMEDY) | F(REASON) | F(COUNT) | F(PID) | F(PROGRAM) },
	[RF_AUDIT_NET_REQUEST]    = { "net.request", F(HOST),
				      F(PORT) | F(METHOD) | F(PATH) | F(CODE) | F(BYTES_OUT) | F(BYTES_IN) |
				      F(TOOK_US) | F(DECISION) | F(RULE) | F(REASON) | F(CREDENTIAL) | F(REMEDY) | F(WHAT) },
	[RF_AUDIT_TOOL_CALL]      = { "tool.call", F(TOOL),
				      F(SERVER) | F(DECISION) | F(VERDICT) | F(RULE) | F(REASON) | F(TOOK_US) |
				      F(BYTES_OUT) | F(BYTES_IN) | F(CREDENTIAL) },
	[RF_AUDIT_APPROVAL]       = { "approval", F(WHAT) | F(DECISION),
				      F(BY) | F(REASON) | F(TOOL) | F(HOST) | F(TOOK_US) | F(APPROVAL_ID) | F(METHOD) |
				      F(PORT) | F(PATH) | F(BYTES) | F(UNTIL_MS) },
	[RF_AUDIT_CHECKPOINT]     = { "checkpoint", F(WORKSPACE) | F(CHECKPOINT_ID),
				      F(BYTES) | F(ADDED) | F(MODIFIED) | F(DELETED) | F(REASON) },
	[RF_AUDIT_UNDO]           = { "undo", F(WORKSPACE),
				      F(CHECKPOINT_ID) | F(ADDED) | F(MODIFIED) | F(DELETED) | F(BY) | F(REASON) },
	[RF_AUDIT_APPLY]          = { "apply", F(WORKSPACE),
				      F(CHECKPOINT_ID) | F(ADDED) | F(MODIFIED) | F(DELETED) | F(BY) | F(VERDICT) |
				      F(REASON) | F(BYTES) },
	[RF_AUDIT_CREDENTIAL_USE] = { "credential.use", F(CREDENTIAL),
				      F(HOST) | F(TOOL) | F(DECISION) | F(REASON) | F(SPENT) | F(COUNT) },
	[RF_AUDIT_BREAKER_CHANGE] = { "breaker.change", F(BREAKER) | F(FROM) | F(TO),
				      F(REASON) | F(RULE) | F(UNTIL_MS) | F(BY) | F(COUNT) },
	[RF_AUDIT_BUDGET_SPENT]   = { "budget.spent", F(BUDGET) | F(SPENT) | F(LIMIT),
				      F(BREAKER) | F(CREDENTIAL) | F(UNTIL_MS) | F(RULE) },
	[RF_AUDIT_KILL]           = { "kill", F(BOX),
				      F(PID) | F(BY) | F(REASON) | F(RULE) | F(VERDICT) | F(TOOK_US) },
	[RF_AUDIT_FREEZE]         = { "freeze", F(BOX), F(PID) | F(BY) | F(REASON) | F(RULE) | F(TO) },
	[RF_AUDIT_HOOK]           = { "hook", F(PROGRAM),
				      F(VERDICT) | F(EXIT_CODE) | F(TOOK_US) | F(REASON) },
	[RF_AUDIT_CONFIG_CHANGE]  = { "config.change", F(SETTING), F(FROM) | F(TO) | F(BY) | F(REASON) | F(POLICY) },
	[RF_AUDIT_ALARM]          = { "alarm", F(ALARM_NAME) | F(REASON),
				      F(SEVERITY) | F(WHAT) | F(RULE) | F(PID) | F(COUNT) | F(HEAD) | F(HEAD_SEQ) |
				      F(CHAIN) | F(HOST) | F(PROGRAM) | F(CREDENTIAL) },
	[RF_AUDIT_RECOVERY]       = { "recovery", F(WHAT),
				      F(REASON) | F(COUNT) | F(VERDICT) | F(PID) | F(WORKSPACE) | F(PROGRAM) },
	[RF_AUDIT_WATCH_STARTED]  = { "watch.started", F(PID) | F(VERSION), F(HEAD_SEQ) | F(REASON) },
	[RF_AUDIT_WATCH_ENDED]    = { "watch.ended", F(PID), F(REASON) | F(COUNT) },
	[RF_AUDIT_CHAIN_STARTED]  = { "chain.started", F(CHAIN), F(HEAD) | F(HEAD_SEQ) | F(REASON) | F(VERSION) },
	[RF_AUDIT_CHAIN_CUT]      = { "chain.cut", F(BYTES), F(SEGMENT) | F(REASON) | F(HEAD) | F(HEAD_SEQ) },
	[RF_AUDIT_CHAIN_RETIRED]  = { "chain.retired", F(SEGMENT) | F(HEAD) | F(HEAD_SEQ), F(REASON) | F(BYTES) | F(COUNT) },
	[RF_AUDIT_CHAIN_CLOSED]   = { "chain.closed", 0, F(REASON) | F(COUNT) },
	[RF_AUDIT_CLOCK_JUMP]     = { "clock.jump", F(SKEW_MS), F(REASON) },
	[RF_AUDIT_POLICY_TEXT]    = { "policy.text", F(POLICY) | F(TEXT_PART) | F(PART) | F(COUNT), 0 },
	[RF_AUDIT_RUN_USED]       = { "run.used", F(BOX) | F(SETTING), F(WHAT) | F(COUNT) },
	[RF_AUDIT_EXEC_STARTED]   = { "exec.started", F(BOX) | F(EXEC) | F(PROGRAM), 0 },
	[RF_AUDIT_EXEC_ENDED]     = { "exec.ended", F(BOX) | F(EXEC) | F(VERDICT),
				      F(PROGRAM) | F(EXIT_CODE) | F(SIGNAL) | F(WALL_US) | F(CPU_US) | F(MEMORY) | F(REASON) },
};
/* clang-format on */

static bool is_text(enum rf_audit_type type)
{
	return type == RF_AUDIT_TEXT || type == RF_AUDIT_FREE;
}

static const struct field *field_of(unsigned field)
{
	return field < RF_AUDIT_FIELD_END && fields[field].name ? &fields[field] : NULL;
}

static const struct kind *kind_of(unsigned kind)
{
	return kind < RF_AUDIT_KIND_END && kinds[kind].name ? &kinds[kind] : NULL;
}

const char *rf_audit_event_kind_name(unsigned kind)
{
	return kind_of(kind) ? kinds[kind].name : NULL;
}

unsigned rf_audit_event_kind_find(const char *name)
{
	for (unsigned i = 1; i < RF_AUDIT_KIND_END; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return 0;
}

bool rf_audit_event_is_own(enum rf_audit_kind kind)
{
	return kind >= RF_AUDIT_WATCH_STARTED && kind <= RF_AUDIT_CLOCK_JUMP;
}

const char *rf_audit_event_field_name(unsigned field)
{
	return field_of(field) ? fields[field].name : NULL;
}

enum rf_audit_type rf_audit_event_field_type(enum rf_audit_field field)
{
	return fields[field].type;
}

/* ------------------------------------------------------------- in memory */

void rf_audit_event_init(struct rf_audit_event *event, enum rf_audit_kind kind)
{
	*event = (struct rf_audit_event){ .kind = kind };
}

/* Bit 0 belongs to no field: with it no event is encoded. */
static bool may_set(struct rf_audit_event *event, enum rf_audit_field field, bool is_right)
{
	if (!field_of(field) || !is_right)
		event->fields |= 1;
	return field_of(field) && is_right;
}

void rf_audit_event_text(struct rf_audit_event *event, enum rf_audit_field field, const char *text)
{
	if (!may_set(event, field, is_text(fields[field].type)) || !text || !*text)
		return;
	event->fields |= RF_AUDIT_BIT(field);
	event->values[field].text = text;
	event->values[field].len = strlen(text);
}

void rf_audit_event_number(struct rf_audit_event *event, enum rf_audit_field field, uint64_t number)
{
	enum rf_audit_type type = fields[field].type;

	if (!may_set(event, field, type == RF_AUDIT_NUMBER || type == RF_AUDIT_SIGNED))
		return;
	event->fields |= RF_AUDIT_BIT(field);
	event->values[field].number = number;
}

void rf_audit_event_digest(struct rf_audit_event *event, enum rf_audit_field field,
			   const uint8_t digest[RF_AUDIT_HASH])
{
	if (!may_set(event, field, fields[field].type == RF_AUDIT_DIGEST))
		return;
	event->fields |= RF_AUDIT_BIT(field);
	event->values[field].text = (const char *)digest;
	event->values[field].len = RF_AUDIT_HASH;
}

bool rf_audit_event_has(const struct rf_audit_event *event, enum rf_audit_field field)
{
	return event->fields >> field & 1;
}

uint64_t rf_audit_event_get(const struct rf_audit_event *event, enum rf_audit_field field)
{
	return rf_audit_event_has(event, field) ? event->values[field].number : 0;
}

void rf_audit_event_copy(const struct rf_audit_event *event, enum rf_audit_field field, char *text,
			 size_t size)
{
	size_t len = rf_audit_event_has(event, field) ? event->values[field].len : 0;

	len = len < size ? len : size - 1;
	if (len > 0)
		memcpy(text, event->values[field].text, len);
	text[len] = '\0';
}

/* ------------------------------------------------------------- as bytes */

static void put(struct rf_buf *out, uint64_t value, int bytes)
{
	unsigned char little[8];

	for (int i = 0; i < bytes; i++)
		little[i] = (unsigned char)(value >> 8 * i);
	rf_buf_add(out, little, (size_t)bytes);
}

static uint64_t get(const unsigned char *at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* How many bytes of a text are kept: where it is cut, no letter of UTF-8 is. */
static size_t kept(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	len = max - strlen(CUT);
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

/* A text as it is stored: without secrets if it is free, without NULs, and not too long. */
static void put_text(struct rf_buf *out, unsigned number, const char *text, size_t len)
{
	RF_AUTO_BUF struct rf_buf clean;
	const struct field *field = &fields[number];
	size_t keep;

	rf_buf_init(&clean, (size_t)64 * 1024);
	len = strnlen(text, len);
	if (field->type == RF_AUDIT_FREE) {
		rf_redact(text, len < 4096 ? len : 4096, &clean);
		text = clean.data ? clean.data : "";
		len = clean.len;
	}
	keep = kept(text, len, field->max);
	put(out, number, 2);
	put(out, keep < len ? keep + strlen(CUT) : keep, 2);
	rf_buf_add(out, text, keep);
	if (keep < len)
		rf_buf_puts(out, CUT);
	out->has_failed = out->has_failed || clean.has_failed;
}

static void put_field(struct rf_buf *out, const struct rf_audit_event *event, unsigned number)
{
	if (is_text(fields[number].type)) {
		put_text(out, number, event->values[number].text, event->values[number].len);
		return;
	}
	put(out, number, 2);
	put(out, fields[number].max, 2);
	if (fields[number].type == RF_AUDIT_DIGEST)
		rf_buf_add(out, event->values[number].text, RF_AUDIT_HASH);
	else
		put(out, event->values[number].number, 8);
}

static unsigned count_of(rf_audit_set set)
{
	return (unsigned)(__builtin_popcountll((uint64_t)set) +
			  __builtin_popcountll((uint64_t)(set >> 64)));
}

static unsigned first_of(rf_audit_set set)
{
	return (unsigned)((uint64_t)set ? __builtin_ctzll((uint64_t)set)
					: 64 + __builtin_ctzll((uint64_t)(set >> 64)));
}

/* Holds a set of fields against the kind's row. */
static int check_fields(const struct kind *kind, rf_audit_set set, int code, struct rf_err *err)
{
	rf_audit_set missing = kind->must & ~set, foreign = set & ~(kind->must | kind->may | WHOSE);

	if (foreign)
		return rf_fail_say(err, code, "an event %s with %s", kind->name,
				   foreign & 1 ? "a field of another type"
					       : fields[first_of(foreign)].name);
	if (missing)
		return rf_fail_say(err, code, "an event %s without %s", kind->name,
				   fields[first_of(missing)].name);
	return 0;
}

int rf_audit_event_encode(const struct rf_audit_event *event, struct rf_buf *out,
			  struct rf_err *err)
{
	const struct kind *kind = kind_of(event->kind);
	size_t before = out->len;

	if (!kind)
		return rf_fail_say(err, -EINVAL, "an event of no kind (%u)", event->kind);
	if (check_fields(kind, event->fields, -EINVAL, err) < 0)
		return err->code;
	put(out, RF_AUDIT_EVENT_VERSION, 2);
	put(out, event->kind, 2);
	put(out, count_of(event->fields), 2);
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++)
		if (event->fields >> i & 1)
			put_field(out, event, i);
	if (out->has_failed)
		return rf_fail(err, -ENOMEM, "an event");
	if (out->len - before > RF_AUDIT_EVENT_MAX)
		return rf_fail_say(err, -EINVAL, "an event %s of %zu bytes", kind->name,
				   out->len - before);
	return 0;
}

/* Takes one field in; gives where the next one begins, or 0 if it is malformed. */
static size_t take_field(const unsigned char *data, size_t len, size_t at,
			 struct rf_audit_event *event)
{
	unsigned number = len - at < BEFORE ? 0 : (unsigned)get(data + at, 2);
	const struct field *field = field_of(number);
	size_t size;

	if (!field || event->fields >> number != 0) /* in order, and none twice */
		return 0;
	size = get(data + at + 2, 2);
	at += BEFORE;
	if (size > len - at || size > field->max ||
	    (is_text(field->type) ? size == 0 || memchr(data + at, '\0', size) != NULL
				  : size != field->max))
		return 0;
	event->fields |= RF_AUDIT_BIT(number);
	if (is_text(field->type) || field->type == RF_AUDIT_DIGEST) {
		event->values[number].text = (const char *)data + at;
		event->values[number].len = size;
	} else {
		event->values[number].number = get(data + at, 8);
	}
	return at + size;
}

int rf_audit_event_decode(const void *data, size_t len, struct rf_audit_event *ret_event,
			  struct rf_err *err)
{
	struct rf_audit_event event = { 0 };
	const unsigned char *bytes = data;
	const struct kind *kind;
	size_t at = HEAD, count;

	if (len < HEAD || len > RF_AUDIT_EVENT_MAX)
		return rf_fail_say(err, -EBADMSG, "an event of %zu bytes", len);
	if (get(bytes, 2) != RF_AUDIT_EVENT_VERSION)
		return rf_fail_say(err, -EBADMSG, "an event of version %" PRIu64, get(bytes, 2));
	event.kind = (enum rf_audit_kind)get(bytes + 2, 2);
	kind = kind_of(event.kind);
	if (!kind)
		return rf_fail_say(err, -EBADMSG, "an event of the unknown kind %u", event.kind);
	for (count = get(bytes + 4, 2); count > 0; count--) {
		at = take_field(bytes, len, at, &event);
		if (at == 0)
			return rf_fail_say(err, -EBADMSG, "an event %s with a malformed field",
					   kind->name);
	}
	if (at != len)
		return rf_fail_say(err, -EBADMSG, "an event %s with %zu bytes behind it",
				   kind->name, len - at);
	if (check_fields(kind, event.fields, -EBADMSG, err) < 0)
		return err->code;
	*ret_event = event;
	return 0;
}

/* ------------------------------------------------------------- for people and programs */

void rf_audit_event_time(uint64_t time_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;
	char day[24];

	if (!gmtime_r(&seconds, &tm) || tm.tm_year > 8099 ||
	    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(day, sizeof(day), "9999-12-31T23:59:59");
	snprintf(text, size, "%s.%06uZ", day, (unsigned)(time_ns % 1000000000 / 1000));
}

static void put_hex(struct rf_json *json, const char *name, const char *digest)
{
	char hex[2 * RF_AUDIT_HASH + 1];

	for (int i = 0; i < RF_AUDIT_HASH; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)digest[i]);
	rf_json_string(json, name, hex);
}

/* Numbers beyond what JSON's readers keep exactly are written as texts. */
static void put_number(struct rf_json *json, const char *name, uint64_t number)
{
	char text[24];

	if (number <= 1ull << 53) {
		rf_json_int(json, name, (int64_t)number);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64, number);
	rf_json_string(json, name, text);
}

void rf_audit_event_json(const struct rf_audit_event *event, struct rf_json *json)
{
	char time[32];

	rf_audit_event_time(event->time_ns, time, sizeof(time));
	put_number(json, "seq", event->seq);
	rf_json_string(json, "time", time);
	rf_json_string(json, "kind", rf_audit_event_kind_name(event->kind));
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++) {
		if (!(event->fields >> i & 1))
			continue;
		switch (fields[i].type) {
		case RF_AUDIT_TEXT:
		case RF_AUDIT_FREE:
			rf_json_bytes(json, fields[i].name, event->values[i].text,
				      event->values[i].len);
			break;
		case RF_AUDIT_DIGEST:
			put_hex(json, fields[i].name, event->values[i].text);
			break;
		case RF_AUDIT_NUMBER:
			put_number(json, fields[i].name, event->values[i].number);
			break;
		case RF_AUDIT_SIGNED:
			rf_json_int(json, fields[i].name, (int64_t)event->values[i].number);
			break;
		}
	}
}
