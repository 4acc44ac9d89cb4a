/*
 * Time as the engines of src/watch have it: milliseconds that never go back.
 *
 * The engines make no system call; each operation is told what the monotonic clock says.  Such a
 * clock goes back only where a machine was restored from an image, or where somebody passes the
 * wrong one.  Then time here stands still at that instant and goes on from there, so nothing that
 * has a date is ever in the future by more than was meant.  A leap forward is taken as it is: what
 * is open becomes due sooner, and a single probe finds out.
 */
#ifndef RF_WATCH_CLOCK_H
#define RF_WATCH_CLOCK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/pack.h"

#define RF_CLOCK_NEVER UINT64_MAX
#define RF_CLOCK_BOOT  64 /* bytes of the name of a boot, with its NUL */

struct rf_clock {
	uint64_t now;  /* ours; far from the end of numbers */
	uint64_t seen; /* what the monotonic clock said last */
};

/* Our time when the monotonic clock says `mono_ms`. */
uint64_t rf_clock_at(struct rf_clock *clock, uint64_t mono_ms);

/* `time` and a while later, or never. */
uint64_t rf_clock_after(uint64_t time, uint64_t ms);

/*
 * For a successor: within the same boot (/proc/sys/kernel/random/boot_id) time has gone on
 * meanwhile; in another one the monotonic clock began anew, and time goes on from where it stood.
 * What can't be a time fails the reader.
 */
void rf_clock_pack(const struct rf_clock *clock, const char *boot, struct rf_buf *out);
void rf_clock_unpack(struct rf_clock *clock, const char *boot, uint64_t mono_ms,
		     struct rf_pack_reader *reader);

#endif
