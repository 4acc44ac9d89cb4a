/*
 * The tree of numbers in the system call filter: src/jail/filter.c, included for its statics.
 *
 * Today's table needs no jump that is too long for a conditional one; a longer table will.
 */
#include "jail/filter.c"

#include "harness.h"
#include "second-opinion.h"

#define STEP 3 /* a leaf rules this many numbers */

/* Builds a tree of `count` leaves, every other one with `check`.  False if it did not fit. */
static bool build_tree(size_t count, enum rf_call_check check, struct rf_filter *ret_filter)
{
	const struct rf_call_options options = { .has_unix = true, .has_inet = true };
	struct rf_filter_writer w = { .filter = ret_filter, .options = &options };
	struct rf_filter_leaf leaves[CALLS];

	for (size_t i = 0; i < count; i++)
		leaves[i] = (struct rf_filter_leaf){
			.nr = (int)i * STEP,
			.action = SECCOMP_RET_ERRNO | (uint32_t)i,
			.check = i % 2 ? check : RF_CHECK_NONE,
		};
	ret_filter->len = 0;
	rf_filter_put(&w, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
	put_tree(&w, leaves, count);
	return !w.is_full;
}

RF_TEST(trees_of_all_sizes_lead_each_number_to_its_leaf)
{
	static const enum rf_call_check checks[] = { RF_CHECK_NONE, RF_CHECK_IOCTL,
						     RF_CHECK_SOCKET };

	for (size_t c = 0; c < RF_LEN(checks); c++)
		for (size_t count = 1; count < CALLS; count++) {
			struct rf_filter filter;

			if (!build_tree(count, checks[c], &filter))
				break;
			for (size_t nr = 0; nr < (count + 1) * STEP; nr++) {
				struct seccomp_data data = { .nr = (int)nr,
							     .args = { AF_UNIX, TIOCGWINSZ } };
				size_t leaf = nr / STEP < count ? nr / STEP : count - 1;
				bool is_checked = leaf % 2 && checks[c] != RF_CHECK_NONE;
				uint32_t got = rf_opinion_run(&filter, &data);

				RF_CHECK(got == (is_checked ? ALLOW : SECCOMP_RET_ERRNO | leaf),
					 "%zu leaves of kind %zu: number %zu gave %#x", count, c,
					 nr, got);
			}
			RF_CHECK(c == 0 || count < 60 || filter.len > 300, "no long jump here");
		}
}

RF_TEST(a_tree_that_does_not_fit_is_told_and_stays_within_its_room)
{
	for (size_t count = 1; count < CALLS; count++) {
		struct {
			struct rf_filter filter;
			char guard[64];
		} room;
		bool is_whole;

		memset(&room, 0x5a, sizeof(room));
		is_whole = build_tree(count, RF_CHECK_SOCKET, &room.filter);
		RF_CHECK(room.filter.len <= RF_FILTER_MAX, "%zu instructions", room.filter.len);
		RF_CHECK(is_whole == (count < 280) || (count > 240 && count < 480), "%zu leaves",
			 count);
		for (size_t i = 0; i < sizeof(room.guard); i++)
			RF_CHECK(room.guard[i] == 0x5a, "%zu leaves wrote behind", count);
	}
}
