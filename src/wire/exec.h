/*
 * What is said of kept boxes: a program to start in one, and what there is of each.
 *
 * A box is named by its id, and a program in it by a number.  docs/protocols/warden.md tells the conversation.
 */
#ifndef RF_WIRE_EXEC_H
#define RF_WIRE_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/wire.h"

#define RF_EXEC_BYTES (128 * 1024) /* of a packed one */
#define RF_EXEC_WORDS 2048         /* arguments, and as many variables */

struct rf_exec {
	const char *box;   /* its id */
	char *const *argv; /* NULL-ended, at least one */
	char *const *env; /* NULL-ended "K=V": besides, or instead of, what the box's policy sets */
	const char *cwd;  /* in the box, absolute; or NULL: the policy's working directory */
	uint64_t time_ms; /* after which it is killed, and what is in its process group; 0: never */
	bool is_background; /* it goes on when the connection ends */
	bool has_terminal;  /* of its own, whose master comes by TERMINAL; without streams */
	bool is_porter; /* a program of ours that the warden has, and none of the box's; none has one yet */
};

/* Writes it (borrows), for a buffer whose maximum is RF_EXEC_BYTES. */
void rf_exec_pack(const struct rf_exec *exec, struct rf_buf *out);

/*
 * Reads one from `len` bytes (borrows: its strings stay there).  On success gives `*ret_exec`, to be ended with
 * rf_exec_done(); or fails with -EBADMSG, or -EINVAL for what can't be asked for.
 */
int rf_exec_unpack(const void *data, size_t len, struct rf_exec *ret_exec, struct rf_err *err);
void rf_exec_done(struct rf_exec *exec);

/* ------------------------------------------------------------- boxes */

#define RF_EXEC_PROGRAMS 128 /* of one box, in a list */

enum rf_exec_state {
	RF_EXEC_RUNNING,
	RF_EXEC_FROZEN,
	RF_EXEC_ENDING,
	RF_EXEC_STATES
};

/* "running", "frozen", "ending". */
const char *rf_exec_state_name(enum rf_exec_state state);

struct rf_exec_program {
	uint32_t number;
	bool is_background;
	bool has_ended; /* and its result waits for who attaches */
	char name[32];  /* of the program, cut */
};

/* What there is of one.  A figure that is not known is UINT64_MAX. */
struct rf_exec_box {
	char id[24];
	enum rf_exec_state state;
	uint32_t pid; /* of its pid 1, on the host */
	uint64_t age_ms, left_ms;
	uint64_t idle_ms; /* after which, unused, it ends; 0: never for that */
	uint64_t cpu_ns, memory_bytes, memory_peak, pids;
	uint64_t disk_bytes; /* of its /tmp and home */
	struct rf_exec_program programs[RF_EXEC_PROGRAMS];
	uint32_t program_count;
	char note[2048]; /* that it was asked for with, or "" */
};

void rf_exec_box_pack(const struct rf_exec_box *box, struct rf_buf *out);

/* Reads the next of a list: 1, 0 at its end, or -EBADMSG.  `*at` begins at 0. */
int rf_exec_box_next(const struct rf_wire_message *message, size_t *at, struct rf_exec_box *ret_box,
		     struct rf_err *err);

#endif
