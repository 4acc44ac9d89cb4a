/*
 * The result for a socket: see result.h.
 *
 * One order for writing and for reading, group by group.  What is read came from another process, so
 * every number is held against its enum and every list against its limit.
 */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pack.h"
#include "result/result.h"

#define PATH_ROOM (64 * 1024) /* a path on the host, which may be longer than PATH_MAX */
#define WORD_ROOM 4096        /* a rule, a kind, a remedy */
#define ROWS_MAX  4096        /* far more than either list can have */
#define LIST_ROOM (1u << 20)  /* bytes of paths in one list; what passes it is only counted */

/* ------------------------------------------------------------- writing */

static void pack_walls(const struct rf_result *result, struct rf_buf *out)
{
	rf_pack_u32(out, result->walls.missing_count);
	for (uint32_t i = 0; i < result->walls.missing_count; i++)
		rf_pack_string(out, result->walls.missing[i]);
	rf_pack_u32(out, (uint32_t)result->walls.landlock_abi);
	rf_pack_bool(out, result->walls.is_lesser);
	for (size_t i = 0; i < RF_RESULT_WALLS; i++)
		rf_pack_u64(out, result->walls.wall_ns[i]);
	rf_pack_u32(out, result->proven);
	for (size_t i = 0; i < RF_NS_COUNT; i++)
		rf_pack_u64(out, result->ns[i]);
	for (size_t i = 0; i < RF_LIMIT_COUNT; i++)
		rf_pack_u32(out, result->grades[i]);
}

/* How many of a list's first rows have room. */
static uint32_t fitting(const char *path, size_t *used)
{
	*used += strlen(path);
	return *used <= LIST_ROOM;
}

static void pack_masked(const struct rf_result *result, struct rf_buf *out)
{
	uint32_t count = 0;
	size_t used = 0;

	while (count < result->masked_count && fitting(result->masked[count].path, &used))
		count++;
	rf_pack_u32(out, count);
	for (uint32_t i = 0; i < count; i++) {
		rf_pack_string(out, result->masked[i].path);
		rf_pack_u64(out, result->masked[i].rest);
		rf_pack_string(out, result->masked[i].rule);
	}
	rf_pack_u64(out, result->masked_count - count);
}

static void pack_planted(const struct rf_result *result, struct rf_buf *out)
{
	uint32_t count = 0;
	size_t used = 0;

	while (count < result->planted_count && fitting(result->planted[count].path, &used))
		count++;
	rf_pack_u32(out, count);
	for (uint32_t i = 0; i < count; i++) {
		rf_pack_string(out, result->planted[i].path);
		rf_pack_string(out, result->planted[i].what);
		rf_pack_bool(out, result->planted[i].is_new);
	}
	rf_pack_u64(out, result->planted_more + (result->planted_count - count));
	rf_pack_bool(out, result->is_planted_partial);
}

static void pack_denials(const struct rf_result *result, struct rf_buf *out)
{
	rf_pack_u32(out, (uint32_t)result->denial_count);
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct rf_result_denial *denial = &result->denials[i];

		rf_pack_string(out, denial->kind);
		rf_pack_string(out, denial->what);
		rf_pack_string(out, denial->rule);
		rf_pack_string(out, denial->remedy);
	}
	rf_pack_bool(out, result->has_seen_denials);
}

void rf_result_pack(const struct rf_result *result, struct rf_buf *out)
{
	const uint64_t usage[] = { result->usage.wall_ns,     result->usage.cpu_ns,
				   result->usage.memory_peak, result->usage.pids_peak,
				   result->usage.disk_bytes,  result->usage.output_bytes,
				   result->usage.start_ns };

	rf_pack_string(out, result->id);
	rf_pack_u32(out, result->status);
	rf_pack_u32(out, (uint32_t)result->exit_code);
	rf_pack_u32(out, (uint32_t)result->signal);
	rf_pack_u32(out, (uint32_t)result->code);
	rf_pack_bool(out, result->is_truncated[0]);
	rf_pack_bool(out, result->is_truncated[1]);
	rf_pack_u32(out, result->limits_hit);
	for (size_t i = 0; i < RF_LEN(usage); i++)
		rf_pack_u64(out, usage[i]);
	rf_pack_u32(out, result->asked);
	pack_walls(result, out);
	rf_pack_u32(out, (uint32_t)result->warning_count);
	for (size_t i = 0; i < result->warning_count; i++)
		rf_pack_string(out, result->warnings[i]);
	pack_masked(result, out);
	pack_planted(result, out);
	pack_denials(result, out);
	rf_pack_err(out, &result->error);
}

/* ------------------------------------------------------------- reading */

/* A number that lies between two others, as it was written from an int. */
static int read_int(struct rf_pack_reader *in, int least, int most)
{
	int value = (int)rf_pack_read_u32(in);

	if (value >= least && value <= most)
		return value;
	in->has_failed = true;
	return 0;
}

static void read_walls(struct rf_result *result, struct rf_pack_reader *in)
{
	result->walls.missing_count = rf_pack_read_below(in, RF_RESULT_MISSING + 1);
	for (uint32_t i = 0; i < result->walls.missing_count; i++)
		rf_pack_read_text(in, result->walls.missing[i], sizeof(result->walls.missing[i]));
	result->walls.landlock_abi = read_int(in, 0, 1 << 20);
	result->walls.is_lesser = rf_pack_read_bool(in);
	for (size_t i = 0; i < RF_RESULT_WALLS; i++)
		result->walls.wall_ns[i] = rf_pack_read_u64(in);
	result->proven = rf_pack_read_below(in, 1u << RF_PROOF_COUNT);
	for (size_t i = 0; i < RF_NS_COUNT; i++)
		result->ns[i] = rf_pack_read_u64(in);
	for (size_t i = 0; i < RF_LIMIT_COUNT; i++)
		result->grades[i] = (enum rf_grade)rf_pack_read_below(in, RF_GRADE_HARD + 1);
}

static void read_masked(struct rf_result *result, struct rf_pack_reader *in)
{
	uint32_t count = rf_pack_read_below(in, RF_MAX_HIDDEN + 1);
	uint64_t more;

	for (uint32_t i = 0; i < count && !in->has_failed; i++) {
		const char *path = rf_pack_read_string(in, PATH_ROOM);
		uint64_t rest = rf_pack_read_u64(in);
		const char *rule = rf_pack_read_string(in, WORD_ROOM);

		if (rest > strlen(path) || in->has_failed ||
		    !rf_result_add_masked(result, path, (size_t)rest, rule))
			in->has_failed = true;
	}
	more = rf_pack_read_u64(in);
	if (more)
		rf_result_warn(result, "%llu more hidden files are not listed in masked",
			       (unsigned long long)more);
}

static void read_planted(struct rf_result *result, struct rf_pack_reader *in)
{
	uint32_t count = rf_pack_read_below(in, ROWS_MAX);

	for (uint32_t i = 0; i < count && !in->has_failed; i++) {
		const char *path = rf_pack_read_string(in, PATH_ROOM);
		const char *what = rf_pack_read_string(in, WORD_ROOM);
		bool is_new = rf_pack_read_bool(in);

		if (in->has_failed || !rf_result_add_planted(result, path, what, is_new))
			in->has_failed = true;
	}
	result->planted_more = rf_pack_read_u64(in);
	result->is_planted_partial = rf_pack_read_bool(in);
}

static void read_denials(struct rf_result *result, struct rf_pack_reader *in)
{
	uint32_t count = rf_pack_read_below(in, ROWS_MAX);

	for (uint32_t i = 0; i < count && !in->has_failed; i++) {
		const char *kind = rf_pack_read_string(in, WORD_ROOM);
		const char *what = rf_pack_read_string(in, WORD_ROOM);
		const char *rule = rf_pack_read_string(in, WORD_ROOM);
		const char *remedy = rf_pack_read_string(in, WORD_ROOM);

		if (in->has_failed || !rf_result_add_denial(result, kind, what, rule, remedy))
			in->has_failed = true;
	}
	result->has_seen_denials = rf_pack_read_bool(in);
}

int rf_result_unpack(struct rf_result *result, const void *data, size_t len, struct rf_err *err)
{
	uint64_t *const usage[] = { &result->usage.wall_ns,     &result->usage.cpu_ns,
				    &result->usage.memory_peak, &result->usage.pids_peak,
				    &result->usage.disk_bytes,  &result->usage.output_bytes,
				    &result->usage.start_ns };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, result->id, sizeof(result->id));
	result->status = (enum rf_status)rf_pack_read_below(&in, RF_STATUS_COUNT);
	result->exit_code = read_int(&in, -1, 255);
	result->signal = read_int(&in, 0, 64);
	result->code = read_int(&in, 0, 255);
	result->is_truncated[0] = rf_pack_read_bool(&in);
	result->is_truncated[1] = rf_pack_read_bool(&in);
	result->limits_hit = rf_pack_read_below(&in, 1u << RF_LIMIT_COUNT);
	for (size_t i = 0; i < RF_LEN(usage); i++)
		*usage[i] = rf_pack_read_u64(&in);
	result->asked = (enum rf_isolation)read_int(&in, RF_ISOLATION_AUTO, RF_ISOLATION_PROCESS);
	read_walls(result, &in);
	result->warning_count = rf_pack_read_below(&in, RF_RESULT_WARNINGS + 1);
	for (size_t i = 0; i < result->warning_count; i++)
		rf_pack_read_text(&in, result->warnings[i], sizeof(result->warnings[i]));
	read_masked(result, &in);
	read_planted(result, &in);
	read_denials(result, &in);
	rf_pack_read_err(&in, &result->error);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "a result is malformed");
	return 0;
}
