/* Network namespaces that are made ahead: see netns-pool.h. */
#include "warden/netns-pool.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

/* A namespace is made by going there and coming back.  Returns its descriptor, or -1. */
static int make_namespace(void)
{
	RF_AUTO_FD int here = rf_fd_open("/proc/self/ns/net", O_RDONLY);
	RF_AUTO_FD int made = -1;

	if (here < 0 || unshare(CLONE_NEWNET) < 0)
		return -1;
	made = rf_fd_open("/proc/self/ns/net", O_RDONLY);
	/* A warden that stayed there would give every later box a network that is not the caller's. */
	if (setns(here, CLONE_NEWNET) < 0)
		abort();
	return rf_fd_take(&made);
}

int rf_netns_pool_take(struct rf_netns_pool *pool)
{
	if (geteuid() != 0)
		return -1;
	pool->wanted = RF_NETNS_POOL_MOST;
	pool->asked_ns = rf_loop_now();
	return pool->count > 0 ? pool->namespaces[--pool->count] : -1;
}

bool rf_netns_pool_is_short(const struct rf_netns_pool *pool)
{
	return pool->count < pool->wanted;
}

void rf_netns_pool_tend(struct rf_netns_pool *pool, uint64_t keep_ns)
{
	int made;

	if (pool->wanted > 0 && rf_loop_now() - pool->asked_ns > keep_ns)
		rf_netns_pool_done(pool);
	if (!rf_netns_pool_is_short(pool))
		return;
	made = make_namespace();
	if (made >= 0)
		pool->namespaces[pool->count++] = made;
	else
		pool->wanted =
			0; /* until somebody asks again: each box makes its own, or says why it can't */
}

void rf_netns_pool_done(struct rf_netns_pool *pool)
{
	while (pool->count > 0)
		close(pool->namespaces[--pool->count]);
	pool->wanted = 0;
}
