/*
 * Threads that do what may take long, beside the clerk's loop.
 *
 * There are few, and of one tenant's only some at once: the rest of what it asks waits in a line that has an end, so that no tenant
 * keeps the others waiting.  All but `work` is called on the loop's thread.
 */
#ifndef RF_SERVER_CLERK_POOL_H
#define RF_SERVER_CLERK_POOL_H

#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"

struct rf_clerk_pool;

/* Something to do.  Its memory is the pool's until `done` or `drop` is called, one of them and once. */
struct rf_clerk_task {
	struct rf_clerk_task *next;
	const char *tenant;                       /* borrowed */
	void (*work)(struct rf_clerk_task *task); /* on a thread of the pool */
	void (*done)(struct rf_clerk_task *task); /* on the loop */
	void (*drop)(struct rf_clerk_task *task); /* the pool ends, and it was not begun */
};

struct rf_clerk_pool_size {
	size_t threads;    /* in all */
	size_t per_tenant; /* of them, at once */
	size_t line;       /* tasks of one tenant that wait */
};

int rf_clerk_pool_new(struct rf_loop *loop, const struct rf_clerk_pool_size *size,
		      struct rf_clerk_pool **ret_pool, struct rf_err *err);

/* -EAGAIN: as many wait for this tenant as may. */
int rf_clerk_pool_put(struct rf_clerk_pool *pool, struct rf_clerk_task *task, struct rf_err *err);

/*
 * Lets what is being done come to its end, for `most_ms`, and tells it as ever; what waits is dropped.  0, or -ETIMEDOUT: threads are left,
 * nothing more is told, and the process is to end without any more ado.
 */
int rf_clerk_pool_end(struct rf_clerk_pool *pool, unsigned most_ms);

#endif
