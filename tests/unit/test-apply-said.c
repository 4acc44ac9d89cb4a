/* What was applied, as a script tells it: src/server/apply-said.c. */
#include "server/apply-said.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

#define FIGURES "point 3\0added 1\0modified 0\0deleted 1\0conflicts 0\0"

RF_TEST(figures_come_first_and_then_paths)
{
	static const char text[] = FIGURES "A new\nline\0D a b";
	struct rf_apply_said said;
	struct rf_apply_said_path path;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_apply_said_read(text, sizeof(text), &said, &err) == 0, "%s", err.msg);
	RF_CHECK(said.figures[RF_APPLY_SAID_POINT] == 3 && said.figures[RF_APPLY_SAID_DELETED] == 1,
		 "its figures");
	RF_CHECK(rf_apply_said_next(&said, &path) && path.kind == 'A' &&
			 strcmp(path.path, "new\nline") == 0,
		 "the first");
	RF_CHECK(rf_apply_said_next(&said, &path) && path.kind == 'D' &&
			 strcmp(path.path, "a b") == 0,
		 "the second");
	RF_CHECK(!rf_apply_said_next(&said, &path), "and no more");
}

RF_TEST(what_is_malformed_is_not_believed)
{
	/* clang-format off */
	static const struct { const char *text; size_t len; bool is_read; } cases[] = {
#define CASE(text, is_read) { text, sizeof(text) - 1, is_read }
		CASE("", false), CASE("point 1", false), CASE("point 1\0added 1\0", false),
		CASE("point -1\0added 1\0modified 0\0deleted 1\0conflicts 0\0", false),
		CASE("point 1\0added x\0modified 0\0deleted 1\0conflicts 0\0", false),
		CASE("added 1\0point 1\0modified 0\0deleted 1\0conflicts 0\0", false),
		CASE(FIGURES, true), CASE(FIGURES "A cut", true), CASE(FIGURES "X odd\0", true),
		CASE(FIGURES "A\0", true), CASE(FIGURES "A \0", true), CASE(FIGURES "\0", true),
#undef CASE
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_apply_said said;
		struct rf_apply_said_path path;
		struct rf_err err = RF_ERR_INIT;
		int code = rf_apply_said_read(cases[i].text, cases[i].len, &said, &err);

		RF_CHECK(cases[i].is_read ? code == 0 : code == -EBADMSG, "case %zu", i);
		RF_CHECK(code < 0 || !rf_apply_said_next(&said, &path), "case %zu: no path", i);
	}
}
