/*
 * The boxes that live: what they are, what they use, and a hand on each.
 *
 * One is known from the event that it is about to start, and seen from when its launcher shows it: then the
 * watcher holds its pid 1 by a pidfd and looks every so often.  It can be frozen, thawed and killed, by its
 * id or the begin of it; each is an event that says who wanted it.  Who killed a box is kept until its
 * launcher has told of the end, and told to it.
 *
 * At each look a box is held against the alarms of its policy; each is sounded once, and what the policy wants is
 * done.
 *
 * A frozen box's time goes on: its launcher ends it at its limit.
 */
#ifndef RF_WATCH_LIVE_H
#define RF_WATCH_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/event.h"
#include "audit/sight.h"
#include "base/buf.h"
#include "base/err.h"

struct rf_live_options {
	uint64_t key[2];                                              /* random */
	size_t most;                                                  /* boxes at one time */
	void (*note)(void *data, const struct rf_audit_event *event); /* to be recorded */
	/* The state of an agent's breaker, and why it is so; NULL if it has none. */
	const char *(*breaker)(void *data, const char *agent, const char **ret_reason);
	/* Opens the breaker of that agent, for which the box runs. */
	void (*trip)(void *data, const char *box, const char *agent, const char *reason);
	void *data;
};

struct rf_live;

/* Gives; NULL when memory is gone. */
struct rf_live *rf_live_new(const struct rf_live_options *options);
void rf_live_free(struct rf_live *live);

/* Something was recorded. */
void rf_live_event(struct rf_live *live, const struct rf_audit_event *event);

/* `launcher` shows a box that it told of, by a pidfd of its pid 1, and a hand on its network or -1 (both taken on success). */
int rf_live_show(struct rf_live *live, pid_t launcher, const struct rf_sight *sight, int *pidfd,
		 int *hand, struct rf_err *err);

/*
 * Answers words, as rf_steward_ask() does:
 *
 *   ps text|json                    all of them
 *   freeze|thaw|kill BOX REASON     acts; `user` with this process wanted it
 *   fate BOX                        "killed CPU_NS by ...", or "none"
 *   net-show BOX                    asks its gateway for the policy of its network: "asked N"
 *   net-change BOX REASON WHAT TEXT and to go by another; WHAT is it in a few words
 *   net-answer BOX N                what the gateway says; -EAGAIN: nothing yet
 */
int rf_live_ask(struct rf_live *live, pid_t asker, const char *const *words, size_t count,
		struct rf_buf *out, struct rf_err *err);

/* Looks at all of them.  Gives how many nanoseconds may pass until the next time; 0: until there is one. */
uint64_t rf_live_look(struct rf_live *live);

#endif
