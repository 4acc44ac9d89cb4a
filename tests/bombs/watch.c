/*
 * Looks at the host while a bomb goes off: `watch STAMP`.
 *
 * Once a millisecond it reads the host's memory and asks whether the lock that every process of the
 * bomb holds (see bomb.h) is free.  Prints "ready" when it has seen the host at rest, and one line of
 * JSON when its input ends.  Where it may, it runs before everybody else: a bomb must not be able to
 * blind it.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bomb.h"

#define AT_REST 30 /* looks */

/* In kilobytes.  `kernel` is what /proc/meminfo has of the kernel's own. */
struct memory {
	uint64_t available, slab, kernel;
};

static uint64_t field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Pages that a processor keeps at hand are free, too, and the kernel does not say so. */
static uint64_t at_hand(int zoneinfo)
{
	static char text[65536];
	ssize_t len = pread(zoneinfo, text, sizeof(text) - 1, 0);
	uint64_t pages = 0;

	text[len > 0 ? len : 0] = '\0';
	for (const char *at = text; (at = strstr(at, " count:")); at++)
		pages += strtoull(at + strlen(" count:"), NULL, 10);
	return pages * 4;
}

static struct memory look(int meminfo, int zoneinfo)
{
	char text[4096];
	ssize_t len = pread(meminfo, text, sizeof(text) - 1, 0);
	struct memory memory;

	text[len > 0 ? len : 0] = '\0';
	memory.available = field(text, "MemAvailable:") + at_hand(zoneinfo);
	memory.slab = field(text, "\nSlab:");
	memory.kernel = memory.slab + field(text, "KernelStack:") + field(text, "PageTables:") +
			field(text, "Percpu:");
	return memory;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	int meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	int zoneinfo = open("/proc/zoneinfo", O_RDONLY | O_CLOEXEC);
	int file = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	struct pollfd input = { .fd = 0, .events = POLLIN };
	const struct bomb_stamp *stamp;
	struct memory rest = { 0 }, peak = { UINT64_MAX, 0, 0 }, end = { 0 };
	uint64_t dead_ns = 0, looks = 0;

	if (meminfo < 0 || zoneinfo < 0 || file < 0)
		return 2;
	stamp = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (stamp == MAP_FAILED)
		return 2;
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 10 });
	for (; poll(&input, 1, 1) == 0; looks++) {
		struct memory now = look(meminfo, zoneinfo);

		if (looks < AT_REST) {
			rest.available =
				now.available > rest.available ? now.available : rest.available;
			rest.slab = rest.slab && rest.slab < now.slab ? rest.slab : now.slab;
			rest.kernel =
				rest.kernel && rest.kernel < now.kernel ? rest.kernel : now.kernel;
			continue;
		}
		if (looks == AT_REST) {
			printf("ready\n");
			fflush(stdout);
		}
		if (now.available < peak.available)
			peak.available = now.available;
		if (now.slab > peak.slab)
			peak.slab = now.slab;
		if (now.kernel > peak.kernel)
			peak.kernel = now.kernel;
		end = now;
		if (dead_ns || !stamp->began_ns || flock(file, LOCK_EX | LOCK_NB) < 0)
			continue;
		dead_ns = now_ns();
		flock(file, LOCK_UN);
	}
	printf("{\"rest\": [%lu, %lu, %lu], \"peak\": [%lu, %lu, %lu], \"end\": [%lu, %lu, %lu], "
	       "\"dead_ns\": %lu, \"looks\": %lu}\n",
	       rest.available, rest.slab, rest.kernel, peak.available, peak.slab, peak.kernel,
	       end.available, end.slab, end.kernel, dead_ns, looks);
	return 0;
}
