/* Files of a workspace, found by name and by content: see search.h. */
#include "workspace/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "policy/pattern.h"
#include "workspace/merged.h"

#define FOLDERS_MAX ((size_t)4 << 20) /* that are yet to be looked into */

/* A search under way.  Folders wait by path, so that only one is held open at a time. */
struct walk {
	const struct rf_stack *stack;
	const struct rf_search *search;
	struct rf_pattern pattern;
	rf_search_fn *fn;
	void *data;
	size_t *skipped;
	char **folders;
	size_t count, room;
	struct rf_err *err;
};

static int fail_at(struct walk *w, int code, const char *path)
{
	return rf_fail(w->err, code, "look at %.200s", *path ? path : "the top");
}

/* Puts a folder (takes its path) on the pile. */
static int put_off(struct walk *w, char *path)
{
	if (w->count == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		char **more =
			room <= FOLDERS_MAX ? realloc(w->folders, room * sizeof(*more)) : NULL;

		if (!more) {
			free(path);
			return rf_fail(w->err, -ENOMEM, "search");
		}
		w->folders = more;
		w->room = room;
	}
	w->folders[w->count++] = path;
	return 0;
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

static int search_file(struct walk *w, const struct rf_merged *in, const char *name,
		       struct rf_search_hit *hit)
{
	RF_AUTO_FD int file = rf_merged_open(in, name);
	char *text;
	ssize_t len;
	int code;

	if (file == -EACCES || file == -EPERM || (file >= 0 && hit->st->st_size > RF_SEARCH_FILE)) {
		++*w->skipped;
		return 0;
	}
	if (file < 0)
		return fail_at(w, file, hit->path);
	text = malloc((size_t)hit->st->st_size + 1);
	len = text ? rf_fd_read(file, text, (size_t)hit->st->st_size) : -ENOMEM;
	code = len < 0 ? fail_at(w, (int)len, hit->path) : search_text(w, hit, text, (size_t)len);
	free(text);
	return code;
}

/* ------------------------------------------------------------- the tree */

static int look_at(struct walk *w, const struct rf_merged *in, const char *name, const char *path)
{
	struct rf_merged_entry entry;
	struct rf_search_hit hit = { .path = path, .st = &entry.st };
	int code = rf_merged_look(in, name, &entry);

	if (code < 0)
		return fail_at(w, code, path);
	if (S_ISDIR(entry.st.st_mode)) {
		char *copy = strdup(path);

		if (!copy || put_off(w, copy) < 0)
			return rf_fail(w->err, -ENOMEM, "search");
	}
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
		char *swapped = w->folders[--high];

		w->folders[high] = w->folders[low];
		w->folders[low] = swapped;
	}
	rf_merged_names_done(&names);
	return code;
}

static int look_into(struct walk *w, const char *path)
{
	struct rf_merged above = { 0 }, folder = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(w->stack, path, &above, name);

	if (code == 0 && name[0])
		code = rf_merged_enter(&above, name, &folder);
	if (code == -EACCES) {
		++*w->skipped;
		code = 0;
	} else if (code < 0) {
		code = fail_at(w, code, path);
	} else {
		code = look_through(w, name[0] ? &folder : &above, path);
	}
	rf_merged_done(&above);
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

/* Begins at a folder (takes its path), or at a file alone. */
static int begin(struct walk *w, char *path)
{
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(w->stack, path, &folder, name);

	if (code == 0 && name[0])
		code = rf_merged_look(&folder, name, &entry);
	if (code < 0)
		code = fail_at(w, code, path);
	else if (name[0] && !S_ISDIR(entry.st.st_mode))
		code = look_at(w, &folder, name, path);
	else {
		code = put_off(w, path);
		path = NULL;
	}
	free(path);
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
	while (w.count > 0) {
		char *folder = w.folders[--w.count];

		if (code == 0)
			code = look_into(&w, folder);
		free(folder);
	}
	free(w.folders);
	return code;
}
