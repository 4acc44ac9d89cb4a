/* A box that a warden keeps: see far.h. */
#include "jail/far.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/outward.h"
#include "wire/client.h"
#include "wire/wire.h"

#define MS     1000000ull
#define OF_RUN 1 /* the id of the only run on our connection */

/* The warden has answered: what it starts may take as long as it likes. */
static void be_patient(struct rf_far *far)
{
	rf_event_cancel(far->patience);
	far->patience = NULL;
}

static void be_over(struct rf_far *far)
{
	far->has_exited = true;
	be_patient(far);
	rf_event_cancel(far->event);
	far->event = NULL;
	far->on_exit(far->data);
}

static void fail(struct rf_far *far, const struct rf_err *err)
{
	rf_result_fail(far->result, RF_STATUS_ERROR, 125, err);
	be_over(far);
}

/* A warden that hangs: it takes the run back when it finds us gone. */
static void on_late(void *data, int what)
{
	struct rf_far *far = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	rf_fail_say(&err, -ETIMEDOUT, "the warden does not answer: nothing was started in %d s",
		    RF_FAR_START_MS / 1000);
	rf_fail_hint(&err, "run it with --no-warden, or end that warden and start another");
	fail(far, &err);
}

/* The result is the warden's; of ours only the output stays. */
static int take_result(struct rf_far *far, const struct rf_wire_message *message,
		       struct rf_err *err)
{
	struct rf_result *ours = far->result, theirs;

	rf_result_init(&theirs, NULL);
	if (rf_result_unpack(&theirs, message->body, message->len, err) < 0) {
		rf_result_done(&theirs);
		return err->code;
	}
	for (int i = 0; i < 2; i++) {
		rf_buf_done(&theirs.output[i]);
		theirs.output[i] = ours->output[i];
		ours->output[i] = (struct rf_buf){ 0 };
		theirs.is_truncated[i] = ours->is_truncated[i];
	}
	if (ours->error.code && !theirs.error.code)
		theirs.error = ours->error; /* output that could not be passed on */
	rf_result_done(ours);
	*ours = theirs;
	return 0;
}

/* False if it has to be said again.  Who is gone need not be told anything. */
static bool say(const struct rf_far *far, enum rf_wire_type type, uint32_t number)
{
	struct rf_err err;

	return far->has_exited || rf_wire_send(far->fd, type, OF_RUN, &number, sizeof(number), NULL,
					       0, &err) != -EAGAIN;
}

/* What a warden that does not listen right now can't be told is told as soon as there is room. */
static void say_due(struct rf_far *far)
{
	if (far->is_end_due && say(far, RF_WIRE_END, far->end_for)) {
		far->is_end_due = false;
		far->signals = 0;
	}
	while (far->signals && !far->is_end_due &&
	       say(far, RF_WIRE_SIGNAL, (uint32_t)__builtin_ctzll(far->signals) + 1))
		far->signals &= far->signals - 1;
	if (far->event)
		rf_event_want(far->event, far->is_end_due || far->signals
						  ? RF_LOOP_READ | RF_LOOP_WRITE
						  : RF_LOOP_READ);
}

static void on_message(void *data, int what)
{
	struct rf_far *far = data;
	RF_AUTO_BUF struct rf_buf body;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got;

	if (what & RF_LOOP_WRITE)
		say_due(far);
	rf_buf_init(&body, RF_WIRE_BODY);
	got = rf_wire_receive(far->fd, RF_WIRE_WARDEN, &body, &message, &err);
	if (got == -EAGAIN)
		return;
	if (got == 0 || got == -ECONNRESET) {
		rf_fail_say(&err, -ECONNRESET, "the warden is gone, and the box with it");
		rf_fail_hint(&err, "run it again; without a warden, ringfort makes the box itself");
		fail(far, &err);
	} else if (got < 0) {
		fail(far, &err);
	} else if (message.type == RF_WIRE_STARTED) {
		be_patient(far);
	} else if (message.type == RF_WIRE_REFUSED) {
		rf_wire_refused(&message, &err);
		fail(far, &err);
	} else if (message.type == RF_WIRE_ENDED) {
		if (take_result(far, &message, &err) < 0)
			fail(far, &err);
		else
			be_over(far);
	}
}

int rf_far_start(struct rf_far *far, struct rf_box *box, struct rf_loop *loop,
		 const struct rf_errand *errand, struct rf_err *err)
{
	int inner[3] = { -1, -1, -1 };
	RF_AUTO_FD int gateway = -1;
	int code;

	if (far->outward && rf_outward_hand_over(far->outward, &gateway, err) < 0)
		return err->code;

	for (int i = 0; i < 3; i++) {
		if (pipe2(box->stdio[i], O_CLOEXEC) < 0)
			return rf_fail(err, -errno, "make a pipe");
		inner[i] = box->stdio[i][i > 0];
	}
	fcntl(far->fd, F_SETFL, O_NONBLOCK);
	code = rf_client_run(far->fd, OF_RUN, errand, inner, gateway, err);
	for (int i = 0; i < 3; i++)
		rf_fd_done(&box->stdio[i][i > 0]);
	if (code < 0 || rf_loop_timer(loop, rf_loop_now() + RF_FAR_START_MS * MS, on_late, far,
				      &far->patience, err) < 0)
		return err->code;
	return rf_loop_watch(loop, far->fd, RF_LOOP_READ, on_message, far, &far->event, err);
}

void rf_far_signal(struct rf_far *far, int signal)
{
	far->signals |= 1ull << (signal - 1);
	say_due(far);
}

void rf_far_end(struct rf_far *far, enum rf_limit limit)
{
	if (!far->is_end_due)
		far->end_for = limit;
	far->is_end_due = true;
	say_due(far);
}
