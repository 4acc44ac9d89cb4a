/* How often something was used: see spend.h. */
#include "gateway/spend.h"

#include <string.h>

/* Lets go of slices that are older than the period. */
static void move_on(struct rf_spend *spend, uint64_t slice)
{
	if (slice <= spend->slice)
		return;
	if (slice - spend->slice >= RF_SPEND_SLICES)
		memset(spend->slices, 0, sizeof(spend->slices));
	else
		for (uint64_t s = spend->slice + 1; s <= slice; s++)
			spend->slices[s % RF_SPEND_SLICES] = 0;
	spend->slice = slice;
}

uint64_t rf_spend_take(struct rf_spend *spend, uint64_t budget, uint64_t period_ms, uint64_t now_ms)
{
	uint64_t length = period_ms / (RF_SPEND_SLICES - 1) + 1, used = 0, oldest;

	if (budget == UINT64_MAX)
		return 0;
	move_on(spend, now_ms / length);
	for (int i = 0; i < RF_SPEND_SLICES; i++)
		used += spend->slices[i];
	if (used < budget) {
		spend->slices[spend->slice % RF_SPEND_SLICES]++;
		return 0;
	}
	/* When the first slice goes that has something in it. */
	for (oldest = spend->slice >= RF_SPEND_SLICES ? spend->slice - RF_SPEND_SLICES + 1 : 0;
	     oldest < spend->slice && spend->slices[oldest % RF_SPEND_SLICES] == 0;)
		oldest++;
	return (oldest + RF_SPEND_SLICES) * length - now_ms;
}
