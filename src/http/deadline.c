/* Many deadlines on one timer of the loop: see deadline.h. */
#include "http/deadline.h"

#include <errno.h>
#include <stdlib.h>

struct rf_deadlines {
	struct rf_event *timer;
	uint64_t armed_ns;         /* what the timer is set to; UINT64_MAX: to nothing */
	struct rf_deadline **heap; /* from 1; none is earlier than the one at half its place */
	size_t count, room, owners;
};

static void put(struct rf_deadlines *all, struct rf_deadline *deadline, size_t place)
{
	all->heap[place] = deadline;
	deadline->place = place;
}

/* Moves a deadline to where it belongs, up or down. */
static void settle(struct rf_deadlines *all, struct rf_deadline *deadline)
{
	size_t place = deadline->place;

	while (place > 1 && all->heap[place / 2]->at_ns > deadline->at_ns) {
		put(all, all->heap[place / 2], place);
		place /= 2;
	}
	for (;;) {
		size_t child = 2 * place;

		if (child < all->count && all->heap[child + 1]->at_ns < all->heap[child]->at_ns)
			child++;
		if (child > all->count || all->heap[child]->at_ns >= deadline->at_ns)
			break;
		put(all, all->heap[child], place);
		place = child;
	}
	put(all, deadline, place);
}

/* The timer may be early, and then finds nothing; it is never late. */
static void arm(struct rf_deadlines *all)
{
	if (all->count > 0 && all->heap[1]->at_ns < all->armed_ns) {
		all->armed_ns = all->heap[1]->at_ns;
		rf_event_again(all->timer, all->armed_ns);
	}
}

static void take_out(struct rf_deadline *deadline)
{
	struct rf_deadlines *all = deadline->all;
	struct rf_deadline *last;

	if (!deadline->place)
		return;
	last = all->heap[all->count--];
	if (last != deadline) {
		put(all, last, deadline->place);
		settle(all, last);
	}
	deadline->place = 0;
}

static void on_timer(void *data, int what)
{
	struct rf_deadlines *all = data;
	uint64_t now = rf_loop_now();

	all->armed_ns = UINT64_MAX;
	while (all->count > 0 && all->heap[1]->at_ns <= now) {
		struct rf_deadline *first = all->heap[1];

		/* Set anew since: it waits for its turn, also where the loop is late for both times. */
		if (first->due_ns > first->at_ns && first->due_ns != UINT64_MAX) {
			first->at_ns = first->due_ns;
			settle(all, first);
			continue;
		}
		take_out(first);
		if (first->due_ns != UINT64_MAX)
			first->fn(first->data);
	}
	arm(all);
}

int rf_deadlines_new(struct rf_loop *loop, struct rf_deadlines **ret_all, struct rf_err *err)
{
	struct rf_deadlines *all = calloc(1, sizeof(*all));

	if (!all)
		return rf_fail(err, -ENOMEM, "deadlines");
	all->armed_ns = UINT64_MAX;
	if (rf_loop_timer(loop, UINT64_MAX, on_timer, all, &all->timer, err) < 0) {
		free(all);
		return err->code;
	}
	*ret_all = all;
	return 0;
}

void rf_deadlines_free(struct rf_deadlines *all)
{
	if (!all)
		return;
	rf_event_cancel(all->timer);
	free(all->heap);
	free(all);
}

int rf_deadline_init(struct rf_deadline *deadline, struct rf_deadlines *all, rf_deadline_fn *fn,
		     void *data)
{
	if (all->owners + 2 > all->room) { /* place 0 is nobody's */
		size_t room = all->room ? 2 * all->room : 64;
		struct rf_deadline **heap =
			reallocarray(all->heap, room, sizeof(struct rf_deadline *));

		if (!heap)
			return -ENOMEM;
		all->heap = heap;
		all->room = room;
	}
	all->owners++;
	*deadline = (struct rf_deadline){ .all = all, .fn = fn, .data = data };
	return 0;
}

void rf_deadline_done(struct rf_deadline *deadline)
{
	if (!deadline || !deadline->all)
		return;
	take_out(deadline);
	deadline->all->owners--;
	deadline->all = NULL;
}

/*
 * Nearly every deadline is put off, or cancelled and set anew, long before it is due: it then keeps its place, is looked at when that is reached, and
 * moves to where it belongs by then.
 */
void rf_deadline_set(struct rf_deadline *deadline, uint64_t at_ns)
{
	struct rf_deadlines *all = deadline->all;

	deadline->due_ns = at_ns;
	if (deadline->place && deadline->at_ns <= at_ns)
		return;
	deadline->at_ns = at_ns;
	if (!deadline->place)
		put(all, deadline, ++all->count);
	settle(all, deadline);
	arm(all);
}

void rf_deadline_cancel(struct rf_deadline *deadline)
{
	deadline->due_ns = UINT64_MAX;
}
