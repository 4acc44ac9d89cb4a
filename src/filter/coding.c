/*
 * Decoders: one shape for zlib, brotli and zstd.
 *
 * A row of `kinds` is how one of them begins, reads a step and ends.  What is common stands above it: the bound on growth, members
 * that follow each other (gzip and zstd may be several), and what counts as a whole body.
 */
#include "filter/coding.h"

#include <brotli/decode.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

struct step {
	const char **data;
	size_t *len;
	char *out;
	size_t room;
};

struct rf_coding_decoder {
	enum rf_coding coding;
	uint64_t read, written;
	bool has_begun; /* a member, whose end was not seen */
	bool is_over;   /* and nothing may follow */
	bool is_raw;    /* deflate without zlib's head, as some servers mean the word */
	bool has_zlib;
	z_stream zlib;
	BrotliDecoderState *brotli;
	ZSTD_DCtx *zstd;
};

enum rf_coding rf_coding_parse(const char *value, size_t len)
{
	/* clang-format off */
	static const struct { const char *name; enum rf_coding coding; } names[] = {
		{ "gzip",     RF_CODING_GZIP },
		{ "x-gzip",   RF_CODING_GZIP },
		{ "deflate",  RF_CODING_DEFLATE },
		{ "br",       RF_CODING_BR },
		{ "zstd",     RF_CODING_ZSTD },
		{ "identity", RF_CODING_IDENTITY },
	};
	/* clang-format on */

	while (len && (*value == ' ' || *value == '\t'))
		value++, len--;
	while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	if (!len)
		return RF_CODING_IDENTITY;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && !strncasecmp(names[i].name, value, len))
			return names[i].coding;
	return RF_CODING_UNKNOWN;
}

const char *rf_coding_name(enum rf_coding coding)
{
	static const char *const names[] = {
		"identity", "gzip", "deflate", "br", "zstd", "unknown"
	};

	return names[coding];
}

/* --- zlib --- */

#define WITH_GZIP 16 /* added to the window's bits: see zlib.h, inflateInit2() */

static int begin_zlib(struct rf_coding_decoder *decoder)
{
	int bits = decoder->coding == RF_CODING_GZIP ? MAX_WBITS + WITH_GZIP : MAX_WBITS;

	if (inflateInit2(&decoder->zlib, bits) != Z_OK)
		return -ENOMEM;
	decoder->has_zlib = true;
	return 0;
}

/* `deflate` is zlib's form by the standard; by the first byte it can be told from the bare one. */
static int choose_form(struct rf_coding_decoder *decoder, unsigned char first)
{
	if (decoder->coding != RF_CODING_DEFLATE || decoder->read || (first & 15) == 8)
		return 0;
	decoder->is_raw = true;
	return inflateReset2(&decoder->zlib, -MAX_WBITS) == Z_OK ? 0 : -ENOMEM;
}

static ssize_t step_zlib(struct rf_coding_decoder *decoder, const struct step *step)
{
	z_stream *zlib = &decoder->zlib;
	size_t size = *step->len < UINT32_MAX ? *step->len : UINT32_MAX;
	size_t room = step->room < UINT32_MAX ? step->room : UINT32_MAX;
	int code = size ? choose_form(decoder, (unsigned char)**step->data) : 0;

	if (code < 0)
		return code;
	zlib->next_in =
		(Bytef *)(uintptr_t)*step->data; /* zlib reads only: its type is older than const */
	zlib->avail_in = (uInt)size;
	zlib->next_out = (Bytef *)step->out;
	zlib->avail_out = (uInt)room;
	code = inflate(zlib, Z_SYNC_FLUSH);
	*step->data += size - zlib->avail_in;
	*step->len -= size - zlib->avail_in;
	decoder->has_begun = true;
	if (code == Z_STREAM_END) {
		decoder->has_begun = false;
		decoder->is_over = decoder->coding == RF_CODING_DEFLATE;
		if (!decoder->is_over)
			inflateReset(zlib);
	} else if (code == Z_MEM_ERROR) {
		return -ENOMEM;
	} else if (code != Z_OK && code != Z_BUF_ERROR) {
		return -EBADMSG;
	}
	return (ssize_t)(room - zlib->avail_out);
}

/* --- brotli --- */

static int begin_brotli(struct rf_coding_decoder *decoder)
{
	decoder->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	return decoder->brotli ? 0 : -ENOMEM;
}

static ssize_t step_brotli(struct rf_coding_decoder *decoder, const struct step *step)
{
	const uint8_t *next = (const uint8_t *)*step->data;
	uint8_t *out = (uint8_t *)step->out;
	size_t len = *step->len, room = step->room;
	BrotliDecoderResult result =
		BrotliDecoderDecompressStream(decoder->brotli, &len, &next, &room, &out, NULL);

	*step->data += *step->len - len;
	*step->len = len;
	decoder->has_begun = true;
	if (result == BROTLI_DECODER_RESULT_ERROR)
		return -EBADMSG;
	if (result == BROTLI_DECODER_RESULT_SUCCESS) {
		decoder->has_begun = false;
		decoder->is_over = true;
	}
	return (ssize_t)(step->room - room);
}

/* --- zstd --- */

static int begin_zstd(struct rf_coding_decoder *decoder)
{
	decoder->zstd = ZSTD_createDCtx();
	if (!decoder->zstd)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, 23); /* RF_CODING_WINDOW */
	return 0;
}

static ssize_t step_zstd(struct rf_coding_decoder *decoder, const struct step *step)
{
	ZSTD_inBuffer in = { *step->data, *step->len, 0 };
	ZSTD_outBuffer out = { step->out, step->room, 0 };
	size_t left = ZSTD_decompressStream(decoder->zstd, &out, &in);

	*step->data += in.pos;
	*step->len -= in.pos;
	if (ZSTD_isError(left))
		return -EBADMSG;
	decoder->has_begun = left != 0;
	return (ssize_t)out.pos;
}

/* --- all of them --- */

/* clang-format off */
static const struct {
	int (*begin)(struct rf_coding_decoder *decoder);
	ssize_t (*step)(struct rf_coding_decoder *decoder, const struct step *step);
} kinds[] = {
	[RF_CODING_GZIP]    = { begin_zlib,   step_zlib },
	[RF_CODING_DEFLATE] = { begin_zlib,   step_zlib },
	[RF_CODING_BR]      = { begin_brotli, step_brotli },
	[RF_CODING_ZSTD]    = { begin_zstd,   step_zstd },
};
/* clang-format on */

int rf_coding_decoder_new(enum rf_coding coding, struct rf_coding_decoder **ret_decoder,
			  struct rf_err *err)
{
	struct rf_coding_decoder *decoder;

	if (coding == RF_CODING_IDENTITY || coding >= RF_CODING_UNKNOWN)
		return rf_fail_say(err, -EINVAL, "a body's coding %s is not decoded",
				   rf_coding_name(coding));
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return rf_fail(err, -ENOMEM, "decode a body");
	decoder->coding = coding;
	if (kinds[coding].begin(decoder) < 0) {
		rf_coding_decoder_free(decoder);
		return rf_fail(err, -ENOMEM, "decode a body");
	}
	*ret_decoder = decoder;
	return 0;
}

void rf_coding_decoder_free(struct rf_coding_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->has_zlib)
		inflateEnd(&decoder->zlib);
	if (decoder->brotli)
		BrotliDecoderDestroyInstance(decoder->brotli);
	ZSTD_freeDCtx(decoder->zstd);
	free(decoder);
}

ssize_t rf_coding_decode(struct rf_coding_decoder *decoder, const char **data, size_t *len,
			 char *out, size_t room)
{
	const struct step step = { data, len, out, room };
	size_t before;
	ssize_t written;

	if (decoder->is_over)
		return *len ? -EBADMSG : 0;
	if (!*len && !decoder->has_begun)
		return 0;
	do {
		before = *len;
		written = kinds[decoder->coding].step(decoder, &step);
		decoder->read += before - *len;
	} while (written == 0 && *len && *len != before && !decoder->is_over);
	if (written < 0)
		return written;
	if (written == 0 && *len) /* it neither reads nor writes, or something follows the end */
		return -EBADMSG;
	decoder->written += (uint64_t)written;
	if (decoder->written > RF_CODING_FREE && decoder->written / RF_CODING_RATIO > decoder->read)
		return -E2BIG;
	return written;
}

bool rf_coding_is_whole(const struct rf_coding_decoder *decoder)
{
	return !decoder->has_begun;
}
