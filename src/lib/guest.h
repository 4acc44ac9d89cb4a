/*
 * A box of libringfort from inside: what running one (guest.c) and keeping one (lodge.c) share.
 */
#ifndef RF_LIB_GUEST_H
#define RF_LIB_GUEST_H

#include <ringfort/ringfort.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "lib/flow.h"
#include "lib/fort.h"
#include "result/result.h"

#define RF_GUEST_ID 1 /* a connection has one run */

struct ringfort_box {
	struct ringfort *fort; /* counted */
	int fd;                /* its own connection to the warden */
	int poll;
	int terminal;            /* the master of a program's in a kept box, or -1 */
	int gateway;             /* a way out that was asked for already, owned; or -1 */
	struct winsize size;     /* that it begins with */
	struct rf_flow flows[3]; /* stdin, stdout, stderr */
	ringfort_output_fn *on_output;
	void *data;
	uint64_t output_limit;
	/* Borrowed while it is asked for: see struct rf_errand.  Or NULL. */
	const char *ceiling, *note, *workspace;
	bool drops_beyond; /* of a connection on terms: what goes beyond them is narrowed */
	uint64_t idle_ms;  /* of a kept one: see rf_errand */
	const char *request, *trace; /* what a client calls what it asked for, or NULL */
	bool has_whole;              /* workspace */
	char *const *set;
	const struct rf_place *extras;
	size_t extra_count;
	char id[24];     /* of the box, once it was started; "" before */
	uint32_t number; /* of the program in a kept box, once it is known */
	bool is_kept;    /* it runs nothing by itself */
	bool has_terminal;
	bool leaves_input, leaves_output; /* those ends are for who asked to take: see below */
	bool is_refused;                  /* there is no run: the warden would not have it */
	bool has_ended;                   /* the result is there */
	bool is_complete;                 /* with what is known here */
	bool is_truncated[2];
	struct rf_result result;
	struct rf_buf in, json;
};

/* One that is nothing yet, for ringfort_free() in any case; and what was asked for, whoever compiled it. */
int rf_guest_new(struct ringfort *fort, const struct ringfort_run *run,
		 struct ringfort_run *ret_run, struct ringfort_box **ret_box, struct rf_err *err);

/* What can be seen to be wrong. */
int rf_guest_check(const struct ringfort_run *run, struct rf_err *err);

/* Its connection to the warden. */
int rf_guest_connect(struct ringfort_box *box, struct rf_err *err);

/* All from there to a run that was asked for; one that is kept has no streams. */
int rf_guest_begin(struct ringfort_box *box, const struct ringfort_policy *policy,
		   const struct ringfort_run *run, struct rf_err *err);

/* Gives the ends of its streams that are the program's; and begins to move what is ours. */
int rf_guest_lay_pipes(struct ringfort_box *box, const struct ringfort_run *run, int theirs[3],
		       struct rf_err *err);
int rf_guest_start_flows(struct ringfort_box *box, struct rf_err *err);

/*
 * Of a stream that was left to who asked: its end, to be read from or written to as it likes (gives).  What is read of its output is to be counted; if
 * that is more than there was room for, the box ends for it.
 */
int rf_guest_take_end(struct ringfort_box *box, int stream);
uint64_t rf_guest_room(const struct ringfort_box *box);
void rf_guest_count(struct ringfort_box *box, int stream, size_t len);

/* As ringfort_exec(), of a box that rf_guest_new() has made. */
int rf_lodge_begin(struct ringfort_box *box, const char *id, const struct ringfort_run *run,
		   const struct ringfort_exec *how, struct rf_err *err);

#endif
