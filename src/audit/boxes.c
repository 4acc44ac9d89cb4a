/* Runs that are under way: see boxes.h.  A table with open addressing, at most half full. */
#include "audit/boxes.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 256 /* places; a power of two, as ever */

struct rf_boxes {
	struct rf_boxes_run *runs;
	size_t room, used;
	bool has_failed;
};

struct rf_boxes *rf_boxes_new(void)
{
	struct rf_boxes *boxes = calloc(1, sizeof(*boxes));

	if (boxes)
		boxes->runs = calloc(FIRST, sizeof(*boxes->runs));
	if (!boxes || !boxes->runs) {
		free(boxes);
		return NULL;
	}
	boxes->room = FIRST;
	return boxes;
}

void rf_boxes_free(struct rf_boxes *boxes)
{
	if (boxes)
		free(boxes->runs);
	free(boxes);
}

static size_t home_of(const struct rf_boxes *boxes, const char *box)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *box; box++)
		hash = (hash ^ (unsigned char)*box) * 0x100000001b3;
	return (size_t)(hash ^ hash >> 32) & (boxes->room - 1);
}

/* Where the box is, or would be. */
static struct rf_boxes_run *place_of(const struct rf_boxes *boxes, const char *box)
{
	size_t at = home_of(boxes, box);

	while (boxes->runs[at].box[0] && strcmp(boxes->runs[at].box, box) != 0)
		at = (at + 1) & (boxes->room - 1);
	return &boxes->runs[at];
}

static void grow(struct rf_boxes *boxes)
{
	struct rf_boxes more = { .room = 2 * boxes->room, .used = boxes->used };

	more.runs = calloc(more.room, sizeof(*more.runs));
	if (!more.runs) {
		boxes->has_failed = true;
		return;
	}
	for (size_t i = 0; i < boxes->room; i++)
		if (boxes->runs[i].box[0])
			*place_of(&more, boxes->runs[i].box) = boxes->runs[i];
	free(boxes->runs);
	*boxes = more;
}

void rf_boxes_add(struct rf_boxes *boxes, const struct rf_audit_event *event, bool is_inside)
{
	struct rf_boxes_run run = { .is_inside = is_inside }, *place;

	if (2 * (boxes->used + 1) > boxes->room)
		grow(boxes);
	if (boxes->has_failed)
		return;
	rf_audit_event_copy(event, RF_AUDIT_BOX, run.box, sizeof(run.box));
	rf_audit_event_copy(event, RF_AUDIT_AGENT, run.agent, sizeof(run.agent));
	if (rf_audit_event_has(event, RF_AUDIT_POLICY))
		memcpy(run.policy, event->values[RF_AUDIT_POLICY].text, sizeof(run.policy));
	place = place_of(boxes, run.box);
	boxes->used += !place->box[0];
	*place = run;
}

struct rf_boxes_run *rf_boxes_find(struct rf_boxes *boxes, const struct rf_audit_event *event)
{
	struct rf_boxes_run *place;
	char box[33];

	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	place = box[0] ? place_of(boxes, box) : NULL;
	return place && place->box[0] ? place : NULL;
}

/* Those behind it move up, so that each is still found from its own place. */
void rf_boxes_remove(struct rf_boxes *boxes, struct rf_boxes_run *run)
{
	size_t mask = boxes->room - 1, hole = (size_t)(run - boxes->runs), at = hole;

	for (at = (at + 1) & mask; boxes->runs[at].box[0]; at = (at + 1) & mask) {
		size_t home = home_of(boxes, boxes->runs[at].box);

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			boxes->runs[hole] = boxes->runs[at];
			hole = at;
		}
	}
	boxes->runs[hole].box[0] = '\0';
	boxes->used--;
}

void rf_boxes_each(const struct rf_boxes *boxes,
		   void (*fn)(void *data, const struct rf_boxes_run *run), void *data)
{
	for (size_t i = 0; i < boxes->room; i++)
		if (boxes->runs[i].box[0] && !boxes->runs[i].is_over)
			fn(data, &boxes->runs[i]);
}

bool rf_boxes_has_failed(const struct rf_boxes *boxes)
{
	return boxes->has_failed;
}
