/* ringfort-clerk: see clerk.h. */
#include "server/clerk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "server/clerk-pool.h"
#include "server/clerk-watcher.h"
#include "server/custodian.h"
#include "wire/wire.h"

#define ANSWER_MOST (16u << 20)
#define UNDER_WAY   64 /* questions of one connection, the unsent answers among them */
#define END_MS      5000

static const struct rf_clerk_pool_size size = { .threads = 12, .per_tenant = 3, .line = 128 };

struct clerk {
	struct rf_loop *loop;
	struct rf_clerk_pool *pool;
	int host;
	struct rf_event *host_event;
	struct rf_buf in;
	struct line *lines;
};

/* A connection of the front's. */
struct line {
	struct clerk *clerk;
	struct line *next;
	int fd; /* or -1: closed, and something is still done for it */
	struct rf_event *event;
	struct rf_clerk_asker asker;
	char *text;                          /* that the asker's strings lie in */
	size_t under_way;                    /* matters */
	struct matter *unsent, **unsent_end; /* what is answered, and waits for the front to read */
};

/* One question, from its arrival until it is answered. */
struct matter {
	struct rf_clerk_task task; /* first: the pool knows no more of it */
	struct matter *next;
	struct line *line;
	uint64_t id;
	const struct rf_clerk_row *row;
	struct rf_clerk_matter asked;
	char *body;
	int code;
	struct rf_err err;
};

/* ------------------------------------------------------------- lines */

static void free_matter(struct matter *matter)
{
	for (size_t i = 0; i < RF_CLERK_FDS; i++) {
		rf_fd_done(&matter->asked.fds[i]);
		rf_fd_done(&matter->asked.out_fds[i]);
	}
	if (matter->body)
		explicit_bzero(matter->body, matter->asked.len); /* it may have had secrets */
	free(matter->body);
	rf_buf_done(&matter->asked.out);
	matter->line->under_way--;
	free(matter);
}

/* Frees a line that is closed, and that nothing is done for any more. */
static void free_line_if_over(struct line *line)
{
	struct line **at = &line->clerk->lines;

	if (line->fd >= 0 || line->under_way > 0)
		return;
	while (*at && *at != line)
		at = &(*at)->next;
	if (*at)
		*at = line->next;
	free(line->text);
	free(line);
}

static void close_line(struct line *line)
{
	rf_event_cancel(line->event);
	line->event = NULL;
	rf_wire_close(&line->fd);
	while (line->unsent) {
		struct matter *matter = line->unsent;

		line->unsent = matter->next;
		free_matter(matter);
	}
	line->unsent_end = &line->unsent;
	free_line_if_over(line);
}

/* ------------------------------------------------------------- answers */

static int send_answer(const struct matter *matter, struct rf_err *err)
{
	const struct rf_clerk_matter *asked = &matter->asked;

	if (matter->code < 0)
		return rf_wire_refuse(matter->line->fd, matter->id, &matter->err, err);
	return rf_wire_send(matter->line->fd, RF_WIRE_CLERK_TOLD, matter->id, asked->out.data,
			    asked->out.len, asked->out_fds, asked->out_fd_count, err);
}

/* As far as the front reads it.  What it does not take it is not given again: then the line is closed. */
static void send_unsent(struct line *line)
{
	while (line->unsent) {
		struct matter *matter = line->unsent;
		struct rf_err err = RF_ERR_INIT;
		int code = send_answer(matter, &err);

		if (code == -EAGAIN)
			break;
		if (code < 0) {
			close_line(line);
			return;
		}
		line->unsent = matter->next;
		if (!line->unsent)
			line->unsent_end = &line->unsent;
		free_matter(matter);
	}
	rf_event_want(line->event, RF_LOOP_READ | (line->unsent ? RF_LOOP_WRITE : 0));
}

static void queue_answer(struct matter *matter)
{
	struct line *line = matter->line;

	if (matter->code == 0 && matter->asked.out.has_failed)
		matter->code = rf_fail_say(&matter->err, -EFBIG, "the answer is too long");
	if (matter->code < 0 && matter->err.code >= 0)
		rf_fail(&matter->err, matter->code, "%s", matter->row ? matter->row->name : "it");
	if (line->fd < 0) {
		free_matter(matter);
		free_line_if_over(line);
		return;
	}
	matter->next = NULL;
	*line->unsent_end = matter;
	line->unsent_end = &matter->next;
	send_unsent(line);
}

/* ------------------------------------------------------------- questions */

static void do_matter(struct rf_clerk_task *task)
{
	struct matter *matter = (struct matter *)task;

	matter->code = matter->row->answer(&matter->line->asker, &matter->asked, &matter->err);
}

static void on_done(struct rf_clerk_task *task)
{
	queue_answer((struct matter *)task);
}

/* Nobody is told: to whom it would be answered, this clerk is gone. */
static void on_drop(struct rf_clerk_task *task)
{
	free_matter((struct matter *)task);
}

static int check(const struct matter *matter, struct rf_err *err)
{
	if (!(matter->row->scopes & matter->line->asker.scopes)) {
		rf_fail_say(err, -EPERM, "this key is not good for that");
		return rf_fail_hint(err, "it takes a key with another scope");
	}
	if (matter->asked.len > matter->row->most)
		return rf_fail_say(err, -E2BIG, "%s: a question of %zu bytes", matter->row->name,
				   matter->asked.len);
	if (matter->asked.fd_count > matter->row->fds)
		return rf_fail_say(err, -EBADMSG, "%s: too many descriptors", matter->row->name);
	return 0;
}

/* Takes what came along. */
static int fill(struct matter *matter, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_clerk_ask ask;

	for (size_t i = 0; i < RF_CLERK_FDS; i++)
		matter->asked.fds[i] = rf_fd_take(&message->fds[i]);
	matter->asked.fd_count = message->fd_count;
	if (rf_clerk_terms_unpack_ask(message->body, message->len, &ask, err) < 0)
		return err->code;
	matter->row = &rf_clerk_table[ask.question];
	matter->body = calloc(1, ask.len + 1);
	if (!matter->body)
		return rf_fail(err, -ENOMEM, "a question");
	memcpy(matter->body, ask.body, ask.len);
	matter->asked.body = matter->body;
	matter->asked.len = ask.len;
	return check(matter, err);
}

static void take_question(struct line *line, struct rf_wire_message *message)
{
	struct matter *matter = line->under_way < UNDER_WAY ? calloc(1, sizeof(*matter)) : NULL;
	struct rf_err err = RF_ERR_INIT;

	if (!matter) {
		rf_fail_say(&err, -EAGAIN, "too much is asked at once");
		rf_fail_hint(&err, "try again when some of it is answered");
		if (rf_wire_refuse(line->fd, message->id, &err, &err) < 0)
			close_line(line);
		return;
	}
	line->under_way++;
	*matter = (struct matter){
		.task = { .tenant = line->asker.tenant,
			  .work = do_matter,
			  .done = on_done,
			  .drop = on_drop },
		.line = line,
		.id = message->id,
	};
	for (size_t i = 0; i < RF_CLERK_FDS; i++)
		matter->asked.fds[i] = matter->asked.out_fds[i] = -1;
	rf_buf_init(&matter->asked.out, ANSWER_MOST);
	if (fill(matter, message, &matter->err) < 0 ||
	    rf_clerk_pool_put(line->clerk->pool, &matter->task, &matter->err) < 0) {
		matter->code = matter->err.code;
		queue_answer(matter);
	}
}

static void on_line(void *data, int what)
{
	struct line *line = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got;

	if (what & RF_LOOP_WRITE && line->unsent) {
		send_unsent(line);
		return; /* it may be gone */
	}
	got = rf_wire_receive(line->fd, RF_WIRE_FRONT, &line->clerk->in, &message, &err);
	if (got == -EAGAIN)
		return;
	if (got <= 0 || message.type != RF_WIRE_CLERK_ASK)
		close_line(line);
	else
		take_question(line, &message);
}

/* ------------------------------------------------------------- who has the keys */

static int fill_asker(struct line *line, const struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_clerk_terms terms;

	line->text = malloc(message->len);
	if (!line->text)
		return rf_fail(err, -ENOMEM, "the terms of a connection");
	memcpy(line->text, message->body, message->len);
	if (rf_clerk_terms_unpack(line->text, message->len, &terms, err) < 0)
		return err->code;
	line->asker = (struct rf_clerk_asker){
		.key = terms.terms.key,
		.tenant = terms.terms.tenant,
		.ceiling = terms.terms.ceiling,
		.boxes = terms.terms.boxes,
		.scopes = terms.scopes,
		.rate = terms.rate,
		.sums = terms.terms.sums,
	};
	return 0;
}

static int take_terms(struct clerk *clerk, struct rf_wire_message *message, struct rf_err *err)
{
	struct line *line = calloc(1, sizeof(*line));

	if (!line)
		return rf_fail(err, -ENOMEM, "a connection");
	line->clerk = clerk;
	line->fd = rf_fd_take(&message->fds[0]);
	line->unsent_end = &line->unsent;
	line->next = clerk->lines;
	clerk->lines = line;
	if (fcntl(line->fd, F_SETFL, O_NONBLOCK) < 0)
		rf_fail(err, -errno, "a connection");
	else if (fill_asker(line, message, err) == 0 &&
		 rf_loop_watch(clerk->loop, line->fd, RF_LOOP_READ, on_line, line, &line->event,
			       err) == 0)
		return 0;
	close_line(line);
	return err->code;
}

/* Of one key, or all (""): nobody hears what is done for them yet. */
static void withdraw(struct clerk *clerk, const char *key)
{
	struct line *next;

	for (struct line *line = clerk->lines; line; line = next) {
		next = line->next;
		if (line->fd >= 0 && (!key[0] || strcmp(line->asker.key, key) == 0))
			close_line(line);
	}
}

/* It is trusted; without it, there is nobody to do anything for. */
static void on_host(void *data, int what)
{
	struct clerk *clerk = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(clerk->host, RF_WIRE_HOST, &clerk->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got > 0 && message.type == RF_WIRE_CLERK_WATCHER)
		rf_clerk_watcher_take(&message.fds[0]);
	else if (got > 0 && message.type == RF_WIRE_WITHDRAW)
		withdraw(clerk, message.body);
	else if (got <= 0 || message.type != RF_WIRE_CLERK_TERMS)
		rf_loop_stop(clerk->loop);
	else
		take_terms(clerk, &message, &err);
}

int rf_clerk_serve(int host, struct rf_err *err)
{
	struct clerk clerk = { .host = host };
	int code, end;

	rf_buf_init(&clerk.in, RF_WIRE_ROOM);
	code = rf_loop_new(&clerk.loop, err);
	if (code == 0)
		code = rf_clerk_pool_new(clerk.loop, &size, &clerk.pool, err);
	if (code == 0)
		code = rf_loop_watch(clerk.loop, host, RF_LOOP_READ, on_host, &clerk,
				     &clerk.host_event, err);
	if (code == 0)
		code = rf_loop_run(clerk.loop, err);
	end = rf_clerk_pool_end(clerk.pool, END_MS); /* so that what is being decided is */
	rf_custodian_end();
	if (end < 0)
		_exit(1); /* somebody still works with all of this */
	for (struct line *line = clerk.lines, *next; line; line = next) {
		next = line->next;
		close_line(line);
	}
	rf_buf_done(&clerk.in);
	rf_loop_free(clerk.loop);
	return code;
}
