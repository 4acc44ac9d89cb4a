/* What is counted over many runs: see quota.h. */
#include "policy/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEC  1000ULL
#define HOUR (3600 * SEC)
#define DAY  (24 * HOUR)
#define YEAR (365 * DAY)
#define NONE RF_LIMIT_NONE

#define COUNT(key, help)                                                                           \
	{                                                                                          \
		key, "denied", RF_UNIT_COUNT, true, 1, 1000000000, NONE, NONE, help                \
	}

/* clang-format off */
const struct rf_limit_info rf_quota_table[RF_QUOTA_COUNT] = {
	[RF_QUOTA_FAILURES] =
		{ "failures", "denied", RF_UNIT_COUNT,   true,  1,   1000000, 5, 5,
		  "failed runs in a row that open an agent's breaker" },
	[RF_QUOTA_RATE] =
		{ "rate",     "denied", RF_UNIT_PERCENT, true,  1,   100, 50, 50,
		  "failed runs among the last `of` that open it" },
	[RF_QUOTA_OF] =
		{ "of",       "denied", RF_UNIT_COUNT,   false, 1,   1000, 10, 10,
		  "how many of the last runs `rate` looks at" },
	[RF_QUOTA_WITHIN] =
		{ "within",   "denied", RF_UNIT_MS,      false, 1,   DAY, 60 * SEC, 60 * SEC,
		  "how old these may be" },
	[RF_QUOTA_OPEN] =
		{ "open",     "denied", RF_UNIT_MS,      true,  1,   YEAR, 60 * SEC, 60 * SEC,
		  "how long it stays open; none: until somebody resets it" },
	[RF_QUOTA_RUNS_HOUR] = COUNT("runs_per_hour", "runs that an agent may start in an hour"),
	[RF_QUOTA_RUNS_DAY] = COUNT("runs_per_day", "the same in a day"),
	[RF_QUOTA_CPU_HOUR] =
		{ "cpu_per_hour", "denied", RF_UNIT_MS,  true,  1,   YEAR, NONE, NONE,
		  "processor time that an agent's runs may use in an hour" },
	[RF_QUOTA_CPU_DAY] =
		{ "cpu_per_day", "denied", RF_UNIT_MS,   true,  1,   YEAR, NONE, NONE,
		  "the same in a day" },
	[RF_QUOTA_DENIALS_HOUR] = COUNT("denials_per_hour", "denials that an agent's runs may meet in an hour"),
	[RF_QUOTA_DENIALS_DAY] = COUNT("denials_per_day", "the same in a day"),
	[RF_QUOTA_TIMEOUTS_HOUR] = COUNT("timeouts_per_hour", "runs of an agent that may time out in an hour"),
	[RF_QUOTA_TIMEOUTS_DAY] = COUNT("timeouts_per_day", "the same in a day"),
	[RF_QUOTA_REQUESTS_HOUR] = COUNT("requests_per_hour", "requests that an agent's runs may send through the gateway in an hour"),
	[RF_QUOTA_REQUESTS_DAY] = COUNT("requests_per_day", "the same in a day"),
	[RF_QUOTA_BYTES_HOUR] =
		{ "bytes_per_hour", "denied", RF_UNIT_BYTES, true, 1, 1ULL << 50, NONE, NONE,
		  "bytes that they may send and get in an hour" },
	[RF_QUOTA_BYTES_DAY] =
		{ "bytes_per_day", "denied", RF_UNIT_BYTES, true, 1, 1ULL << 50, NONE, NONE,
		  "the same in a day" },
	[RF_QUOTA_MONEY_HOUR] =
		{ "money_per_hour", "denied", RF_UNIT_MONEY, true, 1, RF_QUOTA_MONEY_MOST, NONE, NONE,
		  "what requests with credentials that have a cost may come to in an hour" },
	[RF_QUOTA_MONEY_DAY] =
		{ "money_per_day", "denied", RF_UNIT_MONEY, true, 1, RF_QUOTA_MONEY_MOST, NONE, NONE,
		  "the same in a day" },
};
/* clang-format on */

void rf_quota_format(const struct rf_quotas *quotas, char text[RF_QUOTA_TEXT])
{
	int len = 0;

	for (int i = 0; i < RF_QUOTA_COUNT; i++) {
		uint64_t figure = quotas->figures[i];

		len += figure == RF_LIMIT_NONE
			       ? snprintf(text + len, RF_QUOTA_TEXT - (size_t)len, "-,")
			       : snprintf(text + len, RF_QUOTA_TEXT - (size_t)len, "%" PRIu64 ",",
					  figure);
	}
	snprintf(text + len, RF_QUOTA_TEXT - (size_t)len, "%s",
		 quotas->counts_failures ? "failures" : "limits");
}

/* One figure and the comma behind it; NULL if that is not there. */
static const char *parse_figure(const char *text, const struct rf_limit_info *info,
				uint64_t *ret_figure)
{
	char *end = NULL;

	if (text[0] == '-' && info->may_be_none) {
		*ret_figure = RF_LIMIT_NONE;
		return text[1] == ',' ? text + 2 : NULL;
	}
	if (text[0] < '1' || text[0] > '9') /* none of them may be 0, and there is one spelling */
		return NULL;
	*ret_figure = strtoull(text, &end, 10); /* too great: greater than any figure may be */
	return *end == ',' && *ret_figure >= info->min && *ret_figure <= info->max ? end + 1 : NULL;
}

bool rf_quota_parse(const char *text, struct rf_quotas *ret_quotas)
{
	struct rf_quotas quotas = { 0 };

	for (int i = 0; i < RF_QUOTA_COUNT && text; i++)
		text = parse_figure(text, &rf_quota_table[i], &quotas.figures[i]);
	if (!text || (strcmp(text, "failures") != 0 && strcmp(text, "limits") != 0))
		return false;
	quotas.counts_failures = text[0] == 'f';
	*ret_quotas = quotas;
	return true;
}
