/* Audit logs for tests: see log-maker.h. */
#include "log-maker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/frame.h"
#include "base/fd.h"
#include "harness.h"

#define FOLDERS 256 /* of one test */

static char folders[FOLDERS][64];
static int dirs[FOLDERS], count;
static pid_t owner;

static void empty(const char *path)
{
	DIR *dir = opendir(path);
	char name[4096];

	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (unlink(name) < 0)
			empty(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static void remove_all(void)
{
	for (int i = 0; i < count && getpid() == owner; i++)
		empty(folders[i]);
}

int log_folder(void)
{
	int dir;

	RF_REQUIRE(count < FOLDERS, "too many folders");
	/* In memory, where that can be: some tests write a log thousands of times. */
	snprintf(folders[count], sizeof(folders[count]), "%s/ringfort-log-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	RF_REQUIRE(mkdtemp(folders[count]), "a folder");
	if (count == 0) {
		owner = getpid();
		atexit(remove_all);
	}
	dir = open(folders[count], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RF_REQUIRE(dir >= 0, "open it");
	dirs[count++] = dir;
	return dir;
}

const char *log_path(int dir, const char *name)
{
	static char path[4][256];
	static int turn;
	int i = 0;

	while (i < count && dirs[i] != dir)
		i++;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folders[i], name);
	return path[turn];
}

struct rf_store *log_open(int dir, uint64_t segment_bytes)
{
	struct rf_store_options options = { .dir = dir, .segment_bytes = segment_bytes };
	struct rf_err err = RF_ERR_INIT;
	struct rf_store *store = NULL;

	RF_REQUIRE(rf_store_open(&options, &store, &err) == 0, "%s", err.msg);
	return store;
}

uint64_t log_add(struct rf_store *store, unsigned number)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_audit_event event;
	char box[24];
	uint64_t seq = 0;

	snprintf(box, sizeof(box), "box-%u", number);
	rf_audit_event_init(&event, RF_AUDIT_RUN_STARTED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, "python3");
	rf_audit_event_number(&event, RF_AUDIT_USER, number);
	RF_REQUIRE(rf_store_event(store, &event, &seq, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
	return seq;
}

void log_make(int dir, unsigned events, uint64_t segment_bytes)
{
	struct rf_store *store = log_open(dir, segment_bytes);
	struct rf_err err = RF_ERR_INIT;

	for (unsigned i = 0; i < events; i++) {
		log_add(store, i);
		RF_REQUIRE(rf_store_tend(store, &err) == 0, "%s", err.msg);
	}
	rf_store_close(store, "test");
}

uint8_t *log_read(int dir, uint64_t segment, size_t *ret_len)
{
	char name[RF_SEGMENT_NAME];
	RF_AUTO_FD int fd = -1;
	struct stat st;
	uint8_t *data;

	rf_segment_name(segment, name);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	RF_REQUIRE(fd >= 0 && fstat(fd, &st) == 0, "%s", name);
	data = malloc((size_t)st.st_size + 1);
	RF_REQUIRE(data && rf_fd_read(fd, data, (size_t)st.st_size) == st.st_size, "%s", name);
	*ret_len = (size_t)st.st_size;
	return data;
}

void log_write(int dir, uint64_t segment, const void *data, size_t len)
{
	char name[RF_SEGMENT_NAME];
	RF_AUTO_FD int fd = -1;

	rf_segment_name(segment, name);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	RF_REQUIRE(fd >= 0 && rf_fd_write(fd, data, len) == 0, "%s", name);
}

struct rf_verify log_verify(int dir, const char *anchor)
{
	struct rf_verify_options options = { .dir = dir, .anchor = anchor };
	struct rf_err err = RF_ERR_INIT;
	struct rf_verify verify = { 0 };

	RF_REQUIRE(rf_verify_log(&options, &verify, &err) == 0, "%s", err.msg);
	return verify;
}

size_t log_offset(const uint8_t *data, size_t len, unsigned index)
{
	struct rf_frame frame;
	size_t at = 0;

	for (; index > 0 && rf_frame_parse(data + at, len - at, &frame) == RF_FRAME_WHOLE; index--)
		at += frame.length;
	return at;
}

unsigned log_count(const uint8_t *data, size_t len)
{
	unsigned n = 0;

	while (log_offset(data, len, n) < len)
		n++;
	return n;
}
