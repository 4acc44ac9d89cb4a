/* Sends what was held back: see release.h. */
#include "cli/release.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/egress.h"
#include "cli/recorder.h"
#include "http/http1.h"

#define TOLD_MS    500 /* until the gateway has told of a request that was answered */
#define PATIENCE_S 60  /* without a byte; the gateway's own limits are shorter */
#define ROOM       (128 * 1024)
#define FIELDS     128

/* Reads one answer to its end; gives its status, or 0: there was none, or it was cut. */
static unsigned read_answer(int fd, const char *method)
{
	struct rf_framing_asked asked = { .is_head = strcmp(method, "HEAD") == 0 };
	struct rf_field fields[FIELDS];
	struct rf_http1 http;
	char in[ROOM];
	size_t len = 0;
	unsigned status = 0;

	rf_http1_init(&http, &rf_http1_usual, fields, FIELDS);
	rf_http1_begin_response(&http, &asked);
	for (;;) {
		size_t used = 0;
		enum rf_http1_event event =
			rf_http1_next(&http, (struct rf_span){ in, len }, &used);
		ssize_t n;

		if (event == RF_HTTP1_HEAD)
			status = http.head.start.status;
		len -= used;
		memmove(in, in + used, len);
		if (event == RF_HTTP1_END && status >= 200)
			return status;
		if (event == RF_HTTP1_END) /* an interim one */
			rf_http1_begin_response(&http, &asked);
		if (event == RF_HTTP1_BAD)
			return 0;
		if (event != RF_HTTP1_MORE)
			continue;
		n = len < sizeof(in) ? read(fd, in + len, sizeof(in) - len) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rf_http1_finish(&http, len > 0) == RF_HTTP1_END ? status : 0;
		len += (size_t)n;
	}
}

/* As much as is taken: what is refused before it was all read is answered all the same. */
static void write_request(int fd, const struct rf_gate_held *request)
{
	size_t at = 0;

	while (at < request->len) {
		ssize_t n = send(fd, request->message + at, request->len - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return;
		at += n > 0 ? (size_t)n : 0;
	}
}

static void fail(struct rf_held *held, const char *reason)
{
	held->state = RF_HELD_FAILED;
	snprintf(held->reason, sizeof(held->reason), "%.120s", reason);
}

static void send_one(const struct rf_outward *outward, struct rf_held *held)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	const struct rf_gate_held *request = &held->request;
	struct rf_err err = RF_ERR_INIT;
	char words[64];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		fail(held, strerror(errno));
		return;
	}
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (rf_gate_speak(outward->fd, outward->box, &request->place, pair[1], &err) < 0) {
		fail(held, err.msg);
	} else {
		rf_fd_done(&pair[1]); /* so that the gateway's end is seen */
		write_request(pair[0], request);
		held->status = read_answer(pair[0], request->method);
		held->state = RF_HELD_SENT;
		snprintf(words, sizeof(words), "it was answered with %u", held->status);
		if (held->status == 0)
			fail(held, "there was no answer, or not a whole one");
		else if (held->status >= 400)
			fail(held, words);
	}
	rf_fd_done(&pair[0]);
	rf_fd_done(&pair[1]);
}

/* What the gateway tells of a request comes after its answer: the next one is sent when it is known, and so counted. */
static void hear_of(struct rf_egress *egress, const struct rf_recorder *recorder, size_t index)
{
	do {
		if (!rf_outward_listen(&egress->outward, recorder->box[0] ? TOLD_MS : 0))
			return;
	} while (recorder->request_count <= index);
}

/* Gives the number of the one that failed. */
static int send_all(struct rf_egress *egress, struct rf_recorder *recorder,
		    struct rf_held_list *list, size_t *ret_failed, struct rf_err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct rf_held *held = &list->items[i];

		*ret_failed = i;
		if (rf_recorder_before_send(recorder, err) < 0)
			return err->code;
		send_one(&egress->outward, held);
		hear_of(egress, recorder, i);
		if (held->state == RF_HELD_FAILED)
			return rf_fail_say(err, -EPROTO, "%s %s%.100s: %s", held->request.method,
					   held->request.place.host, held->request.path,
					   held->reason);
	}
	return 0;
}

int rf_release_send(struct rf_request *request, struct rf_held_list *list, struct rf_result *run,
		    struct rf_err *err)
{
	struct rf_recorder recorder;
	struct rf_egress egress;
	size_t failed = 0;
	bool is_lost;
	int code;

	if (list->count == 0)
		return 0;
	rf_egress_init(&egress);
	rf_recorder_init(&recorder);
	code = rf_recorder_attend_release(&recorder, request, run->id, &egress.outward, err);
	if (code == 0)
		code = rf_egress_begin(&egress, request, RF_EGRESS_RELEASES, NULL, err);
	if (code == 0)
		code = rf_outward_await(&egress.outward, err);
	if (code == 0)
		code = send_all(&egress, &recorder, list, &failed, err);
	rf_outward_end(&egress.outward, run);
	/* What was answered, by whomever, the gateway has told of. */
	is_lost = code < 0 && list->items[failed].status == 0;
	rf_recorder_end_release(&recorder, is_lost ? &list->items[failed].request : NULL, failed,
				err, run);
	rf_recorder_done(&recorder);
	rf_egress_done(&egress);
	return code;
}
