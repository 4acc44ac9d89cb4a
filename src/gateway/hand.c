/* A hand on a box's policy: see hand.h. */
#include "gateway/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/limits.h"
#include "gateway/outlet.h"
#include "policy/net-change.h"

#define TURN 4

struct rf_hand {
	struct rf_outlet *outlet;
	int fd;
	struct rf_event *event;
	struct rf_buf buf;
	bool is_bounded;
};

void rf_hand_free(struct rf_hand *hand)
{
	if (!hand)
		return;
	rf_event_cancel(hand->event);
	rf_wire_close(&hand->fd);
	rf_buf_done(&hand->buf);
	free(hand);
}

/* What holds now; false when the other end does not take it. */
static bool answer(const struct rf_hand *hand, uint64_t id)
{
	const struct rf_outlet *outlet = hand->outlet;
	struct rf_err err;

	return rf_wire_send(hand->fd, RF_WIRE_GATE_POLICY, id, outlet->policy.data,
			    outlet->policy.len, NULL, 0, &err) == 0;
}

static int change(const struct rf_hand *hand, const struct rf_wire_message *message,
		  struct rf_err *err)
{
	struct rf_outlet *outlet = hand->outlet;
	RF_AUTO_BUF struct rf_buf text;
	struct rf_policy *policy = NULL;
	int code;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (rf_net_change_make(outlet->opened, message->body, message->len, hand->is_bounded,
			       &policy, err) < 0)
		return err->code;
	rf_policy_format_net(policy, &text);
	rf_policy_free(policy);
	code = text.has_failed ? rf_fail(err, -ENOMEM, "a policy's text")
			       : rf_outlet_change(outlet, text.data, text.len, err);
	return code;
}

static bool serve(const struct rf_hand *hand, const struct rf_wire_message *message)
{
	struct rf_err err = RF_ERR_INIT, ignored;

	if (message->type == RF_WIRE_GATE_SHOW)
		return answer(hand, message->id);
	if (message->type != RF_WIRE_GATE_CHANGE)
		return false;
	if (change(hand, message, &err) < 0)
		return rf_wire_refuse(hand->fd, message->id, &err, &ignored) == 0;
	return answer(hand, message->id);
}

static void on_event(void *data, int what)
{
	struct rf_hand *hand = data;

	(void)what;
	for (int i = 0; i < TURN; i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err;
		int code = rf_wire_receive(hand->fd, RF_WIRE_TENANT, &hand->buf, &message, &err);

		if (code == -EAGAIN)
			return;
		if (code <= 0 || !serve(hand, &message)) {
			hand->outlet->hand = NULL;
			rf_hand_free(hand);
			return;
		}
	}
}

int rf_hand_new(struct rf_outlet *outlet, bool is_bounded, int *fd, struct rf_err *err)
{
	struct rf_hand *hand = calloc(1, sizeof(*hand));

	if (!hand || fcntl(*fd, F_SETFL, O_NONBLOCK) < 0) {
		free(hand);
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "a hand on a box's policy");
	}
	*hand = (struct rf_hand){ .outlet = outlet,
				  .fd = rf_fd_take(fd),
				  .is_bounded = is_bounded };
	rf_buf_init(&hand->buf, RF_WIRE_ROOM);
	if (rf_loop_watch(outlet->gateway->loop, hand->fd, RF_LOOP_READ, on_event, hand,
			  &hand->event, err) < 0) {
		rf_hand_free(hand);
		return err->code;
	}
	rf_hand_free(outlet->hand);
	outlet->hand = hand;
	return 0;
}
