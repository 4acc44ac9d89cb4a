/* What is odd about a run: see anomaly.h. */
#include "watch/anomaly.h"

#include <stdbool.h>
#include <string.h>

#include "base/fd.h"

static bool has_forked(const struct rf_anomaly_facts *facts)
{
	return strcmp(facts->verdict, "pids") == 0;
}

static bool has_written(const struct rf_anomaly_facts *facts)
{
	return strcmp(facts->verdict, "disk") == 0 || strcmp(facts->verdict, "output") == 0;
}

static bool has_tried(const struct rf_anomaly_facts *facts)
{
	return facts->denials >= RF_ANOMALY_DENIALS;
}

static bool has_hammered(const struct rf_anomaly_facts *facts)
{
	return facts->refused > 0 && facts->refused % RF_ANOMALY_REFUSED == 0;
}

/* clang-format off */
static const struct rule {
	struct rf_anomaly anomaly;
	bool (*is_so)(const struct rf_anomaly_facts *facts);
} rules[] = {
	{ { "fork_storm",   "high",   "a run made more processes than it may have" },        has_forked },
	{ { "write_storm",  "high",   "a run wrote until its disk or its output was full" }, has_written },
	{ { "denial_storm", "medium", "a run tried what it may not, again and again" },      has_tried },
	{ { "hammering",    "medium", "an agent is refused and asks again and again" },      has_hammered },
};
/* clang-format on */

size_t rf_anomaly_find(const struct rf_anomaly_facts *facts, const struct rf_anomaly **found,
		       size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < RF_LEN(rules) && count < size; i++)
		if (rules[i].is_so(facts))
			found[count++] = &rules[i].anomaly;
	return count;
}
