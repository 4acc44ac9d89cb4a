/* Breakers as a list: see listing.h. */
#include "watch/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/quota.h"

struct row {
	struct rf_breaker_view view;
	const char *box; /* whose gateway has it, or NULL: the watcher */
};

struct listing {
	struct row *rows;
	size_t count, room;
};

static void list_one(void *arg, const struct rf_breaker_view *view)
{
	struct listing *listing = arg;

	if (listing->count < listing->room)
		listing->rows[listing->count++].view = *view;
}

static void list_abroad(struct listing *listing, const struct rf_abroad *abroad, uint64_t wall_ms)
{
	for (size_t i = 0; i < abroad->count && listing->count < listing->room; i++) {
		const struct rf_abroad_row *from = &abroad->rows[i];
		struct row *row = &listing->rows[listing->count++];

		row->box = from->box;
		row->view = (struct rf_breaker_view){
			.kind = from->kind,
			.name = from->name,
			.state = from->state,
			.reason = from->reason,
			.retry_ms = from->until_ms > wall_ms ? from->until_ms - wall_ms : 0,
		};
	}
}

/* What is open first, then by name. */
static int by_state(const void *left, const void *right)
{
	static const int ranks[] = {
		[RF_BREAKER_OPEN] = 0, [RF_BREAKER_HALF_OPEN] = 1, [RF_BREAKER_CLOSED] = 2
	};
	const struct row *a = left, *b = right;

	if (a->view.state != b->view.state)
		return ranks[a->view.state] - ranks[b->view.state];
	if (a->view.kind != b->view.kind)
		return (int)a->view.kind - (int)b->view.kind;
	return strcmp(a->view.name, b->view.name);
}

void rf_listing_wait(uint64_t ms, char *text, size_t size)
{
	if (ms != RF_CLOCK_NEVER && ms >= 1000)
		ms -= ms % 1000;
	if (ms == RF_CLOCK_NEVER)
		snprintf(text, size, "reset");
	else
		rf_limit_write(&rf_quota_table[RF_QUOTA_OPEN], ms, text, size);
}

static void put_text(const struct listing *listing, struct rf_buf *out)
{
	if (listing->count == 0)
		rf_buf_puts(out, "no breakers yet: nothing was done for an agent\n");
	else
		rf_buf_printf(out, "%-9s  %-10s  %-20s  %6s  %6s  %7s  %-9s  %s\n", "STATE", "KIND",
			      "NAME", "WELL", "FAILED", "REFUSED", "RETRY IN", "REASON");
	for (size_t i = 0; i < listing->count; i++) {
		const struct rf_breaker_view *view = &listing->rows[i].view;
		const char *box = listing->rows[i].box;
		char wait[32] = "";

		if (view->state != RF_BREAKER_CLOSED)
			rf_listing_wait(view->retry_ms, wait, sizeof(wait));
		rf_buf_printf(out, "%-9s  %-10s  %-20s  ", rf_breaker_state_name(view->state),
			      rf_table_kind_name(view->kind), view->name);
		if (box)
			rf_buf_printf(out, "%6s  %6s  %7s", "-", "-", "-");
		else
			rf_buf_printf(out, "%6" PRIu64 "  %6" PRIu64 "  %7" PRIu64, view->well,
				      view->failed, view->refused);
		rf_buf_printf(out, "  %-9s  %s%s%s\n", wait, view->reason, box ? ", in box " : "",
			      box ? box : "");
	}
}

static void put_count(struct rf_json *json, const char *name, uint64_t count, bool is_known)
{
	if (is_known)
		rf_json_int(json, name, (int64_t)count);
	else
		rf_json_null(json, name);
}

static void put_row(struct rf_json *json, const struct row *row)
{
	const struct rf_breaker_view *view = &row->view;

	rf_json_open_object(json, NULL);
	rf_json_string(json, "kind", rf_table_kind_name(view->kind));
	rf_json_string(json, "name", view->name);
	rf_json_string(json, "state", rf_breaker_state_name(view->state));
	rf_json_string(json, "reason", view->reason[0] ? view->reason : NULL);
	put_count(json, "retry_ms", view->retry_ms,
		  view->state != RF_BREAKER_CLOSED && view->retry_ms != RF_CLOCK_NEVER);
	put_count(json, "failures_in_a_row", view->streak, !row->box);
	put_count(json, "well", view->well, !row->box);
	put_count(json, "failed", view->failed, !row->box);
	put_count(json, "refused", view->refused, !row->box);
	put_count(json, "opened", view->opened, !row->box);
	rf_json_string(json, "box", row->box);
	rf_json_close_object(json);
}

int rf_listing_write(struct rf_breaker_set *breakers, const struct rf_abroad *abroad,
		     uint64_t mono_ms, uint64_t wall_ms, bool is_json, struct rf_buf *out,
		     struct rf_err *err)
{
	struct listing listing = { .room = rf_breaker_count(breakers) + abroad->count };
	struct rf_json json;

	listing.rows = calloc(listing.room + 1, sizeof(*listing.rows));
	if (!listing.rows)
		return rf_fail(err, -ENOMEM, "list the breakers");
	rf_breaker_each(breakers, mono_ms, list_one, &listing);
	list_abroad(&listing, abroad, wall_ms);
	qsort(listing.rows, listing.count, sizeof(*listing.rows), by_state);
	if (is_json) {
		rf_json_init(&json, out, true);
		rf_json_open_array(&json, NULL);
		for (size_t i = 0; i < listing.count; i++)
			put_row(&json, &listing.rows[i]);
		rf_json_close_array(&json);
		rf_buf_puts(out, "\n");
	} else {
		put_text(&listing, out);
	}
	free(listing.rows);
	return out->has_failed ? rf_fail(err, -E2BIG, "list the breakers") : 1;
}
