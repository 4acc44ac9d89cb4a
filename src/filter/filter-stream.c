/* One answer's body: see filter-stream.h. */
#include "filter/filter-stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (32 * 1024) /* bytes decoded in one go */

struct rf_filter_stream {
	struct rf_coding_decoder *decoder; /* NULL: the body is looked at as it came */
	struct rf_sieve *sieve;
	uint64_t limit_bytes, passed;
	bool is_cut;
	char piece[PIECE]; /* the last member: used with a decoder only */
};

int rf_filter_stream_new(const struct rf_sieve_set *set, enum rf_coding coding,
			 uint64_t limit_bytes, bool may_pass_unread,
			 struct rf_filter_stream **ret_stream, struct rf_err *err)
{
	struct rf_filter_stream *stream;
	bool is_decoded = coding != RF_CODING_IDENTITY && coding != RF_CODING_UNKNOWN;

	if (coding == RF_CODING_UNKNOWN && !may_pass_unread)
		return rf_fail_say(err, -ENOTSUP, "the answer's coding is none that can be read");
	stream = calloc(1, is_decoded ? sizeof(*stream) : offsetof(struct rf_filter_stream, piece));
	if (!stream)
		return rf_fail(err, -ENOMEM, "filter an answer");
	stream->limit_bytes = limit_bytes;
	if (rf_sieve_new(set, &stream->sieve, err) < 0 ||
	    (is_decoded && rf_coding_decoder_new(coding, &stream->decoder, err) < 0)) {
		rf_filter_stream_free(stream);
		return err->code;
	}
	*ret_stream = stream;
	return 0;
}

void rf_filter_stream_free(struct rf_filter_stream *stream)
{
	if (!stream)
		return;
	if (stream->decoder)
		explicit_bzero(stream->piece, sizeof(stream->piece));
	rf_coding_decoder_free(stream->decoder);
	rf_sieve_free(stream->sieve);
	free(stream);
}

/* Takes back what is more than may pass; what was appended since `before` is new. */
static void cut(struct rf_filter_stream *stream, struct rf_buf *out, size_t before)
{
	uint64_t fresh = out->len - before;

	if (stream->limit_bytes && fresh > stream->limit_bytes - stream->passed) {
		fresh = stream->limit_bytes - stream->passed;
		out->len = before + fresh;
		stream->is_cut = true;
	}
	stream->passed += fresh;
}

static ssize_t feed_plain(struct rf_filter_stream *stream, const char *data, size_t len,
			  struct rf_buf *out, size_t room)
{
	size_t size = len < room ? len : room;
	int code = rf_sieve_feed(stream->sieve, data, size, out);

	return code < 0 ? code : (ssize_t)size;
}

static ssize_t feed_coded(struct rf_filter_stream *stream, const char *data, size_t len,
			  struct rf_buf *out, size_t room)
{
	const char *at = data;
	size_t before = out->len;

	while (out->len - before < room) {
		ssize_t size = rf_coding_decode(stream->decoder, &at, &len, stream->piece, PIECE);
		int code;

		if (size <= 0 && size != 0)
			return size;
		if (size == 0)
			break;
		code = rf_sieve_feed(stream->sieve, stream->piece, (size_t)size, out);
		if (code < 0)
			return code;
	}
	return at - data;
}

ssize_t rf_filter_stream_feed(struct rf_filter_stream *stream, const char *data, size_t len,
			      struct rf_buf *out, size_t room)
{
	size_t before = out->len;
	ssize_t taken;

	/* What comes behind the cut is not looked at: it is nobody's. */
	if (stream->is_cut)
		return (ssize_t)len;
	if (!room)
		return 0;
	taken = stream->decoder ? feed_coded(stream, data, len, out, room)
				: feed_plain(stream, data, len, out, room);
	if (taken >= 0)
		cut(stream, out, before);
	return taken;
}

int rf_filter_stream_flush(struct rf_filter_stream *stream, struct rf_buf *out)
{
	size_t before = out->len;
	int code;

	if (stream->is_cut)
		return 0;
	code = rf_sieve_flush(stream->sieve, out);
	if (code >= 0)
		cut(stream, out, before);
	return code;
}

int rf_filter_stream_finish(struct rf_filter_stream *stream, struct rf_buf *out)
{
	size_t before = out->len;
	int code;

	if (stream->is_cut)
		return 0;
	code = rf_sieve_finish(stream->sieve, out);
	if (code >= 0)
		cut(stream, out, before);
	if (code >= 0 && stream->decoder && !rf_coding_is_whole(stream->decoder))
		return -EBADMSG;
	return code;
}

size_t rf_filter_stream_held(const struct rf_filter_stream *stream)
{
	return stream->is_cut ? 0 : rf_sieve_held(stream->sieve);
}

bool rf_filter_stream_is_cut(const struct rf_filter_stream *stream)
{
	return stream->is_cut;
}

bool rf_filter_stream_is_decoded(const struct rf_filter_stream *stream)
{
	return stream->decoder != NULL;
}

const struct rf_sieve_counts *rf_filter_stream_counted(const struct rf_filter_stream *stream)
{
	return rf_sieve_counted(stream->sieve);
}
