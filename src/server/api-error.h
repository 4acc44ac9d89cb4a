/*
 * What is answered to a request that can't be done: one form for all of them.
 *
 *     { "error": { "code": "invalid", "message": "...", "remedy": "...", "where": "limits.memory" } }
 *
 * `code` is for programs and one of a table; message and remedy are for people; `where` is the field, parameter or header that it is about, or null.
 */
#ifndef RF_SERVER_API_ERROR_H
#define RF_SERVER_API_ERROR_H

#include "base/buf.h"
#include "base/err.h"

enum rf_api_code {
	RF_API_MALFORMED, /* 400: no JSON, or a parameter that is none */
	RF_API_NO_KEY,    /* 401 */
	RF_API_FORBIDDEN, /* 403: the key is good for something else, or Host or Origin are not ours */
	RF_API_REFUSED,     /* 403: the policy, its ceiling or the warden refuses it */
	RF_API_NOT_FOUND,   /* 404: also what is another tenant's */
	RF_API_NO_METHOD,   /* 405 */
	RF_API_CONFLICT,    /* 409 */
	RF_API_UNDER_WAY,   /* 409: the same is being done; its answer can be asked for again */
	RF_API_TOO_LARGE,   /* 413 */
	RF_API_NO_TYPE,     /* 415 */
	RF_API_NO_RANGE,    /* 416 */
	RF_API_INVALID,     /* 422: a field that is wrong */
	RF_API_UNSUPPORTED, /* 501: right, and not of this version or this machine */
	RF_API_TOO_MANY,    /* 429 */
	RF_API_INTERNAL,    /* 500 */
	RF_API_UNAVAILABLE, /* 503 */
	RF_API_LATE,        /* 504 */
	RF_API_NO_ANSWER,   /* 502: a program in a sandbox does not answer as it should */
	RF_API_CODES
};

struct rf_api_error {
	enum rf_api_code code;
	char message[512];
	char remedy[256];
	char where[128];
	unsigned retry_s; /* of TOO_MANY: when it is worth another try */
	char allow[64];   /* of NO_METHOD: those that there are */
};

/* Says what is wrong, and where (NULL: nowhere in particular).  Returns -1, so that a reader can `return rf_api_error_say(...)`. */
int rf_api_error_say(struct rf_api_error *error, enum rf_api_code code, const char *where,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int rf_api_error_hint(struct rf_api_error *error, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What an error of ours comes to; its code decides.  Returns -1. */
int rf_api_error_of(struct rf_api_error *error, const struct rf_err *err, const char *where);

unsigned rf_api_error_status(enum rf_api_code code);
const char *rf_api_error_name(enum rf_api_code code);
void rf_api_error_format(const struct rf_api_error *error, struct rf_buf *out);

/* The same for what HTTP itself refuses: see rf_http_server_form(). */
void rf_api_error_put_refusal(unsigned status, const char *words, struct rf_buf *out);

#endif
