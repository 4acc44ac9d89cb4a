/*
 * The result of a run: the same object on every path.
 *
 * `status` is the truth and the exit code its shadow for shells.  A limit is the status when
 * Ringfort killed for it, or when it was hit and the program failed; hit by a program that ended
 * well it is only named.  docs/result.schema.json describes the JSON.
 */
#ifndef RF_JAIL_RESULT_H
#define RF_JAIL_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/style.h"
#include "jail/box.h"
#include "jail/denial.h"
#include "jail/planted.h"

enum rf_status {
	RF_STATUS_OK,
	RF_STATUS_FAILED,
	RF_STATUS_TIMEOUT,
	RF_STATUS_CPU,
	RF_STATUS_MEMORY,
	RF_STATUS_PIDS,
	RF_STATUS_DISK,
	RF_STATUS_OUTPUT,
	RF_STATUS_KILLED, /* by a signal that Ringfort was asked to pass on */
	RF_STATUS_DENIED, /* the policy refused the run */
	RF_STATUS_ERROR,  /* Ringfort itself failed */
	RF_STATUS_COUNT
};

#define RF_RESULT_WARNINGS 16

struct rf_result {
	char id[17];
	enum rf_status status;
	int exit_code;           /* of the program, or -1 */
	int signal;              /* that ended the program, or 0 */
	int code;                /* what `ringfort run` exits with */
	struct rf_buf output[2]; /* stdout and stderr, when captured */
	bool is_truncated[2];
	uint32_t limits_hit; /* bit set of enum rf_limit */
	struct {
		uint64_t wall_ns, cpu_ns, memory_peak, pids_peak, disk_bytes, start_ns;
	} usage; /* UINT64_MAX: not known */
	enum rf_isolation asked;
	enum rf_grade grades[RF_LIMIT_COUNT];
	struct rf_box_shared walls; /* what was missing, how long each wall took */
	uint64_t outside_ns[RF_BOX_WALLS_MAX];
	uint32_t proven; /* bit set of enum rf_proof */
	uint64_t ns[RF_NS_COUNT];
	char warnings[RF_RESULT_WARNINGS][256];
	size_t warning_count;
	struct rf_planted_list planted; /* what it left that acts later */
	struct rf_hidden_list hidden;   /* what it was kept from seeing of the shown trees */
	struct rf_denials *denials;     /* what the kernel refused it; NULL: nobody looked */
	bool has_seen_denials;          /* all of them that the kernel tells */
	struct rf_err error;            /* code 0: none */
};

void rf_result_init(struct rf_result *result, const struct rf_plan *plan);
void rf_result_done(struct rf_result *result);

void rf_result_warn(struct rf_result *result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Records that the run was refused (DENIED) or failed (ERROR), with its story. */
void rf_result_fail(struct rf_result *result, enum rf_status status, int code,
		    const struct rf_err *err);

const char *rf_result_status(enum rf_status status);
const char *rf_result_grade(enum rf_grade grade);

/* Takes what a box was kept from seeing, and warns where something of it may be in sight. */
void rf_result_take_hidden(struct rf_result *result, struct rf_hidden_list *hidden);

/* The whole object as JSON, and the few lines of --stats. */
void rf_result_json(const struct rf_result *result, bool is_pretty, struct rf_buf *out);
void rf_result_stats(const struct rf_result *result, struct rf_style style, struct rf_buf *out);

#endif
