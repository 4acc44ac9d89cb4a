/* A frame: see panel.h. */
#include "top/panel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "top/detail.h"
#include "top/pen.h"

#define WITH_SECTIONS 16  /* rows from which breakers and denials have a place of their own */
#define WIDE          120 /* columns from which names have more room */

/* ------------------------------------------------------------- amounts */

static void put_bytes(uint64_t bytes, char text[RF_PANEL_AMOUNT])
{
	static const char *const units = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	for (; value >= 1024 && unit < 5; unit++)
		value /= 1024;
	if (unit < 0)
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64, bytes);
	else if (value < 9.95 && value != (double)(int)value)
		snprintf(text, RF_PANEL_AMOUNT, "%.1f%c", value, units[unit]);
	else
		snprintf(text, RF_PANEL_AMOUNT, "%.0f%c", value, units[unit]);
}

static void put_pair(uint64_t large, char large_unit, uint64_t small, char small_unit,
		     char text[RF_PANEL_AMOUNT])
{
	if (small)
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64 "%c%02" PRIu64 "%c", large, large_unit,
			 small, small_unit);
	else
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64 "%c", large, large_unit);
}

static void put_time(uint64_t ms, char text[RF_PANEL_AMOUNT])
{
	uint64_t s = ms / 1000;

	if (ms < 10000 && ms % 1000 >= 100)
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64 ".%" PRIu64 "s", s, ms % 1000 / 100);
	else if (s < 60)
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64 "s", s);
	else if (s < 3600)
		put_pair(s / 60, 'm', s % 60, 's', text);
	else if (s < 86400)
		put_pair(s / 3600, 'h', s % 3600 / 60, 'm', text);
	else
		put_pair(s / 86400, 'd', s % 86400 / 3600, 'h', text);
}

void rf_panel_amount(enum rf_board_what what, uint64_t value, char text[RF_PANEL_AMOUNT])
{
	if (value == RF_BOARD_UNKNOWN)
		snprintf(text, RF_PANEL_AMOUNT, "-");
	else if (what == RF_BOARD_PIDS)
		snprintf(text, RF_PANEL_AMOUNT, "%" PRIu64, value);
	else if (what == RF_BOARD_MEMORY || what == RF_BOARD_DISK)
		put_bytes(value, text);
	else
		put_time(value, text);
}

/* ------------------------------------------------------------- the table */

struct cell {
	char text[2 * RF_PANEL_AMOUNT]; /* of a figure */
	const char *name;               /* or another text */
	enum rf_style_role role;
};

/* What is used of what may be: an eye falls on those that are near the end. */
static void put_use(const struct rf_board_use *use, enum rf_board_what what, struct cell *cell)
{
	unsigned percent = rf_board_percent(use);
	char used[RF_PANEL_AMOUNT], limit[RF_PANEL_AMOUNT];

	rf_panel_amount(what, use->used, used);
	rf_panel_amount(what, use->limit, limit);
	snprintf(cell->text, sizeof(cell->text), "%s%s%s", used,
		 use->limit == RF_BOARD_UNKNOWN ? "" : "/",
		 use->limit == RF_BOARD_UNKNOWN ? "" : limit);
	cell->role = percent >= 95 ? RF_STYLE_BAD : percent >= 80 ? RF_STYLE_WARNING : cell->role;
}

static void id_cell(const struct rf_board_box *box, struct cell *cell)
{
	cell->name = box->id;
}

static void agent_cell(const struct rf_board_box *box, struct cell *cell)
{
	bool is_held = box->breaker[0] && strcmp(box->breaker, "closed") != 0;

	cell->name = box->agent[0] ? box->agent : "-";
	cell->role = is_held ? RF_STYLE_WARNING : RF_STYLE_PLAIN;
}

static void state_cell(const struct rf_board_box *box, struct cell *cell)
{
	cell->name = box->state;
	cell->role = strcmp(box->state, "frozen") == 0 ? RF_STYLE_NAME : RF_STYLE_PLAIN;
}

static void cpu_cell(const struct rf_board_box *box, struct cell *cell)
{
	if (box->cpu_percent == RF_BOARD_UNKNOWN)
		cell->name = "-";
	else
		snprintf(cell->text, sizeof(cell->text), "%" PRIu64 "%%", box->cpu_percent);
}

static void time_cell(const struct rf_board_box *box, struct cell *cell)
{
	put_use(&box->uses[RF_BOARD_TIME], RF_BOARD_TIME, cell);
}

static void cpu_time_cell(const struct rf_board_box *box, struct cell *cell)
{
	put_use(&box->uses[RF_BOARD_CPU_TIME], RF_BOARD_CPU_TIME, cell);
}

static void memory_cell(const struct rf_board_box *box, struct cell *cell)
{
	put_use(&box->uses[RF_BOARD_MEMORY], RF_BOARD_MEMORY, cell);
}

static void pids_cell(const struct rf_board_box *box, struct cell *cell)
{
	put_use(&box->uses[RF_BOARD_PIDS], RF_BOARD_PIDS, cell);
}

static void disk_cell(const struct rf_board_box *box, struct cell *cell)
{
	put_use(&box->uses[RF_BOARD_DISK], RF_BOARD_DISK, cell);
}

static void program_cell(const struct rf_board_box *box, struct cell *cell)
{
	cell->name = box->program;
}

/* clang-format off */
static const struct column {
	const char *title;
	int width, wide; /* 0: all that is left */
	int from;        /* how wide a terminal must be for it */
	bool is_right;
	void (*put)(const struct rf_board_box *box, struct cell *cell);
} columns[] = {
	{ "BOX",      8,  16, 0,   false, id_cell },
	{ "AGENT",    10, 16, 0,   false, agent_cell },
	{ "STATE",    8,  8,  0,   false, state_cell },
	{ "TIME",     9,  11, 64,  true,  time_cell },
	{ "CPU",      5,  5,  0,   true,  cpu_cell },
	{ "CPU TIME", 9,  11, 100, true,  cpu_time_cell },
	{ "MEMORY",   9,  11, 50,  true,  memory_cell },
	{ "PIDS",     8,  8,  72,  true,  pids_cell },
	{ "DISK",     9,  11, 110, true,  disk_cell },
	{ "PROGRAM",  0,  0,  72,  false, program_cell },
};
/* clang-format on */

static void put_column(struct rf_pen *pen, const struct column *column, enum rf_style_role role,
		       const char *text)
{
	int width = pen->columns >= WIDE ? column->wide : column->width;
	char begin[RF_BOARD_ID];

	if (column->put == id_cell) { /* whose begin is as good as all of it */
		snprintf(begin, sizeof(begin), "%.*s", width, text);
		text = begin;
	}

	if (pen->columns < column->from)
		return;
	rf_pen_space(pen, 1);
	if (width == 0)
		rf_pen_put(pen, role, text, 0);
	else
		(column->is_right ? rf_pen_right : rf_pen_left)(pen, role, text, width);
}

static void draw_heading(struct rf_pen *pen)
{
	rf_pen_space(pen, 1);
	for (size_t i = 0; i < RF_LEN(columns); i++)
		put_column(pen, &columns[i], RF_STYLE_HEADING, columns[i].title);
	rf_pen_end(pen);
}

static void draw_box(struct rf_pen *pen, const struct rf_board_box *box, bool is_chosen)
{
	if (is_chosen)
		rf_pen_choose(pen);
	rf_pen_put(pen, RF_STYLE_PLAIN, is_chosen ? ">" : " ", 1);
	for (size_t i = 0; i < RF_LEN(columns); i++) {
		struct cell cell = { .role = RF_STYLE_PLAIN };

		columns[i].put(box, &cell);
		put_column(pen, &columns[i], cell.role, cell.name ? cell.name : cell.text);
	}
	rf_pen_end(pen);
}

static void draw_table(struct rf_pen *pen, const struct rf_board *board, const struct rf_desk *desk,
		       size_t rows, bool has_cursor)
{
	draw_heading(pen);
	for (size_t i = 0; i < rows; i++) {
		size_t row = desk->first + i;

		if (row < desk->count)
			draw_box(pen, &board->boxes[desk->rows[row]],
				 has_cursor && row == desk->at);
		else if (i == 0 && board->box_count > 0)
			rf_pen_printf(pen, RF_STYLE_QUIET, "  no agent has `%s` in its name",
				      desk->filter);
		else if (i == 0)
			rf_pen_put(pen, RF_STYLE_QUIET, "  no box lives right now", 0);
		if (row >= desk->count)
			rf_pen_end(pen);
	}
}

/* ------------------------------------------------------------- breakers and denials */

static size_t count_state(const struct rf_board *board, const char *state)
{
	size_t count = 0;

	for (size_t i = 0; i < board->breaker_count; i++)
		count += strcmp(board->breakers[i].state, state) == 0;
	return count;
}

static void draw_breaker(struct rf_pen *pen, const struct rf_board_breaker *breaker)
{
	bool is_open = strcmp(breaker->state, "open") == 0;
	bool is_closed = strcmp(breaker->state, "closed") == 0;
	char retry[RF_PANEL_AMOUNT];

	rf_pen_space(pen, 2);
	rf_pen_left(pen,
		    is_open     ? RF_STYLE_BAD
		    : is_closed ? RF_STYLE_PLAIN
				: RF_STYLE_WARNING,
		    breaker->state, 9);
	rf_pen_space(pen, 1);
	rf_pen_put(pen, RF_STYLE_PLAIN, breaker->kind, 10);
	rf_pen_space(pen, 1);
	rf_pen_put(pen, RF_STYLE_PLAIN, breaker->name, 24);
	if (breaker->reason[0]) {
		rf_pen_put(pen, RF_STYLE_PLAIN, ": ", 0);
		rf_pen_put(pen, RF_STYLE_PLAIN, breaker->reason, 0);
	}
	rf_panel_amount(RF_BOARD_TIME, breaker->retry_ms, retry);
	if (is_open && breaker->retry_ms == RF_BOARD_UNKNOWN)
		rf_pen_put(pen, RF_STYLE_QUIET, ", until it is reset", 0);
	else if (is_open)
		rf_pen_printf(pen, RF_STYLE_QUIET, ", retry in %s", retry);
	rf_pen_end(pen);
}

static void draw_breakers(struct rf_pen *pen, const struct rf_board *board, size_t rows)
{
	rf_pen_put(pen, RF_STYLE_HEADING, "BREAKERS", 0);
	if (board->breaker_count)
		rf_pen_printf(pen, RF_STYLE_QUIET, "  %zu open, %zu half-open, %zu closed",
			      count_state(board, "open"), count_state(board, "half-open"),
			      count_state(board, "closed"));
	else
		rf_pen_put(pen, RF_STYLE_QUIET, "  none yet", 0);
	rf_pen_end(pen);
	for (size_t i = 0; i < rows; i++)
		if (i < board->breaker_count)
			draw_breaker(pen, &board->breakers[i]);
		else
			rf_pen_end(pen);
}

static void draw_denials(struct rf_pen *pen, const struct rf_board *board, size_t rows)
{
	rf_pen_put(pen, RF_STYLE_HEADING, "LAST DENIALS", 0);
	if (board->denial_count == 0)
		rf_pen_put(pen, RF_STYLE_QUIET, "  none yet", 0);
	rf_pen_end(pen);
	for (size_t i = 0; i < rows; i++)
		if (i < board->denial_count)
			rf_detail_denial(pen, &board->denials[i]);
		else
			rf_pen_end(pen);
}

/* ------------------------------------------------------------- the first line and the last */

static void draw_summary(struct rf_pen *pen, const struct rf_panel *panel,
			 const struct rf_board *board, const struct rf_desk *desk)
{
	size_t frozen = 0, open = board ? count_state(board, "open") : 0;
	int clock = panel->clock ? (int)strlen(panel->clock) : 0;

	rf_pen_put(pen, RF_STYLE_HEADING, "ringfort top", 0);
	if (board && panel->trouble) {
		rf_pen_printf(pen, RF_STYLE_BAD, "  %s", panel->trouble);
	} else if (board) {
		for (size_t i = 0; i < board->box_count; i++)
			frozen += strcmp(board->boxes[i].state, "frozen") == 0;
		rf_pen_printf(pen, RF_STYLE_PLAIN, "  %zu %s", board->box_count,
			      board->box_count == 1 ? "box" : "boxes");
		if (frozen)
			rf_pen_printf(pen, RF_STYLE_NAME, ", %zu frozen", frozen);
		if (open)
			rf_pen_printf(pen, RF_STYLE_BAD, ", %zu %s open", open,
				      open == 1 ? "breaker" : "breakers");
		if (desk->filter[0])
			rf_pen_printf(pen, RF_STYLE_WARNING, "  agents with `%s`", desk->filter);
		rf_pen_printf(pen, RF_STYLE_QUIET, "  by %s", rf_desk_sort_name(desk->sort));
	}
	if (pen->left > clock) {
		rf_pen_space(pen, pen->left - clock);
		rf_pen_put(pen, RF_STYLE_QUIET, panel->clock ? panel->clock : "", 0);
	}
	rf_pen_end(pen);
}

static void draw_question(struct rf_pen *pen, const struct rf_board *board,
			  const struct rf_desk *desk)
{
	const struct rf_board_box *box = board ? rf_board_find(board, desk->target) : NULL;

	rf_pen_printf(pen, RF_STYLE_ERROR, "kill box %.8s", desk->target);
	if (box && box->agent[0]) {
		rf_pen_put(pen, RF_STYLE_ERROR, " of ", 0);
		rf_pen_put(pen, RF_STYLE_ERROR, box->agent, 16);
	}
	rf_pen_put(pen, RF_STYLE_ERROR, box ? "?" : "?  (it has ended)", 0);
	rf_pen_put(pen, RF_STYLE_PLAIN, "  y: yes, any other key: no", 0);
}

/* Without a newline behind it: nothing scrolls. */
static void draw_foot(struct rf_pen *pen, const struct rf_board *board, const struct rf_desk *desk)
{
	static const char *const keys[] = { "f", "freeze",  "t", "thaw", "k", "kill",
					    "i", "inspect", "s", "sort", "/", "filter",
					    "?", "help",    "q", "quit" };

	if (desk->mode == RF_DESK_CONFIRM) {
		draw_question(pen, board, desk);
	} else if (desk->mode == RF_DESK_FILTER) {
		rf_pen_put(pen, RF_STYLE_NAME, "agent: ", 0);
		rf_pen_put(pen, RF_STYLE_PLAIN, desk->typed, 0);
		rf_pen_put(pen, RF_STYLE_PLAIN, "_", 0);
		rf_pen_put(pen, RF_STYLE_QUIET, "  Enter: keep, Escape: all", 0);
	} else if (desk->said[0]) {
		rf_pen_put(pen, desk->is_bad ? RF_STYLE_BAD : RF_STYLE_GOOD, desk->said, 0);
	} else {
		for (size_t i = 0; i + 1 < RF_LEN(keys); i += 2) {
			rf_pen_put(pen, RF_STYLE_NAME, keys[i], 0);
			rf_pen_printf(pen, RF_STYLE_PLAIN, " %s  ", keys[i + 1]);
		}
	}
	rf_pen_end(pen);
}

/* ------------------------------------------------------------- the whole */

/* Rows of each of the two sections, their headings among them. */
static size_t section_rows(const struct rf_panel *panel)
{
	size_t rows = (size_t)panel->rows / 8 + 1;

	return panel->rows < WITH_SECTIONS ? 0 : rows > 9 ? 9 : rows;
}

size_t rf_panel_page(const struct rf_panel *panel)
{
	size_t taken = 3 + 2 * section_rows(panel); /* summary, heading, foot */

	return (size_t)panel->rows > taken ? (size_t)panel->rows - taken : 1;
}

static void draw_too_small(struct rf_pen *pen, const struct rf_panel *panel)
{
	char lines[3][40];

	snprintf(lines[0], sizeof(lines[0]), "a little more room,");
	snprintf(lines[1], sizeof(lines[1]), "please: %dx%d,", RF_PANEL_COLUMNS, RF_PANEL_ROWS);
	snprintf(lines[2], sizeof(lines[2]), "not %dx%d (q quits)", panel->columns, panel->rows);
	for (int i = 0; i < panel->rows; i++) {
		if (i < 3)
			rf_pen_put(pen, RF_STYLE_PLAIN, lines[i], 0);
		rf_pen_end(pen);
	}
}

static void draw_trouble(struct rf_pen *pen, const struct rf_panel *panel, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		if (i == 1 && panel->trouble)
			rf_pen_printf(pen, RF_STYLE_BAD, "  %s", panel->trouble);
		if (i == 2 && panel->hint)
			rf_pen_printf(pen, RF_STYLE_PLAIN, "  %s", panel->hint);
		rf_pen_end(pen);
	}
}

/* Everything, one below the other. */
static void draw_text(struct rf_pen *pen, const struct rf_panel *panel,
		      const struct rf_board *board, const struct rf_desk *desk)
{
	draw_summary(pen, panel, board, desk);
	draw_table(pen, board, desk, desk->count ? desk->count : 1, false);
	draw_breakers(pen, board, board->breaker_count);
	draw_denials(pen, board, board->denial_count);
}

void rf_panel_draw(const struct rf_panel *panel, const struct rf_board *board,
		   const struct rf_desk *desk, struct rf_buf *out)
{
	struct rf_pen pen = { .out = out,
			      .style = panel->style,
			      .columns = panel->columns,
			      .left = panel->columns - 1,
			      .is_utf8 = panel->is_utf8 };
	size_t body = (size_t)panel->rows - 2, section = section_rows(panel);
	enum rf_desk_mode mode = desk->mode == RF_DESK_CONFIRM ? desk->back : desk->mode;

	if (panel->rows == 0) {
		draw_text(&pen, panel, board, desk);
		return;
	}
	if (panel->columns < RF_PANEL_COLUMNS || panel->rows < RF_PANEL_ROWS) {
		draw_too_small(&pen, panel);
		return;
	}
	draw_summary(&pen, panel, board, desk);
	if (!board) {
		draw_trouble(&pen, panel, body);
	} else if (mode == RF_DESK_HELP) {
		rf_detail_help(&pen, body);
	} else if (mode == RF_DESK_INSPECT) {
		rf_detail_box(&pen, board, desk->chosen, body);
	} else {
		draw_table(&pen, board, desk, rf_panel_page(panel), true);
		if (section) {
			draw_breakers(&pen, board, section - 1);
			draw_denials(&pen, board, section - 1);
		}
	}
	draw_foot(&pen, board, desk);
}
