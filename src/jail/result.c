/* The result of a run: see result.h. */
#include "jail/result.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "jail/wall.h"

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
	rf_hidden_done(&result->hidden);
	rf_planted_done(&result->planted);
	free(result->denials);
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

void rf_result_take_hidden(struct rf_result *result, struct rf_hidden_list *hidden)
{
	const struct rf_hidden *many = NULL, *target = NULL;
	size_t many_count = 0, target_count = 0;

	result->hidden = *hidden;
	*hidden = (struct rf_hidden_list){ 0 };
	for (size_t i = 0; i < result->hidden.count; i++) {
		const struct rf_hidden *item = &result->hidden.items[i];

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

void rf_result_fail(struct rf_result *result, enum rf_status status, int code,
		    const struct rf_err *err)
{
	result->status = status;
	result->code = code;
	if (err != &result->error)
		result->error = *err;
}

/* ------------------------------------------------------------- as JSON */

/* Text if it is UTF-8, base64 if not: every byte survives. */
static void put_output(struct rf_json *json, const char *name, const struct rf_buf *output)
{
	const char *data = output->data ? output->data : "";

	if (rf_json_is_utf8(data, output->len))
		rf_json_bytes(json, name, data, output->len);
	else
		rf_json_base64(json, name, data, output->len);
}

static const char *encoding_of(const struct rf_buf *output)
{
	return rf_json_is_utf8(output->data ? output->data : "", output->len) ? "utf-8" : "base64";
}

static void put_ms(struct rf_json *json, const char *name, uint64_t ns)
{
	if (ns == UINT64_MAX)
		rf_json_null(json, name);
	else
		rf_json_double(json, name, (double)ns / 1e6, 3);
}

static void put_count(struct rf_json *json, const char *name, uint64_t value)
{
	if (value == UINT64_MAX)
		rf_json_null(json, name);
	else
		rf_json_int(json, name, (int64_t)value);
}

static void put_usage(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_object(json, "usage");
	put_ms(json, "wall_ms", result->usage.wall_ns);
	put_ms(json, "cpu_ms", result->usage.cpu_ns);
	put_count(json, "memory_peak", result->usage.memory_peak);
	put_count(json, "pids_peak", result->usage.pids_peak);
	put_count(json, "disk", result->usage.disk_bytes);
	put_ms(json, "start_ms", result->usage.start_ns);
	rf_json_close_object(json);
}

static void put_proof(struct rf_json *json, const struct rf_result *result)
{
	static const char *const facts[] = RF_PROOF_NAMES, *const spaces[] = RF_NS_NAMES;

	rf_json_open_object(json, "proof");
	for (uint32_t i = 0; i < RF_PROOF_COUNT; i++)
		if (result->proven & 1u << i)
			rf_json_bool(json, facts[i], true);
	if (result->proven & 1u << RF_PROOF_NAMESPACES) {
		rf_json_open_object(json, "namespace_ids");
		for (int i = 0; i < RF_NS_COUNT; i++)
			rf_json_int(json, spaces[i], (int64_t)result->ns[i]);
		rf_json_close_object(json);
	}
	if (result->walls.landlock_abi)
		rf_json_int(json, "landlock_abi", result->walls.landlock_abi);
	rf_json_close_object(json);
}

static void put_isolation(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_object(json, "isolation");
	rf_json_string(json, "asked", result->asked == RF_ISOLATION_AUTO ? "auto" : "process");
	rf_json_string(json, "got",
		       !result->proven           ? "none"
		       : result->walls.is_lesser ? "landlock"
						 : "process");
	rf_json_open_array(json, "missing");
	for (uint32_t i = 0; i < result->walls.missing_count; i++)
		rf_json_string(json, NULL, result->walls.missing[i]);
	rf_json_close_array(json);
	rf_json_open_object(json, "limits");
	for (int i = 0; result->proven && i < RF_LIMIT_COUNT; i++)
		rf_json_string(json, rf_limit_table[i].key, grades[result->grades[i]]);
	rf_json_close_object(json);
	put_proof(json, result);
	rf_json_close_object(json);
}

static void put_walls(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_object(json, "walls_us");
	for (size_t i = 0; rf_wall_name(result->walls.is_lesser, i); i++)
		rf_json_double(json, rf_wall_name(result->walls.is_lesser, i),
			       (double)(result->walls.wall_ns[i] + result->outside_ns[i]) / 1e3, 1);
	rf_json_close_object(json);
}

static void put_error(struct rf_json *json, const struct rf_err *error)
{
	if (!error->code) {
		rf_json_null(json, "error");
		return;
	}
	rf_json_open_object(json, "error");
	rf_json_string(json, "code", rf_err_name(error->code));
	rf_json_string(json, "message", error->msg);
	rf_json_string(json, "remedy", error->hint[0] ? error->hint : NULL);
	if (error->line) {
		rf_json_open_object(json, "where");
		rf_json_int(json, "line", error->line);
		rf_json_int(json, "column", error->column);
		rf_json_close_object(json);
	} else {
		rf_json_null(json, "where");
	}
	rf_json_close_object(json);
}

static void put_denials(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_array(json, "denials");
	for (size_t i = 0; result->denials && i < result->denials->count; i++) {
		const struct rf_denial *denial = &result->denials->rows[i];

		rf_json_open_object(json, NULL);
		rf_json_string(json, "kind", denial->kind);
		rf_json_string(json, "what", denial->what);
		rf_json_string(json, "rule", denial->rule);
		if (denial->remedy[0])
			rf_json_string(json, "remedy", denial->remedy);
		else
			rf_json_null(json, "remedy");
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_bool(json, "denials_seen", result->has_seen_denials);
}

static void put_lists(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_array(json, "limits_hit");
	for (uint32_t i = 0; i < RF_LIMIT_COUNT; i++)
		if (result->limits_hit & 1u << i)
			rf_json_string(json, NULL, rf_limit_table[i].key);
	rf_json_close_array(json);
	rf_json_open_array(json, "warnings");
	for (size_t i = 0; i < result->warning_count; i++)
		rf_json_string(json, NULL, result->warnings[i]);
	rf_json_close_array(json);
	rf_json_open_array(json, "masked");
	for (size_t i = 0; i < result->hidden.count; i++) {
		const struct rf_hidden *item = &result->hidden.items[i];

		if (strcmp(item->rule, "default") == 0)
			continue; /* of no interest to the caller */
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", item->source);
		rf_json_string(json, "rule", item->rule);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_open_array(json, "planted");
	for (size_t i = 0; i < result->planted.count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", result->planted.items[i].path);
		rf_json_string(json, "what", result->planted.items[i].what);
		rf_json_string(json, "change", result->planted.items[i].is_new ? "new" : "changed");
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_bool(json, "planted_complete",
		     !result->planted.is_partial && !result->planted.more);
	put_denials(json, result);
}

void rf_result_json(const struct rf_result *result, bool is_pretty, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, is_pretty);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "id", result->id);
	rf_json_string(&json, "status", statuses[result->status]);
	if (result->exit_code >= 0)
		rf_json_int(&json, "exit_code", result->exit_code);
	else
		rf_json_null(&json, "exit_code");
	if (result->signal)
		rf_json_int(&json, "signal", result->signal);
	else
		rf_json_null(&json, "signal");
	put_output(&json, "stdout", &result->output[0]);
	put_output(&json, "stderr", &result->output[1]);
	rf_json_open_object(&json, "truncated");
	rf_json_bool(&json, "stdout", result->is_truncated[0]);
	rf_json_bool(&json, "stderr", result->is_truncated[1]);
	rf_json_close_object(&json);
	rf_json_open_object(&json, "encoding");
	rf_json_string(&json, "stdout", encoding_of(&result->output[0]));
	rf_json_string(&json, "stderr", encoding_of(&result->output[1]));
	rf_json_close_object(&json);
	put_usage(&json, result);
	put_isolation(&json, result);
	put_walls(&json, result);
	put_error(&json, &result->error);
	put_lists(&json, result);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
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
	for (size_t i = 0; result->denials && i < result->denials->count; i++) {
		const struct rf_denial *denial = &result->denials->rows[i];

		put_stat(style, "refused", out);
		rf_buf_printf(out, "%s %s (%s)\n", denial->kind, denial->what, denial->rule);
	}
}
