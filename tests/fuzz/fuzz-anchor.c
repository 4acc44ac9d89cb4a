/* A line of an anchor: what is taken for one is written in the same way again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "audit/anchor.h"
#include "replay.h"

RF_FUZZ(data, size)
{
	struct rf_anchor_line line, again;
	char text[RF_ANCHOR_LINE];

	if (!rf_anchor_parse((const char *)data, size, &line))
		return 0;
	if (!rf_anchor_parse(text, rf_anchor_format(&line, text), &again) ||
	    memcmp(&line, &again, sizeof(line)) != 0)
		abort();
	return 0;
}
