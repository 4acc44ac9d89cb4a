/* The files of an audit log: NUMBER.log, from 1 on, each a row of records. */
#ifndef RF_AUDIT_SEGMENT_H
#define RF_AUDIT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RF_SEGMENT_FOLDER "audit" /* in $STATE */
#define RF_SEGMENT_NAME   32      /* bytes of a file's name */

/* A file where it lies in memory; its bytes can grow meanwhile, but these stay. */
struct rf_segment {
	uint64_t number;
	const uint8_t *data; /* NULL if it is empty */
	size_t len;
};

void rf_segment_name(uint64_t number, char name[RF_SEGMENT_NAME]);

/* The numbers of all files in `dir`, in order; gives an array, to be freed with free(). */
int rf_segment_list(int dir, uint64_t **ret_numbers, size_t *ret_count, struct rf_err *err);

/* Maps one; to be ended with rf_segment_done(), which also accepts one that never was. */
int rf_segment_map(int dir, uint64_t number, struct rf_segment *ret_segment, struct rf_err *err);
void rf_segment_done(struct rf_segment *segment);

#endif
