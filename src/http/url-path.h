/*
 * The path of a URL, in the one form that rules compare.
 *
 * A path has many spellings: %61 is a, %2e%2e is .., and what %2f is depends on whom one asks.  A rule about paths is worth
 * as much as the certainty that the server reads them as the rule does.  So a path is read into one form, and what servers are
 * known to read in different ways is told apart as `odd`; who has rules about paths refuses such a path, unless a rule says
 * otherwise, and sends on the form that was compared.
 *
 * The form: dot segments are resolved; octets that carry no structure stand for themselves (letters, digits and -._~!$&'()*+,:=@), all
 * others are percent-coded in upper case.  It is its own form.
 *
 * Refused altogether: a percent sign without two digits, control characters and NUL, octets that are no UTF-8 (overlong forms are
 * slashes to some), dot segments that lead above the root or carry a parameter ("..;" is ".." to some).
 */
#ifndef RF_HTTP_URL_PATH_H
#define RF_HTTP_URL_PATH_H

#include "http/fault.h"
#include "http/span.h"

enum rf_url_path_odd {
	RF_URL_PATH_DOTS = 1,            /* had dot segments, which are resolved */
	RF_URL_PATH_EMPTY_SEGMENT = 2,   /* // is / to some; both are kept */
	RF_URL_PATH_CODED_SLASH = 4,     /* %2F divides segments to some; it is kept */
	RF_URL_PATH_CODED_BACKSLASH = 8, /* %5C is kept */
	RF_URL_PATH_CODED_PERCENT =
		16,                 /* %25 begins another code to who decodes twice; it is kept */
	RF_URL_PATH_PARAMETER = 32, /* ;x belongs to the name to some, and not to others */
};

struct rf_url_path {
	struct rf_span text; /* in the caller's room */
	unsigned odd;        /* RF_URL_PATH_* bits */
};

/* Room for the form of any path of `len` bytes. */
#define RF_URL_PATH_ROOM(len) (3 * (len))

/*
 * Reads a path, which begins with a slash, into `room` bytes (borrows).  An empty one is "/".  Fails with RF_FAULT_PATH_* or
 * RF_FAULT_TARGET_*.
 */
enum rf_fault rf_url_path_read(struct rf_span path, char *text, size_t room,
			       struct rf_url_path *ret_path);

#endif
