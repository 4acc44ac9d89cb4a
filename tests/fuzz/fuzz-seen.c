/* What a workspace saw: what is read is written and read again as the same, and no path leads out of the tree. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "workspace/seen.h"

static void check_paths(const struct rf_seen_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *path = list->items[i].path;

		if (!*path || *path == '/' || strcmp(path, "..") == 0 ||
		    strncmp(path, "../", 3) == 0 || strstr(path, "/../"))
			abort();
		if (i > 0 && strcmp(list->items[i - 1].path, path) >= 0)
			abort();
	}
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf once, twice;
	struct rf_seen_list list;
	struct rf_err err = RF_ERR_INIT;
	int code = rf_seen_parse((const char *)data, size, &list, &err);

	rf_buf_init(&once, 1 << 24);
	rf_buf_init(&twice, 1 << 24);
	check_paths(&list);
	if (code == 0) {
		rf_seen_format(&list, &once);
		rf_seen_done(&list);
		if (rf_seen_parse(once.data ? once.data : "", once.len, &list, &err) < 0)
			abort();
		rf_seen_format(&list, &twice);
		if (once.len != twice.len ||
		    (once.data && twice.data && memcmp(once.data, twice.data, once.len) != 0))
			abort();
	}
	rf_seen_done(&list);
	return 0;
}
