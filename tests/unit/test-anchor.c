/* Lines of signed heads: src/audit/anchor.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/anchor.h"
#include "harness.h"

static struct rf_anchor_line sample(void)
{
	struct rf_anchor_line line = { .head = { .seq = 42 } };

	memset(line.head.chain, 0xab, sizeof(line.head.chain));
	memset(line.head.hash, 0x01, sizeof(line.head.hash));
	memset(line.key, 0x23, sizeof(line.key));
	memset(line.signature, 0xff, sizeof(line.signature));
	return line;
}

RF_TEST(a_line_is_found_behind_what_a_logger_puts_before_it)
{
	struct rf_anchor_line line = sample(), back;
	char text[RF_ANCHOR_LINE], logged[2 * RF_ANCHOR_LINE];
	size_t len = rf_anchor_format(&line, text);

	RF_CHECK(len == strlen(text) && text[len - 1] == '\n', "one line");
	RF_REQUIRE(rf_anchor_parse(text, len, &back), "as it is");
	RF_CHECK(memcmp(&back, &line, sizeof(line)) == 0, "the same");
	snprintf(logged, sizeof(logged), "Nov 16 06:50:00 host ringfort-watch[7]: %s", text);
	memset(&back, 0, sizeof(back));
	RF_REQUIRE(rf_anchor_parse(logged, strlen(logged), &back), "logged");
	RF_CHECK(memcmp(&back, &line, sizeof(line)) == 0, "the same");
}

RF_TEST(what_is_not_whole_is_no_line)
{
	struct rf_anchor_line line = sample(), back;
	char text[RF_ANCHOR_LINE], more[RF_ANCHOR_LINE + 2];
	size_t len = rf_anchor_format(&line, text);

	for (size_t cut = 0; cut + 1 < len; cut++)
		RF_CHECK(!rf_anchor_parse(text, cut, &back), "%zu bytes", cut);
	snprintf(more, sizeof(more), "%.*s x", (int)len - 1, text);
	RF_CHECK(!rf_anchor_parse(more, strlen(more), &back), "something behind it");
	text[40] = 'X';
	RF_CHECK(!rf_anchor_parse(text, len, &back), "no digit");
}
