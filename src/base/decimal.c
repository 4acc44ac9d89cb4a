/* Decimal numbers from outside: see decimal.h. */
#include "base/decimal.h"

#include <errno.h>

#define DIGITS_MOST 20 /* of 2^64 - 1 */

int rf_decimal_parse(const char *text, size_t len, uint64_t most, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
	if (len > DIGITS_MOST)
		return -ERANGE;
	/* The bound is compared with the whole number, never with a difference: that can wrap. */
	for (size_t i = 0; i < len; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
			return -ERANGE;
	if (number > most)
		return -ERANGE;
	*ret_number = number;
	return 0;
}
