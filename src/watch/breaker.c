/*
 * Circuit breakers: see breaker.h.
 *
 * The last outcomes of a breaker are a ring of 64-bit numbers, time and outcome in one, as long as
 * the rule asks for.  "Half of 10 within 60 s" then is exact: the last ten, all of them younger than
 * that, at least five of them failed.  Only a failure opens: a success that completes the ten says
 * that things got better.  Counting in slices of time would be cheaper and would be
 * wrong at every slice's edge.
 */
#include "watch/breaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define FORMAT   1
#define PROBE_MS 600000 /* a probe that has not come back by then may be repeated */

/* Where a breaker waits to be forgotten. */
enum queue {
	QUEUE_CLEAN, /* closed, nothing against it */
	QUEUE_DIRTY, /* closed, with failures */
	QUEUE_COUNT,
	QUEUE_NONE = QUEUE_COUNT /* not closed: it stays */
};

struct breaker {
	struct rf_table_node node; /* first: found by it */
	struct breaker *older, *newer;
	enum queue queue;
	enum rf_breaker_state state; /* as last written: one that is open may be due */
	uint64_t ticket;             /* closed: of this time; half-open: the probe's, 0: none */
	uint64_t until;              /* open: then it is due */
	uint64_t probe_since;
	uint32_t streak;
	uint32_t ring_room, ring_count, ring_at; /* at: where the next one goes */
	uint64_t *ring;                          /* time << 1 | failed */
	char *reason;                            /* NULL: none, or no memory for it */
	uint64_t well, failed, refused, opened;
};

struct rf_breaker_set {
	struct rf_breaker_options options;
	struct rf_table table;
	struct rf_clock clock;
	uint64_t next_ticket;
	uint64_t lost;
	struct {
		struct breaker *oldest, *newest;
	} queues[QUEUE_COUNT];
};

static const char *const state_names[RF_BREAKER_STATES] = {
	[RF_BREAKER_CLOSED] = "closed",
	[RF_BREAKER_OPEN] = "open",
	[RF_BREAKER_HALF_OPEN] = "half-open",
};

const char *rf_breaker_state_name(enum rf_breaker_state state)
{
	return state < RF_BREAKER_STATES ? state_names[state] : "?";
}

/* ------------------------------------------------------------- the queues */

static void leave_queue(struct rf_breaker_set *set, struct breaker *b)
{
	if (b->queue == QUEUE_NONE)
		return;
	if (b->older)
		b->older->newer = b->newer;
	else
		set->queues[b->queue].oldest = b->newer;
	if (b->newer)
		b->newer->older = b->older;
	else
		set->queues[b->queue].newest = b->older;
	b->older = b->newer = NULL;
	b->queue = QUEUE_NONE;
}

static bool is_dirty(const struct breaker *b)
{
	bool has_failure = b->streak > 0;

	for (uint32_t i = 0; i < b->ring_count && !has_failure; i++)
		has_failure = b->ring[i] & 1;
	return has_failure;
}

/* To the end of the queue that its state asks for. */
static void requeue(struct rf_breaker_set *set, struct breaker *b)
{
	enum queue queue = b->state != RF_BREAKER_CLOSED ? QUEUE_NONE
			   : is_dirty(b)                 ? QUEUE_DIRTY
							 : QUEUE_CLEAN;

	leave_queue(set, b);
	if (queue == QUEUE_NONE)
		return;
	b->queue = queue;
	b->older = set->queues[queue].newest;
	if (b->older)
		b->older->newer = b;
	else
		set->queues[queue].oldest = b;
	set->queues[queue].newest = b;
}

/* ------------------------------------------------------------- one breaker */

static void forget(struct rf_breaker_set *set, struct breaker *b)
{
	leave_queue(set, b);
	rf_table_remove(&set->table, &b->node);
	free(b->ring);
	free(b->reason);
	free(b);
}

static struct breaker *find(const struct rf_breaker_set *set, enum rf_table_kind kind,
			    const char *name)
{
	return (struct breaker *)rf_table_find(&set->table, kind, name);
}

/* The breaker of this name, made if there is none.  Returns 0, -ENOSPC or -ENOMEM. */
static int get(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
	       struct breaker **ret_b)
{
	struct breaker *b = find(set, kind, name), *victim = NULL;

	if (b) {
		*ret_b = b;
		return 0;
	}
	if (set->table.node_count >= set->options.cap) {
		victim = set->queues[QUEUE_CLEAN].oldest;
		if (!victim)
			victim = set->queues[QUEUE_DIRTY].oldest;
		if (!victim)
			return -ENOSPC;
		set->lost += victim->queue == QUEUE_DIRTY;
		forget(set, victim);
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->queue = QUEUE_NONE;
	if (rf_table_add(&set->table, &b->node, kind, name) < 0) {
		free(b);
		return -ENOMEM;
	}
	b->ticket = set->next_ticket++;
	requeue(set, b);
	*ret_b = b;
	return 0;
}

/* What it is at this time: an open one whose time has come is half-open. */
static enum rf_breaker_state state_at(const struct breaker *b, uint64_t now)
{
	return b->state == RF_BREAKER_OPEN && now >= b->until ? RF_BREAKER_HALF_OPEN : b->state;
}

static bool has_probe(const struct breaker *b, uint64_t now)
{
	return b->state == RF_BREAKER_HALF_OPEN && b->ticket &&
	       now < rf_clock_after(b->probe_since, PROBE_MS);
}

/* When work passes again, from now. */
static uint64_t retry_of(const struct breaker *b, uint64_t now)
{
	if (state_at(b, now) == RF_BREAKER_OPEN)
		return b->until == RF_CLOCK_NEVER ? RF_CLOCK_NEVER : b->until - now;
	return has_probe(b, now) ? rf_clock_after(b->probe_since, PROBE_MS) - now : 0;
}

static struct rf_breaker_view view_of(const struct breaker *b, uint64_t now)
{
	return (struct rf_breaker_view){
		.kind = b->node.kind,
		.name = b->node.name,
		.state = state_at(b, now),
		.reason = b->state == RF_BREAKER_CLOSED ? ""
			  : b->reason && *b->reason     ? b->reason
							: "it failed too often",
		.retry_ms = retry_of(b, now),
		.streak = b->streak,
		.well = b->well,
		.failed = b->failed,
		.refused = b->refused,
		.opened = b->opened,
	};
}

static void become(struct rf_breaker_set *set, struct breaker *b, enum rf_breaker_state state)
{
	enum rf_breaker_state before = b->state;
	struct rf_breaker_view view;

	b->state = state;
	requeue(set, b);
	if (!set->options.changed || before == state)
		return;
	view = view_of(b, set->clock.now);
	set->options.changed(set->options.arg, &view, before);
}

static void open_it(struct rf_breaker_set *set, struct breaker *b, const char *reason,
		    uint64_t until)
{
	char *text = strndup(reason, RF_BREAKER_REASON - 1);

	free(b->reason);
	b->reason = text;
	b->until = until;
	b->ticket = 0;
	b->opened += b->state != RF_BREAKER_OPEN;
	become(set, b, RF_BREAKER_OPEN);
}

static void close_it(struct rf_breaker_set *set, struct breaker *b)
{
	b->ticket = set->next_ticket++;
	b->streak = 0;
	b->ring_count = b->ring_at = 0;
	become(set, b, RF_BREAKER_CLOSED);
	free(b->reason);
	b->reason = NULL;
}

/* ------------------------------------------------------------- outcomes */

/* The `i`th last outcome. */
static uint64_t last(const struct breaker *b, uint32_t i)
{
	return b->ring[(b->ring_at + b->ring_room - 1 - i) % b->ring_room];
}

/* Room for as many as a rule looks at.  What is there stays, in its order. */
static bool widen(struct breaker *b, uint32_t room)
{
	uint64_t *ring;

	if (room <= b->ring_room)
		return true;
	ring = calloc(room, sizeof(*ring));
	if (!ring)
		return false;
	for (uint32_t i = 0; i < b->ring_count; i++)
		ring[b->ring_count - 1 - i] = last(b, i);
	free(b->ring);
	b->ring = ring;
	b->ring_room = room;
	b->ring_at = b->ring_count;
	return true;
}

static void remember(struct breaker *b, uint64_t now, bool has_failed)
{
	b->ring[b->ring_at] = now << 1 | has_failed;
	if (++b->ring_at >= b->ring_room)
		b->ring_at = 0;
	b->ring_count += b->ring_count < b->ring_room;
}

static void format_ms(uint64_t ms, char *text, size_t size)
{
	snprintf(text, size, ms % 1000 ? "%llu ms" : "%llu s",
		 (unsigned long long)(ms % 1000 ? ms : ms / 1000));
}

/* True, with the reason, if too many failed one after the other. */
static bool is_row_reached(const struct breaker *b, const struct rf_breaker_rule *rule,
			   char *reason, size_t size)
{
	if (!rule->failures || b->streak < rule->failures)
		return false;
	snprintf(reason, size, "%u failures in a row", b->streak);
	return true;
}

/* The same for the last ones, if too many of them failed. */
static bool is_rate_reached(const struct breaker *b, const struct rf_breaker_rule *rule,
			    uint64_t now, char *reason, size_t size)
{
	uint32_t failed = 0;
	char span[32];

	if (!rule->rate_percent || b->ring_count < rule->of ||
	    now - (last(b, rule->of - 1) >> 1) > rule->within_ms)
		return false;
	for (uint32_t i = 0; i < rule->of; i++)
		failed += (uint32_t)(last(b, i) & 1);
	if ((uint64_t)failed * 100 < (uint64_t)rule->rate_percent * rule->of)
		return false;
	format_ms(rule->within_ms, span, sizeof(span));
	snprintf(reason, size, "%u of the last %u failed within %s", failed, rule->of, span);
	return true;
}

static void judge(struct rf_breaker_set *set, struct breaker *b, const struct rf_breaker_rule *rule,
		  bool has_failed, uint64_t now)
{
	uint32_t of = rule->of > RF_BREAKER_OF ? RF_BREAKER_OF : rule->of;
	struct rf_breaker_rule used = *rule;
	char reason[RF_BREAKER_REASON];

	used.of = of ? of : 1;
	if (!has_failed)
		b->streak = 0;
	else if (b->streak < UINT32_MAX)
		b->streak++;
	if (widen(b, used.of))
		remember(b, now, has_failed);
	else
		used.rate_percent = 0; /* no memory for it: the row is still counted */
	if (has_failed && (is_row_reached(b, &used, reason, sizeof(reason)) ||
			   is_rate_reached(b, &used, now, reason, sizeof(reason))))
		open_it(set, b, reason, rf_clock_after(now, rule->open_ms));
	else
		requeue(set, b);
}

/* The probe went wrong. */
static void reopen(struct rf_breaker_set *set, struct breaker *b,
		   const struct rf_breaker_rule *rule, uint64_t now)
{
	static const char again[] = "the probe failed, after ";
	const char *before = view_of(b, now).reason;
	char reason[RF_BREAKER_REASON];

	if (strncmp(before, again, sizeof(again) - 1) == 0)
		before += sizeof(again) - 1;
	snprintf(reason, sizeof(reason), "%s%s", again, before);
	open_it(set, b, reason, rf_clock_after(now, rule->open_ms));
}

/* ------------------------------------------------------------- operations */

struct rf_breaker_set *rf_breaker_new(const struct rf_breaker_options *options)
{
	struct rf_breaker_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->options = *options;
	set->next_ticket = 1;
	rf_table_init(&set->table, options->key);
	return set;
}

/* Forgets all of them. */
static void empty(struct rf_breaker_set *set)
{
	struct rf_table_node *node;

	while ((node = rf_table_next(&set->table, NULL)))
		forget(set, (struct breaker *)node);
}

void rf_breaker_free(struct rf_breaker_set *set)
{
	if (!set)
		return;
	empty(set);
	rf_table_done(&set->table);
	free(set);
}

static void refuse(struct rf_breaker_answer *answer, uint64_t retry_ms, const char *reason)
{
	answer->retry_ms = retry_ms;
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
}

static void admit_probe(struct rf_breaker_set *set, struct breaker *b, uint64_t now,
			struct rf_breaker_answer *answer)
{
	b->ticket = set->next_ticket++;
	b->probe_since = now;
	answer->is_admitted = answer->is_probe = true;
	answer->ticket = b->ticket;
	become(set, b, RF_BREAKER_HALF_OPEN);
}

void rf_breaker_admit(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		      uint64_t mono_ms, struct rf_breaker_answer *ret_answer)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	struct breaker *b;
	int code;

	*ret_answer = (struct rf_breaker_answer){ 0 };
	if (!rf_table_takes(name)) {
		refuse(ret_answer, RF_CLOCK_NEVER, "that can't be a name");
		return;
	}
	code = get(set, kind, name, &b);
	if (code < 0) {
		refuse(ret_answer, 1000,
		       code == -ENOSPC ? "there is no room for another breaker: all are open"
				       : "no memory for a breaker");
		return;
	}
	if (b->state == RF_BREAKER_CLOSED) {
		ret_answer->is_admitted = true;
		ret_answer->ticket = b->ticket;
		requeue(set, b);
	} else if (state_at(b, now) == RF_BREAKER_HALF_OPEN && !has_probe(b, now)) {
		admit_probe(set, b, now, ret_answer);
	} else {
		b->refused++;
		refuse(ret_answer, retry_of(b, now), view_of(b, now).reason);
	}
}

void rf_breaker_record(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		       const struct rf_breaker_rule *rule, uint64_t ticket,
		       enum rf_breaker_outcome outcome, uint64_t mono_ms)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	struct breaker *b = rf_table_takes(name) ? find(set, kind, name) : NULL;
	bool has_failed = outcome == RF_BREAKER_FAILED, is_new = !b;

	/* One that was forgotten meanwhile begins anew with what is told now. */
	if (!rf_table_takes(name) || (!b && get(set, kind, name, &b) < 0))
		return;
	b->well += outcome == RF_BREAKER_WELL;
	b->failed += has_failed;
	if (b->state == RF_BREAKER_CLOSED) {
		if (outcome != RF_BREAKER_UNKNOWN && (is_new || !ticket || ticket == b->ticket))
			judge(set, b, rule, has_failed, now);
	} else if (b->state == RF_BREAKER_HALF_OPEN && ticket && ticket == b->ticket) {
		if (outcome == RF_BREAKER_UNKNOWN)
			b->ticket = 0;
		else if (has_failed)
			reopen(set, b, rule, now);
		else
			close_it(set, b);
	}
}

int rf_breaker_trip(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		    const char *reason, uint64_t open_ms, uint64_t mono_ms)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms), until = rf_clock_after(now, open_ms);
	struct breaker *b;
	int code;

	if (!rf_table_takes(name))
		return -EINVAL;
	code = get(set, kind, name, &b);
	if (code < 0)
		return code;
	if (b->state == RF_BREAKER_OPEN && b->until > until)
		until = b->until;
	open_it(set, b, reason, until);
	return 0;
}

int rf_breaker_reset(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		     uint64_t mono_ms)
{
	struct breaker *b = find(set, kind, name);

	rf_clock_at(&set->clock, mono_ms);
	if (!b)
		return -ENOENT;
	close_it(set, b);
	return 0;
}

bool rf_breaker_look(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		     uint64_t mono_ms, struct rf_breaker_view *ret_view)
{
	const struct breaker *b = find(set, kind, name);
	uint64_t now = rf_clock_at(&set->clock, mono_ms);

	if (b)
		*ret_view = view_of(b, now);
	return b;
}

void rf_breaker_each(struct rf_breaker_set *set, uint64_t mono_ms, rf_breaker_visit *visit,
		     void *arg)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	const struct rf_table_node *node = NULL;

	while ((node = rf_table_next(&set->table, node))) {
		struct rf_breaker_view view = view_of((const struct breaker *)node, now);

		visit(arg, &view);
	}
}

size_t rf_breaker_count(const struct rf_breaker_set *set)
{
	return set->table.node_count;
}

uint64_t rf_breaker_lost(const struct rf_breaker_set *set)
{
	return set->lost;
}

/* ------------------------------------------------------------- for a successor */

static void pack_one(const struct breaker *b, struct rf_buf *out)
{
	rf_pack_bool(out, true);
	rf_pack_u32(out, b->node.kind);
	rf_pack_string(out, b->node.name);
	rf_pack_u32(out, b->state);
	rf_pack_u64(out, b->ticket);
	rf_pack_u64(out, b->until);
	rf_pack_u32(out, b->streak);
	rf_pack_string(out, b->reason);
	rf_pack_u64(out, b->well);
	rf_pack_u64(out, b->failed);
	rf_pack_u64(out, b->refused);
	rf_pack_u64(out, b->opened);
	rf_pack_u32(out, b->ring_count);
	for (uint32_t i = b->ring_count; i > 0; i--)
		rf_pack_u64(out, last(b, i - 1));
}

/* More than one can take when it is packed, with the end that follows. */
static size_t room_of(const struct breaker *b)
{
	return 128 + RF_TABLE_NAME + RF_BREAKER_REASON + b->ring_count * sizeof(uint64_t);
}

/* Oldest first, as they will be queued again; without the oldest, if there is no room for all. */
static void pack_queue(const struct breaker *oldest, struct rf_buf *out)
{
	size_t need = 0;

	for (const struct breaker *b = oldest; b; b = b->newer)
		need += room_of(b);
	for (const struct breaker *b = oldest; b && !out->has_failed; b = b->newer) {
		if (need <= out->max - out->len)
			pack_one(b, out);
		need -= room_of(b);
	}
}

void rf_breaker_pack(const struct rf_breaker_set *set, const char *boot, struct rf_buf *out)
{
	const struct rf_table_node *node = NULL;

	rf_pack_u32(out, FORMAT);
	rf_clock_pack(&set->clock, boot, out);
	rf_pack_u64(out, set->next_ticket);
	while ((node = rf_table_next(&set->table, node)))
		if (((const struct breaker *)node)->state != RF_BREAKER_CLOSED)
			pack_one((const struct breaker *)node, out);
	for (int queue = QUEUE_COUNT - 1; queue >= 0; queue--)
		pack_queue(set->queues[queue].oldest, out);
	rf_pack_bool(out, false);
}

/* The outcomes of one, oldest first; none is younger than now, or older than the one before. */
static void unpack_ring(struct breaker *b, uint64_t now, struct rf_pack_reader *reader)
{
	uint32_t count = rf_pack_read_below(reader, RF_BREAKER_OF + 1);
	uint64_t before = 0;

	if (count > (size_t)(reader->end - reader->at) / sizeof(uint64_t) || !widen(b, count)) {
		reader->has_failed = true;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t outcome = rf_pack_read_u64(reader);

		if (outcome >> 1 > now || outcome >> 1 < before)
			reader->has_failed = true;
		before = outcome >> 1;
		remember(b, before, outcome & 1);
	}
}

static void unpack_one(struct rf_breaker_set *set, uint64_t next_ticket,
		       struct rf_pack_reader *reader)
{
	enum rf_table_kind kind = (enum rf_table_kind)rf_pack_read_below(reader, RF_TABLE_KINDS);
	const char *name = rf_pack_read_string(reader, RF_TABLE_NAME), *reason;
	struct breaker *b = NULL;

	if (reader->has_failed || !rf_table_takes(name) || find(set, kind, name) ||
	    set->table.node_count >= set->options.cap || get(set, kind, name, &b) < 0) {
		reader->has_failed = true;
		return;
	}
	b->state = (enum rf_breaker_state)rf_pack_read_below(reader, RF_BREAKER_STATES);
	b->ticket = rf_pack_read_u64(reader);
	b->until = rf_pack_read_u64(reader);
	b->streak = rf_pack_read_u32(reader);
	reason = rf_pack_read_maybe(reader, RF_BREAKER_REASON);
	b->reason = reason ? strdup(reason) : NULL;
	b->well = rf_pack_read_u64(reader);
	b->failed = rf_pack_read_u64(reader);
	b->refused = rf_pack_read_u64(reader);
	b->opened = rf_pack_read_u64(reader);
	unpack_ring(b, set->clock.now, reader);
	if (b->ticket >= next_ticket || (b->state == RF_BREAKER_CLOSED && !b->ticket))
		reader->has_failed = true;
	if (b->state == RF_BREAKER_HALF_OPEN)
		b->ticket = 0;
	requeue(set, b);
}

int rf_breaker_unpack(struct rf_breaker_set *set, const char *boot, uint64_t mono_ms,
		      const void *data, size_t len, struct rf_err *err)
{
	struct rf_pack_reader reader;
	uint64_t next;

	rf_pack_read_init(&reader, data, len);
	if (rf_pack_read_u32(&reader) != FORMAT)
		reader.has_failed = true;
	rf_clock_unpack(&set->clock, boot, mono_ms, &reader);
	next = rf_pack_read_u64(&reader);
	if (next == 0 || next > UINT64_MAX / 2)
		reader.has_failed = true;
	while (!reader.has_failed && rf_pack_read_bool(&reader))
		unpack_one(set, next, &reader);
	if (rf_pack_is_whole(&reader)) {
		set->next_ticket = next;
		return 0;
	}
	empty(set);
	set->clock = (struct rf_clock){ 0 };
	set->next_ticket = 1;
	return rf_fail_say(err, -EBADMSG,
			   "the state of the breakers is damaged, or another version's");
}

size_t rf_breaker_agents(const struct rf_breaker_set *set, const char *prefix, size_t len)
{
	return rf_table_count(&set->table, RF_TABLE_AGENT, prefix, len);
}

bool rf_breaker_knows(const struct rf_breaker_set *set, const char *agent)
{
	return find(set, RF_TABLE_AGENT, agent) != NULL;
}
