/* What changed in a tree of files: see vigil.h. */
#include "server/vigil.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 5

struct file {
	size_t path; /* in the look's names */
	uint64_t inode;
	char type, facts[48]; /* size and time, as they were said */
	bool is_matched;
};

struct look {
	struct file *files;
	size_t count, room;
	char *names;
	size_t names_len;
	bool is_cut;
};

struct rf_vigil {
	rf_vigil_fn *fn;
	void *data;
	struct look now, before;
	bool has_before;
	char words[WORDS][RF_VIGIL_WORD];
	size_t at, len; /* the word that is read, and how much of it is there */
};

struct rf_vigil *rf_vigil_new(rf_vigil_fn *fn, void *data)
{
	struct rf_vigil *vigil = calloc(1, sizeof(*vigil));

	if (vigil) {
		vigil->fn = fn;
		vigil->data = data;
	}
	return vigil;
}

static void look_done(struct look *look)
{
	free(look->files);
	free(look->names);
	*look = (struct look){ 0 };
}

void rf_vigil_free(struct rf_vigil *vigil)
{
	if (!vigil)
		return;
	look_done(&vigil->now);
	look_done(&vigil->before);
	free(vigil);
}

/* ------------------------------------------------------------- looks */

/* Both grow as they are needed, up to their most. */
static bool make_room(struct look *look, size_t len)
{
	if (look->count == look->room) {
		size_t room = look->room ? look->room * 2 : 64;
		struct file *files = realloc(look->files, room * sizeof(*files));

		if (!files)
			return false;
		look->files = files;
		look->room = room;
	}
	if (look->names_len + len > RF_VIGIL_BYTES)
		return false;
	if (!look->names || look->names_len / 65536 != (look->names_len + len) / 65536) {
		char *names =
			realloc(look->names, ((look->names_len + len) / 65536 + 1) * (size_t)65536);

		if (!names)
			return false;
		look->names = names;
	}
	return true;
}

static void add_file(struct look *look, char (*words)[RF_VIGIL_WORD])
{
	size_t len = strlen(words[4]) + 1;
	struct file *file;

	if (look->count == RF_VIGIL_FILES || !make_room(look, len)) {
		look->is_cut = true;
		return;
	}
	file = &look->files[look->count++];
	*file = (struct file){ .path = look->names_len,
			       .inode = strtoull(words[0], NULL, 10),
			       .type = words[1][0] };
	snprintf(file->facts, sizeof(file->facts), "%.20s %s", words[2], words[3]);
	memcpy(look->names + look->names_len, words[4], len);
	look->names_len += len;
}

static const char *path_of(const struct look *look, const struct file *file)
{
	return look->names + file->path;
}

static int by_path(const void *a, const void *b, void *look)
{
	return strcmp(path_of(look, a), path_of(look, b));
}

static int by_inode(const void *a, const void *b, void *look)
{
	const struct file *one = *(const struct file *const *)a;
	const struct file *other = *(const struct file *const *)b;

	(void)look;
	return one->inode < other->inode ? -1 : one->inode > other->inode;
}

/* ------------------------------------------------------------- two of them */

/* A folder's time changes with each file in it, which is told by itself. */
static bool is_as_it_was(const struct file *now, const struct file *before)
{
	return now->inode == before->inode && now->type == before->type &&
	       (now->type == 'd' || strcmp(now->facts, before->facts) == 0);
}

/* Marks those that have the same name in both, and tells of what changed of them. */
static void match_names(struct rf_vigil *vigil)
{
	struct look *now = &vigil->now, *before = &vigil->before;
	size_t i = 0, j = 0;

	while (i < now->count && j < before->count) {
		struct file *a = &now->files[i], *b = &before->files[j];
		int order = strcmp(path_of(now, a), path_of(before, b));

		i += order <= 0;
		j += order >= 0;
		if (order != 0)
			continue;
		a->is_matched = b->is_matched = true;
		if (!is_as_it_was(a, b))
			vigil->fn(vigil->data, RF_VIGIL_MODIFIED, path_of(now, a), NULL, a->type);
	}
}

static size_t gather(struct look *look, struct file **list)
{
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++)
		if (!look->files[i].is_matched)
			list[count++] = &look->files[i];
	qsort_r(list, count, sizeof(struct file *), by_inode, look);
	return count;
}

/* Of the rest, one that is the same file under another name was renamed. */
static void match_inodes(struct rf_vigil *vigil)
{
	struct look *now = &vigil->now, *before = &vigil->before;
	struct file **a = calloc(now->count + before->count + 1, sizeof(struct file *));
	struct file **b = a ? a + now->count : NULL;
	size_t a_count = a ? gather(now, a) : 0, b_count = a ? gather(before, b) : 0;

	for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
		if (a[i]->inode < b[j]->inode) {
			i++;
		} else if (a[i]->inode > b[j]->inode) {
			j++;
		} else {
			if (is_as_it_was(a[i], b[j])) {
				a[i]->is_matched = b[j]->is_matched = true;
				vigil->fn(vigil->data, RF_VIGIL_RENAMED, path_of(now, a[i]),
					  path_of(before, b[j]), a[i]->type);
			}
			i++;
			j++;
		}
	}
	free((void *)a);
}

static void compare(struct rf_vigil *vigil)
{
	struct look *now = &vigil->now, *before = &vigil->before;

	match_names(vigil);
	match_inodes(vigil);
	for (size_t i = 0; i < before->count; i++)
		if (!before->files[i].is_matched)
			vigil->fn(vigil->data, RF_VIGIL_REMOVED, path_of(before, &before->files[i]),
				  NULL, before->files[i].type);
	for (size_t i = 0; i < now->count; i++)
		if (!now->files[i].is_matched)
			vigil->fn(vigil->data, RF_VIGIL_CREATED, path_of(now, &now->files[i]), NULL,
				  now->files[i].type);
}

static void end_look(struct rf_vigil *vigil)
{
	if (vigil->now.count > 0)
		qsort_r(vigil->now.files, vigil->now.count, sizeof(*vigil->now.files), by_path,
			&vigil->now);
	if (vigil->has_before)
		compare(vigil);
	look_done(&vigil->before);
	vigil->before = vigil->now;
	vigil->now = (struct look){ 0 };
	vigil->has_before = true;
	for (size_t i = 0; i < vigil->before.count; i++)
		vigil->before.files[i].is_matched = false;
}

/* ------------------------------------------------------------- what comes */

/* Five words are there.  1 at the end of a look. */
static int take_words(struct rf_vigil *vigil)
{
	char(*words)[RF_VIGIL_WORD] = vigil->words;

	vigil->at = 0;
	if (strcmp(words[0], "-") == 0) {
		end_look(vigil);
		return 1;
	}
	if (!words[0][0] || strspn(words[0], "0123456789") != strlen(words[0]) || !words[1][0] ||
	    words[1][1])
		return -EBADMSG;
	add_file(&vigil->now, words);
	return 0;
}

int rf_vigil_feed(struct rf_vigil *vigil, const char *bytes, size_t len)
{
	int looks = 0;

	while (len > 0) {
		const char *nul = memchr(bytes, '\0', len);
		size_t count = nul ? (size_t)(nul - bytes) + 1 : len;
		int got;

		if (vigil->len + count > RF_VIGIL_WORD ||
		    (!nul && vigil->len + count >= RF_VIGIL_WORD))
			return -EBADMSG;
		memcpy(vigil->words[vigil->at] + vigil->len, bytes, count);
		vigil->len += count;
		bytes += count;
		len -= count;
		if (!nul)
			break;
		vigil->len = 0;
		if (++vigil->at < WORDS)
			continue;
		got = take_words(vigil);
		if (got < 0)
			return got;
		looks += got;
	}
	return looks;
}

size_t rf_vigil_count(const struct rf_vigil *vigil)
{
	return vigil->before.count;
}

bool rf_vigil_is_cut(const struct rf_vigil *vigil)
{
	return vigil->before.is_cut;
}
