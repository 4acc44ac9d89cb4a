/* Time that never goes back: see clock.h. */
#include "watch/clock.h"

#include <string.h>

#define LAST (RF_CLOCK_NEVER / 2) /* behind it a sum could pass the end of numbers */

uint64_t rf_clock_at(struct rf_clock *clock, uint64_t mono_ms)
{
	uint64_t passed = mono_ms > clock->seen ? mono_ms - clock->seen : 0;

	clock->now = passed < LAST - clock->now ? clock->now + passed : LAST;
	clock->seen = mono_ms;
	return clock->now;
}

uint64_t rf_clock_after(uint64_t time, uint64_t ms)
{
	return ms >= RF_CLOCK_NEVER - time ? RF_CLOCK_NEVER : time + ms;
}

void rf_clock_pack(const struct rf_clock *clock, const char *boot, struct rf_buf *out)
{
	rf_pack_string(out, boot);
	rf_pack_u64(out, clock->now);
	rf_pack_u64(out, clock->seen);
}

void rf_clock_unpack(struct rf_clock *clock, const char *boot, uint64_t mono_ms,
		     struct rf_pack_reader *reader)
{
	const char *then = rf_pack_read_string(reader, RF_CLOCK_BOOT);

	clock->now = rf_pack_read_u64(reader);
	clock->seen = rf_pack_read_u64(reader);
	if (clock->now > LAST) {
		reader->has_failed = true;
		clock->now = 0;
	}
	if (strcmp(then, boot) != 0)
		clock->seen = mono_ms;
	rf_clock_at(clock, mono_ms);
}
