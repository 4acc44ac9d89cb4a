/* What the watcher answers, as rows: src/top/board.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "top/board.h"

#define BOX(id, more)                                                                              \
	"{\"id\":\"" id "\",\"agent\":\"bot\",\"program\":\"sleep 9\",\"policy\":null,"            \
	"\"state\":\"frozen\",\"user\":0,\"pid\":12,\"launcher\":11,"                              \
	"\"started\":\"2026-11-16T10:00:00Z\"," more "}"
#define FULL                                                                                       \
	"\"limits\":{\"memory\":1000,\"cpu\":100,\"cpu_time\":null,\"time\":60000,\"pids\":8,"     \
	"\"disk\":100},\"used\":{\"memory\":950,\"cpu\":77,\"cpu_time\":12,\"time\":6000,"         \
	"\"pids\":null,\"disk\":0},\"rates\":{},\"breaker\":{\"state\":\"open\",\"reason\":null}"
#define BARE "\"limits\":null,\"used\":null,\"breaker\":null"

static int read_text(const char *boxes, const char *breakers, struct rf_board **ret_board,
		     struct rf_err *err)
{
	*err = (struct rf_err)RF_ERR_INIT;
	return rf_board_read(boxes, strlen(boxes), breakers, strlen(breakers), ret_board, err);
}

RF_TEST(an_answer_becomes_rows)
{
	struct rf_board *board = NULL;
	const struct rf_board_box *box;
	struct rf_err err;

	RF_REQUIRE(read_text("{\"boxes\":[" BOX("b1", FULL) "," BOX(
				     "b2", BARE) "],\"denials\":[{"
						 "\"time\":\"2026-11-16T10:00:01Z\",\"box\":\"b1\","
						 "\"agent\":null,"
						 "\"what\":\"socket\"}],\"new\":1}",
			     "[{\"kind\":\"agent\",\"name\":\"bot\",\"state\":\"open\",\"reason\":"
			     "\"odd\",\"retry_ms\":null,\"failed\":5,\"refused\":1}]",
			     &board, &err) == 0,
		   "%s", err.msg);
	RF_REQUIRE(board->box_count == 2 && board->denial_count == 1 && board->breaker_count == 1,
		   "counts");
	box = rf_board_find(board, "b1");
	RF_REQUIRE(box && box == &board->boxes[0] && !rf_board_find(board, "b3"), "found");
	RF_CHECK(strcmp(box->agent, "bot") == 0 && strcmp(box->policy, "") == 0 &&
			 strcmp(box->state, "frozen") == 0 && strcmp(box->breaker, "open") == 0,
		 "texts");
	RF_CHECK(box->cpu_percent == 77 && box->pid == 12 && box->launcher == 11, "numbers");
	RF_CHECK(box->uses[RF_BOARD_MEMORY].used == 950 &&
			 box->uses[RF_BOARD_MEMORY].limit == 1000 &&
			 rf_board_percent(&box->uses[RF_BOARD_MEMORY]) == 95,
		 "memory");
	RF_CHECK(box->uses[RF_BOARD_CPU_TIME].limit == RF_BOARD_UNKNOWN &&
			 rf_board_percent(&box->uses[RF_BOARD_CPU_TIME]) == 0,
		 "no limit");
	RF_CHECK(box->uses[RF_BOARD_PIDS].used == RF_BOARD_UNKNOWN, "not known");
	box = rf_board_find(board, "b2");
	RF_CHECK(box && box->cpu_percent == RF_BOARD_UNKNOWN &&
			 box->uses[RF_BOARD_TIME].used == RF_BOARD_UNKNOWN && !box->breaker[0],
		 "one that starts");
	RF_CHECK(board->breakers[0].retry_ms == RF_BOARD_UNKNOWN && board->breakers[0].failed == 5,
		 "the breaker");
	RF_CHECK(strcmp(board->denials[0].what, "socket") == 0 && !board->denials[0].agent[0],
		 "the denial");
	rf_board_free(board);
}

RF_TEST(an_answer_of_another_shape_is_refused_as_a_whole)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"boxes\":[]}",
		"{\"boxes\":{},\"denials\":[]}",
		"{\"boxes\":[1],\"denials\":[]}",
		"{\"boxes\":[{}],\"denials\":[]}",
		"{\"boxes\":[" BOX("", BARE) "],\"denials\":[]}",
		"{\"boxes\":[" BOX("0123456789012345678901234567890123", BARE) "],\"denials\":[]}",
		"{\"boxes\":[" BOX(
			"b1", "\"limits\":1,\"used\":null,\"breaker\":null") "],\"denials\":[]}",
		"{\"boxes\":[],\"denials\":[{}]}",
	};
	struct rf_board *board = NULL;
	struct rf_err err;

	for (size_t i = 0; i < RF_LEN(bad); i++) {
		RF_CHECK(read_text(bad[i], "[]", &board, &err) < 0 && !board, "case %zu", i);
		RF_CHECK(strncmp(err.msg, "the watcher's answer: ", 22) == 0, "case %zu: %s", i,
			 err.msg);
	}
	RF_CHECK(read_text("{\"boxes\":[],\"denials\":[]}", "{}", &board, &err) == -EBADMSG,
		 "breakers");
	RF_CHECK(read_text("{\"boxes\":[],\"denials\":[]}", "[]", &board, &err) == 0, "empty");
	rf_board_free(board);
	rf_board_free(NULL);
}
