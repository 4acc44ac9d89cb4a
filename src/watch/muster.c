/* Runs that are under way: see muster.h. */
#include "watch/muster.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "audit/reader.h"
#include "base/fd.h"

#define RUNS_MOST     16384 /* of all clients */
#define SEGMENTS_MOST 64 /* files that are read back; who goes on for longer is not adopted twice */
#define SECOND        1000000000ull
#define SLACK         (2 * SECOND) /* between a process's age and the clock */

struct run {
	struct rf_muster_run what;
	const void *teller;     /* NULL: its launcher is waited for */
	int pidfd;              /* or -1 */
	struct rf_event *event; /* of the pidfd */
	struct rf_muster *muster;
	struct run *next;
};

struct rf_muster {
	struct rf_loop *loop;
	void (*on_lost)(void *data, const struct rf_muster_run *run);
	void *data;
	struct run *runs;
	size_t count;
	char ended[RF_MUSTER_ENDS][33]; /* boxes, in a ring */
	size_t ended_at;
};

/* ------------------------------------------------------------- runs */

static struct run *find(const struct rf_muster *muster, const char *box)
{
	struct run *run = muster->runs;

	while (run && strcmp(run->what.box, box) != 0)
		run = run->next;
	return run;
}

static void release(struct run *run)
{
	rf_event_cancel(run->event);
	rf_fd_done(&run->pidfd);
	free(run);
}

static void drop(struct run *run)
{
	struct run **at = &run->muster->runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	run->muster->count--;
	release(run);
}

static void begin(struct rf_muster *muster, const struct rf_audit_event *event, const void *teller)
{
	struct rf_muster_run what = { .pid = (pid_t)rf_audit_event_get(event, RF_AUDIT_PID),
				      .since_ns = event->time_ns };
	struct run *run;

	rf_audit_event_copy(event, RF_AUDIT_BOX, what.box, sizeof(what.box));
	rf_audit_event_copy(event, RF_AUDIT_AGENT, what.agent, sizeof(what.agent));
	rf_audit_event_copy(event, RF_AUDIT_PROGRAM, what.program, sizeof(what.program));
	rf_audit_event_copy(event, RF_AUDIT_TENANT, what.tenant, sizeof(what.tenant));
	run = find(muster, what.box);
	if (run) { /* told again, on another connection perhaps */
		run->teller = teller;
		return;
	}
	run = muster->count < RUNS_MOST ? calloc(1, sizeof(*run)) : NULL;
	if (!run)
		return; /* its end is told of by itself, if at all */
	*run = (struct run){ .what = what, .teller = teller, .pidfd = -1, .muster = muster };
	run->next = muster->runs;
	muster->runs = run;
	muster->count++;
}

static size_t find_end(const struct rf_muster *muster, const char *box)
{
	size_t i = 0;

	while (i < RF_MUSTER_ENDS && strcmp(muster->ended[i], box) != 0)
		i++;
	return i;
}

/* A box that begins once more will end once more. */
static void forget_end(struct rf_muster *muster, const char *box)
{
	size_t at = box[0] ? find_end(muster, box) : RF_MUSTER_ENDS;

	if (at < RF_MUSTER_ENDS)
		muster->ended[at][0] = '\0';
}

bool rf_muster_has_ended(const struct rf_muster *muster, const char *box)
{
	return box[0] && find_end(muster, box) < RF_MUSTER_ENDS;
}

static void note_end(struct rf_muster *muster, const char *box)
{
	if (rf_muster_has_ended(muster, box))
		return;
	snprintf(muster->ended[muster->ended_at], sizeof(muster->ended[0]), "%s", box);
	muster->ended_at = (muster->ended_at + 1) % RF_MUSTER_ENDS;
}

void rf_muster_hear(struct rf_muster *muster, const struct rf_audit_event *event,
		    const void *teller)
{
	char text[33];
	struct run *run;

	switch (event->kind) {
	case RF_AUDIT_RUN_STARTED:
		rf_audit_event_copy(event, RF_AUDIT_BOX, text, sizeof(text));
		forget_end(muster, text);
		begin(muster, event, teller);
		break;
	case RF_AUDIT_RUN_ENDED:
		rf_audit_event_copy(event, RF_AUDIT_BOX, text, sizeof(text));
		note_end(muster, text);
		run = find(muster, text);
		if (run)
			drop(run);
		break;
	case RF_AUDIT_RECOVERY:
		rf_audit_event_copy(event, RF_AUDIT_VERDICT, text, sizeof(text));
		if (!teller && strcmp(text, RF_MUSTER_ADOPTED) == 0)
			begin(muster, event, NULL);
		break;
	default:
		break;
	}
}

const char *rf_muster_tenant(const struct rf_muster *muster, const char *box)
{
	const struct run *run = find(muster, box);

	return run && run->what.tenant[0] ? run->what.tenant : NULL;
}

/* From here on its connection says whether it lives. */
static void come_back(struct run *run, const void *teller)
{
	rf_event_cancel(run->event);
	run->event = NULL;
	rf_fd_done(&run->pidfd);
	run->teller = teller;
}

bool rf_muster_has(struct rf_muster *muster, const char *box, const void *teller, pid_t pid)
{
	struct run *run = find(muster, box);

	if (run && !run->teller && run->pidfd >= 0 && run->what.pid == pid)
		come_back(run, teller);
	return run && run->teller == teller;
}

/* ------------------------------------------------------------- launchers */

static void lose(struct run *run)
{
	const struct rf_muster_run what = run->what;
	struct rf_muster *muster = run->muster;

	drop(run);
	note_end(muster, what.box);
	muster->on_lost(muster->data, &what);
}

static void on_gone(void *data, int what)
{
	(void)what;
	lose(data);
}

/* When a process began, since 1970; 0 if nobody can say. */
static uint64_t birth_of(pid_t pid)
{
	char path[32], text[1024];
	const char *at;
	struct timespec wall, up;
	uint64_t ticks = 0;
	int skip = 20; /* fields, from behind the name on, that stand before its begin */

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')'); /* the name may have anything in it */
	while (at && skip-- > 0)
		at = strchr(at + 1, ' ');
	if (at)
		ticks = strtoull(at + 1, NULL, 10);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return (uint64_t)wall.tv_sec * SECOND - (uint64_t)up.tv_sec * SECOND +
	       ticks * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* True if the launcher lives and is waited for.  One that began after its run has a dead one's number. */
static bool hold(struct run *run)
{
	struct rf_err ignored = RF_ERR_INIT;

	if (run->what.pid <= 0)
		return false;
	run->pidfd = (int)syscall(SYS_pidfd_open, run->what.pid, 0);
	if (run->pidfd < 0)
		return false;
	fcntl(run->pidfd, F_SETFD, FD_CLOEXEC);
	return birth_of(run->what.pid) <= run->what.since_ns + SLACK &&
	       rf_loop_watch(run->muster->loop, run->pidfd, RF_LOOP_READ, on_gone, run, &run->event,
			     &ignored) == 0;
}

void rf_muster_leave(struct rf_muster *muster, const void *teller, pid_t pid)
{
	for (struct run *run = muster->runs, *next; run; run = next) {
		next = run->next;
		if (run->teller != teller)
			continue;
		run->teller = NULL;
		run->what.pid = pid;
		if (!hold(run))
			lose(run);
	}
}

void rf_muster_take_over(struct rf_muster *muster,
			 void (*on_kept)(void *data, const struct rf_muster_run *run))
{
	for (struct run *run = muster->runs, *next; run; run = next) {
		next = run->next;
		if (hold(run))
			on_kept(muster->data, &run->what);
		else
			lose(run);
	}
}

/* ------------------------------------------------------------- the log */

/* The kind of an encoded event is its second number; most are of no interest here. */
static bool is_begin(const struct rf_frame *frame)
{
	return frame->type == RF_FRAME_EVENT && frame->payload_len >= 4 &&
	       frame->payload[2] == RF_AUDIT_WATCH_STARTED && frame->payload[3] == 0;
}

static bool has_begin(int dir, uint64_t number, struct rf_err *err)
{
	struct rf_segment segment = { 0 };
	struct rf_frame frame;
	bool has = false;

	if (rf_segment_map(dir, number, &segment, err) < 0)
		return false;
	for (size_t at = 0; !has && at < segment.len; at += frame.length) {
		if (rf_frame_parse(segment.data + at, segment.len - at, &frame) != RF_FRAME_WHOLE)
			break;
		has = is_begin(&frame);
	}
	rf_segment_done(&segment);
	return has;
}

/* The last file in which a watcher began; the first that there is, if none did. */
static int find_begin(int dir, uint64_t *ret_number, struct rf_err *err)
{
	struct rf_err ignored;
	uint64_t *numbers = NULL;
	size_t count = 0, at;

	if (rf_segment_list(dir, &numbers, &count, err) < 0)
		return err->code;
	at = count;
	while (at > 0 && count - at < SEGMENTS_MOST) {
		at--;
		ignored = RF_ERR_INIT;
		if (has_begin(dir, numbers[at], &ignored))
			break;
	}
	*ret_number = count > 0 ? numbers[at] : 0;
	free(numbers);
	return 0;
}

int rf_muster_read(struct rf_muster *muster, int dir, struct rf_muster_past *ret_past,
		   struct rf_err *err)
{
	struct rf_audit_event event;
	struct rf_reader reader;
	uint64_t number = 0;
	int code;

	*ret_past = (struct rf_muster_past){ 0 };
	if (find_begin(dir, &number, err) < 0)
		return err->code;
	rf_reader_init(&reader, dir);
	code = number > 0 ? rf_segment_map(dir, number, &reader.segment, err) : 0;
	while (code >= 0 && (code = rf_reader_next(&reader, &event, err)) > 0) {
		if (event.kind == RF_AUDIT_WATCH_STARTED)
			ret_past->killed = (pid_t)rf_audit_event_get(&event, RF_AUDIT_PID);
		else if (event.kind == RF_AUDIT_WATCH_ENDED)
			ret_past->killed = 0;
		rf_muster_hear(muster, &event, NULL);
	}
	rf_reader_done(&reader);
	return code;
}

/* ------------------------------------------------------------- the whole */

int rf_muster_new(struct rf_loop *loop,
		  void (*on_lost)(void *data, const struct rf_muster_run *run), void *data,
		  struct rf_muster **ret_muster, struct rf_err *err)
{
	struct rf_muster *muster = calloc(1, sizeof(*muster));

	if (!muster)
		return rf_fail(err, -ENOMEM, "runs that are under way");
	*muster = (struct rf_muster){ .loop = loop, .on_lost = on_lost, .data = data };
	*ret_muster = muster;
	return 0;
}

void rf_muster_free(struct rf_muster *muster)
{
	if (!muster)
		return;
	for (struct run *run = muster->runs, *next; run; run = next) {
		next = run->next;
		release(run);
	}
	free(muster);
}
