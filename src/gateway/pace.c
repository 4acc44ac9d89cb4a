/* How much, and how fast: see pace.h. */
#include "gateway/pace.h"

#define SECOND 1000000000ull
#define LEAST  4096 /* bytes that a bucket can hold at least, so that something passes */

void rf_pace_rate_init(struct rf_pace_rate *rate, uint64_t count, uint64_t period_ns,
		       uint64_t burst)
{
	*rate = (struct rf_pace_rate){ 0 };
	if (count == 0)
		return;
	rate->step_ns = period_ns / count ? period_ns / count : 1;
	if (burst > 1 && rate->step_ns > UINT64_MAX / 4 / (burst - 1))
		burst = UINT64_MAX / 4 / rate->step_ns;
	rate->slack_ns = burst > 1 ? rate->step_ns * (burst - 1) : 0;
}

uint64_t rf_pace_rate_take(struct rf_pace_rate *rate, uint64_t now_ns)
{
	uint64_t next = rate->next_ns > now_ns ? rate->next_ns : now_ns;

	if (rate->step_ns == 0)
		return 0;
	if (next - now_ns > rate->slack_ns)
		return next - now_ns - rate->slack_ns;
	rate->next_ns = next + rate->step_ns;
	return 0;
}

void rf_pace_bytes_init(struct rf_pace_bytes *bytes, uint64_t rate, uint64_t now_ns)
{
	uint64_t most = rate / 10 < LEAST ? LEAST : rate / 10;

	*bytes = (struct rf_pace_bytes){ rate, most, (int64_t)most, now_ns };
}

static void refill(struct rf_pace_bytes *bytes, uint64_t now_ns)
{
	uint64_t passed = now_ns > bytes->at_ns ? now_ns - bytes->at_ns : 0, gain;

	if (passed > 10 * SECOND) /* it is full by then, whatever it was overdrawn by */
		passed = 10 * SECOND;
	gain = bytes->rate / SECOND * passed + bytes->rate % SECOND * passed / SECOND;
	if (gain == 0)
		return; /* the time counts for the next look */
	bytes->at_ns = now_ns;
	bytes->level = bytes->level + (int64_t)gain > (int64_t)bytes->most
			       ? (int64_t)bytes->most
			       : bytes->level + (int64_t)gain;
}

size_t rf_pace_bytes_room(struct rf_pace_bytes *bytes, size_t want, uint64_t now_ns,
			  uint64_t *ret_wait_ns)
{
	uint64_t enough;

	*ret_wait_ns = 0;
	if (bytes->rate == 0)
		return want;
	refill(bytes, now_ns);
	/* Many small pieces would cost more than they carry: half a bucket is worth a turn. */
	enough = bytes->most / 2 < want ? bytes->most / 2 : want;
	if (bytes->level > 0 && (uint64_t)bytes->level >= enough)
		return (uint64_t)bytes->level < want ? (size_t)bytes->level : want;
	*ret_wait_ns = (uint64_t)((int64_t)enough - bytes->level) * (SECOND / 1000) /
			       ((bytes->rate + 999) / 1000) +
		       1000000;
	return 0;
}

void rf_pace_bytes_spend(struct rf_pace_bytes *bytes, size_t len)
{
	if (bytes->rate > 0)
		bytes->level -= (int64_t)len;
}
