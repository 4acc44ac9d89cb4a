/* The most of something in any hour, and in any day: see window.h. */
#include "audit/window.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_NS (3600 * 1000000000ull)

static const uint64_t spans[2] = { HOUR_NS, 24 * HOUR_NS };

/* Room for one more: what is older than a day goes first. */
static int make_room(struct rf_window *window)
{
	size_t gone = window->begin[1];
	struct rf_window_entry *more;

	if (window->end < window->room)
		return 0;
	if (gone > window->room / 2) {
		memmove(window->entries, window->entries + gone,
			(window->end - gone) * sizeof(*window->entries));
		window->end -= gone;
		window->begin[0] -= gone;
		window->begin[1] = 0;
		return 0;
	}
	window->room = window->room ? 2 * window->room : 64;
	more = realloc(window->entries, window->room * sizeof(*more));
	if (!more)
		return -1;
	window->entries = more;
	return 0;
}

void rf_window_add(struct rf_window *window, uint64_t time_ns, unsigned what, uint64_t amount)
{
	if (what >= RF_WINDOW_WHAT || window->has_failed)
		return;
	if (make_room(window) < 0) {
		window->has_failed = true;
		return;
	}
	if (window->end > 0 && time_ns < window->entries[window->end - 1].time_ns)
		time_ns = window->entries[window->end - 1].time_ns;
	window->entries[window->end++] = (struct rf_window_entry){ time_ns, amount, what };
	for (int i = 0; i < 2; i++) {
		const struct rf_window_entry *oldest = &window->entries[window->begin[i]];

		for (; time_ns - oldest->time_ns >= spans[i]; oldest++, window->begin[i]++)
			window->now[i][oldest->what] -= oldest->amount;
		window->now[i][what] += amount;
		if (window->now[i][what] > window->most[i][what])
			window->most[i][what] = window->now[i][what];
	}
}

void rf_window_done(struct rf_window *window)
{
	if (window)
		free(window->entries);
}
