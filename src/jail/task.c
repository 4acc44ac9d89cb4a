/* What the launcher says to pid 1 of a kept box: see task.h. */
#include "jail/task.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define FDS 4

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS * sizeof(int))];
};

/* ------------------------------------------------------------- words */

static size_t measure(char *const *words, size_t *count)
{
	size_t len = 0;

	for (; *words; words++, ++*count)
		len += strlen(*words) + 1;
	return len;
}

bool rf_task_fits(const char *workdir, char *const *argv, char *const *env)
{
	size_t argc = 0, envc = 0;
	size_t len = strlen(workdir) + 1 + measure(argv, &argc) + measure(env, &envc);

	return len <= RF_WORDS_BYTES && argc <= RF_WORDS_COUNT && envc <= RF_WORDS_COUNT;
}

static char *put(char *at, const char *word)
{
	size_t len = strlen(word) + 1;

	memcpy(at, word, len);
	return at + len;
}

size_t rf_task_write(struct rf_words *words, const char *workdir, char *const *argv,
		     char *const *env, unsigned umask)
{
	char *at = put(words->text, workdir);

	words->argc = words->envc = 0;
	words->umask = umask;
	for (; *argv; argv++, words->argc++)
		at = put(at, *argv);
	for (; *env; env++, words->envc++)
		at = put(at, *env);
	words->len = (uint32_t)(at - words->text);
	return (size_t)(at - (char *)words);
}

/* ------------------------------------------------------------- tasks */

int rf_task_send(int channel, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd_count > 0) {
		message.msg_control = &control;
		message.msg_controllen = (socklen_t)CMSG_SPACE(fd_count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = (socklen_t)CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, fd_count * sizeof(int));
	}
	do
		n = rf_fd_sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* What pid 1 will hold the streams against. */
static int note_streams(struct rf_task *task, const struct rf_task_program *program)
{
	struct stat st;

	for (int i = 0; i < 3; i++) {
		if (fstat(program->streams[i], &st) < 0)
			return -errno;
		task->stdio_dev[i] = st.st_dev;
		task->stdio_ino[i] = st.st_ino;
	}
	task->terminal_rdev = program->has_terminal ? st.st_rdev : 0;
	return 0;
}

int rf_task_start(int channel, const struct rf_task_program *program, struct rf_err *err)
{
	static struct rf_task task; /* most of it is room for words, which is not cleared */
	int fds[FDS], code;
	size_t len;

	task.kind = RF_TASK_START;
	task.number = program->number;
	task.signal = task.is_for_group = 0;
	task.time_ms = 0;
	task.port = task.rest = 0;
	task.has_terminal = program->has_terminal;
	task.has_program = program->program >= 0;
	code = note_streams(&task, program);
	if (code < 0)
		return rf_fail(err, code, "look at a standard stream");
	if (!rf_task_fits(program->workdir, program->argv, program->env)) {
		rf_fail_say(err, -E2BIG,
			    "arguments and environment are longer than 60 KiB together");
		return rf_fail_hint(err, "write what is long to a file of the box, or to stdin");
	}
	len = offsetof(struct rf_task, words) + rf_task_write(&task.words, program->workdir,
							      program->argv, program->env,
							      program->umask);
	memcpy(fds, program->streams, sizeof(program->streams));
	fds[3] = program->program;
	code = rf_task_send(channel, &task, len, fds, program->program >= 0 ? 4 : 3);
	return code < 0 ? rf_fail(err, code, "tell pid 1 what to run") : 0;
}

static int send_head(int channel, const struct rf_task *task)
{
	return rf_task_send(channel, task, offsetof(struct rf_task, words), NULL, 0);
}

/* The head of a task alone, without room for words on the stack. */
#define HEAD(...)                                                                                  \
	(const struct rf_task *)(const void *)&(const struct head)                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

struct head {
	uint32_t kind, number, signal, is_for_group, has_terminal, has_program, port, rest;
	uint64_t terminal_rdev, stdio_dev[3], stdio_ino[3], time_ms;
};
_Static_assert(sizeof(struct head) == offsetof(struct rf_task, words), "a task's head");

int rf_task_signal(int channel, uint32_t number, int signal, bool is_for_group)
{
	return send_head(channel, HEAD(.kind = RF_TASK_SIGNAL, .number = number,
				       .signal = (uint32_t)signal, .is_for_group = is_for_group));
}

int rf_task_terminal(int channel, uint32_t number)
{
	return send_head(channel, HEAD(.kind = RF_TASK_TERMINAL, .number = number));
}

int rf_task_reach(int channel, uint32_t number, uint16_t port)
{
	return send_head(channel, HEAD(.kind = RF_TASK_REACH, .number = number, .port = port));
}

int rf_task_renew(int channel, uint64_t time_ms)
{
	return send_head(channel, HEAD(.kind = RF_TASK_RENEW, .time_ms = time_ms));
}

int rf_task_freeze(int channel, bool is_frozen)
{
	return send_head(channel, HEAD(.kind = is_frozen ? RF_TASK_FREEZE : RF_TASK_THAW));
}

/* ------------------------------------------------------------- reports */

/* Descriptors that pid 1 does not send are closed: nobody else speaks on the channel, and it is mistrusted all the same. */
static void take_fds(struct msghdr *message, int *ret_fd)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		size_t bytes = part->cmsg_len - CMSG_LEN(0);
		int fd;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(fd) <= bytes; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
			if (*ret_fd < 0)
				*ret_fd = fd;
			else
				close(fd);
		}
	}
}

int rf_task_receive(int channel, struct rf_report *ret_report, int *ret_fd)
{
	union control control;
	struct rf_report report;
	struct iovec part = { .iov_base = &report, .iov_len = sizeof(report) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	RF_AUTO_FD int fd = -1;
	ssize_t n;

	do
		n = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_fds(&message, &fd);
	if (n != (ssize_t)sizeof(report))
		report = (struct rf_report){ 0 }; /* says nothing */
	*ret_report = report;
	*ret_fd = rf_fd_take(&fd);
	return n > 0;
}
