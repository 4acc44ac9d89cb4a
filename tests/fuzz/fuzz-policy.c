/*
 * Policies from hostile text: what is read can be written, and reads back to the same policy; what it
 * extends is found or refused; a plan can be made of it or is refused; a meet with itself does not
 * fail.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "policy/beyond-ceiling.h"
#include "policy/chain.h"
#include "policy/diff.h"
#include "policy/explain.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "replay.h"

#define ROOM (64 * 1024 * 1024)

static char *argv[] = { (char[]){ "true" }, NULL };
static char *env[] = { (char[]){ "LANG=C" }, NULL };

static void demand(bool holds)
{
	if (!holds)
		abort();
}

/* Reads what was written, and compares what it is written as again. */
static void check_round_trip(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *again = NULL;
	struct rf_buf first, second;

	rf_buf_init(&first, ROOM);
	rf_buf_init(&second, ROOM);
	rf_policy_format(policy, &first);
	demand(!first.has_failed);
	/* Relative paths have become absolute and may have outgrown what one text can hold. */
	if (rf_policy_parse(first.data, first.len, NULL, NULL, &again, &err) >= 0) {
		rf_policy_format(again, &second);
		demand(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	} else {
		demand(err.code == -EFBIG);
	}
	rf_policy_free(again);
	rf_buf_done(&first);
	rf_buf_done(&second);
}

/* The same by way of JSON, compared as YAML. */
static void check_json(const struct rf_policy *policy)
{
	struct rf_buf text, first, second;
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *again = NULL;
	struct rf_json json;

	rf_buf_init(&text, ROOM);
	rf_buf_init(&first, ROOM);
	rf_buf_init(&second, ROOM);
	rf_json_init(&json, &text, true);
	rf_policy_json(policy, NULL, &json);
	if (rf_policy_parse(text.data, text.len, NULL, NULL, &again, &err) >= 0) {
		rf_policy_format(policy, &first);
		rf_policy_format(again, &second);
		demand(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	} else {
		/* JSON writes what is not seen beyond U+FFFF as a pair, and YAML has none: it is refused with its place. */
		demand(err.code == -EFBIG || (err.line > 0 && strstr(text.data, "\\ud")));
	}
	rf_policy_free(again);
	rf_buf_done(&text);
	rf_buf_done(&first);
	rf_buf_done(&second);
}

static void check_plan(const struct rf_policy *policy)
{
	struct rf_facts facts = { 1000, 1000, "/srv/p", "/home/ada", env, argv };
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;
	struct rf_buf text;

	rf_buf_init(&text, ROOM);
	if (rf_plan_make(policy, &facts, &plan, &err) >= 0) {
		rf_explain_text(plan, NULL, &text);
		rf_explain_json(plan, NULL, &text);
	} else {
		demand(err.msg[0] != '\0');
	}
	rf_plan_free(plan);
	rf_buf_done(&text);
}

/* A policy differs in nothing from itself, and whatever it says can be told. */
static void check_diff(const struct rf_policy *policy)
{
	struct rf_policy *empty = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;
	struct rf_diff diff;
	struct rf_buf text;

	rf_buf_init(&text, ROOM);
	demand(rf_diff_make(policy, policy, &diff, &err) >= 0 && diff.count == 0);
	demand(rf_diff_make(empty, policy, &diff, &err) >= 0);
	rf_diff_text(&diff, "a", "b", &text);
	rf_diff_json(&diff, "a", "b", &text);
	rf_diff_done(&diff);
	rf_buf_done(&text);
	rf_policy_free(empty);
}

/* Meeting itself must work, and the result must be a policy like any other. */
static void check_meet(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *met = NULL;

	demand(rf_policy_meet(policy, policy, &met, &err) >= 0);
	check_round_trip(met);
	rf_policy_free(met);
}

/* A policy is never beyond itself; and what is left of it under a ceiling is not beyond that. */
static void check_beyond(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *empty = rf_policy_new_empty(), *left = rf_policy_new_empty();
	struct rf_beyond_ceiling *beyond = NULL;

	demand(rf_beyond_ceiling_new(policy, policy, &beyond, &err) == 0 &&
	       !rf_beyond_ceiling_item(beyond, 0));
	rf_beyond_ceiling_free(beyond);
	demand(rf_policy_merge(left, policy, &err) == 0 &&
	       rf_beyond_ceiling_new(empty, left, &beyond, &err) == 0 &&
	       rf_beyond_ceiling_narrow(beyond, left, &err) == 0);
	rf_beyond_ceiling_free(beyond);
	demand(rf_beyond_ceiling_new(empty, left, &beyond, &err) == 0 &&
	       !rf_beyond_ceiling_item(beyond, 0));
	rf_beyond_ceiling_free(beyond);
	rf_policy_free(left);
	rf_policy_free(empty);
}

/* What a stranger's text comes to with the built-in profiles that it extends, or NULL. */
static struct rf_policy *resolve(const uint8_t *data, size_t size)
{
	struct rf_chain_text text = { .name = strdup("text"),
				      .path = strdup("text"),
				      .id = strdup("/text"),
				      .folder = strdup("/srv/p"),
				      .text = malloc(size + 1),
				      .len = size };
	struct rf_chain chain = { .home = "/home/ada" };
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;

	memcpy(text.text, data, size);
	if (rf_chain_add_text(&chain, &text, &err) < 0 ||
	    rf_chain_merge(&chain, policy, &err) < 0) {
		demand(err.code < 0 && err.msg[0] != '\0');
		rf_policy_free(policy);
		policy = NULL;
	}
	rf_chain_done(&chain);
	return policy;
}

RF_FUZZ(data, size)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;

	if (rf_policy_parse((const char *)data, size, "/srv/p", "/home/ada", &policy, &err) < 0) {
		demand(err.code < 0 && err.msg[0] != '\0');
		return 0;
	}
	check_round_trip(policy);
	check_json(policy);
	rf_policy_free(policy);
	policy = resolve(data, size);
	if (policy) {
		check_diff(policy);
		check_meet(policy);
		check_beyond(policy);
		check_plan(policy);
	}
	rf_policy_free(policy);
	return 0;
}
