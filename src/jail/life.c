/* A life: see life.h. */
#include "jail/life.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/deputy.h"
#include "jail/hands.h"
#include "jail/lesser.h"
#include "jail/onlooker.h"
#include "jail/ration.h"
#include "jail/record.h"
#include "jail/rlimit.h"
#include "jail/ruleset.h"
#include "jail/seccomp.h"
#include "jail/task.h"
#include "jail/tell.h"
#include "jail/tripwire.h"
#include "policy/footprint.h"

#define MS            1000000ull /* nanoseconds */
#define SETTLED_AFTER (20 * MS)  /* shorter runs do without a janitor; the next start cleans up */
#define SETTLED_AGAIN (2000 * MS)
#define TRIES         3 /* boxes whose mounts lose what they lie on, until the start is refused */

/* ------------------------------------------------------------- ends */

static void note_peak(struct rf_life *life, const struct rf_sample *sample)
{
	if (sample->memory_bytes > life->peak.memory_bytes)
		life->peak.memory_bytes = sample->memory_bytes;
	if (sample->pids > life->peak.pids)
		life->peak.pids = sample->pids;
	if (sample->cpu_ns > life->peak.cpu_ns)
		life->peak.cpu_ns = sample->cpu_ns;
}

/* What only the sampler knows is looked at first: afterwards nobody is there. */
void rf_life_end(struct rf_life *life)
{
	struct rf_sample sample;

	if (life->has_exited)
		return;
	if (!life->box.cgroup.has_cputime || !life->box.cgroup.has_memory) {
		rf_sample_take(&(struct rf_sample_look){ .init = life->box.pid,
							 .has_scratch = !life->box.is_lesser,
							 .exact_above = UINT64_MAX },
			       &sample);
		note_peak(life, &sample);
	}
	rf_box_kill(&life->box);
}

void rf_life_end_for(struct rf_life *life, enum rf_limit limit)
{
	if (life->ending.killed_for != RF_LIMIT_COUNT || life->has_exited)
		return;
	life->ending.killed_for = limit;
	rf_life_end(life);
}

void rf_life_signal(struct rf_life *life, int signal)
{
	if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT)
		life->ending.forwarded = signal;
	rf_kernel_signal(life->box.pidfd, life->box.pid, signal);
}

/* Everything inside is dead with pid 1. */
static void on_exit_of_init(void *data, int what)
{
	struct rf_life *life = data;
	int status = SIGKILL;
	pid_t got;

	(void)what;
	got = wait4(life->box.pid, &status, WNOHANG, &life->rusage);
	if (got == 0 || (got < 0 && errno == EINTR))
		return; /* any other error would come again and again */
	life->ending.has_left = WIFEXITED(status);
	life->box.pid = 0;
	life->has_exited = true;
	life->result->usage.wall_ns = rf_loop_now() - life->began_ns;
	rf_event_cancel(life->exit_event);
	life->exit_event = NULL;
	life->on_exit(life->data);
}

/* ------------------------------------------------------------- pid 1's reports */

/* What the groups counted, once. */
static void count(struct rf_life *life)
{
	if (!life->has_counted)
		rf_cgroup_usage(&life->box.cgroup, &life->ending.counts);
	life->has_counted = true;
}

static void take_report(struct rf_life *life, const struct rf_report *report)
{
	switch (report->kind) {
	case RF_REPORT_STARTED:
		life->ending.start = *report;
		if (life->box.facts & 1u << RF_PROOF_CGROUP && rf_cgroup_is_used(&life->box.cgroup))
			life->ending.start.held |= 1u << RF_PROOF_CGROUP;
		life->result->usage.start_ns = rf_loop_now() - life->began_ns;
		rf_record_started(&life->box, report->ns);
		rf_box_spread_out(&life->box);
		break;
	case RF_REPORT_REFUSED:
		life->ending.start = *report;
		break;
	case RF_REPORT_NO_WORKDIR:
		rf_box_fail_workdir(life->plan->workdir, -report->code, &life->ending.setup);
		break;
	case RF_REPORT_LATE: /* while we were stopped, or had no processor */
		if (life->ending.killed_for == RF_LIMIT_COUNT)
			life->ending.killed_for = RF_LIMIT_TIME;
		break;
	case RF_REPORT_WRITTEN:
		life->reaped_bytes += report->written_bytes;
		break;
	case RF_REPORT_NO_EXEC:
	case RF_REPORT_ENDED:
		/* The program's own end comes after why it did not start: the first one counts. */
		if (!life->ending.end.kind)
			life->ending.end = *report;
		/* Meanwhile the kernel takes the box down, on another processor if there is one. */
		rf_hands_dismiss(&life->box);
		if (life->on_ended)
			life->on_ended(life->data);
		count(life);
		break;
	default:
		break;
	}
}

static void on_channel(void *data, int what)
{
	struct rf_life *life = data;
	struct rf_report report;
	int n, fd;

	(void)what;
	while ((n = rf_task_receive(life->box.channel[0], &report, &fd)) > 0) {
		if (report.number == 0)
			take_report(life, &report);
		if (life->on_report)
			life->on_report(life->data, &report, fd);
		else
			rf_fd_done(&fd);
	}
	if (n != -EAGAIN) {
		rf_event_cancel(life->channel_event);
		life->channel_event = NULL;
	}
}

/* ------------------------------------------------------------- limits that need watching */

/* Whoever was not looked at in time may have ended in time. */
static void on_time(void *data, int what)
{
	struct rf_life *life = data;

	if (life->channel_event)
		on_channel(life, what);
	if (!life->ending.end.kind)
		rf_life_end_for(life, RF_LIMIT_TIME);
	else
		rf_life_end(life);
}

/* When processor time can run out at the earliest: all processors busy from now on. */
static uint64_t next_for_time(const struct rf_life *life, uint64_t used_ns, uint64_t processors)
{
	uint64_t limit = life->plan->limits[RF_LIMIT_CPU_TIME], left;

	if (limit == RF_LIMIT_NONE)
		return UINT64_MAX;
	left = (limit * MS - used_ns) / processors;
	return rf_loop_now() + (left < MS ? MS : left);
}

/* The same for memory, where nobody but us looks after it. */
static uint64_t next_for_memory(const struct rf_life *life, uint64_t used, uint64_t processors)
{
	uint64_t limit = life->plan->limits[RF_LIMIT_MEMORY], now = rf_loop_now();

	if (life->box.grades[RF_LIMIT_MEMORY] != RF_GRADE_SAMPLED)
		return UINT64_MAX;
	return now + rf_sample_pause(used < limit ? limit - used : 0, now - life->began_ns,
				     (unsigned)processors);
}

static uint64_t next_look(const struct rf_life *life, uint64_t used_ns, uint64_t memory)
{
	uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t next = next_for_time(life, used_ns, processors);
	uint64_t other = next_for_memory(life, memory, processors);

	next = other < next ? other : next;
	return life->ration_ns < next ? life->ration_ns : next;
}

/* What is written to disks, where nobody else looks after it. */
static void look_at_ration(struct rf_life *life, uint64_t written)
{
	uint64_t next;
	enum rf_limit passed;

	if (!life->box.has_ration || rf_loop_now() < life->ration_ns)
		return;
	if (life->is_frozen) { /* who is writes nothing, and waits for nobody */
		life->ration_ns = rf_loop_now() + RF_SAMPLE_SELDOM;
		return;
	}
	passed = rf_ration_look(&life->box, written, &next);
	life->ration_ns = passed == RF_LIMIT_COUNT ? rf_loop_now() + next : UINT64_MAX;
	if (passed != RF_LIMIT_COUNT)
		rf_life_end_for(life, passed);
}

static void on_look(void *data, int what)
{
	struct rf_life *life = data;
	const uint64_t *limits = life->plan->limits;
	uint64_t used = rf_cgroup_cpu_ns(&life->box.cgroup);
	bool is_sampled = life->box.grades[RF_LIMIT_MEMORY] == RF_GRADE_SAMPLED;
	struct rf_sample sample = { 0 };

	(void)what;
	if (life->has_exited)
		return;
	if (is_sampled || used == UINT64_MAX || life->box.has_ration) {
		rf_sample_take(
			&(struct rf_sample_look){ .init = life->box.pid,
						  .has_scratch = !life->box.is_lesser,
						  .ended = life->box.has_ration ? &life->ended
										: NULL,
						  .exact_above = limits[RF_LIMIT_MEMORY] / 4 * 3,
						  .memo = &life->memo },
			&sample);
		sample.memory_bytes += rf_ration_memory(life->plan);
		note_peak(life, &sample);
		used = used == UINT64_MAX ? sample.cpu_ns : used;
	}
	if (is_sampled && sample.memory_bytes > limits[RF_LIMIT_MEMORY])
		rf_life_end_for(life, RF_LIMIT_MEMORY);
	look_at_ration(life,
		       sample.written_bytes + (sample.is_init_closed ? life->reaped_bytes : 0));
	if (limits[RF_LIMIT_CPU_TIME] != RF_LIMIT_NONE && used >= limits[RF_LIMIT_CPU_TIME] * MS)
		rf_life_end_for(life, RF_LIMIT_CPU_TIME);
	else
		rf_event_again(life->look_timer, next_look(life, used, sample.memory_bytes));
}

/* Whichever process the kernel chose: the limit is the box's, and the others go with it. */
static void on_oom(void *data, int what)
{
	struct rf_life *life = data;

	(void)what;
	rf_life_end_for(life, RF_LIMIT_MEMORY);
	rf_event_cancel(life->oom_event);
	life->oom_event = NULL;
}

/* Nobody has a reason to open a canary. */
static void on_canary(void *data, int what)
{
	struct rf_life *life = data;

	(void)what;
	life->result->canary = rf_tripwire_read(&life->box);
	if (!life->result->canary)
		return;
	rf_event_cancel(life->canary_event);
	life->canary_event = NULL;
	rf_life_end(life);
}

/* What only a box that lives for a while needs. */
static void settle(struct rf_life *life)
{
	int oom = rf_cgroup_watch_oom(&life->box.cgroup);
	struct rf_err err;

	life->is_settled = true;
	if (oom >= 0)
		rf_loop_watch(life->loop, oom, RF_LOOP_READ, on_oom, life, &life->oom_event, &err);
	rf_hands_end(&life->box); /* what is not short does without them */
	if (!life->options->has_janitor)
		rf_janitor_start(&life->janitor, &life->box);
}

static void on_settled(void *data, int what)
{
	struct rf_life *life = data;

	(void)what;
	if (life->has_exited)
		return;
	if (!life->is_settled)
		settle(life);
	if (!life->on_settled)
		return;
	life->on_settled(life->data);
	rf_event_again(life->settled_timer, rf_loop_now() + SETTLED_AGAIN);
}

static int start_timers(struct rf_life *life, struct rf_err *err)
{
	uint64_t time = life->plan->limits[RF_LIMIT_TIME];

	life->until_ns = time == RF_LIMIT_NONE ? 0 : life->began_ns + time * MS;
	if (life->until_ns &&
	    rf_loop_timer(life->loop, life->until_ns, on_time, life, &life->time_timer, err) < 0)
		return err->code;
	life->ration_ns = life->box.has_ration ? rf_loop_now() + RF_SAMPLE_EVERY : UINT64_MAX;
	if (rf_loop_timer(life->loop, next_look(life, 0, 0), on_look, life, &life->look_timer,
			  err) < 0)
		return err->code;
	return rf_loop_timer(life->loop, life->began_ns + SETTLED_AFTER, on_settled, life,
			     &life->settled_timer, err);
}

/* ------------------------------------------------------------- what the kernel refuses */

static void on_refusal(void *data, int what)
{
	struct rf_life *life = data;

	(void)what;
	if (rf_ear_hear(&life->ear))
		return;
	rf_event_cancel(life->ear_event);
	life->ear_event = NULL;
}

/* Refusals are told from others' by the box's uid: it must have one of its own. */
static int start_listening(struct rf_life *life, struct rf_err *err)
{
	struct rf_denials *denials;

	if (life->ear.fd < 0 || life->box.has_owner_uid || life->box.is_lesser)
		return 0;
	denials = calloc(1, sizeof(*denials));
	if (!denials)
		return rf_fail(err, -ENOMEM, "a list of denials");
	denials->uid = life->box.host_uid;
	denials->calls = rf_seccomp_options(&life->box);
	denials->has_commands = life->box.programs != NULL;
	life->ear.denials = denials;
	return rf_loop_watch(life->loop, life->ear.fd, RF_LOOP_READ, on_refusal, life,
			     &life->ear_event, err);
}

static void end_listening(struct rf_life *life)
{
	const struct rf_denials *denials = life->ear.denials;

	if (!denials)
		return;
	rf_ear_hear_last(&life->ear);
	/* Older kernels tell what the filter refuses, and nothing of Landlock. */
	life->result->has_seen_denials = denials->domain != 0 && !life->ear.has_lost;
	if (denials->more)
		rf_result_warn(life->result, "%llu more refusals are not listed in denials",
			       (unsigned long long)denials->more);
	if (life->ear.has_lost)
		rf_result_warn(life->result, "the kernel refused more than could be read: "
					     "denials lists a part of it");
}

/* ------------------------------------------------------------- what is left to say */

static void note_usage(struct rf_life *life)
{
	struct rf_cgroup_usage *counts = &life->ending.counts;
	const struct rf_room *room = rf_ration_room(life->plan);
	struct rf_result *result = life->result;
	const struct timeval *user = &life->rusage.ru_utime, *system = &life->rusage.ru_stime;

	count(life);
	result->usage.cpu_ns = counts->cpu_ns;
	if (counts->cpu_ns == UINT64_MAX && life->has_exited)
		result->usage.cpu_ns = (uint64_t)(user->tv_sec + system->tv_sec) * 1000000000u +
				       (uint64_t)(user->tv_usec + system->tv_usec) * 1000u;
	/* What was killed before it was waited for is not in the kernel's sum. */
	if (counts->cpu_ns == UINT64_MAX && life->peak.cpu_ns > result->usage.cpu_ns)
		result->usage.cpu_ns = life->peak.cpu_ns;
	result->usage.memory_peak = counts->memory_peak;
	if (counts->memory_peak == UINT64_MAX && life->has_exited) {
		uint64_t largest = (uint64_t)life->rusage.ru_maxrss * 1024;

		result->usage.memory_peak =
			life->peak.memory_bytes > largest ? life->peak.memory_bytes : largest;
	}
	result->usage.pids_peak =
		counts->pids_peak == UINT64_MAX ? life->peak.pids : counts->pids_peak - 1;
	if (result->usage.pids_peak == 0)
		result->usage.pids_peak = UINT64_MAX; /* too short to be looked at */
	if (life->ending.end.kind == RF_REPORT_ENDED && life->ending.end.scratch_bytes)
		result->usage.disk_bytes =
			life->plan->limits[RF_LIMIT_DISK] - life->ending.end.scratch_free_bytes;
	life->ending.used_up = rf_ration_end(life->plan);
	if (room && result->usage.disk_bytes != UINT64_MAX)
		result->usage.disk_bytes += room->bytes;
	else if (room)
		result->usage.disk_bytes = room->bytes;
}

/* Finds a program on the caller's PATH, to tell why the box does not have it. */
static bool find_outside(const char *name, const char *path, char *found, size_t size)
{
	while (path && *path && !strchr(name, '/')) {
		size_t len = strcspn(path, ":");

		if (len > 0 && snprintf(found, size, "%.*s/%s", (int)len, path, name) < (int)size &&
		    access(found, X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* What the result says of the box itself, once; nothing of it runs any more. */
void rf_life_tell(struct rf_life *life)
{
	struct rf_result *result = life->result;
	struct rf_box *box = &life->box;

	if (life->has_told)
		return;
	life->has_told = true;
	rf_tell_box(box, result);
	rf_tell_denials(life->ear.denials, result);
	rf_planted_end(life->planted, result);
	life->planted = NULL;
}

/* Whatever it came to by itself: one that was read to the end before it was killed was read. */
static void judge_canary(struct rf_life *life)
{
	struct rf_err err;

	if (!life->result->canary && life->box.tripwire >= 0)
		life->result->canary = rf_tripwire_read(&life->box);
	if (!life->result->canary)
		return;
	rf_fail_say(&err, -ECANCELED, "killed because it read the canary %s", life->result->canary);
	rf_fail_hint(&err, "nothing needs that file: look at what the program was after");
	rf_result_fail(life->result, RF_STATUS_KILLED, 128 + SIGKILL, &err);
}

void rf_life_judge(struct rf_life *life)
{
	const char *program = life->plan->argv[0];
	char found[4096];
	bool is_outside;

	on_channel(life, 0); /* last words */
	end_listening(life);
	is_outside = life->ending.end.kind == RF_REPORT_NO_EXEC &&
		     find_outside(program, life->options->caller_path, found, sizeof(found));
	if (life->box.shared->has_failed)
		life->ending.setup = life->box.shared->err;
	note_usage(life);
	rf_verdict_judge(&life->ending, program, is_outside ? found : NULL, life->result);
	judge_canary(life);
	rf_life_tell(life);
}

/* ------------------------------------------------------------- the whole */

void rf_life_init(struct rf_life *life, const struct rf_plan *plan,
		  const struct rf_life_options *options, struct rf_result *result)
{
	*life = (struct rf_life){
		.plan = plan,
		.options = options,
		.result = result,
		.ear = RF_EAR_DEAF,
		.ending.killed_for = RF_LIMIT_COUNT,
	};
	rf_box_init(&life->box, plan);
}

void rf_life_fail(struct rf_life *life, const struct rf_err *err)
{
	bool is_denied = err->code == -EOPNOTSUPP;

	rf_result_fail(life->result, is_denied ? RF_STATUS_DENIED : RF_STATUS_ERROR,
		       is_denied ? 126 : 125, err);
}

/* Where the policy names programs: finds them, and refuses to run another. */
static int find_programs(struct rf_life *life, struct rf_err *err)
{
	if (!life->plan->commands)
		return 0;
	if (rf_program_find(life->plan, &life->box.programs, err) < 0)
		return err->code;
	return life->options->is_kept ? 0 : rf_program_admit(life->box.programs, life->plan, err);
}

/* What who asked may have is what the box may have. */
static int bound(const struct rf_life *life, struct rf_err *err)
{
	const struct rf_life_options *options = life->options;
	const struct rf_box *box = &life->box;

	if (options->most && rf_rlimit_bound(box, options->most, box->pid, err) < 0)
		return err->code;
	if (options->nice && setpriority(PRIO_PROCESS, (id_t)box->pid, options->nice) < 0)
		return rf_fail(err, -errno, "pass the caller's priority on");
	return 0;
}

_Static_assert(sizeof(cpu_set_t) == RF_ORDERS_CPUS * sizeof(uint64_t),
	       "orders hold a set of processors");

static void note_caller(struct rf_life *life)
{
	life->box.callers = life->options->most;
	life->box.callers_cpus = life->options->cpus;
	life->box.nice = life->options->nice;
}

/* A box that can't wait for anything: its child takes from us what is the caller's. */
static int start_at_once(struct rf_life *life, struct rf_err *err)
{
	const struct rf_life_options *options = life->options;
	struct rf_box *box = &life->box;
	mode_t ours;
	int code;

	box->footprint = options->footprint;
	if (!options->is_served)
		return rf_box_start(box, options->init_path, err);
	note_caller(life);
	ours = umask(options->umask);
	code = rf_box_start(box, options->init_path, err);
	umask(ours);
	return code;
}

/* Wakes a box that stands ready, or else builds one first. */
static int start_served(struct rf_life *life, struct rf_err *err)
{
	struct rf_box *box = &life->box;

	if (!rf_box_can_wait(life->plan)) {
		if (!life->options->is_kept)
			return start_at_once(life, err);
		rf_fail_say(err, -EOPNOTSUPP, "a box with a system call profile can't be kept");
		return rf_fail_hint(err, "take `seccomp` out of its policy");
	}
	note_caller(life);
	if (box->is_ahead ? bound(life, err) < 0
			  : rf_box_build(box, life->options->init_path, err) < 0)
		return err->code;
	return life->options->is_kept ? rf_box_keep(box, life->plan, err)
				      : rf_box_wake(box, life->plan, life->options->umask, err);
}

static bool is_copy_due(const struct rf_life *life)
{
	const struct rf_room *room = rf_ration_room(life->plan);

	return life->box.shared && life->box.shared->lacks_overlay && room && room->make_copy &&
	       room->kind != RF_ROOM_COPY;
}

/* Overlayfs was refused: the same box once more, over a copy of all that it would have shown. */
static int start_on_copy(struct rf_life *life, struct rf_err *err)
{
	struct rf_room *room = rf_ration_room(life->plan);
	struct rf_err why = *err;

	rf_box_renew(&life->box);
	*err = RF_ERR_INIT;
	if (room->make_copy(room->data, err) < 0)
		return err->code;
	rf_result_warn(life->result, "the workspace was copied for this run: %.150s", why.msg);
	return start_at_once(life, err);
}

/* A hidden file, or a mount's, may be replaced while the box is made, as an editor does to save: another has it as it is now. */
static int start_full(struct rf_life *life, struct rf_err *err)
{
	int code, tries = 0;

	do {
		if (tries > 0)
			rf_box_renew(&life->box);
		*err = RF_ERR_INIT;
		code = life->options->is_served ? start_served(life, err)
						: start_at_once(life, err);
	} while (code < 0 && err->code == -ESTALE && ++tries < TRIES);
	return code;
}

/* A full box; or, where the machine has no namespaces to give and the plan takes less, a lesser one. */
static int start_box(struct rf_life *life, struct rf_err *err)
{
	struct rf_err why;

	if (start_full(life, err) == 0)
		return 0;
	if (life->options->is_kept)
		return err->code; /* a lesser box has nobody who could keep it */
	if (is_copy_due(life))
		return start_on_copy(life, err);
	if (!rf_lesser_is_due(life->plan, err, &why))
		return err->code;
	rf_box_renew(&life->box);
	rf_lesser_choose(&life->box, &why);
	return start_at_once(life, err);
}

static void on_request(void *data, int what)
{
	struct rf_life *life = data;

	(void)what;
	if (life->box.shared->is_watched ? rf_onlooker_serve(&life->box)
					 : rf_deputy_serve(&life->box))
		return;
	rf_event_cancel(life->request_event);
	life->request_event = NULL;
	rf_fd_done(&life->box.listener); /* who still waits for an answer gets the kernel's */
}

/* Names in a profile that no kernel has: allowing them does nothing, and may be a slip. */
static void warn_of_profiles(struct rf_life *life)
{
	for (size_t i = 0; i < life->box.profile_count; i++) {
		const struct rf_ruleset *ruleset = life->box.profiles[i];

		if (ruleset->unknown_count > 0)
			rf_result_warn(life->result,
				       "seccomp: %.60s: %zu unknown system call%s: %.150s",
				       ruleset->path, ruleset->unknown_count,
				       ruleset->unknown_count == 1 ? "" : "s", ruleset->unknown);
	}
}

/* Everything that is listened to while the box lives. */
static int listen_to(struct rf_life *life, struct rf_err *err)
{
	struct rf_box *box = &life->box;

	if (start_listening(life, err) < 0 || start_timers(life, err) < 0)
		return err->code;
	if (box->footprint)
		box->footprint->is_watched = box->shared->is_watched;
	if (box->listener >= 0 && rf_loop_watch(life->loop, box->listener, RF_LOOP_READ, on_request,
						life, &life->request_event, err) < 0)
		return err->code;
	if (box->tripwire >= 0 && rf_loop_watch(life->loop, box->tripwire, RF_LOOP_READ, on_canary,
						life, &life->canary_event, err) < 0)
		return err->code;
	if (rf_loop_watch(life->loop, box->channel[0], RF_LOOP_READ, on_channel, life,
			  &life->channel_event, err) < 0)
		return err->code;
	return rf_loop_watch(life->loop, box->pidfd, RF_LOOP_READ, on_exit_of_init, life,
			     &life->exit_event, err);
}

int rf_life_start(struct rf_life *life, struct rf_loop *loop, struct rf_err *err)
{
	struct rf_box *box = &life->box;

	life->loop = loop;
	if (life->plan->link == RF_LINK_GATEWAY && !life->options->has_outward) {
		rf_fail_say(err, -EOPNOTSUPP,
			    "a network through the gateway can't be had this way");
		rf_fail_hint(err, "use `ringfort run`, or `network: none`");
		rf_life_fail(life, err);
		return err->code;
	}
	life->planted = rf_planted_begin(life->plan);
	if (find_programs(life, err) < 0) {
		bool is_denied = err->code == -EPERM;

		rf_result_fail(life->result, is_denied ? RF_STATUS_DENIED : RF_STATUS_ERROR,
			       is_denied ? 126 : 125, err);
		return err->code;
	}
	life->began_ns = rf_loop_now();
	if (life->options->wants_denials && box->is_root)
		rf_ear_open(&life->ear);
	box->is_heard = life->ear.fd >= 0;
	if (start_box(life, err) < 0) {
		rf_life_fail(life, err);
		return err->code;
	}
	memcpy(life->result->grades, box->grades, sizeof(box->grades));
	warn_of_profiles(life);
	if (box->uncounted[0])
		rf_result_warn(
			life->result,
			"limits.disk does not hold in %.150s: nobody counts what is written there",
			box->uncounted);
	if (listen_to(life, err) < 0) {
		rf_life_fail(life, err);
		return err->code;
	}
	return 0;
}

int rf_life_renew(struct rf_life *life, uint64_t time_ms, struct rf_err *err)
{
	uint64_t most = life->plan->limits[RF_LIMIT_TIME];
	int code;

	if (time_ms == 0 || time_ms > UINT32_MAX || (most != RF_LIMIT_NONE && time_ms > most)) {
		rf_fail_say(err, -EINVAL, "a time of %llu ms is more than limits.time, or none",
			    (unsigned long long)time_ms);
		return rf_fail_hint(err, "ask for less, or keep a box whose policy gives more");
	}
	if (!life->time_timer && rf_loop_timer(life->loop, rf_loop_now() + time_ms * MS, on_time,
					       life, &life->time_timer, err) < 0)
		return err->code;
	life->until_ns = rf_loop_now() + time_ms * MS;
	rf_event_again(life->time_timer, life->until_ns);
	code = rf_task_renew(life->box.channel[0], time_ms + RF_GRACE_MS);
	return code < 0 ? rf_fail(err, code, "tell pid 1 of its time") : 0;
}

/* By the kernel's freezer, which nobody inside notices; else pid 1 stops them, and lives on. */
int rf_life_freeze(struct rf_life *life, bool is_frozen, struct rf_err *err)
{
	int group = life->box.cgroup.dirs[RF_GROUP_UNIFIED], code;

	code = group >= 0 ? rf_fd_write_text(group, "cgroup.freeze", is_frozen ? "1" : "0") : -1;
	if (code != 0)
		code = rf_task_freeze(life->box.channel[0], is_frozen);
	if (code < 0)
		return rf_fail(err, code, "tell pid 1 to stop them");
	life->is_frozen = is_frozen;
	life->ended = (struct rf_sample_ended){ 0 };
	return 0;
}

static void forget_events(struct rf_life *life)
{
	struct rf_event **events[] = { &life->ear_event,     &life->exit_event,
				       &life->channel_event, &life->request_event,
				       &life->look_timer,    &life->time_timer,
				       &life->settled_timer, &life->oom_event,
				       &life->canary_event };

	for (size_t i = 0; i < RF_LEN(events); i++) {
		rf_event_cancel(*events[i]);
		*events[i] = NULL;
	}
}

void rf_life_done(struct rf_life *life)
{
	struct rf_box *box = &life->box;

	forget_events(life);
	if (box->pid > 0)
		rf_box_stop(box);
	rf_life_tell(life);
	rf_box_done(box);
	rf_janitor_stop(&life->janitor);
	rf_record_sweep(box);
	rf_ear_done(&life->ear);
}
