/* Events for people and for other programs: see render.h. */
#include "audit/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/digest.h"
#include "base/json.h"

/* Columns of a table; what else an event says stands behind them. */
#define IN_COLUMNS                                                                                 \
	(RF_AUDIT_BIT(RF_AUDIT_AGENT) | RF_AUDIT_BIT(RF_AUDIT_BOX) | RF_AUDIT_BIT(RF_AUDIT_VERDICT))

/* A field's value as text; nothing if the event has none. */
static void put_value(const struct rf_audit_event *event, enum rf_audit_field field,
		      struct rf_buf *out)
{
	char hex[RF_DIGEST_HEX];

	if (!rf_audit_event_has(event, field))
		return;
	switch (rf_audit_event_field_type(field)) {
	case RF_AUDIT_TEXT:
	case RF_AUDIT_FREE:
		rf_buf_add(out, event->values[field].text, event->values[field].len);
		break;
	case RF_AUDIT_DIGEST:
		rf_digest_hex((const uint8_t *)event->values[field].text, RF_AUDIT_HASH, hex);
		rf_buf_puts(out, hex);
		break;
	case RF_AUDIT_NUMBER:
		rf_buf_printf(out, "%" PRIu64, event->values[field].number);
		break;
	case RF_AUDIT_SIGNED:
		rf_buf_printf(out, "%" PRId64, (int64_t)event->values[field].number);
		break;
	}
}

/* ------------------------------------------------------------- a table */

#define WIDTH_TIME  19
#define WIDTH_KIND  14
#define WIDTH_AGENT 12
#define WIDTH_BOX   16

void rf_render_heading(struct rf_style style, struct rf_buf *out)
{
	rf_style_printf(style, RF_STYLE_HEADING, out, "%-*s  %-*s  %-*s  %-*s  %-8s  %s",
			WIDTH_TIME, "TIME (UTC)", WIDTH_KIND, "KIND", WIDTH_AGENT, "AGENT",
			WIDTH_BOX, "BOX", "VERDICT", "WHAT");
	rf_buf_puts(out, "\n");
}

static void put_column(struct rf_style style, const struct rf_audit_event *event,
		       enum rf_audit_field field, int width, struct rf_buf *out)
{
	char text[128];

	rf_audit_event_copy(event, field, text, sizeof(text));
	rf_style_put(style, RF_STYLE_PLAIN, *text ? text : "-", width, out);
	rf_buf_puts(out, "  ");
}

void rf_render_row(struct rf_style style, const struct rf_audit_event *event, struct rf_buf *out)
{
	RF_AUTO_BUF struct rf_buf rest;
	char time[32];

	rf_audit_event_time(event->time_ns, time, sizeof(time));
	time[WIDTH_TIME] = '\0';
	time[10] = ' ';
	rf_buf_printf(out, "%s  %-*s  ", time, WIDTH_KIND, rf_audit_event_kind_name(event->kind));
	put_column(style, event, RF_AUDIT_AGENT, WIDTH_AGENT, out);
	put_column(style, event, RF_AUDIT_BOX, WIDTH_BOX, out);
	put_column(style, event, RF_AUDIT_VERDICT, 8, out);
	rf_buf_init(&rest, (size_t)16 * 1024);
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++) {
		if (!(event->fields >> i & 1) || IN_COLUMNS >> i & 1 ||
		    rf_audit_event_field_type((enum rf_audit_field)i) == RF_AUDIT_DIGEST ||
		    i == RF_AUDIT_TEXT_PART) /* many lines */
			continue;
		rf_buf_printf(&rest, "%s%s=", rest.len ? " " : "", rf_audit_event_field_name(i));
		put_value(event, (enum rf_audit_field)i, &rest);
	}
	rf_style_put(style, RF_STYLE_PLAIN, rest.data ? rest.data : "", 0, out);
	rf_buf_puts(out, "\n");
}

/* ------------------------------------------------------------- JSON and CSV */

void rf_render_json(const struct rf_audit_event *event, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_audit_event_json(event, &json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

void rf_render_csv_heading(struct rf_buf *out)
{
	rf_buf_puts(out, "seq,time,kind");
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++)
		rf_buf_printf(out, ",%s", rf_audit_event_field_name(i));
	rf_buf_puts(out, "\r\n");
}

/* A text that a spreadsheet would take for a formula gets an apostrophe before it. */
static void put_cell(const struct rf_audit_event *event, enum rf_audit_field field,
		     struct rf_buf *out)
{
	RF_AUTO_BUF struct rf_buf value;
	bool is_free = rf_audit_event_field_type(field) <= RF_AUDIT_FREE;

	rf_buf_init(&value, (size_t)16 * 1024);
	put_value(event, field, &value);
	rf_buf_puts(out, ",");
	if (value.len == 0)
		return;
	rf_buf_puts(out, "\"");
	if (is_free && strchr("=+-@\t\r", value.data[0]))
		rf_buf_puts(out, "'");
	for (size_t i = 0; i < value.len; i++)
		rf_buf_add(out, value.data[i] == '"' ? "\"\"" : value.data + i,
			   value.data[i] == '"' ? 2 : 1);
	rf_buf_puts(out, "\"");
}

void rf_render_csv(const struct rf_audit_event *event, struct rf_buf *out)
{
	char time[32];

	rf_audit_event_time(event->time_ns, time, sizeof(time));
	rf_buf_printf(out, "%" PRIu64 ",%s,%s", event->seq, time,
		      rf_audit_event_kind_name(event->kind));
	for (unsigned i = 1; i < RF_AUDIT_FIELD_END; i++)
		put_cell(event, (enum rf_audit_field)i, out);
	rf_buf_puts(out, "\r\n");
}

/* ------------------------------------------------------------- OCSF */

enum {
	UNKNOWN = 0,
	INFORMATIONAL = 1,
	LOW = 2,
	MEDIUM = 3,
	HIGH = 4,
	CRITICAL = 5,
};

/* clang-format off */
/* Which class of OCSF 1.3 an event is of; what has no class there is a base event. */
static const struct class {
	int class, activity, severity;
	const char *name;
} classes[RF_AUDIT_KIND_END] = {
	[RF_AUDIT_RUN_STARTED]    = { 1007, 1, INFORMATIONAL, "Process Activity" },
	[RF_AUDIT_RUN_ENDED]      = { 1007, 2, INFORMATIONAL, "Process Activity" },
	[RF_AUDIT_EXEC_STARTED]   = { 1007, 1, INFORMATIONAL, "Process Activity" },
	[RF_AUDIT_EXEC_ENDED]     = { 1007, 2, INFORMATIONAL, "Process Activity" },
	[RF_AUDIT_RUN_USED]       = { 1007, 99, INFORMATIONAL, "Process Activity" },
	[RF_AUDIT_KILL]           = { 1007, 2, HIGH,          "Process Activity" },
	[RF_AUDIT_NET_REQUEST]    = { 4002, 99, INFORMATIONAL, "HTTP Activity" },
	[RF_AUDIT_TOOL_CALL]      = { 6003, 99, INFORMATIONAL, "API Activity" },
	[RF_AUDIT_DENIAL]         = { 2004, 1, LOW,           "Detection Finding" },
	[RF_AUDIT_RUN_REFUSED]    = { 2004, 1, LOW,           "Detection Finding" },
	[RF_AUDIT_ALARM]          = { 2004, 1, HIGH,          "Detection Finding" },
	[RF_AUDIT_BREAKER_CHANGE] = { 2004, 2, MEDIUM,        "Detection Finding" },
	[RF_AUDIT_WATCH_STARTED]  = { 6002, 3, INFORMATIONAL, "Application Lifecycle" },
	[RF_AUDIT_WATCH_ENDED]    = { 6002, 4, INFORMATIONAL, "Application Lifecycle" },
	[RF_AUDIT_CONFIG_CHANGE]  = { 6002, 99, LOW,          "Application Lifecycle" },
};
/* clang-format on */

static int severity_of(const struct rf_audit_event *event, const struct class *class)
{
	static const char *const names[] = { "low", "medium", "high", "critical" };
	char text[16];

	rf_audit_event_copy(event, RF_AUDIT_SEVERITY, text, sizeof(text));
	for (int i = 0; i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return LOW + i;
	return class->severity ? class->severity : INFORMATIONAL;
}

/* 1: it went well, 2: it did not, 0: it is not the question. */
static int status_of(const struct rf_audit_event *event)
{
	char text[16];

	rf_audit_event_copy(event, RF_AUDIT_VERDICT, text, sizeof(text));
	if (*text)
		return strcmp(text, "ok") == 0 ? 1 : 2;
	rf_audit_event_copy(event, RF_AUDIT_DECISION, text, sizeof(text));
	return !*text ? 0 : strcmp(text, "allow") == 0 ? 1 : 2;
}

void rf_render_ocsf(const struct rf_audit_event *event, const char *chain, struct rf_buf *out)
{
	const struct class *class = &classes[event->kind];
	struct rf_json json;
	char uid[96];

	snprintf(uid, sizeof(uid), "%.16s-%" PRIu64, chain, event->seq);
	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "time", (int64_t)(event->time_ns / 1000000));
	rf_json_int(&json, "class_uid", class->class);
	rf_json_string(&json, "class_name", class->name ? class->name : "Base Event");
	rf_json_int(&json, "category_uid", class->class / 1000);
	rf_json_int(&json, "activity_id", class->activity);
	rf_json_int(&json, "type_uid", class->class * 100 + class->activity);
	rf_json_int(&json, "severity_id", severity_of(event, class));
	rf_json_int(&json, "status_id", status_of(event));
	rf_json_open_object(&json, "metadata");
	rf_json_string(&json, "version", "1.3.0");
	rf_json_string(&json, "uid", uid);
	rf_json_int(&json, "sequence", (int64_t)event->seq);
	rf_json_open_object(&json, "product");
	rf_json_string(&json, "name", "Ringfort");
	rf_json_string(&json, "vendor_name", "Ringfort");
	rf_json_string(&json, "version", RF_VERSION);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_json_open_object(&json, "unmapped");
	rf_audit_event_json(event, &json);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
