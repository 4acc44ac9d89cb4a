/*
 * Breakers that are not the watcher's own: of hosts, and of credentials whose budget is spent, each in the gateway of one box.
 *
 * Gateways keep them, and tell of each change.  What is known of them here is for people to look at, and goes with its box: a
 * host that one box could not reach says nothing about another's.  Bounded, for each box and for all: the oldest makes room.  Pure.
 */
#ifndef RF_WATCH_ABROAD_H
#define RF_WATCH_ABROAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "watch/breaker.h"

#define RF_ABROAD_MOST 512
#define RF_ABROAD_EACH 32 /* of one box */
#define RF_ABROAD_BOX  33

struct rf_abroad_row {
	enum rf_table_kind kind;
	enum rf_breaker_state state; /* never closed: what is well again has no row */
	char name[RF_TABLE_NAME], box[RF_ABROAD_BOX], reason[RF_BREAKER_REASON];
	uint64_t until_ms; /* since 1970; 0: not known */
};

struct rf_abroad {
	struct rf_abroad_row rows[RF_ABROAD_MOST]; /* the oldest first */
	size_t count;
};

/* A breaker.change that names a box; anything else is left alone.  True if one has just opened: `*ret_kind` says of what. */
bool rf_abroad_hear(struct rf_abroad *abroad, const struct rf_audit_event *event,
		    enum rf_table_kind *ret_kind);

/* The box is over. */
void rf_abroad_leave(struct rf_abroad *abroad, const char *box);

/* True if there is one of that name; a host is found without its port, too. */
bool rf_abroad_has(const struct rf_abroad *abroad, enum rf_table_kind kind, const char *name);

#endif
