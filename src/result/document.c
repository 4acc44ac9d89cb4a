/* The result as JSON: docs/result.schema.json describes it. */
#include "base/json.h"
#include "result/result.h"

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
	put_count(json, "output", result->usage.output_bytes);
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
		rf_json_string(json, rf_limit_table[i].key, rf_result_grade(result->grades[i]));
	rf_json_close_object(json);
	put_proof(json, result);
	rf_json_close_object(json);
}

static void put_walls(struct rf_json *json, const struct rf_result *result)
{
	rf_json_open_object(json, "walls_us");
	for (size_t i = 0; rf_result_wall(result->walls.is_lesser, i); i++)
		rf_json_double(json, rf_result_wall(result->walls.is_lesser, i),
			       (double)result->walls.wall_ns[i] / 1e3, 1);
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
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct rf_result_denial *denial = &result->denials[i];

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
	for (size_t i = 0; i < result->masked_count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", result->masked[i].path);
		rf_json_string(json, "rule", result->masked[i].rule);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_open_array(json, "planted");
	for (size_t i = 0; i < result->planted_count; i++) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", result->planted[i].path);
		rf_json_string(json, "what", result->planted[i].what);
		rf_json_string(json, "change", result->planted[i].is_new ? "new" : "changed");
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_bool(json, "planted_complete",
		     !result->is_planted_partial && !result->planted_more);
	put_denials(json, result);
}

static void put_workspace(struct rf_json *json, const struct rf_result *result)
{
	if (!result->workspace.is_there) {
		rf_json_null(json, "workspace");
		return;
	}
	rf_json_open_object(json, "workspace");
	rf_json_string(json, "name", result->workspace.name);
	if (result->workspace.point)
		rf_json_int(json, "point", result->workspace.point);
	else
		rf_json_null(json, "point");
	rf_json_bool(json, "undone", result->workspace.is_undone);
	rf_json_open_array(json, "changes");
	for (size_t i = 0; i < result->workspace.change_count; i++) {
		const struct rf_result_change *change = &result->workspace.changes[i];

		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", change->path);
		rf_json_string(json, "change", change->kind);
		rf_json_string(json, "protected", change->protects);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
	rf_json_int(json, "more", (int64_t)result->workspace.more);
	rf_json_close_object(json);
}

void rf_result_put(const struct rf_result *result, struct rf_json *json, const char *name)
{
	rf_json_open_object(json, name);
	rf_json_string(json, "id", result->id);
	rf_json_string(json, "status", rf_result_status(result->status));
	if (result->exit_code >= 0)
		rf_json_int(json, "exit_code", result->exit_code);
	else
		rf_json_null(json, "exit_code");
	if (result->signal)
		rf_json_int(json, "signal", result->signal);
	else
		rf_json_null(json, "signal");
	put_output(json, "stdout", &result->output[0]);
	put_output(json, "stderr", &result->output[1]);
	rf_json_open_object(json, "truncated");
	rf_json_bool(json, "stdout", result->is_truncated[0]);
	rf_json_bool(json, "stderr", result->is_truncated[1]);
	rf_json_close_object(json);
	rf_json_open_object(json, "encoding");
	rf_json_string(json, "stdout", encoding_of(&result->output[0]));
	rf_json_string(json, "stderr", encoding_of(&result->output[1]));
	rf_json_close_object(json);
	put_usage(json, result);
	put_isolation(json, result);
	put_walls(json, result);
	put_error(json, &result->error);
	put_lists(json, result);
	put_workspace(json, result);
	rf_json_close_object(json);
}

void rf_result_json(const struct rf_result *result, bool is_pretty, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, is_pretty);
	rf_result_put(result, &json, NULL);
	rf_buf_puts(out, "\n");
}
