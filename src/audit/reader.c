/* Reads a log's events: see reader.h. */
#include "audit/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void rf_reader_init(struct rf_reader *reader, int dir)
{
	*reader = (struct rf_reader){ .dir = dir };
}

void rf_reader_done(struct rf_reader *reader)
{
	rf_segment_done(&reader->segment);
}

int rf_reader_seek(struct rf_reader *reader, uint64_t segment, uint64_t offset, struct rf_err *err)
{
	rf_segment_done(&reader->segment);
	reader->at = 0;
	if (segment == 0)
		return 0;
	if (rf_segment_map(reader->dir, segment, &reader->segment, err) < 0)
		return err->code;
	if (offset > reader->segment.len)
		return rf_fail_say(err, -EBADMSG, "file %" PRIu64 " of the log became shorter",
				   segment);
	reader->at = offset;
	return 0;
}

/* The first file whose number is at least `least`; 0 if there is none. */
static int find(int dir, uint64_t least, uint64_t *ret_number, struct rf_err *err)
{
	uint64_t *numbers;
	size_t count, i = 0;

	if (rf_segment_list(dir, &numbers, &count, err) < 0)
		return err->code;
	while (i < count && numbers[i] < least)
		i++;
	*ret_number = i < count ? numbers[i] : 0;
	free(numbers);
	return 0;
}

/* Looks whether the file has grown; if not, goes on to the next one.  1 if there is more to read. */
static int look_again(struct rf_reader *reader, struct rf_err *err)
{
	struct rf_segment now = { 0 };
	uint64_t number = 0;

	if (reader->segment.number > 0) {
		if (rf_segment_map(reader->dir, reader->segment.number, &now, err) < 0) {
			if (err->code != -ENOENT)
				return err->code;
			now.len = 0; /* it went while we read it */
		}
		if (now.len > reader->segment.len) {
			rf_segment_done(&reader->segment);
			reader->segment = now;
			return 1;
		}
		rf_segment_done(&now);
	}
	if (find(reader->dir, reader->segment.number + 1, &number, err) < 0)
		return err->code;
	if (number == 0)
		return 0;
	rf_segment_done(&reader->segment);
	reader->at = 0;
	if (rf_segment_map(reader->dir, number, &reader->segment, err) < 0)
		return err->code;
	return 1;
}

int rf_reader_next(struct rf_reader *reader, struct rf_audit_event *ret_event, struct rf_err *err)
{
	for (;;) {
		const uint8_t *at = reader->segment.data + reader->at;
		size_t left = reader->segment.len - reader->at;
		struct rf_frame frame;
		int code;

		switch (left > 0 ? rf_frame_parse(at, left, &frame) : RF_FRAME_SHORT) {
		case RF_FRAME_SHORT:
			code = look_again(reader, err);
			if (code <= 0)
				return code;
			continue;
		case RF_FRAME_MALFORMED:
			rf_fail_say(err, -EBADMSG,
				    "file %" PRIu64 " of the log has no record at byte %zu",
				    reader->segment.number, reader->at);
			return rf_fail_hint(err, "`ringfort audit verify` tells what was changed");
		case RF_FRAME_WHOLE:
			break;
		}
		reader->at += frame.length;
		if (frame.type != RF_FRAME_EVENT)
			continue;
		if (rf_audit_event_decode(frame.payload, frame.payload_len, ret_event, err) < 0)
			return rf_fail_in(err, "record %" PRIu64, frame.seq);
		reader->frame = frame;
		ret_event->seq = frame.seq;
		ret_event->time_ns = frame.time_ns;
		return 1;
	}
}
