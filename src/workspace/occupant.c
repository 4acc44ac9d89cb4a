/* Who runs a program in a workspace: see occupant.h. */
#include "workspace/occupant.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define NOTE    "run"
#define ASKED   2 /* how often; a launcher takes the second time for an order */
#define WAIT_MS 3000

/* What tells a process from another one that has its number later, or in another namespace. */
struct identity {
	int pid;
	uint64_t started; /* in ticks since the machine's start */
	uint64_t space;   /* the pid namespace that the number belongs to */
};

static int identify(int pid, struct identity *ret_identity)
{
	char path[48], text[1024];
	const char *at;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (rf_fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0 ||
	    stat("/proc/self/ns/pid", &st) < 0)
		return -ESRCH;
	/* The name in brackets may hold anything; what follows has the 3rd field first and the 22nd is the time. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	*ret_identity = (struct identity){ .pid = pid, .space = st.st_ino };
	if (!at)
		return -ESRCH;
	ret_identity->started = strtoull(at, NULL, 10);
	return 0;
}

int rf_occupant_note(int folder, const char *layer, int top, int64_t began_ns, struct rf_err *err)
{
	RF_AUTO_FD int file =
		openat(folder, NOTE, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct identity self = { 0 };
	char text[160];
	int len, code = file < 0 ? -errno : identify((int)getpid(), &self);

	if (code == 0) {
		len = snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRIu64 " %" PRId64 " %d %s\n",
			       self.pid, self.started, self.space, began_ns, top + 1, layer);
		code = rf_fd_write(file, text, (size_t)len);
	}
	return code < 0 ? rf_fail(err, code, "note who runs in the workspace") : rf_fd_take(&file);
}

void rf_occupant_hold(int note)
{
	while (flock(note, LOCK_EX) < 0 && errno == EINTR)
		;
}

void rf_occupant_leave(int folder, int *note)
{
	rf_occupant_hold(*note);
	unlinkat(folder, NOTE, 0);
	rf_fd_done(note);
}

/* Reads five numbers, each with a space behind it, and a layer. */
static int read_note(int note, struct identity *ret_identity, struct rf_occupant *occupant)
{
	char text[160];
	ssize_t len = pread(note, text, sizeof(text) - 1, 0);
	uint64_t numbers[5];
	char *at = text;

	if (len <= 0 || text[len - 1] != '\n')
		return -ESRCH;
	text[len - 1] = '\0';
	for (size_t i = 0; i < RF_LEN(numbers); i++) {
		char *end;

		errno = 0;
		numbers[i] = strtoull(at, &end, 10);
		if (end == at || errno || *end != ' ')
			return -ESRCH;
		at = end + 1;
	}
	if (numbers[0] == 0 || numbers[0] > INT_MAX || numbers[3] > INT64_MAX ||
	    numbers[4] > INT_MAX || !rf_pool_is_id(at))
		return -ESRCH;
	*ret_identity = (struct identity){ (int)numbers[0], numbers[1], numbers[2] };
	occupant->pid = (pid_t)numbers[0];
	occupant->began_ns = (int64_t)numbers[3];
	occupant->top = (int)numbers[4] - 1;
	memcpy(occupant->layer, at, sizeof(occupant->layer));
	return 0;
}

/* The process that a note names, if it is the one that wrote it; fills what else the note says. */
static int find_writer(int note, struct rf_occupant *occupant)
{
	struct identity noted, there;
	RF_AUTO_FD int pidfd = -1;

	if (note < 0 || read_note(note, &noted, occupant) < 0)
		return -ESRCH;
	pidfd = (int)syscall(SYS_pidfd_open, noted.pid, 0);
	if (pidfd < 0)
		return -ESRCH;
	/* Looked at while it is held: the number can't go to another from here on. */
	if (identify(noted.pid, &there) < 0 || there.started != noted.started ||
	    there.space != noted.space)
		return -ESRCH;
	return rf_fd_take(&pidfd);
}

int rf_occupant_find(int folder)
{
	RF_AUTO_FD int note = openat(folder, NOTE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct rf_occupant ignored;

	return find_writer(note, &ignored);
}

void rf_occupant_init(struct rf_occupant *occupant)
{
	*occupant = (struct rf_occupant){ .note = -1, .pidfd = -1 };
}

int rf_occupant_open(int folder, struct rf_occupant *ret_occupant, struct rf_err *err)
{
	const struct timespec pause = { 0, 20000000 };
	struct stat st;

	rf_occupant_init(ret_occupant);
	ret_occupant->note = openat(folder, NOTE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	for (int waited = 0;
	     ret_occupant->note >= 0 && flock(ret_occupant->note, LOCK_EX | LOCK_NB) < 0;
	     waited += 20) {
		if (errno != EWOULDBLOCK || waited >= WAIT_MS)
			return rf_fail(err, -errno, "lock the note of who runs there");
		nanosleep(&pause, NULL);
	}
	/* Gone meanwhile? */
	if (ret_occupant->note >= 0 && fstat(ret_occupant->note, &st) == 0 && st.st_nlink > 0)
		ret_occupant->pidfd = find_writer(ret_occupant->note, ret_occupant);
	return ret_occupant->pidfd >= 0 ? 0 : rf_fail_say(err, -ESRCH, "no program runs there");
}

void rf_occupant_close(struct rf_occupant *occupant)
{
	rf_fd_done(&occupant->note);
	rf_fd_done(&occupant->pidfd);
}

int rf_occupant_stop(int folder, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int pidfd = rf_occupant_find(folder);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	for (int asked = 0; pidfd >= 0 && asked < ASKED; asked++) {
		if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
			return rf_fail(err, -errno, "end what runs in workspace %s", name);
		if (poll(&end, 1, WAIT_MS) > 0)
			return 0;
	}
	if (pidfd < 0)
		return 0;
	rf_fail_say(err, -EBUSY, "what runs in workspace `%s` does not end", name);
	return rf_fail_hint(err, "`ringfort ps` lists it; `ringfort kill` ends it at once");
}
