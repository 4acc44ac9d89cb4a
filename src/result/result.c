/* The result of a run: see result.h. */
#include "result/result.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "policy/arena.h"

/* clang-format off */
static const char *const statuses[] = {
	[RF_STATUS_OK]      = "ok",
	[RF_STATUS_FAILED]  = "failed",
	[RF_STATUS_TIMEOUT] = "timeout",
	[RF_STATUS_CPU]     = "cpu",
	[RF_STATUS_MEMORY]  = "memory",
	[RF_STATUS_PIDS]    = "pids",
	[RF_STATUS_DISK]    = "disk",
	[RF_STATUS_OUTPUT]  = "output",
	[RF_STATUS_KILLED]  = "killed",
	[RF_STATUS_DENIED]  = "denied",
	[RF_STATUS_ERROR]   = "error",
};
static const char *const grades[] = {
	[RF_GRADE_NONE]    = "none",
	[RF_GRADE_RLIMIT]  = "rlimit",
	[RF_GRADE_SAMPLED] = "sampled",
	[RF_GRADE_HARD]    = "hard",
};
/* The walls of a full box and of a lesser one: the names of the tables in jail/wall.c. */
static const char *const walls[2][RF_RESULT_WALLS] = {
	{ "cgroup", "namespaces", "mounts", "network", "limits", "identity", "landlock", "seccomp" },
	{ "cgroup", "uid", "lesser", "limits", "identity", "landlock", "seccomp" },
};
/* clang-format on */

_Static_assert(RF_LEN(statuses) == RF_STATUS_COUNT, "every status has a name");

const char *rf_result_status(enum rf_status status)
{
	return statuses[status];
}

const char *rf_result_grade(enum rf_grade grade)
{
	return grades[grade];
}

const char *rf_result_wall(bool is_lesser, size_t i)
{
	return i < RF_RESULT_WALLS ? walls[is_lesser][i] : NULL;
}

void rf_result_init(struct rf_result *result, const struct rf_plan *plan)
{
	*result = (struct rf_result){ .exit_code = -1 };
	for (int i = 0; i < 2; i++)
		rf_buf_init(&result->output[i], RF_MAX_CAPTURE);
	memset(&result->usage, 0xff, sizeof(result->usage));
	result->asked = plan ? plan->isolation : RF_ISOLATION_AUTO;
	for (char *const *note = plan ? plan->notes : NULL; note && *note; note++)
		rf_result_warn(result, "%s", *note);
}

void rf_result_done(struct rf_result *result)
{
	for (int i = 0; i < 2; i++)
		rf_buf_done(&result->output[i]);
	free(result->masked);
	free(result->planted);
	free(result->workspace.changes);
	free(result->denials);
	rf_arena_free(result->memory);
}

void rf_result_warn(struct rf_result *result, const char *fmt, ...)
{
	va_list args;

	if (result->warning_count == RF_RESULT_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(result->warnings[result->warning_count++], sizeof(result->warnings[0]), fmt,
		  args);
	va_end(args);
}

/* ------------------------------------------------------------- lists */

/* Room for one more row, zeroed; or NULL.  It counts once its strings are there. */
static void *next_row(struct rf_result *result, void *rows, size_t count, size_t size)
{
	void **list = rows;
	char *grown;

	if (!result->memory)
		result->memory = rf_arena_new();
	if (!result->memory)
		return NULL;
	if (count == 0 || (count >= 8 && (count & (count - 1)) == 0)) { /* full */
		grown = reallocarray(*list, count ? 2 * count : 8, size);
		if (!grown)
			return NULL;
		*list = grown;
	}
	return memset((char *)*list + count * size, 0, size);
}

bool rf_result_add_masked(struct rf_result *result, const char *path, size_t rest, const char *rule)
{
	struct rf_result_masked *row =
		next_row(result, &result->masked, result->masked_count, sizeof(*row));

	if (!row)
		return false;
	row->path = rf_arena_copy(result->memory, path);
	row->rule = rf_arena_copy(result->memory, rule);
	row->rest = rest;
	if (!row->path || !row->rule)
		return false;
	result->masked_count++;
	return true;
}

bool rf_result_add_planted(struct rf_result *result, const char *path, const char *what,
			   bool is_new)
{
	struct rf_result_planted *row =
		next_row(result, &result->planted, result->planted_count, sizeof(*row));

	if (!row)
		return false;
	row->path = rf_arena_copy(result->memory, path);
	row->what = rf_arena_copy(result->memory, what);
	row->is_new = is_new;
	if (!row->path || !row->what)
		return false;
	result->planted_count++;
	return true;
}

bool rf_result_add_change(struct rf_result *result, const char *path, const char *kind,
			  const char *protects)
{
	struct rf_result_change *row = next_row(result, &result->workspace.changes,
						result->workspace.change_count, sizeof(*row));

	if (!row)
		return false;
	row->path = rf_arena_copy(result->memory, path);
	row->kind = rf_arena_copy(result->memory, kind);
	row->protects = protects ? rf_arena_copy(result->memory, protects) : NULL;
	if (!row->path || !row->kind || (protects && !row->protects))
		return false;
	result->workspace.change_count++;
	return true;
}

bool rf_result_add_denial(struct rf_result *result, const char *kind, const char *what,
			  const char *rule, const char *remedy)
{
	struct rf_result_denial *row =
		next_row(result, &result->denials, result->denial_count, sizeof(*row));

	if (!row)
		return false;
	row->kind = rf_arena_copy(result->memory, kind);
	row->what = rf_arena_copy(result->memory, what);
	row->rule = rf_arena_copy(result->memory, rule);
	row->remedy = rf_arena_copy(result->memory, remedy);
	if (!row->kind || !row->what || !row->rule || !row->remedy)
		return false;
	result->denial_count++;
	return true;
}

void rf_result_fail(struct rf_result *result, enum rf_status status, int code,
		    const struct rf_err *err)
{
	result->status = status;
	result->code = code;
	if (err != &result->error)
		result->error = *err;
}

/* ------------------------------------------------------------- for people */

/* A row of the statistics; its label stands in a column of its own. */
static void put_stat(struct rf_style style, const char *label, struct rf_buf *out)
{
	rf_buf_puts(out, "  ");
	rf_style_put(style, RF_STYLE_NAME, label, 9, out);
}

static void put_size(struct rf_style style, const char *label, uint64_t bytes, struct rf_buf *out)
{
	if (bytes == UINT64_MAX)
		return;
	put_stat(style, label, out);
	rf_buf_printf(out, "%.1f MiB\n", (double)bytes / (1024 * 1024));
}

static void put_times(struct rf_style style, const struct rf_result *result, struct rf_buf *out)
{
	if (result->usage.wall_ns != UINT64_MAX) {
		put_stat(style, "time", out);
		rf_buf_printf(out, "%.1f ms", (double)result->usage.wall_ns / 1e6);
		if (result->usage.start_ns != UINT64_MAX)
			rf_buf_printf(out, " (box ready after %.1f ms)",
				      (double)result->usage.start_ns / 1e6);
		rf_buf_puts(out, "\n");
	}
	if (result->usage.cpu_ns != UINT64_MAX) {
		put_stat(style, "cpu", out);
		rf_buf_printf(out, "%.1f ms\n", (double)result->usage.cpu_ns / 1e6);
	}
}

void rf_result_stats(const struct rf_result *result, struct rf_style style, struct rf_buf *out)
{
	bool is_well = result->status == RF_STATUS_OK;

	rf_buf_puts(out, "ringfort: ");
	rf_style_put(style, is_well ? RF_STYLE_GOOD : RF_STYLE_BAD, statuses[result->status], 0,
		     out);
	if (result->exit_code >= 0)
		rf_buf_printf(out, ", exit code %d", result->exit_code);
	if (result->signal)
		rf_buf_printf(out, ", signal %d (%s)", result->signal, strsignal(result->signal));
	rf_buf_puts(out, "\n");
	put_times(style, result, out);
	put_size(style, "memory", result->usage.memory_peak, out);
	put_size(style, "disk", result->usage.disk_bytes, out);
	if (result->usage.pids_peak != UINT64_MAX) {
		put_stat(style, "pids", out);
		rf_buf_printf(out, "%llu\n", (unsigned long long)result->usage.pids_peak);
	}
	for (uint32_t i = 0; i < result->walls.missing_count; i++) {
		put_stat(style, "missing", out);
		rf_buf_printf(out, "%s\n", result->walls.missing[i]);
	}
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct rf_result_denial *denial = &result->denials[i];

		put_stat(style, "refused", out);
		rf_buf_printf(out, "%s %s (%s)\n", denial->kind, denial->what, denial->rule);
	}
}
