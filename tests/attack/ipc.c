/* Attacks by what processes share: System V objects, message queues, keys, unix sockets. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* ID */
static int read_shared_memory(char **args)
{
	const char *bytes = shmat(atoi(args[0]), NULL, SHM_RDONLY);

	if (bytes == (void *)-1)
		return -errno;
	attack_loot(bytes);
	return 0;
}

/* ID */
static int read_semaphore(char **args)
{
	return attack_result(semctl(atoi(args[0]), 0, GETVAL));
}

/* ID */
static int take_message(char **args)
{
	struct {
		long type;
		char text[200];
	} message = { 0 };

	if (msgrcv(atoi(args[0]), &message, sizeof(message.text) - 1, 0, IPC_NOWAIT) < 0)
		return -errno;
	attack_loot(message.text);
	return 0;
}

/* NAME */
static int open_queue(char **args)
{
	return attack_result(mq_open(args[0], O_RDONLY | O_NONBLOCK));
}

static int talk(const struct sockaddr_un *to, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, len) < 0)
		return -errno;
	return attack_result(send(fd, "overwritten", 11, MSG_NOSIGNAL));
}

/* PATH */
static int unix_path(char **args)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", args[0]);
	return talk(&to, sizeof(to));
}

/* KIND: a pair of sockets that is not bound to stay one */
static int open_pair(char **args)
{
	int pair[2];

	return attack_result(socketpair(AF_UNIX, atoi(args[0]), 0, pair));
}

/* NAME */
static int unix_abstract(char **args)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(args[0]);

	memcpy(to.sun_path + 1, args[0], len);
	return talk(&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

/* NAME: a key in the session's keyring */
static int read_key(char **args)
{
	char text[200] = "";
	long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", args[0], 0);

	if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1) < 0)
		return -errno;
	attack_loot(text);
	return 0;
}

static int add_key(char **args)
{
	(void)args;
	return attack_result(
		syscall(SYS_add_key, "user", "attack", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

/* No attack: the caller that has a key.  NAME SECRET PROGRAM... */
static int hold_key(char **args)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
	    syscall(SYS_add_key, "user", args[0], args[1], strlen(args[1]),
		    KEY_SPEC_SESSION_KEYRING) < 0)
		return -errno;
	execv(args[2], args + 2);
	return -errno;
}

const struct attack attack_ipc[] = {
	{ "sysv-memory", read_shared_memory },
	{ "sysv-semaphore", read_semaphore },
	{ "sysv-message", take_message },
	{ "posix-queue", open_queue },
	{ "unix-path", unix_path },
	{ "unix-abstract", unix_abstract },
	{ "unix-pair", open_pair },
	{ "read-key", read_key },
	{ "add-key", add_key },
	{ "hold-key", hold_key },
	{ NULL, NULL },
};
