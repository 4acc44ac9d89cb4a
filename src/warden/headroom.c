/* Whether this machine has memory for one more box: see headroom.h. */
#include "warden/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "jail/sample.h"
#include "warden/keep.h"

#define LOOK_NS 500000000ull /* an exact look at all boxes is good for so long */
#define MIB     (1024 * 1024)

bool rf_headroom_fits(uint64_t available, uint64_t margin, uint64_t reserve, uint64_t lacking)
{
	uint64_t left = available > margin ? available - margin : 0;

	return left >= reserve && left - reserve >= lacking;
}

uint64_t rf_headroom_read(const char *meminfo)
{
	static const char label[] = "MemAvailable:";
	const char *at = strstr(meminfo, label);
	unsigned long long kib;
	char *end;

	if (!at || (at != meminfo && at[-1] != '\n'))
		return UINT64_MAX;
	kib = strtoull(at + sizeof(label) - 1, &end, 10);
	return strncmp(end, " kB", 3) == 0 && kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
}

static uint64_t lack_of(const struct client *client, uint64_t reserve)
{
	const struct rf_life *life = &client->work->life;
	struct rf_sample sample = { 0 };

	if (life->box.pid > 0 && !life->has_exited)
		rf_sample_take(&(struct rf_sample_look){ .init = life->box.pid,
							 .has_scratch = true,
							 .exact_above = UINT64_MAX },
			       &sample);
	return sample.memory_bytes < reserve ? reserve - sample.memory_bytes : 0;
}

/* As if no box used anything; or, `is_exact`, by a look at each of them. */
static uint64_t lacking(const struct warden *warden, uint64_t reserve, bool is_exact)
{
	uint64_t sum = 0;

	for (const struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		const struct client *client = (const struct client *)at;

		if (client->work)
			sum += is_exact ? lack_of(client, reserve) : reserve;
	}
	return sum;
}

int rf_headroom_check(struct warden *warden, struct rf_err *err)
{
	const struct rf_wire_own *rules = &warden->owner.rules;
	struct rf_owner *owner = &warden->owner;
	uint64_t now = rf_loop_now(), available;
	char text[4096] = "";

	if (!rules->reserve_bytes ||
	    rf_fd_read_text(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0)
		return 0;
	available = rf_headroom_read(text);
	if (rf_headroom_fits(available, rules->margin_bytes, rules->reserve_bytes,
			     lacking(warden, rules->reserve_bytes, false)))
		return 0;
	if (now - owner->looked_ns > LOOK_NS) {
		owner->lacking = lacking(warden, rules->reserve_bytes, true);
		owner->looked_ns = now;
	}
	if (rf_headroom_fits(available, rules->margin_bytes, rules->reserve_bytes,
			     owner->lacking)) {
		owner->lacking += rules->reserve_bytes; /* until the next look */
		return 0;
	}
	rf_fail_say(err, -EDQUOT, "this machine has no memory for another box: %llu MiB are left",
		    (unsigned long long)(available / MIB));
	return rf_fail_hint(err, "try again when some boxes have ended");
}
