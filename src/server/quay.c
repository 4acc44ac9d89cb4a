/* The gateways of a server's tenants: see quay.h. */
#include "server/quay.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/client.h"
#include "wire/gate.h"
#include "wire/terms.h"
#include "wire/wire.h"

/* So many tenants have a process of their own; those that come later share these. */
#define GATEWAYS 64

static struct {
	char tenant[RF_TERMS_NAME]; /* that it was made for; "": there is none yet */
	int fds[2]; /* to `ringfort-gateway --many`, without and with `--mask`; or -1: it has ended */
} gateways[GATEWAYS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* It lies beside this program. */
static int find_program(char *path, size_t size, struct rf_err *err)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (len < 0)
		return rf_fail(err, -errno, "find ringfort-gateway");
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) + sizeof("/ringfort-gateway") > size)
		return rf_fail_say(err, -ENAMETOOLONG, "find ringfort-gateway");
	snprintf(slash, size - (size_t)(slash - path), "/ringfort-gateway");
	return 0;
}

static size_t slot_of(const char *tenant)
{
	size_t hash = 0;

	for (size_t i = 0; i < GATEWAYS; i++) {
		if (strcmp(gateways[i].tenant, tenant) == 0)
			return i;
		if (gateways[i].tenant[0])
			continue;
		snprintf(gateways[i].tenant, sizeof(gateways[i].tenant), "%s", tenant);
		gateways[i].fds[0] = gateways[i].fds[1] = -1;
		return i;
	}
	for (const char *at = tenant; *at; at++)
		hash = hash * 31 + (unsigned char)*at;
	return hash % GATEWAYS;
}

/* Hands one end of a pair to the gateway, as a porter does. */
static int join(int gateway, int *ret_fd, struct rf_err *err)
{
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	code = rf_wire_send(gateway, RF_WIRE_JOIN, 0, NULL, 0, &pair[1], 1, err);
	if (code == 0)
		*ret_fd = rf_fd_take(&pair[0]);
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
	return code;
}

/* What is said on it is nothing but that somebody joins; a dead one is noticed by that. */
static int join_or_start(int *gateway, const char *program, bool has_masks, int *ret_fd,
			 struct rf_err *err)
{
	static const char *const plain[] = { "ringfort-gateway", "--many", "3", NULL };
	static const char *const masking[] = { "ringfort-gateway", "--mask", "--many", "3", NULL };
	const char *const *words = has_masks ? masking : plain;

	if (*gateway >= 0 && join(*gateway, ret_fd, err) == 0)
		return 0;
	rf_fd_done(gateway);
	*err = RF_ERR_INIT;
	if (rf_client_start(program, words, "gateway", gateway, err) < 0)
		return err->code;
	fcntl(*gateway, F_SETFL, O_NONBLOCK); /* one that does not listen is as good as dead */
	return join(*gateway, ret_fd, err);
}

int rf_quay_reach(const char *tenant, bool has_masks, int *ret_fd, struct rf_err *err)
{
	char program[4096];
	int code = find_program(program, sizeof(program), err);

	if (code < 0)
		return code;
	pthread_mutex_lock(&lock);
	code = join_or_start(&gateways[slot_of(tenant)].fds[has_masks], program, has_masks, ret_fd,
			     err);
	pthread_mutex_unlock(&lock);
	return code;
}
