/*
 * The smallest pid 1 that there can be: it starts a program, waits for it, and ends with its status.
 *
 *     floor-init PROGRAM ARGUMENT...      its own name "wait": not before a byte comes on descriptor 3
 */
#include "init/sys.h"

#define PR_SET_PDEATHSIG 1
#define PR_SET_DUMPABLE  4
#define SIGKILL          9

void start(long *stack);

SYS_ENTRY;

static char child_stack[4096] __attribute__((aligned(16)));

static void become_program(void *data)
{
	char **words = data;

	SYS3(__NR_execve, words[0], words, 0);
	SYS1(__NR_exit_group, 127);
}

__attribute__((used)) void start(long *stack)
{
	char **words = (char **)(stack + 1), byte;
	int status = 0;
	long pid;

	SYS2(__NR_prctl, PR_SET_DUMPABLE, 0);
	/* Again: a change of uid takes it away. */
	SYS2(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
	SYS0(__NR_setsid);
	if (words[0][0] == 'w' && SYS3(__NR_read, 3, &byte, 1) != 1)
		SYS1(__NR_exit_group, 125);
	pid = sys_clone(SYS_VFORK_FLAGS, become_program, words + 1,
			child_stack + sizeof(child_stack), NULL);
	while (pid > 0 && SYS4(__NR_wait4, -1, &status, 0, 0) != pid)
		;
	for (;;)
		SYS1(__NR_exit_group, pid < 0 ? 125 : status & 0x7f ? 126 : status >> 8 & 0xff);
}
