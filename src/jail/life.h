/*
 * A life: one box on an event loop, from its start to the verdict.
 *
 * Starts the box, listens to pid 1 and to what the kernel refuses, keeps the limits that the kernel
 * does not keep by itself, and tells the cause of the end apart.  The standard streams are somebody
 * else's: whoever moves them says when one of them has run over a limit.  Many lives can share one
 * loop.
 *
 * Life cycle: rf_life_init() → rf_life_start() → on_exit() → rf_life_judge() → rf_life_done(), after
 * which nothing of the box is left.  rf_life_done() is right at any point of the way.
 */
#ifndef RF_JAIL_LIFE_H
#define RF_JAIL_LIFE_H

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/loop.h"
#include "jail/box.h"
#include "jail/ear.h"
#include "jail/janitor.h"
#include "jail/planted.h"
#include "jail/sample.h"
#include "jail/verdict.h"

struct rf_life_options {
	const char *init_path;   /* the program ringfort-init */
	const char *caller_path; /* the caller's PATH, to explain a program that is not found */
	bool wants_denials;      /* listen to what the kernel refuses, where it can be heard */
	struct rf_footprint *footprint; /* where it is noted what it uses; or NULL: nobody looks */
	bool has_outward;               /* somebody hands the box's sockets to a gateway */
	bool has_janitor;               /* somebody else cleans up after us if we are killed */
	/* The streams are given, and the box may have been built before anybody asked for it: */
	bool is_served;
	bool is_kept;              /* it runs nothing but what it is told to: see task.h */
	unsigned umask;            /* of who asked */
	const struct rlimit *most; /* RLIM_NLIMITS of them: theirs; or NULL: as ours */
	int nice;                  /* theirs; 0: as ours */
	const cpu_set_t *cpus;     /* theirs; or NULL: as ours */
};

struct rf_life {
	const struct rf_plan *plan;            /* borrowed */
	const struct rf_life_options *options; /* borrowed */
	struct rf_result *result;              /* borrowed */
	struct rf_loop *loop;                  /* borrowed */
	void (*on_exit)(void *data);           /* everything inside is dead */
	void (*on_ended)(void *data); /* its program is, and the rest is about to be; or NULL */
	void (*on_settled)(
		void *data); /* it has lived for a while, and every few seconds more; or NULL */
	/* What pid 1 of a kept box says; `fd` came along (takes), or -1. */
	void (*on_report)(void *data, const struct rf_report *report, int fd);
	void *data;
	struct rf_box box;
	struct rf_ear ear; /* hears what the kernel refuses */
	struct rf_event *ear_event, *exit_event, *channel_event, *request_event;
	struct rf_event *look_timer, *time_timer, *settled_timer, *oom_event, *canary_event;
	struct rf_janitor janitor;
	struct rf_planted *planted;
	struct rf_ending ending;
	struct rf_sample_memo memo;
	struct rf_sample_ended ended;
	struct rf_sample peak;
	struct rusage rusage;
	uint64_t began_ns;
	uint64_t reaped_bytes; /* that those whom pid 1 waited for have written to disks */
	uint64_t ration_ns;    /* when to look at what it wrote to disks; UINT64_MAX: never */
	uint64_t until_ns;     /* when its time is over; 0: never */
	bool is_settled, has_exited, has_counted, has_told, is_frozen;
};

void rf_life_init(struct rf_life *life, const struct rf_plan *plan,
		  const struct rf_life_options *options, struct rf_result *result);

/*
 * Starts it on `loop`.  Served (see the options), the box has its streams already, and may stand
 * ready.  On failure the result says so already, and the life is only to be ended. */
int rf_life_start(struct rf_life *life, struct rf_loop *loop, struct rf_err *err);

/* Passes a signal on to the program; one that asks to stop is remembered for the verdict. */
void rf_life_signal(struct rf_life *life, int signal);

/* Kills all of it: because somebody wants it, or for a limit, of which the first counts. */
void rf_life_end(struct rf_life *life);
void rf_life_end_for(struct rf_life *life, enum rf_limit limit);

/* Of a kept box: its time is over `time_ms` from now; at most the plan's own, which counted from the start. */
int rf_life_renew(struct rf_life *life, uint64_t time_ms, struct rf_err *err);

/* Of a kept box: stops all that runs in it, or lets it go on.  Its time passes meanwhile. */
int rf_life_freeze(struct rf_life *life, bool is_frozen, struct rf_err *err);

/* Records a failure of the run in its result. */
void rf_life_fail(struct rf_life *life, const struct rf_err *err);

/* After on_exit(): fills the result. */
void rf_life_judge(struct rf_life *life);

/* What the result says of the box itself; for one that could not be started this is all. */
void rf_life_tell(struct rf_life *life);

/* Ends what runs, fills in what is known only afterwards, and takes everything away. */
void rf_life_done(struct rf_life *life);

#endif
