/*
 * Memory of requests: see forward-inside.h.
 *
 * Each needs room for the fields of two heads and an arena, more than malloc keeps at hand; that of requests which are over is given to the next ones,
 * with nothing of the former in it.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/forward-inside.h"

#define SPARES 32 /* requests whose memory is kept */

struct rf_forward *rf_forward_alloc(struct rf_gateway *gateway)
{
	struct rf_forward *f = gateway->spares;
	struct rf_arena *arena;

	if (f) {
		gateway->spares = f->next;
		gateway->spare_count--;
		arena = f->request.arena;
	} else {
		f = malloc(sizeof(*f));
		arena = f ? rf_arena_new() : NULL;
	}
	if (f) {
		memset(f, 0, offsetof(struct rf_forward, request_fields));
		f->request.arena = f->answer.arena = arena;
	}
	return f;
}

void rf_forward_release(struct rf_gateway *gateway, struct rf_forward *f)
{
	if (gateway->spare_count == SPARES || !f->request.arena) {
		rf_arena_free(f->request.arena);
		free(f);
		return;
	}
	rf_arena_reset(f->request.arena);
	f->next = gateway->spares;
	gateway->spares = f;
	gateway->spare_count++;
}

void rf_forward_free_spares(struct rf_gateway *gateway)
{
	while (gateway->spares) {
		struct rf_forward *f = gateway->spares;

		gateway->spares = f->next;
		rf_arena_free(f->request.arena);
		free(f);
	}
	gateway->spare_count = 0;
}
