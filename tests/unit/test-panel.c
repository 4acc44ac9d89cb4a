/* The lines of a frame: src/top/panel.c, detail.c, pen.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/glyph.h"
#include "base/rune.h"
#include "harness.h"
#include "top/panel.h"
#include "top/pen.h"

#define NONE RF_BOARD_UNKNOWN

/* clang-format off */
static struct rf_board_box boxes[] = {
	{ .id = "3f9a01abcdef0123", .agent = "bot", .program = "python3 -c pass", .policy = "", .started = "2026-11-16T10:00:00Z",
	  .state = "running", .breaker = "closed", .breaker_reason = "", .cpu_percent = 87, .pid = 12, .launcher = 11,
	  .uses = { { 2000, 10000 }, { 1500, NONE }, { 500 << 20, 512 << 20 }, { 7, 8 }, { NONE, 100 << 20 } } },
	{ .id = "77aa", .agent = "", .program = "sleep 100", .policy = "", .started = "", .state = "frozen", .breaker = "",
	  .breaker_reason = "", .cpu_percent = NONE, .pid = NONE, .launcher = NONE,
	  .uses = { { 62000, NONE }, { NONE, NONE }, { 1 << 20, NONE }, { 1, 64 }, { 0, NONE } } },
};
static struct rf_board_breaker breakers[] = {
	{ "agent", "runaway", "open", "5 failures in a row", 5, 1, 59000 },
	{ "host", "example.org", "open", "odd", 0, 0, NONE },
	{ "agent", "bot", "closed", "", 0, 0, 0 },
};
static struct rf_board_denial denials[] = {
	{ "2026-11-16T10:01:02Z", "bot", "3f9a01abcdef0123", "socket(AF_INET)" },
};
/* clang-format on */
static const struct rf_board board = { .boxes = boxes,
				       .breakers = breakers,
				       .denials = denials,
				       .box_count = 2,
				       .breaker_count = 3,
				       .denial_count = 1 };

static const struct rf_panel plain = {
	.columns = 80, .rows = 24, .is_utf8 = true, .clock = "10:01:03"
};

/* Draws; gives the frame, in which line `row` (from 0) is found by line(). */
static void draw(const struct rf_panel *panel, const struct rf_board *on, struct rf_desk *desk,
		 struct rf_buf *out)
{
	rf_buf_clear(out);
	if (on)
		rf_desk_arrange(desk, on);
	rf_panel_draw(panel, on, desk, out);
	RF_REQUIRE(!out->has_failed, "there is room");
}

static const char *line(const struct rf_buf *out, int row)
{
	static char text[1024];
	const char *at = out->data;

	for (; row > 0 && *at; row--)
		at += strcspn(at, "\n") + 1;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\n"), at);
	return text;
}

static void is_line(const struct rf_buf *out, int row, const char *want)
{
	RF_CHECK(strcmp(line(out, row), want) == 0, "line %d is '%s', not '%s'", row,
		 line(out, row), want);
}

RF_TEST(a_frame_of_80_by_24_shows_all_there_is)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { 0 };

	rf_buf_init(&out, 1 << 20);
	draw(&plain, &board, &desk, &out);
	is_line(&out, 0,
		"ringfort top  2 boxes, 1 frozen, 2 breakers open  by age               10:01:03");
	is_line(&out, 1,
		"  BOX      AGENT      STATE         TIME   CPU    MEMORY     PIDS PROGRAM");
	is_line(&out, 2,
		"> 3f9a01ab bot        running     2s/10s   87% 500M/512M      7/8 "
		"python3 -c p\xe2\x80\xa6");
	is_line(&out, 3,
		"  77aa     -          frozen       1m02s     -        1M     1/64 sleep 100");
	is_line(&out, 4, "");
	is_line(&out, 15, "BREAKERS  2 open, 0 half-open, 1 closed");
	is_line(&out, 16, "  open      agent runaway: 5 failures in a row, retry in 59s");
	is_line(&out, 17, "  open      host example.org: odd, until it is reset");
	is_line(&out, 18, "  closed    agent bot");
	is_line(&out, 19, "LAST DENIALS");
	is_line(&out, 20, "  10:01:02 bot        3f9a01ab socket(AF_INET)");
	is_line(&out, 23,
		"f freeze  t thaw  k kill  i inspect  s sort  / filter  ? help  q quit  ");
	rf_desk_done(&desk);
}

RF_TEST(questions_and_answers_stand_in_the_last_line)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { 0 };

	rf_buf_init(&out, 1 << 20);
	rf_desk_arrange(&desk, &board);
	rf_desk_key(&desk, &board, (struct rf_key){ .code = 'k' }, 4);
	draw(&plain, &board, &desk, &out);
	is_line(&out, 23, "kill box 3f9a01ab of bot?  y: yes, any other key: no");
	is_line(&out, 3,
		"  77aa     -          frozen       1m02s     -        1M     1/64 sleep 100");
	desk.mode = RF_DESK_LIST;
	rf_desk_say(&desk, false, "box %s is frozen", "x");
	draw(&plain, &board, &desk, &out);
	is_line(&out, 23, "box x is frozen");
	desk.mode = RF_DESK_FILTER;
	strcpy(desk.typed, "a\033b");
	draw(&plain, &board, &desk, &out);
	is_line(&out, 23, "agent: a\\x1bb_  Enter: keep, Escape: all");
	rf_desk_done(&desk);
}

RF_TEST(one_box_in_full)
{
	struct rf_desk desk = { .mode = RF_DESK_INSPECT, .chosen = "3f9a01abcdef0123" };
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	draw(&plain, &board, &desk, &out);
	is_line(&out, 1, " box        3f9a01abcdef0123");
	is_line(&out, 2, " agent      bot, breaker closed");
	is_line(&out, 3, " state      running, started 2026-11-16T10:00:00Z");
	is_line(&out, 4, " pid        12, started by 11");
	is_line(&out, 5, " policy     -");
	is_line(&out, 6, " time            2s of 10s     ##........ 20%");
	is_line(&out, 7, " cpu_time      1.5s of no limit");
	is_line(&out, 8, " memory        500M of 512M    ########## 97%");
	is_line(&out, 10, " disk             - of 100M   ");
	is_line(&out, 11, " program    python3 -c pass");
	is_line(&out, 12, " denied     10:01:02 socket(AF_INET)");
	strcpy(desk.chosen, "gone");
	draw(&plain, &board, &desk, &out);
	is_line(&out, 2, " state      it has ended; `ringfort audit show` knows how");
	rf_desk_done(&desk);
}

RF_TEST(a_long_program_is_shown_line_by_line)
{
	struct rf_desk desk = { .mode = RF_DESK_INSPECT, .chosen = "b" };
	struct rf_board_box box = boxes[0];
	struct rf_board one = { .boxes = &box, .box_count = 1 };
	RF_AUTO_BUF struct rf_buf out;
	char program[2000];

	memset(program, 'x', sizeof(program));
	memcpy(program, "\033\033\033\033", 4); /* which are wider than they are long */
	program[150] = '\0';
	box.id = "b";
	box.program = program;
	rf_buf_init(&out, 1 << 20);
	draw(&plain, &one, &desk, &out);
	RF_CHECK(strlen(line(&out, 11)) == 79 && strlen(line(&out, 12)) == 79 &&
			 strlen(line(&out, 13)) == 12 + 16 + 146 - 2 * 67 && line(&out, 14)[0] == 0,
		 "nothing of it is lost: %zu %zu %zu", strlen(line(&out, 11)),
		 strlen(line(&out, 12)), strlen(line(&out, 13)));
	program[150] = 'x';
	program[1999] = '\0';
	draw(&plain, &one, &desk, &out);
	RF_CHECK(strstr(line(&out, 14), "x\xe2\x80\xa6"), "or it shows: %s", line(&out, 14));
	rf_desk_done(&desk);
}

RF_TEST(what_is_too_small_is_told_so_kindly)
{
	struct rf_panel panel = plain;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { 0 };

	rf_buf_init(&out, 1 << 20);
	panel.columns = 39;
	panel.rows = 7;
	draw(&panel, &board, &desk, &out);
	is_line(&out, 0, "a little more room,");
	is_line(&out, 1, "please: 40x8,");
	is_line(&out, 2, "not 39x7 (q quits)");
	panel.columns = 40;
	panel.rows = 8;
	draw(&panel, &board, &desk, &out);
	is_line(&out, 0, "ringfort top  2 boxes, 1 frozen, 2 bre\xe2\x80\xa6");
	is_line(&out, 2, "> 3f9a01ab bot        running    87%   ");
	rf_desk_done(&desk);
}

RF_TEST(without_a_watcher_it_says_how_to_start_one)
{
	struct rf_panel panel = plain;
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { 0 };
	struct rf_board none = { 0 };

	rf_buf_init(&out, 1 << 20);
	panel.trouble = "no watcher stands";
	panel.hint = "start one: ringfort watch &";
	draw(&panel, NULL, &desk, &out);
	is_line(&out, 2, "  no watcher stands");
	is_line(&out, 3, "  start one: ringfort watch &");
	draw(&panel, &board, &desk, &out);
	RF_CHECK(strstr(line(&out, 0), "  no watcher stands  "), "%s", line(&out, 0));
	panel.trouble = panel.hint = NULL;
	draw(&panel, &none, &desk, &out);
	is_line(&out, 2, "  no box lives right now");
	is_line(&out, 15, "BREAKERS  none yet");
	strcpy(desk.filter, "zz");
	draw(&panel, &board, &desk, &out);
	is_line(&out, 2, "  no agent has `zz` in its name");
	rf_desk_done(&desk);
}

RF_TEST(a_frame_as_text_has_everything_and_no_keys)
{
	struct rf_panel panel = { .columns = 120, .is_utf8 = true };
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { 0 };

	rf_buf_init(&out, 1 << 20);
	draw(&panel, &board, &desk, &out);
	RF_CHECK(strstr(out.data, "3f9a01abcdef0123 bot"), "the whole id");
	RF_CHECK(strstr(out.data, "agent bot\n") && strstr(out.data, "socket(AF_INET)\n"), "all");
	RF_CHECK(!strstr(out.data, "quit") && !strchr(out.data, '>'), "%s", out.data);
	rf_desk_done(&desk);
}

RF_TEST(amounts_are_short)
{
	/* clang-format off */
	static const struct { enum rf_board_what what; uint64_t value; const char *want; } cases[] = {
		{ RF_BOARD_TIME, 0, "0s" },            { RF_BOARD_TIME, 1500, "1.5s" },
		{ RF_BOARD_TIME, 9999, "9.9s" },       { RF_BOARD_TIME, 10500, "10s" },
		{ RF_BOARD_TIME, 60000, "1m" },        { RF_BOARD_TIME, 62000, "1m02s" },
		{ RF_BOARD_TIME, 7500000, "2h05m" },   { RF_BOARD_TIME, 360000000, "4d04h" },
		{ RF_BOARD_MEMORY, 0, "0" },           { RF_BOARD_MEMORY, 1023, "1023" },
		{ RF_BOARD_MEMORY, 1536, "1.5K" },     { RF_BOARD_MEMORY, 512 << 20, "512M" },
		{ RF_BOARD_MEMORY, 1023ull << 20, "1023M" }, { RF_BOARD_DISK, UINT64_MAX - 1, "16E" },
		{ RF_BOARD_PIDS, 12, "12" },           { RF_BOARD_PIDS, NONE, "-" },
	};
	/* clang-format on */
	char text[RF_PANEL_AMOUNT];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_panel_amount(cases[i].what, cases[i].value, text);
		RF_CHECK(strcmp(text, cases[i].want) == 0, "case %zu is %s", i, text);
	}
}

/* ------------------------------------------------------------- hostile texts, every size */

static unsigned seed = 1;

static unsigned chance(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

/* Pieces that have hurt terminals before, between plain letters. */
static const char *nasty(char *text, size_t size)
{
	static const char *const pieces[] = {
		"\033[2J",      "\033]0;x\a", "\n",           "\r",           "\xc2\x9b", "\x9b",
		"\xe2\x80\xae", "a",          "agent",        "\xe4\xb8\xad", "\xcc\x81", "\xff",
		"%s%n",         "\t",         "\xe2\x81\xa6", "\x7f",         "\b",       "x"
	};
	size_t len = 0, want = chance((unsigned)size - 12);

	while (len < want)
		len += (size_t)snprintf(text + len, size - len, "%s",
					pieces[chance(RF_LEN(pieces))]);
	text[len] = '\0';
	return text;
}

/* Every line: printable, ours the only escapes, not a column too wide; and as many as there are rows. */
static void is_sound(const struct rf_panel *panel, const struct rf_buf *out)
{
	int rows = 0;

	for (const char *at = out->data, *end = at + out->len; at < end; rows++) {
		size_t len = strcspn(at, "\n");
		char text[8192];
		size_t plain_len = 0;

		for (size_t i = 0; i < len; i++) {
			if (panel->style.has_colour && at[i] == '\033') { /* a colour of ours */
				RF_REQUIRE(at[i + 1] == '[', "an escape");
				i += strspn(at + i + 2, "0123456789;") + 2;
				RF_REQUIRE(at[i] == 'm', "'%c'", at[i]);
				continue;
			}
			text[plain_len++] = at[i];
		}
		text[plain_len] = '\0';
		for (size_t i = 0, n; i < plain_len; i += n) {
			uint32_t rune = 0;

			n = rf_rune_take(text + i, plain_len - i, &rune);
			RF_REQUIRE(n > 0 && rune >= 0x20 && (rune < 0x7f || rune >= 0xa0) &&
					   rune != 0x202e && rune != 0x2066 &&
					   (panel->is_utf8 || rune < 0x80),
				   "%x in '%s'", rune, text);
		}
		RF_REQUIRE(rf_glyph_width(text) < panel->columns, "%d columns of %d: '%s'",
			   rf_glyph_width(text), panel->columns, text);
		at += len + 1;
	}
	RF_REQUIRE(panel->rows == 0 || rows == panel->rows, "%d rows of %d", rows, panel->rows);
}

RF_TEST(no_text_leaves_its_line_or_steers_the_terminal)
{
	RF_AUTO_BUF struct rf_buf out;
	char texts[16][300];

	rf_buf_init(&out, 1 << 20);
	for (int round = 0; round < 4000; round++) {
		struct rf_board_box some[3] = { boxes[0], boxes[1], boxes[0] };
		struct rf_board_breaker breaker = breakers[0];
		struct rf_board_denial denial = denials[0];
		struct rf_board nasties = { .boxes = some,
					    .breakers = &breaker,
					    .denials = &denial,
					    .box_count = chance(4),
					    .breaker_count = chance(2),
					    .denial_count = chance(2) };
		struct rf_desk desk = { .mode = (enum rf_desk_mode)chance(RF_DESK_CONFIRM + 1),
					.sort = (enum rf_desk_sort)chance(RF_DESK_SORTS) };
		struct rf_panel panel = { .columns = 1 + (int)chance(200),
					  .rows = (int)chance(60),
					  .style = { chance(2) },
					  .is_utf8 = chance(2),
					  .clock = "10:00:00" };

		for (size_t i = 0; i < RF_LEN(texts); i++)
			nasty(texts[i], sizeof(texts[i]));
		some[0].id = "b1";
		some[0].agent = texts[0];
		some[0].program = texts[1];
		some[0].state = texts[2];
		some[0].breaker = texts[3];
		some[1].id = nasty(texts[4], 32);
		some[1].program = texts[5];
		some[1].started = texts[6];
		some[1].policy = texts[7];
		some[1].breaker_reason = texts[8];
		breaker.name = texts[9];
		breaker.reason = texts[10];
		breaker.kind = texts[11];
		denial.agent = texts[12];
		denial.what = texts[13];
		denial.time = texts[14];
		denial.box = nasties.box_count ? some[0].id : texts[15];
		snprintf(desk.typed, sizeof(desk.typed), "%s", texts[1]);
		rf_desk_say(&desk, chance(2), "%s", texts[2]);
		snprintf(desk.chosen, sizeof(desk.chosen), "%s", chance(2) ? "b1" : texts[4]);
		snprintf(desk.target, sizeof(desk.target), "%s", texts[3]);
		panel.trouble = chance(4) ? NULL : texts[5];
		desk.back = (enum rf_desk_mode)chance(2);
		draw(&panel, chance(8) || panel.rows == 0 ? &nasties : NULL, &desk, &out);
		is_sound(&panel, &out);
		rf_desk_done(&desk);
	}
}
