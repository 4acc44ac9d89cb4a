/* The view from inside: see view.h. */
#include "policy/view.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"

#define MAX_LINKS 40 /* as the kernel's */

#define ALL (RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_EXEC)

/* On the way through the box's names. */
struct walk {
	const struct rf_plan *plan;
	const struct rf_view_host *host;
	char rest[RF_FILES_PATH]; /* what is still to be followed */
	int links;
};

const struct rf_place *rf_view_place(const struct rf_plan *plan, const char *path)
{
	const struct rf_place *best = NULL;

	for (size_t i = 0; i < plan->place_count; i++)
		if (rf_path_is_beneath(path, plan->places[i].path) &&
		    (!best || strlen(plan->places[i].path) >= strlen(best->path)))
			best = &plan->places[i];
	return best;
}

/* True if a place lies beneath `path`, for which a folder was made on the box's own root. */
static bool holds_places(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (strcmp(plan->places[i].path, path) != 0 &&
		    rf_path_is_beneath(plan->places[i].path, path))
			return true;
	return false;
}

static void look_at_host(const struct walk *walk, const struct rf_place *place,
			 struct rf_view *view, struct rf_view_sight *sight)
{
	int len = snprintf(view->source, sizeof(view->source), "%s%s", place->source,
			   view->path + strlen(place->path));

	if (len >= (int)sizeof(view->source))
		return;
	walk->host->look(walk->host->data, place, view->source, sight);
	view->rule = sight->rule;
	/* Patterns are for what the policy shows, and hide what is there and no link. */
	if (strcmp(place->rule, "default") == 0 || sight->kind == RF_VIEW_NOTHING ||
	    sight->kind == RF_VIEW_LINK)
		return;
	for (size_t i = 0; i < walk->plan->deny_count; i++)
		if (rf_pattern_covers(&walk->plan->deny[i], view->source)) {
			view->denied = walk->plan->deny[i].text;
			*sight = (struct rf_view_sight){ .kind = RF_VIEW_HIDDEN };
			return;
		}
}

/* What stands at view->path, with its place in `view` and a link's target in `sight`. */
static void look(const struct walk *walk, struct rf_view *view, struct rf_view_sight *sight)
{
	const struct rf_place *place = rf_view_place(walk->plan, view->path);
	bool is_place = place && strcmp(place->path, view->path) == 0;

	*sight = (struct rf_view_sight){ .kind = RF_VIEW_NOTHING };
	view->place = place;
	view->source[0] = '\0';
	view->denied = view->rule = NULL;
	switch (place ? place->kind : RF_PLACE_DIR) {
	case RF_PLACE_HOST:
	case RF_PLACE_SYSTEM:
	case RF_PLACE_DEVICE:
		look_at_host(walk, place, view, sight);
		break;
	case RF_PLACE_TEXT:
	case RF_PLACE_DATA:
		*sight = (struct rf_view_sight){ .kind = RF_VIEW_FILE, .can = RF_RIGHT_READ };
		break;
	case RF_PLACE_LINK:
		sight->kind = RF_VIEW_LINK;
		snprintf(sight->target, sizeof(sight->target), "%s", place->source);
		break;
	case RF_PLACE_DIR:
		if (is_place)
			*sight = (struct rf_view_sight){ .kind = RF_VIEW_FOLDER,
							 .can = RF_RIGHT_READ | RF_RIGHT_EXEC };
		break;
	case RF_PLACE_SCRATCH:
		sight->kind = is_place ? RF_VIEW_FOLDER : RF_VIEW_SCRATCH;
		sight->can = ALL;
		break;
	case RF_PLACE_PROC:
	case RF_PLACE_PTS:
	case RF_PLACE_LOCK:
		sight->kind = is_place ? RF_VIEW_FOLDER : RF_VIEW_KERNEL;
		sight->can = RF_RIGHT_READ | RF_RIGHT_EXEC;
		break;
	case RF_PLACE_MASK:
	case RF_PLACE_HIDE:
		sight->kind = RF_VIEW_HIDDEN;
		break;
	}
	/* On the way to a place there are folders that were made for it, on scratch the box's own. */
	if (!holds_places(walk->plan, view->path))
		return;
	if (sight->kind == RF_VIEW_SCRATCH)
		sight->kind = RF_VIEW_FOLDER;
	else if (sight->kind == RF_VIEW_NOTHING)
		*sight = (struct rf_view_sight){ .kind = RF_VIEW_FOLDER,
						 .can = RF_RIGHT_READ | RF_RIGHT_EXEC };
}

/* Takes the first name of walk->rest into `name`.  False at the end. */
static bool take_name(struct walk *walk, char *name, size_t size)
{
	char *rest = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(rest, "/");

	if (len == 0 || len >= size)
		return false;
	memcpy(name, rest, len);
	name[len] = '\0';
	memmove(walk->rest, rest + len, strlen(rest + len) + 1);
	return true;
}

static void leave_folder(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path ? 1 : 0] = '\0';
}

/* Puts a link's target before what is still to be followed.  False if that is too much. */
static bool follow(struct walk *walk, struct rf_view *view, const char *target)
{
	char rest[RF_FILES_PATH];
	int len = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);

	if (++walk->links > MAX_LINKS || len >= (int)sizeof(rest))
		return false;
	memcpy(walk->rest, rest, (size_t)len + 1);
	view->has_links = true;
	if (target[0] == '/')
		strcpy(view->path, "/");
	else
		leave_folder(view->path);
	return true;
}

/* Goes into the name beneath view->path.  False if the path becomes too long. */
static bool append(struct rf_view *view, const char *name)
{
	size_t len = strcmp(view->path, "/") == 0 ? 0 : strlen(view->path);

	if (len + 1 + strlen(name) >= sizeof(view->path))
		return false;
	snprintf(view->path + len, sizeof(view->path) - len, "/%s", name);
	return true;
}

/* Looks at view->path, where the walk now is. */
static void arrive(struct walk *walk, struct rf_view *view, struct rf_view_sight *sight)
{
	look(walk, view, sight);
	view->kind = sight->kind;
	view->can = sight->can;
}

/* Why no name is to be found beneath what the walk has come to. */
static enum rf_view_kind end_of(const struct rf_view *view)
{
	switch (view->kind) {
	case RF_VIEW_FOLDER:
		return RF_VIEW_CLOSED;
	case RF_VIEW_FILE:
	case RF_VIEW_OTHER:
		return RF_VIEW_NOTHING;
	default: /* inside what is made by the box or the kernel there is nothing to look at */
		return view->kind;
	}
}

/* Goes one name on.  False when the walk is over. */
static bool step(struct walk *walk, const char *name, struct rf_view *view)
{
	struct rf_view_sight sight;

	if (view->kind != RF_VIEW_FOLDER || !(view->can & RF_RIGHT_EXEC)) {
		view->kind = end_of(view);
		view->has_parent = false;
		if (view->kind != RF_VIEW_CLOSED)
			append(view, name);
		return false;
	}
	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		leave_folder(view->path);
		arrive(walk, view, &sight);
		return true;
	}
	view->parent_can = view->can;
	if (!append(view, name)) {
		view->kind = RF_VIEW_NOTHING;
		return false;
	}
	arrive(walk, view, &sight);
	view->has_parent = walk->rest[strspn(walk->rest, "/")] == '\0';
	if (sight.kind != RF_VIEW_LINK)
		return sight.kind != RF_VIEW_NOTHING && sight.kind != RF_VIEW_HIDDEN;
	if (!follow(walk, view, sight.target)) {
		view->kind = RF_VIEW_LOOP;
		return false;
	}
	arrive(walk, view, &sight); /* the folder to go on from */
	return true;
}

/* Adds the names that could not be followed, so that the path is the one that was meant. */
static void complete(struct walk *walk, struct rf_view *view)
{
	char name[256];

	while (take_name(walk, name, sizeof(name)) && strcmp(name, "..") != 0)
		if (strcmp(name, ".") != 0 && !append(view, name))
			return;
}

void rf_view_walk(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		  struct rf_view *ret_view)
{
	struct walk walk = { .plan = plan, .host = host };
	char name[256];

	*ret_view = (struct rf_view){ .kind = RF_VIEW_FOLDER,
				      .can = RF_RIGHT_READ | RF_RIGHT_EXEC,
				      .path = "/" };
	if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= (int)sizeof(walk.rest)) {
		ret_view->kind = RF_VIEW_NOTHING;
		return;
	}
	while (take_name(&walk, name, sizeof(name)))
		if (!step(&walk, name, ret_view))
			break;
	if (ret_view->kind == RF_VIEW_NOTHING || ret_view->kind == RF_VIEW_SCRATCH)
		complete(&walk, ret_view);
	if (walk.rest[strspn(walk.rest, "/")] != '\0' && ret_view->kind == RF_VIEW_FOLDER)
		ret_view->kind = RF_VIEW_NOTHING; /* a name longer than any file has */
}
