/*
 * A ward: a kept box, and the programs in it.
 *
 * A program is its connection's for as long as there is one: what becomes of it is told there, and when the connection
 * ends, it is killed, unless it was started in the background; then its result waits for who attaches.  The box
 * is the warden's, and outlives every connection.
 */
#ifndef RF_WARDEN_WARD_H
#define RF_WARDEN_WARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "warden/reach.h"
#include "warden/work.h"
#include "wire/exec.h"

struct rf_ward;
struct rf_ward_program;

/* Where a program's news goes: a connection, and who holds the program there (set to NULL when it is over). */
struct rf_ward_line {
	int fd;      /* borrowed */
	uint64_t id; /* that answers carry */
	struct rf_ward_program **holder;
};

/*
 * Hears of each program that is begun, before pid 1 is told to, and of its end, with its result; what runs when its box ends, ends with
 * that, and is not told of.
 */
typedef void rf_ward_fn(void *data, const char *program, uint32_t number,
			const struct rf_result *result);

/* Keeps the box of `work` (borrows).  `porter` is a descriptor of a program of ours that may be started in it (borrows), or -1: there is none. */
int rf_ward_new(struct rf_work *work, struct rf_loop *loop, int porter, struct rf_ward **ret_ward,
		struct rf_err *err);

void rf_ward_listen(struct rf_ward *ward, rf_ward_fn *fn, void *data);

/* Tells who waits for a program that the box is over, and frees all of it.  Accepts NULL. */
void rf_ward_free(struct rf_ward *ward);

/* Something that its pid 1 said; takes `fd`, or -1. */
void rf_ward_hear(struct rf_ward *ward, const struct rf_report *report, int fd);

/* What there is of it; a look at its processes costs some tens of microseconds. */
void rf_ward_describe(const struct rf_ward *ward, struct rf_exec_box *ret_box);

/*
 * Starts a program with three pipes (borrows), or with a terminal and none; *line->holder holds it then.  `number` is one that rf_ward_number() gave:
 * then who listens knows of it already, and of its end if it fails; or 0.
 */
int rf_ward_exec(struct rf_ward *ward, const struct rf_exec *exec, const int *streams,
		 size_t stream_count, const struct rf_ward_line *line, uint32_t number,
		 struct rf_err *err);

/* A number for a program that is to be started. */
uint32_t rf_ward_number(struct rf_ward *ward);

/* True while a program runs in it. */
bool rf_ward_is_busy(const struct rf_ward *ward);

/* Gives a program that has no connection to this one; if it has ended, that is told at once. */
int rf_ward_attach(struct rf_ward *ward, uint32_t number, const struct rf_ward_line *line,
		   struct rf_err *err);

/* A connection to a port inside: answered on the line, later.  Only where the box has a loopback of its own. */
int rf_ward_reach(struct rf_ward *ward, uint32_t port, const struct rf_reach_line *line,
		  struct rf_err *err);

/* Its connection is gone. */
void rf_ward_let_go(struct rf_ward_program *program);

/* A signal to it, or to its process group; and the end of that, for a limit or for none (RF_LIMIT_COUNT). */
void rf_ward_signal(struct rf_ward_program *program, int signal, bool is_for_group);
void rf_ward_kill(struct rf_ward_program *program, enum rf_limit limit);

/* Stops all of it, or lets it go on; nothing can be started meanwhile. */
int rf_ward_freeze(struct rf_ward *ward, bool is_frozen, struct rf_err *err);
bool rf_ward_is_frozen(const struct rf_ward *ward);

#endif
