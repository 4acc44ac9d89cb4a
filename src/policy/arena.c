/* Memory that is freed all at once: see arena.h. */
#include "policy/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 16384 /* holds an ordinary plan's strings in one or two */

struct rf_arena_block {
	struct rf_arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

#define READY 2

/*
 * The first blocks of a process: a command makes a policy and a plan and ends, and would spend more on
 * getting the memory from the kernel than on filling it.  Of whichever thread takes them first.
 */
static _Alignas(max_align_t) char ready[READY][sizeof(struct rf_arena_block) + BLOCK];
static bool is_taken[READY];

struct rf_arena *rf_arena_new(void)
{
	return calloc(1, sizeof(struct rf_arena));
}

static struct rf_arena_block *take_ready(void)
{
	for (size_t i = 0; i < READY; i++)
		if (!__atomic_exchange_n(&is_taken[i], true, __ATOMIC_ACQUIRE))
			return (struct rf_arena_block *)ready[i];
	return NULL;
}

static void release(struct rf_arena_block *block)
{
	for (size_t i = 0; i < READY; i++)
		if ((char *)block == ready[i]) {
			__atomic_store_n(&is_taken[i], false, __ATOMIC_RELEASE);
			return;
		}
	free(block);
}

void rf_arena_free(struct rf_arena *arena)
{
	if (!arena)
		return;
	while (arena->blocks) {
		struct rf_arena_block *block = arena->blocks;

		arena->blocks = block->next;
		release(block);
	}
	free(arena);
}

void rf_arena_reset(struct rf_arena *arena)
{
	struct rf_arena_block *kept = NULL;

	while (arena->blocks) {
		struct rf_arena_block *block = arena->blocks;

		arena->blocks = block->next;
		if (kept || block->size != BLOCK) {
			release(block);
			continue;
		}
		block->used = 0;
		block->next = NULL;
		kept = block;
	}
	arena->blocks = kept;
	arena->has_failed = false;
}

static struct rf_arena_block *grow(struct rf_arena *arena, size_t size)
{
	size_t room = size > BLOCK ? size : BLOCK;
	struct rf_arena_block *block = NULL;

	if (room == BLOCK)
		block = take_ready();
	if (!block && room <= SIZE_MAX - sizeof(*block))
		block = malloc(sizeof(*block) + room);
	if (!block) {
		arena->has_failed = true;
		return NULL;
	}
	block->size = room;
	block->used = 0;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

void *rf_arena_alloc(struct rf_arena *arena, size_t size)
{
	struct rf_arena_block *block = arena->blocks;
	size_t align = _Alignof(max_align_t);
	void *data;

	if (size > SIZE_MAX - align) {
		arena->has_failed = true;
		return NULL;
	}
	size = (size + align - 1) / align * align;
	if (!block || block->size - block->used < size)
		block = grow(arena, size);
	if (!block)
		return NULL;
	data = block->data + block->used;
	block->used += size;
	return memset(data, 0, size); /* and no page of a block is touched before it is used */
}

char *rf_arena_copy(struct rf_arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = rf_arena_alloc(arena, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *rf_arena_printf(struct rf_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	char *text = NULL;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len >= 0)
		text = rf_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}
