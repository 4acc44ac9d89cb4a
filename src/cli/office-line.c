/* A line to the clerk of the user's server: see office-line.h. */
#include "cli/office-line.h"

#include <errno.h>
#include <poll.h>

#include "base/fd.h"
#include "base/pack.h"
#include "wire/client.h"

#define ANSWER_MS 60000
#define ASK_MOST  65536

/* -ETIMEDOUT: it did not come. */
static int receive(int fd, enum rf_wire_side from, struct rf_buf *in,
		   struct rf_wire_message *ret_message, struct rf_err *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int got;

	do
		got = poll(&wait, 1, ANSWER_MS);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return rf_fail_say(err, -ETIMEDOUT, "the server does not answer");
	got = rf_wire_receive(fd, from, in, ret_message, err);
	if (got == 0) {
		rf_fail_say(err, -ECONNRESET, "the server has hung up");
		return rf_fail_hint(err, "look whether it was done, and try again");
	}
	return got < 0 ? got : 0;
}

static int take_line(struct rf_office_line *line, struct rf_wire_message *message,
		     struct rf_err *err)
{
	struct rf_pack_reader in;

	if (message->type == RF_WIRE_FRONT_CLERK) {
		line->fd = rf_fd_take(&message->fds[0]);
		return 0;
	}
	rf_pack_read_init(&in, message->body, message->len);
	rf_pack_read_err(&in, err);
	if (message->type != RF_WIRE_FRONT_STRANGER || !rf_pack_is_whole(&in) || err->code >= 0)
		return rf_fail_say(err, -EBADMSG, "the server says what it should not");
	return err->code;
}

int rf_office_line_open(struct rf_office_line *line, struct rf_err *err)
{
	RF_AUTO_FD int server = -1;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err ignored = RF_ERR_INIT;
	pid_t pid;
	int code;

	line->fd = -1;
	rf_buf_init(&line->in, RF_WIRE_ROOM);
	code = rf_client_connect_to(RF_CLERK_TERMS_SOCKET, "server", RF_CLIENT_WAIT_MS, &server,
				    &pid, err);
	if (code == -ENOENT || code == -ECONNREFUSED) {
		rf_fail_say(err, code, "no server of this user's runs");
		return rf_fail_hint(err, "`ringfort serve` starts one; who started it can ask it");
	}
	if (code < 0)
		return code;
	/* Who was turned away meanwhile hears why, and not that it can't ask. */
	rf_wire_send(server, RF_WIRE_HELLO, 0, NULL, 0, NULL, 0, &ignored);
	if (receive(server, RF_WIRE_HOST, &line->in, &message, err) < 0)
		return err->code;
	return take_line(line, &message, err);
}

void rf_office_line_close(struct rf_office_line *line)
{
	rf_fd_done(&line->fd);
	rf_buf_done(&line->in);
}

int rf_office_line_ask(struct rf_office_line *line, const struct rf_clerk_ask *ask,
		       struct rf_wire_message *ret_answer, struct rf_err *err)
{
	struct rf_wire_message answer = RF_WIRE_NOTHING;
	RF_AUTO_BUF struct rf_buf body;
	int code;

	rf_buf_init(&body, ASK_MOST);
	rf_clerk_terms_pack_ask(ask, &body);
	code = rf_wire_send(line->fd, RF_WIRE_CLERK_ASK, 1, body.data, body.len, NULL, 0, err);
	if (code == -EPIPE || code == -ECONNRESET) { /* its clerk has died meanwhile */
		rf_fail_say(err, -ECONNRESET, "the server has hung up");
		return rf_fail_hint(err, "try again");
	}
	if (code < 0 || receive(line->fd, RF_WIRE_CLERK, &line->in, &answer, err) < 0)
		return err->code;
	if (answer.type == RF_WIRE_REFUSED) {
		code = rf_wire_refused(&answer, err);
		rf_wire_done(&answer);
		return code;
	}
	*ret_answer = answer;
	return 0;
}
