/* A conversation with the watcher that nobody has to wait for: see inquiry.h. */
#include "top/inquiry.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>

#include "base/fd.h"
#include "wire/client.h"
#include "wire/wire.h"

#define SOCKET     "watch.sock" /* in $RUN */
#define MOST_WORDS 4096         /* bytes of a question */
#define WAIT_MS    200          /* for a watcher that takes no further question */

void rf_inquiry_init(struct rf_inquiry *inquiry)
{
	*inquiry = (struct rf_inquiry){ .fd = -1 };
	rf_buf_init(&inquiry->in, RF_WIRE_ROOM);
}

void rf_inquiry_close(struct rf_inquiry *inquiry)
{
	rf_fd_done(&inquiry->fd);
	inquiry->is_asked = false;
}

void rf_inquiry_done(struct rf_inquiry *inquiry)
{
	rf_inquiry_close(inquiry);
	rf_buf_done(&inquiry->in);
}

int rf_inquiry_open(struct rf_inquiry *inquiry, struct rf_err *err)
{
	pid_t pid;
	int code;

	if (inquiry->fd >= 0)
		return 0;
	code = rf_client_connect_to(SOCKET, "watcher", WAIT_MS, &inquiry->fd, &pid, err);
	if (code == -ENOENT || code == -ECONNREFUSED) {
		rf_fail_say(err, code,
			    "no watcher stands, and without one nobody knows what lives");
		rf_fail_hint(err, "start one: ringfort watch &");
	}
	return code;
}

int rf_inquiry_ask(struct rf_inquiry *inquiry, const char *const *words, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf line;
	int code;

	rf_buf_init(&line, MOST_WORDS);
	for (; *words; words++)
		rf_buf_add(&line, *words, strlen(*words) + 1);
	if (line.has_failed)
		return rf_fail(err, -E2BIG, "ask the watcher");
	code = rf_wire_send(inquiry->fd, RF_WIRE_ASK, ++inquiry->id, line.data, line.len, NULL, 0,
			    err);
	if (code == -EPIPE || code == -ECONNRESET) /* rf_inquiry_take() hears why */
		code = 0;
	if (code < 0)
		rf_inquiry_close(inquiry);
	inquiry->is_asked = code == 0;
	return code;
}

int rf_inquiry_take(struct rf_inquiry *inquiry, struct rf_buf *out, struct rf_err *err)
{
	struct rf_wire_message answer;
	int got = 0;

	for (int i = 0; i < 2 && got == 0; i++) /* that it was cut is news that comes before why */
		got = rf_wire_receive(inquiry->fd, RF_WIRE_WATCHER, &inquiry->in, &answer, err);
	if (got == 0)
		got = rf_fail_say(err, -ECONNRESET, "the watcher has ended");
	else if (got > 0 && answer.id != 0 && answer.id != inquiry->id)
		got = rf_fail_say(err, -EPROTO, "the watcher answers something else");
	if (got > 0 && answer.type == RF_WIRE_LOST && answer.id != 0) {
		inquiry->is_asked = false;
		return rf_wire_refused(&answer, err);
	}
	if (got > 0 && answer.type == RF_WIRE_LOST) /* it does not talk to us at all */
		got = rf_wire_refused(&answer, err);
	else if (got > 0 && answer.type != RF_WIRE_TOLD)
		got = rf_fail_say(err, -EPROTO, "the watcher says %s", rf_wire_name(answer.type));
	if (got > 0) {
		rf_buf_add(out, answer.body, answer.len);
		got = out->has_failed ? rf_fail(err, -ENOMEM, "an answer") : 1;
	}
	inquiry->is_asked = false;
	if (got < 0)
		rf_inquiry_close(inquiry);
	return got;
}

int rf_inquiry_wait(struct rf_inquiry *inquiry, const char *const *words, int timeout_ms,
		    struct rf_buf *out, struct rf_err *err)
{
	struct pollfd wait;
	int got;

	if (rf_inquiry_open(inquiry, err) < 0 || rf_inquiry_ask(inquiry, words, err) < 0)
		return err->code;
	wait = (struct pollfd){ .fd = inquiry->fd, .events = POLLIN };
	do
		got = poll(&wait, 1, timeout_ms);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		rf_inquiry_close(inquiry);
		return rf_fail_say(err, -ETIMEDOUT, "the watcher does not answer");
	}
	got = rf_inquiry_take(inquiry, out, err);
	return got < 0 ? got : 0;
}
