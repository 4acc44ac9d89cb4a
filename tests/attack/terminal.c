/* Attacks on what the caller's streams lead to: a terminal, or files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

#define HIGH (1ul << 40) /* the kernel looks at 32 bits of a request (CVE-2019-10063) */

/* Any terminal that a standard stream, or /dev/tty, leads to; else 0 for what there is. */
static int find_terminal(void)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY);

	for (int fd = 0; tty < 0 && fd < 3; fd++)
		if (isatty(fd))
			tty = fd;
	return tty < 0 ? 0 : tty;
}

static int type(unsigned long request)
{
	int tty = find_terminal();

	for (const char *c = "overwritten\n"; *c; c++)
		if (syscall(SYS_ioctl, tty, request, c) < 0)
			return -errno;
	return 0;
}

static int type_bytes(char **args)
{
	(void)args;
	return type(TIOCSTI);
}

static int type_bytes_high(char **args)
{
	(void)args;
	return type(HIGH | TIOCSTI);
}

/* A console answers; every other terminal says that it is none. */
static int paste(char **args)
{
	char subcode = 3; /* paste */

	(void)args;
	return attack_reached(syscall(SYS_ioctl, find_terminal(), TIOCLINUX, &subcode));
}

static int paste_high(char **args)
{
	char subcode = 3;

	(void)args;
	return attack_reached(syscall(SYS_ioctl, find_terminal(), HIGH | TIOCLINUX, &subcode));
}

/* The discipline that it has already */
static int set_discipline(char **args)
{
	int discipline = 0;

	(void)args;
	return attack_reached(syscall(SYS_ioctl, find_terminal(), TIOCSETD, &discipline));
}

/* Never tried where it could be done: it would take the machine's console. */
static int take_console(unsigned long request)
{
	return attack_reached(syscall(SYS_ioctl, find_terminal(), request, 0));
}

static int console(char **args)
{
	(void)args;
	return take_console(TIOCCONS);
}

static int console_high(char **args)
{
	(void)args;
	return take_console(HIGH | TIOCCONS);
}

/* Onto somebody's screen, by the name of the terminal */
static int write_terminal(char **args)
{
	int fd = open(args[0], O_WRONLY | O_NOCTTY);

	return fd < 0 ? -errno : attack_result(write(fd, "overwritten", 11));
}

/* From the session that has it, by force */
static int steal_terminal(char **args)
{
	int tty = find_terminal();

	(void)args;
	if (setsid() < 0)
		return -errno;
	return attack_result(ioctl(tty, TIOCSCTTY, 1));
}

/* A new terminal among those of the host, whose file system's device is given */
static int host_terminal(char **args)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), unlocked = 0, slave;
	struct stat st;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (slave < 0 || fstat(slave, &st) < 0)
		return -errno;
	return st.st_dev == strtoul(args[0], NULL, 10) ? 0 : -EXDEV;
}

static int open_terminal(char **args)
{
	(void)args;
	return attack_result(open("/dev/tty", O_RDWR | O_NOCTTY));
}

/* The way to a stream's file, opened again with rights that the caller did not give */
static int reopen(int stream)
{
	char path[32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", stream);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? fd : -ESPIPE;
}

/* What the caller had in the file before */
static int read_output(char **args)
{
	int fd = reopen(1);

	(void)args;
	return fd < 0 ? fd : attack_read(fd);
}

/* The same of the error output, which is a stream of its own */
static int read_errors(char **args)
{
	int fd = reopen(2);

	(void)args;
	return fd < 0 ? fd : attack_read(fd);
}

static int cut_output(char **args)
{
	int fd = reopen(1);

	(void)args;
	return fd < 0 ? fd : attack_result(ftruncate(fd, 0));
}

/* The caller gave the file to be read only. */
static int write_input(char **args)
{
	int fd = reopen(0);

	(void)args;
	return fd < 0 ? fd : attack_result(write(fd, "overwritten", 11));
}

const struct attack attack_terminal[] = {
	{ "tiocsti", type_bytes },
	{ "tiocsti-high", type_bytes_high },
	{ "tioclinux", paste },
	{ "tioclinux-high", paste_high },
	{ "tiocsetd", set_discipline },
	{ "open-tty", open_terminal },
	{ "tioccons", console },
	{ "tioccons-high", console_high },
	{ "write-terminal", write_terminal },
	{ "steal-terminal", steal_terminal },
	{ "host-terminal", host_terminal },
	{ "read-output", read_output },
	{ "read-errors", read_errors },
	{ "truncate-output", cut_output },
	{ "write-input", write_input },
	{ NULL, NULL },
};
