/*
 * Circuit breakers: what keeps failing is left alone for a while.
 *
 * One engine for all of Ringfort.  A breaker is about one agent, host, tool or credential, and is in
 * one of three states:
 *
 *   closed     work passes; outcomes are remembered.  Opens when enough of them failed: so many in a
 *              row, or so great a part of the last few within a while.
 *   open       work is refused, with the reason and when to come back.  Half-open when that is due.
 *   half-open  one piece of work passes, as a probe.  If it goes well the breaker closes with a clean
 *              slate; if it fails the breaker is open again.
 *
 * Pure and deterministic: no system call, time is passed in (watch/clock.h), the same calls give the
 * same answers.  Each admission gives a ticket, and an outcome counts only for the time in which its
 * ticket was given: what was admitted before a breaker opened can't close it, and only the probe
 * speaks for the probe.
 *
 * Memory is bounded by `cap`.  Breakers are made as names appear, and names come from whoever is
 * watched: when there is no room the closed one goes that was not asked for the longest, first among
 * those without a failure.  One that is open never goes.  If all are open, a new name is refused: a
 * breaker that can't be kept is not taken for a closed one.
 */
#ifndef RF_WATCH_BREAKER_H
#define RF_WATCH_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "watch/clock.h"
#include "watch/table.h"

enum rf_breaker_state {
	RF_BREAKER_CLOSED,
	RF_BREAKER_OPEN,
	RF_BREAKER_HALF_OPEN,
	RF_BREAKER_STATES
};

/* When a breaker opens, and for how long. */
struct rf_breaker_rule {
	uint32_t failures;     /* in a row; 0: never for that */
	uint32_t rate_percent; /* failed among the last `of`; 0: never for that */
	uint32_t of;           /* 1 to RF_BREAKER_OF */
	uint64_t within_ms;    /* the last `of` count only if they are not older than this */
	uint64_t open_ms;
};

#define RF_BREAKER_OF     1000
#define RF_BREAKER_REASON 160 /* bytes of a reason, with its NUL */

enum rf_breaker_outcome {
	RF_BREAKER_WELL,
	RF_BREAKER_FAILED,
	RF_BREAKER_UNKNOWN, /* says nothing about it; a probe that ends so is tried again */
};

struct rf_breaker_answer {
	bool is_admitted;
	bool is_probe;
	uint64_t ticket;   /* of what was admitted: to be given back with its outcome */
	uint64_t retry_ms; /* of what was refused: from now; RF_CLOCK_NEVER: when reset */
	char reason[RF_BREAKER_REASON]; /* of what was refused */
};

/* A breaker as it looks from outside. */
struct rf_breaker_view {
	enum rf_table_kind kind;
	const char *name;
	enum rf_breaker_state state;
	const char *reason;                     /* why it is not closed, or "" */
	uint64_t retry_ms;                      /* 0: now */
	uint32_t streak;                        /* failures in a row */
	uint64_t well, failed, refused, opened; /* how often, since it is known */
};

/* Told of each change of state, from within the call that made it.  The view is borrowed. */
typedef void rf_breaker_changed(void *arg, const struct rf_breaker_view *view,
				enum rf_breaker_state before);

struct rf_breaker_options {
	size_t cap;                  /* breakers at one time */
	uint64_t key[2];             /* random, for the table */
	rf_breaker_changed *changed; /* or NULL */
	void *arg;
};

struct rf_breaker_set;

/* Gives; NULL when memory is gone. */
struct rf_breaker_set *rf_breaker_new(const struct rf_breaker_options *options);
void rf_breaker_free(struct rf_breaker_set *set);

/* "closed" and so on. */
const char *rf_breaker_state_name(enum rf_breaker_state state);

/* Asks whether work may begin.  A name that rf_table_takes() not is refused. */
void rf_breaker_admit(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		      uint64_t mono_ms, struct rf_breaker_answer *ret_answer);

/*
 * Says how work ended that was admitted with `ticket`, or, with ticket 0, how something ended for
 * which nobody asked; that counts while the breaker is closed.
 */
void rf_breaker_record(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		       const struct rf_breaker_rule *rule, uint64_t ticket,
		       enum rf_breaker_outcome outcome, uint64_t mono_ms);

/*
 * Opens a breaker, whatever its state, for `open_ms` (RF_CLOCK_NEVER: until it is reset).  One that
 * is open stays so at least as long as before.  Returns 0, -EINVAL for a name that can't be one,
 * -ENOSPC or -ENOMEM.
 */
int rf_breaker_trip(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		    const char *reason, uint64_t open_ms, uint64_t mono_ms);

/* Closes a breaker and forgets what it had against its owner.  Returns 0, or -ENOENT. */
int rf_breaker_reset(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		     uint64_t mono_ms);

/* How one looks now.  False if there is none, which is as good as closed. */
bool rf_breaker_look(struct rf_breaker_set *set, enum rf_table_kind kind, const char *name,
		     uint64_t mono_ms, struct rf_breaker_view *ret_view);

/* Visits all of them, in no order that means anything. */
typedef void rf_breaker_visit(void *arg, const struct rf_breaker_view *view);
void rf_breaker_each(struct rf_breaker_set *set, uint64_t mono_ms, rf_breaker_visit *visit,
		     void *arg);

/* How many there are, and how many closed ones with a failure had to go for want of room. */
size_t rf_breaker_count(const struct rf_breaker_set *set);
uint64_t rf_breaker_lost(const struct rf_breaker_set *set);

/*
 * The state for a successor: `boot` names the boot that the clock belongs to.  Those that are not
 * closed come first; closed ones follow as far as the buffer has room, those with failures before
 * the others.
 *
 * Unpacking fills a set that is empty, or fails with -EBADMSG (what it says can't be) or -ENOMEM and
 * leaves it empty.  A probe that was under way is forgotten, and another one may be made: who waited
 * for the first was waiting for a process that is gone.
 */
void rf_breaker_pack(const struct rf_breaker_set *set, const char *boot, struct rf_buf *out);
int rf_breaker_unpack(struct rf_breaker_set *set, const char *boot, uint64_t mono_ms,
		      const void *data, size_t len, struct rf_err *err);

/* How many agents are kept in mind whose names begin with the first `len` bytes of `prefix`, and whether this one is. */
size_t rf_breaker_agents(const struct rf_breaker_set *set, const char *prefix, size_t len);
bool rf_breaker_knows(const struct rf_breaker_set *set, const char *agent);

#endif
