/* What is answered to a request that can't be done: see api-error.h. */
#include "server/api-error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/json.h"

/* clang-format off */
static const struct { const char *name; unsigned status; } codes[RF_API_CODES] = {
	[RF_API_MALFORMED]   = { "malformed", 400 },
	[RF_API_NO_KEY]      = { "no_key", 401 },
	[RF_API_FORBIDDEN]   = { "forbidden", 403 },
	[RF_API_REFUSED]     = { "refused", 403 },
	[RF_API_NOT_FOUND]   = { "not_found", 404 },
	[RF_API_NO_METHOD]   = { "no_method", 405 },
	[RF_API_CONFLICT]    = { "conflict", 409 },
	[RF_API_UNDER_WAY]   = { "under_way", 409 },
	[RF_API_TOO_LARGE]   = { "too_large", 413 },
	[RF_API_NO_TYPE]     = { "no_type", 415 },
	[RF_API_NO_RANGE]    = { "no_range", 416 },
	[RF_API_INVALID]     = { "invalid", 422 },
	[RF_API_UNSUPPORTED] = { "unsupported", 501 },
	[RF_API_TOO_MANY]    = { "too_many", 429 },
	[RF_API_INTERNAL]    = { "internal", 500 },
	[RF_API_UNAVAILABLE] = { "unavailable", 503 },
	[RF_API_LATE]        = { "late", 504 },
	[RF_API_NO_ANSWER]   = { "no_answer", 502 },
};

static const struct { int code; enum rf_api_code is; } meanings[] = {
	{ -EINVAL, RF_API_INVALID },         { -EBADMSG, RF_API_INVALID },     { -ENOENT, RF_API_NOT_FOUND },
	{ -EPERM, RF_API_REFUSED },          { -EACCES, RF_API_REFUSED },      { -EDQUOT, RF_API_TOO_MANY },
	{ -EAGAIN, RF_API_TOO_MANY },        { -E2BIG, RF_API_TOO_LARGE },     { -EFBIG, RF_API_TOO_LARGE },
	{ -EBUSY, RF_API_CONFLICT },         { -ENOTCONN, RF_API_CONFLICT },   { -EEXIST, RF_API_CONFLICT },
	{ -ETIMEDOUT, RF_API_LATE },         { -ECONNRESET, RF_API_UNAVAILABLE },
	{ -EPIPE, RF_API_UNAVAILABLE },      { -EMFILE, RF_API_UNAVAILABLE },  { -ENFILE, RF_API_UNAVAILABLE },
	{ -ENOMEM, RF_API_UNAVAILABLE },     { -ENOTSUP, RF_API_UNSUPPORTED }, { -EHOSTDOWN, RF_API_UNAVAILABLE },
};
/* clang-format on */

int rf_api_error_say(struct rf_api_error *error, enum rf_api_code code, const char *where,
		     const char *fmt, ...)
{
	va_list args;

	*error = (struct rf_api_error){ .code = code };
	va_start(args, fmt);
	vsnprintf(error->message, sizeof(error->message), fmt, args);
	va_end(args);
	snprintf(error->where, sizeof(error->where), "%s", where ? where : "");
	return -1;
}

int rf_api_error_hint(struct rf_api_error *error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error->remedy, sizeof(error->remedy), fmt, args);
	va_end(args);
	return -1;
}

int rf_api_error_of(struct rf_api_error *error, const struct rf_err *err, const char *where)
{
	enum rf_api_code code = RF_API_INTERNAL;

	for (size_t i = 0; i < RF_LEN(meanings); i++)
		if (meanings[i].code == err->code)
			code = meanings[i].is;
	rf_api_error_say(error, code, where, "%s", err->msg[0] ? err->msg : "it failed");
	if (err->hint[0])
		rf_api_error_hint(error, "%s", err->hint);
	if (code == RF_API_TOO_MANY)
		error->retry_s = 1;
	return -1;
}

unsigned rf_api_error_status(enum rf_api_code code)
{
	return codes[code].status;
}

const char *rf_api_error_name(enum rf_api_code code)
{
	return codes[code].name;
}

static void format(const char *code, const struct rf_api_error *error, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_object(&json, "error");
	rf_json_string(&json, "code", code);
	rf_json_string(&json, "message", error->message);
	rf_json_string(&json, "remedy", error->remedy[0] ? error->remedy : NULL);
	rf_json_string(&json, "where", error->where[0] ? error->where : NULL);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

void rf_api_error_format(const struct rf_api_error *error, struct rf_buf *out)
{
	format(codes[error->code].name, error, out);
}

void rf_api_error_put_refusal(unsigned status, const char *words, struct rf_buf *out)
{
	struct rf_api_error error = { 0 };

	snprintf(error.message, sizeof(error.message), "%s", words);
	format(status == 413                    ? "too_large"
	       : status == 408 || status == 504 ? "late"
						: "malformed",
	       &error, out);
}
