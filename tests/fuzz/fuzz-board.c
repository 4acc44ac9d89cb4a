/*
 * What a watcher answers (two texts, with a zero byte between them), drawn: a board is read whole or refused with a
 * reason, and no line of its frame has a control character in it, or is too wide.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/glyph.h"
#include "replay.h"
#include "top/panel.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(const struct rf_panel *panel, const struct rf_buf *out)
{
	int rows = 0;

	for (char *at = out->data, *end = at + out->len; at < end; rows++) {
		size_t len = strcspn(at, "\n");

		at[len] = '\0';
		for (size_t i = 0; i < len; i++)
			require((unsigned char)at[i] >= 0x20 && at[i] != 0x7f);
		require(rf_glyph_width(at) < panel->columns);
		at += len + 1;
	}
	require(panel->rows == 0 || rows == panel->rows);
}

static void show(const struct rf_board *board, const struct rf_panel *panel)
{
	static const enum rf_desk_mode modes[] = { RF_DESK_LIST, RF_DESK_INSPECT, RF_DESK_CONFIRM };
	RF_AUTO_BUF struct rf_buf out;
	struct rf_desk desk = { .sort = RF_DESK_BY_LIMIT };

	rf_buf_init(&out, 64 << 20);
	require(rf_desk_arrange(&desk, board));
	memcpy(desk.target, desk.chosen, sizeof(desk.target));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		desk.mode = modes[i];
		rf_buf_clear(&out);
		rf_panel_draw(panel, board, &desk, &out);
		check(panel, &out);
	}
	rf_desk_done(&desk);
}

RF_FUZZ(data, size)
{
	const struct rf_panel tall = { .columns = 80, .rows = 24, .is_utf8 = true },
			      wide = { .columns = 130, .rows = 0 };
	const uint8_t *second = size ? memchr(data, 0, size) : NULL;
	size_t len = second ? (size_t)(second - data) : size;
	struct rf_err err = RF_ERR_INIT;
	struct rf_board *board = NULL;

	if (rf_board_read((const char *)data, len, second ? (const char *)second + 1 : "[]",
			  second ? size - len - 1 : 2, &board, &err) < 0) {
		require(err.msg[0] && !board);
		return 0;
	}
	show(board, &tall);
	show(board, &wide);
	rf_board_free(board);
	return 0;
}
