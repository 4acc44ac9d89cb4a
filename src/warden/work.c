/* One run that a client asked for: see work.h. */
#include "warden/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

_Static_assert(RF_ERRAND_RLIMITS == RLIM_NLIMITS, "an errand tells every limit");

void rf_work_note_self(struct rf_work_self *ret_self)
{
	*ret_self = (struct rf_work_self){ 0 };
	for (int i = 0; i < RLIM_NLIMITS; i++)
		getrlimit(i, &ret_self->rlimits[i]);
	ret_self->nice = getpriority(PRIO_PROCESS, 0);
	sched_getaffinity(0, sizeof(ret_self->cpus), &ret_self->cpus);
	rf_fd_read_text(AT_FDCWD, "/proc/self/cgroup", ret_self->groups, sizeof(ret_self->groups));
}

/* True if the client lives in the same groups as we do; one that can't be looked at does not. */
static bool shares_groups(pid_t client, const struct rf_work_self *self)
{
	char path[32], groups[sizeof(self->groups)];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)client);
	return rf_fd_read_text(AT_FDCWD, path, groups, sizeof(groups)) >= 0 &&
	       strcmp(groups, self->groups) == 0;
}

/* What the client may have is the most that its box may have. */
static int note_limits(struct rf_work *work, const struct rf_work_order *order,
		       const struct rf_work_self *self, struct rf_err *err)
{
	const struct rf_errand *errand = order->errand;
	bool is_other = work->plan->limits[RF_LIMIT_OPEN_FILES] == RF_LIMIT_NONE;
	int nice = getpriority(PRIO_PROCESS, (id_t)order->client);

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit *most = &work->most[i], theirs;

		*most = (struct rlimit){ errand->rlimits[i].soft, errand->rlimits[i].hard };
		/* What it says of itself counts only where it is less than what the kernel says. */
		if (prlimit(order->client, i, NULL, &theirs) < 0)
			return rf_fail(err, -errno, "look at the limits of who asks");
		if (theirs.rlim_max < most->rlim_max)
			most->rlim_max = theirs.rlim_max;
		if (theirs.rlim_cur < most->rlim_cur)
			most->rlim_cur = theirs.rlim_cur;
		is_other |= work->most[i].rlim_max != self->rlimits[i].rlim_max ||
			    work->most[i].rlim_cur != self->rlimits[i].rlim_cur;
	}
	work->options.most = is_other ? work->most : NULL;
	if (nice < errand->nice)
		nice = errand->nice;
	work->options.nice = nice > self->nice ? nice : 0;
	if (sched_getaffinity(order->client, sizeof(work->cpus), &work->cpus) == 0 &&
	    !CPU_EQUAL(&work->cpus, &self->cpus))
		work->options.cpus = &work->cpus;
	return 0;
}

static int make_plan(struct rf_work *work, const struct rf_work_order *order, struct rf_err *err)
{
	const struct rf_errand *errand = order->errand;
	const struct rf_facts facts = {
		.uid = geteuid(),
		.gid = getegid(),
		.cwd = errand->cwd,
		.home = errand->home,
		.env = errand->env,
		.argv = errand->argv,
		.set = errand->set,
		.extras = errand->extras,
		.extra_count = errand->extra_count,
		.origin = errand->origin,
		.is_recorded = errand->is_recorded,
		.site = work->site.held >= 0 ? &work->site.place : NULL,
	};

	return rf_plan_make(order->policy, &facts, &work->plan, err);
}

/*
 * The limit on stacks is the one that can't be changed from outside for sure: exec notes it at its
 * beginning and sets it again at its end, and a box that has just been built may be in the middle.
 */
static bool has_our_stack(const struct rf_work *work, const struct rf_work_self *self)
{
	const struct rlimit *theirs = &work->most[RLIMIT_STACK],
			    *ours = &self->rlimits[RLIMIT_STACK];

	return theirs->rlim_cur == ours->rlim_cur && theirs->rlim_max == ours->rlim_max;
}

/* Takes a box that stands ready, if the client's own limits and groups allow one. */
static void choose_box(struct rf_work *work, const struct rf_work_order *order,
		       const struct rf_work_self *self, struct rf_yard *yard)
{
	struct rf_box *box = &work->life.box;

	if (!shares_groups(order->client, self))
		box->group_of = order->client;
	else if (rf_box_can_wait(work->plan) && has_our_stack(work, self))
		work->is_ready_made = rf_yard_take(yard, work->plan, work->is_heard, box);
	if (!work->is_ready_made)
		box->network = rf_yard_network(yard, work->plan);
	rf_box_give_streams(box, order->streams);
}

static int prepare(struct rf_work *work, const struct rf_work_order *order,
		   const struct rf_work_self *self, struct rf_yard *yard, struct rf_err *err)
{
	const struct rf_errand *errand = order->errand;

	if (make_plan(work, order, err) < 0) {
		rf_result_fail(&work->result, RF_STATUS_ERROR, 125, err);
		return err->code;
	}
	if (order->is_bounded && work->outward.fd >= 0 &&
	    rf_outward_bound(&work->outward, order->policy, err) < 0) {
		rf_result_fail(&work->result, RF_STATUS_ERROR, 125, err);
		return err->code;
	}
	rf_result_init(&work->result, work->plan);
	work->options = (struct rf_life_options){
		.init_path = order->init_path,
		.caller_path = work->caller_path,
		.wants_denials = errand->wants_denials,
		.has_janitor = true,
		.has_outward = work->outward.fd >= 0,
		.is_served = true,
		.is_kept = order->is_kept,
		.umask = errand->umask & 0777,
	};
	if (note_limits(work, order, self, err) < 0) {
		rf_result_fail(&work->result, RF_STATUS_ERROR, 125, err);
		return err->code;
	}
	work->is_heard = errand->wants_denials && geteuid() == 0 && rf_ear_ask() == RF_EAR_ON;
	rf_life_init(&work->life, work->plan, &work->options, &work->result);
	choose_box(work, order, self, yard);
	return 0;
}

int rf_work_start(const struct rf_work_order *order, const struct rf_work_self *self,
		  struct rf_yard *yard, struct rf_loop *loop, void (*on_exit)(void *data),
		  void *data, struct rf_work **ret_work, struct rf_err *err)
{
	struct rf_work *work = calloc(1, sizeof(*work));
	struct rf_err why = RF_ERR_INIT;
	int gateway = order->gateway;

	if (!work) {
		for (int i = 0; i < 3; i++)
			close(order->streams[i]);
		if (gateway >= 0)
			close(gateway);
		rf_site_done(order->site);
		return rf_fail(err, -ENOMEM, "a run");
	}
	rf_outward_adopt(&work->outward, &gateway);
	work->site = *order->site;
	*order->site = (struct rf_site){ .held = -1, .used = -1 };
	rf_result_init(&work->result, NULL);
	if (order->errand->caller_path)
		work->caller_path = strdup(order->errand->caller_path);
	if (prepare(work, order, self, yard, &why) < 0) {
		for (int i = 0; i < 3; i++)
			close(order->streams[i]);
		work->is_over = true;
	} else {
		int code;

		work->life.on_exit = on_exit;
		work->life.data = data;
		code = order->on_ready(order->data, work, order, &why);
		work->is_waiting = code > 0;
		if (work->is_waiting) { /* and the yard may change until it goes on */
			work->has_parts = work->life.box.parts != NULL;
			work->life.box.parts = NULL;
		}
		if (code < 0)
			rf_work_refuse(work, &why);
		else if (code == 0)
			rf_work_go(work, yard, loop);
	}
	*ret_work = work;
	return 0;
}

/* We keep none of its sockets, so that they end with the gateway.  A box that can't have its network has nothing. */
static void lead_outward(struct rf_work *work, struct rf_loop *loop)
{
	struct rf_err why = RF_ERR_INIT;

	/* Who decides about its writes is to know whose they are; that they wait does not depend on it. */
	if (work->plan->net && work->plan->net->holds_writes)
		rf_gate_name(work->outward.fd, work->outward.box, work->life.box.id, &why);
	why = RF_ERR_INIT;
	if (rf_outward_give(&work->outward, &work->life.box.capture, &why) < 0 ||
	    rf_outward_watch(&work->outward, loop, &why) < 0) {
		work->life.ending.setup = why;
		rf_life_end(&work->life);
	}
}

void rf_work_go(struct rf_work *work, struct rf_yard *yard, struct rf_loop *loop)
{
	struct rf_err why = RF_ERR_INIT;

	if (work->has_parts)
		work->life.box.parts = rf_yard_parts(yard, work->plan, work->is_heard);
	work->is_waiting = false;
	work->is_over = rf_life_start(&work->life, loop, &why) < 0;
	if (!work->is_over && work->outward.fd >= 0)
		lead_outward(work, loop);
}

void rf_work_refuse(struct rf_work *work, const struct rf_err *why)
{
	work->is_waiting = false;
	work->is_over = true;
	rf_result_fail(&work->result, RF_STATUS_DENIED, 126, why);
}

void rf_work_done(struct rf_work *work, struct rf_yard *yard)
{
	bool was_good = work->result.proven != 0 && !work->result.walls.is_lesser;

	if (work->life.plan)
		rf_life_done(&work->life);
	if (was_good)
		rf_yard_remember(yard, work->plan, work->is_heard);
	else
		rf_plan_free(work->plan);
	rf_site_done(&work->site);
	rf_outward_done(&work->outward);
	rf_result_done(&work->result);
	free(work->caller_path);
	free(work);
}
