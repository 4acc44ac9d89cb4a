/* Threads that do what may take long: see clerk-pool.h. */
#include "server/clerk-pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define STACK (512 * 1024)

struct rf_clerk_pool {
	struct rf_clerk_pool_size size;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t more, less;
	struct rf_clerk_task *waiting, **waiting_end;
	struct rf_clerk_task *finished, **finished_end;
	struct rf_clerk_task **working; /* one place for each thread */
	size_t living;
	bool is_ending;
	int wake;               /* an eventfd: something is finished */
	struct rf_event *event; /* the loop's alone */
};

/* ------------------------------------------------------------- threads */

static size_t count_working(const struct rf_clerk_pool *pool, const char *tenant)
{
	size_t count = 0;

	for (size_t i = 0; i < pool->size.threads; i++)
		count += pool->working[i] && strcmp(pool->working[i]->tenant, tenant) == 0;
	return count;
}

/* The first that waits and whose tenant has not got its share already, or NULL. */
static struct rf_clerk_task *take(struct rf_clerk_pool *pool)
{
	for (struct rf_clerk_task **at = &pool->waiting; *at; at = &(*at)->next) {
		struct rf_clerk_task *task = *at;

		if (count_working(pool, task->tenant) >= pool->size.per_tenant)
			continue;
		*at = task->next;
		if (!task->next)
			pool->waiting_end = at;
		task->next = NULL;
		return task;
	}
	return NULL;
}

static void finish(struct rf_clerk_pool *pool, struct rf_clerk_task *task)
{
	const uint64_t one = 1;

	*pool->finished_end = task;
	pool->finished_end = &task->next;
	if (write(pool->wake, &one, sizeof(one)) < 0)
		return; /* it is at its most, and so awake */
}

static struct rf_clerk_task **take_place(struct rf_clerk_pool *pool)
{
	size_t i = 0;

	while (pool->working[i])
		i++;
	return &pool->working[i];
}

static void *work(void *data)
{
	struct rf_clerk_pool *pool = data;

	pthread_mutex_lock(&pool->lock);
	while (!pool->is_ending) {
		struct rf_clerk_task *task = take(pool), **place;

		if (!task) {
			pthread_cond_wait(&pool->more, &pool->lock);
			continue;
		}
		place = take_place(pool);
		*place = task;
		pthread_mutex_unlock(&pool->lock);
		task->work(task);
		pthread_mutex_lock(&pool->lock);
		*place = NULL;
		finish(pool, task);
		pthread_cond_signal(&pool->more); /* the tenant may have another one */
	}
	pool->living--;
	pthread_cond_signal(&pool->less);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* ------------------------------------------------------------- the loop's side */

static void tell_finished(struct rf_clerk_pool *pool)
{
	struct rf_clerk_task *first;

	pthread_mutex_lock(&pool->lock);
	first = pool->finished;
	pool->finished = NULL;
	pool->finished_end = &pool->finished;
	pthread_mutex_unlock(&pool->lock);
	while (first) {
		struct rf_clerk_task *task = first;

		first = task->next;
		task->next = NULL;
		task->done(task);
	}
}

static void on_finished(void *data, int what)
{
	struct rf_clerk_pool *pool = data;
	uint64_t count;

	(void)what;
	if (read(pool->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	tell_finished(pool);
}

/* No thread is left that could take one. */
static void drop_waiting(struct rf_clerk_pool *pool)
{
	while (pool->waiting) {
		struct rf_clerk_task *task = pool->waiting;

		pool->waiting = task->next;
		task->drop(task);
	}
}

int rf_clerk_pool_put(struct rf_clerk_pool *pool, struct rf_clerk_task *task, struct rf_err *err)
{
	size_t before = 0;
	int code = 0;

	task->next = NULL;
	pthread_mutex_lock(&pool->lock);
	for (const struct rf_clerk_task *at = pool->waiting; at; at = at->next)
		before += strcmp(at->tenant, task->tenant) == 0;
	if (before >= pool->size.line) {
		code = -EAGAIN;
	} else {
		*pool->waiting_end = task;
		pool->waiting_end = &task->next;
		pthread_cond_signal(&pool->more);
	}
	pthread_mutex_unlock(&pool->lock);
	if (code == 0)
		return 0;
	rf_fail_say(err, code, "%zu requests of this tenant wait already", before);
	return rf_fail_hint(err, "try again when some of them are answered");
}

static int start_threads(struct rf_clerk_pool *pool, struct rf_err *err)
{
	pthread_attr_t how;
	int code = pthread_attr_init(&how);

	if (code == 0)
		code = pthread_attr_setstacksize(&how, STACK);
	if (code == 0)
		code = pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	for (size_t i = 0; i < pool->size.threads && code == 0; i++) {
		pthread_t thread;

		pthread_mutex_lock(&pool->lock);
		code = pthread_create(&thread, &how, work, pool);
		pool->living += code == 0;
		pthread_mutex_unlock(&pool->lock);
	}
	pthread_attr_destroy(&how);
	return code ? rf_fail(err, -code, "threads for the clerk") : 0;
}

int rf_clerk_pool_new(struct rf_loop *loop, const struct rf_clerk_pool_size *size,
		      struct rf_clerk_pool **ret_pool, struct rf_err *err)
{
	struct rf_clerk_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return rf_fail(err, -ENOMEM, "threads for the clerk");
	pool->size = *size;
	pool->waiting_end = &pool->waiting;
	pool->finished_end = &pool->finished;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->more, NULL);
	pthread_cond_init(&pool->less, NULL);
	pool->working = calloc(size->threads, sizeof(struct rf_clerk_task *));
	pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!pool->working || pool->wake < 0)
		rf_fail(err, pool->working ? -errno : -ENOMEM, "threads for the clerk");
	else if (rf_loop_watch(loop, pool->wake, RF_LOOP_READ, on_finished, pool, &pool->event,
			       err) == 0 &&
		 start_threads(pool, err) == 0) {
		*ret_pool = pool;
		return 0;
	}
	rf_clerk_pool_end(pool, 1000);
	return err->code;
}

int rf_clerk_pool_end(struct rf_clerk_pool *pool, unsigned most_ms)
{
	struct timespec until;
	int code = 0;

	if (!pool)
		return 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += most_ms / 1000;
	pthread_mutex_lock(&pool->lock);
	pool->is_ending = true;
	pthread_cond_broadcast(&pool->more);
	while (pool->living > 0 && code == 0)
		code = pthread_cond_timedwait(&pool->less, &pool->lock, &until);
	pthread_mutex_unlock(&pool->lock);
	if (pool->living > 0)
		return -ETIMEDOUT;
	tell_finished(pool);
	drop_waiting(pool);
	rf_event_cancel(pool->event);
	rf_fd_done(&pool->wake);
	free((void *)pool->working);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->more);
	pthread_cond_destroy(&pool->less);
	free(pool);
	return 0;
}
