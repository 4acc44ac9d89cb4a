/* A list of a policy: src/policy/list.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness.h"
#include "policy/list.h"

RF_TEST(uniting_keeps_one_of_each_and_assigning_keeps_one_of_each_name)
{
	struct rf_list list = { 0 };

	RF_CHECK(rf_list_unite(&list, "a", "1") == 0 && rf_list_unite(&list, "a", "2") == 0,
		 "unite");
	RF_CHECK(rf_list_unite(&list, "a", "1") == 0 && rf_list_unite(&list, "a", NULL) == 0,
		 "unite");
	RF_CHECK(list.count == 3, "%zu elements", list.count);
	RF_CHECK(rf_list_assign(&list, "b", "1") == 0 && rf_list_assign(&list, "b", "2") == 0,
		 "assign");
	RF_CHECK(list.count == 4 && strcmp(rf_list_find(&list, "b")->value, "2") == 0, "assign");
	RF_CHECK(rf_list_has(&list, "a", NULL) && !rf_list_has(&list, "b", NULL), "has");
	rf_list_done(&list);
	rf_list_done(NULL);
}

RF_TEST(removing_takes_the_equal_element_and_keeps_the_order)
{
	struct rf_list list = { 0 };

	rf_list_add(&list, "a", "1");
	rf_list_add(&list, "b", NULL);
	rf_list_add(&list, "c", "3");
	rf_list_remove(&list, "a", "2");
	RF_CHECK(list.count == 3, "%zu elements", list.count);
	rf_list_remove(&list, "b", NULL);
	RF_REQUIRE(list.count == 2, "%zu elements", list.count);
	RF_CHECK(strcmp(list.items[0].name, "a") == 0 && strcmp(list.items[1].name, "c") == 0,
		 "%s %s", list.items[0].name, list.items[1].name);
	rf_list_done(&list);
}

RF_TEST(a_full_list_takes_no_more)
{
	struct rf_list list = { 0 };
	char name[16];

	for (int i = 0; i < RF_MAX_LIST; i++) {
		snprintf(name, sizeof(name), "%d", i);
		RF_REQUIRE(rf_list_add(&list, name, name) == 0, "element %d", i);
	}
	RF_CHECK(rf_list_add(&list, "x", NULL) == -E2BIG, "one more");
	RF_CHECK(rf_list_assign(&list, "7", "x") == 0, "a new value for an old name");
	RF_CHECK(list.count == RF_MAX_LIST, "%zu elements", list.count);
	rf_list_done(&list);
}
