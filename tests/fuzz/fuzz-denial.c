/*
 * Audit records, a line each behind its type: whatever they say, what is listed is ours, fits, is
 * listed once, and can be shown.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "jail/denial.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_text(const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);

	require(end && rf_json_is_utf8(text, (size_t)(end - text)));
	for (; text < end; text++)
		require((unsigned char)*text >= ' ' && *text != 0x7f);
}

RF_FUZZ(data, size)
{
	struct rf_denials *denials = calloc(1, sizeof(*denials));
	const char *at = (const char *)data, *end = at + size;

	require(denials);
	denials->uid = 1879071176;
	denials->has_commands = size % 2;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);
		unsigned type = 0;
		size_t start = 0;

		for (; start < len && start < 4 && at[start] >= '0' && at[start] <= '9'; start++)
			type = type * 10 + (unsigned)(at[start] - '0');
		if (start < len)
			start++;
		rf_denial_take(denials, type, at + start, len - start);
		at += len + (line_end ? 1 : 0);
	}
	require(denials->count <= RF_DENIAL_MAX);
	require(denials->more == 0 || denials->count == RF_DENIAL_MAX);
	for (size_t i = 0; i < denials->count; i++) {
		const struct rf_denial *row = &denials->rows[i];

		require(row->kind && row->what[0] && row->rule[0]);
		require_text(row->what, sizeof(row->what));
		require_text(row->rule, sizeof(row->rule));
		require_text(row->remedy, sizeof(row->remedy));
		require(strcmp(row->kind, "syscall") == 0 || denials->domain != 0);
		for (size_t k = 0; k < i; k++)
			require(strcmp(denials->rows[k].kind, row->kind) != 0 ||
				strcmp(denials->rows[k].what, row->what) != 0 ||
				strcmp(denials->rows[k].rule, row->rule) != 0);
	}
	free(denials);
	return 0;
}
