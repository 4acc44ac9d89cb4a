/* A program in a sandbox that somebody has a WebSocket to: see parley.h. */
#include "server/parley.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "result/result.h"
#include "server/wsline.h"

#define SEC        1000000000ull
#define ORDER_S    30 /* seconds until the first message */
#define MOST       1024
#define MOST_OWN   256          /* of one tenant */
#define BACKLOG    (256 * 1024) /* of a terminal, for who comes back to it */
#define PIPE_BYTES (256 * 1024)
#define INPUT_MOST (8u << 20) /* of input that waits: a whole message, and what came behind it */

/*
 * AWAITED  its first message has not come
 * RUNNING  there is a job
 * ENDED    there is a result, for who comes back to it
 */
enum state {
	AWAITED,
	RUNNING,
	ENDED
};

struct rf_parley {
	struct rf_parley *next, **at;
	struct rf_front *front;
	struct rf_holder *holder;
	struct rf_holder
		*guest; /* whose its connection is, where another key came to it; or NULL */
	char box[RF_ROUTE_PART];
	enum state state;
	struct rf_wsline *line; /* or NULL: nobody is connected */
	struct rf_job *job;
	struct rf_order order;
	uint32_t number;
	int input; /* where what comes in is written to, or -1 */
	struct rf_event *input_event;
	struct rf_buf unread; /* input that there is no room for yet */
	bool has_input_ended; /* once that is written */
	struct rf_buf early;  /* output that came before its number */
	struct rf_buf backlog;
	uint64_t written; /* bytes of a terminal, all in all */
	struct rf_buf result;
	struct rf_deadline limit; /* for the first message; for somebody to come back */
};

static void free_parley(struct rf_parley *s)
{
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	s->front->parley_count--;
	rf_deadline_done(&s->limit);
	rf_event_cancel(s->input_event);
	rf_fd_done(&s->input);
	rf_job_free(s->job);
	rf_order_done(&s->order);
	rf_buf_done(&s->unread);
	rf_buf_done(&s->early);
	rf_buf_done(&s->backlog);
	rf_buf_done(&s->result);
	rf_holder_unref(s->holder);
	rf_holder_unref(s->guest);
	free(s);
}

/* Says why, and ends. */
static void end_with(struct rf_parley *s, uint16_t code, const char *reason)
{
	rf_wsline_close(s->line, code, reason);
	s->line = NULL;
	free_parley(s);
}

static void say(struct rf_parley *s, const struct rf_buf *text)
{
	if (s->line && !text->has_failed)
		rf_wsline_say(s->line, (struct rf_span){ text->data, text->len });
}

static void refuse(struct rf_parley *s, const struct rf_api_error *error)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 16 * 1024);
	rf_api_error_format(error, &text);
	say(s, &text);
	end_with(s, rf_api_error_status(error->code) >= 500 ? RF_WSLINE_FAILED : RF_WSLINE_REFUSED,
		 error->message);
}

static void refuse_with(struct rf_parley *s, const struct rf_err *err)
{
	struct rf_api_error error;

	rf_api_error_of(&error, err, err->code == -ENOENT ? "id" : NULL);
	refuse(s, &error);
}

/* ------------------------------------------------------------- what it writes */

static void keep_output(struct rf_parley *s, const char *bytes, size_t len)
{
	size_t over;

	s->written += len;
	if (len > BACKLOG) {
		bytes += len - BACKLOG;
		len = BACKLOG;
	}
	over = s->backlog.len + len > BACKLOG ? s->backlog.len + len - BACKLOG : 0;
	if (over > 0) {
		memmove(s->backlog.data, s->backlog.data + over, s->backlog.len - over);
		s->backlog.len -= over;
	}
	rf_buf_add(&s->backlog, bytes, len);
}

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_parley *s = data;

	if (s->order.has_terminal)
		keep_output(s, bytes, len);
	if (!s->number) { /* pipes are faster than the warden, who says that it has started */
		uint32_t head[2] = { (uint32_t)stream, (uint32_t)len };
		size_t before = s->early.len;

		rf_buf_add(&s->early, head, sizeof(head));
		rf_buf_add(&s->early, bytes, len);
		if (s->early.has_failed) /* all of a piece, or none */
			s->early.len = before;
	} else if (s->line) {
		rf_wsline_send(s->line, (char)stream, (struct rf_span){ bytes, len });
		if (rf_wsline_is_full(s->line))
			rf_job_pause(s->job, true);
	}
}

/* What it wrote before it was known to have started. */
static void send_early(struct rf_parley *s)
{
	uint32_t head[2];

	for (size_t at = 0; s->line && at + sizeof(head) <= s->early.len; at += head[1]) {
		memcpy(head, s->early.data + at, sizeof(head));
		at += sizeof(head);
		if (head[1] > s->early.len - at)
			break;
		rf_wsline_send(s->line, (char)head[0],
			       (struct rf_span){ s->early.data + at, head[1] });
	}
	rf_buf_done(&s->early);
}

static void on_started(void *data)
{
	struct rf_parley *s = data;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 256);
	s->number = rf_job_number(s->job);
	rf_buf_printf(&text, "{\"started\": {\"number\": %u}}", s->number);
	say(s, &text);
	send_early(s);
}

static void tell_result(struct rf_parley *s)
{
	if (!s->line)
		return;
	say(s, &s->result);
	end_with(s, RF_WSLINE_DONE, "");
}

static void on_over(void *data)
{
	struct rf_parley *s = data;
	const struct rf_result *result = rf_job_result(s->job);

	if (rf_job_is_refused(s->job)) {
		struct rf_err err = result->error;

		refuse_with(s, &err);
		return;
	}
	s->state = ENDED;
	rf_buf_puts(&s->result, "{\"result\": ");
	rf_result_json(result, false, &s->result);
	while (s->result.len && s->result.data[s->result.len - 1] == '\n')
		s->result.len--;
	rf_buf_puts(&s->result, "}");
	rf_event_cancel(s->input_event);
	s->input_event = NULL;
	rf_fd_done(&s->input);
	rf_job_free(s->job);
	s->job = NULL;
	tell_result(s);
}

static const struct rf_job_ops job_ops = { .on_output = on_output,
					   .on_started = on_started,
					   .on_end = on_over };

/* ------------------------------------------------------------- what is written to it */

/* Writes what the program has room for, and reads no more until all of it is written. */
static void push_input(struct rf_parley *s)
{
	size_t done = 0;

	while (s->input >= 0 && done < s->unread.len) {
		ssize_t n = write(s->input, s->unread.data + done, s->unread.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) { /* it reads no more */
			rf_event_cancel(s->input_event);
			s->input_event = NULL;
			rf_fd_done(&s->input);
			break;
		}
		done += (size_t)n;
	}
	if (s->input < 0)
		done = s->unread.len;
	if (done > 0 && done < s->unread.len)
		memmove(s->unread.data, s->unread.data + done, s->unread.len - done);
	s->unread.len -= done;
	if (s->unread.len == 0 && s->has_input_ended) {
		rf_event_cancel(s->input_event);
		s->input_event = NULL;
		rf_fd_done(&s->input);
	}
	if (s->input_event)
		rf_event_want(s->input_event, s->unread.len > 0 ? RF_LOOP_WRITE : 0);
	if (s->line)
		rf_wsline_pause(s->line, s->unread.len > 0);
}

static void on_input_room(void *data, int what)
{
	(void)what;
	push_input(data);
}

/* Behind its end nothing is input any more. */
static void take_input(struct rf_parley *s, const char *bytes, size_t len, bool is_last)
{
	if (!s->has_input_ended && len > 0)
		rf_buf_add(&s->unread, bytes, len);
	s->has_input_ended |= is_last;
	if (s->unread.has_failed)
		end_with(s, RF_WSLINE_LARGE, "too much input waits");
	else
		push_input(s);
}

static int lay_pipe(struct rf_parley *s, int *ret_end, struct rf_err *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return rf_fail(err, -errno, "a pipe");
	*ret_end = pair[0];
	s->input = pair[1];
	fcntl(s->input, F_SETFL, O_NONBLOCK);
	fcntl(s->input, F_SETPIPE_SZ, PIPE_BYTES);
	return rf_loop_watch(s->front->loop, s->input, 0, on_input_room, s, &s->input_event, err);
}

static void start(struct rf_parley *s, struct rf_span text)
{
	struct rf_order order;
	struct rf_job_task task = { .order = &order, .box = s->box, .has_input = true };
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int end = -1;

	if (rf_order_read(RF_ORDER_SESSION, text.at, text.len, false, &s->front->tools, &s->order,
			  &error) < 0) {
		refuse(s, &error);
		return;
	}
	rf_deadline_cancel(&s->limit);
	order = s->order;
	order.input = NULL; /* it is only the first of what comes */
	order.input_len = 0;
	s->front->figures.programs++;
	if (lay_pipe(s, &end, &err) < 0)
		goto fail;
	task.input = end;
	if (rf_job_start(s->front->loop, s->holder->fort, &task, &job_ops, s, &s->job, &err) < 0)
		goto fail;
	s->state = RUNNING;
	take_input(s, s->order.input, s->order.input_len, false);
	return;
fail:
	refuse_with(s, &err);
}

static void on_text(void *data, struct rf_span text)
{
	struct rf_parley *s = data;
	struct rf_order word;
	struct rf_api_error error;
	struct rf_err ignored = RF_ERR_INIT; /* it may have ended meanwhile */

	if (s->state == AWAITED) {
		start(s, text);
		return;
	}
	if (rf_order_read(RF_ORDER_WORD, text.at, text.len, false, &s->front->tools, &word,
			  &error) < 0) {
		refuse(s, &error);
		return;
	}
	if (word.signal && s->job)
		rf_job_signal(s->job, word.signal, &ignored);
	if (word.has_terminal && s->job)
		rf_job_resize(s->job, word.rows, word.columns, &ignored);
	take_input(s, word.input, word.input_len, word.is_last);
	rf_order_done(&word);
}

static void on_bytes(void *data, struct rf_span bytes)
{
	struct rf_parley *s = data;

	if (s->state == AWAITED)
		end_with(s, RF_WSLINE_REFUSED, "the first message is a text: what is to be run");
	else
		take_input(s, bytes.at, bytes.len, false);
}

/* ------------------------------------------------------------- its connection */

static void on_room(void *data)
{
	struct rf_parley *s = data;

	if (s->job)
		rf_job_pause(s->job, false);
}

/* Who was connected is gone. */
static void on_end(void *data)
{
	struct rf_parley *s = data;

	s->line = NULL;
	if (!s->order.has_terminal || s->state != RUNNING || s->order.keep == 0 ||
	    s->front->is_draining) {
		free_parley(s);
		return;
	}
	rf_deadline_set(&s->limit, rf_loop_now() + s->order.keep * SEC);
	rf_job_pause(s->job, false); /* it writes on, and what is too old is forgotten */
}

/* Nobody came: with a first message, or back. */
static void on_late(void *data)
{
	end_with(data, RF_WSLINE_REFUSED, "nothing was said of what is to be run");
}

static const struct rf_wsline_ops line_ops = {
	.on_text = on_text, .on_bytes = on_bytes, .on_room = on_room, .on_end = on_end
};

static bool is_websocket(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (call->upgrade.is_websocket &&
	    (call->upgrade.offers_ringfort || !call->upgrade.offers_any))
		return true;
	if (!call->upgrade.is_websocket) {
		rf_api_error_say(&error, RF_API_MALFORMED, "Upgrade", "this is a WebSocket");
		rf_api_error_hint(&error, "connect to it as one, over HTTP/1.1");
	} else {
		rf_api_error_say(&error, RF_API_MALFORMED, "Sec-WebSocket-Protocol",
				 "what is spoken here is `" RF_UPGRADE_PROTOCOL "`");
		rf_api_error_hint(&error, "offer it, or none");
	}
	rf_api_call_fail(call, &error);
	return false;
}

static bool is_room(struct rf_api_call *call)
{
	struct rf_api_error error;
	size_t own = 0;

	for (const struct rf_parley *s = call->front->parleys; s; s = s->next)
		own += strcmp(s->holder->pass.tenant, call->holder->pass.tenant) == 0;
	if (call->front->parley_count < MOST && own < MOST_OWN)
		return true;
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "%zu programs have a connection", own);
	rf_api_error_hint(&error, "try again when some of them have ended");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

static int add(struct rf_api_call *call, struct rf_parley **ret_parley, struct rf_err *err)
{
	struct rf_front *front = call->front;
	struct rf_parley *s = calloc(1, sizeof(*s));

	if (!s || rf_deadline_init(&s->limit, front->lines.deadlines, on_late, s) < 0) {
		free(s);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	s->front = front;
	s->holder = rf_holder_ref(call->holder);
	s->input = -1;
	memcpy(s->box, call->parts.part[0], sizeof(s->box));
	rf_buf_init(&s->unread, INPUT_MOST);
	rf_buf_init(&s->early, INPUT_MOST);
	rf_buf_init(&s->backlog, BACKLOG);
	rf_buf_init(&s->result, 7u << 20);
	s->at = &front->parleys;
	s->next = front->parleys;
	if (s->next)
		s->next->at = &s->next;
	front->parleys = s;
	front->parley_count++;
	*ret_parley = s;
	return 0;
}

/* The sandbox is there: from now on it is a WebSocket. */
static void on_box(void *data, const struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_err err = RF_ERR_INIT;
	struct rf_parley *s = NULL;

	call->asked = NULL;
	if (!answer) {
		rf_api_call_fail_with(call, why, "id");
		return;
	}
	if (add(call, &s, &err) < 0) {
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	if (rf_wsline_new(&call->front->lines, call->x, &call->upgrade, &line_ops, s, &s->line,
			  &err) < 0) {
		free_parley(s);
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	call->front->figures.requests[1]++;
	rf_deadline_set(&s->limit, rf_loop_now() + ORDER_S * SEC);
}

void rf_parley_begin(struct rf_api_call *call)
{
	struct rf_err err = RF_ERR_INIT;

	if (!is_websocket(call) || !is_room(call) || !rf_api_call_is_paced(call))
		return;
	if (rf_query_ask(call->front->loop, call->holder->fort, RF_WIRE_LIST, call->parts.part[0],
			 0, on_box, call, &call->asked, &err) < 0)
		rf_api_call_fail_with(call, &err, err.code == -ENOENT ? "id" : NULL);
}

/* ------------------------------------------------------------- coming back */

static struct rf_parley *find(struct rf_api_call *call)
{
	unsigned long long number = 0;
	struct rf_api_error error;

	if (rf_span_number(rf_span_of(call->parts.part[1]), UINT32_MAX, &number) == 0)
		for (struct rf_parley *s = call->front->parleys; s; s = s->next)
			if (number && s->number == number && s->order.has_terminal &&
			    strcmp(s->box, call->parts.part[0]) == 0 &&
			    strcmp(s->holder->pass.tenant, call->holder->pass.tenant) == 0)
				return s;
	rf_api_error_say(&error, RF_API_NOT_FOUND, "number", "there is no terminal of this number");
	rf_api_error_hint(&error, "its program has ended, or nobody came back to it in time");
	rf_api_call_fail(call, &error);
	return NULL;
}

void rf_parley_attach(struct rf_api_call *call)
{
	struct rf_parley *s = find(call);
	struct rf_wsline *line;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 256);
	if (!s || !is_websocket(call))
		return;
	if (rf_wsline_new(&call->front->lines, call->x, &call->upgrade, &line_ops, s, &line, &err) <
	    0) {
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	call->front->figures.requests[1]++;
	rf_wsline_close(s->line, RF_WSLINE_TAKEN, "another connection has the terminal now");
	s->line = line;
	rf_holder_unref(s->guest);
	s->guest = rf_holder_ref(call->holder);
	rf_deadline_cancel(&s->limit);
	rf_buf_printf(&text, "{\"attached\": {\"number\": %u, \"lost\": %llu}}", s->number,
		      (unsigned long long)(s->written - s->backlog.len));
	say(s, &text);
	if (s->backlog.len)
		rf_wsline_send(line, 1, (struct rf_span){ s->backlog.data, s->backlog.len });
	if (s->state == ENDED)
		tell_result(s);
	else
		push_input(s);
}

/* ------------------------------------------------------------- all of them */

void rf_parley_revoke(struct rf_front *front, const char *key)
{
	struct rf_parley *next;

	for (struct rf_parley *s = front->parleys; s; s = next) {
		next = s->next;
		if (strcmp(s->holder->pass.key, key) == 0) {
			end_with(s, RF_WSLINE_REFUSED, "the key was removed");
		} else if (s->line && s->guest && strcmp(s->guest->pass.key, key) == 0) {
			rf_wsline_close(s->line, RF_WSLINE_REFUSED, "the key was removed");
			on_end(s); /* the terminal is another key's, and stays for it */
		}
	}
}

void rf_parley_drain(struct rf_front *front)
{
	struct rf_parley *next;

	for (struct rf_parley *s = front->parleys; s; s = next) {
		next = s->next;
		if (s->order.has_terminal || s->state != RUNNING)
			end_with(s, RF_WSLINE_GOING, "the server ends");
	}
}

void rf_parley_free_all(struct rf_front *front)
{
	for (struct rf_parley *s = front->parleys, *next; s; s = next) {
		next = s->next;
		free_parley(s);
	}
}
