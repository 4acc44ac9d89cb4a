/* Which lines differ between two texts: see lines.h. */
#include "workspace/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET   ((size_t)32 << 20) /* steps of a whole comparison: a fifth of a second */
#define PATIENCE 384 /* edits from either end before a good place to cut is taken for the best */

/* ------------------------------------------------------------- from bytes to numbers */

static int split(const char *text, size_t len, struct rf_lines_side *side)
{
	const char *end = text + len;
	size_t count = 0;

	for (const char *at = text; at < end; count++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	if (count > RF_LINES_MAX || len > UINT32_MAX)
		return -E2BIG;
	side->lines = calloc(count + 1, sizeof(*side->lines));
	side->are_changed = calloc(count + 1, sizeof(*side->are_changed));
	if (!side->lines || !side->are_changed)
		return -ENOMEM;
	for (const char *at = text; at < end; at += side->lines[side->count++].len) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		side->lines[side->count].text = at;
		side->lines[side->count].len = (uint32_t)((newline ? newline + 1 : end) - at);
	}
	return 0;
}

static bool are_same(const struct rf_line *a, const struct rf_line *b)
{
	return a->len == b->len && a->text && b->text && memcmp(a->text, b->text, a->len) == 0;
}

static uint32_t hash(const struct rf_line *line)
{
	uint32_t value = 2166136261;

	for (uint32_t i = 0; i < line->len; i++)
		value = (value ^ (unsigned char)line->text[i]) * 16777619;
	return value;
}

struct ref {
	struct rf_line *line;
};

/* By hash, and where those are alike by all of it: a table could be filled with one hash by who knows it. */
static int by_text(const void *one, const void *two)
{
	const struct rf_line *a = ((const struct ref *)one)->line,
			     *b = ((const struct ref *)two)->line;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

/* Gives the same number to the same lines, from here on all that is compared. */
static int number(struct rf_line *old, size_t old_count, struct rf_line *new, size_t new_count)
{
	size_t count = old_count + new_count;
	struct ref *all = calloc(count + 1, sizeof(*all));
	uint32_t id = 0, *ids = calloc(count + 1, sizeof(*ids));
	bool has_memory = all && ids;

	for (size_t i = 0; has_memory && i < count; i++) {
		all[i].line = i < old_count ? &old[i] : &new[i - old_count];
		all[i].line->id = hash(all[i].line);
	}
	if (has_memory) {
		qsort(all, count, sizeof(*all), by_text);
		for (size_t i = 0; i < count; i++)
			ids[i] = i > 0 && by_text(&all[i - 1], &all[i]) != 0 ? ++id : id;
		for (size_t i = 0; i < count; i++)
			all[i].line->id = ids[i];
	}
	free(all);
	free(ids);
	return has_memory ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------- the search */

/* A part of both texts that is still to be compared. */
struct part {
	size_t old, new; /* where it begins */
	int32_t old_count, new_count;
};

/* How far so many edits lead along each diagonal, seen from one end of a part. */
struct front {
	int32_t *
		reach; /* by diagonal: how many old lines are behind it; -1 if it can't be reached */
	bool is_backward; /* seen from the end, where everything is counted from */
};

struct search {
	struct rf_lines *lines;
	struct front fronts[2];
	size_t budget;
};

static bool match(const struct search *s, const struct part *p, bool is_backward, int32_t x,
		  int32_t y)
{
	size_t i = p->old + (size_t)(is_backward ? p->old_count - 1 - x : x);
	size_t j = p->new + (size_t)(is_backward ? p->new_count - 1 - y : y);

	return s->lines->old.lines[i].id == s->lines->new.lines[j].id;
}

static void spend(struct search *s, int32_t steps)
{
	s->budget = s->budget > (size_t)steps ? s->budget - (size_t)steps : 0;
}

/* The furthest that one edit more leads along diagonal `k`, and from there the lines that are the same. */
static int32_t go_along(struct search *s, const struct part *p, const struct front *front,
			int32_t k)
{
	int32_t deleted = front->reach[k - 1], added = front->reach[k + 1], x, from;

	deleted = deleted >= 0 && deleted < p->old_count ? deleted + 1 : -1;
	added = added >= 0 && added - k <= p->new_count ? added : -1;
	x = from = deleted > added ? deleted : added;
	if (x < 0)
		return -1;
	while (x < p->old_count && x - k < p->new_count &&
	       match(s, p, front->is_backward, x, x - k))
		x++;
	spend(s, x - from + 1);
	return x;
}

/*
 * Takes one front an edit further.  True if it has met the other one: then a shortest way leads through that place,
 * which is given, counted from the part's beginning.
 */
static bool advance(struct search *s, const struct part *p, int which, int32_t edits,
		    int32_t *ret_x, int32_t *ret_y)
{
	struct front *front = &s->fronts[which], *other = &s->fronts[!which];
	int32_t n = p->old_count, m = p->new_count;
	int32_t low = edits <= m ? -edits : -m + ((edits - m) & 1);
	int32_t high = edits <= n ? edits : n - ((edits - n) & 1);
	int32_t theirs = which ? edits : edits - 1; /* edits that the other one has made */

	if (edits <= m)
		front->reach[-edits - 1] = -1;
	if (edits <= n)
		front->reach[edits + 1] = -1;
	for (int32_t k = low; k <= high; k += 2) {
		int32_t x = go_along(s, p, front, k), opposite = n - m - k;

		front->reach[k] = x;
		if (x < 0 || opposite < -theirs || opposite > theirs || ((opposite ^ theirs) & 1) ||
		    opposite < -m || opposite > n || other->reach[opposite] < 0 ||
		    x + other->reach[opposite] < n)
			continue;
		*ret_x = which ? n - x : x;
		*ret_y = which ? m - (x - k) : x - k;
		return true;
	}
	return false;
}

/* The place that the forward front has come furthest to: good enough to cut at. */
static void furthest(const struct search *s, const struct part *p, int32_t edits, int32_t *ret_x,
		     int32_t *ret_y)
{
	int32_t low = edits <= p->new_count ? -edits : -p->new_count + ((edits - p->new_count) & 1);

	*ret_x = *ret_y = 0;
	for (int32_t k = low; k <= edits && k <= p->old_count; k += 2) {
		int32_t x = s->fronts[0].reach[k];

		if (x >= 0 && 2 * (int64_t)x - k > (int64_t)*ret_x + *ret_y) {
			*ret_x = x;
			*ret_y = x - k;
		}
	}
}

/* Finds a place to cut the part in two.  False if the budget is gone. */
static bool cut(struct search *s, const struct part *p, int32_t *ret_x, int32_t *ret_y)
{
	for (int which = 0; which < 2; which++) {
		int32_t *reach = s->fronts[which].reach;

		reach[-1] = reach[1] = reach[-p->new_count - 1] = reach[p->old_count + 1] = -1;
		reach[0] = 0; /* the ends of a part never match: they were taken off */
	}
	for (int32_t edits = 1; s->budget > 0; edits++) {
		if (advance(s, p, 0, edits, ret_x, ret_y) || advance(s, p, 1, edits, ret_x, ret_y))
			return true;
		if (edits >= PATIENCE) {
			furthest(s, p, edits, ret_x, ret_y);
			return true;
		}
	}
	return false;
}

static void mark(struct rf_lines_side *side, size_t from, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		side->are_changed[from + (size_t)i] = true;
	side->changed += (size_t)count;
}

/* Takes what is the same off both ends. */
static void trim(const struct search *s, struct part *p)
{
	while (p->old_count > 0 && p->new_count > 0 && match(s, p, false, 0, 0)) {
		p->old++;
		p->new ++;
		p->old_count--;
		p->new_count--;
	}
	while (p->old_count > 0 && p->new_count > 0 && match(s, p, true, 0, 0)) {
		p->old_count--;
		p->new_count--;
	}
}

static int32_t size_of(const struct part *p)
{
	return p->old_count + p->new_count;
}

/* Calls itself for the smaller half only, so that it is never deeper than the logarithm of the length. */
static void compare(struct search *s, struct part p)
{
	for (;;) {
		struct part first, rest;
		int32_t x, y;

		trim(s, &p);
		if (p.old_count == 0 || p.new_count == 0 || !cut(s, &p, &x, &y) ||
		    (x == 0 && y == 0) || (x == p.old_count && y == p.new_count))
			break;
		first = (struct part){ p.old, p.new, x, y };
		rest = (struct part){ p.old + (size_t)x, p.new + (size_t)y, p.old_count - x,
				      p.new_count - y };
		compare(s, size_of(&first) < size_of(&rest) ? first : rest);
		p = size_of(&first) < size_of(&rest) ? rest : first;
	}
	mark(&s->lines->old, p.old, p.old_count);
	mark(&s->lines->new, p.new, p.new_count);
}

/* ------------------------------------------------------------- the whole */

static int search(struct rf_lines *lines, size_t head, size_t old_count, size_t new_count)
{
	size_t diagonals = old_count + new_count + 3;
	struct search s = { .lines = lines, .budget = BUDGET, .fronts[1].is_backward = true };
	int32_t *reach = calloc(2 * diagonals, sizeof(*reach));

	if (!reach)
		return -ENOMEM;
	s.fronts[0].reach = reach + new_count + 1; /* diagonals below zero come before it */
	s.fronts[1].reach = s.fronts[0].reach + diagonals;
	compare(&s, (struct part){ head, head, (int32_t)old_count, (int32_t)new_count });
	free(reach);
	return 0;
}

int rf_lines_compare(const char *old, size_t old_len, const char *new, size_t new_len,
		     struct rf_lines *ret_lines)
{
	struct rf_lines_side *a = &ret_lines->old, *b = &ret_lines->new;
	size_t head = 0, tail = 0;
	int code;

	*ret_lines = (struct rf_lines){ 0 };
	code = split(old, old_len, a);
	if (code == 0)
		code = split(new, new_len, b);
	if (code < 0)
		return code;
	/* Most of a file is mostly the same: that needs no number. */
	while (head < a->count && head < b->count && are_same(&a->lines[head], &b->lines[head]))
		head++;
	while (tail < a->count - head && tail < b->count - head &&
	       are_same(&a->lines[a->count - 1 - tail], &b->lines[b->count - 1 - tail]))
		tail++;
	code = number(a->lines + head, a->count - head - tail, b->lines + head,
		      b->count - head - tail);
	return code < 0 ? code
			: search(ret_lines, head, a->count - head - tail, b->count - head - tail);
}

void rf_lines_done(struct rf_lines *lines)
{
	free(lines->old.lines);
	free(lines->old.are_changed);
	free(lines->new.lines);
	free(lines->new.are_changed);
	*lines = (struct rf_lines){ 0 };
}
