/* Attacks on what is hidden in a shown tree: moved, linked, uncovered, replaced, looked at. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define EXCHANGE 2

/* PATH: by a second name beside it */
static int read_second_name(char **args)
{
	char other[4096];

	snprintf(other, sizeof(other), "%s-second", args[0]);
	if (link(args[0], other) < 0)
		return -errno;
	return attack_read(open(other, O_RDONLY));
}

/* PATH: by another name in its place */
static int read_renamed(char **args)
{
	char other[4096];

	snprintf(other, sizeof(other), "%s-renamed", args[0]);
	if (rename(args[0], other) < 0)
		return -errno;
	return attack_read(open(other, O_RDONLY));
}

/* FOLDER NAME: moves the folder, and reads what was in it */
static int read_moved_folder(char **args)
{
	char other[4000], path[4096];

	snprintf(other, sizeof(other), "%s-moved", args[0]);
	if (rename(args[0], other) < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s", other, args[1]);
	return attack_read(open(path, O_RDONLY));
}

/* PATH: exchanged with a file of ours */
static int read_exchanged(char **args)
{
	char other[4096];

	snprintf(other, sizeof(other), "%s-other", args[0]);
	close(open(other, O_WRONLY | O_CREAT, 0644));
	if (syscall(SYS_renameat2, AT_FDCWD, args[0], AT_FDCWD, other, EXCHANGE) < 0)
		return -errno;
	return attack_read(open(other, O_RDONLY));
}

/* PATH: without what lies over it */
static int read_uncovered(char **args)
{
	if (syscall(SYS_umount2, args[0], 2 /* MNT_DETACH */) < 0)
		return -errno;
	return attack_read(open(args[0], O_RDONLY));
}

/* FOLDER NAME: while the folder is exchanged with another, again and again */
static int read_moving(char **args)
{
	char other[4000], path[4096];
	int code = -ENODATA;
	pid_t pid;

	snprintf(other, sizeof(other), "%s-moving", args[0]);
	snprintf(path, sizeof(path), "%s/%s", args[0], args[1]);
	mkdir(other, 0755);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			syscall(SYS_renameat2, AT_FDCWD, args[0], AT_FDCWD, other, EXCHANGE);
	}
	for (clock_t end = clock() + CLOCKS_PER_SEC / 4; code < 0 && clock() < end;)
		if (attack_read(open(path, O_RDONLY)) == 0)
			code = 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return code < 0 ? -EACCES : 0;
}

/* PATH: into a file of ours, by the kernel's own copying */
static int copy_within_kernel(char **args)
{
	int from = open(args[0], O_RDONLY), to = open(".", O_TMPFILE | O_RDWR, 0600);

	if (from < 0 || to < 0 || copy_file_range(from, NULL, to, NULL, 4096, 0) < 0 ||
	    lseek(to, 0, SEEK_SET) < 0)
		return -errno;
	return attack_read(to);
}

const struct attack attack_hidden[] = {
	{ "read-second-name", read_second_name },     { "read-renamed", read_renamed },
	{ "read-moved-folder", read_moved_folder },   { "read-exchanged", read_exchanged },
	{ "read-uncovered", read_uncovered },         { "read-moving", read_moving },
	{ "copy-within-kernel", copy_within_kernel }, { NULL, NULL },
};
