/* Calls of a client, on connections that are kept: see http-pool.h. */
#include "http/http-pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rf_http_pool {
	struct rf_call_host host;
	const struct rf_http_pool_limits *limits;
	struct rf_call *idle; /* the one that waits least is first */
	size_t count;
};

static bool is_same(const struct rf_call_origin *origin, const struct rf_call_origin *other)
{
	return origin->len == other->len &&
	       memcmp(&origin->address, &other->address, origin->len) == 0 &&
	       origin->maker == other->maker &&
	       (!origin->maker || strcmp(origin->name, other->name) == 0);
}

static void remove_at(struct rf_http_pool *pool, struct rf_call **at)
{
	struct rf_call *call = *at;

	*at = *rf_call_next(call);
	*rf_call_next(call) = NULL;
	pool->count--;
}

/* The place of the last one that waits, to `origin` if one is given; NULL if there is none. */
static struct rf_call **find_last(struct rf_http_pool *pool, const struct rf_call_origin *origin,
				  size_t *ret_count)
{
	struct rf_call **last = NULL;

	*ret_count = 0;
	for (struct rf_call **at = &pool->idle; *at; at = rf_call_next(*at))
		if (!origin || is_same(rf_call_origin(*at), origin)) {
			last = at;
			*ret_count += 1;
		}
	return last;
}

static void trim(struct rf_http_pool *pool, const struct rf_call_origin *origin, size_t most)
{
	size_t count;
	struct rf_call **last = find_last(pool, origin, &count);

	if (last && count > most) {
		struct rf_call *call = *last;

		remove_at(pool, last);
		rf_call_close(call);
	}
}

static bool on_idle(struct rf_call_host *host, struct rf_call *call)
{
	struct rf_http_pool *pool = host->pool;

	if (pool->limits->most_idle == 0 || pool->limits->most_idle_origin == 0)
		return false;
	*rf_call_next(call) = pool->idle; /* as the first, it is not what is trimmed */
	pool->idle = call;
	pool->count++;
	rf_call_idle_until(call, pool->limits->idle_ms
					 ? rf_loop_now() + pool->limits->idle_ms * 1000000ull
					 : UINT64_MAX);
	trim(pool, rf_call_origin(call), pool->limits->most_idle_origin);
	trim(pool, NULL, pool->limits->most_idle);
	return true;
}

static void on_gone(struct rf_call_host *host, struct rf_call *call)
{
	struct rf_http_pool *pool = host->pool;

	for (struct rf_call **at = &pool->idle; *at; at = rf_call_next(*at))
		if (*at == call) {
			remove_at(pool, at);
			return;
		}
}

int rf_http_pool_new(struct rf_loop *loop, const struct rf_call_limits *limits,
		     const struct rf_http_pool_limits *pool_limits, struct rf_http_pool **ret_pool,
		     struct rf_err *err)
{
	struct rf_http_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return rf_fail(err, -ENOMEM, "HTTP client");
	pool->limits = pool_limits;
	pool->host = (struct rf_call_host){
		.loop = loop,
		.limits = limits,
		.on_idle = on_idle,
		.on_gone = on_gone,
		.pool = pool,
	};
	if (rf_deadlines_new(loop, &pool->host.deadlines, err) < 0) {
		free(pool);
		return err->code;
	}
	*ret_pool = pool;
	return 0;
}

void rf_http_pool_free(struct rf_http_pool *pool)
{
	struct rf_call *next;

	if (!pool)
		return;
	for (struct rf_call *call = pool->idle; call; call = next) {
		next = *rf_call_next(call);
		rf_call_close(call);
	}
	rf_deadlines_free(pool->host.deadlines);
	free(pool);
}

int rf_http_pool_call(struct rf_http_pool *pool, const struct rf_call_origin *origin,
		      const struct rf_call_request *request, const struct rf_call_ops *ops,
		      void *own, struct rf_call **ret_call, struct rf_err *err)
{
	struct rf_call **at = &pool->idle, *call;

	while (*at && !is_same(rf_call_origin(*at), origin))
		at = rf_call_next(*at);
	if (*at) {
		call = *at;
		remove_at(pool, at);
	} else if (rf_call_new(&pool->host, origin, &call, err) < 0) {
		return err->code;
	}
	if (rf_call_begin(call, request, ops, own, err) < 0) {
		rf_call_close(call);
		return err->code;
	}
	*ret_call = call;
	return 0;
}

size_t rf_http_pool_idle(const struct rf_http_pool *pool)
{
	return pool->count;
}
