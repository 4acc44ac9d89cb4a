/*
 * Rules from a footprint: see learn-files.h.
 *
 * Wishes are kept in the order of a tree (a folder, then all that lies in it), so that one pass finds what is covered by a
 * folder above it, and another what lies together in one.
 */
#include "policy/learn-files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/rune.h"
#include "policy/credential.h"
#include "policy/current.h"
#include "policy/key.h"
#include "policy/place.h"
#include "policy/view.h"

#define REMARKS 12 /* of one kind; the rest is counted */

/* A rule that is wanted. */
struct wish {
	const char *source, *path; /* on the host, in the box */
	const struct rf_place
		*in; /* the grant that it is a part of; NULL: the run did not have it */
	bool is_write, is_folder;
};

struct work {
	struct rf_learn_files *learn;
	struct wish *wishes;
	size_t count, room;
	struct rf_arena *memory;
	struct rf_buf *remarks;
	size_t asked, withheld, looked; /* remarks of each kind */
	bool has_failed;
};

/* A line that is a comment whatever names are in it. */
static __attribute__((format(printf, 2, 3))) void say(struct work *w, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		w->has_failed = true;
		return;
	}
	rf_rune_tidy_text(
		text); /* names are the box's: U+2028 in one would end the comment for YAML */
	rf_buf_printf(w->remarks, "# %s\n", text);
	free(text);
}

static void remark(struct work *w, size_t *count, const char *what, const char *path,
		   const char *why)
{
	if (++*count <= REMARKS)
		say(w, "%s: %s%s%s", what, path, why ? ", which " : "", why ? why : "");
}

static void add(struct work *w, const struct wish *wish)
{
	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct wish *more = realloc(w->wishes, room * sizeof(*more));

		w->has_failed |= !more;
		if (!more)
			return;
		w->wishes = more;
		w->room = room;
	}
	w->wishes[w->count++] = *wish;
}

/* ------------------------------------------------------------- steps become wishes */

/* True for a name under which people keep keys, tokens and passwords. */
static bool is_credential(const char *path)
{
	if (rf_current_is_secret(path))
		return true;
	for (size_t i = 0; i < rf_credential_count; i++)
		for (const char *const *name = rf_credential_table[i].names; *name; name++) {
			const char *folder = rf_credential_table[i].folder;
			char end[128];
			size_t len = (size_t)snprintf(end, sizeof(end), "/%s%s%s", folder,
						      folder[0] ? "/" : "", *name);

			if (strlen(path) >= len && strcmp(path + strlen(path) - len, end) == 0)
				return true;
		}
	return false;
}

/* Why nobody should be given it unasked, or NULL. */
static const char *refusal(const struct work *w, const char *source, bool is_folder)
{
	if (is_credential(source))
		return "is where credentials are kept";
	return is_folder ? rf_current_refusal(source, w->learn->home) : NULL;
}

/* What the run had. */
static void take_shown(struct work *w, const struct rf_footprint_step *step,
		       const struct rf_place *place)
{
	struct wish wish = {
		.source = rf_arena_printf(w->memory, "%s%s", place->source,
					  step->path + strlen(place->path)),
		.path = step->path,
		.in = place,
		.is_write = step->how & (RF_USE_WRITE | RF_USE_MAKE),
		.is_folder = step->how & RF_USE_FOLDER,
	};

	if (!wish.source) {
		w->has_failed = true;
		return;
	}
	if (wish.is_write && !(place->rights & RF_RIGHT_WRITE)) {
		const char *why = refusal(w, wish.source, wish.is_folder);

		remark(w, why ? &w->withheld : &w->asked,
		       why ? "Asked to write, and not allowed" : "Asked to write, which is new",
		       wish.source, why);
		wish.is_write = !why;
	}
	add(w, &wish);
}

/* What it did not have, and the host does. */
static void take_outside(struct work *w, const struct rf_footprint_step *step)
{
	struct wish wish = {
		.source = step->source,
		.path = step->path,
		.is_write = step->how & (RF_USE_WRITE | RF_USE_MAKE),
		.is_folder = step->how & RF_USE_FOLDER,
	};
	bool only_looks = !(step->how & (RF_USE_READ | RF_USE_WRITE | RF_USE_MAKE | RF_USE_EXEC));
	const char *why = refusal(w, wish.source, wish.is_folder);

	if (rf_place_in_the_way(step->path) || rf_place_forbidden(step->source))
		return; /* no rule could show it */
	if (why)
		remark(w, &w->withheld, only_looks ? "Looked for" : "Asked for, and not allowed",
		       wish.source, why);
	else if (only_looks && (wish.is_folder || !w->learn->has_failed))
		remark(w, &w->looked, "Looked for, and not there", wish.source, NULL);
	else {
		remark(w, &w->asked, "Asked for, which is new", wish.source, NULL);
		add(w, &wish);
	}
}

/* A folder that was only looked at is there by itself where something in it is shown. */
static bool is_only_looked_at(const struct rf_footprint_step *step)
{
	return step->how & RF_USE_FOLDER &&
	       !(step->how & (RF_USE_READ | RF_USE_WRITE | RF_USE_MAKE | RF_USE_LINKS));
}

static bool is_needed_for_itself(const struct work *w, const char *path)
{
	if (rf_path_is_beneath(w->learn->plan->workdir, path))
		return false; /* which is made */
	for (size_t i = 0; i < w->count; i++)
		if (rf_path_is_beneath(w->wishes[i].path, path) ||
		    (w->wishes[i].is_folder && rf_path_is_beneath(path, w->wishes[i].path)))
			return false;
	return true;
}

static void take_steps(struct work *w)
{
	const struct rf_footprint *footprint = w->learn->footprint;

	for (size_t i = 0; i < footprint->count; i++) {
		const struct rf_footprint_step *step = &footprint->steps[i];
		const struct rf_place *place = rf_view_place(w->learn->plan, step->path);

		if (step->how & RF_USE_OUTSIDE)
			take_outside(w, step);
		else if (rf_footprint_is_granted(place) && !is_only_looked_at(step))
			take_shown(w, step, place);
	}
	for (size_t i = 0; i < footprint->count; i++) {
		const struct rf_footprint_step *step = &footprint->steps[i];
		const struct rf_place *place = rf_view_place(w->learn->plan, step->path);

		if (!(step->how & RF_USE_OUTSIDE) && rf_footprint_is_granted(place) &&
		    is_only_looked_at(step) && strcmp(place->path, step->path) != 0 &&
		    is_needed_for_itself(w, step->path))
			take_shown(w, step, place);
	}
}

/* ------------------------------------------------------------- fewer of them */

/* Paths in the order of a tree: a slash before every other character. */
static int by_path(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	const char *p = x->path, *q = y->path;

	for (; *p && *p == *q; p++, q++)
		;
	if (*p != *q)
		return (*p == '/' ? 1 : (unsigned char)*p) - (*q == '/' ? 1 : (unsigned char)*q);
	return (int)y->is_write - (int)x->is_write;
}

/* True if `a` shows what `b` wants, at the same place. */
static bool covers(const struct wish *a, const struct wish *b)
{
	if (!a || (b->is_write && !a->is_write) || !rf_path_is_beneath(b->path, a->path))
		return false;
	return strcmp(a->path, b->path) == 0 ||
	       (a->is_folder && strncmp(b->source, a->source, strlen(a->source)) == 0 &&
		strcmp(b->source + strlen(a->source), b->path + strlen(a->path)) == 0);
}

static void drop_covered(struct work *w)
{
	struct wish read = { 0 }, write = { 0 };
	size_t kept = 0;

	if (w->count > 1)
		qsort(w->wishes, w->count, sizeof(*w->wishes), by_path);
	for (size_t i = 0; i < w->count; i++) {
		struct wish wish = w->wishes[i];

		if (covers(write.path ? &write : NULL, &wish) ||
		    covers(read.path ? &read : NULL, &wish))
			continue;
		*(wish.is_write ? &write : &read) = wish;
		w->wishes[kept++] = wish;
	}
	w->count = kept;
}

/* The folder that a wish lies in, as a wish; false if that would be more than anyone meant. */
static bool parent_of(struct work *w, const struct wish *wish, struct wish *ret_parent)
{
	const char *slash = strrchr(wish->source, '/'), *other = strrchr(wish->path, '/');

	if (slash == wish->source || other == wish->path || strcmp(slash, other) != 0 ||
	    (wish->in && strcmp(wish->path, wish->in->path) == 0))
		return false;
	*ret_parent = *wish;
	ret_parent->is_folder = true;
	ret_parent->source =
		rf_arena_printf(w->memory, "%.*s", (int)(slash - wish->source), wish->source);
	ret_parent->path =
		rf_arena_printf(w->memory, "%.*s", (int)(other - wish->path), wish->path);
	w->has_failed |= !ret_parent->source || !ret_parent->path;
	return !w->has_failed && (wish->in || (!refusal(w, ret_parent->source, true) &&
					       !rf_place_in_the_way(ret_parent->path)));
}

/* How much of a path is its folder. */
static size_t folder_len(const struct wish *wish)
{
	return (size_t)(strrchr(wish->path, '/') - wish->path);
}

/* Two that one folder would show, each at its place. */
static bool is_sibling(const struct wish *a, const struct wish *b)
{
	const char *x = strrchr(a->source, '/'), *y = strrchr(b->source, '/');

	return a->is_write == b->is_write && a->in == b->in && folder_len(a) == folder_len(b) &&
	       memcmp(a->path, b->path, folder_len(a)) == 0 && x - a->source == y - b->source &&
	       memcmp(a->source, b->source, (size_t)(x - a->source)) == 0 &&
	       strcmp(y, strrchr(b->path, '/')) == 0;
}

static int by_folder(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	size_t m = folder_len(x), n = folder_len(y);
	int r = memcmp(x->path, y->path, m < n ? m : n);

	if (r == 0 && m != n)
		r = m < n ? -1 : 1;
	if (r == 0)
		r = (int)x->is_write - (int)y->is_write;
	return r ? r : strcmp(x->path, y->path);
}

/* Makes folders of what lies together in one, more than `few` of it.  False if there was none. */
static bool fold(struct work *w, size_t few)
{
	size_t count = w->count;
	bool is_less = false;

	if (count > 1)
		qsort(w->wishes, count, sizeof(*w->wishes), by_folder);
	for (size_t i = 0, end; i < count; i = end) {
		struct wish parent;

		for (end = i + 1; end < count && is_sibling(&w->wishes[i], &w->wishes[end]); end++)
			;
		if (end - i > few && parent_of(w, &w->wishes[i], &parent)) {
			w->wishes[i] = parent; /* which covers the others */
			is_less = true;
		}
	}
	drop_covered(w);
	return is_less && !w->has_failed;
}

/* ------------------------------------------------------------- wishes become rules */

static int set(struct work *w, struct rf_policy *policy, const char *key, const char *text)
{
	struct rf_err err = RF_ERR_INIT;

	if (rf_policy_set(policy, key, text, "/", w->learn->home, &err) >= 0)
		return 0;
	say(w, "No rule can say it: %s", err.msg);
	return err.code;
}

static const struct rf_place *current_of(const struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].rule && strcmp(plan->places[i].rule, "current") == 0)
			return &plan->places[i];
	return NULL;
}

/* A policy that says where to start shows that place. */
static void keep_workdir(struct work *w, struct rf_policy *policy)
{
	const char *path = w->learn->plan->workdir;
	const struct rf_place *place = rf_view_place(w->learn->plan, path);
	const char *text = rf_footprint_is_granted(place)
				   ? rf_arena_printf(w->memory, "%s%s:%s", place->source,
						     path + strlen(place->path), path)
				   : NULL;

	if (text)
		set(w, policy, "files.read", text);
}

static void put_rules(struct work *w, struct rf_policy *policy)
{
	const struct rf_plan *plan = w->learn->plan;
	const struct rf_place *current = current_of(plan);
	bool is_current = false, has_workdir = false;

	for (size_t i = 0; i < w->count; i++) {
		const struct wish *wish = &w->wishes[i];
		bool is_same = strcmp(wish->source, wish->path) == 0;
		const char *text =
			is_same ? wish->source
				: rf_arena_printf(w->memory, "%s:%s", wish->source, wish->path);

		has_workdir |= rf_path_is_beneath(wish->path, plan->workdir) ||
			       rf_path_is_beneath(plan->workdir, wish->path);
		w->learn->has_used_current |= wish->in && wish->in == current;
		if (wish->in && wish->in == current && !wish->is_write &&
		    strcmp(wish->path, current->path) == 0)
			is_current = true;
		else if (text)
			set(w, policy, wish->is_write ? "files.write" : "files.read", text);
		else
			w->has_failed = true;
	}
	if (is_current)
		return;
	set(w, policy, "files.current", "none");
	/* It starts where it started, if that is shown for what lies there, or was asked for. */
	if (has_workdir && !(policy->set & RF_KEY_BIT(RF_KEY_WORKDIR)))
		set(w, policy, "workdir", plan->workdir);
	else if (!has_workdir && policy->set & RF_KEY_BIT(RF_KEY_WORKDIR))
		keep_workdir(w, policy);
}

/* ------------------------------------------------------------- programs */

/* A program that the run could have made itself, or a module loaded from where it could write: then no list can name what runs. */
static bool is_made_inside(const struct work *w, const struct rf_footprint_step *step)
{
	const struct rf_place *place = rf_view_place(w->learn->plan, step->path);
	const char *name = strrchr(step->path, '/');
	const char *end = strrchr(name, '.');
	bool is_module = strstr(name, ".so.") ||
			 (end && (strcmp(end, ".so") == 0 || strcmp(end, ".node") == 0));

	return (is_module || step->how & RF_USE_EXEC) && place && place->rights & RF_RIGHT_WRITE &&
	       (place->kind == RF_PLACE_HOST || place->kind == RF_PLACE_SCRATCH);
}

/* Its name, where a policy's names are looked for; else its path. */
static const char *name_of(const char *path)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	size_t len = (size_t)(strrchr(path, '/') - path);

	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (strlen(folders[i]) == len && strncmp(path, folders[i], len) == 0)
			return path + len + 1;
	return path;
}

static void put_program(struct work *w, struct rf_policy *policy, struct rf_list *names,
			const char *name)
{
	if (set(w, policy, "commands", name) == 0 && names)
		w->has_failed |= rf_list_unite(names, name, NULL) < 0;
}

static void put_programs(struct work *w, struct rf_policy *policy)
{
	const struct rf_footprint *footprint = w->learn->footprint;
	struct rf_list names = { 0 };

	for (size_t i = 0; i < footprint->count; i++)
		if (!(footprint->steps[i].how & RF_USE_OUTSIDE) &&
		    is_made_inside(w, &footprint->steps[i])) {
			say(w, "commands: not said, since it runs code from where it can write: %s",
			    footprint->steps[i].path);
			w->learn->has_own_programs = true;
			return;
		}
	/* Names first: others of the programs come along with them. */
	for (size_t i = 0; i < footprint->count; i++)
		if (footprint->steps[i].how & RF_USE_EXEC &&
		    name_of(footprint->steps[i].path)[0] != '/')
			put_program(w, policy, &names, name_of(footprint->steps[i].path));
	for (size_t i = 0; i < footprint->count; i++) {
		const char *path = footprint->steps[i].path;

		if (footprint->steps[i].how & RF_USE_EXEC && name_of(path)[0] == '/' &&
		    !(w->learn->comes_along && w->learn->comes_along(w->learn->data, &names, path)))
			put_program(w, policy, NULL, path);
	}
	rf_list_done(&names);
}

int rf_learn_files(struct rf_learn_files *learn, struct rf_policy *policy, struct rf_buf *remarks,
		   struct rf_err *err)
{
	struct work w = { .learn = learn, .memory = rf_arena_new(), .remarks = remarks };

	if (!w.memory)
		return rf_fail(err, -ENOMEM, "write down what was learnt");
	take_steps(&w);
	drop_covered(&w);
	do
		while (fold(&w, RF_LEARN_FILES_FEW))
			;
	while (w.count > RF_LEARN_FILES_RULES && fold(&w, 1));
	put_rules(&w, policy);
	put_programs(&w, policy);
	if (w.asked > REMARKS || w.withheld > REMARKS || w.looked > REMARKS)
		rf_buf_puts(remarks, "# (and more of these)\n");
	free(w.wishes);
	w.has_failed |= w.memory->has_failed;
	rf_arena_free(w.memory);
	return w.has_failed ? rf_fail(err, -ENOMEM, "write down what was learnt") : 0;
}
