/* A change as a part of a patch: see patch.h. */
#include "workspace/patch.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "workspace/unified.h"

#define RUNNABLE 0100755
#define PLAIN    0100644
#define LINKED   0120000
/* What git calls a file with nothing in it: patch(1) knows by it that one is made or goes. */
#define OF_NOTHING "0000000"
#define OF_EMPTY   "e69de29"

/* ------------------------------------------------------------- what a patch can carry */

static bool is_link(const struct rf_inspect_side *side)
{
	return side->kind == RF_INSPECT_LINK;
}

/* A side that can be written as lines. */
static bool has_text(const struct rf_inspect_side *side)
{
	return side->kind == RF_INSPECT_TEXT_FILE || is_link(side);
}

static unsigned mode_of(const struct rf_inspect_side *side)
{
	if (is_link(side))
		return LINKED;
	return side->mode & S_IXUSR ? RUNNABLE : PLAIN;
}

static bool is_file(const struct rf_inspect_side *side)
{
	return side->kind == RF_INSPECT_TEXT_FILE || side->kind == RF_INSPECT_BINARY ||
	       side->kind == RF_INSPECT_CLOSED;
}

/* True if a part of the path is a repository, in any spelling that git refuses. */
static bool is_in_repository(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += *path == '/') {
		size_t len = strcspn(path, "/");

		if ((len == 4 && strncasecmp(path, ".git", 4) == 0) ||
		    (len == 5 && strncasecmp(path, "git~1", 5) == 0))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------- the parts of a diff */

static void put_first(const char *old, const char *new, struct rf_buf *out)
{
	rf_buf_puts(out, "diff --git ");
	rf_unified_name("a/", old, out);
	rf_buf_puts(out, " ");
	rf_unified_name("b/", new, out);
	rf_buf_puts(out, "\n");
}

static void put_file_line(const char *sign, const char *before, const char *path,
			  struct rf_buf *out)
{
	rf_buf_printf(out, "%s ", sign);
	if (path)
		rf_unified_name(before, path, out);
	else
		rf_buf_puts(out, "/dev/null");
	rf_buf_puts(out, "\n");
}

/* The lines that differ; a name of NULL is nothing. */
static void put_lines(const char *old, const char *new, const struct rf_lines *lines,
		      struct rf_buf *out)
{
	if (lines->old.changed + lines->new.changed == 0)
		return;
	put_file_line("---", "a/", old, out);
	put_file_line("+++", "b/", new, out);
	rf_unified_put(lines, out);
}

static void put_lines_of(const char *old, const struct rf_inspect_side *before, const char *new,
			 const struct rf_inspect_side *after, struct rf_buf *out)
{
	struct rf_lines lines;
	bool is_done =
		rf_lines_compare(before ? before->data : "", before ? before->len : 0,
				 after ? after->data : "", after ? after->len : 0, &lines) == 0;

	if (is_done)
		put_lines(old, new, &lines, out);
	else
		out->has_failed = true;
	rf_lines_done(&lines);
}

static void put_deleted(const struct rf_inspect *in, struct rf_buf *out)
{
	put_first(in->from, in->from, out);
	rf_buf_printf(out, "deleted file mode %06o\n", mode_of(&in->old));
	if (in->old.len == 0)
		rf_buf_puts(out, "index " OF_EMPTY ".." OF_NOTHING "\n");
	put_lines_of(in->from, &in->old, NULL, NULL, out);
}

static void put_added(const struct rf_inspect *in, struct rf_buf *out)
{
	put_first(in->path, in->path, out);
	rf_buf_printf(out, "new file mode %06o\n", mode_of(&in->new));
	if (in->new.len == 0)
		rf_buf_puts(out, "index " OF_NOTHING ".." OF_EMPTY "\n");
	put_lines_of(NULL, NULL, in->path, &in->new, out);
}

/* The same kind of thing before and after, with or without lines that differ. */
static void put_changed(const struct rf_inspect *in, struct rf_buf *out)
{
	put_first(in->from, in->path, out);
	/* That it is a link has to be said, or patch(1) looks for a file. */
	if (mode_of(&in->old) != mode_of(&in->new) || is_link(&in->new))
		rf_buf_printf(out, "old mode %06o\nnew mode %06o\n", mode_of(&in->old),
			      mode_of(&in->new));
	if (strcmp(in->from, in->path) != 0) {
		rf_buf_printf(out, "similarity index %d%%\nrename from ", rf_inspect_likeness(in));
		rf_unified_name("", in->from, out);
		rf_buf_puts(out, "\nrename to ");
		rf_unified_name("", in->path, out);
		rf_buf_puts(out, "\n");
	}
	if (in->has_lines)
		put_lines(in->from, in->path, &in->lines, out);
	else if (is_link(&in->old))
		put_lines_of(in->from, &in->old, in->path, &in->new, out);
}

/* ------------------------------------------------------------- what it can't carry */

void rf_patch_put_hash(const struct rf_inspect_side *side, struct rf_buf *out)
{
	for (size_t i = 0; i < sizeof(side->hash); i++)
		rf_buf_printf(out, "%02x", side->hash[i]);
}

static void put_about(const struct rf_inspect_side *side, struct rf_buf *out)
{
	static const char *const words[] = {
		[RF_INSPECT_NOTHING] = "nothing",
		[RF_INSPECT_TEXT_FILE] = "text",
		[RF_INSPECT_BINARY] = "binary",
		[RF_INSPECT_CLOSED] = "unreadable",
		[RF_INSPECT_LINK] = "link",
		[RF_INSPECT_FOLDER] = "folder",
		[RF_INSPECT_OTHER] = "pipe or socket",
	};

	rf_buf_puts(out, words[side->kind]);
	if (is_file(side))
		rf_buf_printf(out, " of %llu bytes", (unsigned long long)side->size);
	if (side->kind == RF_INSPECT_BINARY && !side->is_hashed)
		rf_buf_puts(out, ", hollow");
	if (side->is_hashed) {
		rf_buf_puts(out, " sha256 ");
		rf_patch_put_hash(side, out);
	}
}

static void put_note(const struct rf_inspect *in, struct rf_buf *out)
{
	rf_buf_puts(out, "# not in this patch: ");
	rf_unified_name("", in->path, out);
	rf_buf_puts(out, ": ");
	put_about(&in->old, out);
	rf_buf_puts(out, " -> ");
	put_about(&in->new, out);
	rf_buf_puts(out, "\n");
}

/* One attribute that is not the same on both sides. */
static void put_attribute(const struct rf_inspect *in, const char *name, struct rf_buf *out)
{
	const struct rf_attribute *old = rf_attributes_find(&in->old.attributes, name),
				  *new = rf_attributes_find(&in->new.attributes, name);

	rf_buf_puts(out, "# not in this patch: attribute ");
	rf_unified_name("", name, out);
	rf_buf_puts(out, " of ");
	rf_unified_name("", in->path, out);
	if (new)
		rf_buf_printf(out, ": %zu bytes -> %zu bytes\n", old ? old->len : 0, new->len);
	else
		rf_buf_puts(out, ": removed\n");
}

/* What is left of the old side's attributes, and what is new.  True if nothing differs. */
static bool put_attributes(const struct rf_inspect *in, struct rf_buf *out)
{
	const struct rf_attributes *old = &in->old.attributes, *new = &in->new.attributes;
	bool is_same = true;

	if (!in->new.mode)
		return true; /* gone with the file */
	for (size_t i = 0; i < new->count; i++) {
		const struct rf_attribute *was = rf_attributes_find(old, new->items[i].name);

		if (was && rf_attributes_are_same(was, &new->items[i]))
			continue;
		put_attribute(in, new->items[i].name, out);
		is_same = false;
	}
	for (size_t i = 0; i < old->count; i++)
		if (!rf_attributes_find(new, old->items[i].name)) {
			put_attribute(in, old->items[i].name, out);
			is_same = false;
		}
	return is_same;
}

/* Permissions other than whether its owner can execute a file. */
static bool put_mode(const struct rf_inspect *in, struct rf_buf *out)
{
	const unsigned old = in->old.mode & 07777, new = in->new.mode & 07777;
	bool is_carried = is_file(&in->new) && mode_of(&in->old) != mode_of(&in->new);

	if (!in->old.mode || !in->new.mode || old == new || is_link(&in->new) || is_link(&in->old))
		return true;
	if (is_carried && ((old ^ new) & ~0111U) == 0)
		return true;
	rf_buf_puts(out, "# not in this patch: mode of ");
	rf_unified_name("", in->path, out);
	rf_buf_printf(out, ": %04o -> %04o\n", old, new);
	return false;
}

static bool put_folder(const struct rf_inspect *in, bool is_empty, struct rf_buf *out)
{
	if (!is_empty || (in->old.kind == RF_INSPECT_FOLDER && in->new.kind == RF_INSPECT_FOLDER))
		return true; /* it comes and goes with what is in it */
	put_note(in, out);
	return false;
}

/* ------------------------------------------------------------- one change */

static bool is_same_binary(const struct rf_inspect *in)
{
	return in->old.kind == RF_INSPECT_BINARY &&
	       in->new.kind == RF_INSPECT_BINARY &&rf_inspect_likeness(in) == 100;
}

static bool put_content(const struct rf_inspect *in, bool is_empty, struct rf_buf *out)
{
	bool is_whole = true;

	if ((is_file(&in->old) && is_file(&in->new)) || (is_link(&in->old) && is_link(&in->new))) {
		if ((has_text(&in->old) && has_text(&in->new)) || is_same_binary(in)) {
			RF_AUTO_BUF struct rf_buf bare;

			rf_buf_init(&bare, out->max);
			put_changed(in, &bare);
			/* A first line alone, of a mode that git does not know, is no patch. */
			if (bare.data && strchr(bare.data, '\n')[1])
				rf_buf_add(out, bare.data, bare.len);
			out->has_failed |= bare.has_failed;
			return true;
		}
		put_note(in, out);
		return false;
	}
	if (has_text(&in->old))
		put_deleted(in, out);
	if (has_text(&in->new))
		put_added(in, out);
	if (in->old.kind == RF_INSPECT_FOLDER || in->new.kind == RF_INSPECT_FOLDER)
		is_whole = put_folder(in, is_empty, out);
	else if ((in->old.mode && !has_text(&in->old)) || (in->new.mode && !has_text(&in->new))) {
		put_note(in, out);
		is_whole = false;
	}
	return is_whole;
}

/* Puts lines so that they are passed over. */
static void put_apart(const struct rf_buf *text, struct rf_buf *out)
{
	const char *at = text->data, *end = at + text->len;

	while (at && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = newline ? (size_t)(newline + 1 - at) : (size_t)(end - at);

		rf_buf_puts(out, "# ");
		rf_buf_add(out, at, len);
		at += len;
	}
	out->has_failed |= text->has_failed;
}

bool rf_patch_put(const struct rf_inspect *inspect, bool is_empty, struct rf_buf *out)
{
	RF_AUTO_BUF struct rf_buf text;
	bool is_apart = is_in_repository(inspect->path) || is_in_repository(inspect->from),
	     is_whole;

	rf_buf_init(&text, RF_MAX_JSON);
	is_whole = put_content(inspect, is_empty, &text);
	if (is_apart)
		put_apart(&text, out);
	else if (text.data)
		rf_buf_add(out, text.data, text.len);
	out->has_failed |= text.has_failed;
	is_whole = put_mode(inspect, out) && is_whole;
	return put_attributes(inspect, out) && is_whole && !is_apart;
}
