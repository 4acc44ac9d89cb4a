/* Addresses that stand for names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/names.h"
#include "harness.h"

static const uint64_t key[2] = { 1, 2 };

RF_TEST(a_name_has_one_address_and_an_address_one_name)
{
	struct rf_names *names = rf_names_new(100, key);
	uint32_t first = rf_names_give(names, "a.example"),
		 second = rf_names_give(names, "b.example");

	RF_CHECK(first && second && first != second, "%x %x", first, second);
	RF_CHECK(rf_names_holds(first) && first >> 24 == 28, "%x", first);
	RF_CHECK(rf_names_give(names, "a.example") == first, "the same again");
	RF_CHECK(strcmp(rf_names_find(names, first), "a.example") == 0, "back");
	RF_CHECK(!rf_names_find(names, second + 1), "nobody's");
	rf_names_free(names);
}

RF_TEST(boxes_begin_at_places_of_their_own)
{
	static const uint64_t other[2] = { 3, 4 };
	struct rf_names *a = rf_names_new(10, key), *b = rf_names_new(10, other);

	RF_CHECK(rf_names_give(a, "x") != rf_names_give(b, "x"), "another place");
	rf_names_free(a);
	rf_names_free(b);
}

/* 100,000 names of a tunnel: memory is bounded, and no address ever means another name than it did. */
RF_TEST(an_address_is_never_given_a_second_time)
{
	enum {
		ALL = 100000,
		MOST = 512
	};
	struct rf_names *names = rf_names_new(MOST, key);
	uint32_t kept = rf_names_give(names, "kept.example"), last = 0;
	uint8_t *seen = calloc(1, RF_NAMES_COUNT / 8 + 1);
	char name[32];

	for (int i = 0; i < ALL; i++) {
		uint32_t address, at;

		snprintf(name, sizeof(name), "n%d.example", i);
		address = rf_names_give(names, name);
		at = address - RF_NAMES_FIRST;
		RF_REQUIRE(rf_names_holds(address) && !(seen[at / 8] & 1 << at % 8), "%d: again",
			   i);
		seen[at / 8] |= (uint8_t)(1 << at % 8);
		RF_REQUIRE(rf_names_count(names) <= MOST, "%zu", rf_names_count(names));
		if (i % 100 == 0)
			RF_REQUIRE(rf_names_find(names, kept), "what is used stays, %d", i);
		last = address;
	}
	RF_CHECK(strcmp(rf_names_find(names, last), "n99999.example") == 0, "the last");
	RF_CHECK(!rf_names_find(names, last - MOST), "a forgotten one is nobody's");
	RF_CHECK(rf_names_forgotten(names) == ALL + 1 - MOST, "forgotten");
	RF_CHECK(rf_names_give(names, "n5.example") == last + 1 ||
			 rf_names_give(names, "n5.example") == RF_NAMES_FIRST,
		 "a new one");
	free(seen);
	rf_names_free(names);
}

RF_TEST(no_room_means_no_address)
{
	struct rf_names *names = rf_names_new(0, key);

	RF_CHECK(rf_names_give(names, "a") == 0, "none");
	rf_names_free(names);
}
