/* The files of an audit log: see segment.h. */
#include "audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define DIGITS   12
#define MOST     1000000 /* files of one log */
#define EXTENDED ".log"

void rf_segment_name(uint64_t number, char name[RF_SEGMENT_NAME])
{
	snprintf(name, RF_SEGMENT_NAME, "%0*" PRIu64 EXTENDED, DIGITS, number);
}

/* The number that a name stands for, or 0. */
static uint64_t number_of(const char *name)
{
	char again[RF_SEGMENT_NAME];
	uint64_t number;

	if (strspn(name, "0123456789") < DIGITS)
		return 0;
	number = strtoull(name, NULL, 10);
	rf_segment_name(number, again);
	return strcmp(name, again) == 0 ? number : 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int read_all(DIR *folder, uint64_t **numbers, size_t *count)
{
	size_t room = 0;

	for (const struct dirent *entry; (entry = readdir(folder));) {
		uint64_t number = number_of(entry->d_name);

		if (number == 0)
			continue;
		if (*count == room) {
			uint64_t *more;

			room = room ? 2 * room : 16;
			more = room > MOST ? NULL : realloc(*numbers, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			*numbers = more;
		}
		(*numbers)[(*count)++] = number;
	}
	return 0;
}

int rf_segment_list(int dir, uint64_t **ret_numbers, size_t *ret_count, struct rf_err *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	uint64_t *numbers = NULL;
	size_t count = 0;
	int code;

	if (!folder) {
		code = -errno;
		rf_fd_done(&fd);
		return rf_fail(err, code, "read the audit folder");
	}
	code = read_all(folder, &numbers, &count);
	closedir(folder);
	if (code < 0) {
		free(numbers);
		return rf_fail(err, code, "list the audit log");
	}
	if (count > 0)
		qsort(numbers, count, sizeof(*numbers), by_number);
	*ret_numbers = numbers;
	*ret_count = count;
	return 0;
}

int rf_segment_map(int dir, uint64_t number, struct rf_segment *ret_segment, struct rf_err *err)
{
	char name[RF_SEGMENT_NAME];
	RF_AUTO_FD int fd = -1;
	struct stat st;
	void *data = NULL;

	rf_segment_name(number, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rf_fail(err, -errno, "open %s", name);
	if (!S_ISREG(st.st_mode))
		return rf_fail_say(err, -EBADMSG, "%s is not a file", name);
	if (st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			return rf_fail(err, -errno, "read %s", name);
		madvise(data, (size_t)st.st_size, MADV_SEQUENTIAL);
	}
	*ret_segment = (struct rf_segment){ number, data, (size_t)st.st_size };
	return 0;
}

void rf_segment_done(struct rf_segment *segment)
{
	if (segment->data)
		munmap((void *)(uintptr_t)segment->data, segment->len);
	*segment = (struct rf_segment){ 0 };
}
