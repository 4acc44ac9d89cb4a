/*
 * What the log has of a tenant, and its breakers.
 *
 * A page of events is read from the log itself, on from a place that is the beginning of one of its files: a cursor says which file, and
 * which record was the last, so whatever a client makes of one, reading begins where a record does.  The tenant is the connection's.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
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
#include "server/pass.h"

#define BYTES_MOST   (64u << 20)  /* of the log, that one page looks at */
#define FOLLOW_BYTES (128u << 10) /* of events that who follows is given at a time */
#define PLACES       256

/* ------------------------------------------------------------- events */

/* Behind which record of which file one is, and where that is. */
struct place {
	uint64_t segment, seq, at;
};

struct page {
	struct rf_pick pick;
	uint64_t segment, seq; /* where it goes on, and behind which record */
	uint64_t limit;
	size_t bytes; /* that its events may come to, at least; 0: any number */
	struct place
		read; /* the last record that was read for it or for another; never what a cursor says */
};

/* What is done with an event that was picked; `page` is behind it. */
typedef void put_fn(void *data, const struct page *page, struct rf_audit_event *event);

/*
 * Where records end, as this process has read it: from there on reading goes on, and not from a file's beginning.  None of it is a client's word, so a
 * cursor leads to a record's beginning still.  The last ones are remembered, which are those of who follows.
 */
static struct place places[PLACES];
static size_t next_place;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static struct place find_place(uint64_t segment, uint64_t seq)
{
	struct place found = { 0 };

	pthread_mutex_lock(&places_lock);
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].segment == segment && places[i].seq <= seq && places[i].at > found.at)
			found = places[i];
	pthread_mutex_unlock(&places_lock);
	return found;
}

static void remember(const struct place *place)
{
	bool is_known = place->segment == 0; /* nothing was read */

	pthread_mutex_lock(&places_lock);
	for (size_t i = 0; i < PLACES; i++)
		is_known = is_known ||
			   (places[i].segment == place->segment && places[i].at == place->at);
	if (!is_known)
		places[next_place++ % PLACES] = *place;
	pthread_mutex_unlock(&places_lock);
}

/* A file that went with its time is no mistake of who has a cursor in it; nor is one that is shorter than it was. */
static int seek(struct rf_reader *reader, struct page *page, struct rf_err *err)
{
	int code;

	page->read = find_place(page->segment, page->seq);
	code = rf_reader_seek(reader, page->segment, page->read.at, err);
	if (code == -EBADMSG) {
		page->read = (struct place){ 0 };
		code = rf_reader_seek(reader, page->segment, 0, err);
	}
	return code == -ENOENT ? 0 : code;
}

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

static void put_event(void *data, const struct page *page, struct rf_audit_event *event)
{
	struct rf_json *json = data;

	(void)page;
	event->fields &= ~(RF_AUDIT_BIT(RF_AUDIT_USER) | RF_AUDIT_BIT(RF_AUDIT_PID)); /* ours */
	rf_json_open_object(json, NULL);
	rf_audit_event_json(event, json);
	rf_json_close_object(json);
}

/*
 * 1: there is more; 0: the log ends here.  Who comes with a cursor from beyond the end is taken back to it, and would be told of nothing
 * else; what is read to get there counts, as everything does.
 */
static int put_events(struct page *page, struct rf_reader *reader, put_fn *put, void *data,
		      struct rf_err *err)
{
	struct rf_audit_event event;
	uint64_t seen = 0, given = 0, bytes = 0;
	int code;

	while ((code = rf_reader_next(reader, &event, err)) > 0) {
		page->segment = reader->segment.number;
		page->read = (struct place){ page->segment, event.seq, reader->at };
		seen += reader->frame.length;
		if (event.seq > page->seq) {
			page->seq = event.seq;
			if (rf_pick_takes(&page->pick, &event)) {
				put(data, page, &event);
				given++;
				bytes += reader->frame.length;
			}
		}
		if (given >= page->limit || seen > BYTES_MOST ||
		    (page->bytes && bytes >= page->bytes)) {
			code = 1;
			break;
		}
	}
	if (code >= 0)
		remember(&page->read);
	if (code == 0 && page->seq > page->read.seq)
		page->seq = page->read.seq;
	return code;
}

static void write_cursor(const struct page *page, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 "-%" PRIu64, page->segment ? page->segment : 1, page->seq);
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
	code = seek(&reader, &page, err);
	rf_json_init(&json, &matter->out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "events");
	if (code == 0)
		code = put_events(&page, &reader, put_event, &json, err);
	rf_json_close_array(&json);
	write_cursor(&page, cursor, sizeof(cursor));
	rf_json_string(&json, "cursor", cursor);
	rf_json_string(&json, "next_cursor", code > 0 ? cursor : NULL);
	rf_json_close_object(&json);
	rf_buf_puts(&matter->out, "\n");
	rf_reader_done(&reader);
	return code < 0 ? code : 0;
}

/* ------------------------------------------------------------- who follows */

/* Behind all that there is: from the last file on, as far as it goes. */
static int find_end(int dir, struct page *page, struct rf_err *err)
{
	uint64_t *numbers = NULL;
	size_t count = 0;

	if (rf_segment_list(dir, &numbers, &count, err) < 0)
		return err->code;
	page->segment = count ? numbers[count - 1] : 0;
	page->seq = 0;
	free(numbers);
	pthread_mutex_lock(&places_lock);
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].segment == page->segment && places[i].seq > page->seq)
			page->seq = places[i].seq;
	pthread_mutex_unlock(&places_lock);
	return 0;
}

static void put_nothing(void *data, const struct page *page, struct rf_audit_event *event)
{
	(void)data, (void)page, (void)event;
}

static void put_row(void *data, const struct page *page, struct rf_audit_event *event)
{
	struct rf_audit_ask_row row;
	char cursor[48];
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_AUDIT_ASK_JSON - 1);
	rf_json_init(&json, &text, false);
	put_event(&json, page, event);
	write_cursor(page, cursor, sizeof(cursor));
	row = (struct rf_audit_ask_row){ .json = text.data, .cursor = cursor };
	if (!text.has_failed)
		rf_audit_ask_put_row(&row, data);
}

int rf_clerk_audit_follow(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			  struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_statedir_open_in(RF_SEGMENT_FOLDER, false);
	struct rf_audit_ask_row row = { .json = "" };
	struct rf_audit_ask_events ask;
	struct rf_reader reader;
	struct page page = { 0 };
	char cursor[48];
	bool is_at_end;
	int code;

	if (rf_audit_ask_take_events(matter->body, matter->len, &ask, err) < 0)
		return err->code;
	is_at_end = strcmp(ask.cursor, RF_AUDIT_ASK_END) == 0;
	if (is_at_end)
		ask.cursor[0] = '\0';
	if (read_wish(who, &ask, &page, err) < 0)
		return err->code;
	if (dir < 0)
		return rf_fail(err, dir, "open the audit log");
	page.bytes = is_at_end ? 0 : FOLLOW_BYTES;
	if (is_at_end && find_end(dir, &page, err) < 0)
		return err->code;
	rf_reader_init(&reader, dir);
	code = seek(&reader, &page, err);
	if (is_at_end) /* to which reading takes this much, once */
		page.limit = UINT64_MAX;
	write_cursor(&page, cursor, sizeof(cursor));
	if (!is_at_end)
		rf_audit_ask_put_before(cursor, &matter->out);
	if (code == 0)
		do
			code = put_events(&page, &reader, is_at_end ? put_nothing : put_row,
					  &matter->out, err);
		while (is_at_end && code > 0);
	write_cursor(&page, cursor, sizeof(cursor));
	if (is_at_end)
		rf_audit_ask_put_before(cursor, &matter->out);
	row.cursor = cursor;
	row.has_more = code > 0;
	rf_audit_ask_put_row(&row, &matter->out);
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

/*
 * Those of the machine as a whole, which name nobody; and of credentials, which are called TENANT/NAME, the tenant's own.  What is counted as
 * "other" is of several, and nobody's to see.
 */
static void put_figures(const char *text, const char *tenant, struct rf_buf *out)
{
	static const char label[] = "{credential=\"";
	size_t len = strlen(tenant);

	while (*text) {
		size_t line = strcspn(text, "\n") + (strchr(text, '\n') ? 1 : 0);
		const char *named = memmem(text, line, label, sizeof(label) - 1);
		const char *name = named ? named + sizeof(label) - 1 : NULL;

		if (text[0] == '#' || !name ||
		    (strncmp(name, tenant, len) == 0 && name[len] == '/'))
			rf_buf_add(out, text, line);
		text += line;
	}
}

int rf_clerk_audit_figures(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	static const char *const words[] = { "metrics" };
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 2u << 20);
	if (rf_clerk_watcher_ask(words, RF_LEN(words), &text, err) < 0)
		return err->code;
	if (strcmp(who->key, RF_PASS_LOCAL) == 0) /* the operator's own */
		rf_buf_add(&matter->out, text.data, text.len);
	else
		put_figures(text.len ? text.data : "", who->tenant, &matter->out);
	return 0;
}
