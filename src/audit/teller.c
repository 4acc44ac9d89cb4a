/* Tells the user's watcher what happened: see teller.h. */
#include "audit/teller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/pack.h"
#include "wire/client.h"
#include "wire/wire.h"

void rf_teller_init(struct rf_teller *teller)
{
	*teller = (struct rf_teller){ .fd = -1 };
	rf_buf_init(&teller->out, RF_TELLER_MOST);
	rf_buf_init(&teller->in, RF_WIRE_ROOM);
}

void rf_teller_done(struct rf_teller *teller)
{
	rf_fd_done(&teller->fd);
	rf_buf_done(&teller->out);
	rf_buf_done(&teller->in);
}

int rf_teller_open(struct rf_teller *teller, struct rf_err *err)
{
	pid_t pid;

	rf_fd_done(&teller->fd);
	return rf_client_connect_to(RF_TELLER_SOCKET, "watcher", RF_TELLER_WAIT, &teller->fd, &pid,
				    err);
}

int rf_teller_try(struct rf_teller *teller, struct rf_err *err)
{
	const struct timeval most = { RF_TELLER_WAIT / 1000, RF_TELLER_WAIT % 1000 * 1000 };
	pid_t pid;

	rf_fd_done(&teller->fd);
	if (rf_client_connect_to(RF_TELLER_SOCKET, "watcher", 0, &teller->fd, &pid, err) < 0)
		return err->code;
	/* From here on it is as one that was waited for. */
	if (fcntl(teller->fd, F_SETFL, 0) == 0 &&
	    setsockopt(teller->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) == 0)
		return 0;
	rf_fail(err, -errno, "a socket");
	rf_fd_done(&teller->fd);
	return err->code;
}

bool rf_teller_is_cut(const struct rf_teller *teller)
{
	struct pollfd line = { .fd = teller->fd };

	return !rf_teller_is_open(teller) ||
	       (poll(&line, 1, 0) > 0 && line.revents & (POLLHUP | POLLERR));
}

int rf_teller_write(struct rf_buf *out, const struct rf_audit_event *event, struct rf_err *err)
{
	size_t before = out->len;
	uint32_t len;

	rf_pack_u32(out, 0);
	if (rf_audit_event_encode(event, out, err) < 0) {
		out->len = before;
		out->has_failed = false;
		return err->code;
	}
	len = (uint32_t)(out->len - before - sizeof(len));
	memcpy(out->data + before, &len, sizeof(len));
	return 0;
}

int rf_teller_add(struct rf_teller *teller, const struct rf_audit_event *event, struct rf_err *err)
{
	return rf_teller_write(&teller->out, event, err);
}

/* Waits for an answer and takes it.  One that cut the connection may have said why before. */
static int hear(struct rf_teller *teller, struct rf_wire_message *ret_answer, struct rf_err *err)
{
	struct pollfd wait = { .fd = teller->fd, .events = POLLIN };
	int got;

	do
		got = poll(&wait, 1, RF_TELLER_WAIT);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return rf_fail_say(err, -ETIMEDOUT, "the watcher does not answer");
	got = 0;
	for (int i = 0; i < 2 && got == 0; i++) /* that it was cut is news that comes first */
		got = rf_wire_receive(teller->fd, RF_WIRE_WATCHER, &teller->in, ret_answer, err);
	return got == 0 ? rf_fail_say(err, -ECONNRESET, "the watcher has ended") : got;
}

/* What is wrong with the watcher ends the connection. */
static int post(struct rf_teller *teller, enum rf_wire_type type, const void *body, size_t len,
		const int *fds, size_t fd_count, struct rf_err *err)
{
	int code;

	if (teller->fd < 0)
		return rf_fail_say(err, -ENOTCONN, "no watcher stands");
	code = rf_wire_send(teller->fd, type, ++teller->id, body, len, fds, fd_count, err);
	if (code == -EPIPE || code == -ECONNRESET) /* rf_teller_wait() hears why */
		return 0;
	if (code < 0)
		rf_fd_done(&teller->fd);
	return code;
}

static int answer_of(struct rf_teller *teller, enum rf_wire_type expected,
		     struct rf_wire_message *ret_answer, struct rf_err *err)
{
	int got = teller->fd < 0 ? rf_fail_say(err, -ENOTCONN, "no watcher stands")
				 : hear(teller, ret_answer, err);

	/* Answers that nobody waited for come first. */
	while (got > 0 && ret_answer->id != 0 && ret_answer->id < teller->id)
		got = hear(teller, ret_answer, err);
	if (got > 0 && ret_answer->id != teller->id && ret_answer->id != 0)
		got = rf_fail_say(err, -EPROTO, "the watcher answers something else");
	if (got < 0) {
		rf_fd_done(&teller->fd);
		return got;
	}
	if (ret_answer->type == RF_WIRE_LOST)
		return rf_wire_refused(ret_answer, err);
	if (ret_answer->type != expected)
		return rf_fail_say(err, -EPROTO, "the watcher says %s",
				   rf_wire_name(ret_answer->type));
	return 0;
}

int rf_teller_post(struct rf_teller *teller, struct rf_err *err)
{
	int code = post(teller, RF_WIRE_TELL, teller->out.data, teller->out.len, NULL, 0, err);

	rf_buf_clear(&teller->out);
	return code;
}

int rf_teller_wait(struct rf_teller *teller, uint64_t *ret_seq, struct rf_err *err)
{
	struct rf_wire_message answer;

	if (answer_of(teller, RF_WIRE_KEPT, &answer, err) < 0)
		return err->code;
	if (ret_seq)
		memcpy(ret_seq, answer.body, sizeof(*ret_seq));
	return 0;
}

int rf_teller_send(struct rf_teller *teller, uint64_t *ret_seq, struct rf_err *err)
{
	int code = rf_teller_post(teller, err);

	return code < 0 ? code : rf_teller_wait(teller, ret_seq, err);
}

int rf_teller_show(struct rf_teller *teller, const struct rf_buf *sight, int pidfd, int hand,
		   struct rf_err *err)
{
	const int fds[] = { pidfd, hand };

	return post(teller, RF_WIRE_LIVE, sight->data, sight->len, fds, hand < 0 ? 1 : 2, err);
}

int rf_teller_ask(struct rf_teller *teller, const char *words, size_t len, struct rf_buf *out,
		  struct rf_err *err)
{
	struct rf_wire_message answer;

	if (post(teller, RF_WIRE_ASK, words, len, NULL, 0, err) < 0 ||
	    answer_of(teller, RF_WIRE_TOLD, &answer, err) < 0)
		return err->code;
	rf_buf_add(out, answer.body, answer.len);
	return out->has_failed ? rf_fail(err, -ENOMEM, "an answer") : 0;
}
