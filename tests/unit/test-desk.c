/* What keys do: src/top/desk.c. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "top/desk.h"

#define NOT_KNOWN                                                                                  \
	{                                                                                          \
		RF_BOARD_UNKNOWN, RF_BOARD_UNKNOWN                                                 \
	}

/* clang-format off */
static struct rf_board_box boxes[] = {
	{ .id = "b1", .agent = "alpha", .state = "running", .cpu_percent = 5, .uses = { { 3000, 4000 }, NOT_KNOWN, { 10, 100 } } },
	{ .id = "b2", .agent = "beta",  .state = "running", .cpu_percent = 90, .uses = { { 1000, 4000 }, NOT_KNOWN, { 30, 100 } } },
	{ .id = "b3", .agent = "alpine", .state = "frozen", .cpu_percent = 0, .uses = { { 2000, 4000 }, NOT_KNOWN, { 20, 20 } } },
};
/* clang-format on */
static const struct rf_board board = { .boxes = boxes, .box_count = 3 };

static enum rf_desk_wish press(struct rf_desk *desk, const struct rf_board *on, const char *keys)
{
	enum rf_desk_wish wish = RF_DESK_NOTHING;

	for (; *keys; keys++)
		wish = rf_desk_key(desk, on,
				   (struct rf_key){ .code = *keys == 'D'   ? RF_KEYS_DOWN
							    : *keys == 'U' ? RF_KEYS_UP
									   : (uint32_t)*keys },
				   2);
	return wish;
}

static const char *order(const struct rf_desk *desk, const struct rf_board *on)
{
	static char text[64];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < desk->count && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					on->boxes[desk->rows[i]].id);
	return text;
}

RF_TEST(boxes_are_sorted_by_what_is_asked_for)
{
	static const char *const want[] = {
		[RF_DESK_BY_TIME] = "b2b3b1",   [RF_DESK_BY_CPU] = "b2b1b3",
		[RF_DESK_BY_MEMORY] = "b2b3b1", [RF_DESK_BY_LIMIT] = "b3b1b2",
		[RF_DESK_BY_AGENT] = "b1b3b2",
	};
	struct rf_desk desk = { 0 };

	RF_REQUIRE(rf_desk_arrange(&desk, &board), "arranged");
	for (size_t i = 0; i < RF_LEN(want); i++) {
		RF_CHECK(strcmp(order(&desk, &board), want[i]) == 0, "by %s: %s",
			 rf_desk_sort_name(desk.sort), order(&desk, &board));
		press(&desk, &board, "s");
	}
	RF_CHECK(desk.sort == RF_DESK_BY_TIME, "and round again");
	press(&desk, &board, "S");
	RF_CHECK(desk.sort == RF_DESK_BY_AGENT, "and back");
	rf_desk_done(&desk);
}

RF_TEST(the_chosen_box_stays_chosen_wherever_it_goes)
{
	struct rf_board without = { .boxes = boxes + 1, .box_count = 2 };
	struct rf_board none = { 0 };
	struct rf_desk desk = { 0 };

	rf_desk_arrange(&desk, &board);
	press(&desk, &board, "DD"); /* b2 b3 b1 */
	RF_CHECK(strcmp(desk.chosen, "b1") == 0 && desk.at == 2, "%s", desk.chosen);
	press(&desk, &board, "D");
	RF_CHECK(desk.at == 2, "there is no row behind the last");
	press(&desk, &board, "ssss");
	RF_CHECK(strcmp(desk.chosen, "b1") == 0 && desk.at == 0, "by agent it is the first");
	rf_desk_arrange(&desk, &without);
	RF_CHECK(strcmp(desk.chosen, "b3") == 0, "it ended: another is in its row");
	rf_desk_arrange(&desk, &none);
	RF_CHECK(!desk.chosen[0] && !rf_desk_chosen(&desk, &none), "nobody is left");
	RF_CHECK(press(&desk, &none, "UDfti") == RF_DESK_NOTHING && desk.is_bad, "%s", desk.said);
	rf_desk_done(&desk);
}

RF_TEST(a_kill_is_confirmed_and_hits_the_one_that_was_asked_about)
{
	static const char *const no[] = { "n", "k", "\r", "\033", "q", " " };
	struct rf_board others = { .boxes = boxes, .box_count = 2 };
	struct rf_desk desk = { 0 };

	rf_desk_arrange(&desk, &board);
	for (size_t i = 0; i < RF_LEN(no); i++) {
		RF_CHECK(press(&desk, &board, "k") == RF_DESK_NOTHING &&
				 desk.mode == RF_DESK_CONFIRM,
			 "asked");
		RF_CHECK(press(&desk, &board, no[i]) == RF_DESK_NOTHING &&
				 desk.mode == RF_DESK_LIST,
			 "key %zu is no", i);
	}
	RF_CHECK(press(&desk, &board, "y") == RF_DESK_NOTHING, "nobody asked");
	press(&desk, &board, "Dk"); /* b3 */
	RF_CHECK(rf_desk_key(&desk, &board, (struct rf_key){ 'y', true }, 2) == RF_DESK_NOTHING &&
			 desk.mode == RF_DESK_CONFIRM,
		 "a pasted y is nothing");
	rf_desk_arrange(&desk, &others);
	RF_CHECK(press(&desk, &others, "y") == RF_DESK_KILL && strcmp(desk.target, "b3") == 0,
		 "its row is another's, and it is still meant: %s", desk.target);
	RF_CHECK(press(&desk, &board, "f") == RF_DESK_FREEZE, "f");
	RF_CHECK(press(&desk, &board, "t") == RF_DESK_THAW, "t");
	rf_desk_done(&desk);
}

RF_TEST(a_filter_is_typed_and_taken_back)
{
	struct rf_desk desk = { 0 };

	rf_desk_arrange(&desk, &board);
	press(&desk, &board, "/al");
	RF_CHECK(strcmp(order(&desk, &board), "b3b1") == 0, "as it is typed: %s",
		 order(&desk, &board));
	press(&desk, &board, "P\r");
	RF_CHECK(strcmp(desk.filter, "alP") == 0 && desk.mode == RF_DESK_LIST && desk.count == 2,
		 "kept, whatever its case");
	RF_CHECK(press(&desk, &board, "/\x7f\x7f\x7f\x7fq\r") == RF_DESK_NOTHING &&
			 desk.count == 0 && strcmp(desk.filter, "q") == 0,
		 "q is a letter there");
	press(&desk, &board, "\033");
	RF_CHECK(desk.count == 3 && !desk.filter[0], "all");
	press(&desk, &board, "/");
	for (int i = 0; i < 100; i++)
		rf_desk_key(&desk, &board, (struct rf_key){ 0x4e2d, true }, 2);
	RF_CHECK(strlen(desk.typed) == 63, "as much as fits: %zu", strlen(desk.typed));
	press(&desk, &board, "\x7f");
	RF_CHECK(strlen(desk.typed) == 60, "a character is taken back as a whole");
	press(&desk, &board, "\x15");
	RF_CHECK(!desk.typed[0], "all of it");
	press(&desk, &board, "\x01\x02\033");
	RF_CHECK(!desk.filter[0] && desk.mode == RF_DESK_LIST, "controls are no letters");
	rf_desk_done(&desk);
}

RF_TEST(views_are_entered_and_left)
{
	struct rf_desk desk = { 0 };

	rf_desk_arrange(&desk, &board);
	press(&desk, &board, "i");
	RF_CHECK(desk.mode == RF_DESK_INSPECT, "inspect");
	RF_CHECK(press(&desk, &board, "ky") == RF_DESK_KILL && desk.mode == RF_DESK_INSPECT,
		 "one can kill from there");
	press(&desk, &board, "?");
	RF_CHECK(desk.mode == RF_DESK_HELP, "help");
	press(&desk, &board, "x");
	RF_CHECK(desk.mode == RF_DESK_INSPECT, "and back");
	press(&desk, &board, "\r");
	RF_CHECK(desk.mode == RF_DESK_LIST, "and back");
	RF_CHECK(press(&desk, &board, " ") == RF_DESK_LOOK, "space");
	RF_CHECK(press(&desk, &board, "\x0c") == RF_DESK_REPAINT, "ctrl-L");
	RF_CHECK(press(&desk, &board, "q") == RF_DESK_QUIT, "q");
	rf_desk_done(&desk);
}

RF_TEST(the_chosen_row_is_on_the_screen)
{
	struct rf_desk desk = { .count = 100 };

	for (size_t page = 1; page < 20; page++)
		for (desk.at = 0; desk.at < 100; desk.at += 7) {
			rf_desk_scroll(&desk, page);
			RF_CHECK(desk.first <= desk.at && desk.at < desk.first + page &&
					 desk.first + page <= 100,
				 "row %zu of pages of %zu: from %zu", desk.at, page, desk.first);
		}
	desk.count = 3;
	desk.at = 2;
	rf_desk_scroll(&desk, 10);
	RF_CHECK(desk.first == 0, "all of them fit");
}
