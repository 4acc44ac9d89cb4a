/* Decimal numbers from outside: src/base/decimal.c. */
#include "base/decimal.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(a_number_is_at_most_its_bound)
{
	/* clang-format off */
	static const struct { const char *text; uint64_t most; int code; uint64_t number; } cases[] = {
		{ "0",                     0,              0,       0 },
		{ "7",                     7,              0,       7 },
		{ "8",                     7,              -ERANGE, 0 },
		{ "9",                     0,              -ERANGE, 0 }, /* a digit above the bound */
		{ "9999999",               8,              -ERANGE, 0 },
		{ "10",                    9,              -ERANGE, 0 },
		{ "100",                   100,            0,       100 },
		{ "00000000000000000012",  12,             0,       12 },
		{ "000000000000000000012", 12,             -ERANGE, 0 }, /* 21 digits */
		{ "18446744073709551615",  UINT64_MAX,     0,       UINT64_MAX },
		{ "18446744073709551615",  UINT64_MAX - 1, -ERANGE, 0 },
		{ "18446744073709551616",  UINT64_MAX,     -ERANGE, 0 },
		{ "99999999999999999999",  UINT64_MAX,     -ERANGE, 0 },
		{ "",                      UINT64_MAX,     -EINVAL, 0 },
		{ "-1",                    UINT64_MAX,     -EINVAL, 0 },
		{ "+1",                    UINT64_MAX,     -EINVAL, 0 },
		{ " 1",                    UINT64_MAX,     -EINVAL, 0 },
		{ "1 ",                    UINT64_MAX,     -EINVAL, 0 },
		{ "0x1",                   UINT64_MAX,     -EINVAL, 0 },
		{ "1\xb2",                 UINT64_MAX,     -EINVAL, 0 },
		{ "99999999999999999999x", UINT64_MAX,     -EINVAL, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		uint64_t number = 4711;
		int code = rf_decimal_parse(cases[i].text, strlen(cases[i].text), cases[i].most,
					    &number);

		RF_CHECK(code == cases[i].code, "`%s`: %d", cases[i].text, code);
		RF_CHECK(number == (code == 0 ? cases[i].number : 4711), "`%s`", cases[i].text);
	}
}

RF_TEST(a_number_ends_where_its_bytes_end)
{
	uint64_t number = 0;

	RF_CHECK(rf_decimal_parse("123456", 3, 1000, &number) == 0 && number == 123, "is read on");
}
