/* Things found by what they are about: src/watch/table.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/table.h"

static const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

RF_TEST(the_hash_gives_its_authors_values)
{
	/* From the paper's appendix (15 bytes), and from the reference's list of values. */
	/* clang-format off */
	static const struct { size_t len; uint64_t hash; } cases[] = {
		{ 0,  0x726fdb47dd0e0e31 },
		{ 1,  0x74f839c593dc67fd },
		{ 8,  0x93f5f5799a932462 },
		{ 15, 0xa129ca6149be45e5 },
	};
	/* clang-format on */
	unsigned char data[16];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_table_hash(key, data, cases[i].len) == cases[i].hash, "%zu bytes: %llx",
			 cases[i].len, (unsigned long long)rf_table_hash(key, data, cases[i].len));
}

RF_TEST(what_was_added_is_found_and_what_was_removed_is_not)
{
	enum {
		COUNT = 5000
	};
	struct rf_table_node *nodes = calloc(COUNT, sizeof(*nodes));
	struct rf_table table;
	size_t seen = 0;
	char name[32];

	rf_table_init(&table, key);
	RF_CHECK(!rf_table_find(&table, RF_TABLE_HOST, "a"), "in an empty table");
	RF_CHECK(!rf_table_next(&table, NULL), "in an empty table");
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "name-%d", i / 2);
		RF_REQUIRE(rf_table_add(&table, &nodes[i], i % 2 ? RF_TABLE_TOOL : RF_TABLE_HOST,
					name) == 0,
			   "%s", name);
	}
	for (int i = 0; i < COUNT; i += 3)
		rf_table_remove(&table, &nodes[i]);
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "name-%d", i / 2);
		RF_CHECK(rf_table_find(&table, i % 2 ? RF_TABLE_TOOL : RF_TABLE_HOST, name) ==
				 (i % 3 ? &nodes[i] : NULL),
			 "%d", i);
	}
	for (const struct rf_table_node *node = rf_table_next(&table, NULL); node;
	     node = rf_table_next(&table, node))
		seen++;
	RF_CHECK(seen == table.node_count && seen == COUNT - (COUNT + 2) / 3, "%zu", seen);
	RF_CHECK(!rf_table_find(&table, RF_TABLE_AGENT, "name-1"), "another kind");
	rf_table_done(&table);
	free(nodes);
}

RF_TEST(a_name_is_short_and_can_be_printed)
{
	char longest[RF_TABLE_NAME + 1];

	memset(longest, 'x', sizeof(longest));
	longest[RF_TABLE_NAME] = '\0';
	RF_CHECK(!rf_table_takes(longest), "128 bytes");
	RF_CHECK(rf_table_takes(longest + 1), "127 bytes");
	RF_CHECK(rf_table_takes("agent-7"), "a plain one");
	RF_CHECK(rf_table_takes("\xc3\xa4gent"), "UTF-8");
	RF_CHECK(!rf_table_takes(""), "an empty one");
	RF_CHECK(!rf_table_takes("a b"), "a blank");
	RF_CHECK(!rf_table_takes("a\nb"), "a new line");
	RF_CHECK(!rf_table_takes("a\x1b[2J"), "an escape");
	RF_CHECK(!rf_table_takes("a\x7f"), "a delete");
	RF_CHECK(!rf_table_takes("a\xc2\x9b"
				 "2J"),
		 "an escape in one letter");
	RF_CHECK(!rf_table_takes("a\xff"), "no UTF-8");
	RF_CHECK(!rf_table_takes("a\xc2"), "a letter that is cut");
}

RF_TEST(each_kind_has_a_name_of_its_own)
{
	for (int i = 0; i < RF_TABLE_KINDS; i++)
		RF_CHECK(rf_table_kind_parse(rf_table_kind_name((enum rf_table_kind)i)) ==
				 (enum rf_table_kind)i,
			 "%d", i);
	RF_CHECK(rf_table_kind_parse("agents") == RF_TABLE_KINDS, "an unknown one");
}
