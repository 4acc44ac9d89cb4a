/* Records of an audit log, one after the other: what is whole lies within the bytes. */
#include <stdbool.h>
#include <stdlib.h>

#include "audit/frame.h"
#include "audit/link.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	static struct rf_digest *digest;
	struct rf_err err = RF_ERR_INIT;
	struct rf_link link = { 0 };
	struct rf_frame frame;
	size_t at = 0;

	if (!digest)
		require(rf_digest_new(&digest, &err) == 0);
	link.digest = digest;
	while (rf_frame_parse(data + at, size - at, &frame) == RF_FRAME_WHOLE) {
		struct rf_frame_segment segment;

		require(frame.length <= size - at && frame.payload >= data + at &&
			frame.hash + RF_AUDIT_HASH == data + at + frame.length);
		rf_frame_segment(&frame, &segment);
		rf_link_next(&link, data + at, size - at, at == 0, &frame, &err);
		at += frame.length;
	}
	return 0;
}
