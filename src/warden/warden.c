/* The warden: see warden.h. */
#include "warden/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "audit/runs.h"
#include "base/fd.h"
#include "base/loop.h"
#include "jail/lesser.h"
#include "jail/record.h"
#include "policy/net-change.h"
#include "warden/chronicle.h"
#include "warden/gossip.h"
#include "warden/headroom.h"
#include "warden/keep.h"
#include "warden/lore.h"
#include "warden/owner.h"
#include "warden/scribe.h"
#include "warden/ward.h"
#include "warden/work.h"
#include "warden/yard.h"
#include "wire/door.h"
#include "wire/peer.h"
#include "wire/wire.h"

#define CLIENTS_MAX 4096
#define ANSWER_NS   1000000ull     /* nanoseconds in which a watcher answers */
#define TEND_EVERY  10000000000ull /* nanoseconds: boxes that nobody wants are looked for */

/* ------------------------------------------------------------- clients */

/* What it holds besides its connection and its run. */
static void let_go(struct client *client)
{
	rf_buf_done(&client->started);
	rf_notice_drop(client->notice);
	if (client->reach)
		rf_reach_drop(client->reach);
	rf_gossip_done(&client->gossip);
	if (client->is_counted)
		rf_bound_leave(client->bound, &client->share);
	client->is_counted = false;
	rf_bound_unref(client->bound);
	client->bound = NULL;
	rf_event_cancel(client->idle_timer);
	client->idle_timer = NULL;
	free(client->label);
	client->label = NULL;
}

static void forget(struct client *client)
{
	if (client->is_owner) /* also one that was found gone when it was to be told something */
		rf_owner_leave(client);
	rf_keep_leave(client);
	let_go(client);
	rf_door_leave(&client->visitor);
}

static void give_up(struct client *client);

/* A connection that ended takes its box along, unless that is kept; it is forgotten when that is dead. */
void rf_warden_hang_up(struct client *client)
{
	if (client->is_owner)
		rf_owner_leave(client);
	client->is_gone = true;
	rf_keep_leave(client);
	rf_event_cancel(client->visitor.event);
	client->visitor.event = NULL;
	if (client->program)
		rf_ward_let_go(client->program);
	rf_notice_drop(client->notice);
	if (client->work && client->work->is_waiting)
		give_up(client);
	else if (client->is_standing)
		rf_wire_close(&client->visitor.fd);
	else if (client->work)
		rf_life_end(&client->work->life);
	else
		forget(client);
}

/* ------------------------------------------------------------- the record */

static void on_over(void *data);
static void report_start(struct client *client);

/* Where a watcher does not answer, the policy decides: 0, or the refusal of the run. */
static int go_unasked(struct rf_work *work, const struct rf_err *why, struct rf_err *err)
{
	const struct rf_plan *plan = work->plan;

	if (!plan->needs_watch)
		return 0;
	if (!plan->may_be_weaker)
		return rf_runs_unwatched(why, err);
	rf_result_warn(&work->result,
		       "weaker: no watcher keeps the breaker, the budgets and the alarms%s%s",
		       plan->agent ? " of " : "", plan->agent ? plan->agent : "");
	return 0;
}

static int go_unrecorded(const struct rf_work *work, const struct rf_err *why, struct rf_err *err)
{
	if (work->plan->recorded == RF_RECORDED_AUTO)
		return 0;
	return work->plan->origin.tenant ? rf_runs_require_served(why, err)
					 : rf_runs_require(why, err);
}

static void on_told(void *data, const char *answer, const struct rf_err *why);

/*
 * Tells of the run before it starts.  1: the answer will come; else as go_unrecorded().  Who need not be recorded does
 * not wait for a watcher that is late, which will hear of it all the same.
 */
static int tell_start(struct client *client, struct rf_err *err)
{
	struct rf_scribe *scribe = warden_of(client)->scribe;
	struct rf_work *work = client->work;
	struct rf_err why = RF_ERR_INIT;
	int code = rf_scribe_reach(scribe, &why);
	bool waits = code == 0;

	if (waits || (code == -ETIMEDOUT && work->plan->recorded == RF_RECORDED_AUTO))
		work->is_told = rf_scribe_say(scribe, RF_WIRE_TELL, &client->started,
					      waits ? on_told : NULL, client,
					      waits ? &client->note : NULL, &why) == 0;
	if (!work->is_told)
		return go_unrecorded(work, &why, err);
	return waits;
}

/* The run goes on where it waited (`code` 0), or does not begin. */
static void resume(struct client *client, int code, const struct rf_err *why)
{
	struct rf_work *work = client->work;

	rf_event_want(client->visitor.event, RF_LOOP_READ);
	if (code == 0) {
		rf_work_go(work, warden_of(client)->yard, warden_of(client)->loop);
		report_start(client);
		return;
	}
	if (work->is_late)
		rf_chronicle_take_back(warden_of(client)->scribe, client->work);
	rf_work_refuse(work, why);
	on_over(client);
}

/* What its gateway is to know is known, or nobody says. */
static void on_books(void *data, const char *answer, const struct rf_err *why)
{
	struct client *client = data;
	struct rf_err none = RF_ERR_INIT;

	(void)why;
	client->note = NULL;
	rf_gossip_pass_books(&client->gossip, answer);
	resume(client, 0, &none);
}

/* It is written, or is not.  A watcher that is late may yet do it: then it is to hear of the end, too. */
static void on_told(void *data, const char *answer, const struct rf_err *why)
{
	struct client *client = data;
	struct rf_err err = RF_ERR_INIT;

	client->note = NULL;
	client->work->is_late = !answer && why->code == -ETIMEDOUT;
	client->work->is_told = answer || client->work->is_late;
	if (answer && rf_gossip_ask_books(&client->gossip, on_books, client, &client->note))
		return;
	resume(client, answer ? 0 : go_unrecorded(client->work, why, &err), &err);
}

/* The watcher says whether the run's agent may; where nobody can say, the policy decides. */
static void on_asked(void *data, const char *answer, const struct rf_err *why)
{
	struct client *client = data;
	struct rf_err err = RF_ERR_INIT, wrong = *why;
	int code = answer ? rf_runs_read_answer(client->work->plan, answer, &wrong) : -1;

	client->note = NULL;
	if (code > 0) { /* which the watcher has recorded */
		rf_event_want(client->visitor.event, RF_LOOP_READ);
		rf_work_refuse(client->work, &wrong);
		on_over(client);
		return;
	}
	client->work->is_late = !answer && wrong.code == -ETIMEDOUT;
	code = code == 0 ? 0 : go_unasked(client->work, &wrong, &err);
	if (code == 0)
		code = tell_start(client, &err);
	if (code <= 0)
		resume(client, code, &err);
}

/* Who asked for it is gone while it waits. */
static void give_up(struct client *client)
{
	const struct rf_err gone = { .code = -ESRCH, .msg = "who asked for it is gone" };

	rf_scribe_drop(client->note);
	client->note = NULL;
	rf_chronicle_take_back(warden_of(client)->scribe, client->work);
	rf_work_refuse(client->work, &gone);
	on_over(client);
}

/* A run that is to be recorded waits for the watcher, and nobody else does. */
static int on_ready(void *data, struct rf_work *work, const struct rf_work_order *order,
		    struct rf_err *err)
{
	struct client *client = data;
	struct rf_scribe *scribe = warden_of(client)->scribe;
	struct rf_runs_facts facts = { .box = work->life.box.id };
	struct rf_err why = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf question;
	int code;

	rf_buf_init(&question, RF_AUDIT_EVENT_MAX);
	rf_lore_warn(warden_of(client)->lore, order->policy, &work->result);
	if (work->plan->recorded == RF_RECORDED_NOT)
		return 0;
	facts.pid = getpid();
	facts.policy = rf_lore_told(warden_of(client)->lore, order->policy);
	client->work = work;
	rf_buf_done(&client->started);
	rf_buf_init(&client->started, RF_TELLER_MOST);
	code = rf_scribe_reach(scribe, &why);
	/* A run that nobody hears of has no name before its box is begun. */
	if ((code < 0 && code != -ETIMEDOUT) || rf_box_name(&work->life.box, &why) < 0 ||
	    rf_runs_write_started(&client->started, work->plan, &facts, &why) < 0)
		return go_unasked(work, &why, err) < 0 ? err->code : go_unrecorded(work, &why, err);
	if (!work->plan->agent)
		return tell_start(client, err);
	rf_runs_write_question(work->plan, work->life.box.id, &question);
	if (code == 0 && rf_scribe_say(scribe, RF_WIRE_ASK, &question, on_asked, client,
				       &client->note, &why) == 0)
		return 1;
	return go_unasked(work, &why, err) < 0 ? err->code : tell_start(client, err);
}

/* What lives for longer is looked after by the watcher, also by one that comes after who was told of it. */
static void on_settled(void *data)
{
	struct client *client = data;
	struct rf_scribe *scribe = warden_of(client)->scribe;
	struct rf_work *work = client->work;
	struct rf_err ignored = RF_ERR_INIT; /* it is recorded all the same */
	RF_AUTO_BUF struct rf_buf sight;
	RF_AUTO_FD int hand = -1;

	rf_buf_init(&sight, RF_TELLER_MOST);
	if (!work || !work->is_told || work->life.box.pidfd < 0 ||
	    rf_scribe_reach(scribe, &ignored) < 0)
		return;
	rf_gossip_renew_books(&client->gossip);
	if (work->shown_to == rf_scribe_era(scribe))
		return;
	work->shown_to = rf_scribe_era(scribe);
	rf_runs_write_sight(work->plan, work->life.box.id, work->life.box.is_lesser, &sight);
	if (work->outward.fd >= 0)
		rf_outward_lend(&work->outward, work->is_bounded, &hand, &ignored);
	rf_scribe_show(scribe, &sight, work->life.box.pidfd, hand, &ignored);
}

/* ------------------------------------------------------------- runs */

/*
 * Tells the client first: what is left to be cleaned up is nobody's wait.  Where it shares our processor it would be, and the
 * building of the next box, too: so it is let go on before.
 */
static void finish(struct client *client)
{
	struct warden *warden = warden_of(client);
	struct rf_work *work = client->work;

	rf_site_done(&work->site); /* who hears of the end may take it away */
	if (!client->is_gone)
		rf_keep_send_ended(client, &work->result, work->id);
	rf_chronicle_end(warden->scribe, work);
	rf_gossip_done(&client->gossip);
	if (client->is_standing)
		rf_keep_end(client);
	rf_ward_free(client->ward);
	client->ward = NULL;
	rf_keep_tell_closers(client);
	client->work = NULL;
	client->is_standing = false;
	if (client->is_counted)
		rf_bound_leave(client->bound, &client->share);
	client->is_counted = false;
	sched_yield();
	rf_work_done(work, warden->yard);
	rf_chronicle_recoveries(warden->scribe, warden->options->is_successor && !warden->is_begun);
	rf_event_again(warden->tend_timer, rf_loop_now());
	if (client->is_gone)
		forget(client);
}

static void on_fate(void *data, const char *answer, const struct rf_err *why)
{
	struct client *client = data;

	(void)why;
	client->note = NULL;
	if (answer)
		rf_runs_read_fate(answer, &client->work->result);
	finish(client);
}

/* True if somebody may have killed it whom only the watcher knows, and that is asked. */
static bool ask_fate(struct client *client)
{
	struct rf_scribe *scribe = warden_of(client)->scribe;
	const struct rf_work *work = client->work;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf question;

	rf_buf_init(&question, RF_TELLER_MOST);
	return work->is_told && rf_runs_write_fate(&work->result, work->life.box.id, &question) &&
	       rf_scribe_reach(scribe, &err) == 0 &&
	       rf_scribe_say(scribe, RF_WIRE_ASK, &question, on_fate, client, &client->note,
			     &err) == 0;
}

/* What the gateway told is in the result, and nothing more will come. */
static void on_parted(void *data)
{
	struct client *client = data;
	struct rf_work *work = client->work;

	if (work->outward.is_over || work->outward.is_closed)
		rf_outward_end(&work->outward, &work->result);
	rf_gossip_pass_on(&client->gossip);
	if (!ask_fate(client))
		finish(client);
}

static void on_ended(void *data)
{
	const struct client *client = data;

	rf_outward_close(&client->work->outward);
}

static void on_over(void *data)
{
	struct client *client = data;
	struct rf_work *work = client->work;

	if (!work->is_over)
		rf_life_judge(&work->life);
	else if (work->life.plan)
		rf_life_tell(&work->life);
	/* Who has a network is over when its gateway has told all: others are served meanwhile. */
	if (!rf_outward_part(&work->outward, warden_of(client)->loop, on_parted, client))
		on_parted(client);
}

static int send_started(const struct client *client, const struct rf_work *work, struct rf_err *err)
{
	struct rf_wire_started started = { .pid = (uint32_t)work->life.box.pid };

	memcpy(started.id, work->life.box.id, sizeof(work->life.box.id));
	return rf_wire_send(client->visitor.fd, RF_WIRE_STARTED, work->id, &started,
			    sizeof(started), NULL, 0, err);
}

static void report_start(struct client *client)
{
	struct rf_err err = RF_ERR_INIT;

	if (client->work->is_over)
		on_over(client);
	else if (!client->ward && send_started(client, client->work, &err) < 0)
		rf_warden_hang_up(client);
}

/* A kept box is there when it is proven.  Who does not hear of it has none. */
static void on_report(void *data, const struct rf_report *report, int fd)
{
	struct client *client = data;
	struct rf_err err = RF_ERR_INIT;

	rf_ward_hear(client->ward, report, fd);
	if (report->number != 0 || report->kind != RF_REPORT_STARTED || client->is_gone)
		return;
	client->is_standing = send_started(client, client->work, &err) == 0;
	if (!client->is_standing)
		rf_warden_hang_up(client);
	else
		rf_keep_begin(client);
}

static void on_program(void *data, const char *program, uint32_t number,
		       const struct rf_result *result)
{
	const struct client *client = data;

	rf_chronicle_exec(warden_of(client)->scribe, client->work,
			  &(struct rf_runs_exec){ program, number, result });
}

static int run(struct client *client, struct rf_wire_message *message,
	       const struct rf_errand *errand, struct rf_err *err)
{
	bool is_kept = message->type == RF_WIRE_KEEP;
	size_t streams = is_kept ? 0 : 3;
	struct warden *warden = warden_of(client);
	struct rf_site site;
	struct rf_work_order order = {
		.errand = errand,
		.client = client->visitor.pid,
		.init_path = warden->options->init_path,
		.streams = { -1, -1, -1 },
		.is_kept = is_kept,
		.on_ready = on_ready,
		.data = client,
		.gateway = -1,
		.site = &site,
	};

	if (rf_lore_find_within(warden->lore, client->bound, errand, &order.policy, err) < 0 ||
	    rf_bound_check(client->bound, order.policy, message->fd_count > streams, err) < 0 ||
	    rf_site_open(client->bound, errand, rf_free_space_margin(warden), &site, err) < 0)
		return err->code;
	if ((client->bound && rf_headroom_check(warden, err) < 0) ||
	    rf_bound_enter(client->bound, order.policy, &client->share, err) < 0) {
		rf_site_done(&site);
		return err->code;
	}
	order.is_bounded = rf_lore_is_bounded(warden->lore, errand);
	client->is_counted = client->bound != NULL;
	free(client->label);
	client->label = is_kept && errand->note ? strdup(errand->note) : NULL;
	for (size_t i = 0; i < streams; i++)
		order.streams[i] = rf_fd_take(&message->fds[i]);
	order.gateway = message->fd_count > streams ? rf_fd_take(&message->fds[streams]) : -1;
	if (rf_work_start(&order, &warden->self, warden->yard, warden->loop, on_over, client,
			  &client->work, err) < 0) {
		rf_bound_leave(client->bound, &client->share);
		client->is_counted = false;
		return err->code;
	}
	client->work->id = message->id;
	if (client->work->site.held >= 0)
		rf_free_space_begin(warden);
	client->work->is_bounded = order.is_bounded || rf_net_change_is_final(order.policy);
	client->work->life.on_settled = on_settled;
	client->work->life.on_ended = is_kept ? NULL : on_ended;
	rf_gossip_listen(&client->gossip, client->work, warden->scribe);
	if (is_kept) {
		client->work->life.on_report = on_report;
		client->idle_ms = errand->idle_ms;
		if (rf_ward_new(client->work, warden->loop, -1, &client->ward, err) < 0) {
			client->work->life.on_report = NULL;
			rf_life_end(&client->work->life);
		} else {
			rf_ward_listen(client->ward, on_program, client);
		}
	}
	if (client->work->is_waiting)
		rf_event_want(client->visitor.event, 0); /* what it says is for a run that runs */
	else
		report_start(client);
	return 0;
}

/* ------------------------------------------------------------- requests */

typedef rf_keep_fn serve_fn;

static int serve_hello(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_wire_welcome welcome = {
		.version = RF_VERSION,
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)geteuid(),
		.is_lesser = warden_of(client)->is_lesser,
	};

	return rf_wire_send(client->visitor.fd, RF_WIRE_WELCOME, message->id, &welcome,
			    sizeof(welcome), NULL, 0, err);
}

static int serve_prove(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	return rf_door_take_proof(&client->visitor, message->fds[0], err);
}

/* A further connection, of who has this one: what bounds this one bounds that, too.  NULL with an error. */
static struct client *join(const struct client *client, struct rf_wire_message *message,
			   struct rf_err *err)
{
	struct rf_door *door = client->visitor.door;
	int fd = message->fds[0], domain = 0, type = 0;
	struct rf_door_visitor *visitor;
	socklen_t len = sizeof(int);
	pid_t pid = client->visitor.pid;
	struct client *joined;

	if (rf_door_demand(&client->visitor, err) < 0)
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || domain != AF_UNIX ||
	    type != SOCK_SEQPACKET) {
		rf_fail_say(err, -EINVAL, "%s: not a socket of packets",
			    rf_wire_name(message->type));
		return NULL;
	}
	/* Who is at its other end is not who brought it, and must be what we are as well; or is bound. */
	if (door->listener >= 0 && !client->bound && !client->is_owner &&
	    rf_door_look(door, fd, &pid, err) < 0)
		return NULL;
	if (rf_door_admit(door, &message->fds[0], pid, &visitor, err) < 0)
		return NULL;
	joined = (struct client *)visitor;
	if (client->bound)
		visitor->is_proven = true;
	joined->bound = rf_bound_ref(client->bound);
	return joined;
}

static int serve_join(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	return join(client, message, err) ? 0 : err->code;
}

/* For somebody else, on terms that only who has none itself can set. */
static int serve_bound(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_bound *bound = NULL;
	struct client *joined;
	struct rf_terms terms;

	if (client->bound)
		return rf_fail_say(err, -EPERM, "BOUND: this connection is bound itself");
	if (rf_terms_unpack(message->body, message->len, &terms, err) < 0 ||
	    rf_bound_new(&terms, &bound, err) < 0)
		return err->code;
	joined = join(client, message, err);
	if (!joined) {
		rf_bound_unref(bound);
		return err->code;
	}
	joined->visitor.is_proven = true;
	joined->bound = bound;
	return 0;
}

static int serve_run(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct rf_errand errand;
	int code;

	if (rf_keep_is_busy(client, err))
		return err->code;
	if (!rf_peer_is_alive(client->visitor.fd))
		return rf_fail_say(err, -ESRCH, "RUN: who connected is gone");
	if (rf_door_demand(&client->visitor, err) < 0)
		return err->code;
	if (rf_errand_unpack(message->body, message->len, &errand, err) < 0)
		return err->code;
	code = rf_bound_errand(client->bound, &errand, message->type == RF_WIRE_KEEP, err);
	if (code == 0)
		code = run(client, message, &errand, err);
	rf_errand_done(&errand);
	return code;
}

/* What comes too late is no mistake: the run may have ended meanwhile. */
static int serve_signal(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	uint32_t number = rf_wire_u32(message);
	bool is_for_group = client->program && number & RF_WIRE_TO_GROUP;

	number &= is_for_group ? ~RF_WIRE_TO_GROUP : ~0u;
	if (number < 1 || number > 64)
		return rf_fail_say(err, -EINVAL, "SIGNAL: there is no signal %u", number);
	if (client->work)
		rf_life_signal(&client->work->life, (int)number);
	else if (client->program)
		rf_ward_signal(client->program, (int)number, is_for_group);
	return 0;
}

static int serve_end(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	uint32_t limit = rf_wire_u32(message);

	if (limit > RF_LIMIT_COUNT)
		return rf_fail_say(err, -EINVAL, "END: there is no limit %u", limit);
	if (client->program)
		rf_ward_kill(client->program, (enum rf_limit)limit);
	if (!client->work)
		return 0;
	if (limit < RF_LIMIT_COUNT) {
		rf_life_end_for(&client->work->life, (enum rf_limit)limit);
	} else {
		client->work->life.ending.forwarded = SIGKILL; /* asked for: nothing has failed */
		rf_life_end(&client->work->life);
	}
	return 0;
}

/* All that can be asked of a warden. */
/* clang-format off */
static serve_fn *const serve[RF_WIRE_COUNT] = {
	[RF_WIRE_HELLO]  = serve_hello,
	[RF_WIRE_JOIN]   = serve_join,
	[RF_WIRE_RUN]    = serve_run,
	[RF_WIRE_SIGNAL] = serve_signal,
	[RF_WIRE_END]    = serve_end,
	[RF_WIRE_PROVE]  = serve_prove,
	[RF_WIRE_KEEP]   = serve_run,
	[RF_WIRE_EXEC]   = rf_keep_exec,
	[RF_WIRE_ATTACH] = rf_keep_attach,
	[RF_WIRE_REACH]  = rf_keep_reach,
	[RF_WIRE_FREEZE] = rf_keep_box,
	[RF_WIRE_THAW]   = rf_keep_box,
	[RF_WIRE_RENEW]  = rf_keep_box,
	[RF_WIRE_CLOSE]  = rf_keep_box,
	[RF_WIRE_LIST]   = rf_keep_box,
	[RF_WIRE_HAND]   = rf_keep_lend,
	[RF_WIRE_BOUND]  = serve_bound,
	[RF_WIRE_OWN]    = rf_owner_serve,
	[RF_WIRE_WITHDRAW] = rf_owner_withdraw,
};
/* clang-format on */

/* A request that can't be served is answered; bytes that are no request end the connection. */
static void on_message(void *data, int what)
{
	struct client *client = data;
	struct rf_err err = RF_ERR_INIT, ignored;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	int got;

	if (client->work && client->work->is_waiting) {
		if (what & RF_LOOP_HANGUP)
			rf_warden_hang_up(client);
		return;
	}
	got = rf_wire_receive(client->visitor.fd, RF_WIRE_CLIENT, &warden_of(client)->in, &message,
			      &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got < 0 && got != -ECONNRESET)
		rf_wire_refuse(client->visitor.fd, 0, &err, &ignored);
	if (got <= 0) {
		rf_warden_hang_up(client);
		return;
	}
	if (serve[message.type](client, &message, &err) < 0 &&
	    rf_wire_refuse(client->visitor.fd, message.id, &err, &ignored) < 0)
		rf_warden_hang_up(client);
}

static const struct rf_door_rules rules = {
	.who = "warden",
	.instead = "run it with --no-warden, or start a warden where the client is",
	.most = CLIENTS_MAX,
	.size = sizeof(struct client),
	.on_message = on_message,
	.refuse = rf_wire_refuse,
};

/* A server's: another one of the same user's may come from another group, and runs nothing in ours. */
static const struct rf_door_rules lasting_rules = {
	.who = "warden",
	.instead = "end the server that has it, and its sandboxes end",
	.most = CLIENTS_MAX,
	.size = sizeof(struct client),
	.has_any_groups = true,
	.on_message = on_message,
	.refuse = rf_wire_refuse,
};

/* ------------------------------------------------------------- the yard */

static void on_tend(void *data, int what)
{
	struct warden *warden = data;

	(void)what;
	/* Who waits for the watcher will have its answer before a box is built. */
	if (rf_scribe_is_awaited(warden->scribe)) {
		rf_event_again(warden->tend_timer, rf_loop_now() + ANSWER_NS);
		return;
	}
	rf_yard_tend(warden->yard);
	rf_event_again(warden->tend_timer,
		       rf_yard_is_short(warden->yard) ? rf_loop_now() : rf_loop_now() + TEND_EVERY);
}

/* ------------------------------------------------------------- the whole */

static void on_signal(void *data, int signal)
{
	struct warden *warden = data;

	(void)signal;
	rf_loop_stop(warden->loop);
}

/* Each run takes some descriptors; what a box may have is another matter (rlimit.h). */
static void allow_many_files(const struct rf_work_self *self)
{
	struct rlimit files = self->rlimits[RLIMIT_NOFILE];

	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int start(struct warden *warden, struct rf_err *err)
{
	const struct rf_warden_options *options = warden->options;
	struct rf_err why = RF_ERR_INIT;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0)
		return rf_fail(err, -errno, "hold signals");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	rf_work_note_self(&warden->self);
	allow_many_files(&warden->self);
	warden->is_lesser = rf_lesser_try_full(&why) < 0;
	if (rf_loop_new(&warden->loop, err) < 0 ||
	    rf_loop_signals(warden->loop, &ends, on_signal, warden, err) < 0 ||
	    rf_scribe_new(warden->loop, &warden->scribe, err) < 0 ||
	    rf_lore_new(options->ceiling, &warden->lore, err) < 0 ||
	    rf_yard_new(options->init_path, options->ahead, &warden->yard, err) < 0 ||
	    rf_loop_timer(warden->loop, rf_loop_now() + TEND_EVERY, on_tend, warden,
			  &warden->tend_timer, err) < 0 ||
	    rf_door_open(&warden->door, warden->loop, options->listener, err) < 0)
		return err->code;
	rf_chronicle_recoveries(warden->scribe, warden->options->is_successor && !warden->is_begun);
	warden->is_begun = true;
	return options->owner >= 0 ? rf_owner_admit(warden, err) : 0;
}

/* Ends what runs on all connections. */
static void dismiss(struct warden *warden)
{
	for (struct rf_door_visitor *at = warden->door.visitors; at; at = at->next)
		rf_notice_drop(((struct client *)at)->notice); /* while the boxes are there */
	for (struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		struct client *client = (struct client *)at;

		if (client->note)
			rf_scribe_drop(client->note);
		let_go(client);
		if (client->work) {
			rf_chronicle_end(warden->scribe, client->work);
			rf_ward_free(client->ward);
			rf_work_done(client->work, warden->yard);
		}
	}
}

int rf_warden_serve(const struct rf_warden_options *options, struct rf_err *err)
{
	struct warden warden = { .options = options };
	int code;

	rf_door_init(&warden.door, options->is_lasting ? &lasting_rules : &rules, &warden);
	rf_buf_init(&warden.in, RF_WIRE_ROOM);
	rf_buf_init(&warden.out, RF_WIRE_BODY);
	code = start(&warden, err);
	if (code == 0)
		code = rf_loop_run(warden.loop, err);
	dismiss(&warden);
	rf_scribe_free(warden.scribe);
	rf_yard_free(warden.yard);
	rf_door_done(
		&warden.door); /* who sees the end of its connection knows that no box is left */
	rf_lore_free(warden.lore);
	rf_loop_free(warden.loop);
	rf_buf_done(&warden.in);
	rf_buf_done(&warden.out);
	return code;
}
