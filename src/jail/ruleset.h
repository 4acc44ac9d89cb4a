/*
 * A ruleset: a system call profile of Docker's or the OCI runtime's format, read and checked.
 *
 * Pure, but for rf_ruleset_load().  It comes on top of the table of calls and never in its place:
 * what either refuses is refused, so a profile can only make a box tighter.  A box has no
 * capabilities, so rules that Docker would add for one do not count.
 *
 * What a call meets: of all rules that fit its arguments, the strictest (kill, trap, errno, log,
 * allow; of two errnos the first in the text); without any, the default action.  Docker's library
 * drops what an unconditional rule covers, whatever it says; where that would differ, the profile
 * contradicts itself and is refused, unless one of the rules counts only where there is no capability
 * or the like: its author did not see both together, and the strictest holds.
 */
#ifndef RF_JAIL_RULESET_H
#define RF_JAIL_RULESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jail/calls.h"

#define RF_RULESET_ARGS 6 /* arguments that a call has */

enum rf_ruleset_op {
	RF_RULESET_NE,
	RF_RULESET_LT,
	RF_RULESET_LE,
	RF_RULESET_EQ,
	RF_RULESET_GE,
	RF_RULESET_GT,
	RF_RULESET_MASKED_EQ, /* argument & value == two */
};

/* A comparison of one argument, all 64 bits of it. */
struct rf_ruleset_cond {
	uint32_t arg;
	enum rf_ruleset_op op;
	uint64_t value, two;
};

struct rf_ruleset_rule {
	int nr;
	uint32_t action; /* as a filter returns it: SECCOMP_RET_* with its data */
	uint32_t cond_count;
	const struct rf_ruleset_cond *conds; /* all must hold; by argument, each at most once */
	int line, column;                    /* of the call's name in the text */
	bool is_special;                     /* counts by `includes` or `excludes` */
};

struct rf_ruleset {
	char *path;                    /* of the file, or NULL */
	uint32_t fallback;             /* the default action */
	bool wants_log;                /* SECCOMP_FILTER_FLAG_LOG */
	struct rf_ruleset_rule *rules; /* by number, then the strictest first */
	size_t count, room;
	size_t first[RF_CALL_NUMBERS + 1]; /* index of a number's first rule */
	char unknown[200];                 /* names in allow rules that no kernel has, or "" */
	size_t unknown_count;
	size_t foreign_count;             /* names of other architectures: silently none of ours */
	struct rf_ruleset_memory *memory; /* of the conditions */
};

/* What a profile may ask about the machine. */
struct rf_ruleset_facts {
	unsigned kernel_major, kernel_minor;
};

/*
 * Reads a profile from `len` bytes of JSON (borrows) and checks it: contradictions and a program
 * that pid 1 could not live under are errors, too.  On success gives `*ret_ruleset`.  On failure
 * err->line and err->column say where.
 */
int rf_ruleset_parse(const char *text, size_t len, const struct rf_ruleset_facts *facts,
		     struct rf_ruleset **ret_ruleset, struct rf_err *err);

/* Reads a file of at most RF_MAX_JSON_READ bytes as the caller; errors begin with its place. */
int rf_ruleset_load(const char *path, struct rf_ruleset **ret_ruleset, struct rf_err *err);
void rf_ruleset_free(struct rf_ruleset *ruleset);

/* Refuses a profile under which pid 1 of such a box could not live. */
int rf_ruleset_check(const struct rf_ruleset *ruleset, bool is_lesser, bool has_terminal,
		     struct rf_err *err);

/* The rules of one number, strictest first; `nr` may be any. */
const struct rf_ruleset_rule *rf_ruleset_rules(const struct rf_ruleset *ruleset, int nr,
					       size_t *ret_count);

/* True if arguments do not matter to the fate of `nr`; gives it. */
bool rf_ruleset_is_plain(const struct rf_ruleset *ruleset, int nr, uint32_t *ret_action);

/* True if the comparison holds for an argument of this value. */
bool rf_ruleset_holds(const struct rf_ruleset_cond *cond, uint64_t arg);

/* True if the call is made: allowed, or allowed and logged. */
bool rf_ruleset_lets(uint32_t action);

/* How strict an action is; the smaller, the stricter, as the kernel orders them. */
int rf_ruleset_rank(uint32_t action);

/* An action for people: "allowed", "EPERM", "errno 1234", "kills the process" ... */
void rf_ruleset_spell(uint32_t action, char *text, size_t size);

/* The parts of rf_ruleset_parse(); internal. */
int rf_ruleset_read(struct rf_ruleset *ruleset, const char *text, size_t len,
		    const struct rf_ruleset_facts *facts, struct rf_err *err);
int rf_ruleset_add(struct rf_ruleset *ruleset, const struct rf_ruleset_rule *rule,
		   struct rf_err *err);
struct rf_ruleset_cond *rf_ruleset_conds(struct rf_ruleset *ruleset, size_t count);

#endif
