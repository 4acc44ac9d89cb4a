/* Two texts, the first up to a NUL: what is not changed is the same in both, and the hunks are written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "workspace/lines.h"
#include "workspace/unified.h"

static void check(const struct rf_lines *lines)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (i < lines->old.count && lines->old.are_changed[i])
			i++;
		while (k < lines->new.count && lines->new.are_changed[k])
			k++;
		if (i == lines->old.count || k == lines->new.count)
			break;
		if (lines->old.lines[i].len != lines->new.lines[k].len ||
		    memcmp(lines->old.lines[i].text, lines->new.lines[k].text,
			   lines->old.lines[i].len) != 0)
			abort();
		i++;
		k++;
	}
	if (i != lines->old.count || k != lines->new.count)
		abort();
}

RF_FUZZ(data, size)
{
	const char *text = (const char *)data;
	const char *cut = size ? memchr(text, '\0', size) : NULL;
	size_t old_len = cut ? (size_t)(cut - text) : size;
	const char *new = cut ? cut + 1 : text + size;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_lines lines;

	rf_buf_init(&out, 1 << 26);
	if (rf_lines_compare(text, old_len, new, size - (size_t)(new - text), &lines) == 0) {
		check(&lines);
		rf_unified_put(&lines, &out);
		if ((out.len > 0) != (lines.old.changed + lines.new.changed > 0))
			abort();
	}
	rf_lines_done(&lines);
	return 0;
}
