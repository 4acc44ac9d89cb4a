/* Files of a workspace, found by name and by content: see search.h. */
#include "workspace/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/pattern.h"
#include "workspace/merged.h"

#define FOLDERS_MAX ((size_t)4 << 20) /* that are yet to be looked into */

/* A folder to be looked into: its path, and which layers show it. */
struct waiting {
	char *path;
	size_t *which, count;
};

/* A search under way.  Folders wait by path, so that only one is held open at a time. */
struct walk {
	const struct rf_stack *stack;
	const struct rf_search *search;
	struct rf_pattern pattern;
	rf_search_fn *fn;
	void *data;
	size_t *skipped;
	struct waiting *folders;
	size_t count, room;
	struct rf_err *err;
};

static int fail_at(struct walk *w, int code, const char *path)
{
	return rf_fail(w->err, code, "look at %.200s", *path ? path : "the top");
}

static void forget(struct waiting *folder)
{
	free(folder->path);
	free(folder->which);
}

/* Puts a folder on the pile, with the layers that show it. */
static int put_off(struct walk *w, const char *path, const struct rf_merged *folder)
{
	struct waiting one = { .path = strdup(path),
			       .which = calloc(folder->count + 1, sizeof(*one.which)),
			       .count = folder->count };

	if (w->count == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		struct waiting *more =
			room <= FOLDERS_MAX ? realloc(w->folders, room * sizeof(*more)) : NULL;

		w->folders = more ? more : w->folders;
		w->room = more ? room : w->room;
	}
	if (!one.path || !one.which || w->count == w->room) {
		forget(&one);
		return rf_fail(w->err, -ENOMEM, "search");
	}
	memcpy(one.which, folder->which, folder->count * sizeof(*one.which));
	w->folders[w->count++] = one;
	return 0;
}

/* A folder in a folder is looked into later.  One that is closed to us, or deeper than a path can name, is passed over. */
static int put_off_in(struct walk *w, const struct rf_merged *in, const char *name,
		      const char *path)
{
	struct rf_merged folder = { 0 };
	int code = strlen(path) < PATH_MAX ? rf_merged_enter(in, name, &folder) : -ENAMETOOLONG;

	if (code == -EACCES || code == -ENAMETOOLONG) {
		++*w->skipped;
		code = 0;
	} else {
		code = code < 0 ? fail_at(w, code, path) : put_off(w, path, &folder);
	}
	rf_merged_done(&folder);
	return code;
}

/* The whole path has to match; that a folder above does says nothing. */
static bool is_named(const struct walk *w, const char *path)
{
	uint64_t states;

	if (!w->search->name)
		return true;
	states = rf_pattern_start(&w->pattern);
	for (size_t len; *path && states; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		states = rf_pattern_step(&w->pattern, states, path, len);
	}
	return rf_pattern_is_match(&w->pattern, states);
}

/* ------------------------------------------------------------- content */

static uint64_t lines_in(const char *from, const char *to)
{
	uint64_t lines = 0;

	while ((from = memchr(from, '\n', (size_t)(to - from)))) {
		lines++;
		from++;
	}
	return lines;
}

/* Tells each line that has the text in it; of a file that is no text, that it has it. */
static int search_text(struct walk *w, struct rf_search_hit *hit, const char *text, size_t len)
{
	size_t wanted = strlen(w->search->content);
	bool is_text = !memchr(text, '\0', len);
	const char *at = text, *end = text + len, *found;

	hit->line = 1;
	while (at < end && (found = memmem(at, (size_t)(end - at), w->search->content, wanted))) {
		const char *begin = memrchr(at, '\n', (size_t)(found - at));
		const char *stop = memchr(found, '\n', (size_t)(end - found));
		int code;

		begin = begin ? begin + 1 : at;
		stop = stop ? stop : end;
		hit->line += lines_in(at, found);
		hit->text = is_text ? begin : NULL;
		hit->len = is_text ? (size_t)(stop - begin) : 0;
		code = w->fn(w->data, hit);
		if (code != 0 || !is_text)
			return code;
		at = stop < end ? stop + 1 : end;
		hit->line++;
	}
	return 0;
}

/* Reads what is in a file into zeroed memory: holes are there already. */
static int read_data(int file, char *text, off_t size)
{
	for (off_t at = 0; at < size;) {
		off_t data = lseek(file, at, SEEK_DATA);
		off_t end = data < 0 ? -1 : lseek(file, data, SEEK_HOLE);
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			return 0;            /* only a hole is left */
		data = data < 0 ? at : data; /* a file system that does not tell */
		end = end > data && end < size ? end : size;
		for (at = data; at < end; at += n) {
			n = pread(file, text + at, (size_t)(end - at), at);
			if (n < 0 && errno == EINTR)
				n = 0;
			else if (n <= 0)
				return n < 0 ? -errno : 0; /* it shrank meanwhile */
		}
	}
	return 0;
}

static int search_file(struct walk *w, const struct rf_merged *in, const char *name,
		       struct rf_search_hit *hit)
{
	RF_AUTO_FD int file = rf_merged_open(in, name);
	char *text;
	int code;

	if (file == -EACCES || file == -EPERM || (file >= 0 && hit->st->st_size > RF_SEARCH_FILE)) {
		++*w->skipped;
		return 0;
	}
	if (file < 0)
		return fail_at(w, file, hit->path);
	text = calloc(1, (size_t)hit->st->st_size + 1);
	code = text ? read_data(file, text, hit->st->st_size) : -ENOMEM;
	code = code < 0 ? fail_at(w, code, hit->path)
			: search_text(w, hit, text, (size_t)hit->st->st_size);
	free(text);
	return code;
}

/* ------------------------------------------------------------- the tree */

static int look_at(struct walk *w, const struct rf_merged *in, const char *name, const char *path)
{
	struct rf_merged_entry entry;
	struct rf_search_hit hit = { .path = path, .in = in, .name = name, .st = &entry.st };
	int code = rf_merged_look(in, name, &entry);

	if (code < 0)
		return fail_at(w, code, path);
	if (S_ISDIR(entry.st.st_mode) && put_off_in(w, in, name, path) < 0)
		return w->err->code;
	if (!is_named(w, path))
		return 0;
	if (!w->search->content)
		return w->fn(w->data, &hit);
	return S_ISREG(entry.st.st_mode) ? search_file(w, in, name, &hit) : 0;
}

static int look_through(struct walk *w, const struct rf_merged *folder, const char *path)
{
	struct rf_merged_names names;
	int code = rf_merged_list(folder, &names);
	size_t first = w->count;

	if (code < 0)
		code = fail_at(w, code, path);
	for (size_t i = 0; i < names.count && code == 0; i++) {
		char *whole = NULL;

		code = asprintf(&whole, "%s%s%s", path, *path ? "/" : "", names.items[i]) < 0
			       ? rf_fail(w->err, -ENOMEM, "search")
			       : look_at(w, folder, names.items[i], whole);
		free(whole);
	}
	/* The pile is taken from its end: the first folder has to be there. */
	for (size_t low = first, high = w->count; low + 1 < high; low++) {
		struct waiting swapped = w->folders[--high];

		w->folders[high] = w->folders[low];
		w->folders[low] = swapped;
	}
	rf_merged_names_done(&names);
	return code;
}

static int look_into(struct walk *w, const struct waiting *waiting)
{
	struct rf_merged folder;
	int code =
		rf_merged_reopen(w->stack, waiting->path, waiting->which, waiting->count, &folder);

	code = code < 0 ? fail_at(w, code, waiting->path) : look_through(w, &folder, waiting->path);
	rf_merged_done(&folder);
	return code;
}

/* A path as those beneath it are told: without what says nothing.  One that leads elsewhere stays as it is. */
static char *tidy(const char *path)
{
	char *tidied = calloc(1, strlen(path) + 2), name[NAME_MAX + 1];
	const char *rest = path;
	size_t len = 0;
	int more = *path == '/' ? -EINVAL : 1;

	while (tidied && more > 0 && (more = rf_merged_next(&rest, name)) > 0) {
		if (len > 0)
			tidied[len++] = '/';
		memcpy(tidied + len, name, strlen(name) + 1);
		len += strlen(name);
	}
	if (tidied && more < 0)
		memcpy(tidied, path, strlen(path) + 1);
	return tidied;
}

/* Begins at a folder, or at a file alone. */
static int begin(struct walk *w, const char *path)
{
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(w->stack, path, &folder, name);

	if (code == 0 && name[0])
		code = rf_merged_look(&folder, name, &entry);
	if (code < 0)
		code = fail_at(w, code, path);
	else if (!name[0])
		code = put_off(w, path, &folder);
	else if (S_ISDIR(entry.st.st_mode))
		code = put_off_in(w, &folder, name, path);
	else
		code = look_at(w, &folder, name, path);
	rf_merged_done(&folder);
	return code;
}

int rf_search(const struct rf_stack *stack, const char *path, const struct rf_search *search,
	      rf_search_fn *fn, void *data, size_t *ret_skipped, struct rf_err *err)
{
	struct walk w = { .stack = stack,
			  .search = search,
			  .fn = fn,
			  .data = data,
			  .skipped = ret_skipped,
			  .err = err };
	const struct rf_files_base base = { .folder = "/" };
	char text[RF_FILES_PATH], pattern[RF_FILES_PATH], *top;
	int code;

	*ret_skipped = 0;
	if (search->name) {
		snprintf(text, sizeof(text), "%s%s", strchr(search->name, '/') ? "/" : "/**/",
			 search->name);
		if (rf_pattern_normal(text, &base, pattern, err) < 0) {
			rf_fail_in(err, "--name");
			return rf_fail_hint(err, "a pattern, such as '*.c' or 'src/**/test?.py'");
		}
		rf_pattern_init(&w.pattern, pattern);
	}
	top = tidy(path);
	code = top ? begin(&w, top) : rf_fail(err, -ENOMEM, "search");
	free(top);
	while (w.count > 0) {
		struct waiting folder = w.folders[--w.count];

		if (code == 0)
			code = look_into(&w, &folder);
		forget(&folder);
	}
	free(w.folders);
	return code;
}
