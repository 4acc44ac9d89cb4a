/* A hand on the network of a box that lives: see lever.h. */
#include "watch/lever.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "wire/wire.h"

#define AT_ONCE 8 /* messages that are read before somebody else is served */

void rf_lever_init(struct rf_lever *lever)
{
	*lever = (struct rf_lever){ .fd = -1 };
}

void rf_lever_done(struct rf_lever *lever)
{
	rf_wire_close(&lever->fd);
	for (size_t i = 0; i < RF_LEVER_ANSWERS; i++)
		free(lever->answers[i].text);
	rf_lever_init(lever);
}

void rf_lever_take(struct rf_lever *lever, int *fd)
{
	rf_lever_done(lever);
	lever->fd = rf_fd_take(fd);
	if (lever->fd >= 0)
		fcntl(lever->fd, F_SETFL, O_NONBLOCK); /* whatever it is: nobody makes us wait */
}

static struct rf_lever_answer *place_of(struct rf_lever *lever, uint64_t number)
{
	struct rf_lever_answer *answer = &lever->answers[number % RF_LEVER_ANSWERS];

	return number > 0 && answer->number == number ? answer : NULL;
}

static int ask(struct rf_lever *lever, enum rf_wire_type type, const char *text,
	       uint64_t *ret_number, struct rf_err *err)
{
	uint64_t number = lever->asked + 1;
	struct rf_lever_answer *answer = &lever->answers[number % RF_LEVER_ANSWERS];

	if (lever->fd < 0) {
		rf_fail_say(err, -EOPNOTSUPP, "this box has no network that could change");
		return rf_fail_hint(err, "only what was started with --net HOST has a gateway");
	}
	if (rf_wire_send(lever->fd, type, number, text, text ? strlen(text) : 0, NULL, 0, err) < 0)
		return rf_fail_in(err, "the gateway of that box");
	free(answer->text);
	*answer = (struct rf_lever_answer){ .number = number,
					    .is_change = type == RF_WIRE_GATE_CHANGE };
	*ret_number = lever->asked = number;
	return 0;
}

int rf_lever_show(struct rf_lever *lever, uint64_t *ret_number, struct rf_err *err)
{
	return ask(lever, RF_WIRE_GATE_SHOW, NULL, ret_number, err);
}

int rf_lever_change(struct rf_lever *lever, const char *text, uint64_t *ret_number,
		    struct rf_err *err)
{
	return ask(lever, RF_WIRE_GATE_CHANGE, text, ret_number, err);
}

/* Keeps what the gateway said, if somebody asked. */
static void keep(struct rf_lever *lever, const struct rf_wire_message *message)
{
	struct rf_lever_answer *answer = place_of(lever, message->id);

	if (!answer || answer->is_there)
		return;
	answer->is_there = true;
	answer->why = RF_ERR_INIT;
	if (message->type == RF_WIRE_GATE_POLICY)
		answer->text = strndup(message->body, message->len);
	else if (message->type == RF_WIRE_REFUSED)
		rf_wire_refused(message, &answer->why);
	if (!answer->text && !answer->why.code)
		rf_fail_say(&answer->why, -EPROTO, "its gateway answers something else");
}

static void hear(struct rf_lever *lever)
{
	RF_AUTO_BUF struct rf_buf buf;
	int code = 1;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	for (int i = 0; i < AT_ONCE && lever->fd >= 0 && code > 0; i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_err err = RF_ERR_INIT;

		code = rf_wire_receive(lever->fd, RF_WIRE_GATE, &buf, &message, &err);
		if (code > 0)
			keep(lever, &message);
		else if (code != -EAGAIN)
			rf_wire_close(&lever->fd);
	}
}

int rf_lever_answer(struct rf_lever *lever, uint64_t number, bool *ret_is_change,
		    struct rf_buf *out, struct rf_err *err)
{
	struct rf_lever_answer *answer = place_of(lever, number);
	int code;

	*ret_is_change = answer && answer->is_change;
	if (!answer)
		return rf_fail_say(err, -ESRCH, "nobody asked that of the box's gateway");
	if (!answer->is_there)
		hear(lever);
	if (!answer->is_there && lever->fd < 0)
		return rf_fail_say(err, -ECONNRESET, "the gateway of that box has ended");
	if (!answer->is_there)
		return rf_fail_say(err, -EAGAIN, "its gateway has not answered yet");
	code = answer->why.code;
	if (code < 0)
		*err = answer->why;
	else
		rf_buf_puts(out, answer->text);
	free(answer->text);
	*answer = (struct rf_lever_answer){ 0 };
	return code;
}
