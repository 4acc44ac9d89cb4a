/*
 * The values of credentials, and what stands for them inside.
 *
 * A credential's value is read here, by the caller's own process, and is known afterwards to this process and to the gateway that adds it to
 * requests: it is in no plan, in no errand, in no record and not in the box.  A variable that it was read from is taken out of the
 * environment that the plan sees; in its place RF_PLAN_STAND_IN says what the plan puts into the variable inside: a placeholder of the same form,
 * so that programs which look at a token before they use it go on.  A program of ours does that to its own environment (rf_purse_hide()); in
 * somebody else's process that environment is not ours to change, and a copy is made (rf_purse_environment()).
 */
#ifndef RF_EGRESS_PURSE_H
#define RF_EGRESS_PURSE_H

#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"
#include "policy/net.h"

struct rf_purse_item {
	const char *name;
	char *value; /* with a NUL behind it; in memory that is not swapped and in no core file */
	char *placeholder; /* the same */
};

struct rf_purse {
	const struct rf_net *net; /* what it was filled from, borrowed; or NULL */
	struct rf_purse_item items[RF_MAX_CREDENTIALS];
	size_t count;
	char *memory;
	size_t size, used;
};

/* Reads the values of all credentials of `net` (borrows, for as long as the purse lives).  To be ended in any case. */
int rf_purse_fill(struct rf_purse *purse, const struct rf_net *net, struct rf_err *err);
void rf_purse_done(struct rf_purse *purse);

/* Wipes the variables that values were read from out of this process, and puts stand-ins there. */
int rf_purse_hide(const struct rf_purse *purse, struct rf_err *err);

/* A copy of `env` (NULL-ended, "K=V") with the same done to it.  Gives `*ret_env`. */
int rf_purse_environment(const struct rf_purse *purse, char *const *env, char ***ret_env,
			 struct rf_err *err);
void rf_purse_free_environment(char **env);

/* Refuses an environment for a box (NULL-ended, "K=V") in which a value stands all the same. */
int rf_purse_check(const struct rf_purse *purse, char *const *env, struct rf_err *err);

/* Writes what stands for `value` to `text`, which has room for RF_PURSE_ROOM(strlen(value)) bytes. */
#define RF_PURSE_SHORTEST  20
#define RF_PURSE_ROOM(len) ((len) + RF_PURSE_SHORTEST + 1)
int rf_purse_placeholder(const char *value, char *text, struct rf_err *err);

#endif
