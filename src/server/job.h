/*
 * A box, or a program in a kept one, that a request waits for: libringfort's, on the loop.
 */
#ifndef RF_SERVER_JOB_H
#define RF_SERVER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "server/order.h"

struct ringfort;
struct ringfort_policy;
struct rf_job;

/* What its owner hears of it.  Each may free the job but on_output(). */
struct rf_job_ops {
	/* What it wrote, where it is not kept; may be NULL. */
	void (*on_output)(void *data, int stream, const char *bytes, size_t len);
	/* The box stands, or the program runs; may be NULL. */
	void (*on_started)(void *data);
	/* It is over. */
	void (*on_end)(void *data);
};

/* What is to be done: the order borrows until it has begun, but for its input, which the job needs until the end. */
struct rf_job_task {
	const struct rf_order *order;
	const struct ringfort_policy *policy; /* of a box of its own; or NULL: */
	const char *box;             /* the kept one that it runs in; or NULL, and no program: */
	const char *note;            /* a box that is kept, with that note */
	int *gateway;                /* its way out (takes), or NULL: it has none */
	bool keeps_output;           /* for its result, and not told as it comes */
	uint64_t output_limit;       /* of a program in a kept box, where it is kept */
	bool is_background;          /* it goes on without the job, and reads from: */
	bool has_input;              /* or it does not, and reads from: */
	int input;                   /* a descriptor (borrowed) */
	const char *request, *trace; /* what the client calls what it asked for, or NULL */
	const char *workspace;       /* that a box of its own, or one that is kept, has; or NULL */
	bool has_whole;              /* with its checkpoints */
	/* Its standard input or output is its owner's to write or read, at rf_job_take_end(); of a program's output nothing is kept or told then. */
	bool leaves_input, leaves_output;
};

int rf_job_start(struct rf_loop *loop, struct ringfort *fort, const struct rf_job_task *task,
		 const struct rf_job_ops *ops, void *data, struct rf_job **ret_job,
		 struct rf_err *err);

/* Ends it, if it still runs, and frees it; a box that is kept and was started stays.  Accepts NULL. */
void rf_job_free(struct rf_job *job);

/* Nothing is read of what it writes until it may go on. */
void rf_job_pause(struct rf_job *job, bool is_paused);

/* Of a box that is kept, once it was started: its id. */
const char *rf_job_id(const struct rf_job *job);

/* Of a program in one: its number. */
uint32_t rf_job_number(const struct rf_job *job);

/* When it is over: its result, and whether there is one or the warden would not have it. */
const struct rf_result *rf_job_result(const struct rf_job *job);
bool rf_job_is_refused(const struct rf_job *job);

/* The end of a stream that was left to the owner (gives): 0 to write to, 1 to read from; it does not block.  Or -1. */
int rf_job_take_end(struct rf_job *job, int stream);

/* How much of its output there is room for, and that so much was read: beyond it the job ends. */
uint64_t rf_job_room(const struct rf_job *job);
void rf_job_count(struct rf_job *job, size_t len);

int rf_job_signal(struct rf_job *job, int signal, struct rf_err *err);

/* Of a program with a terminal, as its order says: another size. */
int rf_job_resize(struct rf_job *job, uint64_t rows, uint64_t columns, struct rf_err *err);

#endif
