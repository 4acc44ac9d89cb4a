/* What a box says of its files: whatever it is, the same changes are told however it is cut. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/vigil.h"

struct sum {
	uint64_t hash;
	int looks;
};

static void on_change(void *data, enum rf_vigil_change change, const char *path, const char *from,
		      char type)
{
	struct sum *sum = data;

	sum->hash = sum->hash * 31 + (uint64_t)change * 7 + (uint8_t)type + strlen(path) +
		    (from ? strlen(from) * 3 : 0);
	if ((change == RF_VIGIL_RENAMED) != (from != NULL))
		abort();
}

static void feed(const uint8_t *data, size_t size, size_t piece, struct sum *sum)
{
	struct rf_vigil *vigil = rf_vigil_new(on_change, sum);

	*sum = (struct sum){ 0 };
	for (size_t at = 0; vigil && at < size; at += piece) {
		int got = rf_vigil_feed(vigil, (const char *)data + at,
					size - at < piece ? size - at : piece);

		if (got < 0) {
			sum->hash = 1;
			sum->looks = -1;
			break;
		}
		sum->looks += got;
	}
	rf_vigil_free(vigil);
}

RF_FUZZ(data, size)
{
	struct sum whole, parts;

	feed(data, size, size + 1, &whole);
	feed(data, size, 3, &parts);
	if (whole.looks != parts.looks || whole.hash != parts.hash)
		abort();
	return 0;
}
