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
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"

#define MIB (1024ull * 1024)
#define GIB (1024ull * MIB)

#define ROWS 11

struct row {
	int resource;
	const char *name;
	uint64_t value; /* RF_LIMIT_NONE: the caller's own */
};

/* Lowers a limit, never raises it: the caller's own may be lower. */
static struct rlimit lower(struct rlimit now, uint64_t value)
{
	if (value != RF_LIMIT_NONE) {
		now.rlim_max = now.rlim_max < value ? now.rlim_max : value;
		now.rlim_cur = now.rlim_max;
	}
	return now;
}

static int lower_own(const struct row *row, struct rf_err *err)
{
	struct rlimit now;

	if (row->value == RF_LIMIT_NONE)
		return 0;
	if (getrlimit(row->resource, &now) == 0) {
		now = lower(now, row->value);
		if (setrlimit(row->resource, &now) == 0)
			return 0;
	}
	return rf_fail(err, -errno, "limit %s", row->name);
}

static void list(const struct rf_box *box, struct row rows[static ROWS])
{
	const uint64_t *limits = box->plan->limits;
	uint64_t data = limits[RF_LIMIT_MEMORY] * 16, cpu = limits[RF_LIMIT_CPU_TIME];
	/* clang-format off */
	const struct row all[] = {
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
		{ RLIMIT_NOFILE,     "nofile",     limits[RF_LIMIT_OPEN_FILES] }, /* the last one */
	};
	/* clang-format on */

	_Static_assert(RF_LEN(all) == ROWS, "every row has its place");
	memcpy(rows, all, sizeof(all));
}

int rf_rlimit_raise(struct rf_box *box, struct rf_err *err)
{
	struct row rows[ROWS];

	list(box, rows);
	for (size_t i = 0; i < ROWS - 1; i++)
		if (lower_own(&rows[i], err) < 0)
			return err->code;
	return 0;
}

int rf_rlimit_files(struct rf_box *box, struct rf_err *err)
{
	struct row rows[ROWS];

	list(box, rows);
	return lower_own(&rows[ROWS - 1], err);
}

int rf_rlimit_bound(const struct rf_box *box, const struct rlimit *callers, pid_t pid,
		    struct rf_err *err)
{
	struct rlimit want[RLIM_NLIMITS];
	struct row rows[ROWS];

	list(box, rows);
	memcpy(want, callers, sizeof(want));
	for (size_t i = 0; i < ROWS; i++)
		want[rows[i].resource] = lower(want[rows[i].resource], rows[i].value);
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;

		if (prlimit(pid, i, NULL, &now) < 0)
			return rf_fail(err, -errno, "look at a limit of the box");
		if (want[i].rlim_max >
		    now.rlim_max) /* ours is lower: it can't be raised any more */
			want[i].rlim_max = now.rlim_max;
		if (want[i].rlim_cur > want[i].rlim_max)
			want[i].rlim_cur = want[i].rlim_max;
		if ((want[i].rlim_max != now.rlim_max || want[i].rlim_cur != now.rlim_cur) &&
		    prlimit(pid, i, &want[i], NULL) < 0)
			return rf_fail(err, -errno, "pass the caller's limits on");
	}
	return 0;
}
