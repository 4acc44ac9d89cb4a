/* Parts of a frame that take the table's place: see detail.h. */
#include "top/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "top/panel.h"

#define LABEL 11 /* columns of what a line is about */

static void label(struct rf_pen *pen, const char *name)
{
	rf_pen_space(pen, 1);
	rf_pen_left(pen, RF_STYLE_NAME, name, LABEL);
}

static void put_line(struct rf_pen *pen, const char *name, const char *text)
{
	label(pen, name);
	rf_pen_put(pen, RF_STYLE_PLAIN, text[0] ? text : "-", 0);
	rf_pen_end(pen);
}

/* The hour, minute and second of an RFC 3339 time. */
static const char *clock_of(const char *time, char text[9])
{
	const char *clock = strchr(time, 'T');

	snprintf(text, 9, "%.8s", clock ? clock + 1 : time);
	return text;
}

void rf_detail_denial(struct rf_pen *pen, const struct rf_board_denial *denial)
{
	char clock[9];

	rf_pen_space(pen, 2);
	rf_pen_left(pen, RF_STYLE_QUIET, clock_of(denial->time, clock), 8);
	rf_pen_space(pen, 1);
	rf_pen_left(pen, RF_STYLE_PLAIN, denial->agent[0] ? denial->agent : "-", 10);
	rf_pen_space(pen, 1);
	rf_pen_printf(pen, RF_STYLE_QUIET, "%.8s", denial->box);
	rf_pen_space(pen, 1);
	rf_pen_put(pen, RF_STYLE_PLAIN, denial->what, 0);
	rf_pen_end(pen);
}

/* Used, granted, and how far that is. */
static void put_use(struct rf_pen *pen, const struct rf_board_box *box, enum rf_board_what what)
{
	const struct rf_board_use *use = &box->uses[what];
	unsigned percent = rf_board_percent(use);
	enum rf_style_role role = percent >= 95   ? RF_STYLE_BAD
				  : percent >= 80 ? RF_STYLE_WARNING
						  : RF_STYLE_GOOD;
	char text[RF_PANEL_AMOUNT];

	label(pen, rf_board_names[what]);
	rf_panel_amount(what, use->used, text);
	rf_pen_right(pen, RF_STYLE_PLAIN, text, 7);
	rf_panel_amount(what, use->limit, text);
	rf_pen_printf(pen, RF_STYLE_PLAIN, " of %-7s",
		      use->limit == RF_BOARD_UNKNOWN ? "no limit" : text);
	if (use->limit != RF_BOARD_UNKNOWN && use->used != RF_BOARD_UNKNOWN && pen->left > 20) {
		static const char full[] = "##########", empty[] = "..........";
		int bar = (int)(percent + 5) / 10;

		rf_pen_printf(pen, role, " %.*s", bar, full);
		rf_pen_printf(pen, RF_STYLE_QUIET, "%.*s %u%%", 10 - bar, empty, percent);
	}
	rf_pen_end(pen);
}

/* A long text, broken wherever a line ends; gives how many lines it took. */
static size_t put_program(struct rf_pen *pen, const char *program, size_t most)
{
	char part[1024];
	size_t lines = 0;

	do {
		size_t n = rf_pen_fit(program, pen->left - LABEL - 1);
		bool is_last = ++lines == most; /* which shows that it is cut */

		if (n >= sizeof(part))
			n = sizeof(part) - 1;
		snprintf(part, sizeof(part), "%.*s", is_last ? (int)sizeof(part) - 1 : (int)n,
			 program);
		put_line(pen, lines == 1 ? "program" : "", part);
		program += n;
	} while (*program && lines < most);
	return lines;
}

static size_t put_facts(struct rf_pen *pen, const struct rf_board_box *box)
{
	char text[512];

	put_line(pen, "box", box->id);
	snprintf(text, sizeof(text), "%.200s%s%.40s%s%.160s", box->agent[0] ? box->agent : "-",
		 box->breaker[0] ? ", breaker " : "", box->breaker,
		 box->breaker_reason[0] ? ": " : "", box->breaker_reason);
	put_line(pen, "agent", text);
	snprintf(text, sizeof(text), "%.20s, started %.40s", box->state, box->started);
	put_line(pen, "state", text);
	if (box->pid == RF_BOARD_UNKNOWN || box->launcher == RF_BOARD_UNKNOWN)
		text[0] = '\0';
	else
		snprintf(text, sizeof(text), "%" PRIu64 ", started by %" PRIu64, box->pid,
			 box->launcher);
	put_line(pen, "pid", text);
	put_line(pen, "policy", box->policy);
	return 5;
}

/* Whatever is drawn, the frame has its number of lines. */
static void fill(struct rf_pen *pen, size_t used, size_t rows)
{
	for (; used < rows; used++)
		rf_pen_end(pen);
}

void rf_detail_box(struct rf_pen *pen, const struct rf_board *board, const char *id, size_t rows)
{
	const struct rf_board_box *box = rf_board_find(board, id);
	size_t used = 0;

	if (!box) {
		put_line(pen, "box", id);
		put_line(pen, "state", "it has ended; `ringfort audit show` knows how");
		fill(pen, 2, rows);
		return;
	}
	if (rows > 14) /* else what it uses is worth more */
		used = put_facts(pen, box);
	else
		put_line(pen, "box", id), used = 1;
	for (size_t i = 0; i < RF_BOARD_WHATS && used < rows; i++, used++)
		put_use(pen, box, (enum rf_board_what)i);
	if (used < rows)
		used += put_program(pen, box->program, rows - used > 4 ? 4 : rows - used);
	for (size_t i = 0; i < board->denial_count && used < rows; i++)
		if (strcmp(board->denials[i].box, id) == 0) {
			char clock[9], text[256];

			snprintf(text, sizeof(text), "%s %.240s",
				 clock_of(board->denials[i].time, clock), board->denials[i].what);
			put_line(pen, "denied", text);
			used++;
		}
	fill(pen, used, rows);
}

void rf_detail_help(struct rf_pen *pen, size_t rows)
{
	/* clang-format off */
	static const struct { const char *keys, *what; } lines[] = {
		{ "up down",     "choose a box; also PgUp, PgDn, Home, End" },
		{ "f",           "freeze it: all of its processes stop, its time goes on" },
		{ "t",           "thaw it: they go on" },
		{ "k",           "kill it, after a `y`; its result and the log say so" },
		{ "i Enter",     "inspect it: limits, policy, what was denied" },
		{ "s S",         "sort by the next, the previous figure" },
		{ "/",           "only agents whose name has this in it; Escape: all" },
		{ "space",       "look now" },
		{ "ctrl-L",      "draw everything anew" },
		{ "? h",         "this" },
		{ "q",           "quit; boxes go on" },
		{ "",            "" },
		{ "colours",     "yellow: 80 % of a limit is used, red: 95 %" },
		{ "scripts",     "ringfort ps --json, ringfort metrics" },
	};
	/* clang-format on */
	size_t used = 0;

	for (; used < RF_LEN(lines) && used < rows; used++) {
		label(pen, lines[used].keys);
		rf_pen_put(pen, RF_STYLE_PLAIN, lines[used].what, 0);
		rf_pen_end(pen);
	}
	fill(pen, used, rows);
}
