/* Attacks on the list of programs: to run one that the policy does not name. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define SHELL "/bin/sh" /* a program that every scene of these attacks names */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* 0 if a program was started and ended by itself; the loader's own failure is an exit with 127. */
static int wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return WEXITSTATUS(status) == 127 ? -ENOEXEC : 0;
}

static int spawn(char **argv)
{
	pid_t pid;
	int code = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);

	return code ? -code : wait_for(pid);
}

/* PATH: a program that is not named */
static int execute(char **args)
{
	return spawn((char *[]){ args[0], NULL });
}

/* PATH: the same, by a descriptor */
static int execute_descriptor(char **args)
{
	int fd = open(args[0], O_PATH | O_CLOEXEC), report[2];
	int code = 0;
	pid_t pid;

	if (fd < 0 || pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		syscall(SYS_execveat, fd, "", (char *[]){ args[0], NULL }, environ, AT_EMPTY_PATH);
		code = errno;
		if (write(report[1], &code, sizeof(code)) < 0)
			_exit(126);
		_exit(127);
	}
	close(report[1]);
	if (read(report[0], &code, sizeof(code)) == (ssize_t)sizeof(code)) {
		wait_for(pid);
		return -code;
	}
	return wait_for(pid);
}

/* LOADER PATH: have the dynamic loader start it */
static int load(char **args)
{
	return spawn((char *[]){ args[0], args[1], NULL });
}

/* Copies the shell into `to`.  Returns 0 or a negative errno. */
static int copy_shell(int to)
{
	int from = open(SHELL, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return -errno;
	for (off_t at = 0; at < st.st_size;)
		if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
			return -errno;
	close(from);
	return 0;
}

/* Writes an executable copy of the shell into `folder` and gives its path. */
static int plant(const char *folder, char path[256])
{
	int fd, code;

	snprintf(path, 256, "%s/planted-XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	code = copy_shell(fd);
	if (code == 0 && fchmod(fd, 0755) < 0)
		code = -errno;
	close(fd);
	return code;
}

/* FOLDER: a program that was just written there */
static int execute_written(char **args)
{
	char path[256];
	int code = plant(args[0], path);

	if (code == 0)
		code = spawn((char *[]){ path, (char[]){ "-c" }, (char[]){ "exit 0" }, NULL });
	unlink(path);
	return code;
}

/* FOLDER LOADER [OTHER]: the same, by the loader; OTHER is another name of FOLDER */
static int load_written(char **args)
{
	char path[256], other[512];
	int code = plant(args[0], path);

	snprintf(other, sizeof(other), "%s%s", args[2] ? args[2] : args[0], strrchr(path, '/'));
	if (code == 0)
		code = spawn(
			(char *[]){ args[1], other, (char[]){ "-c" }, (char[]){ "exit 0" }, NULL });
	unlink(path);
	return code;
}

/* FOLDER: a library that was just written there, as LD_PRELOAD would have it */
static int map_written(char **args)
{
	char path[256];
	int code = plant(args[0], path), fd;
	void *at;

	if (code < 0)
		return code;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return at == MAP_FAILED ? -errno : 0;
}

static int execute_memory(unsigned flags)
{
	int fd = (int)syscall(SYS_memfd_create, "planted", flags), code;
	char path[64];

	if (fd < 0)
		return -errno;
	code = copy_shell(fd);
	fchmod(fd, 0755); /* what a sealed one refuses */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return code < 0 ? code
			: spawn((char *[]){ path, (char[]){ "-c" }, (char[]){ "exit 0" }, NULL });
}

static int execute_memfd(char **args)
{
	(void)args;
	return execute_memory(0);
}

static int execute_open_memfd(char **args)
{
	(void)args;
	return execute_memory(MFD_EXEC);
}

const struct attack attack_programs[] = {
	{ "execute", execute },
	{ "execute-descriptor", execute_descriptor },
	{ "load", load },
	{ "execute-written", execute_written },
	{ "load-written", load_written },
	{ "map-written", map_written },
	{ "execute-memfd", execute_memfd },
	{ "execute-open-memfd", execute_open_memfd },
	{ NULL, NULL },
};
