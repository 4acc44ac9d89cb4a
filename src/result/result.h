/*
 * The result of a run: the same object on every path.
 *
 * `status` is the truth and the exit code its shadow for shells.  A limit is the status when
 * Ringfort killed for it, or when it was hit and the program failed; hit by a program that ended
 * well it is only named.  docs/result.schema.json describes the JSON.
 *
 * It is data and nothing else: src/jail fills it (jail/tell.h), and who only asked for a run can hold
 * it, print it and take it from a socket without a line of the code that raises walls.
 */
#ifndef RF_RESULT_RESULT_H
#define RF_RESULT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/style.h"
#include "init/orders.h"
#include "policy/plan.h"

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

/* How well a limit is kept. */
enum rf_grade {
	RF_GRADE_NONE,    /* not at all */
	RF_GRADE_RLIMIT,  /* by an rlimit that stands in for it */
	RF_GRADE_SAMPLED, /* by looking every few milliseconds */
	RF_GRADE_HARD,    /* exactly */
};

#define RF_RESULT_WARNINGS 16
#define RF_RESULT_MISSING  16
#define RF_RESULT_WALLS    12

/* Something that it was kept from seeing of the shown trees. */
struct rf_result_masked {
	const char *path; /* on the host */
	size_t rest;      /* where the part beneath the shown tree begins */
	const char *rule; /* "files.deny" or "files.credentials" */
};

/* Something that it left and that acts later, on the host. */
struct rf_result_planted {
	const char *path; /* on the host */
	const char *what; /* "git hook", "executable" ... */
	bool is_new;      /* or else changed */
};

/* Something that it changed in its workspace. */
struct rf_result_change {
	const char *path;     /* from the workspace's top */
	const char *kind;     /* "added", "deleted", "changed", "mode", "type" */
	const char *protects; /* what it is that acts later on the host ("git hook"), or NULL */
};

/* Something that the kernel refused it. */
struct rf_result_denial {
	const char *kind;   /* "file", "network", "signal", "ptrace", "syscall" */
	const char *what;   /* a path, a name ... */
	const char *rule;   /* the wall, and its word for what was asked */
	const char *remedy; /* a line of a policy, or a question to ask; or "" */
};

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
		uint64_t wall_ns, cpu_ns, memory_peak, pids_peak, disk_bytes, output_bytes,
			start_ns;
	} usage; /* UINT64_MAX: not known */
	enum rf_isolation asked;
	enum rf_grade grades[RF_LIMIT_COUNT];
	struct {
		char missing[RF_RESULT_MISSING][96]; /* what this machine could not give */
		uint32_t missing_count;
		int32_t landlock_abi;
		bool is_lesser; /* a box without namespaces */
		uint64_t wall_ns
			[RF_RESULT_WALLS]; /* time that each wall took, as in rf_result_wall() */
	} walls;
	uint32_t proven; /* bit set of enum rf_proof */
	uint64_t ns[RF_NS_COUNT];
	char warnings[RF_RESULT_WARNINGS][256];
	size_t warning_count;
	struct rf_result_planted *planted;
	size_t planted_count;
	uint64_t planted_more;   /* how many were found besides */
	bool is_planted_partial; /* not all of the folders was looked at */
	struct {
		bool is_there;    /* it ran in one */
		const char *name; /* or NULL: for this run alone */
		uint32_t point;   /* that it made, or 0 */
		bool is_undone;   /* and that was left at once: an alarm had ended the run */
		uint64_t added, modified, deleted;
		struct rf_result_change *changes;
		size_t change_count;
		uint64_t more; /* changes besides those listed */
	} workspace;
	struct rf_result_masked *masked;
	size_t masked_count;
	struct rf_result_denial *denials;
	size_t denial_count;
	bool has_seen_denials; /* all of them that the kernel tells */
	bool was_interrupted;  /* this process was asked to stop meanwhile */
	struct rf_err error;   /* code 0: none */
	bool is_alarmed;       /* the watcher killed it because of what it saw */
	const char *canary; /* that was read, by its path inside; borrowed from the plan; or NULL */
	char canary_to[272];     /* where it was sent to, and refused; or "" */
	struct rf_arena *memory; /* owns the lists' strings */
};

void rf_result_init(struct rf_result *result, const struct rf_plan *plan);
void rf_result_done(struct rf_result *result);

void rf_result_warn(struct rf_result *result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Records that the run was refused (DENIED) or failed (ERROR), with its story. */
void rf_result_fail(struct rf_result *result, enum rf_status status, int code,
		    const struct rf_err *err);

/* Each adds a row to its list (borrows, and copies).  False when memory is gone: nothing was added. */
bool rf_result_add_masked(struct rf_result *result, const char *path, size_t rest,
			  const char *rule);
bool rf_result_add_planted(struct rf_result *result, const char *path, const char *what,
			   bool is_new);
bool rf_result_add_change(struct rf_result *result, const char *path, const char *kind,
			  const char *protects);
bool rf_result_add_denial(struct rf_result *result, const char *kind, const char *what,
			  const char *rule, const char *remedy);

const char *rf_result_status(enum rf_status status);
const char *rf_result_grade(enum rf_grade grade);

/* The name of wall `i` of a full or a lesser box, in the order they go up, or NULL past the last. */
const char *rf_result_wall(bool is_lesser, size_t i);

/* The object as a member of another (document.c). */
void rf_result_put(const struct rf_result *result, struct rf_json *json, const char *name);

/* The whole object as JSON, and the few lines of --stats. */
void rf_result_json(const struct rf_result *result, bool is_pretty, struct rf_buf *out);
void rf_result_stats(const struct rf_result *result, struct rf_style style, struct rf_buf *out);

/*
 * For a socket (packed.c): all but the output, which whoever reads it has.  Unpacking takes a fresh
 * result to an equal one, or fails with -EBADMSG and leaves one that only rf_result_done() takes.
 */
void rf_result_pack(const struct rf_result *result, struct rf_buf *out);
int rf_result_unpack(struct rf_result *result, const void *data, size_t len, struct rf_err *err);

#endif
