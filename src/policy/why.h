/*
 * "May it do X?": the verdict of a plan on one question, the rule that made it, and what to change.
 *
 * Answers are for the box as a whole, the file's own mode included, so that they agree with what
 * happens when it is tried.
 */
#ifndef RF_POLICY_WHY_H
#define RF_POLICY_WHY_H

#include "policy/plan.h"
#include "policy/view.h"

enum rf_why_verdict {
	RF_WHY_NO,
	RF_WHY_YES,
	RF_WHY_DEPENDS, /* on what only the running box knows; the reason says on what */
};

struct rf_why {
	const struct rf_place *place; /* what the rule put there, or NULL */
	const char *element;          /* of the list that the rule is, or NULL; the plan's */
	enum rf_why_verdict verdict;
	char rule[64];                    /* "files.read", "network.link", "default" ... */
	char reason[RF_FILES_PATH + 256]; /* a sentence without its full stop */
	char flag[RF_FILES_PATH + 64];    /* the option that would change a NO, or "" */
	char line[RF_FILES_PATH + 64];    /* the same in a policy, or "" */
};

/* Paths are absolute, in the box. */
void rf_why_read(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		 struct rf_why *ret_why);
void rf_why_write(const struct rf_plan *plan, const struct rf_view_host *host, const char *path,
		  struct rf_why *ret_why);

/* `program` is a path with a slash, or a name to be found on the box's PATH. */
void rf_why_exec(const struct rf_plan *plan, const struct rf_view_host *host, const char *program,
		 struct rf_why *ret_why);

/*
 * Whether it may connect, with a port of 0 to any port; whether it may speak something else there than HTTP and TLS; whether a
 * request may be made; and unix sockets (why-net.c).
 */
void rf_why_connect(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		    struct rf_why *ret_why);
void rf_why_raw(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		struct rf_why *ret_why);
void rf_why_request(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		    bool is_tls, const char *method, const struct rf_url_path *path,
		    struct rf_why *ret_why);
void rf_why_unix(const struct rf_plan *plan, struct rf_why *ret_why);

/* Whether the box has a variable of this name. */
void rf_why_env(const struct rf_plan *plan, const char *name, struct rf_why *ret_why);

/* An answer without a change to offer. */
void rf_why_answer(struct rf_why *why, enum rf_why_verdict verdict, const char *rule,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* "yes", "no" or "depends". */
const char *rf_why_word(enum rf_why_verdict verdict);

#endif
