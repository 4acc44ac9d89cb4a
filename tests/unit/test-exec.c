/* What is said of kept boxes: src/wire/exec.c. */
#include "wire/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

static char *const args[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "" }, NULL };
static char *const variables[] = { (char[]){ "A=1" }, (char[]){ "B=" }, NULL };
static char *const none[] = { NULL };
static char *const empty[] = { (char[]){ "" }, NULL };
static char *const odd[] = { (char[]){ "A" }, NULL };
static char *const nameless[] = { (char[]){ "=x" }, NULL };

static struct rf_exec full(void)
{
	return (struct rf_exec){ .box = "0123456789abcdef",
				 .argv = args,
				 .env = variables,
				 .cwd = "/tmp",
				 .time_ms = 5000,
				 .is_background = true,
				 .has_terminal = true };
}

static int there_and_back(const struct rf_exec *exec, struct rf_buf *buf, struct rf_exec *ret_exec,
			  struct rf_err *err)
{
	rf_buf_init(buf, RF_EXEC_BYTES);
	rf_exec_pack(exec, buf);
	RF_REQUIRE(!buf->has_failed, "it fits");
	return rf_exec_unpack(buf->data, buf->len, ret_exec, err);
}

RF_TEST(a_program_arrives_as_it_was_asked_for)
{
	struct rf_exec exec = full(), got;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;

	RF_REQUIRE(there_and_back(&exec, &buf, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(got.box, exec.box) == 0 && strcmp(got.argv[1], "-c") == 0 && !got.argv[3] &&
			 strcmp(got.env[1], "B=") == 0 && strcmp(got.cwd, "/tmp") == 0 &&
			 got.time_ms == 5000 && got.is_background && got.has_terminal &&
			 !got.is_porter,
		 "all of it");
	rf_exec_done(&got);
	for (size_t len = 0; len < buf.len; len++)
		RF_CHECK(rf_exec_unpack(buf.data, len, &got, &err) == -EBADMSG, "cut at %zu", len);
}

RF_TEST(what_no_program_can_have_is_refused)
{
	struct rf_exec cases[6];
	struct rf_exec got;

	for (size_t i = 0; i < RF_LEN(cases); i++)
		cases[i] = full();
	cases[0].argv = none;
	cases[1].argv = empty;
	cases[2].cwd = "tmp";
	cases[3].env = odd;
	cases[4].env = nameless;
	cases[5].is_porter = true;
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		RF_AUTO_BUF struct rf_buf buf;

		RF_CHECK(there_and_back(&cases[i], &buf, &got, &err) == -EINVAL && err.msg[0],
			 "case %zu: %s", i, err.msg);
	}
}

RF_TEST(a_list_of_boxes_arrives_one_by_one)
{
	struct rf_exec_box box = { .id = "00ff",
				   .state = RF_EXEC_FROZEN,
				   .pid = 7,
				   .left_ms = UINT64_MAX,
				   .pids = 3,
				   .disk_bytes = 4,
				   .note = "a note",
				   .program_count = 2 },
			   got;
	struct rf_wire_message message = { .type = RF_WIRE_BOXES };
	struct rf_err err = RF_ERR_INIT;
	size_t at = 0;
	RF_AUTO_BUF struct rf_buf buf;

	box.programs[1] = (struct rf_exec_program){ 9, true, true, "sleep" };
	rf_buf_init(&buf, 1 << 20);
	rf_exec_box_pack(&box, &buf);
	rf_exec_box_pack(&box, &buf);
	message.body = buf.data;
	message.len = buf.len;
	for (int i = 0; i < 2; i++) {
		RF_REQUIRE(rf_exec_box_next(&message, &at, &got, &err) == 1, "%s", err.msg);
		RF_CHECK(strcmp(got.id, "00ff") == 0 && got.state == RF_EXEC_FROZEN &&
				 got.left_ms == UINT64_MAX && got.disk_bytes == 4 &&
				 got.program_count == 2 && got.programs[1].number == 9 &&
				 got.programs[1].has_ended &&
				 strcmp(got.programs[1].name, "sleep") == 0 &&
				 strcmp(got.note, "a note") == 0,
			 "box %d", i);
	}
	RF_CHECK(rf_exec_box_next(&message, &at, &got, &err) == 0, "no third");
	message.len--;
	at = buf.len / 2;
	RF_CHECK(rf_exec_box_next(&message, &at, &got, &err) == -EBADMSG, "and none that is cut");
	RF_CHECK(strcmp(rf_exec_state_name(RF_EXEC_ENDING), "ending") == 0, "states have names");
}
