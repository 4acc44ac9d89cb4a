/* What was applied: see apply-said.h. */
#include "server/apply-said.h"

#include <errno.h>
#include <string.h>

#include "http/span.h"

/* A record, and where the next one begins; NULL: there is none that ends. */
static const char *take(const char **at, const char *end)
{
	const char *record = *at;
	const char *nul = record < end ? memchr(record, '\0', (size_t)(end - record)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return record;
}

int rf_apply_said_read(const char *data, size_t len, struct rf_apply_said *ret_said,
		       struct rf_err *err)
{
	static const char *const words[RF_APPLY_SAID_FIGURES] = { "point ", "added ", "modified ",
								  "deleted ", "conflicts " };
	struct rf_apply_said said = { .at = data, .end = data ? data + len : NULL };

	for (size_t i = 0; i < RF_APPLY_SAID_FIGURES; i++) {
		const char *record = said.at ? take(&said.at, said.end) : NULL;
		unsigned long long number;

		if (!record || strncmp(record, words[i], strlen(words[i])) != 0 ||
		    rf_span_number(rf_span_of(record + strlen(words[i])), INT64_MAX, &number) < 0)
			return rf_fail_say(err, -EBADMSG, "what was applied is not known");
		said.figures[i] = number;
	}
	*ret_said = said;
	return 0;
}

bool rf_apply_said_next(struct rf_apply_said *said, struct rf_apply_said_path *ret_path)
{
	const char *record = take(&said->at, said->end);

	if (!record || !record[0] || !strchr("AMDC", record[0]) || record[1] != ' ' || !record[2])
		return false;
	*ret_path = (struct rf_apply_said_path){ record[0], record + 2 };
	return true;
}
