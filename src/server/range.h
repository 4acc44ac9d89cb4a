/*
 * The part of a file that a request asks for (Range: bytes=...), as RFC 9110 has it.  Pure.
 */
#ifndef RF_SERVER_RANGE_H
#define RF_SERVER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* From `first` to `last`, UINT64_MAX being the end; or the last `suffix` bytes. */
struct rf_range {
	uint64_t first, last, suffix;
	bool is_suffix;
};

/* False for none, for several at once and for what is no range: then the file is given as a whole. */
bool rf_range_parse(const char *text, struct rf_range *ret_range);

/* Which bytes these are of a file of `size`; false if it has none of them. */
bool rf_range_of(const struct rf_range *range, uint64_t size, uint64_t *ret_first,
		 uint64_t *ret_count);

#endif
