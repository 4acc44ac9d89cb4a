/*
 * A policy: what an operator allows, read from text and flags and checked as a whole.
 *
 * Pure: nothing here makes a system call, so each decision is a value that a test can hold.  Every
 * key has a row in one table (policy/key.c) that names its type, its place in the struct, its
 * default by command, and how `merge` and `meet` treat it.
 */
#ifndef RF_POLICY_POLICY_H
#define RF_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/limit.h"

/* What the keys can say. */
/* clang-format off */
enum rf_isolation { RF_ISOLATION_AUTO, RF_ISOLATION_PROCESS };
enum rf_weaker    { RF_WEAKER_REFUSE, RF_WEAKER_ALLOW };
enum rf_require   { RF_REQUIRE_ANY, RF_REQUIRE_HARD };      /* of every limit's grade */
enum rf_link      { RF_LINK_NONE, RF_LINK_GATEWAY, RF_LINK_HOST }; /* what the box's network leads to */
enum rf_switch    { RF_SWITCH_OFF, RF_SWITCH_ON };
enum rf_current   { RF_CURRENT_NONE, RF_CURRENT_READ };     /* the caller's working directory */
enum rf_credentials { RF_CREDENTIALS_HIDE, RF_CREDENTIALS_SHOW }; /* well-known files of keys and tokens */
enum rf_xattrs    { RF_XATTRS_REFUSE, RF_XATTRS_KEEP }; /* extended ones, in the host's trees */
enum rf_counts    { RF_COUNTS_LIMITS, RF_COUNTS_FAILURES };  /* what an agent's breaker takes for a failure */
enum rf_syscalls  { RF_SYSCALLS_FLOOR = 1, RF_SYSCALLS_DEFAULT, RF_SYSCALLS_STRICT }; /* by strictness */
enum rf_recorded  { RF_RECORDED_NOT, RF_RECORDED_AUTO, RF_RECORDED_ALWAYS }; /* by a watcher; by strictness */
/* Whose defaults apply: a run, a run with a terminal, a shell. */
enum rf_command   { RF_COMMAND_RUN, RF_COMMAND_TERMINAL, RF_COMMAND_SHELL, RF_COMMAND_COUNT };
/* clang-format on */

struct rf_policy;

/* The defaults of a command.  Gives; NULL only when memory is gone. */
struct rf_policy *rf_policy_new(enum rf_command command);
void rf_policy_free(struct rf_policy *policy);

/*
 * Reads YAML or JSON from `len` bytes of `text` (borrows).  Relative paths count from `folder`
 * (absolute), `~` is `home`.  On success gives `*ret_policy`, which holds only the keys that the
 * text set.  On failure err->line and err->column say where and err->hint what was meant.
 * `extends` is kept as names, for policy/chain.h to follow; no plan is made while it is there.
 */
int rf_policy_parse(const char *text, size_t len, const char *folder, const char *home,
		    struct rf_policy **ret_policy, struct rf_err *err);

/* A built-in profile by name ("python", "strict") with all that it extends. */
int rf_policy_profile(const char *name, struct rf_policy **ret_policy, struct rf_err *err);

/*
 * Sets one key ("limits.memory") from a flag's text; lists and maps (`files.read`, `env.set` as
 * "K=V") gain one element.  A flag is a source of its own: keep flags in one policy made by
 * rf_policy_new_empty() and merge it last.
 */
struct rf_policy *rf_policy_new_empty(void);
int rf_policy_set(struct rf_policy *policy, const char *key, const char *text, const char *folder,
		  const char *home, struct rf_err *err);

/*
 * Joins one operator's own sources, `over` after `base`: the last scalar wins, lists unite.  A key
 * that `base` marked final and `over` sets otherwise is an error.  Changes `base`, borrows `over`.
 */
int rf_policy_merge(struct rf_policy *base, const struct rf_policy *over, struct rf_err *err);

/*
 * Bounds what someone else asks for: lists intersect, limits take the smaller, the stricter of
 * every choice wins.  The result allows nothing that either side does not.  Gives `*ret_policy`.
 */
int rf_policy_meet(const struct rf_policy *ceiling, const struct rf_policy *request,
		   struct rf_policy **ret_policy, struct rf_err *err);

/* The path of the `i`th system call profile that the policy names, or NULL. */
const char *rf_policy_filter(const struct rf_policy *policy, size_t i);

/* The name of the `i`th element of a list ("files.read": its source on the host), or NULL. */
const char *rf_policy_item(const struct rf_policy *policy, const char *key, size_t i);

/* The same of files with roots (`network.roots`). */
const char *rf_policy_root(const struct rf_policy *policy, size_t i);

/*
 * Where a policy sets `key`, or puts the element `name` with `value` (or NULL) on that list: a line of
 * its text, 0 if it did not come from a text, or -1 if it does neither.
 */
int rf_policy_line(const struct rf_policy *policy, const char *key, const char *name,
		   const char *value);

/* True if `key` may only be made stricter by later sources. */
bool rf_policy_is_final(const struct rf_policy *policy, const char *key);

/* Writes the policy as YAML that parses back to the same policy. */
struct rf_buf;
void rf_policy_format(const struct rf_policy *policy, struct rf_buf *out);

/*
 * The same for a record that others read: what variables are set to may be secret, so `env.set` is a comment with
 * their names, behind these words.
 */
#define RF_POLICY_TOLD_VARS "# env.set, without its values: "
void rf_policy_format_told(const struct rf_policy *policy, struct rf_buf *out);

/* The same of what a gateway has to know: `network` and `credentials`. */
void rf_policy_format_net(const struct rf_policy *policy, struct rf_buf *out);

/* The same as a JSON object; `name` is that of the member it becomes, or NULL. */
struct rf_json;
void rf_policy_json(const struct rf_policy *policy, const char *name, struct rf_json *json);

#endif
