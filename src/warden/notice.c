/* A program that waits for its record: see notice.h. */
#include "warden/notice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/runs.h"
#include "base/fd.h"
#include "warden/chronicle.h"
#include "warden/keep.h"

struct rf_notice {
	struct client *client;
	struct rf_scribe_note *note; /* or NULL: it is answered */
	uint64_t id;                 /* that the client's answer carries */
	uint32_t number;             /* among its box's programs */
	int fds[RF_WIRE_FDS];
	size_t fd_count, len;
	char body[]; /* a packed struct rf_exec */
};

static void notice_free(struct rf_notice *notice)
{
	notice->client->notice = NULL;
	for (size_t i = 0; i < notice->fd_count; i++)
		rf_fd_done(&notice->fds[i]);
	free(notice);
}

static int refuse(const struct client *keeper, const struct rf_err *why, struct rf_err *err)
{
	return keeper->work->plan->origin.tenant ? rf_runs_require_served(why, err)
						 : rf_runs_require(why, err);
}

/* What was told of and did not begin has ended. */
static void take_back(const struct rf_notice *notice, const struct client *keeper,
		      const char *program, const struct rf_err *why)
{
	struct rf_result result;

	rf_result_init(&result, keeper->work->plan);
	rf_result_fail(&result, RF_STATUS_ERROR, 125, why);
	rf_chronicle_exec(warden_of(keeper)->scribe, keeper->work,
			  &(struct rf_runs_exec){ program, notice->number, &result });
	rf_result_done(&result);
}

/* It is written, or is not. */
static int go_on(const struct rf_notice *notice, const char *answer, const struct rf_err *why,
		 struct rf_err *err)
{
	struct client *client = notice->client, *keeper = NULL;
	struct rf_ward_line line = { client->visitor.fd, notice->id, &client->program };
	struct rf_exec exec;
	int code;

	if (rf_exec_unpack(notice->body, notice->len, &exec, err) < 0)
		return err->code;
	code = rf_keep_find(client, exec.box, &keeper, err);
	if (code == 0 && !answer)
		code = refuse(keeper, why, err);
	if (code == 0)
		code = rf_ward_exec(keeper->ward, &exec, notice->fds, notice->fd_count, &line,
				    notice->number, err);
	if (code < 0 && keeper)
		take_back(notice, keeper, exec.argv[0], err);
	rf_exec_done(&exec);
	return code;
}

static void on_told(void *data, const char *answer, const struct rf_err *why)
{
	struct rf_notice *notice = data;
	struct client *client = notice->client;
	struct rf_err err = RF_ERR_INIT, ignored;
	uint64_t id = notice->id;
	int code;

	notice->note = NULL;
	code = go_on(notice, answer, why, &err);
	notice_free(notice);
	if (code < 0 && rf_wire_refuse(client->visitor.fd, id, &err, &ignored) < 0)
		rf_warden_hang_up(client);
}

int rf_notice_begin(struct client *client, struct client *keeper, struct rf_wire_message *message,
		    const struct rf_exec *exec, struct rf_err *err)
{
	struct rf_scribe *scribe = warden_of(client)->scribe;
	struct rf_err why = RF_ERR_INIT;
	struct rf_notice *notice;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_TELLER_MOST);
	if (rf_scribe_demand(scribe, &why) < 0)
		return refuse(keeper, &why, err);
	notice = malloc(sizeof(*notice) + message->len);
	if (!notice)
		return rf_fail(err, -ENOMEM, "a program");
	*notice = (struct rf_notice){ .client = client, .id = message->id, .len = message->len };
	memcpy(notice->body, message->body, message->len);
	for (; notice->fd_count < message->fd_count; notice->fd_count++)
		notice->fds[notice->fd_count] = rf_fd_take(&message->fds[notice->fd_count]);
	notice->number = rf_ward_number(keeper->ward);
	client->notice = notice;
	if (rf_runs_write_exec(&body, keeper->work->plan, keeper->work->life.box.id,
			       &(struct rf_runs_exec){ exec->argv[0], notice->number, NULL },
			       &why) == 0 &&
	    rf_scribe_say(scribe, RF_WIRE_TELL, &body, on_told, notice, &notice->note, &why) == 0)
		return 0;
	notice_free(notice);
	return refuse(keeper, &why, err);
}

void rf_notice_drop(struct rf_notice *notice)
{
	const struct rf_err gone = { .code = -ESRCH, .msg = "who asked for it is gone" };
	struct client *keeper = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_exec exec;

	if (!notice)
		return;
	if (notice->note)
		rf_scribe_drop(notice->note);
	if (rf_exec_unpack(notice->body, notice->len, &exec, &err) == 0) {
		if (rf_keep_find(notice->client, exec.box, &keeper, &err) == 0)
			take_back(notice, keeper, exec.argv[0], &gone);
		rf_exec_done(&exec);
	}
	notice_free(notice);
}
