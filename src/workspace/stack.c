/* A stack of layers: see stack.h. */
#include "workspace/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/pool.h"

int rf_stack_add(struct rf_stack *stack, int layer, uint64_t id, struct rf_err *err)
{
	size_t count = stack->count + 1;
	int *layers = realloc(stack->layers, count * sizeof(*layers));
	uint64_t *ids;

	stack->layers = layers ? layers : stack->layers;
	ids = realloc(stack->ids, count * sizeof(*ids));
	stack->ids = ids ? ids : stack->ids;
	if (!layers || !ids) {
		close(layer);
		return rf_fail(err, -ENOMEM, "open the layers");
	}
	layers[stack->count] = layer;
	ids[stack->count++] = id;
	return 0;
}

int rf_stack_add_named(struct rf_stack *stack, int pool, const char *name, struct rf_err *err)
{
	int layer = rf_pool_open_layer(pool, name);

	if (layer < 0)
		return rf_fail(err, layer, "open layer %s", name);
	return rf_stack_add(stack, layer, strtoull(name, NULL, 16), err);
}

/* The lock is the descriptor's that reads the layer, so that 500 of them take no second one each. */
int rf_stack_hold(const struct rf_stack *stack, struct rf_err *err)
{
	for (size_t i = 0; i < stack->count; i++)
		if (stack->ids[i] != RF_STACK_BASE && flock(stack->layers[i], LOCK_SH) < 0)
			return rf_fail(err, -errno, "hold the layers");
	return 0;
}

bool rf_stack_is_held(int layer)
{
	return flock(layer, LOCK_EX | LOCK_NB) < 0;
}

void rf_stack_done(struct rf_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		close(stack->layers[i]);
	free(stack->layers);
	free(stack->ids);
	*stack = (struct rf_stack){ 0 };
}
