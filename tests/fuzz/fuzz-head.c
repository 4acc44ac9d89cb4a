/* The first bytes of any file: whatever they are, what is found fits, and came from them. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jail/head.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_head head;

	rf_head_parse(data, size, &head);
	require(memchr(head.interpreter, '\0', sizeof(head.interpreter)) &&
		memchr(head.program, '\0', sizeof(head.program)));
	require(!head.interpreter[0] || head.interpreter[0] == '/');
	require(!head.program[0] || head.interpreter[0]);
	require(!strpbrk(head.interpreter, " \t\n") && !strpbrk(head.program, " \t\n"));
	require(!head.interpreter[0] ||
		memmem(data, size, head.interpreter, strlen(head.interpreter)));
	require(head.loader_len <= RF_HEAD_LOADER && head.loader_len != 1);
	require(!head.loader_len || !head.interpreter[0]);
	return 0;
}
