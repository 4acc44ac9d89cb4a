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
#include <sys/stat.h>
#include <sys/syscall.h>
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

int rf_occupant_note(int folder, struct rf_err *err)
{
	RF_AUTO_FD int file =
		openat(folder, NOTE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct identity self = { 0 };
	char text[96];
	int len, code = file < 0 ? -errno : identify((int)getpid(), &self);

	if (code == 0) {
		len = snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRIu64 "\n", self.pid,
			       self.started, self.space);
		code = rf_fd_write(file, text, (size_t)len);
	}
	return code < 0 ? rf_fail(err, code, "note who runs in the workspace") : 0;
}

void rf_occupant_leave(int folder)
{
	unlinkat(folder, NOTE, 0);
}

/* Reads three numbers, each with the byte behind it. */
static int read_note(int folder, struct identity *ret_identity)
{
	char text[96];
	uint64_t numbers[3];
	char *at = text;

	if (rf_fd_read_text(folder, NOTE, text, sizeof(text)) < 0)
		return -ESRCH;
	for (size_t i = 0; i < RF_LEN(numbers); i++) {
		char *end;

		errno = 0;
		numbers[i] = strtoull(at, &end, 10);
		if (end == at || errno || *end != (i < RF_LEN(numbers) - 1 ? ' ' : '\n'))
			return -ESRCH;
		at = end + 1;
	}
	if (numbers[0] == 0 || numbers[0] > INT_MAX)
		return -ESRCH;
	*ret_identity = (struct identity){ (int)numbers[0], numbers[1], numbers[2] };
	return 0;
}

int rf_occupant_find(int folder)
{
	struct identity noted, there;
	RF_AUTO_FD int pidfd = -1;

	if (read_note(folder, &noted) < 0)
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
