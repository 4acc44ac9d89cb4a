/* Free space of the workspaces' disk: see free-space.h. */
#include "warden/free-space.h"

#include <sys/statvfs.h>

#include "base/err.h"
#include "jail/sample.h"
#include "warden/keep.h"

#define MS      1000000ull /* nanoseconds */
#define SOONEST (10 * MS)  /* between two looks */
#define LATEST  (1000 * MS)
#define BYTES_A_MS                                                                                 \
	(4ull                                                                                      \
	 << 20) /* the most that boxes write in a millisecond, on the fastest disks there are */
#define NEAR  (1ull << 30) /* above the margin: from here on it is noted who writes */
#define STEPS 8            /* parts of the margin */
#define MIB   (1024 * 1024)

uint64_t rf_free_space_margin(const struct warden *warden)
{
	uint32_t mib = warden->owner.rules.disk_mib;

	return mib ? (uint64_t)mib * MIB : RF_FREE_SPACE_MARGIN;
}

uint64_t rf_free_space_pause(uint64_t left, uint64_t margin)
{
	uint64_t pause = left > margin ? (left - margin) / BYTES_A_MS * MS : 0;

	if (pause > LATEST)
		return LATEST;
	return pause < SOONEST ? SOONEST : pause;
}

bool rf_free_space_is_due(uint64_t left, uint64_t margin, uint64_t stopped_at)
{
	if (left >= margin)
		return false;
	return stopped_at == 0 || left + margin / STEPS <= stopped_at;
}

/* True if it is a box that may write to a workspace and still does. */
static bool writes(const struct client *client)
{
	const struct rf_work *work = client->work;

	return work && work->site.held >= 0 && work->life.box.pid > 0 && !work->life.has_exited;
}

/* What is left of the disk; 0 if it can't be asked, and UINT64_MAX where no box is that writes. */
static uint64_t look_at_disk(const struct warden *warden)
{
	uint64_t least = UINT64_MAX;

	for (const struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		const struct client *client = (const struct client *)at;
		struct statvfs fs;
		uint64_t left;

		if (!writes(client))
			continue;
		left = fstatvfs(client->work->site.held, &fs) < 0
			       ? 0
			       : (uint64_t)fs.f_bavail * fs.f_frsize;
		least = left < least ? left : least;
	}
	return least;
}

/* What its processes have written to disks until now, as far as can be seen. */
static uint64_t written_by(struct rf_life *life)
{
	struct rf_sample sample = { 0 };

	rf_sample_take(&(struct rf_sample_look){ .init = life->box.pid,
						 .exact_above = UINT64_MAX,
						 .ended = &life->ended },
		       &sample);
	return sample.written_bytes + (sample.is_init_closed ? life->reaped_bytes : 0);
}

/*
 * Notes what each box has written since the last look.  What was before that fades within a second: one that fills the disk is made to
 * wait by the kernel now and then.  Gives who wrote most, or NULL.
 */
static struct client *find_writer(struct warden *warden)
{
	struct rf_free_space *space = &warden->space;
	uint64_t now = rf_loop_now(), past_ms = (now - space->noted_ns) / MS;
	struct client *writer = NULL;

	space->noted_ns = now;
	for (struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		struct client *client = (struct client *)at;
		struct rf_work *work = client->work;
		uint64_t written;

		if (!writes(client) || work->life.ending.killed_for != RF_LIMIT_COUNT)
			continue;
		written = written_by(&work->life);
		work->recent_bytes -= work->recent_bytes / 1000 * (past_ms < 1000 ? past_ms : 1000);
		if (written > work->written_bytes)
			work->recent_bytes += written - work->written_bytes;
		work->written_bytes = written;
		if (work->recent_bytes &&
		    (!writer || work->recent_bytes > writer->work->recent_bytes))
			writer = client;
	}
	return writer;
}

/* True while one that was ended is not gone yet: what it still writes is nobody else's. */
static bool is_one_ending(const struct warden *warden)
{
	for (const struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		const struct client *client = (const struct client *)at;

		if (writes(client) && client->work->life.ending.killed_for != RF_LIMIT_COUNT)
			return true;
	}
	return false;
}

static void on_look(void *data, int what)
{
	struct warden *warden = data;
	struct rf_free_space *space = &warden->space;
	uint64_t margin = rf_free_space_margin(warden), left = look_at_disk(warden);
	struct client *writer;
	bool was_ending;

	(void)what;
	if (left == UINT64_MAX) {
		rf_free_space_end(warden);
		return;
	}
	if (left >= margin + margin / STEPS) /* what hovers about the margin has not come back */
		space->stopped_at = 0;
	writer = left < margin + NEAR ? find_writer(warden) : NULL;
	/* And once more when it is gone, for what it wrote last. */
	was_ending = space->is_ending;
	space->is_ending = is_one_ending(warden);
	if (left < margin && (space->is_ending || was_ending))
		space->stopped_at = left ? left : 1;
	else if (writer && rf_free_space_is_due(left, margin, space->stopped_at)) {
		space->stopped_at = left ? left : 1;
		rf_result_warn(
			&writer->work->result,
			"the disk that workspaces lie on was nearly full (%llu MiB were left), "
			"and this box wrote most",
			(unsigned long long)(left / MIB));
		rf_life_end_for(&writer->work->life, RF_LIMIT_DISK);
	}
	rf_event_again(space->timer, rf_loop_now() + rf_free_space_pause(left, margin));
}

void rf_free_space_begin(struct warden *warden)
{
	struct rf_err err;

	/* Without memory for a timer there is none for the next box either, which tries again. */
	if (!warden->space.timer)
		rf_loop_timer(warden->loop, rf_loop_now() + SOONEST, on_look, warden,
			      &warden->space.timer, &err);
}

void rf_free_space_end(struct warden *warden)
{
	rf_event_cancel(warden->space.timer);
	warden->space = (struct rf_free_space){ 0 };
}
