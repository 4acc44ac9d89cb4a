/*
 * One run that a client asked for: a box, and where its result goes.
 *
 * Owns all that the run needs until it is over, so that many can be under way at once.
 */
#ifndef RF_WARDEN_WORK_H
#define RF_WARDEN_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "jail/life.h"
#include "jail/outward.h"
#include "warden/site.h"
#include "warden/yard.h"
#include "wire/errand.h"

/* What the warden itself is, and clients may differ from. */
struct rf_work_self {
	struct rlimit rlimits[RLIM_NLIMITS];
	int nice;
	cpu_set_t cpus;
	char groups[4096]; /* as /proc/self/cgroup has them */
};

void rf_work_note_self(struct rf_work_self *ret_self);

struct rf_work {
	uint64_t id; /* chosen by the client */
	struct rf_plan *plan;
	struct rf_result result;
	struct rf_life_options options;
	struct rf_life life;
	struct rlimit most[RLIM_NLIMITS];
	cpu_set_t cpus;
	char *caller_path;
	struct rf_site site; /* the workspace that its box has: `held` is -1 where it has none */
	uint64_t written_bytes, recent_bytes; /* to disks, and of late: see free-space.h */
	struct rf_outward outward;            /* its box's way out: `fd` is -1 where it has none */
	bool is_bounded; /* its network is never to be more than it began with */
	bool is_heard;
	bool is_ready_made; /* its box came from the yard */
	uint64_t shown_to;  /* the watcher that was shown it: see rf_scribe_era(); 0: none */
	bool is_told;       /* a watcher may know of it, and is to hear of its end */
	bool is_late;       /* a watcher did not answer in time, and may yet do what it was asked */
	bool has_parts;     /* of the yard's, that its box is built from */
	bool is_waiting;    /* for on_ready()'s answer: nothing runs yet */
	bool is_over;       /* on_exit() was called, or it never started */
};

/* What a run is started with. */
struct rf_work_order {
	const struct rf_errand *errand; /* borrowed */
	const struct rf_policy *policy; /* borrowed */
	pid_t client;                   /* whose groups the box lies beneath */
	int streams[3];                 /* taken, whatever comes of it */
	int gateway; /* on which its box's way out was asked for, where it has one; or -1; taken */
	struct rf_site *site; /* taken, whatever comes of it */
	const char *init_path;
	bool is_bounded; /* somebody else says how far the policy goes */
	bool is_kept;    /* it runs nothing but what it is told to; without streams */
	/*
	 * Called when the plan is known and nothing runs yet; if it fails, nothing will.  1: it waits for something,
	 * and is started or refused later.
	 */
	int (*on_ready)(void *data, struct rf_work *work, const struct rf_work_order *order,
			struct rf_err *err);
	void *data;
};

/*
 * Starts it on `loop`; on_exit(data) is called when it is over.  One that could not be started is over
 * already (is_over), and its result says why.  Fails only when there is no memory for it.
 */
int rf_work_start(const struct rf_work_order *order, const struct rf_work_self *self,
		  struct rf_yard *yard, struct rf_loop *loop, void (*on_exit)(void *data),
		  void *data, struct rf_work **ret_work, struct rf_err *err);

/* Starts one that waited, or sees to it that nothing of it starts: then it is over. */
void rf_work_go(struct rf_work *work, struct rf_yard *yard, struct rf_loop *loop);
void rf_work_refuse(struct rf_work *work, const struct rf_err *why);

/* Frees it and all that is left of its box; the yard is told what kind of box was wanted. */
void rf_work_done(struct rf_work *work, struct rf_yard *yard);

#endif
