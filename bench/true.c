/*
 * The smallest program that there is to put into a box: it ends at once; with an argument, it sleeps.
 *
 * Without a libc, so that what is measured is the box and not the start of a program.
 */
#include "init/sys.h"

void start(const long *stack);

SYS_ENTRY;

__attribute__((used)) void start(const long *stack)
{
	while (stack[0] > 1)
		sys6(__NR_ppoll, 0, 0, 0, 0, 0, 0);
	for (;;)
		sys6(__NR_exit_group, 0, 0, 0, 0, 0, 0);
}
