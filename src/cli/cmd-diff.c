/*
 * ringfort diff: what has changed in a workspace, as a list, as a table with how much, as a patch, or as JSON.
 *
 * Names and contents are a box's.  On a terminal nothing of them is written that a terminal would obey; in a pipe a patch
 * has to carry every byte as it is.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/glyph.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/worksite.h"
#include "workspace/inspect.h"
#include "workspace/patch.h"
#include "workspace/renames.h"

#define BAR_MAX 40 /* columns of pluses and minuses */

/* Two points, and what lies between. */
struct comparison {
	struct rf_stack before, after;
	struct rf_delta delta;
	size_t *others; /* see renames.h */
	struct rf_style style;
};

/* ------------------------------------------------------------- finding the changes */

/* From the directory to the head, unless the line says otherwise. */
static int find_changes(const struct rf_worksite *site, const struct rf_workspace *workspace,
			struct comparison *c, struct rf_err *err)
{
	uint32_t from = 0, to = workspace->ledger.head;
	int code = rf_config_protect(err);

	if (code == 0 && site->count > 0)
		code = rf_ledger_find_point(&workspace->ledger, site->words[0], &from, err);
	if (code == 0 && site->count > 1)
		code = rf_ledger_find_point(&workspace->ledger, site->words[1], &to, err);
	if (code == 0)
		code = rf_workspace_open_stack(workspace, from, &c->before, err);
	if (code == 0)
		code = rf_workspace_open_stack(workspace, to, &c->after, err);
	if (code == 0)
		code = rf_delta_find(&c->before, &c->after, &c->delta, err);
	if (code == 0)
		code = rf_renames_find(&c->delta, &c->before, &c->after, &c->others, err);
	return code;
}

static void comparison_done(struct comparison *c)
{
	rf_delta_done(&c->delta);
	rf_stack_done(&c->before);
	rf_stack_done(&c->after);
	free(c->others);
}

/* The change that took away the name that this one had before, or NULL. */
static const struct rf_change *origin_of(const struct comparison *c, size_t i)
{
	return c->others[i] == RF_RENAMES_NONE ? NULL : &c->delta.changes[c->others[i]];
}

/* What is gone under one name and there under another is told once, there. */
static bool is_told_elsewhere(const struct comparison *c, size_t i)
{
	return origin_of(c, i) && c->delta.changes[i].kind == RF_CHANGE_DELETED;
}

static const char *word_for(const struct comparison *c, size_t i)
{
	return origin_of(c, i) ? "renamed" : rf_change_name(c->delta.changes[i].kind);
}

/* True if no other change lies in what this one made or took away. */
static bool is_alone(const struct comparison *c, size_t i)
{
	const char *path = c->delta.changes[i].path;
	size_t len = strlen(path), low = i + 1, high = c->delta.count;

	while (low < high) { /* the first path that is not before "PATH/" */
		size_t middle = low + (high - low) / 2;
		const char *other = c->delta.changes[middle].path;
		int order = strncmp(other, path, len);

		if (order < 0 || (order == 0 && (unsigned char)other[len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	return low == c->delta.count || strncmp(c->delta.changes[low].path, path, len) != 0 ||
	       c->delta.changes[low].path[len] != '/';
}

/* ------------------------------------------------------------- all of them, one by one */

/* Shows the i-th change. */
typedef int show_fn(void *data, const struct comparison *c, size_t i, struct rf_err *err);

static int show_those(const struct comparison *c, bool are_protected, show_fn *show, void *data,
		      struct rf_err *err)
{
	for (size_t i = 0; i < c->delta.count; i++) {
		int code;

		if (!c->delta.changes[i].protects != !are_protected || is_told_elsewhere(c, i))
			continue;
		code = show(data, c, i, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* What acts later comes last, under a heading of its own. */
static int show_all(const struct comparison *c, const char *sign, show_fn *show, void *data,
		    struct rf_buf *out, struct rf_err *err)
{
	bool has_protected = false, has_others = false;

	for (size_t i = 0; i < c->delta.count; i++) {
		has_protected |= c->delta.changes[i].protects != NULL;
		has_others |= !c->delta.changes[i].protects && !is_told_elsewhere(c, i);
	}
	if (show_those(c, false, show, data, err) < 0)
		return err->code;
	if (has_protected)
		rf_buf_printf(out, "%s%sthese act later, on whoever uses the directory:\n",
			      has_others && !*sign ? "\n" : "", sign);
	return show_those(c, true, show, data, err);
}

/* ------------------------------------------------------------- a list */

static int put_change(void *data, const struct comparison *c, size_t i, struct rf_err *err)
{
	const struct rf_style style = c->style;
	const struct rf_change *change = &c->delta.changes[i], *origin = origin_of(c, i);
	struct rf_buf *out = data;
	const char *word = word_for(c, i);

	(void)err;
	rf_style_put(style, change->protects ? RF_STYLE_WARNING : RF_STYLE_NAME, word, 9, out);
	rf_buf_puts(out, strlen(word) < 9 ? "" : " ");
	if (origin) {
		rf_style_put(style, RF_STYLE_PLAIN, origin->path, 0, out);
		rf_buf_puts(out, " -> ");
	}
	rf_style_put(style, RF_STYLE_PLAIN, change->path, 0, out);
	if (change->protects)
		rf_buf_printf(out, "  (%s)", change->protects);
	rf_buf_puts(out, "\n");
	return 0;
}

static int put_list(const struct comparison *c, struct rf_buf *out, struct rf_err *err)
{
	return show_all(c, "", put_change, out, out, err);
}

/* ------------------------------------------------------------- a table of how much */

struct table {
	struct rf_buf *out;
	size_t files, added, deleted;
};

/* So many of a sign, less if there are many lines. */
static void put_bar(struct rf_style style, enum rf_style_role role, char sign, size_t count,
		    size_t of, struct rf_buf *out)
{
	char bar[BAR_MAX + 1];
	size_t len = of <= BAR_MAX ? count : (count * BAR_MAX + of - 1) / of;

	len = len <= BAR_MAX ? len : BAR_MAX;
	memset(bar, sign, len);
	bar[len] = '\0';
	rf_style_put(style, role, bar, 0, out);
}

static void put_amount(const struct rf_inspect *in, struct rf_style style, struct table *table)
{
	const struct rf_inspect_side *old = &in->old, *new = &in->new;
	size_t added = in->lines.new.changed, deleted = in->lines.old.changed;

	if (in->has_lines && (added > 0 || deleted > 0)) {
		rf_buf_printf(table->out, "%6zu ", added + deleted);
		put_bar(style, RF_STYLE_GOOD, '+', added, added + deleted, table->out);
		put_bar(style, RF_STYLE_BAD, '-', deleted, added + deleted, table->out);
	} else if (old->kind == RF_INSPECT_BINARY || new->kind == RF_INSPECT_BINARY) {
		rf_buf_printf(table->out, " binary %llu -> %llu bytes",
			      (unsigned long long)old->size, (unsigned long long)new->size);
	} else if (old->mode && new->mode && (old->mode & 07777) != (new->mode & 07777)) {
		rf_buf_printf(table->out, " mode %04o -> %04o", old->mode & 07777,
			      new->mode & 07777);
	} else {
		rf_buf_printf(
			table->out, " %s",
			new->kind == RF_INSPECT_FOLDER || old->kind == RF_INSPECT_FOLDER ? "folder"
			: new->kind == RF_INSPECT_LINK || old->kind == RF_INSPECT_LINK   ? "link"
											 : "");
	}
	table->added += added;
	table->deleted += deleted;
}

static int put_row(void *data, const struct comparison *c, size_t i, struct rf_err *err)
{
	const struct rf_style style = c->style;
	const struct rf_change *change = &c->delta.changes[i], *origin = origin_of(c, i);
	struct table *table = data;
	struct rf_inspect in;
	int code = rf_inspect_open(change, origin, &c->before, &c->after, &in, err);

	if (code == 0) {
		table->files++;
		rf_buf_puts(table->out, " ");
		rf_style_put(style, change->protects ? RF_STYLE_WARNING : RF_STYLE_NAME,
			     word_for(c, i), 10, table->out);
		rf_buf_puts(table->out, " ");
		if (origin) {
			rf_style_put(style, RF_STYLE_PLAIN, origin->path, 0, table->out);
			rf_buf_puts(table->out, " -> ");
		}
		rf_style_put(style, RF_STYLE_PLAIN, change->path, origin ? 0 : 30, table->out);
		rf_buf_puts(table->out, " |");
		put_amount(&in, style, table);
		if (change->protects)
			rf_buf_printf(table->out, "  (%s)", change->protects);
		rf_buf_puts(table->out, "\n");
	}
	rf_inspect_done(&in);
	return code;
}

static int put_table(const struct comparison *c, struct rf_buf *out, struct rf_err *err)
{
	struct table table = { .out = out };
	int code = show_all(c, "", put_row, &table, out, err);

	rf_buf_printf(out, " %zu changed, %zu lines added, %zu deleted\n", table.files, table.added,
		      table.deleted);
	return code;
}

/* ------------------------------------------------------------- a patch */

struct sheet {
	struct rf_buf *out;
	bool is_terminal;
	size_t missing; /* changes that a patch can't carry */
};

/* A line of a patch as a terminal may show it; a tab is harmless. */
static void put_safely(const char *line, size_t len, struct rf_buf *out)
{
	static const struct {
		const char *begins;
		enum rf_style_role role;
	} roles[] = {
		{ "diff ", RF_STYLE_HEADING }, { "@@", RF_STYLE_NAME }, { "#", RF_STYLE_WARNING },
		{ "+", RF_STYLE_GOOD },        { "-", RF_STYLE_BAD },
	};
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	struct rf_glyph glyph = { 0 };
	const char *ends = "";

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !*ends; i++)
		if (strncmp(line, roles[i].begins, strlen(roles[i].begins)) == 0) {
			rf_buf_puts(out, rf_style_begin(style, roles[i].role));
			ends = rf_style_end(style);
			break;
		}
	for (size_t at = 0; at < len;) {
		if (line[at] == '\t') {
			rf_buf_add(out, &line[at++], 1);
			glyph = (struct rf_glyph){ 0 };
			continue;
		}
		at += rf_glyph_next(&glyph, line + at, len - at);
		rf_buf_add(out, glyph.shown, glyph.len);
	}
	rf_buf_puts(out, ends);
	rf_buf_puts(out, "\n");
}

/* Writes what has come together, so that a long patch is not held in memory. */
static int write_sheet(struct sheet *sheet)
{
	RF_AUTO_BUF struct rf_buf shown;
	const char *at = sheet->out->data, *end = at + sheet->out->len;
	int failed = 0;

	rf_buf_init(&shown, RF_MAX_JSON);
	while (sheet->is_terminal && at && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		put_safely(at, (size_t)((newline ? newline : end) - at), &shown);
		at = newline ? newline + 1 : end;
	}
	if (sheet->out->has_failed)
		shown.has_failed = true;
	if (sheet->is_terminal || sheet->out->has_failed)
		failed = rf_cmd_print(&shown);
	else if (sheet->out->len > 0)
		failed = rf_cmd_print(sheet->out);
	rf_buf_clear(sheet->out);
	return failed ? -EIO : 0;
}

static int put_patch_of(void *data, const struct comparison *c, size_t i, struct rf_err *err)
{
	struct sheet *sheet = data;
	struct rf_inspect in;
	int code = rf_inspect_open(&c->delta.changes[i], origin_of(c, i), &c->before, &c->after,
				   &in, err);

	if (code == 0 && !rf_patch_put(&in, is_alone(c, i), sheet->out))
		sheet->missing++;
	rf_inspect_done(&in);
	if (code == 0)
		code = write_sheet(sheet);
	return code;
}

static int put_patch(const struct comparison *c, struct rf_buf *out, struct rf_err *err)
{
	struct sheet sheet = { .out = out, .is_terminal = isatty(STDOUT_FILENO) };
	int code = show_all(c, "# ", put_patch_of, &sheet, out, err);

	if (code == 0)
		code = write_sheet(&sheet); /* a heading with nothing beneath it */
	if (code == 0 && sheet.missing)
		rf_cmd_remark("a patch can't carry all: %zu changes are told in lines that begin "
			      "with `#`; `ringfort apply` makes them",
			      sheet.missing);
	return code;
}

/* ------------------------------------------------------------- JSON */

/* A path is bytes; where those are no text, they stand beside it. */
static void put_path(struct rf_json *json, const char *name, const char *exact, const char *path)
{
	rf_json_string(json, name, path);
	if (!rf_json_is_utf8(path, strlen(path)))
		rf_json_base64(json, exact, path, strlen(path));
}

static void put_side(struct rf_json *json, const char *name, const struct rf_inspect_side *side)
{
	RF_AUTO_BUF struct rf_buf hash;
	char mode[8];

	rf_buf_init(&hash, RF_SHA256_BYTES * 2 + 1);
	if (!side->mode) {
		rf_json_null(json, name);
		return;
	}
	snprintf(mode, sizeof(mode), "%06o", side->mode);
	rf_json_open_object(json, name);
	rf_json_string(json, "mode", mode);
	rf_json_int(json, "size", (int64_t)side->size);
	if (side->kind == RF_INSPECT_LINK)
		rf_json_bytes(json, "target", side->data, side->len);
	if (side->kind == RF_INSPECT_BINARY && !side->is_hashed)
		rf_json_null(json, "sha256");
	if (side->is_hashed) {
		rf_patch_put_hash(side, &hash);
		rf_json_bytes(json, "sha256", hash.data ? hash.data : "", hash.len);
	}
	rf_json_close_object(json);
}

static void put_attribute_names(struct rf_json *json, const struct rf_inspect *in)
{
	const struct rf_attributes *old = &in->old.attributes, *new = &in->new.attributes;

	rf_json_open_array(json, "attributes");
	for (size_t i = 0; i < new->count; i++) {
		const struct rf_attribute *was = rf_attributes_find(old, new->items[i].name);

		if (!was || !rf_attributes_are_same(was, &new->items[i]))
			rf_json_string(json, NULL, new->items[i].name);
	}
	for (size_t i = 0; in->new.mode &&i < old->count; i++)
		if (!rf_attributes_find(new, old->items[i].name))
			rf_json_string(json, NULL, old->items[i].name);
	rf_json_close_array(json);
}

static void put_object(struct rf_json *json, const struct comparison *c, size_t i,
		       const struct rf_inspect *in)
{
	rf_json_open_object(json, NULL);
	put_path(json, "path", "path_base64", in->path);
	rf_json_string(json, "change", word_for(c, i));
	if (origin_of(c, i))
		put_path(json, "from", "from_base64", in->from);
	rf_json_string(json, "protected", in->change->protects);
	put_side(json, "before", &in->old);
	put_side(json, "after", &in->new);
	if (in->has_lines) {
		rf_json_open_object(json, "lines");
		rf_json_int(json, "added", (int64_t)in->lines.new.changed);
		rf_json_int(json, "deleted", (int64_t)in->lines.old.changed);
		rf_json_close_object(json);
	} else {
		rf_json_null(json, "lines");
	}
	put_attribute_names(json, in);
	rf_json_close_object(json);
}

static int put_json(const struct comparison *c, struct rf_buf *out, struct rf_err *err)
{
	struct rf_json json;
	int code = 0;

	rf_json_init(&json, out, true);
	rf_json_open_array(&json, NULL);
	for (size_t i = 0; i < c->delta.count && code == 0; i++) {
		struct rf_inspect in;

		if (is_told_elsewhere(c, i))
			continue;
		code = rf_inspect_open(&c->delta.changes[i], origin_of(c, i), &c->before, &c->after,
				       &in, err);
		if (code == 0)
			put_object(&json, c, i, &in);
		rf_inspect_done(&in);
	}
	rf_json_close_array(&json);
	rf_buf_puts(out, "\n");
	return code;
}

/* ------------------------------------------------------------- the command */

static int compare(const struct rf_worksite *site, struct rf_err *err)
{
	static int (*const puts_as[])(const struct comparison *c, struct rf_buf *out,
				      struct rf_err *err) = {
		[RF_WORKSITE_LIST] = put_list,
		[RF_WORKSITE_STAT] = put_table,
		[RF_WORKSITE_PATCH] = put_patch,
		[RF_WORKSITE_JSON] = put_json,
	};
	RF_AUTO_BUF struct rf_buf out;
	struct rf_workspace workspace;
	struct comparison c = { .style = rf_style_of(STDOUT_FILENO) };
	int code;

	rf_buf_init(&out, RF_MAX_JSON);
	code = rf_worksite_open(site, &workspace, err);
	if (code < 0)
		return code;
	code = find_changes(site, &workspace, &c, err);
	if (code == 0)
		code = puts_as[site->form](&c, &out, err);
	comparison_done(&c);
	rf_workspace_close(&workspace);
	return code == 0 && rf_cmd_print(&out) ? -EIO : code;
}

int rf_cmd_diff(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_DIFF, 2, compare, argc, argv);
}
