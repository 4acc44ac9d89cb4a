/*
 * What the log has of a tenant, and its breakers.
 *
 * A page of events is read from the log itself, on from a place that is the beginning of one of its files: a cursor says which file, and
 * which record was the last, so whatever a client makes of one, reading begins where a record does.  The tenant is the connection's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/pick.h"
#include "audit/reader.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/statedir.h"
#include "server/audit-ask.h"
#include "server/clerk-desk.h"
#include "server/clerk-watcher.h"
#include "server/form.h"

#define BYTES_MOST (64u << 20) /* of the log, that one page looks at */

/* ------------------------------------------------------------- events */

struct page {
	struct rf_pick pick;
	uint64_t segment, seq; /* where it goes on, and behind which record */
	uint64_t limit;
};

static int read_cursor(const char *text, struct page *page, struct rf_err *err)
{
	char *end = NULL;

	if (!text[0])
		return 0;
	errno = 0;
	page->segment = strtoull(text, &end, 10);
	if (errno == 0 && text[0] >= '1' && text[0] <= '9' && *end == '-' && end[1] >= '0' &&
	    end[1] <= '9') {
		page->seq = strtoull(end + 1, &end, 10);
		if (errno == 0 && !*end)
			return 0;
	}
	return rf_fail_say(err, -EINVAL, "cursor: `%.40s` is none", text);
}

static int read_wish(const struct rf_clerk_asker *who, const struct rf_audit_ask_events *ask,
		     struct page *ret_page, struct rf_err *err)
{
	struct timespec now = { 0 };
	uint64_t now_ns;
	struct page page = { .pick = { .tenant = who->tenant }, .limit = ask->limit };

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if ((ask->since[0] && rf_pick_time(ask->since, now_ns, &page.pick.since_ns, err) < 0) ||
	    (ask->until[0] && rf_pick_time(ask->until, now_ns, &page.pick.until_ns, err) < 0) ||
	    (ask->kind[0] && rf_pick_add_kind(&page.pick, ask->kind, err) < 0) ||
	    read_cursor(ask->cursor, &page, err) < 0)
		return err->code;
	page.pick.box = ask->box[0] ? ask->box : NULL;
	page.pick.verdict = ask->verdict[0] ? ask->verdict : NULL;
	*ret_page = page;
	return 0;
}

static void put_event(struct rf_json *json, struct rf_audit_event *event)
{
	event->fields &= ~(RF_AUDIT_BIT(RF_AUDIT_USER) | RF_AUDIT_BIT(RF_AUDIT_PID)); /* ours */
	rf_json_open_object(json, NULL);
	rf_audit_event_json(event, json);
	rf_json_close_object(json);
}

/* 1: there is more; 0: the log ends here. */
static int put_events(struct page *page, struct rf_reader *reader, struct rf_json *json,
		      struct rf_err *err)
{
	struct rf_audit_event event;
	uint64_t seen = 0, given = 0;
	int code;

	while ((code = rf_reader_next(reader, &event, err)) > 0) {
		page->segment = reader->segment.number;
		seen += reader->frame.length;
		if (event.seq <= page->seq)
			continue;
		page->seq = event.seq;
		if (rf_pick_takes(&page->pick, &event)) {
			put_event(json, &event);
			given++;
		}
		if (given >= page->limit || seen > BYTES_MOST)
			return 1;
	}
	return code;
}

int rf_clerk_audit_events(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			  struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_statedir_open_in(RF_SEGMENT_FOLDER, false);
	struct rf_audit_ask_events ask;
	struct rf_reader reader;
	struct page page = { 0 };
	struct rf_json json;
	char cursor[48];
	int code;

	if (rf_audit_ask_take_events(matter->body, matter->len, &ask, err) < 0 ||
	    read_wish(who, &ask, &page, err) < 0)
		return err->code;
	if (dir < 0)
		return rf_fail(err, dir, "open the audit log");
	rf_reader_init(&reader, dir);
	/* A file that went with its time is no mistake of who has a cursor in it. */
	code = rf_reader_seek(&reader, page.segment, 0, err);
	if (code == -ENOENT)
		code = 0;
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "events");
	if (code == 0)
		code = put_events(&page, &reader, &json, err);
	rf_json_close_array(&json);
	snprintf(cursor, sizeof(cursor), "%" PRIu64 "-%" PRIu64, page.segment ? page.segment : 1,
		 page.seq);
	rf_json_string(&json, "cursor", cursor);
	rf_json_string(&json, "next_cursor", code > 0 ? cursor : NULL);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	rf_reader_done(&reader);
	return code < 0 ? code : 0;
}

/* ------------------------------------------------------------- breakers */

/* A tenant's agents, as they are called among themselves. */
static void put_own(const struct rf_jsonread_value *root, const char *tenant, struct rf_json *json)
{
	size_t len = strlen(tenant);

	for (const struct rf_jsonread_value *row = root->first; row; row = row->next) {
		const struct rf_jsonread_value *kind = rf_jsonread_member(row, "kind");
		const struct rf_jsonread_value *name = rf_jsonread_member(row, "name");

		if (!kind || !name || !kind->text || !name->text ||
		    strcmp(kind->text, "agent") != 0 || strncmp(name->text, tenant, len) != 0 ||
		    name->text[len] != '/')
			continue;
		rf_json_open_object(json, NULL);
		for (const struct rf_jsonread_value *field = row->first; field; field = field->next)
			if (field == name)
				rf_json_string(json, "name", name->text + len + 1);
			else if (strcmp(field->name, "box") != 0 &&
				 strcmp(field->name, "kind") != 0)
				rf_form_copy(field, field->name, json);
		rf_json_close_object(json);
	}
}

int rf_clerk_audit_breakers(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			    struct rf_err *err)
{
	static const char *const words[] = { "breaker", "ls", "json" };
	struct rf_jsonread *read = NULL;
	RF_AUTO_BUF struct rf_buf text;
	struct rf_json json;

	rf_buf_init(&text, 2u << 20);
	if (rf_clerk_watcher_ask(words, RF_LEN(words), &text, err) < 0)
		return err->code;
	if (rf_jsonread_parse(text.data, text.len, &read, err) < 0)
		return err->code;
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "breakers");
	put_own(rf_jsonread_root(read), who->tenant, &json);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	rf_jsonread_free(read);
	return 0;
}

/* What the watcher knows of an agent is its tenant's to change; another's has another name. */
int rf_clerk_audit_breaker(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	struct rf_audit_ask_breaker ask;
	RF_AUTO_BUF struct rf_buf text;
	char agent[RF_AUDIT_ASK_WORD + RF_TERMS_NAME], ms[24] = "-";
	const char *const trip[] = { "breaker", "trip", "agent", agent, ms, ask.reason };
	const char *const reset[] = { "breaker", "reset", "agent", agent };
	struct rf_json json;
	int code;

	rf_buf_init(&text, 64 * 1024);
	if (rf_audit_ask_take_breaker(matter->body, matter->len, &ask, err) < 0)
		return err->code;
	snprintf(agent, sizeof(agent), "%s/%s", who->tenant, ask.name);
	if (ask.seconds > 0)
		snprintf(ms, sizeof(ms), "%" PRIu64, (uint64_t)ask.seconds * 1000);
	code = ask.is_trip ? rf_clerk_watcher_ask(trip, RF_LEN(trip), &text, err)
			   : rf_clerk_watcher_ask(reset, RF_LEN(reset), &text, err);
	if (code < 0)
		return code;
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "name", ask.name);
	rf_json_string(&json, "state", ask.is_trip ? "open" : "closed");
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	return 0;
}

/* ------------------------------------------------------------- figures */

int rf_clerk_audit_figures(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	static const char *const words[] = { "metrics" };

	(void)who;
	return rf_clerk_watcher_ask(words, RF_LEN(words), &matter->out, err);
}
