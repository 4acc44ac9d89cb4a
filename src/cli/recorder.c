/* The record of one run: see recorder.h. */
#include "cli/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/moves.h"
#include "audit/runs.h"
#include "audit/traffic.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "jail/outward.h"
#include "jail/record.h"
#include "policy/net-change.h"
#include "policy/policy.h"
#include "workspace/visit.h"

#define TRAFFIC_EACH_MS 200  /* how often a busy network is told of */
#define USUAL_POLICY    2000 /* bytes of its text */

void rf_recorder_init(struct rf_recorder *recorder)
{
	*recorder = (struct rf_recorder){ .why = RF_ERR_INIT };
	rf_teller_init(&recorder->teller);
	rf_teller_try(&recorder->teller, &recorder->why);
}

void rf_recorder_done(struct rf_recorder *recorder)
{
	rf_teller_done(&recorder->teller);
}

/* Asks whether its agent may; where nobody can say, the policy decides. */
static int admit(struct rf_recorder *recorder, const struct rf_plan *plan, const char *id,
		 struct rf_err *err)
{
	struct rf_err why = recorder->why;
	int code = why.code;

	if (rf_teller_is_open(&recorder->teller))
		code = rf_runs_admit(&recorder->teller, plan, id, &why);
	if (code > 0) {
		*err = why;
		return err->code;
	}
	if (code == 0 || !plan->needs_watch)
		return 0;
	recorder->is_unwatched = plan->may_be_weaker;
	return plan->may_be_weaker ? 0 : rf_runs_unwatched(&why, err);
}

/* What it means that it can't be told is the policy's to say. */
static int miss(struct rf_recorder *recorder, const struct rf_err *why, struct rf_err *err)
{
	recorder->why = *why;
	recorder->box[0] = '\0';
	return recorder->request->plan->recorded == RF_RECORDED_ALWAYS ? rf_runs_require(why, err)
								       : 0;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A watcher that came after the one that was told before.  While a box lives, on_settled() finds it. */
static void find_watcher(struct rf_recorder *recorder)
{
	struct rf_err ignored = RF_ERR_INIT;

	if (recorder->is_release && rf_teller_is_cut(&recorder->teller))
		rf_teller_open(&recorder->teller, &ignored);
}

/* Sends what was gathered of the network. */
static void tell_traffic(struct rf_recorder *recorder)
{
	struct rf_err why = RF_ERR_INIT;

	recorder->told_ms = now_ms();
	find_watcher(recorder);
	if (rf_teller_is_open(&recorder->teller) && recorder->teller.out.len > 0 &&
	    rf_teller_send(&recorder->teller, NULL, &why) < 0)
		recorder->why = why;
}

/* Asks the watcher what the box's gateway is to know, and passes it on.  All that was told of its network is with the watcher by then. */
static void keep_books(struct rf_recorder *recorder)
{
	struct rf_outward *outward = recorder->outward;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf line, answer, books;

	rf_buf_init(&line, 4096);
	rf_buf_init(&answer, RF_BOOKS_TEXT);
	rf_buf_init(&books, RF_BOOKS_TEXT);
	if (!recorder->account.net || !outward || outward->fd < 0 || recorder->is_late ||
	    !rf_teller_is_open(&recorder->teller))
		return;
	rf_account_ask(&recorder->account, &line);
	if (rf_teller_ask(&recorder->teller, line.data, line.len, &answer, &err) == 0 &&
	    rf_account_answer(&recorder->account, answer.data, &books, &err) == 0)
		recorder->has_books =
			rf_gate_tell_books(outward->fd, outward->box, &books, &err) == 0;
	/* The box is served by the same loop: it does not wait twice for one that hangs. */
	recorder->is_late = err.code == -ETIMEDOUT;
}

/* Tells it, and does not wait: the box is built meanwhile. */
static int on_start(void *data, const char *id, struct rf_err *err)
{
	struct rf_recorder *recorder = data;
	const struct rf_plan *plan = recorder->request->plan;
	const struct rf_visit *visit = recorder->request->visit;
	struct rf_runs_facts facts = { .box = id, .pid = getpid() };
	struct rf_err why = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf policy;

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	if (admit(recorder, plan, id, err) < 0)
		return err->code;
	if (!rf_teller_is_open(&recorder->teller))
		return miss(recorder, &recorder->why, err);
	if (visit && visit->kept.folder >= 0)
		facts.workspace = visit->kept.ledger.name;
	rf_buf_reserve(&policy, USUAL_POLICY);
	rf_policy_format_told(recorder->request->policy, &policy);
	facts.policy = policy.has_failed ? NULL : policy.data;
	if (rf_runs_planted(&recorder->teller, plan, id, &why) < 0 ||
	    rf_runs_started(&recorder->teller, plan, &facts, &why) < 0)
		return miss(recorder, &why, err);
	snprintf(recorder->box, sizeof(recorder->box), "%s", id);
	if (!recorder->account.net)
		return 0;
	/* What its gateway takes some milliseconds for is not started before it is known. */
	if (rf_teller_wait(&recorder->teller, NULL, &why) < 0)
		return miss(recorder, &why, err);
	recorder->is_kept = true;
	keep_books(recorder);
	return 0;
}

/* Now something would run: until here the watcher had time. */
static int on_orders(void *data, struct rf_err *err)
{
	struct rf_recorder *recorder = data;
	struct rf_err why = RF_ERR_INIT;

	if (!recorder->box[0] || recorder->is_kept ||
	    rf_teller_wait(&recorder->teller, NULL, &why) == 0)
		return 0;
	return miss(recorder, &why, err);
}

/* An agent's policy is no caller's to widen, nor what a source of the policy made final. */
static bool is_bounded(const struct rf_request *request)
{
	return request->agent || rf_net_change_is_final(request->policy);
}

/* What lives for longer is looked after, also by a watcher that comes after the one that was told of it. */
static void on_settled(void *data, int pidfd, bool is_lesser)
{
	struct rf_recorder *recorder = data;
	struct rf_teller *teller = &recorder->teller;
	struct rf_err ignored = RF_ERR_INIT; /* it is recorded all the same */

	if (!recorder->box[0] || pidfd < 0)
		return;
	if (rf_teller_is_cut(teller)) {
		recorder->is_shown = false;
		rf_teller_try(teller, &ignored); /* the box is served meanwhile */
	}
	if (rf_teller_is_open(teller) && !recorder->is_shown) {
		RF_AUTO_FD int hand = -1;

		if (recorder->outward)
			rf_outward_lend(recorder->outward, is_bounded(recorder->request), &hand,
					&ignored);
		recorder->is_shown = rf_runs_show(teller, recorder->request->plan, recorder->box,
						  pidfd, hand, is_lesser, &ignored) == 0;
	}
	if (recorder->account.net && !recorder->is_late) {
		tell_traffic(recorder);
		keep_books(recorder);
	}
}

/* One after the other while they are few; many are told together, a few times a second. */
static void on_traffic(void *data, const struct rf_gate_event *event)
{
	struct rf_recorder *recorder = data;
	struct rf_err ignored = RF_ERR_INIT;

	recorder->request_count += event->kind == RF_GATE_REQUEST;
	if (!recorder->box[0] || !rf_traffic_is_told(event) ||
	    !rf_teller_is_open(&recorder->teller))
		return;
	rf_account_hear(&recorder->account, event);
	if (recorder->teller.out.len + RF_AUDIT_EVENT_MAX > RF_TELLER_MOST)
		tell_traffic(recorder);
	rf_traffic_write(&recorder->teller.out, recorder->request->plan->agent, recorder->box,
			 event, &ignored);
	if (now_ms() - recorder->told_ms >= TRAFFIC_EACH_MS)
		tell_traffic(recorder);
}

/* Tells it, and does not wait: the box is taken down meanwhile. */
static void on_end(void *data, struct rf_result *result)
{
	struct rf_recorder *recorder = data;

	if (!recorder->box[0])
		return;
	tell_traffic(recorder);
	if (result->canary)
		rf_runs_caught(&recorder->teller, recorder->request->plan, recorder->box, result,
			       &recorder->why);
	else
		rf_runs_explain(&recorder->teller, recorder->box, result);
	if (recorder->on_last && rf_teller_is_open(&recorder->teller))
		recorder->on_last(recorder->last_data, recorder, result);
	rf_runs_ended(&recorder->teller, recorder->request->plan, recorder->box, result,
		      &recorder->why);
}

/* A run that is to be recorded waits for a watcher that is busy. */
static void begin_record(struct rf_recorder *recorder, const struct rf_request *request,
			 struct rf_outward *outward)
{
	recorder->request = request;
	recorder->outward = outward;
	rf_account_init(&recorder->account, request->plan);
	if (recorder->why.code != -ETIMEDOUT || request->plan->recorded == RF_RECORDED_NOT)
		return;
	recorder->why = RF_ERR_INIT;
	rf_teller_open(&recorder->teller, &recorder->why);
}

void rf_recorder_attend(struct rf_recorder *recorder, const struct rf_request *request,
			struct rf_run_options *options)
{
	begin_record(recorder, request, options->outward);
	recorder->is_far = options->warden >= 0;
	if (request->plan->recorded == RF_RECORDED_NOT ||
	    (request->plan->recorded == RF_RECORDED_AUTO && !request->plan->needs_watch &&
	     !rf_teller_is_open(&recorder->teller)))
		return;
	options->on_start = on_start;
	options->on_orders = on_orders;
	options->on_settled = on_settled;
	options->on_end = on_end;
	options->data = recorder;
	if (options->outward) {
		options->outward->on_event = on_traffic;
		options->outward->data = recorder;
	}
}

/*
 * Nothing is sent that could not be told of, or that nobody would count, where the policy says so: as no run is begun then.  A
 * watcher that stands and could not keep what was told before keeps no more.
 */
static int require_watcher(const struct rf_recorder *recorder, struct rf_err *err)
{
	const struct rf_plan *plan = recorder->request->plan;
	bool is_cut = rf_teller_is_cut(&recorder->teller);
	struct rf_err why = recorder->why;

	if (is_cut && !why.code)
		rf_fail_say(&why, -EPIPE, "the watcher has ended");
	if (plan->recorded == RF_RECORDED_ALWAYS && why.code)
		return rf_runs_require(&why, err);
	if (plan->needs_watch && !plan->may_be_weaker && is_cut)
		return rf_runs_unwatched(&why, err);
	return 0;
}

int rf_recorder_attend_release(struct rf_recorder *recorder, const struct rf_request *request,
			       const char *box, struct rf_outward *outward, struct rf_err *err)
{
	begin_record(recorder, request, outward);
	if (request->plan->recorded == RF_RECORDED_NOT)
		return 0;
	if (rf_teller_is_open(&recorder->teller)) {
		snprintf(recorder->box, sizeof(recorder->box), "%s", box);
		recorder->is_release = true;
		outward->on_event = on_traffic;
		outward->data = recorder;
	}
	return require_watcher(recorder, err);
}

int rf_recorder_before_send(struct rf_recorder *recorder, struct rf_err *err)
{
	if (!recorder->box[0])
		return require_watcher(recorder, err);
	tell_traffic(recorder);
	keep_books(recorder);
	return require_watcher(recorder, err);
}

/* It was refused before the gateway had it, or the gateway ended with it. */
static void tell_unsent(struct rf_recorder *recorder, const struct rf_gate_held *request,
			const struct rf_err *why)
{
	const struct rf_gate_event event = {
		.kind = RF_GATE_REQUEST,
		.verdict = RF_GATE_DENIED,
		.host = request->place.host,
		.port = request->place.port,
		.method = request->method,
		.path = request->path,
		.reason = why->msg,
		.address = "",
		.credential = "",
		.rule = "",
		.remedy = "",
	};

	on_traffic(recorder, &event);
}

void rf_recorder_end_release(struct rf_recorder *recorder, const struct rf_gate_held *failed,
			     size_t index, const struct rf_err *err, struct rf_result *result)
{
	if (!recorder->box[0])
		return;
	if (failed && recorder->request_count <= index)
		tell_unsent(recorder, failed, err);
	tell_traffic(recorder);
	if (!rf_teller_is_open(&recorder->teller) || recorder->why.code)
		rf_result_warn(result, "not all of what was sent is recorded: %s",
			       recorder->why.code ? recorder->why.msg : "the watcher has ended");
}

/* Tells of what was found of others, that were killed. */
static void tell_swept(struct rf_recorder *recorder)
{
	struct rf_record_swept list[RF_RECORD_SWEPT];
	struct rf_err ignored = RF_ERR_INIT;
	char what[RF_RECORD_TEXT];
	size_t count = rf_record_take_swept(list);

	if (count == 0 || !rf_teller_is_open(&recorder->teller))
		return;
	for (size_t i = 0; i < count; i++)
		rf_runs_write_recovery(&recorder->teller.out, list[i].box,
				       rf_record_describe(&list[i], what, sizeof(what)),
				       list[i].is_clean ? "removed" : "left", &ignored);
	rf_teller_send(&recorder->teller, NULL, &ignored);
}

static void end_record(struct rf_recorder *recorder, struct rf_result *result)
{
	const struct rf_plan *plan = recorder->request->plan;
	struct rf_err err = RF_ERR_INIT;

	if (recorder->is_unwatched)
		rf_result_warn(result,
			       "weaker: no watcher keeps the breaker, the budgets and the "
			       "alarms%s%s",
			       plan->agent ? " of " : "", plan->agent ? plan->agent : "");
	if (rf_account_is_needed(&recorder->account) && !recorder->is_far && !recorder->has_books)
		rf_result_warn(result, "no watcher keeps the books: the budgets of credentials "
				       "held for this run alone");
	if (!recorder->box[0] || rf_teller_wait(&recorder->teller, NULL, &err) == 0)
		return;
	/* Another watcher may have taken over meanwhile. */
	if (rf_teller_is_open(&recorder->teller) || rf_teller_open(&recorder->teller, &err) < 0 ||
	    rf_runs_ended(&recorder->teller, plan, recorder->box, result, &err) < 0 ||
	    rf_teller_wait(&recorder->teller, NULL, &err) < 0)
		rf_result_warn(result, "the end of this run is not recorded: %s", err.msg);
}

/* Tells what became of the workspace that it ran in. */
static void tell_point(struct rf_recorder *recorder, struct rf_result *result)
{
	struct rf_move move = {
		.kind = RF_AUDIT_CHECKPOINT,
		.workspace = result->workspace.name,
		.agent = recorder->request->plan->agent,
		.box = recorder->box,
		.point = result->workspace.point,
		.by = "launcher",
		.added = result->workspace.added,
		.modified = result->workspace.modified,
		.deleted = result->workspace.deleted,
	};
	struct rf_err err = RF_ERR_INIT;

	if (!recorder->box[0] || !result->workspace.point || !rf_teller_is_open(&recorder->teller))
		return;
	rf_moves_add(&recorder->teller, &move, &err);
	if (result->workspace.is_undone) {
		move.kind = RF_AUDIT_UNDO;
		move.point = recorder->request->visit->kept.ledger.head;
		move.reason = result->canary_to[0] ? "it sent a canary"
			      : result->canary     ? "it read a canary"
						   : "an alarm ended it";
		rf_moves_add(&recorder->teller, &move, &err);
	}
	if (rf_teller_send(&recorder->teller, NULL, &err) < 0)
		rf_result_warn(result, "@%u of workspace %s is not recorded: %s",
			       result->workspace.point, result->workspace.name, err.msg);
}

void rf_recorder_end(struct rf_recorder *recorder, struct rf_result *result)
{
	end_record(recorder, result);
	tell_point(recorder, result);
	tell_swept(recorder);
}
