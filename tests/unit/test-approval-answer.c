/* What is answered to a write that was approved: src/server/approval-answer.c. */
#include "server/approval-answer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "harness.h"

/* Reads `text` in pieces of `size`, and then the end.  True: it was known to be over before that. */
static bool read_all(struct rf_approval_answer *answer, const char *text, size_t size)
{
	size_t len = strlen(text);
	int ends[2];
	bool is_over = false;

	RF_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
	rf_approval_answer_init(answer);
	RF_CHECK(!rf_approval_answer_read(answer, ends[0]), "nothing has come yet");
	for (size_t at = 0; at < len && !is_over; at += size) {
		size_t part = len - at < size ? len - at : size;

		RF_REQUIRE(write(ends[1], text + at, part) == (ssize_t)part, "write");
		is_over = rf_approval_answer_read(answer, ends[0]);
	}
	close(ends[1]);
	RF_CHECK(is_over || rf_approval_answer_read(answer, ends[0]), "its end is the end");
	close(ends[0]);
	return is_over;
}

RF_TEST(an_answer_is_read_to_its_end_for_its_status)
{
	/* clang-format off */
	static const struct { const char *text, *refused; unsigned status; bool is_over; } cases[] = {
		{ "HTTP/1.1 204 No Content\r\n\r\n", "", 204, true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "", 200, true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "", 200, false },
		{ "HTTP/1.1 200 OK\r\n\r\nuntil the end", "", 200, false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "", 200, true },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", "", 201, true },
		{ "HTTP/1.1 403 Forbidden\r\nX-Ringfort: not_allowed\r\nContent-Length: 0\r\n\r\n", "not_allowed", 403, true },
		{ "HTTP/1.1 200 OK\r\nX-Ringfort: odd\r\nContent-Length: 0\r\n\r\n", "", 200, true },
		{ "HTTP/1.1 20", "", 0, false },
		{ "nonsense\r\n\r\n", "", 0, true },
		{ "", "", 0, false },
	};
	/* clang-format on */
	static struct rf_approval_answer answer;

	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (size_t size = 1; size < 100; size = size * 7 + 1) {
			bool is_over = read_all(&answer, cases[i].text, size);

			RF_CHECK(answer.status == cases[i].status &&
					 strcmp(answer.refused, cases[i].refused) == 0 &&
					 is_over == cases[i].is_over,
				 "case %zu by %zu: %u %s", i, size, answer.status, answer.refused);
		}
}

RF_TEST(of_a_head_that_is_too_long_the_status_is_known)
{
	static struct rf_approval_answer answer;
	static char text[2 * RF_APPROVAL_ANSWER_ROOM];
	static const char first[] = "HTTP/1.1 202 Accepted\r\nX-Long: ";

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, first, sizeof(first) - 1);
	RF_CHECK(read_all(&answer, text, 4096) && answer.status == 202, "%u", answer.status);
}

/* Byte by byte, for as long as somebody listens. */
static pid_t start_dripping(int fd)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0;; i++) {
		if (write(fd, i < sizeof(head) - 1 ? head + i : "x", 1) != 1)
			_exit(0);
		usleep(5000);
	}
}

RF_TEST(an_answer_that_never_ends_is_waited_for_no_longer_than_was_said)
{
	static struct rf_approval_answer answer;
	uint64_t begun = rf_loop_now(), took;
	int ends[2];
	pid_t pid;

	RF_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
	pid = start_dripping(ends[1]);
	close(ends[1]);
	alarm(60); /* so that a failure is one */
	rf_approval_answer_await(&answer, ends[0], 700);
	alarm(0);
	took = (rf_loop_now() - begun) / 1000000;
	RF_CHECK(took >= 700 && took < 20000, "%llu ms", (unsigned long long)took);
	RF_CHECK(answer.status == 200, "%u", answer.status);
	close(ends[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
