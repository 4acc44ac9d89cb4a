/* A log that was written before: see store-old.h. */
#include "audit/store-old.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/segment.h"
#include "base/fd.h"

static bool is_all_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i])
			return false;
	return true;
}

/* Follows one file; gives 1 if all of it is good, 0 if its end is torn, or -EBADMSG. */
static int follow(const struct rf_segment *segment, struct rf_store_old *old, struct rf_err *err)
{
	size_t at = 0;
	int code = 1;

	while (at < segment->len) {
		struct rf_frame frame;

		code = rf_link_next(&old->at, segment->data + at, segment->len - at, at == 0,
				    &frame, err);
		if (code <= 0)
			break;
		if (at == 0)
			old->begun_ns = frame.time_ns;
		at += frame.length;
	}
	if (code == 0 && !rf_link_is_torn(&old->at, segment->data + at, segment->len - at))
		code = rf_fail_say(err, -EBADMSG, "it says that it is longer than it is");
	old->size = at;
	old->torn = segment->len - at;
	/* A disk that lost its power may have made a file longer before it had its bytes. */
	if (code < 0 && is_all_zero(segment->data + at, segment->len - at))
		return 0;
	return code < 0 ? code : old->torn == 0;
}

/* Everything but keys and lock, into a folder of its own. */
static int put_aside(int dir, const uint64_t *numbers, size_t count, struct rf_store_old *old,
		     struct rf_err *err)
{
	RF_AUTO_FD int aside = -1;
	time_t now = time(NULL);
	struct tm tm = { 0 };
	char day[32];

	gmtime_r(&now, &tm);
	strftime(day, sizeof(day), "%Y%m%dT%H%M%S", &tm);
	for (int i = 0; i < 1000 && aside < 0; i++) {
		snprintf(old->aside, sizeof(old->aside), "broken-%s-%d", day, i);
		if (mkdirat(dir, old->aside, 0700) < 0 && errno == EEXIST)
			continue;
		aside = openat(dir, old->aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (aside < 0)
			return rf_fail(err, -errno, "put the damaged audit log aside");
	}
	for (size_t i = 0; i < count; i++) {
		char name[RF_SEGMENT_NAME];

		rf_segment_name(numbers[i], name);
		if (renameat(dir, name, aside, name) < 0)
			return rf_fail(err, -errno, "put the damaged audit log aside");
	}
	old->is_broken = true;
	old->torn = 0;
	return 0;
}

/* Reads the file `numbers[count - 1]`; a first record that was not finished is a file that never was. */
static int read_last(int dir, const uint64_t *numbers, size_t count, struct rf_store_old *old,
		     struct rf_err *err)
{
	const struct rf_link fresh = old->at;
	struct rf_segment segment = { 0 };
	struct rf_err why = RF_ERR_INIT;
	char name[RF_SEGMENT_NAME];
	uint64_t torn;
	int code;

	if (rf_segment_map(dir, numbers[count - 1], &segment, err) < 0)
		return err->code;
	code = follow(&segment, old, &why);
	rf_segment_done(&segment);
	rf_segment_name(numbers[count - 1], name);
	if (code >= 0 && old->at.seq > 0 && old->at.segment.number != numbers[count - 1])
		code = rf_fail_say(&why, -EBADMSG, "it says that it is file %" PRIu64,
				   old->at.segment.number);
	if (code == -EIO)
		return rf_fail_say(err, code, "%s", why.msg);
	if (code < 0) {
		snprintf(old->why, sizeof(old->why), "%s, record %" PRIu64 ": %.160s", name,
			 old->at.seq + 1, why.msg);
		return put_aside(dir, numbers, count, old, err);
	}
	if (old->size > 0)
		return 0;
	torn = old->torn;
	if (unlinkat(dir, name, 0) < 0)
		return rf_fail(err, -errno, "remove the unfinished %s", name);
	old->at = fresh;
	if (count > 1 && read_last(dir, numbers, count - 1, old, err) < 0)
		return err->code;
	if (!old->is_broken)
		old->torn += torn;
	return 0;
}

int rf_store_old_read(int dir, struct rf_store_old *old, struct rf_err *err)
{
	uint64_t *numbers;
	size_t count;
	int code;

	if (rf_segment_list(dir, &numbers, &count, err) < 0)
		return err->code;
	code = count > 0 ? read_last(dir, numbers, count, old, err) : 0;
	free(numbers);
	return code;
}

/* ------------------------------------------------------------- what may go */

/* The first record of a file: when it was begun, and what it continues. */
static int read_first(int dir, uint64_t number, struct rf_frame *ret_frame,
		      uint8_t prev[RF_AUDIT_HASH], size_t *ret_len, struct rf_err *err)
{
	struct rf_segment segment = { 0 };
	int code = 0;

	if (rf_segment_map(dir, number, &segment, err) < 0)
		return err->code;
	if (rf_frame_parse(segment.data, segment.len, ret_frame) == RF_FRAME_WHOLE)
		memcpy(prev, ret_frame->prev, RF_AUDIT_HASH);
	else
		code = rf_fail_say(err, -EBADMSG, "file %" PRIu64 " of the log is damaged", number);
	*ret_len = segment.len;
	rf_segment_done(&segment);
	return code;
}

static int look(int dir, const uint64_t *numbers, size_t count, uint64_t keep_bytes,
		uint64_t keep_ns, struct rf_store_old_files *go, struct rf_err *err)
{
	uint64_t total = 0;

	/* From the newest to the oldest; a file ended when the one after it was begun. */
	for (size_t i = count; i-- > 1;) {
		struct rf_frame frame = { 0 };
		uint8_t prev[RF_AUDIT_HASH];
		size_t len = 0;

		if (read_first(dir, numbers[i], &frame, prev, &len, err) < 0)
			return err->code;
		total += len;
		if (go->last == 0 &&
		    ((keep_bytes && total >= keep_bytes) || (keep_ns && frame.time_ns < keep_ns))) {
			*go = (struct rf_store_old_files){ .first = numbers[0],
							   .last = numbers[i - 1],
							   .seq = frame.seq - 1 };
			memcpy(go->hash, prev, RF_AUDIT_HASH);
		}
	}
	return 0;
}

int rf_store_old_find(int dir, uint64_t current, uint64_t keep_bytes, uint64_t keep_ns,
		      struct rf_store_old_files *ret_files, struct rf_err *err)
{
	struct rf_store_old_files go = { 0 };
	uint64_t *numbers;
	size_t count;
	int code = 0;

	if (keep_bytes == 0 && keep_ns == 0)
		return 0;
	if (rf_segment_list(dir, &numbers, &count, err) < 0)
		return err->code;
	while (count > 0 && numbers[count - 1] > current)
		count--;
	if (count > 1)
		code = look(dir, numbers, count, keep_bytes, keep_ns, &go, err);
	for (uint64_t number = go.first; code == 0 && go.last > 0 && number <= go.last; number++) {
		char name[RF_SEGMENT_NAME];
		struct stat st;

		rf_segment_name(number, name);
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			go.bytes += (uint64_t)st.st_size;
	}
	free(numbers);
	if (code == 0)
		*ret_files = go;
	return code;
}
