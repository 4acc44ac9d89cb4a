/* Many deadlines on one timer of the loop: src/http/deadline.c. */
#include <stdlib.h>

#include "base/fd.h"
#include "harness.h"
#include "http/deadline.h"

#define MANY 500

static struct rf_loop *loop;
static struct rf_deadlines *all;
static uint64_t last_ns;
static unsigned rang[MANY];

struct bell {
	struct rf_deadline deadline;
	unsigned number;
	uint64_t at_ns; /* 0: it must not ring */
};

static struct bell bells[MANY];

static void begin(void)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_loop_new(&loop, &err) == 0 && rf_deadlines_new(loop, &all, &err) == 0, "%s",
		   err.msg);
}

static void on_bell(void *data)
{
	struct bell *bell = data;

	rang[bell->number]++;
	RF_CHECK(bell->at_ns && rf_loop_now() >= bell->at_ns, "%u rang early", bell->number);
	RF_CHECK(bell->at_ns >= last_ns, "%u rang out of order", bell->number);
	last_ns = bell->at_ns;
}

static void on_stop(void *data)
{
	rf_loop_stop(loop);
}

static void set(struct bell *bell, uint64_t at_ns)
{
	bell->at_ns = at_ns;
	if (at_ns)
		rf_deadline_set(&bell->deadline, at_ns);
	else
		rf_deadline_cancel(&bell->deadline);
}

RF_TEST(each_rings_once_in_order_at_the_time_that_was_set_last)
{
	struct rf_deadline stop;
	uint64_t now = rf_loop_now();
	uint32_t state = 1;

	begin();
	RF_REQUIRE(rf_deadline_init(&stop, all, on_stop, NULL) == 0, "no memory");
	for (unsigned i = 0; i < MANY; i++) {
		bells[i].number = i;
		RF_REQUIRE(rf_deadline_init(&bells[i].deadline, all, on_bell, &bells[i]) == 0,
			   "no memory");
	}
	for (unsigned i = 0; i < 20 * MANY; i++) { /* set anew and cancelled at random */
		state = state * 1664525u + 1013904223u;
		set(&bells[(state >> 8) % MANY],
		    state >> 30 ? now + 50000000 + (state >> 10) % 1000 * 50000 : 0);
	}
	rf_deadline_set(&stop, now + 150000000);
	RF_REQUIRE(rf_loop_run(loop, &(struct rf_err){ 0 }) == 0, "loop");
	for (unsigned i = 0; i < MANY; i++) {
		RF_CHECK(rang[i] == (bells[i].at_ns ? 1 : 0), "%u rang %u times", i, rang[i]);
		rf_deadline_done(&bells[i].deadline);
	}
	rf_deadline_done(&stop);
	rf_deadlines_free(all);
	rf_loop_free(loop);
}

static struct rf_deadline again, other;
static unsigned turns;

static void on_again(void *data)
{
	if (++turns < 1000)
		rf_deadline_set(&again, rf_loop_now());
	else
		rf_loop_stop(loop);
}

static void on_other(void *data)
{
	RF_CHECK(turns < 1000, "who rings at once again and again lets nobody else");
	rf_deadline_done(&other); /* from within its own call */
}

RF_TEST(one_that_rings_again_at_once_lets_others_ring)
{
	begin();
	RF_REQUIRE(rf_deadline_init(&again, all, on_again, NULL) == 0 &&
			   rf_deadline_init(&other, all, on_other, NULL) == 0,
		   "no memory");
	rf_deadline_set(&again, rf_loop_now());
	rf_deadline_set(&other, rf_loop_now());
	RF_REQUIRE(rf_loop_run(loop, &(struct rf_err){ 0 }) == 0, "loop");
	RF_CHECK(turns == 1000 && !other.all, "%u turns", turns);
	rf_deadline_done(&again);
	rf_deadlines_free(all);
	rf_loop_free(loop);
}

RF_TEST(nothing_is_done_for_what_was_never_made)
{
	struct rf_deadline never = { 0 };

	rf_deadline_done(&never);
	rf_deadline_done(NULL);
	rf_deadlines_free(NULL);
}
