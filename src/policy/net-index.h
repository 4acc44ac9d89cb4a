/*
 * Where to look for the rules that can match: by a host's labels from the right, by an address's bits, by a path's first
 * parts.
 *
 * A box may have thousands of rules, and each request asks.  A rule is found under a hash of the host that it names, and
 * within that under one of the part of its path that has no star; a request looks under each end of its own host and
 * each beginning of its path.  A hash only leads to candidates: whether one matches, the rule itself says.  Internal to
 * src/policy.
 */
#ifndef RF_POLICY_NET_INDEX_H
#define RF_POLICY_NET_INDEX_H

#include "policy/arena.h"
#include "policy/net.h"

#define RF_NET_DEPTH 16 /* parts of a path that are looked at */

/* A run of rules that share a hash. */
struct rf_net_run {
	uint64_t hash;
	uint32_t first, count;
};

/* Hash tables of runs, open and at most half full; a run without rules is an empty place. */
struct rf_net_runs {
	struct rf_net_run *runs;
	uint64_t mask;
	const struct rf_net_rule **rules; /* that the runs are of */
};

struct rf_net_index {
	struct rf_net_runs
		hosts; /* by host: what allows or denies it as a whole, without repeats */
	struct rf_net_runs inside; /* by host: what is about its requests, the same */
	struct rf_net_runs paths;  /* by host and beginning of the path: all */
	uint32_t depths; /* bits: how many parts such beginnings have; the last one: whole paths */
	uint8_t widths[129]; /* bits of addresses that rules have, the most first */
	uint8_t width_count;
};

#define RF_NET_WHOLE RF_NET_DEPTH /* the bit of whole paths in `depths` */

/* The hashes that a host is looked for under: each of its ends, and of every name. */
struct rf_net_trail {
	uint64_t hashes[130];
	unsigned count;
};

/* Gives an index of the rules, in `arena`; NULL when memory is gone. */
const struct rf_net_index *rf_net_index_make(struct rf_arena *arena, const struct rf_net *net);

void rf_net_index_trail(const struct rf_net_index *index, const struct rf_host *host,
			struct rf_net_trail *trail);

/* The rules under a hash, possibly none. */
struct rf_net_run rf_net_index_find(const struct rf_net_runs *runs, uint64_t hash);

/* The hashes of the beginnings of a path that rules have; `with` joins one with a host's. */
unsigned rf_net_index_path(const struct rf_net_index *index, struct rf_span path,
			   uint64_t hashes[RF_NET_DEPTH + 2]);
uint64_t rf_net_index_with(uint64_t host, uint64_t path);

#endif
