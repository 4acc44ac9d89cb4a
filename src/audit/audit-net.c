/* ringfort net log, and net summary: what boxes asked of the network, one by one and as a whole. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit-wish.h"
#include "audit/reader.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/style.h"

#define SLOTS 16384 /* of one table; half of them are used */
#define TOP   20    /* rows of one, for people */
#define KEY   512

/* How often something occurred, and what it moved. */
struct row {
	char *key, *note; /* `note`: what would allow it; or NULL */
	uint64_t count, denied, up, down;
};

struct table {
	const char *name, *heading;
	struct row *rows;
	size_t count;
	uint64_t left_out; /* that found no room */
};

enum {
	HOSTS,
	METHODS,
	CODES,
	DENIALS,
	CREDENTIALS,
	TABLES
};

struct summary {
	struct table tables[TABLES];
	uint64_t events, denied, reported, held, up, down;
};

static uint64_t hash_of(const char *key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *key; key++)
		hash = (hash ^ (uint8_t)*key) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* The row of a key, made if it is new; NULL if there is no room for one more. */
static struct row *row_of(struct table *table, const char *key)
{
	uint64_t at = hash_of(key) % SLOTS;

	if (!table->rows)
		table->rows = calloc(SLOTS, sizeof(*table->rows));
	if (!table->rows)
		return NULL;
	while (table->rows[at].key && strcmp(table->rows[at].key, key) != 0)
		at = (at + 1) % SLOTS;
	if (!table->rows[at].key) {
		if (table->count >= SLOTS / 2)
			return NULL;
		table->rows[at].key = strdup(key);
		table->count += table->rows[at].key != NULL;
	}
	return table->rows[at].key ? &table->rows[at] : NULL;
}

static void count(struct table *table, const char *key, const struct rf_audit_event *event,
		  bool is_denied, const char *note)
{
	struct row *row = row_of(table, key);

	if (!row) {
		table->left_out++;
		return;
	}
	row->count++;
	row->denied += is_denied;
	row->up += rf_audit_event_get(event, RF_AUDIT_BYTES_OUT);
	row->down += rf_audit_event_get(event, RF_AUDIT_BYTES_IN);
	if (note && *note && !row->note)
		row->note = strdup(note);
}

/* What was asked for, as a person would say it: "POST api.example/v1", "host:22", "TCP host:443". */
static void name_it(const struct rf_audit_event *event, char text[KEY])
{
	char host[300], method[40], path[520];
	unsigned port = (unsigned)rf_audit_event_get(event, RF_AUDIT_PORT);
	char number[16] = "";

	rf_audit_event_copy(event, RF_AUDIT_HOST, host, sizeof(host));
	rf_audit_event_copy(event, RF_AUDIT_METHOD, method, sizeof(method));
	rf_audit_event_copy(event, RF_AUDIT_PATH, path, sizeof(path));
	if (port && ((port != 80 && port != 443) || strcmp(method, "TCP") == 0))
		snprintf(number, sizeof(number), ":%u", port);
	snprintf(text, KEY, "%s%s%s%s%s", method, *method ? " " : "", host, number, path);
}

static void take_event(struct summary *summary, const struct rf_audit_event *event)
{
	char key[KEY], decision[16], remedy[300];
	bool is_denied, is_reported;

	rf_audit_event_copy(event, RF_AUDIT_DECISION, decision, sizeof(decision));
	is_denied = strcmp(decision, "deny") == 0;
	is_reported = strcmp(decision, "report") == 0;
	if (event->kind == RF_AUDIT_CREDENTIAL_USE && !rf_audit_event_has(event, RF_AUDIT_HOST))
		return; /* a canary */
	if (event->kind == RF_AUDIT_CREDENTIAL_USE) {
		rf_audit_event_copy(event, RF_AUDIT_CREDENTIAL, key, sizeof(key));
		count(&summary->tables[CREDENTIALS], key, event, is_denied, NULL);
		return;
	}
	summary->events++;
	summary->denied += is_denied;
	summary->reported += is_reported;
	summary->held += strcmp(decision, "hold") == 0;
	summary->up += rf_audit_event_get(event, RF_AUDIT_BYTES_OUT);
	summary->down += rf_audit_event_get(event, RF_AUDIT_BYTES_IN);
	rf_audit_event_copy(event, RF_AUDIT_HOST, key, sizeof(key));
	count(&summary->tables[HOSTS], key, event, is_denied, NULL);
	rf_audit_event_copy(event, RF_AUDIT_METHOD, key, sizeof(key));
	if (*key)
		count(&summary->tables[METHODS], key, event, is_denied, NULL);
	if (rf_audit_event_has(event, RF_AUDIT_CODE)) {
		snprintf(key, sizeof(key), "%" PRIu64, rf_audit_event_get(event, RF_AUDIT_CODE));
		count(&summary->tables[CODES], key, event, is_denied, NULL);
	}
	if (is_denied || is_reported) {
		name_it(event, key);
		rf_audit_event_copy(event, RF_AUDIT_REMEDY, remedy, sizeof(remedy));
		count(&summary->tables[DENIALS], key, event, true, remedy);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (!x->key || !y->key)
		return (x->key == NULL) - (y->key == NULL);
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->key, y->key);
}

static int gather(const struct rf_audit_wish *wish, int dir, struct summary *summary,
		  struct rf_err *err)
{
	struct rf_reader reader;
	struct rf_audit_event event;
	int code;

	rf_reader_init(&reader, dir);
	while ((code = rf_reader_next(&reader, &event, err)) > 0)
		if (rf_pick_takes(&wish->filter, &event))
			take_event(summary, &event);
	rf_reader_done(&reader);
	for (size_t i = 0; i < TABLES; i++)
		if (summary->tables[i].rows)
			qsort(summary->tables[i].rows, SLOTS, sizeof(struct row), by_count);
	return code;
}

/* --- Telling --- */

static void size_text(uint64_t bytes, char text[16])
{
	static const char letters[] = "KMGTPE";
	double amount = (double)bytes;
	int i = -1;

	for (; amount >= 1024 && letters[i + 1]; i++)
		amount /= 1024;
	if (i < 0)
		snprintf(text, 16, "%" PRIu64, bytes);
	else
		snprintf(text, 16, "%.1f%c", amount, letters[i]);
}

static void put_table(struct rf_style style, const struct table *table, struct rf_buf *out)
{
	if (table->count == 0)
		return;
	rf_buf_puts(out, "\n");
	rf_style_printf(style, RF_STYLE_HEADING, out, "%-44s %9s %9s %8s %8s", table->heading,
			"COUNT", "DENIED", "OUT", "IN");
	rf_buf_puts(out, "\n");
	for (size_t i = 0; i < table->count && i < TOP; i++) {
		const struct row *row = &table->rows[i];
		char up[16], down[16];

		size_text(row->up, up);
		size_text(row->down, down);
		rf_style_put(style, RF_STYLE_PLAIN, row->key, 44, out);
		rf_buf_printf(out, " %9" PRIu64 " %9" PRIu64 " %8s %8s\n", row->count, row->denied,
			      up, down);
		if (row->note) {
			rf_style_printf(style, RF_STYLE_QUIET, out, "    to allow it: %s",
					row->note);
			rf_buf_puts(out, "\n");
		}
	}
	if (table->count > TOP)
		rf_buf_printf(out, "... and %zu more\n", table->count - TOP);
}

static void put_text(const struct summary *summary, struct rf_buf *out)
{
	struct rf_style style = rf_style_of(STDOUT_FILENO);
	char up[16], down[16];

	size_text(summary->up, up);
	size_text(summary->down, down);
	rf_buf_printf(out,
		      "%" PRIu64 " connections and requests: %" PRIu64 " denied, %" PRIu64
		      " only reported, %" PRIu64 " held; %s out, %s in\n",
		      summary->events, summary->denied, summary->reported, summary->held, up, down);
	for (size_t i = 0; i < TABLES; i++)
		put_table(style, &summary->tables[i], out);
}

static void put_json(const struct summary *summary, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "events", (int64_t)summary->events);
	rf_json_int(&json, "denied", (int64_t)summary->denied);
	rf_json_int(&json, "reported", (int64_t)summary->reported);
	rf_json_int(&json, "held", (int64_t)summary->held);
	rf_json_int(&json, "bytes_out", (int64_t)summary->up);
	rf_json_int(&json, "bytes_in", (int64_t)summary->down);
	for (size_t i = 0; i < TABLES; i++) {
		const struct table *table = &summary->tables[i];

		rf_json_open_array(&json, table->name);
		for (size_t j = 0; j < table->count; j++) {
			rf_json_open_object(&json, NULL);
			rf_json_string(&json, "name", table->rows[j].key);
			rf_json_int(&json, "count", (int64_t)table->rows[j].count);
			rf_json_int(&json, "denied", (int64_t)table->rows[j].denied);
			rf_json_int(&json, "bytes_out", (int64_t)table->rows[j].up);
			rf_json_int(&json, "bytes_in", (int64_t)table->rows[j].down);
			if (i == DENIALS)
				rf_json_string(&json, "remedy", table->rows[j].note);
			rf_json_close_object(&json);
		}
		rf_json_close_array(&json);
	}
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

/* A text that a spreadsheet would take for a formula gets an apostrophe before it. */
static void put_cell(struct rf_buf *out, const char *text)
{
	rf_buf_puts(out, "\"");
	if (*text && strchr("=+-@\t\r", *text))
		rf_buf_puts(out, "'");
	for (; *text; text++)
		rf_buf_add(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	rf_buf_puts(out, "\"");
}

static void put_csv(const struct summary *summary, struct rf_buf *out)
{
	rf_buf_puts(out, "table,name,count,denied,bytes_out,bytes_in,remedy\r\n");
	for (size_t i = 0; i < TABLES; i++)
		for (size_t j = 0; j < summary->tables[i].count; j++) {
			const struct row *row = &summary->tables[i].rows[j];

			rf_buf_printf(out, "%s,", summary->tables[i].name);
			put_cell(out, row->key);
			rf_buf_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
				      row->count, row->denied, row->up, row->down);
			put_cell(out, row->note ? row->note : "");
			rf_buf_puts(out, "\r\n");
		}
}

static void summary_done(struct summary *summary)
{
	for (size_t i = 0; i < TABLES; i++) {
		for (size_t j = 0; summary->tables[i].rows && j < SLOTS; j++) {
			free(summary->tables[i].rows[j].key);
			free(summary->tables[i].rows[j].note);
		}
		free(summary->tables[i].rows);
	}
}

/* The kinds that are about the network, whatever else was asked for. */
static struct rf_audit_wish about_network(const struct rf_audit_wish *wish)
{
	struct rf_audit_wish whole = *wish;

	whole.filter.kinds =
		UINT64_C(1) << RF_AUDIT_NET_REQUEST | UINT64_C(1) << RF_AUDIT_CREDENTIAL_USE;
	return whole;
}

int rf_audit_net_log(const struct rf_audit_wish *wish, struct rf_err *err)
{
	struct rf_audit_wish whole = about_network(wish);

	whole.is_net = true;
	return rf_audit_show(&whole, err);
}

int rf_audit_net_summary(const struct rf_audit_wish *wish, struct rf_err *err)
{
	struct rf_audit_wish whole = about_network(wish);
	struct summary summary = { .tables = {
					   [HOSTS] = { "hosts", "HOST" },
					   [METHODS] = { "methods", "METHOD" },
					   [CODES] = { "codes", "STATUS" },
					   [DENIALS] = { "denials", "NOT ALLOWED" },
					   [CREDENTIALS] = { "credentials", "CREDENTIAL" },
				   } };
	RF_AUTO_FD int dir = rf_audit_wish_open(wish, err);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	int code;

	if (dir < 0)
		return dir;
	if (wish->is_json && wish->is_csv)
		return rf_fail_say(err, -EINVAL, "--json or --csv, not both");
	rf_buf_init(&out, 64u << 20);
	code = gather(&whole, dir, &summary, err);
	if (code == 0) {
		(wish->is_json ? put_json : wish->is_csv ? put_csv : put_text)(&summary, &out);
		code = out.has_failed ? rf_fail(err, -ENOMEM, "a summary")
				      : rf_fd_write(STDOUT_FILENO, out.data, out.len);
		code = code == -EPIPE ? 0 : code;
	}
	summary_done(&summary);
	return code;
}
