/* The gateway's process: see gateway.h. */
#include "gateway/gateway.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "gateway/forward.h"

#define FILES_MOST 65536 /* more would cost the kernel memory that nobody needs */

/* As many descriptors as this user may have. */
static size_t raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 256;
	limit.rlim_cur = limit.rlim_max < FILES_MOST ? limit.rlim_max : FILES_MOST;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 256;
	return (size_t)limit.rlim_cur;
}

int rf_gateway_init(struct rf_gateway *gateway, struct rf_err *err)
{
	*gateway = (struct rf_gateway){ .files = raise_files() };
	if (rf_loop_new(&gateway->loop, err) < 0 || rf_loop_keep_clock(gateway->loop, err) < 0 ||
	    rf_deadlines_new(gateway->loop, &gateway->deadlines, err) < 0 ||
	    rf_resolve_new(gateway->loop, gateway->deadlines, &gateway->resolve, err) < 0)
		return err->code;
	gateway->own = rf_own_addresses_new();
	gateway->pipes = rf_relay_pipes_new();
	if (!gateway->own || !gateway->pipes)
		return rf_fail(err, -ENOMEM, "gateway");
	return 0;
}

void rf_gateway_done(struct rf_gateway *gateway)
{
	rf_forward_free_spares(gateway);
	rf_resolve_free(gateway->resolve);
	rf_relay_pipes_free(gateway->pipes);
	rf_own_addresses_free(gateway->own);
	rf_deadlines_free(gateway->deadlines);
	rf_loop_free(gateway->loop);
	*gateway = (struct rf_gateway){ 0 };
}

int rf_gateway_key(uint64_t ret_key[2], struct rf_err *err)
{
	if (getrandom(ret_key, 2 * sizeof(*ret_key), 0) != (ssize_t)(2 * sizeof(*ret_key)))
		return rf_fail(err, -EIO, "random bytes");
	return 0;
}
