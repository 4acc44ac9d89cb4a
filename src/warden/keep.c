/* Boxes that are kept, and who asks for them: see keep.h. */
#include "warden/keep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define MS      1000000ull
#define LOOK_NS 1000000000ull

bool rf_keep_is_busy(const struct client *client, struct rf_err *err)
{
	if (!client->work && !client->program && !client->closes && !client->reach &&
	    !client->notice)
		return false;
	rf_fail_say(err, -EBUSY, "this connection has a run already");
	rf_fail_hint(err, "make another, or wait for its end");
	return true;
}

void rf_keep_send_ended(struct client *client, const struct rf_result *result, uint64_t id)
{
	struct rf_buf *out = &warden_of(client)->out;
	struct rf_err err;

	rf_buf_clear(out);
	rf_result_pack(result, out);
	if (out->has_failed || rf_wire_send(client->visitor.fd, RF_WIRE_ENDED, id, out->data,
					    out->len, NULL, 0, &err) < 0)
		client->is_gone = true; /* it does not read, or is no longer there */
}

void rf_keep_tell_closers(const struct client *keeper)
{
	for (struct rf_door_visitor *at = keeper->visitor.door->visitors; at; at = at->next) {
		struct client *client = (struct client *)at;

		if (client->closes != keeper)
			continue;
		client->closes = NULL;
		rf_keep_send_ended(client, &keeper->work->result, client->closes_id);
	}
}

int rf_keep_find(const struct client *client, const char *id, struct client **ret_keeper,
		 struct rf_err *err)
{
	for (struct rf_door_visitor *at = client->visitor.door->visitors; at; at = at->next) {
		struct client *keeper = (struct client *)at;

		if (keeper->is_standing && rf_bound_sees(client->bound, keeper->bound) &&
		    strcmp(keeper->work->life.box.id, id) == 0) {
			*ret_keeper = keeper;
			keeper->used_ns = rf_loop_now();
			return 0;
		}
	}
	rf_fail_say(err, -ENOENT, "no box %.20s is kept", id);
	return rf_fail_hint(err, "its time may be over, or somebody has closed it");
}

int rf_keep_exec(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_ward_line line = { client->visitor.fd, message->id, &client->program };
	struct client *keeper = NULL;
	struct rf_exec exec;
	int code;

	if (rf_door_demand(&client->visitor, err) < 0 || rf_keep_is_busy(client, err) ||
	    rf_exec_unpack(message->body, message->len, &exec, err) < 0)
		return err->code;
	code = rf_keep_find(client, exec.box, &keeper, err);
	if (code == 0 && keeper->work->plan->recorded == RF_RECORDED_ALWAYS)
		code = rf_notice_begin(client, keeper, message, &exec, err);
	else if (code == 0)
		code = rf_ward_exec(keeper->ward, &exec, message->fds, message->fd_count, &line, 0,
				    err);
	rf_exec_done(&exec);
	return code;
}

int rf_keep_attach(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_ward_line line = { client->visitor.fd, message->id, &client->program };
	struct client *keeper = NULL;
	struct rf_wire_ref ref;

	if (rf_door_demand(&client->visitor, err) < 0 || rf_keep_is_busy(client, err) ||
	    rf_wire_ref(message, &ref, err) < 0 || rf_keep_find(client, ref.id, &keeper, err) < 0)
		return err->code;
	return rf_ward_attach(keeper->ward, ref.number, &line, err);
}

int rf_keep_reach(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	const struct rf_reach_line line = { client->visitor.fd, message->id, &client->reach };
	struct client *keeper = NULL;
	struct rf_wire_ref ref;

	if (rf_door_demand(&client->visitor, err) < 0 || rf_keep_is_busy(client, err) ||
	    rf_wire_ref(message, &ref, err) < 0 || rf_keep_find(client, ref.id, &keeper, err) < 0)
		return err->code;
	return rf_ward_reach(keeper->ward, ref.number, &line, err);
}

/* All that are kept, or the one with this id. */
static int send_boxes(struct client *client, uint64_t id, const char *box, struct rf_err *err)
{
	struct rf_buf *out = &warden_of(client)->out;
	struct rf_exec_box row;

	rf_buf_clear(out);
	for (struct rf_door_visitor *at = client->visitor.door->visitors; at; at = at->next) {
		const struct client *keeper = (const struct client *)at;

		if (!keeper->is_standing || !rf_bound_sees(client->bound, keeper->bound) ||
		    (box[0] && strcmp(keeper->work->life.box.id, box) != 0))
			continue;
		rf_ward_describe(keeper->ward, &row);
		row.idle_ms = keeper->idle_ms;
		snprintf(row.note, sizeof(row.note), "%s", keeper->label ? keeper->label : "");
		rf_exec_box_pack(&row, out);
	}
	if (out->has_failed)
		return rf_fail(err, -ENOMEM, "a list of boxes");
	return rf_wire_send(client->visitor.fd, RF_WIRE_BOXES, id, out->data, out->len, NULL, 0,
			    err);
}

/* ------------------------------------------------------------- idle ones */

/* A program that runs is use; and so often it is looked whether one does. */
static void on_idle(void *data, int what)
{
	struct client *keeper = data;
	uint64_t now = rf_loop_now(), idle_ns = keeper->idle_ms * MS, look_ns = idle_ns;

	(void)what;
	if (rf_ward_is_busy(keeper->ward)) {
		keeper->used_ns = now;
		look_ns = look_ns < LOOK_NS ? look_ns : LOOK_NS;
		rf_event_again(keeper->idle_timer, now + look_ns);
	} else if (now < keeper->used_ns + idle_ns) {
		rf_event_again(keeper->idle_timer, keeper->used_ns + idle_ns);
	} else {
		keeper->ended_why = "idle";
		keeper->work->life.ending.forwarded = SIGKILL; /* asked for: nothing has failed */
		rf_life_end(&keeper->work->life);
	}
}

/* One that can't be looked after ends: it would stay for ever. */
void rf_keep_begin(struct client *keeper)
{
	struct rf_err err = RF_ERR_INIT;

	keeper->used_ns = rf_loop_now();
	rf_owner_tell(keeper, NULL);
	if (keeper->idle_ms &&
	    rf_loop_timer(warden_of(keeper)->loop, keeper->used_ns + keeper->idle_ms * MS, on_idle,
			  keeper, &keeper->idle_timer, &err) < 0)
		rf_life_end(&keeper->work->life);
}

void rf_keep_end(struct client *keeper)
{
	const struct rf_result *result = &keeper->work->result;

	rf_owner_tell(keeper,
		      keeper->ended_why ? keeper->ended_why : rf_result_status(result->status));
	keeper->ended_why = NULL;
	rf_event_cancel(keeper->idle_timer);
	keeper->idle_timer = NULL;
}

/* ------------------------------------------------------------- a box as a whole */

static int close_box(struct client *client, struct client *keeper, uint64_t id)
{
	client->closes = keeper;
	client->closes_id = id;
	keeper->ended_why = "deleted";
	keeper->work->life.ending.forwarded = SIGKILL; /* asked for: nothing has failed */
	rf_life_end(&keeper->work->life);
	return 0;
}

/* For now: until who asked says so or is gone, and unless somebody else wants it for good. */
static int freeze(struct client *client, struct client *keeper, bool is_frozen, bool is_for_now,
		  struct rf_err *err)
{
	if (is_for_now && (is_frozen ? rf_ward_is_frozen(keeper->ward) : keeper->still_for == NULL))
		return 0;
	if (rf_ward_freeze(keeper->ward, is_frozen, err) < 0)
		return err->code;
	keeper->still_for = is_frozen && is_for_now ? client : NULL;
	return 0;
}

void rf_keep_leave(const struct client *client)
{
	for (struct rf_door_visitor *at = client->visitor.door->visitors; at; at = at->next) {
		struct client *keeper = (struct client *)at;
		struct rf_err err = RF_ERR_INIT;

		if (keeper->still_for != client)
			continue;
		keeper->still_for = NULL;
		if (keeper->is_standing)
			rf_ward_freeze(keeper->ward, false, &err); /* or it has just ended */
	}
}

/* What is done to a box as a whole. */
int rf_keep_box(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct client *keeper = NULL;
	struct rf_wire_ref ref;
	int code = 0;

	if (rf_door_demand(&client->visitor, err) < 0 || rf_wire_ref(message, &ref, err) < 0 ||
	    ((message->type != RF_WIRE_LIST || ref.id[0]) &&
	     rf_keep_find(client, ref.id, &keeper, err) < 0))
		return err->code;
	if (message->type == RF_WIRE_CLOSE)
		return rf_keep_is_busy(client, err) ? err->code
						    : close_box(client, keeper, message->id);
	if (message->type == RF_WIRE_FREEZE || message->type == RF_WIRE_THAW)
		code = freeze(client, keeper, message->type == RF_WIRE_FREEZE,
			      ref.number == RF_WIRE_FOR_NOW, err);
	else if (message->type == RF_WIRE_RENEW)
		code = rf_life_renew(&keeper->work->life, ref.time_ms, err);
	return code < 0 ? code : send_boxes(client, message->id, ref.id, err);
}

/* Never to more than the connection's ceiling: what the gateway was told at its beginning bounds the hand. */
int rf_keep_lend(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct client *keeper = NULL;
	struct rf_wire_ref ref;
	RF_AUTO_FD int hand = -1;

	if (rf_door_demand(&client->visitor, err) < 0 || rf_wire_ref(message, &ref, err) < 0 ||
	    rf_keep_find(client, ref.id, &keeper, err) < 0)
		return err->code;
	if (keeper->work->outward.fd < 0) {
		rf_fail_say(err, -ENOTCONN, "box %.20s has no network", ref.id);
		return rf_fail_hint(err, "make another one, whose policy has `network`");
	}
	if (keeper->work->outward.is_over) {
		rf_fail_say(err, -ENOTCONN, "the gateway of box %.20s has ended", ref.id);
		return rf_fail_hint(err, "it has no network any more: make another one");
	}
	if (rf_outward_lend(&keeper->work->outward, keeper->bound || keeper->work->is_bounded,
			    &hand, err) < 0)
		return err->code;
	return rf_wire_send(client->visitor.fd, RF_WIRE_LENT, message->id, NULL, 0, &hand, 1, err);
}
