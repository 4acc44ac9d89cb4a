/*
 * Memory that is freed all at once.
 *
 * A plan is hundreds of small strings that live exactly as long as the plan, so they share one
 * owner.  Once memory is gone the arena is marked failed and gives NULL; a writer checks once, at the
 * end.
 */
#ifndef RF_POLICY_ARENA_H
#define RF_POLICY_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct rf_arena_block;

struct rf_arena {
	struct rf_arena_block *blocks; /* the newest first */
	bool has_failed;
};

/* Gives; NULL only when memory is gone. */
struct rf_arena *rf_arena_new(void);
void rf_arena_free(struct rf_arena *arena);

/* As new, with nothing of what was in it; keeps some memory for the next use. */
void rf_arena_reset(struct rf_arena *arena);

/* Zeroed, aligned for anything, alive until rf_arena_free(). */
void *rf_arena_alloc(struct rf_arena *arena, size_t size);
char *rf_arena_copy(struct rf_arena *arena, const char *text);
char *rf_arena_printf(struct rf_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
