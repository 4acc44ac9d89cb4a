/* Questions to the clerk: see petition.h. */
#include "server/petition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define ASK_MOST (5u << 20)

struct rf_petition {
	struct rf_petition *next;
	struct rf_petition_line *line;
	uint64_t id;
	struct rf_event *timer;
	rf_petition_fn *fn;
	void *data;
};

void rf_petition_init(struct rf_petition_line *line)
{
	*line = (struct rf_petition_line){ .fd = -1 };
	rf_buf_init(&line->in, RF_WIRE_ROOM);
}

void rf_petition_drop(struct rf_petition *petition)
{
	struct rf_petition **at;

	if (!petition)
		return;
	for (at = &petition->line->first; *at && *at != petition;)
		at = &(*at)->next;
	if (*at)
		*at = petition->next;
	rf_event_cancel(petition->timer);
	free(petition);
}

/* Over before it is told: who hears it may ask again. */
static void tell(struct rf_petition *petition, struct rf_wire_message *answer,
		 const struct rf_err *why)
{
	rf_petition_fn *fn = petition->fn;
	void *data = petition->data;

	rf_petition_drop(petition);
	fn(data, answer, why);
}

static void fail_all(struct rf_petition_line *line)
{
	struct rf_err err = RF_ERR_INIT;

	rf_fail_say(&err, -ECONNRESET, "ringfort-clerk has ended, and is started anew");
	rf_fail_hint(&err, "look whether it was done, and try again");
	while (line->first)
		tell(line->first, NULL, &err);
}

static void hang_up(struct rf_petition_line *line)
{
	rf_event_cancel(line->event);
	line->event = NULL;
	rf_fd_done(&line->fd);
}

void rf_petition_renew(struct rf_petition_line *line, int *fd)
{
	hang_up(line);
	line->fd = rf_fd_take(fd);
	fail_all(line);
}

void rf_petition_done(struct rf_petition_line *line)
{
	hang_up(line);
	while (line->first)
		rf_petition_drop(line->first);
	rf_buf_done(&line->in);
}

static void on_late(void *data, int what)
{
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	rf_fail_say(&err, -ETIMEDOUT, "this takes longer than it may");
	rf_fail_hint(&err, "look later whether it was done");
	tell(data, NULL, &err);
}

static void on_answer(void *data, int what)
{
	struct rf_petition_line *line = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_petition *petition = line->first;
	int got = rf_wire_receive(line->fd, RF_WIRE_CLERK, &line->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		hang_up(line);
		fail_all(line);
		return;
	}
	while (petition && petition->id != message.id)
		petition = petition->next;
	if (!petition)
		return; /* who asked is gone */
	if (message.type == RF_WIRE_REFUSED) {
		rf_wire_refused(&message, &err);
		tell(petition, NULL, &err);
	} else {
		tell(petition, &message, &err);
	}
}

static int send_question(struct rf_petition_line *line, struct rf_loop *loop,
			 const struct rf_clerk_ask *ask, const int *fds, size_t fd_count,
			 struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, ASK_MOST);
	rf_clerk_terms_pack_ask(ask, &body);
	if (body.has_failed)
		return rf_fail_say(err, -E2BIG, "a question of %zu bytes", ask->len);
	if (line->fd < 0) {
		rf_fail_say(err, -ECONNRESET, "ringfort-clerk is being started anew");
		return rf_fail_hint(err, "try again in a moment");
	}
	if (!line->event &&
	    rf_loop_watch(loop, line->fd, RF_LOOP_READ, on_answer, line, &line->event, err) < 0)
		return err->code;
	return rf_wire_send(line->fd, RF_WIRE_CLERK_ASK, ++line->last_id, body.data, body.len, fds,
			    fd_count, err);
}

int rf_petition_ask(struct rf_petition_line *line, struct rf_loop *loop,
		    const struct rf_clerk_ask *ask, const int *fds, size_t fd_count,
		    unsigned timeout_ms, rf_petition_fn *fn, void *data,
		    struct rf_petition **ret_petition, struct rf_err *err)
{
	struct rf_petition *petition = calloc(1, sizeof(*petition));

	if (!petition)
		return rf_fail(err, -ENOMEM, "a question");
	petition->line = line;
	petition->fn = fn;
	petition->data = data;
	if (rf_loop_timer(loop, rf_loop_now() + timeout_ms * 1000000ull, on_late, petition,
			  &petition->timer, err) < 0 ||
	    send_question(line, loop, ask, fds, fd_count, err) < 0) {
		rf_petition_drop(petition);
		return err->code;
	}
	petition->id = line->last_id;
	petition->next = line->first;
	line->first = petition;
	*ret_petition = petition;
	return 0;
}
