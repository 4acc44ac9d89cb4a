/* What is answered to a write that was approved: see approval-answer.h. */
#include "server/approval-answer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"

#define MS 1000000ull

void rf_approval_answer_init(struct rf_approval_answer *answer)
{
	answer->status = 0;
	answer->refused[0] = '\0';
	answer->len = 0;
	answer->asked = (struct rf_framing_asked){ 0 };
	rf_http1_init(&answer->http, &rf_http1_usual, answer->fields, RF_LEN(answer->fields));
	rf_http1_begin_response(&answer->http, &answer->asked);
}

static void take_head(struct rf_approval_answer *answer)
{
	const struct rf_http1_head *head = &answer->http.head;
	const struct rf_field *ours = rf_field_find(head->fields, RF_SPAN("x-ringfort"));

	answer->status = head->start.status;
	if (ours && answer->status >= 400)
		snprintf(answer->refused, sizeof(answer->refused), "%.*s", (int)ours->value.len,
			 ours->value.at);
}

/* More than there is room for: of the final answer, if it is one, the first line is there. */
static void take_first_line(struct rf_approval_answer *answer)
{
	struct rf_span in = { answer->in, answer->len };
	struct rf_start_line start;
	size_t line = rf_span_find(in, '\r');

	if (answer->status < 200 && line < in.len &&
	    !rf_start_line_response(rf_span_part(in, 0, line), &start) && start.status >= 200)
		answer->status = start.status;
}

/* As far as it has come.  True: that was all of it, or it is no answer. */
static bool read_some(struct rf_approval_answer *answer)
{
	for (;;) {
		size_t used = 0;
		enum rf_http1_event event = rf_http1_next(
			&answer->http, (struct rf_span){ answer->in, answer->len }, &used);

		if (event == RF_HTTP1_HEAD)
			take_head(answer);
		answer->len -= used;
		memmove(answer->in, answer->in + used, answer->len);
		if (event == RF_HTTP1_BAD || (event == RF_HTTP1_END && answer->status >= 200))
			return true;
		if (event == RF_HTTP1_END) /* an interim one */
			rf_http1_begin_response(&answer->http, &answer->asked);
		if (event == RF_HTTP1_MORE && answer->len == sizeof(answer->in))
			take_first_line(answer);
		if (event == RF_HTTP1_MORE)
			return answer->len == sizeof(answer->in);
	}
}

bool rf_approval_answer_read(struct rf_approval_answer *answer, int fd)
{
	ssize_t n = read(fd, answer->in + answer->len, sizeof(answer->in) - answer->len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	answer->len += n > 0 ? (size_t)n : 0;
	return read_some(answer) || n <= 0;
}

void rf_approval_answer_await(struct rf_approval_answer *answer, int fd, unsigned ms)
{
	const uint64_t until = rf_loop_now() + ms * MS;
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	rf_approval_answer_init(answer);
	for (uint64_t now = rf_loop_now(); now < until; now = rf_loop_now()) {
		int got = poll(&wait, 1, (int)((until - now) / MS) + 1);

		if ((got < 0 && errno != EINTR) || (got > 0 && rf_approval_answer_read(answer, fd)))
			return;
	}
}
