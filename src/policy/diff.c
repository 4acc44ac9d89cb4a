/* Two policies compared: see diff.h. */
#include "policy/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/rune.h"
#include "policy/key.h"
#include "policy/words.h"

/*
 * What a difference means, key by key, the most dangerous first.  A key that is not here comes
 * after these; a scalar's way is known from the table of keys, a list's is then open.
 */
/* clang-format off */
static const struct meaning {
	const char *path;
	enum rf_diff_way added;  /* what one more element of a list is */
	bool is_all_without;     /* a list that, when it is not there, means everything */
	const char *looser;      /* note on what is looser now, or was */
	const char *stricter;
} meanings[] = {
	{ "network.link",     0,                false, "MORE OPEN",      "stricter" },
	{ "weaker",           0,                false, "MORE OPEN",      "stricter" },
	{ "isolation",        0,                false, "WEAKER",         "stricter" },
	{ "network.unix",     0,                false, "MORE OPEN",      "stricter" },
	{ "network.mode",     0,                false, "MORE OPEN",      "stricter" },
	{ "network.allow",    RF_DIFF_LOOSER,   false, "MORE OPEN",      "stricter" },
	{ "network.deny",     RF_DIFF_STRICTER, false, "MORE OPEN",      "stricter" },
	{ "credentials",      RF_DIFF_LOOSER,   false, "can be used",    "can't be used" },
	{ "network.hosts",    RF_DIFF_OTHER,    false, "",               "" },
	{ "network.publish",  RF_DIFF_LOOSER,   false, "published",      "no longer published" },
	{ "syscalls",         0,                false, "MORE OPEN",      "stricter" },
	{ "seccomp",          RF_DIFF_STRICTER, false, "no longer filters", "filters" },
	{ "files.write",      RF_DIFF_LOOSER,   false, "writable",       "no longer writable" },
	{ "files.deny",       RF_DIFF_STRICTER, false, "no longer hidden", "hidden" },
	{ "files.read",       RF_DIFF_LOOSER,   false, "readable",       "no longer readable" },
	{ "files.current",    0,                false, "MORE OPEN",      "stricter" },
	{ "env.pass",         RF_DIFF_LOOSER,   false, "passed on",      "no longer passed on" },
	{ "commands",         RF_DIFF_LOOSER,   true,  "can be run",     "can't be run" },
	{ "network.loopback", 0,                false, "MORE OPEN",      "stricter" },
	{ "audit",            0,                false, "LESS RECORDED",  "stricter" },
	{ "limits.require",   0,                false, "WEAKER",         "stricter" },
	{ "final",            RF_DIFF_STRICTER, false, "can be changed later", "can't be loosened later" },
	{ "env.set",          RF_DIFF_OTHER,    false, "",               "" },
};
/* clang-format on */

#define RANK_OF_OTHERS ((int)RF_LEN(meanings))
#define RANK_OF_LIMITS (RANK_OF_OTHERS + 1)

static const struct meaning *meaning_of(enum rf_key key)
{
	for (size_t i = 0; i < RF_LEN(meanings); i++)
		if (strcmp(meanings[i].path, rf_key_table[key].path) == 0)
			return &meanings[i];
	return NULL;
}

static int rank_of(enum rf_key key)
{
	const struct meaning *meaning = meaning_of(key);

	if (meaning)
		return (int)(meaning - meanings);
	return rf_key_figure(key) ? RANK_OF_LIMITS : RANK_OF_OTHERS;
}

static const char *note_of(enum rf_key key, enum rf_diff_way way)
{
	const struct meaning *meaning = meaning_of(key);

	if (way == RF_DIFF_OTHER)
		return "";
	if (rf_key_table[key].type == RF_KEY_TYPE_LIMIT)
		return way == RF_DIFF_LOOSER ? "more" : "less";
	if (!meaning)
		return way == RF_DIFF_LOOSER ? "looser" : "stricter";
	return way == RF_DIFF_LOOSER ? meaning->looser : meaning->stricter;
}

static enum rf_diff_way opposite(enum rf_diff_way way)
{
	return (enum rf_diff_way)(RF_DIFF_STRICTER - way);
}

/* Adds a row; takes both texts, whatever comes of it. */
static int add(struct rf_diff *diff, enum rf_key key, enum rf_diff_way way, char *before,
	       char *after, const char *note)
{
	struct rf_diff_row *rows = realloc(diff->rows, (diff->count + 1) * sizeof(*rows));

	if (!rows || (!before && !after)) {
		if (rows)
			diff->rows = rows;
		free(before);
		free(after);
		return -ENOMEM;
	}
	diff->rows = rows;
	rows[diff->count++] = (struct rf_diff_row){
		.key = key,
		.way = way,
		.rank = rank_of(key),
		.before = before,
		.after = after,
		.note = note ? note : note_of(key, way),
	};
	diff->looser += way == RF_DIFF_LOOSER;
	diff->stricter += way == RF_DIFF_STRICTER;
	return 0;
}

/* ------------------------------------------------------------- comparing */

static char *scalar_of(const struct rf_policy *policy, enum rf_key key)
{
	struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_words_scalar(policy, key, &text);
	return rf_buf_take(&text);
}

static int compare_scalar(struct rf_diff *diff, const struct rf_policy *a,
			  const struct rf_policy *b, enum rf_key key)
{
	char *before = a->set & RF_KEY_BIT(key) ? scalar_of(a, key) : NULL;
	char *after = b->set & RF_KEY_BIT(key) ? scalar_of(b, key) : NULL;
	uint64_t x = rf_key_number(a, key), y = rf_key_number(b, key);
	bool has_rest = rf_key_has_rest(key);
	enum rf_diff_way way = RF_DIFF_OTHER;

	if ((!before && !after) || (before && after && strcmp(before, after) == 0)) {
		free(before);
		free(after);
		return 0;
	}
	if (((before && after) || has_rest) && rf_key_table[key].strict < RF_KEY_STRICT_NEITHER &&
	    x != y)
		way = rf_key_is_as_strict(key, y, x) ? RF_DIFF_STRICTER : RF_DIFF_LOOSER;
	return add(diff, key, way, before, after, NULL);
}

static char *element_of(enum rf_key key, const struct rf_list_item *item)
{
	struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_words_element(key, item, &text);
	return rf_buf_take(&text);
}

/* True if a file rule of `policy` shows the same with the other right: it was moved, not dropped. */
static bool has_moved(const struct rf_policy *policy, enum rf_key key,
		      const struct rf_list_item *rule)
{
	enum rf_key other = key == RF_KEY_READ ? RF_KEY_WRITE : RF_KEY_READ;

	return rf_key_table[key].type == RF_KEY_TYPE_FILES &&
	       rf_list_has(&policy->values[other].list, rule->name, rule->value);
}

/* The elements of one list that the other lacks, as rows. */
static int add_missing(struct rf_diff *diff, const struct rf_policy *from,
		       const struct rf_policy *in, enum rf_key key, enum rf_diff_way way,
		       bool is_added)
{
	const struct rf_list *list = &from->values[key].list;
	int r = 0;

	for (size_t i = 0; i < list->count && r >= 0; i++) {
		const struct rf_list_item *item = &list->items[i];
		const char *note = NULL;
		char *text;

		if (rf_list_has(&in->values[key].list, item->name, item->value))
			continue;
		if (has_moved(in, key, item)) {
			if (key == RF_KEY_READ)
				continue; /* files.write tells it */
			note = is_added ? "writable; was read-only" : "now read-only";
		}
		text = element_of(key, item);
		r = add(diff, key, way, is_added ? NULL : text, is_added ? text : NULL, note);
	}
	return r;
}

static int compare_list(struct rf_diff *diff, const struct rf_policy *a, const struct rf_policy *b,
			enum rf_key key)
{
	const struct meaning *meaning = meaning_of(key);
	enum rf_diff_way added = meaning ? meaning->added : RF_DIFF_OTHER;
	bool was_set = a->set & RF_KEY_BIT(key), is_set = b->set & RF_KEY_BIT(key);
	int r;

	if (meaning && meaning->is_all_without && was_set != is_set)
		return add(diff, key, is_set ? RF_DIFF_STRICTER : RF_DIFF_LOOSER,
			   strdup(is_set ? "all" : "a list"), strdup(is_set ? "a list" : "all"),
			   is_set ? "stricter" : "MORE OPEN");
	r = add_missing(diff, b, a, key, added, true);
	return r < 0 ? r : add_missing(diff, a, b, key, opposite(added), false);
}

/* "NAME=content", as a flag has it. */
static char *pair_of(const struct rf_list_item *item)
{
	struct rf_buf text;

	if (!item)
		return NULL;
	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_buf_printf(&text, "%s=", item->name);
	for (const char *at = item->value; *at; at++) /* a credential has its fields as lines */
		if (*at != '\n')
			rf_buf_add(&text, at, 1);
		else if (at[1])
			rf_buf_puts(&text, "; ");
	return rf_buf_take(&text);
}

static int compare_map(struct rf_diff *diff, const struct rf_policy *a, const struct rf_policy *b,
		       enum rf_key key)
{
	const struct rf_list *x = &a->values[key].list, *y = &b->values[key].list;
	const struct meaning *meaning = meaning_of(key);
	enum rf_diff_way added = meaning ? meaning->added : RF_DIFF_OTHER;
	int r = 0;

	for (size_t i = 0; i < y->count && r >= 0; i++) {
		const struct rf_list_item *was = rf_list_find(x, y->items[i].name);

		if (!rf_list_has(x, y->items[i].name, y->items[i].value))
			r = add(diff, key, was ? RF_DIFF_OTHER : added, pair_of(was),
				pair_of(&y->items[i]), NULL);
	}
	for (size_t i = 0; i < x->count && r >= 0; i++)
		if (!rf_list_find(y, x->items[i].name))
			r = add(diff, key, opposite(added), pair_of(&x->items[i]), NULL, NULL);
	return r;
}

/* The keys that a section holds, as bits. */
static rf_key_set keys_of(const struct rf_key_section *section)
{
	size_t len = strlen(section->name);
	rf_key_set keys = 0;

	for (int i = 0; i < RF_KEY_COUNT; i++)
		if (strncmp(rf_key_table[i].path, section->name, len) == 0 &&
		    rf_key_table[i].path[len] == '.')
			keys |= RF_KEY_BIT(i);
	return keys;
}

/* A row for keys that became final, or did so before and no longer do. */
static int add_keys(struct rf_diff *diff, rf_key_set keys, bool is_added)
{
	enum rf_diff_way way = is_added ? RF_DIFF_STRICTER : RF_DIFF_LOOSER;
	int r = 0;

	for (size_t i = 0; i < RF_KEY_SECTIONS && r >= 0; i++) {
		rf_key_set all = keys_of(&rf_key_sections[i]);
		char *text = (keys & all) == all ? strdup(rf_key_sections[i].name) : NULL;

		if (!text)
			continue;
		keys &= ~all;
		r = add(diff, RF_KEY_FINAL, way, is_added ? NULL : text, is_added ? text : NULL,
			NULL);
	}
	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++) {
		char *text = keys & RF_KEY_BIT(i) ? strdup(rf_key_table[i].path) : NULL;

		if (text)
			r = add(diff, RF_KEY_FINAL, way, is_added ? NULL : text,
				is_added ? text : NULL, NULL);
	}
	return r;
}

static int compare_keys(struct rf_diff *diff, const struct rf_policy *a, const struct rf_policy *b)
{
	int r = add_keys(diff, b->finals & ~a->finals, true);

	return r < 0 ? r : add_keys(diff, a->finals & ~b->finals, false);
}

static int by_danger(const void *x, const void *y)
{
	const struct rf_diff_row *a = x, *b = y;

	if (a->way != b->way)
		return (int)a->way - (int)b->way;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->key != b->key)
		return a->key - b->key;
	if (!a->after != !b->after)
		return a->after ? -1 : 1;
	return strcmp(a->after ? a->after : a->before, b->after ? b->after : b->before);
}

int rf_diff_make(const struct rf_policy *a, const struct rf_policy *b, struct rf_diff *ret_diff,
		 struct rf_err *err)
{
	struct rf_diff diff = { 0 };
	int r = 0;

	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++) {
		enum rf_key key = (enum rf_key)i;

		if (rf_key_table[i].type == RF_KEY_TYPE_KEYS)
			r = compare_keys(&diff, a, b);
		else if (rf_key_is_map(key))
			r = compare_map(&diff, a, b, key);
		else if (rf_words_is_list(key))
			r = compare_list(&diff, a, b, key);
		else
			r = compare_scalar(&diff, a, b, key);
	}
	if (r < 0) {
		rf_diff_done(&diff);
		return rf_fail(err, r, "compare two policies");
	}
	if (diff.count)
		qsort(diff.rows, diff.count, sizeof(*diff.rows), by_danger);
	*ret_diff = diff;
	return 0;
}

void rf_diff_done(struct rf_diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		free(diff->rows[i].before);
		free(diff->rows[i].after);
	}
	free(diff->rows);
	*diff = (struct rf_diff){ 0 };
}

/* ------------------------------------------------------------- telling */

/* A value may hold what a terminal would obey; here it is shown. */
static void put_visible(const char *text, struct rf_buf *out)
{
	uint32_t rune, before = 0;
	size_t len = strlen(text);

	for (size_t at = 0, n; at < len; at += n, before = rune) {
		rune = '?';
		n = rf_rune_take(text + at, len - at, &rune);
		if (n == 0 || rf_rune_is_control(rune) || rf_rune_is_hidden(rune, before))
			rf_buf_printf(out, rune > 0xffff ? "\\U%08X" : "\\u%04X", rune);
		else
			rf_buf_add(out, text + at, n);
		n = n ? n : 1;
	}
}

static void put_row(const struct rf_diff_row *row, struct rf_buf *out)
{
	bool is_list = rf_words_is_list((enum rf_key)row->key);

	rf_buf_printf(out, "%s: ", rf_key_table[row->key].path);
	if (is_list && !row->before)
		rf_buf_puts(out, "adds ");
	else if (is_list && !row->after)
		rf_buf_puts(out, "removes ");
	if (row->before || !is_list)
		put_visible(row->before ? row->before : "not set", out);
	if ((row->before && row->after) || !is_list)
		rf_buf_puts(out, " → ");
	if (row->after || !is_list)
		put_visible(row->after ? row->after : "not set", out);
	if (row->note[0])
		rf_buf_printf(out, " (%s)", row->note);
	rf_buf_puts(out, "\n");
}

static const char *points(size_t count)
{
	return count == 1 ? "point" : "points";
}

void rf_diff_text(const struct rf_diff *diff, const char *a, const char *b, struct rf_buf *out)
{
	for (size_t i = 0; i < diff->count; i++)
		put_row(&diff->rows[i], out);
	if (diff->count == 0)
		rf_buf_printf(out, "%s and %s allow the same.\n", a, b);
	else if (diff->looser && diff->stricter)
		rf_buf_printf(out, "%s is looser than %s in %zu %s, and stricter in %zu.\n", b, a,
			      diff->looser, points(diff->looser), diff->stricter);
	else if (diff->looser)
		rf_buf_printf(out, "%s is looser than %s.\n", b, a);
	else if (diff->stricter)
		rf_buf_printf(out, "%s is stricter than %s.\n", b, a);
	else
		rf_buf_puts(out, "Neither is looser.\n");
}

void rf_diff_json(const struct rf_diff *diff, const char *a, const char *b, struct rf_buf *out)
{
	static const char *const ways[] = { "looser", "other", "stricter" };
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "a", a);
	rf_json_string(&json, "b", b);
	rf_json_bool(&json, "same", diff->count == 0);
	rf_json_int(&json, "looser", (int64_t)diff->looser);
	rf_json_int(&json, "stricter", (int64_t)diff->stricter);
	rf_json_open_array(&json, "changes");
	for (size_t i = 0; i < diff->count; i++) {
		const struct rf_diff_row *row = &diff->rows[i];

		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "key", rf_key_table[row->key].path);
		rf_json_string(&json, "b_is", ways[row->way]);
		rf_json_string(&json, "a", row->before);
		rf_json_string(&json, "b", row->after);
		rf_json_string(&json, "note", row->note[0] ? row->note : NULL);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
