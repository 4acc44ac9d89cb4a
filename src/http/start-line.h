/*
 * The first line of a message: what is asked for, or how it went.
 *
 * A target has four forms, each for its own methods: a path ("/a?b"), a URL (to a proxy), host and port (CONNECT alone), and an
 * asterisk (OPTIONS alone).
 */
#ifndef RF_HTTP_START_LINE_H
#define RF_HTTP_START_LINE_H

#include "http/url.h"

#define RF_START_LINE_METHOD 24 /* letters of a method: the longest that is registered has 17 */

enum rf_target_form {
	RF_TARGET_PATH,
	RF_TARGET_URL,
	RF_TARGET_AUTHORITY,
	RF_TARGET_ASTERISK
};

struct rf_start_line {
	unsigned minor; /* of HTTP/1.x: 0 or 1 */
	/* Of a request: */
	struct rf_span method, target;
	enum rf_target_form form;
	struct rf_url url; /* path and query; host and port where the target names them */
	/* Of a response: */
	unsigned status; /* 100 to 599 */
	struct rf_span reason;
};

enum rf_fault rf_start_line_request(struct rf_span line, struct rf_start_line *ret_start);
enum rf_fault rf_start_line_response(struct rf_span line, struct rf_start_line *ret_start);

#endif
