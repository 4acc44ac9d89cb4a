/* A footprint: see footprint.h. */
#include "policy/footprint.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * (size_t)RF_FOOTPRINT_MAX) /* a power of two: half of them stay empty */

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "a hash is cut down to a slot by a mask");

static size_t slot_of(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
	return (size_t)(hash ^ hash >> 32) & (SLOTS - 1);
}

bool rf_footprint_is_granted(const struct rf_place *place)
{
	return place && place->kind == RF_PLACE_HOST && place->rule &&
	       (strcmp(place->rule, "files.read") == 0 || strcmp(place->rule, "files.write") == 0 ||
		strcmp(place->rule, "current") == 0);
}

/* Room for one more; false if there is none. */
static bool make_room(struct rf_footprint *footprint)
{
	size_t room = footprint->room ? 2 * footprint->room : 256;
	struct rf_footprint_step *steps;

	if (!footprint->memory)
		footprint->memory = rf_arena_new();
	if (!footprint->slots)
		footprint->slots = calloc(SLOTS, sizeof(*footprint->slots));
	if (!footprint->memory || !footprint->slots || footprint->count == RF_FOOTPRINT_MAX)
		return false;
	if (footprint->count < footprint->room)
		return true;
	steps = realloc(footprint->steps, room * sizeof(*steps));
	if (!steps)
		return false;
	footprint->steps = steps;
	footprint->room = room;
	return true;
}

void rf_footprint_note(struct rf_footprint *footprint, const char *path, const char *source,
		       unsigned how)
{
	struct rf_footprint_step step = { .how = how };
	size_t slot = slot_of(path);

	for (; footprint->slots && footprint->slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
		struct rf_footprint_step *known = &footprint->steps[footprint->slots[slot] - 1];

		if (strcmp(known->path, path) == 0) {
			known->how |= how;
			return;
		}
	}
	if (make_room(footprint)) {
		step.path = rf_arena_copy(footprint->memory, path);
		step.source = source ? rf_arena_copy(footprint->memory, source) : NULL;
	}
	if (!step.path || (source && !step.source)) {
		footprint->left_out++;
		return;
	}
	footprint->steps[footprint->count++] = step;
	footprint->slots[slot] = (uint32_t)footprint->count;
}

void rf_footprint_done(struct rf_footprint *footprint)
{
	free(footprint->steps);
	free(footprint->slots);
	rf_arena_free(footprint->memory);
	*footprint = (struct rf_footprint){ 0 };
}
