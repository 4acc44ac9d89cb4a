/*
 * From a policy to a plan.
 *
 * The plan is made in phases that each add to it: what every box holds, the files that the rules
 * name, the current directory, the environment.  All of it is decided from text: a path that is
 * shown may turn out not to exist, or to be a symbolic link, and it is for the walls to refuse that.
 */
#include "policy/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/arena.h"
#include "policy/canary.h"
#include "policy/current.h"
#include "policy/files.h"
#include "policy/key.h"
#include "policy/list.h"
#include "policy/place.h"
#include "policy/view.h"

#define USER         "box"
#define HOME         "/home/box"
#define UNPRIVILEGED 1000 /* the id inside for a caller who is root */

#define R   RF_RIGHT_READ
#define RX  (RF_RIGHT_READ | RF_RIGHT_EXEC)
#define RWX (RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_EXEC)

/* A plan in the making. */
struct maker {
	const struct rf_policy *policy; /* complete: every key with a default has a value */
	const struct rf_facts *facts;
	struct rf_arena *arena;
	struct rf_plan *plan;
	size_t room, note_count;
	size_t first_file;     /* places from here on come from rules */
	const char *states[4]; /* folders of Ringfort's own state on the host */
	size_t state_count;
	struct rf_err *err;
};

static uint64_t number(const struct maker *m, int key)
{
	return m->policy->values[key].number;
}

static int fail_memory(struct maker *m)
{
	return rf_fail(m->err, -ENOMEM, "make the plan");
}

static int add_place(struct maker *m, const struct rf_place *place)
{
	struct rf_plan *plan = m->plan;

	if (plan->place_count == m->room) {
		size_t room = m->room ? m->room * 2 : 128;
		struct rf_place *places = rf_arena_alloc(m->arena, room * sizeof(*places));

		if (!places)
			return fail_memory(m);
		if (plan->place_count)
			memcpy(places, plan->places, plan->place_count * sizeof(*places));
		plan->places = places;
		m->room = room;
	}
	plan->places[plan->place_count++] = *place;
	return 0;
}

/* Tells the user something.  More than a handful would not be read. */
#define NOTES 16
static void note(struct maker *m, char *text)
{
	if (text && m->note_count < NOTES)
		m->plan->notes[m->note_count++] = text;
}

static int add_text(struct maker *m, const char *path, const char *why, const char *text)
{
	struct rf_place place = { RF_PLACE_TEXT, path, text, R, false, why, "default" };

	return text ? add_place(m, &place) : fail_memory(m);
}

/* The files of /etc that speak of the box itself. */
static int add_texts(struct maker *m)
{
	unsigned uid = m->plan->uid, gid = m->plan->gid;
	const char *host = m->plan->hostname;

	if (add_text(m, "/etc/passwd", "names of users",
		     rf_arena_printf(m->arena,
				     USER ":x:%u:%u:" USER ":" HOME ":/bin/sh\n"
					  "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
				     uid, gid)) < 0 ||
	    add_text(m, "/etc/group", "names of groups",
		     rf_arena_printf(m->arena, USER ":x:%u:\nnogroup:x:65534:\n", gid)) < 0 ||
	    add_text(m, "/etc/hosts", "names of hosts",
		     rf_arena_printf(m->arena, "127.0.0.1 localhost %s\n::1 localhost %s\n", host,
				     host)) < 0 ||
	    add_text(m, "/etc/nsswitch.conf", "glibc: where names of users and hosts come from",
		     "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n") < 0 ||
	    add_text(m, "/etc/hostname", "the name of this host",
		     rf_arena_printf(m->arena, "%s\n", host)) < 0)
		return m->err->code;

	/* With the host's network, names are looked up as the host does. */
	if (m->plan->link == RF_LINK_HOST)
		return add_place(m, &(struct rf_place){
					    RF_PLACE_HOST, "/etc/resolv.conf", "/etc/resolv.conf",
					    R, true, "the host's name servers", "network.link" });
	if (m->plan->link == RF_LINK_GATEWAY)
		return add_text(m, "/etc/resolv.conf", "the gateway's name server",
				"nameserver " RF_PLAN_RESOLVER "\noptions ndots:1 timeout:2\n");
	return add_text(m, "/etc/resolv.conf", "name servers", "# This box has no network.\n");
}

static int add_defaults(struct maker *m)
{
	for (size_t i = 0; i < rf_place_count; i++) {
		if (add_place(m, &rf_place_table[i]) < 0)
			return m->err->code;
		if (strcmp(rf_place_table[i].path, "/etc") == 0 && add_texts(m) < 0)
			return m->err->code;
	}
	return 0;
}

/* Makes the plan own every text of a place that came from outside: the plan may outlive who brought it. */
static int own_texts(struct maker *m, struct rf_place *place)
{
	const char **texts[] = { &place->path, &place->source, &place->why, &place->rule };

	for (size_t i = 0; i < RF_LEN(texts); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = rf_arena_copy(m->arena, *texts[i]);
		if (!*texts[i])
			return fail_memory(m);
	}
	return 0;
}

/* Texts that are brought along: like those in /etc, and not files of the host. */
static int add_extra_texts(struct maker *m)
{
	for (size_t i = 0; i < m->facts->extra_count; i++) {
		struct rf_place place = m->facts->extras[i];

		if (place.kind != RF_PLACE_TEXT && place.kind != RF_PLACE_DATA)
			continue;
		if (own_texts(m, &place) < 0 || add_place(m, &place) < 0)
			return m->err->code;
	}
	return 0;
}

/* Files that nobody needs, each with a value that is nowhere else. */
static int add_canaries(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_CANARIES].list;
	char text[RF_CANARY_TEXT];

	if (list->count > 0)
		m->plan->canaries =
			rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*m->plan->canaries));
	for (size_t i = 0; i < list->count && m->plan->canaries; i++) {
		struct rf_place place = { .kind = RF_PLACE_TEXT,
					  .path = rf_arena_copy(m->arena, list->items[i].name),
					  .rights = R,
					  .is_optional = true,
					  .why = "a canary: who reads it is ended",
					  .rule = "files.canaries" };

		rf_canary_text(m->facts->seed, i, list->items[i].name, text);
		place.source = rf_arena_copy(m->arena, text);
		m->plan->canaries[i] = rf_arena_copy(m->arena, list->items[i].name);
		if (m->arena->has_failed)
			return fail_memory(m);
		if (add_place(m, &place) < 0)
			return m->err->code;
	}
	memcpy(m->plan->seed, m->facts->seed, sizeof(m->plan->seed));
	m->first_file = m->plan->place_count;
	return m->arena->has_failed ? fail_memory(m) : 0;
}

/* Adds `folder`/`beneath` to the state's folders, unless the folder is not known. */
static int add_state(struct maker *m, const char *folder, const char *beneath)
{
	char *text, path[RF_FILES_PATH];
	struct rf_err ignored;

	if (!folder || folder[0] != '/')
		return 0;
	text = rf_arena_printf(m->arena, "%s/%s", folder, beneath);
	if (!text)
		return fail_memory(m);
	if (rf_files_normal(text, path, &ignored) < 0)
		return 0; /* a path that no rule could name either */
	m->states[m->state_count] = rf_arena_copy(m->arena, path);
	return m->states[m->state_count++] ? 0 : fail_memory(m);
}

/* No box may see where the boxes are kept: not as a shown folder, nor within one. */
static int find_states(struct maker *m)
{
	const char *xdg = rf_plan_caller_env(m->facts, "XDG_STATE_HOME");

	if (add_state(m, "/run", "ringfort") < 0 || add_state(m, "/var/lib", "ringfort") < 0 ||
	    add_state(m, rf_plan_caller_env(m->facts, "XDG_RUNTIME_DIR"), "ringfort") < 0 ||
	    add_state(m, xdg ? xdg : m->facts->home, xdg ? "ringfort" : ".local/state/ringfort") <
		    0)
		return m->err->code;
	return 0;
}

static bool is_state(const struct maker *m, const char *source)
{
	for (size_t i = 0; i < m->state_count; i++)
		if (rf_path_is_beneath(source, m->states[i]))
			return true;
	return false;
}

/* Refuses a rule that would show what no box may see, or cover what every box has. */
static int check_file(struct maker *m, const char *rule, const char *source, const char *dest)
{
	const char *forbidden = rf_place_forbidden(source), *ours = rf_place_in_the_way(dest);

	if (forbidden) {
		rf_fail_say(m->err, -EPERM, "%s: %.80s can't be shown", rule, source);
		return rf_fail_hint(
			m->err, "nothing in %s goes into a box; name the files that are meant",
			strcmp(forbidden, "/") == 0 ? "the root as a whole" : forbidden);
	}
	if (is_state(m, source))
		return rf_fail_say(m->err, -EPERM, "%s: %.80s holds Ringfort's own state", rule,
				   source);
	if (ours) {
		rf_fail_say(m->err, -EPERM, "%s: %.80s would cover %s, which every box has", rule,
			    dest, ours);
		return rf_fail_hint(m->err, "show it elsewhere: %.60s:/mnt/%.40s", source,
				    strrchr(source, '/') + 1);
	}
	return 0;
}

/* The pattern that hides `source`, or NULL. */
static const char *denied_by(const struct maker *m, const char *source)
{
	for (size_t i = 0; i < m->plan->deny_count; i++)
		if (rf_pattern_covers(&m->plan->deny[i], source))
			return m->plan->deny[i].text;
	return NULL;
}

static int add_denials(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_DENY].list;
	struct rf_pattern *deny = rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*deny));

	if (!deny)
		return fail_memory(m);
	for (size_t i = 0; i < list->count; i++) {
		const char *text = rf_arena_copy(m->arena, list->items[i].name);

		if (!text)
			return fail_memory(m);
		rf_pattern_init(&deny[i], text);
	}
	m->plan->deny = deny;
	m->plan->deny_count = list->count;
	return 0;
}

static int add_files(struct maker *m, enum rf_key key, unsigned rights)
{
	const struct rf_list *list = &m->policy->values[key].list;
	const char *rule = rf_key_table[key].path;

	for (size_t i = 0; i < list->count; i++) {
		const char *source = list->items[i].name, *dest = list->items[i].value;
		struct rf_place place = { RF_PLACE_HOST,
					  rf_arena_copy(m->arena, dest),
					  rf_arena_copy(m->arena, source),
					  rights,
					  false,
					  "named by the policy",
					  rule };

		if (check_file(m, rule, source, dest) < 0)
			return m->err->code;
		if (!place.path || !place.source)
			return fail_memory(m);
		if (denied_by(m, source)) {
			note(m, rf_arena_printf(m->arena, "%s does not show %s: files.deny has %s",
						rule, source, denied_by(m, source)));
			continue;
		}
		if (add_place(m, &place) < 0)
			return m->err->code;
		if (rf_current_is_secret(source))
			note(m, rf_arena_printf(m->arena, "%s shows %s, a folder of credentials",
						rule, source));
	}
	return 0;
}

/* Trees that are brought along: shown at their own path, unless a rule shows them there anyway. */
static int add_extra_files(struct maker *m)
{
	char inside[RF_FILES_PATH];

	for (size_t i = 0; i < m->facts->extra_count; i++) {
		struct rf_place place = m->facts->extras[i];

		if (place.kind != RF_PLACE_HOST || (rf_plan_where(m->plan, place.source, inside) &&
						    strcmp(inside, place.path) == 0))
			continue;
		if (check_file(m, place.rule, place.source, place.path) < 0)
			return m->err->code;
		place.rights = RX;
		if (own_texts(m, &place) < 0 || add_place(m, &place) < 0)
			return m->err->code;
	}
	return 0;
}

static const struct rf_layers *copy_layers(struct maker *m, const struct rf_layers *layers)
{
	struct rf_layers *copy = rf_arena_alloc(m->arena, sizeof(*copy));
	const char **lowers;
	size_t count = 0;

	while (layers->lowers[count])
		count++;
	lowers = rf_arena_alloc(m->arena, (count + 1) * sizeof(*lowers));
	if (!copy || !lowers)
		return NULL;
	for (size_t i = 0; i < count; i++)
		lowers[i] = rf_arena_copy(m->arena, layers->lowers[i]);
	*copy = (struct rf_layers){ rf_arena_copy(m->arena, layers->pool),
				    rf_arena_copy(m->arena, layers->upper), lowers, layers->room };
	return copy;
}

/* A directory with layers over it, at its own path: what the box changes there stays in the layers. */
static int add_layered(struct maker *m)
{
	struct rf_place place;

	if (!m->facts->layered)
		return 0;
	place = *m->facts->layered;
	if (check_file(m, place.rule, place.source, place.path) < 0)
		return m->err->code;
	if (denied_by(m, place.source))
		return rf_fail_say(m->err, -EPERM, "%s: files.deny has %s", place.rule,
				   denied_by(m, place.source));
	if (own_texts(m, &place) < 0)
		return m->err->code;
	place.layers = copy_layers(m, place.layers);
	place.rights = RWX;
	return m->arena->has_failed ? fail_memory(m) : add_place(m, &place);
}

/* What whoever has the boxes gives to this one: no rule names it, and it lies in their own state. */
static int add_site(struct maker *m)
{
	struct rf_place place;

	if (!m->facts->site)
		return 0;
	place = *m->facts->site;
	place.path = rf_arena_copy(m->arena, place.path);
	place.source = rf_arena_copy(m->arena, place.source);
	place.rights = RWX;
	place.is_site = true;
	return m->arena->has_failed ? fail_memory(m) : add_place(m, &place);
}

/* True if a path of the host can be found in the box by the same name. */
static bool is_shown(const struct rf_plan *plan, const char *path)
{
	const struct rf_place *place = rf_view_place(plan, path);

	return place && place->kind == RF_PLACE_HOST && strcmp(place->path, place->source) == 0;
}

/* The current directory: shown by itself where that is harmless, else a note says how. */
static int add_current(struct maker *m)
{
	const char *cwd = m->facts->cwd, *why;
	const struct rf_place *over;
	char path[RF_FILES_PATH];
	struct rf_err ignored;

	if (number(m, RF_KEY_CURRENT) == RF_CURRENT_NONE || !cwd || is_shown(m->plan, cwd))
		return 0;
	if (rf_files_normal(cwd, path, &ignored) < 0 || strcmp(path, cwd) != 0) {
		note(m, rf_arena_copy(m->arena,
				      "the current directory has a path that can't be shown"));
		return 0;
	}
	over = rf_view_place(m->plan, cwd);
	if (over && over >= m->plan->places + m->first_file)
		return 0; /* a rule shows something else there */
	why = rf_current_refusal(cwd, m->facts->home);
	if (!why && is_state(m, cwd))
		why = "holds Ringfort's own state";
	if (!why && rf_place_in_the_way(cwd))
		why = "would cover a place of the box's own";
	if (!why && denied_by(m, cwd)) {
		note(m, rf_arena_printf(m->arena,
					"the current directory is not shown: files.deny has %s",
					denied_by(m, cwd)));
		return 0;
	}
	if (why) {
		note(m, rf_arena_printf(m->arena,
					"the current directory %s %s and is not shown; "
					"use --read . to show it",
					cwd, why));
		return 0;
	}
	cwd = rf_arena_copy(m->arena, cwd);
	if (!cwd)
		return fail_memory(m);
	return add_place(m, &(struct rf_place){ RF_PLACE_HOST, cwd, cwd, RX, false,
						"where the command was given", "current" });
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rf_place *)a)->path, ((const struct rf_place *)b)->path);
}

/* Parents before children, and no place twice. */
static int sort_files(struct maker *m)
{
	struct rf_place *files = m->plan->places + m->first_file;
	size_t count = m->plan->place_count - m->first_file;

	if (count > 1)
		qsort(files, count, sizeof(*files), by_path);
	for (size_t i = 1; i < count; i++) {
		const struct rf_place *a = &files[i - 1], *b = &files[i];

		if (strcmp(a->path, b->path) != 0)
			continue;
		rf_fail_say(m->err, -EINVAL, "%.70s (%s) and %.70s (%s) would both show at %.60s",
			    a->source, a->rule, b->source, b->rule, a->path);
		return rf_fail_hint(m->err, "give one of them another place: SOURCE:PLACE");
	}
	return 0;
}

/* Hides `state` where `file` would show it. */
static int mask_state(struct maker *m, const struct rf_place *file, const char *state)
{
	const char *rest = state + strlen(file->source);
	struct rf_place mask = { .kind = RF_PLACE_HIDE,
				 .path = rf_arena_printf(m->arena, "%s%s", file->path, rest),
				 .is_optional = true,
				 .why = "Ringfort's own state",
				 .rule = "default" };

	if (!mask.path)
		return fail_memory(m);
	for (size_t i = m->first_file; i < m->plan->place_count; i++)
		if (strcmp(m->plan->places[i].path, mask.path) == 0)
			return 0; /* two rules of which one lies in the other */
	return add_place(m, &mask);
}

/* Where a shown folder holds our own state, that part of it is hidden. */
static int mask_states(struct maker *m)
{
	size_t end = m->plan->place_count;

	for (size_t i = m->first_file; i < end; i++)
		for (size_t k = 0; k < m->state_count; k++) {
			struct rf_place file = m->plan->places[i];

			if (rf_path_is_beneath(m->states[k], file.source) &&
			    mask_state(m, &file, m->states[k]) < 0)
				return m->err->code;
		}
	return 0;
}

static int add_all_files(struct maker *m)
{
	if (find_states(m) < 0 || add_denials(m) < 0 || add_files(m, RF_KEY_READ, RX) < 0 ||
	    add_files(m, RF_KEY_WRITE, m->facts->only_looks ? RX : RWX) < 0 || add_layered(m) < 0 ||
	    add_site(m) < 0 || add_current(m) < 0 || add_extra_files(m) < 0 || sort_files(m) < 0)
		return m->err->code;
	return mask_states(m);
}

/* What follows `folder` in `path`, which lies within it. */
static const char *rest_of(const char *path, const char *folder)
{
	return path + (strcmp(folder, "/") == 0 ? 0 : strlen(folder));
}

/* True if a file that is written through `writable` could be read through `place`. */
static bool shows_writable(const struct rf_place *place, const struct rf_place *writable)
{
	const struct rf_place *outer = place, *inner = writable;

	if (!rf_path_is_beneath(inner->source, outer->source)) {
		outer = writable;
		inner = place;
		if (!rf_path_is_beneath(inner->source, outer->source))
			return false;
	}
	/* Where the box has the two as the host has them, the inner one covers that part of the outer. */
	return !rf_path_is_beneath(inner->path, outer->path) ||
	       strcmp(rest_of(inner->path, outer->path), rest_of(inner->source, outer->source)) !=
		       0;
}

/* Whether `place` can hold what the box itself wrote. */
static bool is_inert(const struct rf_plan *plan, const struct rf_place *place)
{
	if (place->rights & RF_RIGHT_WRITE)
		return true;
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind == RF_PLACE_HOST &&
		    plan->places[i].rights & RF_RIGHT_WRITE && place->kind == RF_PLACE_HOST &&
		    shows_writable(place, &plan->places[i]))
			return true;
	return false;
}

/*
 * Only the named programs can be run: no place gives that right any more (the jail gives it to the
 * programs), and what the box can write is never code.
 */
static int limit_commands(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_COMMANDS].list;
	struct rf_plan *plan = m->plan;

	if (!(m->policy->set & RF_KEY_BIT(RF_KEY_COMMANDS)))
		return 0;
	if (list->count == 0) {
		rf_fail_say(m->err, -EINVAL,
			    "commands: the list is empty, so nothing could be run");
		return rf_fail_hint(m->err,
				    "name the programs that may run, or remove it to allow all");
	}
	plan->commands = rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*plan->commands));
	for (size_t i = 0; plan->commands && i < list->count; i++)
		plan->commands[i] = rf_arena_copy(m->arena, list->items[i].name);
	for (size_t i = 0; i < plan->place_count; i++) {
		plan->places[i].rights &= ~(unsigned)RF_RIGHT_EXEC;
		if (is_inert(plan, &plan->places[i]))
			plan->places[i].rights |= RF_RIGHT_INERT;
	}
	return m->arena->has_failed ? fail_memory(m) : 0;
}

static void choose_workdir(struct maker *m)
{
	const char *asked = m->policy->values[RF_KEY_WORKDIR].text, *cwd = m->facts->cwd;

	const struct rf_place *layered = m->facts->layered;

	if (asked)
		m->plan->workdir = rf_arena_copy(m->arena, asked);
	else if (m->facts->site)
		m->plan->workdir = rf_arena_copy(m->arena, m->facts->site->path);
	else if (layered && !(cwd && rf_path_is_beneath(cwd, layered->source)))
		m->plan->workdir = rf_arena_copy(m->arena, layered->path);
	else if (cwd && cwd[0] == '/' && is_shown(m->plan, cwd))
		m->plan->workdir = rf_arena_copy(m->arena, cwd);
	else
		m->plan->workdir = HOME;
}

static void add_argv(struct maker *m)
{
	size_t count = 0;

	while (m->facts->argv && m->facts->argv[count])
		count++;
	m->plan->argv = rf_arena_alloc(m->arena, (count + 1) * sizeof(*m->plan->argv));
	for (size_t i = 0; m->plan->argv && i < count; i++)
		m->plan->argv[i] = rf_arena_copy(m->arena, m->facts->argv[i]);
}

static void add_scalars(struct maker *m)
{
	struct rf_plan *plan = m->plan;

	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		plan->limits[i] = number(m, RF_KEY_LIMIT + i);
	plan->isolation = (enum rf_isolation)number(m, RF_KEY_ISOLATION);
	plan->link = (enum rf_link)number(m, RF_KEY_LINK);
	plan->has_loopback = number(m, RF_KEY_LOOPBACK) == RF_SWITCH_ON;
	plan->has_unix = number(m, RF_KEY_UNIX) == RF_SWITCH_ON;
	plan->syscalls = (enum rf_syscalls)number(m, RF_KEY_SYSCALLS);
	plan->may_be_weaker = number(m, RF_KEY_WEAKER) == RF_WEAKER_ALLOW;
	plan->hides_credentials = number(m, RF_KEY_CREDENTIALS) == RF_CREDENTIALS_HIDE;
	plan->keeps_attributes = number(m, RF_KEY_ATTRIBUTES) == RF_XATTRS_KEEP;
	plan->needs_hard = number(m, RF_KEY_REQUIRE) == RF_REQUIRE_HARD;
	plan->recorded = m->facts->is_recorded ? RF_RECORDED_ALWAYS
					       : (enum rf_recorded)number(m, RF_KEY_AUDIT);
	plan->hostname = rf_arena_copy(m->arena, m->policy->values[RF_KEY_HOSTNAME].text);
	plan->user = USER;
	plan->home = HOME;
	plan->uid = m->facts->uid ? m->facts->uid : UNPRIVILEGED;
	plan->gid = m->facts->gid ? m->facts->gid : UNPRIVILEGED;
	plan->has_terminal = m->facts->has_terminal;
	plan->notes = rf_arena_alloc(m->arena, (NOTES + 1) * sizeof(*plan->notes));
}

static const char *copy_maybe(struct maker *m, const char *text)
{
	return text ? rf_arena_copy(m->arena, text) : NULL;
}

/* Whom it is done for, and what a watcher makes of it. */
static int add_agent(struct maker *m)
{
	const struct rf_plan_origin *origin = &m->facts->origin;
	const char *agent = m->policy->values[RF_KEY_AGENT].text;
	char name[2 * RF_PLAN_AGENT];

	m->plan->origin = (struct rf_plan_origin){
		.tenant = copy_maybe(m, origin->tenant),
		.key = copy_maybe(m, origin->key),
		.request = copy_maybe(m, origin->request),
		.trace = copy_maybe(m, origin->trace),
	};
	if (agent && origin->tenant) { /* no name of a policy's own has that stroke */
		snprintf(name, sizeof(name), "%s/%s", origin->tenant, agent);
		if (strlen(name) >= RF_PLAN_AGENT) {
			rf_fail_say(m->err, -EINVAL, "agent: `%.70s` is longer than %d bytes", name,
				    RF_PLAN_AGENT - 1);
			return rf_fail_hint(m->err, "the tenant's name is a part of it: take a "
						    "shorter one");
		}
		agent = name;
	}
	m->plan->agent = agent ? rf_arena_copy(m->arena, agent) : NULL;
	if (rf_plan_watch(m->policy, m->plan, m->err) < 0)
		return m->err->code;
	return m->arena->has_failed ? fail_memory(m) : 0;
}

/* Profiles; and without one, nobody would decide over what the floor leaves open. */
static int add_filters(struct maker *m)
{
	const struct rf_list *list = &m->policy->values[RF_KEY_SECCOMP].list;

	if (list->count > RF_MAX_FILTERS)
		return rf_fail_say(m->err, -E2BIG, "seccomp: more than %d files", RF_MAX_FILTERS);
	if (list->count == 0 && m->plan->syscalls == RF_SYSCALLS_FLOOR) {
		rf_fail_say(m->err, -EINVAL,
			    "syscalls: floor leaves the choice of calls to a profile, and there is "
			    "none");
		return rf_fail_hint(m->err, "name one in `seccomp`, or use `syscalls: default`");
	}
	m->plan->seccomp = rf_arena_alloc(m->arena, (list->count + 1) * sizeof(*m->plan->seccomp));
	for (size_t i = 0; m->plan->seccomp && i < list->count; i++)
		m->plan->seccomp[i] = rf_arena_copy(m->arena, list->items[i].name);
	return m->arena->has_failed ? fail_memory(m) : 0;
}

static int make(struct maker *m)
{
	m->plan = rf_arena_alloc(m->arena, sizeof(*m->plan));
	if (!m->plan)
		return fail_memory(m);
	m->plan->memory = m->arena;
	add_scalars(m);
	if (m->arena->has_failed)
		return fail_memory(m);
	if (rf_plan_network(m->policy, m->plan, m->err) < 0 || add_filters(m) < 0 ||
	    add_agent(m) < 0)
		return m->err->code;
	if (add_defaults(m) < 0 || add_extra_texts(m) < 0 || add_canaries(m) < 0 ||
	    add_all_files(m) < 0 || limit_commands(m) < 0)
		return m->err->code;
	choose_workdir(m);
	if (m->arena->has_failed)
		return fail_memory(m);
	add_argv(m);
	if (rf_plan_env(m->policy, m->facts, m->plan, m->err) < 0)
		return m->err->code;
	return m->arena->has_failed ? fail_memory(m) : 0;
}

int rf_plan_make(const struct rf_policy *policy, const struct rf_facts *facts,
		 struct rf_plan **ret_plan, struct rf_err *err)
{
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	struct maker m = { .policy = whole, .facts = facts, .arena = rf_arena_new(), .err = err };
	int r;

	if (!whole || !m.arena) {
		rf_policy_free(whole);
		rf_arena_free(m.arena);
		return fail_memory(&m);
	}
	if (policy->set & RF_KEY_BIT(RF_KEY_EXTENDS)) /* or rules would be missing unnoticed */
		r = rf_fail_say(err, -EINVAL, "extends: must be resolved before a plan is made");
	else
		r = rf_policy_merge(whole, policy, err);
	if (r >= 0)
		r = make(&m);
	rf_policy_free(whole);
	if (r < 0) {
		if (m.plan)
			rf_net_free(m.plan->net);
		rf_arena_free(m.arena);
		return r;
	}
	*ret_plan = m.plan;
	return 0;
}

void rf_plan_free(struct rf_plan *plan)
{
	if (!plan)
		return;
	rf_net_free(plan->net);
	rf_arena_free(plan->memory);
}

bool rf_plan_where(const struct rf_plan *plan, const char *path, char *inside)
{
	const struct rf_place *best = NULL;

	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];
		char candidate[RF_FILES_PATH];

		if (place->kind != RF_PLACE_HOST || !rf_path_is_beneath(path, place->source) ||
		    snprintf(candidate, sizeof(candidate), "%s%s", place->path,
			     path + strlen(place->source)) >= (int)sizeof(candidate) ||
		    rf_view_place(plan, candidate) != place)
			continue;
		/* By its own name, if it has that too. */
		if (!best || strcmp(candidate, path) == 0) {
			memcpy(inside, candidate, strlen(candidate) + 1);
			best = place;
		}
	}
	return best != NULL;
}

bool rf_plan_is_written(const struct rf_place *place)
{
	return place->kind == RF_PLACE_HOST && !place->layers && place->rights & RF_RIGHT_WRITE;
}

bool rf_plan_writes_host(const struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (rf_plan_is_written(&plan->places[i]))
			return true;
	return false;
}

bool rf_plan_is_free(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (rf_path_is_beneath(plan->places[i].path, path) ||
		    rf_path_is_beneath(path, plan->places[i].path))
			return false;
	return true;
}
