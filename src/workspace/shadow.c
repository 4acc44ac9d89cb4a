/* A shadow run's way to the directory: see shadow.h. */
#include "workspace/shadow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "workspace/sweep.h"

#define PREFIX "shadow-"
#define TRIES  64 /* for a name, while others take them */

/* ------------------------------------------------------------- names */

/* The number of shadow-N, or 0. */
static unsigned number_of(const char *name)
{
	const char *digits = name + strlen(PREFIX);

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(digits) > 9 ||
	    strspn(digits, "0123456789") != strlen(digits))
		return 0;
	return (unsigned)strtoul(digits, NULL, 10);
}

static int look_for_last(void *data, const char *name)
{
	unsigned *last = data, number = number_of(name);

	*last = number > *last ? number : *last;
	return 0;
}

/* Makes a workspace with the next number. */
static int make_workspace(struct rf_visit *visit, struct rf_err *err)
{
	char name[RF_LEDGER_NAME];
	unsigned last = 0;

	if (rf_workspace_each(look_for_last, &last, err) < 0)
		return err->code;
	for (unsigned i = 1; i <= TRIES; i++) {
		int code;

		*err = RF_ERR_INIT;
		snprintf(name, sizeof(name), PREFIX "%u", last + i);
		code = rf_workspace_make(name, visit->base, true, &visit->kept, err);
		/* Somebody else has taken the name; or swept it up before we held it. */
		if (code != -EEXIST && code != -ENOENT)
			return code;
	}
	return err->code;
}

/* ------------------------------------------------------------- others over the same directory */

/* A search for one whose apply was broken off. */
struct search {
	const char *base;
	char found[RF_LEDGER_NAME];
};

static int look_for_broken(void *data, const char *name)
{
	struct search *search = data;
	struct rf_ledger ledger;
	struct rf_err ignored;

	if (rf_workspace_peek(name, &ledger, &ignored) == 0 && ledger.is_applying &&
	    (rf_path_is_beneath(ledger.base, search->base) ||
	     rf_path_is_beneath(search->base, ledger.base)))
		snprintf(search->found, sizeof(search->found), "%s", name);
	rf_ledger_done(&ledger);
	return 0;
}

int rf_shadow_check(const char *base, struct rf_err *err)
{
	struct search search = { .base = base };

	if (rf_workspace_each(look_for_broken, &search, err) < 0)
		return err->code;
	if (!search.found[0])
		return 0;
	rf_fail_say(err, -EBUSY, "an apply of workspace `%s` to this directory was interrupted",
		    search.found);
	return rf_fail_hint(err, "`ringfort apply -w %s` goes on, `ringfort undo -w %s` goes back",
			    search.found, search.found);
}

/* The numbers of the newest shadows of a directory, sorted downwards. */
struct newest {
	const char *base;
	unsigned numbers[RF_SHADOW_KEPT];
};

static bool is_shadow_of(const char *name, const char *base)
{
	struct rf_ledger ledger;
	struct rf_err ignored;
	bool is_one = number_of(name) > 0 && rf_workspace_peek(name, &ledger, &ignored) == 0 &&
		      ledger.is_shadow && strcmp(ledger.base, base) == 0;

	if (number_of(name) > 0)
		rf_ledger_done(&ledger);
	return is_one;
}

static int look_for_newest(void *data, const char *name)
{
	struct newest *newest = data;
	unsigned number = number_of(name);

	if (!is_shadow_of(name, newest->base))
		return 0;
	for (int i = 0; i < RF_SHADOW_KEPT; i++)
		if (number > newest->numbers[i]) {
			unsigned smaller = newest->numbers[i];

			newest->numbers[i] = number;
			number = smaller;
		}
	return 0;
}

static int remove_older(void *data, const char *name)
{
	const struct newest *newest = data;
	struct rf_workspace workspace;
	struct rf_err ignored;

	if (number_of(name) >= newest->numbers[RF_SHADOW_KEPT - 1] ||
	    !is_shadow_of(name, newest->base) ||
	    rf_workspace_open_now(name, &workspace, &ignored) < 0)
		return 0;
	if (rf_workspace_remove(&workspace, &ignored) < 0)
		rf_workspace_close(&workspace);
	return 0;
}

/* Nothing depends on it: what can't be removed now is removed after the next one. */
static void trim(const char *base)
{
	struct newest newest = { .base = base };
	struct rf_swept swept;
	struct rf_err ignored;

	if (rf_workspace_each(look_for_newest, &newest, &ignored) == 0 &&
	    newest.numbers[RF_SHADOW_KEPT - 1] > 0 &&
	    rf_workspace_each(remove_older, &newest, &ignored) == 0)
		rf_sweep(0, &swept, &ignored);
}

/* ------------------------------------------------------------- applying */

/* The directory that the run saw is the one that will be written to. */
static int check_base(const struct rf_visit *visit, struct rf_err *err)
{
	struct stat st;

	if (fstat(visit->tree, &st) < 0)
		return rf_fail(err, -errno, "look at %s", visit->base);
	if (st.st_dev != visit->kept.ledger.dev || st.st_ino != visit->kept.ledger.ino)
		return rf_fail_say(err, -ESTALE, "%s is another directory than it was",
				   visit->base);
	return 0;
}

/* The paths to apply: all, and of what acts later those that were named. */
static const char **list_allowed(const struct rf_shadow *shadow)
{
	const char **only;
	size_t count = 0;

	while (shadow->allowed && shadow->allowed[count])
		count++;
	only = calloc(count + 2, sizeof(*only));
	if (!only)
		return NULL;
	only[0] = ".";
	for (size_t i = 0; i < count; i++)
		only[i + 1] = shadow->allowed[i];
	return only;
}

static bool is_all_made(const struct rf_apply *apply)
{
	for (size_t i = 0; i < apply->delta.count; i++)
		if (apply->stays[i] != RF_APPLY_MADE)
			return false;
	return true;
}

/* True if the apply left `path` as somebody had it. */
static bool was_left(const struct rf_apply *apply, const char *path)
{
	for (size_t i = 0; i < apply->delta.count; i++)
		if (strcmp(apply->delta.changes[i].path, path) == 0)
			return apply->stays[i] != RF_APPLY_MADE;
	return false;
}

/* Takes back what was written.  Names that the apply itself left alone are not its to take back. */
static int go_back(const struct rf_shadow *shadow, const struct rf_apply *apply, struct rf_err *err)
{
	const struct rf_apply_options options = { .on_conflict = RF_APPLY_OURS,
						  .is_durable = shadow->is_durable };
	struct rf_workspace *workspace = &shadow->visit->kept;
	struct rf_apply back;
	int code = rf_apply_undo(workspace, &options, &back, err);

	for (size_t i = 0; code == -EEXIST && back.stays && i < back.delta.count; i++)
		if (back.stays[i] != RF_APPLY_MADE && !was_left(apply, back.delta.changes[i].path))
			code = -EBUSY;
	if (code == -EEXIST && back.stays && apply->stays) {
		rf_ledger_drop_apply(&workspace->ledger);
		workspace->ledger.is_applying = false;
		code = rf_workspace_save(workspace, shadow->is_durable, err);
	}
	rf_apply_done(&back);
	return code;
}

/* The workspace goes, and the sweep takes its layers. */
static void drop(struct rf_workspace *workspace)
{
	struct rf_swept swept;
	struct rf_err ignored;

	if (rf_workspace_remove(workspace, &ignored) < 0)
		rf_workspace_close(workspace);
	rf_sweep(0, &swept, &ignored);
}

static int apply_whole(const struct rf_shadow *shadow, struct rf_apply *ret_apply,
		       struct rf_err *err)
{
	struct rf_visit *visit = shadow->visit;
	const char **only = list_allowed(shadow);
	const struct rf_visit_note note = { .command = shadow->command,
					    .agent = shadow->agent,
					    .status = "ok" };
	const struct rf_apply_options options = { .only = only,
						  .is_durable = shadow->is_durable,
						  .is_whole = true };
	int code;

	if (!only)
		return rf_fail(err, -ENOMEM, "apply it");
	code = check_base(visit, err);
	if (code == 0)
		code = rf_visit_keep(visit, shadow->delta, &note, err);
	if (code == 0)
		code = rf_apply_head(&visit->kept, &options, ret_apply, err);
	if (code == 0 && !is_all_made(ret_apply))
		code = rf_fail_say(err, -EEXIST, "the directory was changed at the same moment");
	free(only);
	return code;
}

int rf_shadow_apply(const struct rf_shadow *shadow, struct rf_apply *ret_apply, struct rf_err *err)
{
	struct rf_workspace *workspace = &shadow->visit->kept;
	struct rf_err why = RF_ERR_INIT;
	int code;

	*ret_apply = (struct rf_apply){ 0 };
	if (make_workspace(shadow->visit, err) < 0)
		return err->code;
	code = apply_whole(shadow, ret_apply, err);
	if (code == 0) {
		trim(shadow->visit->base);
		return 0;
	}
	if (rf_ledger_last_apply(&workspace->ledger) && go_back(shadow, ret_apply, &why) < 0) {
		rf_fail_hint(
			err,
			"what was written could not be taken back: `ringfort undo -w %s` tries "
			"again, `ringfort apply -w %s` goes on",
			workspace->ledger.name, workspace->ledger.name);
		return code;
	}
	drop(workspace);
	return code;
}
