/* A box's canaries, watched from outside: see tripwire.h. */
#include "jail/tripwire.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define MOST     64             /* canaries of a box */
#define PATIENCE 10000000000ull /* nanoseconds that walls may take */

/* The child may still be at its walls: the files are there when it has done. */
static int await_walls(const struct rf_box *box, struct rf_err *err)
{
	const volatile struct rf_box_shared *shared = box->shared;
	const struct timespec moment = { 0, 50000 };
	uint64_t until = rf_loop_now() + PATIENCE;

	while (!shared->ready_ns && !shared->has_failed && rf_loop_now() < until &&
	       (kill(box->pid, 0) == 0 || errno != ESRCH))
		nanosleep(&moment, NULL);
	if (shared->ready_ns)
		return 0;
	if (shared->has_failed) /* and has said why */
		*err = box->shared->err;
	else
		rf_fail_say(err, -EIO, "watch canaries: there is no box");
	return err->code;
}

int rf_tripwire_lay(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[4200];
	int wire;

	if (fd < 0)
		return rf_fail(err, -errno, "watch canaries");
	if (await_walls(box, err) < 0)
		return err->code;
	for (size_t i = 0; box->plan->canaries[i]; i++) {
		if (i >= MOST)
			return rf_fail_say(err, -E2BIG, "files.canaries: more than %d", MOST);
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)box->pid,
			 box->plan->canaries[i]);
		wire = inotify_add_watch(fd, path, IN_OPEN | IN_ACCESS | IN_DONT_FOLLOW);
		if (wire < 0)
			return rf_fail(err, -errno, "watch the canary %s", box->plan->canaries[i]);
		box->wires[i] = wire;
	}
	return rf_fd_take(&fd);
}

const char *rf_tripwire_read(const struct rf_box *box)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len;

	/* The end of its file system is told as well; the first that was opened counts. */
	while ((len = read(box->tripwire, room, sizeof(room))) > 0)
		for (ssize_t at = 0; at < len;) {
			const struct inotify_event *event = (const void *)(room + at);

			at += (ssize_t)sizeof(*event) + event->len;
			for (size_t i = 0; i < MOST && box->plan->canaries[i]; i++)
				if (event->mask & (IN_OPEN | IN_ACCESS | IN_Q_OVERFLOW) &&
				    (box->wires[i] == event->wd || event->wd < 0))
					return box->plan->canaries[i];
		}
	return NULL;
}
