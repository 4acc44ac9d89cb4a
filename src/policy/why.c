/* "May it do X?": see why.h. */
#include "policy/why.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/place.h"

void rf_why_answer(struct rf_why *why, enum rf_why_verdict verdict, const char *rule,
		   const char *fmt, ...)
{
	va_list args;

	*why = (struct rf_why){ .verdict = verdict };
	snprintf(why->rule, sizeof(why->rule), "%s", rule);
	va_start(args, fmt);
	vsnprintf(why->reason, sizeof(why->reason), fmt, args);
	va_end(args);
}

/* What to write instead: as an option, and as a line of a policy, `value` between two marks. */
static void offer_key(struct rf_why *why, const char *option, const char *key, const char *value,
		      const char *open, const char *close)
{
	const char *dot = strchr(key, '.');

	snprintf(why->flag, sizeof(why->flag), "--%s %s", option, value);
	if (dot)
		snprintf(why->line, sizeof(why->line), "%.*s: { %s: %s%s%s }", (int)(dot - key),
			 key, dot + 1, open, value, close);
	else
		snprintf(why->line, sizeof(why->line), "%s: %s%s%s", key, open, value, close);
}

static void change_list(struct rf_why *why, const char *option, const char *key, const char *value)
{
	offer_key(why, option, key, value, "[\"", "\"]");
}

static const char *rule_of(const struct rf_view *view)
{
	return view->place ? view->place->rule : "default";
}

/* ------------------------------------------------------------- files */

/* How to show a path of the host that the box does not have: at its own place, or beside it. */
static void offer(struct rf_why *why, const char *option, const char *key,
		  const struct rf_view *view)
{
	char elsewhere[RF_FILES_PATH];
	const char *path = view->path, *name = strrchr(path, '/');

	if (rf_place_forbidden(path) || (view->has_links && rf_place_in_the_way(path)))
		return; /* nothing would help */
	if (rf_place_in_the_way(path)) {
		snprintf(elsewhere, sizeof(elsewhere), "%.2000s:/mnt/%.1000s", path,
			 name ? name + 1 : path);
		change_list(why, option, key, elsewhere);
	} else {
		change_list(why, option, key, path);
	}
}

/* The answers that are the same whatever was asked; false if there is none of them. */
static bool is_out_of_reach(const struct rf_view *view, const char *path, struct rf_why *why)
{
	switch (view->kind) {
	case RF_VIEW_HIDDEN:
		if (view->denied) {
			rf_why_answer(why, RF_WHY_NO, "files.deny",
				      "%s is hidden: files.deny has %s", view->path, view->denied);
		} else if (view->rule) {
			rf_why_answer(why, RF_WHY_NO, view->rule, "%s is hidden, %s", view->path,
				      strcmp(view->rule, "files.credentials") == 0
					      ? "as a well-known name of credentials"
					      : "or what leads to it");
		} else {
			rf_why_answer(why, RF_WHY_NO, rule_of(view), "%s is hidden: %s", view->path,
				      view->place ? view->place->why : "by the plan");
		}
		return true;
	case RF_VIEW_CLOSED:
		rf_why_answer(why, RF_WHY_NO, "mode",
			      "%s leads through %s, which the box's user may not enter", path,
			      view->path);
		return true;
	case RF_VIEW_LOOP:
		rf_why_answer(why, RF_WHY_NO, "links", "%s leads through too many symbolic links",
			      path);
		return true;
	default:
		return false;
	}
}

/* Nothing is there: because nothing shows it, or because the host has nothing of that name. */
static void answer_nothing(const struct rf_view *view, const char *path, struct rf_why *why)
{
	if (view->source[0])
		rf_why_answer(why, RF_WHY_NO, rule_of(view), "there is no %s on the host",
			      view->source);
	else if (view->has_links)
		rf_why_answer(why, RF_WHY_NO, "default",
			      "%s leads to %s, which nothing puts into the box", path, view->path);
	else
		rf_why_answer(why, RF_WHY_NO, "default", "nothing puts %s into the box",
			      view->path);
}

/* Credentials are shown to those who name them. */
static void offer_credential(const struct rf_view *view, const char *option, const char *key,
			     struct rf_why *why)
{
	if (strcmp(why->rule, "files.credentials") == 0)
		change_list(why, option, key, view->source);
}

static void judge_reading(const struct rf_view *view, const char *path, struct rf_why *why)
{
	if (is_out_of_reach(view, path, why)) {
		offer_credential(view, "read", "files.read", why);
		return;
	}
	switch (view->kind) {
	case RF_VIEW_NOTHING:
		answer_nothing(view, path, why);
		if (!view->source[0])
			offer(why, "read", "files.read", view);
		break;
	case RF_VIEW_SCRATCH:
		rf_why_answer(why, RF_WHY_DEPENDS, rule_of(view),
			      "%s is scratch of the box's own: empty at the start, gone at the end",
			      view->place->path);
		offer(why, "read", "files.read", view); /* if the host's was meant */
		break;
	case RF_VIEW_KERNEL:
		rf_why_answer(why, RF_WHY_DEPENDS, rule_of(view),
			      "%s shows the box's own processes and no others", view->place->path);
		break;
	default:
		if (view->can & RF_RIGHT_READ)
			rf_why_answer(why, RF_WHY_YES, rule_of(view), "%s is in the box: %s",
				      view->path,
				      view->place ? view->place->why : "a folder of its root");
		else
			rf_why_answer(why, RF_WHY_NO, "mode",
				      "%s is in the box, but its own mode keeps the box's user out",
				      view->path);
		break;
	}
}

void rf_why_read(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		 struct rf_why *ret_why)
{
	struct rf_view view;

	rf_view_walk(plan, host, path, &view);
	judge_reading(&view, path, ret_why);
	ret_why->place = view.place;
}

/* What is there, or could be made, where the place lets the box write. */
static void answer_writable(const struct rf_view *view, struct rf_why *why)
{
	bool is_new = view->kind == RF_VIEW_NOTHING;

	if (is_new && !view->has_parent)
		rf_why_answer(why, RF_WHY_NO, rule_of(view), "the folder of %s is not there",
			      view->path);
	else if ((is_new ? view->parent_can : view->can) & RF_RIGHT_WRITE)
		rf_why_answer(why, RF_WHY_YES, rule_of(view), "%s %s: %s", view->path,
			      is_new ? "can be made" : "is writable", view->place->why);
	else
		rf_why_answer(why, RF_WHY_NO, "mode", "%s%s: its own mode keeps the box's user out",
			      is_new ? "the folder of " : "", view->path);
}

/* The files that a rule for writing would have to name: the tree that shows it, or the path. */
static void offer_writing(const struct rf_view *view, struct rf_why *why)
{
	char rule[2 * RF_FILES_PATH];
	const struct rf_place *place = view->place;

	if (!place || strcmp(place->rule, "default") == 0) {
		offer(why, "write", "files.write", view);
		return;
	}
	if (strcmp(place->source, place->path) == 0)
		snprintf(rule, sizeof(rule), "%.3000s", place->source);
	else
		snprintf(rule, sizeof(rule), "%.2000s:%.2000s", place->source, place->path);
	change_list(why, "write", "files.write", rule);
}

static void judge_writing(const struct rf_view *view, const char *path, struct rf_why *why)
{
	const struct rf_place *place = view->place;

	if (is_out_of_reach(view, path, why)) {
		offer_credential(view, "write", "files.write", why);
		return;
	}
	if (place && place->kind == RF_PLACE_SCRATCH &&
	    (view->kind == RF_VIEW_FOLDER || view->has_parent)) {
		rf_why_answer(
			why, RF_WHY_YES, place->rule,
			"%s is scratch of the box's own: what is written there is gone at the end",
			place->path);
		return;
	}
	if (place && view->kind == RF_VIEW_SCRATCH && !view->has_parent) {
		rf_why_answer(
			why, RF_WHY_DEPENDS, place->rule,
			"%s is scratch of the box's own, and the folder is not there at the start",
			place->path);
		return;
	}
	if (place && view->kind == RF_VIEW_KERNEL && place->rights & RF_RIGHT_WRITE) {
		rf_why_answer(why, RF_WHY_DEPENDS, place->rule,
			      "in %s a process may write what is its own", place->path);
		return;
	}
	if (place && place->rights & RF_RIGHT_WRITE && place->kind != RF_PLACE_DIR &&
	    place->kind != RF_PLACE_SCRATCH) {
		answer_writable(view, why);
		return;
	}
	if (view->kind == RF_VIEW_NOTHING && !view->source[0])
		answer_nothing(view, path, why);
	else
		rf_why_answer(why, RF_WHY_NO, rule_of(view), "%s is read-only in the box: %s",
			      view->path, place ? place->why : "a folder of its root");
	offer_writing(view, why);
}

void rf_why_write(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		  struct rf_why *ret_why)
{
	struct rf_view view;

	rf_view_walk(plan, host, path, &view);
	judge_writing(&view, path, ret_why);
	ret_why->place = view.place;
}

/* ------------------------------------------------------------- programs */

static void judge_program(const struct rf_view *view, const char *path, struct rf_why *why)
{
	bool is_inert = view->place && view->place->rights & RF_RIGHT_INERT;

	if (is_out_of_reach(view, path, why))
		return;
	if (view->kind == RF_VIEW_SCRATCH || view->kind == RF_VIEW_KERNEL)
		rf_why_answer(
			why, is_inert ? RF_WHY_NO : RF_WHY_DEPENDS,
			is_inert ? "commands" : rule_of(view),
			is_inert ? "%s is not there at the start; what the box writes it can't run"
				 : "%s is not there at the start; what the box puts there it may "
				   "run",
			view->path);
	else if (view->kind == RF_VIEW_NOTHING)
		answer_nothing(view, path, why);
	else if (view->kind != RF_VIEW_FILE)
		rf_why_answer(why, RF_WHY_NO, rule_of(view), "%s is not a file", view->path);
	else if (!view->place || !(view->place->rights & RF_RIGHT_EXEC))
		rf_why_answer(why, RF_WHY_NO, rule_of(view), "nothing in %s may be executed",
			      view->place ? view->place->path : "/");
	else if (!(view->can & RF_RIGHT_EXEC))
		rf_why_answer(why, RF_WHY_NO, "mode", "%s is not executable for the box's user",
			      view->path);
	else
		rf_why_answer(why, RF_WHY_YES, rule_of(view), "%s is in the box: %s", view->path,
			      view->place->why);
	why->place = view->place;
}

static const char *path_of(const struct rf_plan *plan)
{
	for (char **env = plan->env; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "";
}

void rf_why_exec(const struct rf_plan *plan, const struct rf_view_host *host, const char *program,
		 struct rf_why *ret_why)
{
	struct rf_view view;
	char path[RF_FILES_PATH];

	if (strchr(program, '/')) {
		rf_view_walk(plan, host, program, &view);
		judge_program(&view, program, ret_why);
		if (ret_why->verdict == RF_WHY_NO && view.kind == RF_VIEW_NOTHING &&
		    !view.source[0])
			offer(ret_why, "read", "files.read", &view);
		return;
	}
	for (const char *at = path_of(plan); *at;) {
		size_t len = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, program);
		rf_view_walk(plan, host, path, &view);
		judge_program(&view, path, ret_why);
		if (len > 0 && (ret_why->verdict != RF_WHY_NO || view.kind == RF_VIEW_FILE))
			return;
		at += len + (at[len] == ':');
	}
	rf_why_answer(ret_why, RF_WHY_NO, "env.set", "there is no %s in the box's PATH, %s",
		      program, path_of(plan));
}

/* ------------------------------------------------------------- variables */

void rf_why_env(const struct rf_plan *plan, const char *name, struct rf_why *ret_why)
{
	size_t len = strlen(name);

	for (char **env = plan->env; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
			rf_why_answer(ret_why, RF_WHY_YES, "env", "the box has a variable %s",
				      name);
			return;
		}
	rf_why_answer(ret_why, RF_WHY_NO, "env",
		      "no variable of yours is passed on unless it is named");
	change_list(ret_why, "pass", "env.pass", name);
}

const char *rf_why_word(enum rf_why_verdict verdict)
{
	static const char *const words[] = {
		[RF_WHY_NO] = "no", [RF_WHY_YES] = "yes", [RF_WHY_DEPENDS] = "depends"
	};

	return words[verdict];
}
