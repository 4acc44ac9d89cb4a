/* A part that strangers ask for: whatever is said and however large the file is, it lies within it. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/range.h"

RF_FUZZ(data, size)
{
	static const uint64_t sizes[] = { 0, 1, 9, 1000, UINT32_MAX, INT64_MAX };
	char text[65] = "";
	struct rf_range range;
	uint64_t first, count;

	memcpy(text, data, size < 64 ? size : 64);
	if (!rf_range_parse(text, &range))
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (rf_range_of(&range, sizes[i], &first, &count) &&
		    (first >= sizes[i] || count == 0 || count > sizes[i] - first))
			abort();
	return 0;
}
