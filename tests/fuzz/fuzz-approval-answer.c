/* What a stranger answers to a write that was approved: its status is the same in whatever pieces it comes. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"
#include "server/approval-answer.h"

#define MOST 32768 /* fits a pipe that nobody reads */

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_all(struct rf_approval_answer *answer, const uint8_t *data, size_t size,
		     size_t piece)
{
	int ends[2];
	bool is_over = false;

	require(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	rf_approval_answer_init(answer);
	while (size > 0 && !is_over) {
		size_t part = size < piece ? size : piece;

		require(write(ends[1], data, part) == (ssize_t)part);
		is_over = rf_approval_answer_read(answer, ends[0]);
		data += part;
		size -= part;
	}
	close(ends[1]);
	for (int i = 0; !is_over; i++) { /* what one reading left, and then the end */
		require(i <= MOST / RF_APPROVAL_ANSWER_ROOM + 1);
		is_over = rf_approval_answer_read(answer, ends[0]);
	}
	close(ends[0]);
	require(answer->status < 1000 && strlen(answer->refused) < sizeof(answer->refused));
	require(!answer->refused[0] || answer->status >= 400);
}

RF_FUZZ(data, size)
{
	static struct rf_approval_answer whole, parts;

	if (size > MOST)
		return 0;
	read_all(&whole, data, size, MOST);
	read_all(&parts, data, size, 7);
	require(whole.status == parts.status && strcmp(whole.refused, parts.refused) == 0);
	return 0;
}
