/* What is odd while a box runs: see alarm.h. */
#include "policy/alarm.h"

#define GIB (1024ULL * 1024 * 1024)

/* clang-format off */
const struct rf_limit_info rf_alarm_table[RF_ALARM_COUNT] = {
	[RF_ALARM_FORKS] =
		{ "forks",  "killed", RF_UNIT_COUNT, true, 1, 1000000000, 1000, 1000,
		  "processes begun or refused in a second that are a fork storm" },
	[RF_ALARM_WRITES] =
		{ "writes", "killed", RF_UNIT_BYTES, true, 1, 1024 * 1024 * GIB, GIB, GIB,
		  "bytes written in a second that are a write storm" },
};
/* clang-format on */

const char *rf_alarm_reaction(enum rf_reaction reaction)
{
	static const char *const names[RF_REACTION_COUNT] = { "record", "freeze", "kill" };

	return names[reaction];
}
