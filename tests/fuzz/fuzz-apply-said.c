/* What a script says that it has applied: figures and paths, all within what was said. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/apply-said.h"

RF_FUZZ(data, size)
{
	const char *text = (const char *)data;
	struct rf_apply_said said;
	struct rf_apply_said_path path;
	struct rf_err err = RF_ERR_INIT;

	if (rf_apply_said_read(text, size, &said, &err) < 0)
		return 0;
	while (rf_apply_said_next(&said, &path))
		if (path.path < text || path.path + strlen(path.path) >= text + size)
			abort();
	return 0;
}
