/*
 * What clang's analyzer can't see from one file: an error function returns a negative number.
 *
 * scripts/lint includes this in front of each source that it analyses.  Without it, the analyzer
 * follows a way on which `return rf_fail(...)` returned 0 or more and nothing was written through
 * `ret_`, and warns about each caller.
 */
#ifndef RF_ANALYZER_H
#define RF_ANALYZER_H

#include "base/err.h"

static inline int rf_analyzer_negative(int code)
{
	if (code >= 0)
		__builtin_unreachable();
	return code;
}

/* clang-format off */
#define rf_fail(...)      rf_analyzer_negative(rf_fail(__VA_ARGS__))
#define rf_fail_say(...)  rf_analyzer_negative(rf_fail_say(__VA_ARGS__))
#define rf_fail_at(...)   rf_analyzer_negative(rf_fail_at(__VA_ARGS__))
#define rf_fail_in(...)   rf_analyzer_negative(rf_fail_in(__VA_ARGS__))
#define rf_fail_hint(...) rf_analyzer_negative(rf_fail_hint(__VA_ARGS__))
/* clang-format on */

#endif
