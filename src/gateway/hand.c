/* A hand on a box's policy: see hand.h. */
#include "gateway/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "gateway/annals.h"
#include "gateway/outlet.h"
#include "policy/net-change.h"

#define TURN  4
#define HANDS 4

struct rf_hand {
	struct rf_hand *next; /* of the outlet's */
	struct rf_outlet *outlet;
	int fd;
	struct rf_event *event;
	struct rf_buf buf;
	bool is_bounded;
};

static void free_hand(struct rf_hand *hand)
{
	rf_event_cancel(hand->event);
	rf_wire_close(&hand->fd);
	rf_buf_done(&hand->buf);
	free(hand);
}

/* Takes those away that are beyond the first `count`. */
static void keep_first(struct rf_outlet *outlet, size_t count)
{
	struct rf_hand **at = &outlet->hands;

	for (; count > 0 && *at; count--)
		at = &(*at)->next;
	while (*at) {
		struct rf_hand *hand = *at;

		*at = hand->next;
		free_hand(hand);
	}
}

void rf_hand_free_all(struct rf_outlet *outlet)
{
	keep_first(outlet, 0);
}

static void let_go(struct rf_hand *hand)
{
	struct rf_hand **at = &hand->outlet->hands;

	while (*at != hand)
		at = &(*at)->next;
	*at = hand->next;
	free_hand(hand);
}

/* What holds now; false when the other end does not take it. */
static bool answer(const struct rf_hand *hand, uint64_t id)
{
	const struct rf_outlet *outlet = hand->outlet;
	struct rf_err err;

	return rf_wire_send(hand->fd, RF_WIRE_GATE_POLICY, id, outlet->policy.data,
			    outlet->policy.len, NULL, 0, &err) == 0;
}

/* Beyond which it does not lead; NULL: nothing bounds it. */
static const struct rf_policy *most_of(const struct rf_hand *hand)
{
	if (hand->outlet->most)
		return hand->outlet->most;
	return hand->is_bounded ? hand->outlet->opened : NULL;
}

/* What happened, where that is kept. */
static bool tell(const struct rf_hand *hand, const struct rf_wire_message *message)
{
	const struct rf_outlet *outlet = hand->outlet;
	struct rf_page_wish wish;
	struct rf_err err = RF_ERR_INIT, ignored;
	RF_AUTO_BUF struct rf_buf page;

	rf_buf_init(&page, RF_WIRE_PACKET);
	memcpy(&wish, message->body, sizeof(wish));
	if (!outlet->annals) {
		rf_fail_say(&err, -EOPNOTSUPP, "of this box nothing is kept at the gateway");
		return rf_wire_refuse(hand->fd, message->id, &err, &ignored) == 0;
	}
	rf_annals_write(outlet->annals, &wish, rf_note_counts(outlet->note), &page);
	return !page.has_failed && rf_wire_send(hand->fd, RF_WIRE_GATE_LOGGED, message->id,
						page.data, page.len, NULL, 0, &err) == 0;
}

static int change(const struct rf_hand *hand, const struct rf_wire_message *message,
		  struct rf_err *err)
{
	struct rf_outlet *outlet = hand->outlet;
	RF_AUTO_BUF struct rf_buf text;
	struct rf_policy *policy = NULL;
	int code;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (rf_net_change_make(outlet->opened, message->body, message->len, most_of(hand),
			       message->type == RF_WIRE_GATE_CHANGE_WHOLE, &policy, err) < 0)
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
	if (message->type == RF_WIRE_GATE_LOG)
		return tell(hand, message);
	if (message->type != RF_WIRE_GATE_CHANGE && message->type != RF_WIRE_GATE_CHANGE_WHOLE)
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
			let_go(hand);
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
		free_hand(hand);
		return err->code;
	}
	hand->next = outlet->hands;
	outlet->hands = hand;
	keep_first(outlet, HANDS);
	return 0;
}
