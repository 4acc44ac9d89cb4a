/*
 * Boxes of libringfort that are kept: one stands without a program, and programs are started in it.
 *
 * The box is the warden's, and is known here by its id alone: so a process that comes later goes on with it.  A
 * program in one is a `struct ringfort_box` as every other, with a connection of its own.  What is asked
 * of a box as a whole is asked on a connection for that question, and waited for.
 */
#include <errno.h>
#include <poll.h>
#include <ringfort/ringfort.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/fd.h"
#include "lib/fort.h"
#include "lib/guest.h"
#include "wire/client.h"
#include "wire/exec.h"

#define KEEP_LEAST (offsetof(struct ringfort_keep, timeout_ms) + sizeof(int))
#define EXEC_LEAST (offsetof(struct ringfort_exec, columns) + sizeof(int))
#define ANSWER_MS  10000

_Static_assert(RINGFORT_RUNNING == (enum ringfort_state)RF_EXEC_RUNNING &&
		       RINGFORT_ENDING == (enum ringfort_state)RF_EXEC_ENDING,
	       "both lists of states are the same");
_Static_assert(RINGFORT_ID_SIZE == sizeof(((struct rf_wire_ref *)0)->id), "an id's room");

/* ------------------------------------------------------------- questions */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for one message of the warden's; a refusal is an error. */
static int await(int fd, int64_t until_ms, struct rf_buf *in, struct rf_wire_message *ret_message,
		 struct rf_err *err)
{
	int got;

	do {
		struct pollfd ask = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - now_ms();

		if (left <= 0 || poll(&ask, 1, (int)left) == 0) {
			rf_fail_say(err, -ETIMEDOUT, "the warden has not answered in time");
			return rf_fail_hint(err, "it may be busy: try again");
		}
		got = rf_wire_receive(fd, RF_WIRE_WARDEN, in, ret_message, err);
	} while (got == -EAGAIN);
	if (got == 0) {
		rf_fail_say(err, -ECONNRESET, "the warden has ended, and its boxes with it");
		return rf_fail_hint(err, "open a new fort");
	}
	if (got > 0 && ret_message->type == RF_WIRE_REFUSED) {
		rf_wire_refused(ret_message, err);
		rf_wire_done(ret_message);
		return err->code;
	}
	return got < 0 ? got : 0;
}

static int name_box(const char *id, struct rf_wire_ref *ref, struct rf_err *err)
{
	if (id && strlen(id) >= sizeof(ref->id)) {
		rf_fail_say(err, -EINVAL, "%.40s is the id of no box", id);
		return rf_fail_hint(err, "ringfort_list() says which are kept");
	}
	*ref = (struct rf_wire_ref){ 0 };
	if (id)
		memcpy(ref->id, id, strlen(id) + 1);
	return 0;
}

/* Asks on a connection of its own; gives the answer, whose body is in `in`. */
static int ask(struct ringfort *fort, enum rf_wire_type type, const struct rf_wire_ref *ref,
	       struct rf_buf *in, struct rf_wire_message *ret_message, struct rf_err *err)
{
	RF_AUTO_FD int fd = -1;

	if (rf_fort_connect(fort, &fd, err) < 0 ||
	    rf_wire_send(fd, type, RF_GUEST_ID, ref, sizeof(*ref), NULL, 0, err) < 0)
		return err->code;
	return await(fd, now_ms() + ANSWER_MS, in, ret_message, err);
}

static int order(struct ringfort *fort, enum rf_wire_type type, const char *id, uint64_t time_ms,
		 struct ringfort_error *error)
{
	struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_wire_ref ref;
	RF_AUTO_BUF struct rf_buf in;

	rf_buf_init(&in, RF_WIRE_ROOM);
	if (!id || !id[0])
		rf_fail_say(&err, -EINVAL, "no box is named");
	else if (name_box(id, &ref, &err) == 0) {
		ref.time_ms = time_ms;
		ask(fort, type, &ref, &in, &message, &err);
	}
	rf_wire_done(&message);
	return err.code ? rf_fort_tell(error, &err) : 0;
}

int ringfort_freeze(struct ringfort *fort, const char *id, struct ringfort_error *error)
{
	return order(fort, RF_WIRE_FREEZE, id, 0, error);
}

int ringfort_thaw(struct ringfort *fort, const char *id, struct ringfort_error *error)
{
	return order(fort, RF_WIRE_THAW, id, 0, error);
}

int ringfort_renew(struct ringfort *fort, const char *id, uint64_t time_ms,
		   struct ringfort_error *error)
{
	return order(fort, RF_WIRE_RENEW, id, time_ms, error);
}

int ringfort_remove(struct ringfort *fort, const char *id, struct ringfort_error *error)
{
	return order(fort, RF_WIRE_CLOSE, id, 0, error);
}

static void tell_box(const struct rf_exec_box *box, struct ringfort_kept *ret_kept)
{
	*ret_kept = (struct ringfort_kept){
		.size = sizeof(*ret_kept),
		.state = (enum ringfort_state)box->state,
		.age_ms = box->age_ms,
		.left_ms = box->left_ms,
		.cpu_ns = box->cpu_ns,
		.memory_bytes = box->memory_bytes,
		.memory_peak = box->memory_peak,
		.pids = box->pids,
		.pid = (int)box->pid,
	};
	memcpy(ret_kept->id, box->id, sizeof(ret_kept->id));
	for (uint32_t i = 0; i < box->program_count && i < RINGFORT_PROGRAMS; i++) {
		ret_kept->programs[i] = (int)box->programs[i].number;
		ret_kept->has_ended[i] = box->programs[i].has_ended;
		ret_kept->program_count = (int)i + 1;
	}
}

int ringfort_list(struct ringfort *fort, const char *id, ringfort_kept_fn *fn, void *data,
		  struct ringfort_error *error)
{
	struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_wire_ref ref;
	struct rf_exec_box box;
	struct ringfort_kept kept;
	size_t at = 0;
	int count = 0, got = 0;
	RF_AUTO_BUF struct rf_buf in;

	rf_buf_init(&in, RF_WIRE_ROOM);
	if (name_box(id, &ref, &err) < 0 || ask(fort, RF_WIRE_LIST, &ref, &in, &message, &err) < 0)
		return rf_fort_tell(error, &err);
	while ((got = rf_exec_box_next(&message, &at, &box, &err)) > 0) {
		tell_box(&box, &kept);
		fn(data, &kept);
		count++;
	}
	rf_wire_done(&message);
	return got < 0 ? rf_fort_tell(error, &err) : count;
}

/* ------------------------------------------------------------- a box */

/* It stands, or the result says why not. */
static int await_box(struct ringfort_box *box, int timeout_ms, char *id, struct rf_err *err)
{
	int64_t until_ms = now_ms() + (timeout_ms > 0 ? timeout_ms : ANSWER_MS);
	struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_wire_started started;
	int code = await(box->fd, until_ms, &box->in, &message, err);

	if (code == 0 && message.type == RF_WIRE_ENDED) {
		code = rf_result_unpack(&box->result, message.body, message.len, err);
		*err = box->result.error;
		if (code == 0 && err->code >= 0)
			rf_fail_say(err, -EIO, "the box ended before it stood");
		code = err->code;
	} else if (code == 0) {
		code = rf_wire_started(&message, &started, err);
		if (code == 0)
			memcpy(id, started.id, sizeof(started.id));
	}
	rf_wire_done(&message);
	return code;
}

int ringfort_keep(struct ringfort *fort, const struct ringfort_policy *policy,
		  const struct ringfort_keep *options, char ret_id[RINGFORT_ID_SIZE],
		  struct ringfort_error *error)
{
	static const char *const nobody[] = { "sandbox", NULL };
	struct ringfort_run run = RINGFORT_RUN_INIT, own_run;
	struct ringfort_keep own = RINGFORT_KEEP_INIT;
	struct rf_err err = RF_ERR_INIT;
	struct ringfort_box *box = NULL;
	int code = 0;

	if (options)
		code = rf_fort_take_struct(&own, sizeof(own), KEEP_LEAST, options, &err);
	run.argv = nobody;
	run.env = own.env;
	run.cwd = own.cwd;
	run.wants_denials = own.wants_denials;
	if (code == 0)
		code = rf_guest_new(fort, &run, &own_run, &box, &err);
	if (code == 0) {
		box->is_kept = true;
		box->ceiling = own.ceiling;
		code = rf_guest_begin(box, policy, &own_run, &err);
	}
	if (code == 0)
		code = await_box(box, own.timeout_ms, ret_id, &err);
	ringfort_free(box);
	return code < 0 ? rf_fort_tell(error, &err) : 0;
}

/* ------------------------------------------------------------- programs */

static int ask_for_program(struct ringfort_box *box, const char *id, const struct ringfort_run *run,
			   const struct ringfort_exec *how, const int theirs[3], struct rf_err *err)
{
	static char *const none[] = { NULL };
	const struct rf_exec exec = {
		.box = id,
		.argv = (char *const *)(uintptr_t)run->argv,
		.env = run->env ? (char *const *)(uintptr_t)run->env : none,
		.cwd = run->cwd,
		.time_ms = how->time_ms,
		.is_background = how->is_background,
		.has_terminal = how->has_terminal,
	};
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_EXEC_BYTES);
	rf_exec_pack(&exec, &body);
	if (body.has_failed) {
		rf_fail_say(err, -E2BIG, "arguments and variables are too long");
		return rf_fail_hint(err, "write what is long to a file of the box, or to stdin");
	}
	return rf_wire_send(box->fd, RF_WIRE_EXEC, RF_GUEST_ID, body.data, body.len, theirs,
			    how->has_terminal ? 0 : 3, err);
}

int rf_lodge_begin(struct ringfort_box *box, const char *id, const struct ringfort_run *run,
		   const struct ringfort_exec *how, struct rf_err *err)
{
	int theirs[3] = { -1, -1, -1 };
	struct rf_wire_ref ref;
	int code;

	if (!id || !id[0])
		return rf_fail_say(err, -EINVAL, "no box is named");
	if (name_box(id, &ref, err) < 0 || rf_guest_check(run, err) < 0 ||
	    rf_guest_connect(box, err) < 0)
		return err->code;
	box->has_terminal = how->has_terminal;
	box->size.ws_row = (unsigned short)how->rows;
	box->size.ws_col = (unsigned short)how->columns;
	code = rf_guest_lay_pipes(box, run, theirs, err);
	if (code == 0)
		code = ask_for_program(box, id, run, how, theirs, err);
	for (int i = 0; i < 3; i++)
		rf_fd_done(&theirs[i]);
	return code == 0 ? rf_guest_start_flows(box, err) : code;
}

int ringfort_exec(struct ringfort *fort, const char *id, const struct ringfort_run *run,
		  const struct ringfort_exec *how, struct ringfort_box **ret_box,
		  struct ringfort_error *error)
{
	struct ringfort_exec own = RINGFORT_EXEC_INIT;
	struct rf_err err = RF_ERR_INIT;
	struct ringfort_run own_run;
	struct ringfort_box *box = NULL;

	if ((how && rf_fort_take_struct(&own, sizeof(own), EXEC_LEAST, how, &err) < 0) ||
	    rf_guest_new(fort, run, &own_run, &box, &err) < 0)
		return rf_fort_tell(error, &err);
	if (rf_lodge_begin(box, id, &own_run, &own, &err) < 0) {
		ringfort_free(box);
		return rf_fort_tell(error, &err);
	}
	*ret_box = box;
	return 0;
}

int ringfort_attach(struct ringfort *fort, const char *id, int number,
		    struct ringfort_box **ret_box, struct ringfort_error *error)
{
	struct ringfort_run run = RINGFORT_RUN_INIT, own_run;
	struct rf_err err = RF_ERR_INIT;
	struct rf_wire_ref ref;
	struct ringfort_box *box = NULL;

	if (name_box(id, &ref, &err) < 0 || rf_guest_new(fort, &run, &own_run, &box, &err) < 0)
		return rf_fort_tell(error, &err);
	ref.number = (uint32_t)number;
	for (int i = 0; i < 3; i++)
		box->flows[i].is_over = true;
	if (rf_guest_connect(box, &err) < 0 || rf_wire_send(box->fd, RF_WIRE_ATTACH, RF_GUEST_ID,
							    &ref, sizeof(ref), NULL, 0, &err) < 0) {
		ringfort_free(box);
		return rf_fort_tell(error, &err);
	}
	*ret_box = box;
	return 0;
}

int ringfort_number(const struct ringfort_box *box)
{
	return (int)box->number;
}

int ringfort_resize(struct ringfort_box *box, int rows, int columns, struct ringfort_error *error)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	struct rf_err err = RF_ERR_INIT;

	if (rows < 1 || rows > UINT16_MAX || columns < 1 || columns > UINT16_MAX)
		rf_fail_say(&err, -EINVAL, "no terminal has %d rows of %d columns", rows, columns);
	else if (box->terminal < 0)
		rf_fail_say(&err, -ENOTTY, "it has no terminal, or none yet");
	else if (ioctl(box->terminal, TIOCSWINSZ, &size) < 0)
		rf_fail(&err, -errno, "size a terminal");
	return err.code ? rf_fort_tell(error, &err) : 0;
}
