/*
 * An errand: what a client asks the warden to run, and all that the plan must know of the client.
 *
 * It asks for a policy and never for a plan: the warden makes the plan itself, by the same code as
 * `ringfort run`, so that nothing can be asked for that a policy can't say.
 */
#ifndef RF_WIRE_ERRAND_H
#define RF_WIRE_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/plan.h"

#define RF_ERRAND_ARGS    4096              /* arguments, and as many variables */
#define RF_ERRAND_BYTES   (2 * 1024 * 1024) /* of both together */
#define RF_ERRAND_EXTRAS  32
#define RF_ERRAND_NOTE    2048 /* bytes, with a NUL */
#define RF_ERRAND_WORD    65   /* bytes of what a client calls its request, with a NUL */
#define RF_ERRAND_RLIMITS 16   /* RLIM_NLIMITS */
#define RF_ERRAND_IDLE_MS (49ull * 86400 * 1000)

struct rf_errand {
	enum rf_command command; /* whose defaults the policy is laid over */
	const char *policy;      /* as YAML or JSON, nothing extended */
	const char *ceiling; /* a policy that it does not go beyond, every path absolute; or NULL */
	const char *folder;  /* from which relative paths in it count; absolute */
	const char *home;    /* what `~` is; absolute */
	const char *cwd;     /* the client's; absolute, or NULL when it can't be read */
	char *const *argv;   /* NULL-ended, at least one */
	char *const *env;    /* the client's environment, NULL-ended */
	const struct rf_place *extras; /* what is brought along: see struct rf_facts */
	size_t extra_count;
	const char *caller_path; /* the client's PATH, or NULL */
	char *const *
		set; /* NULL-ended "K=V": for the program alone; words, as its arguments are; or NULL */
	const char *note; /* what a list of kept boxes says of it, or NULL */
	uint64_t
		idle_ms; /* of a kept one: it ends when nobody used it for so long; 0: never for that */
	struct rf_plan_origin
		origin;        /* tenant and key are never sent: who bounds it fills them in */
	bool is_recorded;      /* nor is that: whatever the policy says */
	const char *agent;     /* nor that: what the agent that it is done for may do, or NULL */
	const char *workspace; /* of a server's tenant, that it has at /work (tenancy.h), or NULL */
	bool is_whole;         /* with its checkpoints beside its files */
	/*
	 * What the policy names beyond the ceiling of the connection is narrowed, as the client knows; else the errand is
	 * refused.  Without terms nothing is refused for that: the ceiling is the client's own.
	 */
	bool drops_beyond;
	bool wants_denials;
	uint32_t umask;
	int32_t nice;
	struct {
		uint64_t soft, hard;
	} rlimits[RF_ERRAND_RLIMITS];
};

/* Fills in umask, niceness and resource limits of this process; safe where there are threads. */
void rf_errand_note_caller(struct rf_errand *errand);

/* Fails with -EINVAL or -E2BIG for what can't be asked for, so that the client hears it at once. */
int rf_errand_check(const struct rf_errand *errand, struct rf_err *err);

/* Writes it (borrows), for a buffer whose maximum is RF_WIRE_BODY. */
void rf_errand_pack(const struct rf_errand *errand, struct rf_buf *out);

/*
 * Reads one from `len` bytes (borrows: its strings stay there).  On success gives `*ret_errand`, to
 * be ended with rf_errand_done(); or fails with -EBADMSG, or as rf_errand_check() does.
 */
int rf_errand_unpack(const void *data, size_t len, struct rf_errand *ret_errand,
		     struct rf_err *err);
void rf_errand_done(struct rf_errand *errand);

#endif
