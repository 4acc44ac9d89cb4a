/* Where the person in front of the screen is: see desk.h. */
#include "top/desk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

void rf_desk_done(struct rf_desk *desk)
{
	free(desk->rows);
	*desk = (struct rf_desk){ 0 };
}

void rf_desk_say(struct rf_desk *desk, bool is_bad, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(desk->said, sizeof(desk->said), fmt, args);
	va_end(args);
	desk->is_bad = is_bad;
}

/* ------------------------------------------------------------- order */

static uint64_t figure_of(const struct rf_board_box *box, enum rf_desk_sort sort)
{
	uint64_t most = 0;

	switch (sort) {
	case RF_DESK_BY_CPU:
		return box->cpu_percent == RF_BOARD_UNKNOWN ? 0 : box->cpu_percent;
	case RF_DESK_BY_MEMORY:
		most = box->uses[RF_BOARD_MEMORY].used;
		return most == RF_BOARD_UNKNOWN ? 0 : most;
	case RF_DESK_BY_LIMIT:
		for (size_t i = 0; i < RF_BOARD_WHATS; i++)
			if (rf_board_percent(&box->uses[i]) > most)
				most = rf_board_percent(&box->uses[i]);
		return most;
	default:
		return RF_BOARD_UNKNOWN - box->uses[RF_BOARD_TIME].used; /* the youngest has most */
	}
}

struct order {
	const struct rf_board *board;
	enum rf_desk_sort sort;
};

static int compare(const void *left, const void *right, void *data)
{
	const struct order *order = data;
	const struct rf_board_box *a = &order->board->boxes[*(const size_t *)left];
	const struct rf_board_box *b = &order->board->boxes[*(const size_t *)right];
	uint64_t of_a = figure_of(a, order->sort), of_b = figure_of(b, order->sort);
	int by_name = order->sort == RF_DESK_BY_AGENT ? strcmp(a->agent, b->agent) : 0;

	if (by_name != 0)
		return by_name;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->id, b->id); /* nobody changes places without a reason */
}

static bool is_wanted(const struct rf_desk *desk, const struct rf_board_box *box)
{
	return !desk->filter[0] || strcasestr(box->agent, desk->filter);
}

/* The row of the chosen box; or the one that is now where it was. */
static void choose_again(struct rf_desk *desk, const struct rf_board *board)
{
	for (size_t i = 0; i < desk->count; i++)
		if (strcmp(board->boxes[desk->rows[i]].id, desk->chosen) == 0) {
			desk->at = i;
			return;
		}
	if (desk->at >= desk->count)
		desk->at = desk->count ? desk->count - 1 : 0;
	if (desk->mode == RF_DESK_INSPECT)
		return; /* which says that the box has ended */
	snprintf(desk->chosen, sizeof(desk->chosen), "%s",
		 desk->count ? board->boxes[desk->rows[desk->at]].id : "");
}

bool rf_desk_arrange(struct rf_desk *desk, const struct rf_board *board)
{
	struct order order = { board, desk->sort };

	desk->count = 0;
	if (board->box_count > desk->room) {
		size_t *rows = reallocarray(desk->rows, board->box_count, sizeof(*rows));

		if (!rows)
			return false;
		desk->rows = rows;
		desk->room = board->box_count;
	}
	for (size_t i = 0; i < board->box_count; i++)
		if (is_wanted(desk, &board->boxes[i]))
			desk->rows[desk->count++] = i;
	if (desk->count > 1)
		qsort_r(desk->rows, desk->count, sizeof(*desk->rows), compare, &order);
	choose_again(desk, board);
	return true;
}

void rf_desk_scroll(struct rf_desk *desk, size_t page)
{
	if (desk->at < desk->first)
		desk->first = desk->at;
	if (page > 0 && desk->at >= desk->first + page)
		desk->first = desk->at - page + 1;
	if (desk->first + page > desk->count) /* no empty rows while there are boxes above */
		desk->first = desk->count > page ? desk->count - page : 0;
}

const struct rf_board_box *rf_desk_chosen(const struct rf_desk *desk, const struct rf_board *board)
{
	return desk->chosen[0] ? rf_board_find(board, desk->chosen) : NULL;
}

/* ------------------------------------------------------------- keys */

static void go_to(struct rf_desk *desk, const struct rf_board *board, size_t at)
{
	if (desk->count == 0)
		return;
	desk->at = at < desk->count ? at : desk->count - 1;
	snprintf(desk->chosen, sizeof(desk->chosen), "%s", board->boxes[desk->rows[desk->at]].id);
}

static size_t less(size_t at, size_t by)
{
	return at > by ? at - by : 0;
}

static bool move(struct rf_desk *desk, const struct rf_board *board, uint32_t code, size_t page)
{
	switch (code) {
	case RF_KEYS_UP:
		go_to(desk, board, less(desk->at, 1));
		return true;
	case RF_KEYS_DOWN:
		go_to(desk, board, desk->at + 1);
		return true;
	case RF_KEYS_PAGE_UP:
		go_to(desk, board, less(desk->at, page));
		return true;
	case RF_KEYS_PAGE_DOWN:
		go_to(desk, board, desk->at + page);
		return true;
	case RF_KEYS_HOME:
		go_to(desk, board, 0);
		return true;
	case RF_KEYS_END:
		go_to(desk, board, less(desk->count, 1));
		return true;
	default:
		return false;
	}
}

/* Something is wanted of the chosen box. */
static enum rf_desk_wish want(struct rf_desk *desk, const struct rf_board *board,
			      enum rf_desk_wish wish)
{
	if (!rf_desk_chosen(desk, board)) {
		rf_desk_say(desk, true, "there is no box to %s",
			    wish == RF_DESK_KILL   ? "kill"
			    : wish == RF_DESK_THAW ? "thaw"
						   : "freeze");
		return RF_DESK_NOTHING;
	}
	memcpy(desk->target, desk->chosen, sizeof(desk->target));
	if (wish != RF_DESK_KILL)
		return wish;
	desk->back = desk->mode; /* what can't be undone is asked for */
	desk->mode = RF_DESK_CONFIRM;
	return RF_DESK_NOTHING;
}

static enum rf_desk_wish confirm(struct rf_desk *desk, struct rf_key key)
{
	bool is_yes = (key.code == 'y' || key.code == 'Y') && !key.is_pasted;

	desk->mode = desk->back;
	if (is_yes)
		return RF_DESK_KILL;
	rf_desk_say(desk, false, "not killed");
	return RF_DESK_NOTHING;
}

/* A character more, in UTF-8; none that would not fit or is a control. */
static void type(struct rf_desk *desk, uint32_t code)
{
	size_t len = strlen(desk->typed), n = 1 + (code > 0x7f) + (code > 0x7ff) + (code > 0xffff);
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code > 0x10ffff ||
	    len + n >= sizeof(desk->typed))
		return;
	for (size_t i = n; i-- > 1; code >>= 6)
		desk->typed[len + i] = (char)(0x80 | (code & 0x3f));
	desk->typed[len] = (char)(lead[n] | code);
	desk->typed[len + n] = '\0';
}

static void rub_out(struct rf_desk *desk)
{
	size_t len = strlen(desk->typed);

	while (len > 0 && ((unsigned char)desk->typed[len - 1] & 0xc0) == 0x80)
		len--;
	desk->typed[less(len, 1)] = '\0';
}

/* The table follows what is typed; Escape takes it back. */
static void edit_filter(struct rf_desk *desk, const struct rf_board *board, struct rf_key key)
{
	switch (key.code) {
	case RF_KEYS_ENTER:
		desk->mode = RF_DESK_LIST;
		break;
	case RF_KEYS_ESCAPE:
		desk->typed[0] = '\0';
		desk->mode = RF_DESK_LIST;
		break;
	case RF_KEYS_CTRL_U:
		desk->typed[0] = '\0';
		break;
	case RF_KEYS_BACKSPACE:
		rub_out(desk);
		break;
	default:
		type(desk, key.code);
		break;
	}
	memcpy(desk->filter, desk->typed, sizeof(desk->filter));
	rf_desk_arrange(desk, board);
}

static void leave(struct rf_desk *desk, const struct rf_board *board)
{
	if (desk->mode == RF_DESK_LIST)
		desk->filter[0] = '\0';
	desk->mode = RF_DESK_LIST;
	rf_desk_arrange(desk, board);
}

static enum rf_desk_wish command(struct rf_desk *desk, const struct rf_board *board, uint32_t code)
{
	switch (code) {
	case 'q':
	case 'Q':
		return RF_DESK_QUIT;
	case 'f':
		return want(desk, board, RF_DESK_FREEZE);
	case 't':
		return want(desk, board, RF_DESK_THAW);
	case 'k':
		return want(desk, board, RF_DESK_KILL);
	case ' ':
		return RF_DESK_LOOK;
	case 'h':
	case '?':
		desk->back = desk->mode;
		desk->mode = RF_DESK_HELP;
		return RF_DESK_NOTHING;
	case RF_KEYS_ESCAPE:
		leave(desk, board);
		return RF_DESK_NOTHING;
	default:
		return RF_DESK_NOTHING;
	}
}

/* What only the table has. */
static bool arrange_by(struct rf_desk *desk, const struct rf_board *board, uint32_t code)
{
	switch (code) {
	case 's':
		desk->sort = (desk->sort + 1) % RF_DESK_SORTS;
		break;
	case 'S':
		desk->sort = (desk->sort + RF_DESK_SORTS - 1) % RF_DESK_SORTS;
		break;
	case '/':
		memcpy(desk->typed, desk->filter, sizeof(desk->typed));
		desk->mode = RF_DESK_FILTER;
		return true;
	case 'i':
	case RF_KEYS_ENTER:
		if (rf_desk_chosen(desk, board))
			desk->mode = RF_DESK_INSPECT;
		else
			rf_desk_say(desk, true, "there is no box to inspect");
		return true;
	default:
		return false;
	}
	rf_desk_arrange(desk, board);
	rf_desk_say(desk, false, "sorted by %s", rf_desk_sort_name(desk->sort));
	return true;
}

enum rf_desk_wish rf_desk_key(struct rf_desk *desk, const struct rf_board *board, struct rf_key key,
			      size_t page)
{
	if (key.code == RF_KEYS_CTRL_L)
		return RF_DESK_REPAINT;
	if (key.is_pasted && desk->mode != RF_DESK_FILTER)
		return RF_DESK_NOTHING; /* not even as a "no": it was not meant for us */
	desk->said[0] = '\0';
	switch (desk->mode) {
	case RF_DESK_CONFIRM:
		return confirm(desk, key);
	case RF_DESK_HELP:
		desk->mode = desk->back;
		return RF_DESK_NOTHING;
	case RF_DESK_FILTER:
		edit_filter(desk, board, key);
		return RF_DESK_NOTHING;
	case RF_DESK_LIST:
		if (move(desk, board, key.code, page) || arrange_by(desk, board, key.code))
			return RF_DESK_NOTHING;
		break;
	case RF_DESK_INSPECT:
		if (key.code == 'i' || key.code == RF_KEYS_ENTER)
			key.code = RF_KEYS_ESCAPE;
		break;
	}
	return command(desk, board, key.code);
}

const char *rf_desk_sort_name(enum rf_desk_sort sort)
{
	static const char *const names[] = {
		[RF_DESK_BY_TIME] = "age",      [RF_DESK_BY_CPU] = "processor",
		[RF_DESK_BY_MEMORY] = "memory", [RF_DESK_BY_LIMIT] = "limit",
		[RF_DESK_BY_AGENT] = "agent",
	};

	return names[sort];
}
