/*
 * The limits wall: what each process of the box may have, by rlimits.
 *
 * Takes away: descriptors, file sizes and core dumps beyond the plan; locked memory, message queues
 * and signals beyond small change; where no cgroup counts them, processes and memory.
 * Raised: before the identity goes, because lowering a hard limit is for ever.
 * From inside: EMFILE, EFBIG with SIGXFSZ, EAGAIN on fork.
 *
 * RLIMIT_AS is not used: Node and Java reserve far more address space than they touch.  A core limit
 * of 0 would stop core files, but not the host's crash handler in core_pattern, which runs as root
 * and is fed the box's memory; 1 stops both (core(5)).
 */
#include "jail/rlimit.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/fd.h"

#define MIB (1024ull * 1024)
#define GIB (1024ull * MIB)

/* Lowers a limit, never raises it: the caller's own may be lower. */
static int lower(int resource, uint64_t value)
{
	struct rlimit now, want;

	if (getrlimit(resource, &now) < 0)
		return -errno;
	want.rlim_max = now.rlim_max < value ? now.rlim_max : value;
	want.rlim_cur = want.rlim_max;
	return setrlimit(resource, &want) < 0 ? -errno : 0;
}

int rf_rlimit_raise(struct rf_box *box, struct rf_err *err)
{
	const uint64_t *limits = box->plan->limits;
	uint64_t data = limits[RF_LIMIT_MEMORY] * 16, cpu = limits[RF_LIMIT_CPU_TIME];
	/* clang-format off */
	const struct { int resource; const char *name; uint64_t value; } rows[] = {
		{ RLIMIT_CORE,       "core",       1 }, /* not 0: see below */
		{ RLIMIT_FSIZE,      "fsize",      limits[RF_LIMIT_FILE_SIZE] },
		{ RLIMIT_MEMLOCK,    "memlock",    8 * MIB },
		{ RLIMIT_MSGQUEUE,   "msgqueue",   1 * MIB },
		{ RLIMIT_SIGPENDING, "sigpending", 4096 },
		{ RLIMIT_RTPRIO,     "rtprio",     0 },
		{ RLIMIT_NICE,       "nice",       0 },
		{ RLIMIT_CPU,        "cpu",        cpu == RF_LIMIT_NONE ? cpu : cpu / 1000 + 2 },
		{ RLIMIT_NPROC,      "nproc",      box->cgroup.has_pids ? RF_LIMIT_NONE
		                                                        : limits[RF_LIMIT_PIDS] + 1 +
		                                                          box->tasks_outside },
		{ RLIMIT_DATA,       "data",       box->cgroup.has_memory ? RF_LIMIT_NONE
		                                   : data > 4 * GIB ? data : 4 * GIB },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(rows); i++) {
		int code =
			rows[i].value == RF_LIMIT_NONE ? 0 : lower(rows[i].resource, rows[i].value);

		if (code < 0)
			return rf_fail(err, code, "limit %s", rows[i].name);
	}
	return 0;
}

int rf_rlimit_files(struct rf_box *box, struct rf_err *err)
{
	int code = lower(RLIMIT_NOFILE, box->plan->limits[RF_LIMIT_OPEN_FILES]);

	return code < 0 ? rf_fail(err, code, "limit nofile") : 0;
}
