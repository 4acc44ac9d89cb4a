/*
 * bench/top: what one frame of `ringfort top` costs, without terminal and socket.
 *
 *     bench-top BOXES FRAMES    so many boxes and breakers, figures that change with each frame, 132 by 50
 *
 * Prints a line of JSON: processor microseconds of one frame, by what is done, and bytes that a terminal gets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top/panel.h"
#include "top/screen.h"

#define MOST (16u << 20)

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void put_boxes(struct rf_buf *out, int count, int frame)
{
	rf_buf_clear(out);
	rf_buf_puts(out, "{\n  \"boxes\": [\n");
	for (int i = 0; i < count; i++)
		rf_buf_printf(
			out,
			"%s    {\n      \"id\": \"%016x\",\n      \"agent\": \"agent-%d\",\n"
			"      \"program\": \"python3\",\n      \"policy\": \"%064d\",\n"
			"      \"state\": \"running\",\n      \"user\": 0,\n      \"pid\": %d,\n"
			"      \"launcher\": 1,\n      \"started\": "
			"\"2026-11-16T10:00:00.000000Z\",\n"
			"      \"limits\": {\n        \"memory\": 536870912,\n        \"cpu\": "
			"100,\n"
			"        \"cpu_time\": 60000,\n        \"time\": 600000,\n"
			"        \"pids\": 256,\n        \"open_files\": 1024,\n"
			"        \"file_size\": 1073741824,\n        \"disk\": 268435456,\n"
			"        \"inodes\": 65536,\n        \"output\": 16777216\n      },\n"
			"      \"used\": {\n        \"memory\": %d,\n        \"cpu\": %d,\n"
			"        \"cpu_time\": %d,\n        \"time\": %d,\n        \"pids\": 3,\n"
			"        \"disk\": 24576,\n        \"written\": 267,\n        \"begun\": "
			"9\n"
			"      },\n      \"breaker\": {\n        \"state\": \"closed\",\n"
			"        \"reason\": null\n      }\n    }",
			i ? ",\n" : "", i * 7919 + 1, i % 50, i, 1000 + i,
			(i * 104729 + frame * 65536) % 536870912, (i + frame) % 100, frame * 10 + i,
			frame * 1000 + i * 37);
	rf_buf_puts(out, "\n  ],\n  \"denials\": []\n}\n");
}

static void put_breakers(struct rf_buf *out, int count)
{
	rf_buf_puts(out, "[\n");
	for (int i = 0; i < count; i++)
		rf_buf_printf(out,
			      "%s  {\n    \"kind\": \"agent\",\n    \"name\": \"agent-%d\",\n"
			      "    \"state\": \"closed\",\n    \"reason\": null,\n"
			      "    \"retry_ms\": 0,\n    \"failures_in_a_row\": 0,\n"
			      "    \"well\": 1,\n    \"failed\": 0,\n    \"refused\": 0,\n"
			      "    \"opened\": 0\n  }",
			      i ? ",\n" : "", i);
	rf_buf_puts(out, "\n]\n");
}

int main(int argc, char **argv)
{
	const struct rf_panel panel = {
		.columns = 132, .rows = 50, .is_utf8 = true, .style = { true }, .clock = "10:00:00"
	};
	int boxes = argc == 3 ? atoi(argv[1]) : 0, frames = argc == 3 ? atoi(argv[2]) : 0;
	double read_us = 0, arrange_us = 0, draw_us = 0, compare_us = 0;
	RF_AUTO_BUF struct rf_buf text, breakers, before, frame, out;
	struct rf_desk desk = { .sort = RF_DESK_BY_CPU };
	size_t bytes = 0;

	rf_buf_init(&text, MOST);
	rf_buf_init(&breakers, MOST);
	rf_buf_init(&before, MOST);
	rf_buf_init(&frame, MOST);
	rf_buf_init(&out, MOST);
	if (boxes < 1 || frames < 1) {
		fputs("usage: bench-top BOXES FRAMES\n", stderr);
		return 2;
	}
	put_breakers(&breakers, boxes);
	for (int i = 0; i < frames; i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_board *board;
		double at[5];

		put_boxes(&text, boxes, i);
		at[0] = now_us();
		if (rf_board_read(text.data, text.len, breakers.data, breakers.len, &board, &err) <
		    0) {
			fprintf(stderr, "bench-top: %s\n", err.msg);
			return 1;
		}
		at[1] = now_us();
		rf_desk_arrange(&desk, board);
		at[2] = now_us();
		rf_buf_clear(&frame);
		rf_panel_draw(&panel, board, &desk, &frame);
		at[3] = now_us();
		rf_buf_clear(&out);
		rf_screen_compare(before.data, before.len, frame.data, frame.len, panel.rows, &out);
		at[4] = now_us();
		rf_buf_clear(&before);
		rf_buf_add(&before, frame.data, frame.len);
		rf_board_free(board);
		read_us += at[1] - at[0];
		arrange_us += at[2] - at[1];
		draw_us += at[3] - at[2];
		compare_us += at[4] - at[3];
		bytes += out.len;
	}
	printf("{\"boxes\": %d, \"json_bytes\": %zu, \"read_us\": %.1f, \"sort_us\": %.1f, "
	       "\"draw_us\": %.1f, \"compare_us\": %.1f, \"frame_us\": %.1f, \"bytes\": %zu}\n",
	       boxes, text.len + breakers.len, read_us / frames, arrange_us / frames,
	       draw_us / frames, compare_us / frames,
	       (read_us + arrange_us + draw_us + compare_us) / frames, bytes / (size_t)frames);
	rf_desk_done(&desk);
	return 0;
}
