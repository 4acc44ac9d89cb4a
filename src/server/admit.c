/* Who may begin something now: see admit.h. */
#include "server/admit.h"

#define MINUTE 60000000000ull
#define SECOND 1000000000ull

/* A tenth of a minute's worth may come at once, and at least ten. */
void rf_admit_init(struct rf_admit *admit, uint32_t most, uint32_t rate)
{
	uint64_t burst = rate / 10 > 10 ? rate / 10 : 10;

	*admit = (struct rf_admit){ .most = most, .every_ns = rate ? MINUTE / rate : 0 };
	admit->burst_ns = admit->every_ns * (burst < rate ? burst : rate);
}

bool rf_admit_enter(struct rf_admit *admit)
{
	if (admit->now >= admit->most)
		return false;
	admit->now++;
	return true;
}

void rf_admit_leave(struct rf_admit *admit)
{
	admit->now--;
}

uint32_t rf_admit_pace(struct rf_admit *admit, uint64_t now_ns)
{
	uint64_t next = admit->next_ns > now_ns ? admit->next_ns : now_ns;

	if (admit->every_ns == 0)
		return 0;
	if (next + admit->every_ns - now_ns > admit->burst_ns)
		return (uint32_t)((next + admit->every_ns - now_ns - admit->burst_ns + SECOND - 1) /
				  SECOND);
	admit->next_ns = next + admit->every_ns;
	return 0;
}
