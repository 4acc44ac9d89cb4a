/* Approvals: what is remembered of them: src/server/custodian.c, with a watcher that takes all. */
#include "server/custodian.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/clerk-watcher.h"

static int record_nothing(const struct rf_audit_event *event, bool *ret_is_said, struct rf_err *err)
{
	(void)event;
	(void)err;
	*ret_is_said = true;
	return 0;
}

/* What is freed says nothing any more, so that a look at it is seen without a sanitizer, too. */
static void free_and_wipe(void *at)
{
	if (at)
		memset(at, 0xa5, malloc_usable_size(at));
	free(at);
}

#define rf_clerk_watcher_tell record_nothing
#define free                  free_and_wipe
#include "server/custodian.c"
#undef free

static void add_item(const char *tenant, const char *id, enum rf_custodian_state state)
{
	struct item *item = calloc(1, sizeof(*item));

	RF_REQUIRE(item, "no memory");
	snprintf(item->seen.id, sizeof(item->seen.id), "%s", id);
	snprintf(item->seen.owner.tenant, sizeof(item->seen.owner.tenant), "%s", tenant);
	item->seen.state = state;
	item->deadline_ns = UINT64_MAX;
	*last = item;
	last = &item->next;
}

static size_t count_of(const char *tenant)
{
	size_t count = 0;

	for (const struct item *item = items; item; item = item->next)
		count += is_of(item, tenant);
	return count;
}

RF_TEST(the_oldest_goes_first_also_if_it_is_the_one_that_was_decided)
{
	const struct rf_clerk_asker who = { .key = "k1", .tenant = "acme", .ceiling = "" };
	struct rf_approval_ask_decision decision = { .id = "oldest" };
	struct rf_err err = RF_ERR_INIT;
	char id[32];
	int fd = -1;

	add_item("acme", "oldest", RF_CUSTODIAN_WAITING);
	add_item("other", "kept", RF_CUSTODIAN_DENIED);
	/* As many at once when a box ended: they were told, and nothing was trimmed since. */
	for (int i = 0; i < REMEMBERED + 20; i++) {
		snprintf(id, sizeof(id), "%d", i);
		add_item("acme", id, RF_CUSTODIAN_DENIED);
	}
	RF_CHECK(rf_custodian_decide(&who, &decision, &fd, &err) == 0, "%s", err.msg);
	RF_CHECK(count_of("acme") == REMEMBERED, "%zu are left", count_of("acme"));
	RF_CHECK(count_of("other") == 1, "another tenant's are gone");
	RF_CHECK(!find("acme", "oldest") && find("acme", "20") && !find("acme", "19"),
		 "others were to go");
}
