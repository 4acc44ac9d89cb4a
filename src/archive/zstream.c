/* A stream that is compressed: see zstream.h. */
#include "archive/zstream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/fd.h"

#define LEVEL 3

struct rf_zstream {
	int fd;
	ZSTD_CCtx *squeeze;
	ZSTD_DCtx *open;
	char *room; /* bytes of the descriptor's side */
	size_t size;
	ZSTD_inBuffer in; /* when reading: what was read and is not used */
	bool has_begun, is_plain, has_ended;
	bool is_in_frame; /* more of it has to come */
};

struct rf_zstream *rf_zstream_new(int fd, bool is_writing)
{
	struct rf_zstream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->fd = fd;
	stream->size = is_writing ? ZSTD_CStreamOutSize() : ZSTD_DStreamInSize();
	stream->room = malloc(stream->size);
	if (is_writing)
		stream->squeeze = ZSTD_createCCtx();
	else
		stream->open = ZSTD_createDCtx();
	if (stream->squeeze) {
		ZSTD_CCtx_setParameter(stream->squeeze, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(stream->squeeze, ZSTD_c_checksumFlag, 1);
	}
	if (stream->room && (stream->squeeze || stream->open))
		return stream;
	rf_zstream_free(stream);
	return NULL;
}

void rf_zstream_free(struct rf_zstream *stream)
{
	if (!stream)
		return;
	ZSTD_freeCCtx(stream->squeeze);
	ZSTD_freeDCtx(stream->open);
	free(stream->room);
	free(stream);
}

int rf_zstream_write(struct rf_zstream *stream, const void *bytes, size_t len, bool is_end)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { stream->room, stream->size, 0 };
		int code;

		left = ZSTD_compressStream2(stream->squeeze, &out, &in,
					    is_end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -EIO;
		code = rf_fd_write(stream->fd, stream->room, out.pos);
		if (code < 0)
			return code;
	} while (in.pos < in.size || (is_end && left > 0));
	return 0;
}

/* Reads more from the descriptor.  Returns how much, 0 at its end. */
static ssize_t refill(struct rf_zstream *stream)
{
	ssize_t n = rf_fd_read(stream->fd, stream->room, stream->size);
	uint32_t magic;

	if (n < 0)
		return n;
	stream->in = (ZSTD_inBuffer){ stream->room, (size_t)n, 0 };
	stream->has_ended = n == 0;
	if (!stream->has_begun && n > 0) {
		memcpy(&magic, stream->room, (size_t)n < sizeof(magic) ? 0 : sizeof(magic));
		stream->is_plain = (size_t)n < sizeof(magic) || magic != ZSTD_MAGICNUMBER;
		stream->has_begun = true;
	}
	return n;
}

static int open_some(struct rf_zstream *stream, ZSTD_outBuffer *out)
{
	size_t left;

	if (stream->is_plain) {
		size_t part = stream->in.size - stream->in.pos;

		part = part < out->size - out->pos ? part : out->size - out->pos;
		memcpy((char *)out->dst + out->pos, stream->room + stream->in.pos, part);
		stream->in.pos += part;
		out->pos += part;
		return 0;
	}
	left = ZSTD_decompressStream(stream->open, out, &stream->in);
	if (ZSTD_isError(left))
		return -EBADMSG;
	stream->is_in_frame = left > 0;
	return 0;
}

ssize_t rf_zstream_read(struct rf_zstream *stream, void *bytes, size_t len)
{
	ZSTD_outBuffer out = { bytes, len, 0 };

	while (out.pos < len) {
		size_t before = out.pos;
		int code;

		if (stream->in.pos == stream->in.size && !stream->has_ended) {
			ssize_t n = refill(stream);

			if (n < 0)
				return n;
		}
		if (stream->has_ended && !stream->is_in_frame)
			break;
		code = open_some(stream, &out);
		if (code < 0)
			return code;
		if (stream->has_ended && out.pos == before)
			return -EBADMSG; /* cut off */
	}
	return (ssize_t)out.pos;
}
