/* Attacks on other processes, on pid 1, on the caller's secrets; and processes that will not go. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define LIFE_S 20 /* whatever is left behind ends by itself */

/* PID: a process outside */
static int signal_one(char **args)
{
	return attack_result(kill(atoi(args[0]), SIGKILL));
}

/* Everybody in sight; never outside a small pid namespace. */
static int signal_all(char **args)
{
	(void)args;
	if (getpid() > 100)
		return -ECANCELED; /* not in a small namespace: leave the machine alone */
	return attack_result(kill(-1, SIGTERM));
}

static int trace_init(char **args)
{
	(void)args;
	return attack_result(ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}

/* An address that nobody has: EFAULT comes after the permission. */
static int read_init_memory(char **args)
{
	char byte;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)8, 1 };

	(void)args;
	return attack_reached(process_vm_readv(1, &ours, 1, &theirs, 1, 0));
}

static int open_init_memory(char **args)
{
	(void)args;
	return attack_result(open("/proc/1/mem", O_RDONLY));
}

static int steal_init_descriptor(char **args)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	(void)args;
	return pidfd < 0 ? -errno : attack_result(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

/* A handle on pid 1's program, with which runc was overwritten (CVE-2019-5736) */
static int open_init_program(char **args)
{
	(void)args;
	return attack_result(open("/proc/1/exe", O_RDONLY));
}

static int compare_processes(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
}

/* NAME: a variable of the caller */
static int read_variable(char **args)
{
	const char *value = getenv(args[0]);

	if (!value)
		return -ENOENT;
	attack_loot(value);
	return 0;
}

static int be_root(char **args)
{
	(void)args;
	return getuid() == 0 || setuid(0) == 0 ? 0 : -errno;
}

/* Is one of the caller's own descriptors, beyond 2, still open? */
static int keep_descriptor(char **args)
{
	(void)args;
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	return -EBADF;
}

/* Dies of a fault and looks whether its memory was written to a file */
static int dump_core(char **args)
{
	struct rlimit limit;
	int status;
	pid_t pid;

	(void)args;
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
	pid = fork();
	if (pid == 0)
		abort();
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WCOREDUMP(status) ? 0 : -ENODATA;
}

static int unlimit_core(char **args)
{
	struct rlimit limit = { 4096, 4096 };

	(void)args;
	if (setrlimit(RLIMIT_CORE, &limit) < 0 || getrlimit(RLIMIT_CORE, &limit) < 0)
		return attack_result(-1);
	errno = EPERM; /* the filter says yes and changes nothing */
	return attack_result(limit.rlim_cur > 1 ? 0 : -1);
}

/* --- what will not go; TOKEN, in the arguments, is how the suite finds it outside --- */

static void ignore_everything(void)
{
	for (int signal = 1; signal < NSIG; signal++)
		if (signal != SIGALRM && signal != SIGCHLD)
			sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

static _Noreturn void stay(void)
{
	alarm(LIFE_S);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	for (;;)
		pause();
}

/* A daemon, by the book */
static int leave_daemon(char **args)
{
	(void)args;
	if (fork() == 0) {
		setsid();
		ignore_everything();
		if (fork() == 0)
			stay();
		_exit(0);
	}
	usleep(20000);
	return 0;
}

/* One that does not even run */
static int leave_stopped(char **args)
{
	(void)args;
	if (fork() == 0) {
		setsid();
		alarm(LIFE_S);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		raise(SIGSTOP);
		stay();
	}
	usleep(20000);
	return 0;
}

/* A whole tree, each process in a group of its own */
static int leave_tree(char **args)
{
	(void)args;
	if (fork() == 0) {
		for (int depth = 0; depth < 5; depth++) {
			fork();
			setpgid(0, 0);
		}
		ignore_everything();
		stay();
	}
	usleep(20000);
	return 0;
}

/* Many that have ended, and one that never asks how */
static int leave_zombies(char **args)
{
	(void)args;
	if (fork() == 0) {
		setsid();
		ignore_everything();
		for (int i = 0; i < 20; i++)
			if (fork() == 0)
				_exit(0);
		stay();
	}
	usleep(20000);
	return 0;
}

/* A parent that the kernel keeps waiting for its child */
static int leave_vfork(char **args)
{
	(void)args;
	if (fork() == 0) {
		setsid();
		ignore_everything();
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		if (vfork() == 0)
			stay();
		_exit(0);
	}
	usleep(20000);
	return 0;
}

/* Stopped, with children that are stopped, and that nobody will ever wake */
static int outstay_stopped(char **args)
{
	(void)args;
	ignore_everything();
	fork();
	fork();
	alarm(LIFE_S);
	raise(SIGSTOP);
	while (pause() < 0)
		;
	return 0;
}

/* A new child as soon as one has ended, faster than anybody can count them */
static int outstay_forking(char **args)
{
	(void)args;
	ignore_everything();
	signal(SIGCHLD, SIG_IGN);
	alarm(LIFE_S);
	if (fork() == 0) {
		alarm(LIFE_S);
		for (;;)
			if (fork() > 0)
				_exit(0);
	}
	for (;;)
		pause();
}

/* Never ends, whatever it is told */
static int outstay(char **args)
{
	(void)args;
	ignore_everything();
	fork();
	fork();
	alarm(LIFE_S);
	while (pause() < 0)
		;
	return 0;
}

const struct attack attack_processes[] = {
	{ "signal", signal_one },
	{ "signal-all", signal_all },
	{ "ptrace-init", trace_init },
	{ "vm-readv-init", read_init_memory },
	{ "mem-init", open_init_memory },
	{ "pidfd-getfd-init", steal_init_descriptor },
	{ "exe-init", open_init_program },
	{ "kcmp", compare_processes },
	{ "read-variable", read_variable },
	{ "be-root", be_root },
	{ "keep-descriptor", keep_descriptor },
	{ "dump-core", dump_core },
	{ "unlimit-core", unlimit_core },
	{ "leave-daemon", leave_daemon },
	{ "leave-stopped", leave_stopped },
	{ "leave-tree", leave_tree },
	{ "leave-zombies", leave_zombies },
	{ "leave-vfork", leave_vfork },
	{ "outstay-stopped", outstay_stopped },
	{ "outstay-forking", outstay_forking },
	{ "outstay", outstay },
	{ NULL, NULL },
};
