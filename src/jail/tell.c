/* What a box has to tell: see tell.h. */
#include "jail/tell.h"

#include <string.h>

#include "jail/cgroup-limits.h"

_Static_assert(RF_BOX_MISSING_MAX <= RF_RESULT_MISSING && RF_BOX_WALLS_MAX <= RF_RESULT_WALLS,
	       "a result has room for what a box tells");

static void tell_walls(const struct rf_box *box, struct rf_result *result)
{
	const struct rf_box_shared *shared = box->shared;

	for (size_t i = 0; i < RF_BOX_WALLS_MAX; i++)
		result->walls.wall_ns[i] = box->outside_ns[i] + (shared ? shared->wall_ns[i] : 0);
	if (!shared)
		return;
	memcpy(result->walls.missing, shared->missing, sizeof(shared->missing));
	result->walls.missing_count = shared->missing_count;
	result->walls.landlock_abi = shared->landlock_abi;
	result->walls.is_lesser = shared->is_lesser;
}

/* What Ringfort hides of its own is of no interest to the caller. */
static void tell_hidden(const struct rf_hidden_list *hidden, struct rf_result *result)
{
	const struct rf_hidden *many = NULL, *target = NULL;
	size_t many_count = 0, target_count = 0;

	for (size_t i = 0; i < hidden->count; i++) {
		const struct rf_hidden *item = &hidden->items[i];

		if (strcmp(item->rule, "default") != 0)
			rf_result_add_masked(result, item->source, item->rest, item->rule);
		if (item->names > 1 && many_count++ == 0)
			many = item;
		if (item->is_target && target_count++ == 0)
			target = item;
	}
	if (many)
		rf_result_warn(result,
			       "%.120s is hidden and has %lu names; another one may be in sight%s",
			       many->source, (unsigned long)many->names,
			       many_count > 1 ? " (and other files like it)" : "");
	if (target)
		rf_result_warn(
			result, "%.120s is hidden because a link of a hidden name leads there%s",
			target->source, target_count > 1 ? " (and other files like it)" : "");
}

/* Where the caller's own groups give less than the plan, and the box does not lie in them. */
static void tell_groups(const struct rf_box *box, struct rf_result *result)
{
	const struct rf_cgroup_limits *passed = &box->cgroup.passed;
	const uint64_t *limits = box->plan->limits;

	if (passed->memory_bytes < limits[RF_LIMIT_MEMORY])
		rf_result_warn(result,
			       "limits.memory is %llu bytes here, as in the caller's control group",
			       (unsigned long long)passed->memory_bytes);
	if (passed->pids <= limits[RF_LIMIT_PIDS])
		rf_result_warn(result, "limits.pids is %llu here, as in the caller's control group",
			       (unsigned long long)(passed->pids ? passed->pids - 1 : 0));
	if (passed->cpu_us != UINT64_MAX &&
	    (limits[RF_LIMIT_CPU] == RF_LIMIT_NONE ||
	     passed->cpu_us < limits[RF_LIMIT_CPU] * RF_CGROUP_PERIOD / 100))
		rf_result_warn(result,
			       "limits.cpu is %llu%% here, as in the caller's control group",
			       (unsigned long long)(passed->cpu_us * 100 / RF_CGROUP_PERIOD));
}

void rf_tell_box(const struct rf_box *box, struct rf_result *result)
{
	memcpy(result->id, box->id, sizeof(result->id));
	tell_walls(box, result);
	tell_hidden(&box->hidden, result);
	tell_groups(box, result);
}

void rf_tell_denials(const struct rf_denials *denials, struct rf_result *result)
{
	for (size_t i = 0; denials && i < denials->count; i++) {
		const struct rf_denial *row = &denials->rows[i];

		if (!rf_result_add_denial(result, row->kind, row->what, row->rule, row->remedy))
			result->has_seen_denials = false;
	}
}
