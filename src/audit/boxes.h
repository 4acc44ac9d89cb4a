/*
 * Runs that are under way at a place in the log, by the name of their box.
 *
 * A trial run whose requests were held back stays after its end: they are sent later, and are still its own.
 */
#ifndef RF_AUDIT_BOXES_H
#define RF_AUDIT_BOXES_H

#include <stdbool.h>

#include "audit/event.h"

struct rf_boxes_run {
	char box[33]; /* "": the place is free */
	char agent[65];
	uint8_t policy[RF_AUDIT_HASH]; /* all zeros: not told */
	bool is_inside;                /* it started within the period */
	bool has_held;                 /* requests of it were held back */
	bool is_over;                  /* it has ended, and is kept for these */
};

struct rf_boxes;

/* Gives; NULL when memory is gone. */
struct rf_boxes *rf_boxes_new(void);
void rf_boxes_free(struct rf_boxes *boxes);

/* Notes a run that starts; one of the same name that never ended is forgotten. */
void rf_boxes_add(struct rf_boxes *boxes, const struct rf_audit_event *event, bool is_inside);

/* The run of the event's box, or NULL; good until the next call. */
struct rf_boxes_run *rf_boxes_find(struct rf_boxes *boxes, const struct rf_audit_event *event);
void rf_boxes_remove(struct rf_boxes *boxes, struct rf_boxes_run *run);

/* Calls `fn` for each run that has not ended. */
void rf_boxes_each(const struct rf_boxes *boxes,
		   void (*fn)(void *data, const struct rf_boxes_run *run), void *data);
bool rf_boxes_has_failed(const struct rf_boxes *boxes);

#endif
