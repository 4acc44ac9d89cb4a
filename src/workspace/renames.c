/* Which new files are old ones under another name: see renames.h. */
#include "workspace/renames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "workspace/inspect.h"

#define HASHED_MAX  ((uint64_t)256 << 20) /* bytes of all files that are compared by hash */
#define TEXT_MAX    ((uint64_t)1 << 20)   /* of one text that is compared by its lines */
#define TEXTS_MAX   ((uint64_t)32 << 20)  /* of all of them */
#define STEPS_MAX   ((size_t)32 << 20)    /* lines looked at, over all pairs */
#define PAIRS_MAX   ((size_t)64 << 10)    /* that are like each other */
#define LIKE_ENOUGH 50                    /* percent */
#define FEW         64 /* files of one content whose names are compared, each with each */

/* A line of a text, as far as likeness goes. */
struct mark {
	uint32_t hash, len;
};

/* A file that is gone, or new. */
struct file {
	size_t at; /* in the delta */
	bool is_new, is_hashed;
	uint64_t size;
	uint8_t hash[RF_SHA256_BYTES];
	struct mark *marks; /* sorted */
	size_t count;
};

struct pair {
	size_t old, new; /* files */
	int likeness;
	bool has_name; /* the last part of both paths is the same */
};

struct search {
	const struct rf_delta *delta;
	const struct rf_stack *before, *after;
	struct file *files;
	size_t count;
	size_t *others;
	struct pair *pairs;
	size_t pair_count;
};

static const struct rf_change *change_of(const struct search *s, const struct file *file)
{
	return &s->delta->changes[file->at];
}

static const char *name_of(const struct search *s, const struct file *file)
{
	const char *path = change_of(s, file)->path, *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_free(const struct search *s, const struct file *file)
{
	return s->others[file->at] == RF_RENAMES_NONE;
}

static void join(struct search *s, const struct file *old, const struct file *new)
{
	s->others[old->at] = new->at;
	s->others[new->at] = old->at;
}

static int open_file(const struct search *s, const struct file *file)
{
	const struct rf_change *change = change_of(s, file);

	return rf_inspect_open_file(file->is_new ? s->after->layers[change->new]
						 : s->before->layers[change->old],
				    change->path);
}

/* ------------------------------------------------------------- files of the same content */

static int by_size(const void *one, const void *two)
{
	const struct file *a = one, *b = two;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* How many files from `from` on are of one size; `*ret_both`: and are old ones and new ones. */
static size_t run_of(const struct search *s, size_t from, bool *ret_both)
{
	bool has[2] = { false, false };
	size_t end = from;

	for (; end < s->count && s->files[end].size == s->files[from].size; end++)
		has[s->files[end].is_new] = true;
	*ret_both = has[0] && has[1];
	return end - from;
}

static void hash_those(struct search *s, size_t from, size_t count, uint64_t *left)
{
	for (size_t i = from; i < from + count; i++) {
		struct file *file = &s->files[i];
		RF_AUTO_FD int content = *left >= file->size ? open_file(s, file) : -1;

		*left -= content >= 0 ? file->size : 0;
		file->is_hashed = content >= 0 && rf_inspect_hash(content, file->hash) == 0;
	}
}

static int by_hash(const void *one, const void *two)
{
	const struct file *a = one, *b = two;
	int order = memcmp(a->hash, b->hash, sizeof(a->hash));

	if (a->is_hashed != b->is_hashed)
		return a->is_hashed ? -1 : 1;
	return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

/* Among a few of one content, those that kept their last name belong together. */
static void join_by_name(struct search *s, size_t from, size_t end)
{
	if (end - from > FEW)
		return;
	for (size_t new = from; new < end; new ++)
		for (size_t old = from; s->files[new].is_new && old < end; old++)
			if (!s->files[old].is_new && is_free(s, &s->files[old]) &&
			    is_free(s, &s->files[new]) &&
			    strcmp(name_of(s, &s->files[old]), name_of(s, &s->files[new])) == 0)
				join(s, &s->files[old], &s->files[new]);
}

/* Those that are left, as they come. */
static void join_in_order(struct search *s, size_t from, size_t end)
{
	size_t old = from;

	for (size_t new = from; new < end; new ++) {
		if (!s->files[new].is_new || !is_free(s, &s->files[new]))
			continue;
		while (old < end && (s->files[old].is_new || !is_free(s, &s->files[old])))
			old++;
		if (old == end)
			return;
		join(s, &s->files[old], &s->files[new]);
	}
}

static void find_same(struct search *s)
{
	uint64_t left = HASHED_MAX;
	size_t count;

	if (s->count > 1)
		qsort(s->files, s->count, sizeof(*s->files), by_size);
	for (size_t from = 0; from < s->count; from += count) {
		bool both;

		count = run_of(s, from, &both);
		if (!both)
			continue;
		hash_those(s, from, count, &left);
		qsort(s->files + from, count, sizeof(*s->files), by_hash);
		for (size_t i = from, end; i < from + count && s->files[i].is_hashed; i = end) {
			for (end = i + 1;
			     end < from + count && s->files[end].is_hashed &&
			     memcmp(s->files[i].hash, s->files[end].hash, RF_SHA256_BYTES) == 0;
			     end++)
				;
			join_by_name(s, i, end);
			join_in_order(s, i, end);
		}
	}
}

/* ------------------------------------------------------------- texts that are alike */

static int by_mark(const void *one, const void *two)
{
	const struct mark *a = one, *b = two;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->len < b->len ? -1 : a->len > b->len;
}

static int mark_lines(struct file *file, const char *text, size_t len)
{
	const char *end = text + len;
	size_t room = 0;

	for (const char *at = text; at < end; at++)
		room += *at == '\n';
	file->marks = calloc(room + 1, sizeof(*file->marks));
	if (!file->marks)
		return -ENOMEM;
	for (const char *at = text; at < end; file->count++) {
		struct mark *mark = &file->marks[file->count];

		mark->hash = 2166136261;
		do {
			mark->hash = (mark->hash ^ (unsigned char)*at) * 16777619;
			mark->len++;
		} while (*at++ != '\n' && at < end);
	}
	qsort(file->marks, file->count, sizeof(*file->marks), by_mark);
	return 0;
}

static int read_marks(const struct search *s, struct file *file)
{
	RF_AUTO_FD int content = open_file(s, file);
	char *text = malloc((size_t)file->size + 1);
	ssize_t len = !text ? -ENOMEM : content < 0 ? 0 : rf_fd_read(content, text, file->size);
	int code = len < 0 ? (int)len : 0;

	if (len > 0 && !memchr(text, '\0', (size_t)len))
		code = mark_lines(file, text, (size_t)len);
	free(text);
	return code;
}

/* The bytes of lines that both have, in percent of the larger. */
static int likeness(const struct file *a, const struct file *b)
{
	uint64_t same = 0, most = a->size > b->size ? a->size : b->size;

	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		int order = by_mark(&a->marks[i], &b->marks[k]);

		same += order == 0 ? a->marks[i].len : 0;
		i += order <= 0;
		k += order >= 0;
	}
	return (int)(same * 100 / most);
}

static int by_likeness(const void *one, const void *two)
{
	const struct pair *a = one, *b = two;

	if (a->likeness != b->likeness)
		return b->likeness - a->likeness;
	if (a->has_name != b->has_name)
		return a->has_name ? -1 : 1;
	if (a->old != b->old)
		return a->old < b->old ? -1 : 1;
	return a->new < b->new ? -1 : a->new > b->new;
}

/* Compares one new text with all old ones, as far as the steps last. */
static void compare_with_old(struct search *s, size_t new, size_t *steps)
{
	const struct file *b = &s->files[new];

	for (size_t old = 0; old < s->count && s->pair_count<PAIRS_MAX && * steps> 0; old++) {
		const struct file *a = &s->files[old];
		uint64_t small = a->size < b->size ? a->size : b->size,
			 large = a->size < b->size ? b->size : a->size;
		size_t cost = a->count + b->count;
		int like;

		--*steps;
		if (a->is_new || !a->marks || small * 100 < large * LIKE_ENOUGH || *steps < cost)
			continue;
		*steps -= cost;
		like = likeness(a, b);
		if (like >= LIKE_ENOUGH)
			s->pairs[s->pair_count++] =
				(struct pair){ old, new, like,
					       strcmp(name_of(s, a), name_of(s, b)) == 0 };
	}
}

static int find_alike(struct search *s)
{
	uint64_t left = TEXTS_MAX;
	size_t steps = STEPS_MAX, olds = 0, news = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_free(s, &s->files[i]) && s->files[i].size <= TEXT_MAX)
			*(s->files[i].is_new ? &news : &olds) += 1;
	if (olds == 0 || news == 0)
		return 0;
	s->pairs = calloc(PAIRS_MAX, sizeof(*s->pairs));
	if (!s->pairs)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		struct file *file = &s->files[i];

		if (!is_free(s, file) || file->size > TEXT_MAX || file->size > left)
			continue;
		left -= file->size;
		if (read_marks(s, file) == -ENOMEM)
			return -ENOMEM;
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->files[i].is_new && s->files[i].marks)
			compare_with_old(s, i, &steps);
	qsort(s->pairs, s->pair_count, sizeof(*s->pairs), by_likeness);
	for (size_t i = 0; i < s->pair_count; i++) {
		const struct file *old = &s->files[s->pairs[i].old],
				  *new = &s->files[s->pairs[i].new];

		if (is_free(s, old) && is_free(s, new))
			join(s, old, new);
	}
	return 0;
}

/* ------------------------------------------------------------- the whole */

/* Files with something in them: empty ones are all alike. */
static void gather(struct search *s)
{
	for (size_t i = 0; i < s->delta->count; i++) {
		const struct rf_change *change = &s->delta->changes[i];
		bool is_new = change->kind == RF_CHANGE_ADDED;
		const struct rf_change_side *side = is_new ? &change->after : &change->before;

		s->others[i] = RF_RENAMES_NONE;
		if ((is_new || change->kind == RF_CHANGE_DELETED) && S_ISREG(side->mode) &&
		    side->size > 0)
			s->files[s->count++] =
				(struct file){ .at = i, .is_new = is_new, .size = side->size };
	}
}

int rf_renames_find(const struct rf_delta *delta, const struct rf_stack *before,
		    const struct rf_stack *after, size_t **ret_others, struct rf_err *err)
{
	struct search s = { .delta = delta, .before = before, .after = after };
	int code = -ENOMEM;

	s.files = calloc(delta->count + 1, sizeof(*s.files));
	s.others = calloc(delta->count + 1, sizeof(*s.others));
	if (s.files && s.others) {
		gather(&s);
		find_same(&s);
		code = find_alike(&s);
	}
	for (size_t i = 0; i < s.count; i++)
		free(s.files[i].marks);
	free(s.files);
	free(s.pairs);
	if (code < 0) {
		free(s.others);
		return rf_fail(err, code, "look for names that were changed");
	}
	*ret_others = s.others;
	return 0;
}
