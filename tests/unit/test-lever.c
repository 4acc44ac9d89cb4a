/* A hand on a box's network, held by the watcher: src/watch/lever.c.  The other end is what a gateway says, or anybody. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/lever.h"
#include "wire/wire.h"

static int open_lever(struct rf_lever *lever)
{
	int pair[2];

	RF_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	rf_lever_init(lever);
	rf_lever_take(lever, &pair[0]);
	return pair[1];
}

static int answer_of(struct rf_lever *lever, uint64_t number, char *text, size_t size)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_buf out;
	bool is_change;
	int code;

	rf_buf_init(&out, 65536);
	code = rf_lever_answer(lever, number, &is_change, &out, &err);
	snprintf(text, size, "%s", code < 0 ? err.msg : out.data ? out.data : "");
	rf_buf_done(&out);
	return code;
}

RF_TEST(answers_are_fetched_by_their_number_and_once)
{
	struct rf_err err = RF_ERR_INIT, no = RF_ERR_INIT;
	struct rf_lever lever;
	int gateway = open_lever(&lever);
	uint64_t first, second;
	char text[256];

	RF_CHECK(rf_lever_show(&lever, &first, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_lever_change(&lever, "network: none", &second, &err) == 0, "%s", err.msg);
	RF_CHECK(answer_of(&lever, first, text, sizeof(text)) == -EAGAIN, "%s", text);
	rf_fail_say(&no, -EPERM, "not that");
	RF_CHECK(rf_wire_send(gateway, RF_WIRE_GATE_POLICY, first, "network:", 8, NULL, 0, &err) ==
				 0 &&
			 rf_wire_refuse(gateway, second, &no, &err) == 0,
		 "%s", err.msg);
	RF_CHECK(answer_of(&lever, second, text, sizeof(text)) == -EPERM, "%s", text);
	RF_CHECK(answer_of(&lever, first, text, sizeof(text)) == 0 && !strcmp(text, "network:"),
		 "%s", text);
	RF_CHECK(answer_of(&lever, first, text, sizeof(text)) == -ESRCH, "%s", text);
	RF_CHECK(answer_of(&lever, 77, text, sizeof(text)) == -ESRCH, "%s", text);
	RF_CHECK(answer_of(&lever, 0, text, sizeof(text)) == -ESRCH, "%s", text);
	close(gateway);
	rf_lever_done(&lever);
}

RF_TEST(a_gateway_that_is_gone_or_talks_nonsense_is_let_go)
{
	static const char junk[] =
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";

	for (int i = 0; i < 3; i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_lever lever;
		int gateway = open_lever(&lever);
		uint64_t number;
		char text[256];

		RF_CHECK(rf_lever_show(&lever, &number, &err) == 0, "%s", err.msg);
		if (i == 0)
			close(gateway);
		else if (i == 1)
			RF_CHECK(send(gateway, junk, sizeof(junk), 0) > 0, "junk");
		else /* what a gateway may say, but not here: passed over, and what is asked stays open */
			RF_CHECK(rf_wire_send(gateway, RF_WIRE_GATE_POLICY, 99, "x", 1, NULL, 0,
					      &err) == 0,
				 "%s", err.msg);
		RF_CHECK(answer_of(&lever, number, text, sizeof(text)) ==
				 (i == 2 ? -EAGAIN : -ECONNRESET),
			 "%d: %s", i, text);
		RF_CHECK(i == 2 || rf_lever_show(&lever, &number, &err) == -EOPNOTSUPP, "%d", i);
		if (i > 0)
			close(gateway);
		rf_lever_done(&lever);
	}
}

RF_TEST(more_questions_than_are_kept_forget_the_oldest)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_lever lever;
	int gateway = open_lever(&lever);
	uint64_t number = 0;
	char text[64];

	for (int i = 0; i < RF_LEVER_ANSWERS + 1; i++)
		RF_CHECK(rf_lever_show(&lever, &number, &err) == 0, "%s", err.msg);
	RF_CHECK(answer_of(&lever, 1, text, sizeof(text)) == -ESRCH, "%s", text);
	RF_CHECK(answer_of(&lever, number, text, sizeof(text)) == -EAGAIN, "%s", text);
	close(gateway);
	rf_lever_done(&lever);
}
