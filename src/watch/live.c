/* The boxes that live: see live.h. */
#include "watch/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/loop.h"
#include "policy/near.h"
#include "watch/gauge.h"
#include "watch/herd.h"
#include "watch/lever.h"
#include "watch/muster.h"
#include "watch/roster.h"
#include "watch/table.h"

#define MS          1000000ull
#define LOOK_EVERY  (100 * MS)
#define LOOK_SHARE  20 /* of the time between two looks, one part may be spent looking */
#define FREEZE_SOON (5 * MS)
#define FREEZE_LATE (2000 * MS) /* who still runs then does not mean to stop */
#define SLIPS       10 /* a frozen box that has gone on so often is killed; slow disks make some, too */
#define HISTORY     12 /* looks that are kept: more than a second of them */
#define WINDOW      (1000 * MS)
#define DENIALS     16
#define REASON      121 /* bytes, with the NUL */
#define NEAR        3   /* boxes that are named instead */

enum state {
	STARTING, /* told of, and not seen yet */
	RUNNING,
	FREEZING, /* some of its processes may still run */
	FROZEN,
	ENDING, /* killed */
};

static const char *const states[] = { "starting", "running", "frozen", "frozen", "ending" };

struct moment {
	uint64_t ns, cpu_ns, begun, refused, written;
};

struct box {
	struct rf_table_node node; /* first: found by its id */
	struct box *older, *newer;
	char agent[65], program[65], policy[2 * RF_AUDIT_HASH + 1];
	uint64_t user, started_ns, began_ns; /* since 1970, and since the machine is up */
	pid_t launcher;
	enum state state;
	struct rf_herd herd;
	struct rf_gauge gauge;
	struct rf_lever lever; /* on its network */
	uint64_t limits[RF_LIMIT_COUNT];
	struct rf_alarms alarms;
	bool is_sounded[RF_ALARM_COUNT];
	bool is_adopted;                /* begun under another watcher */
	uint64_t frozen_ns;             /* since when */
	uint64_t turns;                 /* what rf_herd_turns() said at first; 0: unasked */
	unsigned slips;                 /* how often that was no longer so */
	struct moment history[HISTORY]; /* the newest first */
	size_t moments;
	char fate[REASON + 64]; /* who killed it and why, or "" */
};

struct rf_live {
	struct rf_live_options options;
	struct rf_table boxes;
	struct box *oldest, *newest;
	struct rf_roster_denial denials[DENIALS]; /* the newest first */
	size_t denial_count;
};

/* ------------------------------------------------------------- the table */

static struct box *find(const struct rf_live *live, const char *id)
{
	return (struct box *)rf_table_find(&live->boxes, RF_TABLE_AGENT, id); /* all of one kind */
}

static void forget(struct rf_live *live, struct box *box)
{
	*(box->older ? &box->older->newer : &live->oldest) = box->newer;
	*(box->newer ? &box->newer->older : &live->newest) = box->older;
	rf_table_remove(&live->boxes, &box->node);
	rf_gauge_done(&box->gauge);
	rf_herd_done(&box->herd);
	rf_lever_done(&box->lever);
	free(box);
}

static void add(struct rf_live *live, const struct rf_audit_event *event)
{
	char id[RF_SIGHT_BOX];
	struct box *box;

	rf_audit_event_copy(event, RF_AUDIT_BOX, id, sizeof(id));
	if (!rf_table_takes(id) || find(live, id))
		return;
	if (live->boxes.node_count >= live->options.most && live->oldest)
		forget(live, live->oldest);
	box = calloc(1, sizeof(*box));
	if (!box || rf_table_add(&live->boxes, &box->node, RF_TABLE_AGENT, id) < 0) {
		free(box); /* it is recorded all the same */
		return;
	}
	rf_herd_init(&box->herd);
	rf_lever_init(&box->lever);
	rf_audit_event_copy(event, RF_AUDIT_AGENT, box->agent, sizeof(box->agent));
	rf_audit_event_copy(event, RF_AUDIT_PROGRAM, box->program, sizeof(box->program));
	if (rf_audit_event_has(event, RF_AUDIT_POLICY))
		for (size_t i = 0; i < event->values[RF_AUDIT_POLICY].len; i++)
			snprintf(box->policy + 2 * i, 3, "%02x",
				 (unsigned char)event->values[RF_AUDIT_POLICY].text[i]);
	box->user = rf_audit_event_get(event, RF_AUDIT_USER);
	box->launcher = (pid_t)rf_audit_event_get(event, RF_AUDIT_PID);
	box->is_adopted = event->kind == RF_AUDIT_RECOVERY;
	box->started_ns = event->time_ns;
	box->began_ns = rf_loop_now();
	box->older = live->newest;
	*(box->older ? &box->older->newer : &live->oldest) = box;
	live->newest = box;
}

static void end(struct rf_live *live, const struct rf_audit_event *event)
{
	char id[RF_SIGHT_BOX];
	struct box *box;

	rf_audit_event_copy(event, RF_AUDIT_BOX, id, sizeof(id));
	box = find(live, id);
	if (!box)
		return;
	/* A launcher that died took its box along, unless that could not hear of it. */
	if (rf_herd_is_alive(&box->herd) && !rf_herd_is_child(&box->herd, box->launcher))
		rf_herd_kill(&box->herd);
	forget(live, box);
}

static void deny(struct rf_live *live, const struct rf_audit_event *event)
{
	struct rf_roster_denial *first = live->denials;

	memmove(first + 1, first, (DENIALS - 1) * sizeof(*first));
	live->denial_count += live->denial_count < DENIALS;
	*first = (struct rf_roster_denial){ .time_ns = event->time_ns };
	rf_audit_event_copy(event, RF_AUDIT_BOX, first->box, sizeof(first->box));
	rf_audit_event_copy(event, RF_AUDIT_AGENT, first->agent, sizeof(first->agent));
	rf_audit_event_copy(event, RF_AUDIT_WHAT, first->what, sizeof(first->what));
}

/* Begun under another watcher: its launcher comes and shows it. */
static bool is_adopted(const struct rf_audit_event *event)
{
	char verdict[33];

	if (event->kind != RF_AUDIT_RECOVERY)
		return false;
	rf_audit_event_copy(event, RF_AUDIT_VERDICT, verdict, sizeof(verdict));
	return strcmp(verdict, RF_MUSTER_ADOPTED) == 0;
}

void rf_live_event(struct rf_live *live, const struct rf_audit_event *event)
{
	if (event->kind == RF_AUDIT_RUN_STARTED || is_adopted(event))
		add(live, event);
	else if (event->kind == RF_AUDIT_RUN_ENDED)
		end(live, event);
	else if (event->kind == RF_AUDIT_DENIAL)
		deny(live, event);
}

int rf_live_show(struct rf_live *live, pid_t launcher, const struct rf_sight *sight, int *pidfd,
		 int *hand, struct rf_err *err)
{
	struct box *box = find(live, sight->box);

	if (!box || box->state != STARTING)
		return rf_fail_say(err, -ENOENT, "LIVE: there is no such box to be shown");
	if (rf_herd_open(&box->herd, pidfd, launcher, sight->box, sight->is_lesser, err) < 0) {
		rf_herd_done(&box->herd);
		rf_herd_init(&box->herd);
		return err->code;
	}
	rf_lever_take(&box->lever, hand);
	box->launcher = launcher;
	memcpy(box->limits, sight->limits, sizeof(box->limits));
	box->alarms = sight->alarms;
	/* Whoever stopped it was another watcher, and nothing that was stopped goes on because of a restart. */
	box->state = box->is_adopted && rf_herd_is_stopped(&box->herd) ? FROZEN : RUNNING;
	return 0;
}

/* ------------------------------------------------------------- looking */

static uint64_t rate(uint64_t now, uint64_t before, uint64_t ns)
{
	if (now == RF_GAUGE_UNKNOWN || before == RF_GAUGE_UNKNOWN || now < before || ns == 0)
		return 0;
	return (uint64_t)((double)(now - before) * 1e9 / (double)ns);
}

/* The oldest moment that is not older than a second before the newest. */
static const struct moment *before(const struct box *box)
{
	const struct moment *found = &box->history[0];

	for (size_t i = 1; i < box->moments; i++)
		if (box->history[0].ns - box->history[i].ns <= WINDOW)
			found = &box->history[i];
	return found;
}

static void look_at(struct box *box)
{
	rf_gauge_look(&box->gauge, &box->herd);
	memmove(box->history + 1, box->history, (HISTORY - 1) * sizeof(box->history[0]));
	box->history[0] =
		(struct moment){ rf_loop_now(), box->gauge.last.cpu_ns, box->gauge.last.begun,
				 box->gauge.last.refused, box->gauge.last.written };
	box->moments += box->moments < HISTORY;
}

/* Who wants something done to a box, and why. */
struct wish {
	const char *by;     /* "hand", "watcher" */
	pid_t asker;        /* or 0 */
	const char *rule;   /* that it goes by, or NULL */
	const char *reason; /* or "" */
};

static void note_act(const struct rf_live *live, const struct box *box, enum rf_audit_kind kind,
		     const char *to, const struct wish *wish)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, kind);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box->node.name);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, box->agent);
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	rf_audit_event_text(&event, RF_AUDIT_BY, wish->by);
	if (wish->asker > 0)
		rf_audit_event_number(&event, RF_AUDIT_PID, (uint64_t)wish->asker);
	rf_audit_event_text(&event, RF_AUDIT_RULE, wish->rule);
	rf_audit_event_text(&event, RF_AUDIT_REASON, wish->reason);
	if (to)
		rf_audit_event_text(&event, RF_AUDIT_TO, to);
	live->options.note(live->options.data, &event);
}

static void freeze_box(const struct rf_live *live, struct box *box, const struct wish *wish)
{
	if (box->state != RUNNING)
		return;
	box->frozen_ns = rf_loop_now();
	box->turns = 0;
	box->slips = 0;
	box->state = rf_herd_stop(&box->herd) ? FROZEN : FREEZING;
	note_act(live, box, RF_AUDIT_FREEZE, "frozen", wish);
}

/* Recorded first: who is killed is known before anybody can ask what became of it. */
static void kill_box(const struct rf_live *live, struct box *box, const struct wish *wish)
{
	if (box->state != ENDING) {
		if (wish->asker > 0)
			snprintf(box->fate, sizeof(box->fate), "by %s, by user %u%s%s", wish->by,
				 (unsigned)geteuid(), wish->reason[0] ? ": " : "", wish->reason);
		else
			snprintf(box->fate, sizeof(box->fate), "by the %s: %s", wish->by,
				 wish->reason);
		note_act(live, box, RF_AUDIT_KILL, NULL, wish);
	}
	box->state = ENDING;
	rf_herd_kill(&box->herd);
}

/*
 * A box that is stopped by signals can have set a timer that sends one of its processes SIGCONT: it is stopped again,
 * and is killed when it does not leave it at that.  A timer may also be quicker than we are.
 */
static void keep_frozen(const struct rf_live *live, struct box *box)
{
	static const struct wish wish = { .by = "watcher",
					  .reason = "it went on although it was frozen" };
	uint64_t turns = box->state == FROZEN ? rf_herd_turns(&box->herd) : 0;

	if (box->state == FROZEN && (box->turns == 0 || turns == box->turns)) {
		box->turns = turns; /* when all had stopped, it may have been on the way to it */
		return;
	}
	if (box->state == FROZEN) {
		box->turns = 0;
		box->frozen_ns = rf_loop_now();
		box->slips++;
	}
	box->state = rf_herd_stop(&box->herd) ? FROZEN : FREEZING;
	if (box->slips >= SLIPS ||
	    (box->state == FREEZING && rf_loop_now() - box->frozen_ns > FREEZE_LATE))
		kill_box(live, box, &wish);
}

/* ------------------------------------------------------------- alarms */

static void sound(const struct rf_live *live, const struct box *box, const char *name,
		  uint64_t count, const struct wish *wish)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_ALARM);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, name);
	rf_audit_event_text(&event, RF_AUDIT_SEVERITY, "high");
	rf_audit_event_text(&event, RF_AUDIT_REASON, wish->reason);
	rf_audit_event_text(&event, RF_AUDIT_RULE, wish->rule);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box->node.name);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, box->agent);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, box->program);
	rf_audit_event_number(&event, RF_AUDIT_COUNT, count);
	live->options.note(live->options.data, &event);
}

/* How much there was within the last second. */
static uint64_t lately(const struct box *box, enum rf_alarm alarm)
{
	static const struct moment nothing;
	const struct moment *now = &box->history[0];
	/* At the first look all of it came within a few moments, unless others have looked before. */
	const struct moment *then = box->moments == 1 && !box->is_adopted ? &nothing : before(box);

	return alarm == RF_ALARM_FORKS ? now->begun - then->begun + now->refused - then->refused
				       : now->written - then->written;
}

/* Holds a box that was just looked at against its alarms. */
static void judge(const struct rf_live *live, struct box *box)
{
	/* clang-format off */
	static const struct { const char *name, *rule, *what; } alarms[RF_ALARM_COUNT] = {
		[RF_ALARM_FORKS]  = { "fork_storm",  "alarms.forks",  "processes begun or refused" },
		[RF_ALARM_WRITES] = { "write_storm", "alarms.writes", "bytes written" },
	};
	/* clang-format on */
	char reason[REASON];

	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		uint64_t count = lately(box, (enum rf_alarm)i);
		const struct wish wish = { .by = "watcher",
					   .rule = alarms[i].rule,
					   .reason = reason };

		if (box->is_sounded[i] || count < box->alarms.figures[i])
			continue;
		box->is_sounded[i] = true;
		snprintf(reason, sizeof(reason), "%s: %" PRIu64 " %s in a second, of %" PRIu64,
			 alarms[i].name, count, alarms[i].what, box->alarms.figures[i]);
		sound(live, box, alarms[i].name, count, &wish);
		if (box->alarms.reactions[i] == RF_REACTION_KILL)
			kill_box(live, box, &wish);
		else if (box->alarms.reactions[i] == RF_REACTION_FREEZE)
			freeze_box(live, box, &wish);
		if (box->alarms.opens_breaker && live->options.trip)
			live->options.trip(live->options.data, box->node.name, box->agent, reason);
	}
}

uint64_t rf_live_look(struct rf_live *live)
{
	uint64_t began = rf_loop_now(), took, next = 0;
	bool is_freezing = false;

	for (struct box *box = live->oldest; box; box = box->newer) {
		if (box->state == STARTING || box->state == ENDING)
			continue;
		look_at(box);
		if (box->state == FREEZING || box->state == FROZEN)
			keep_frozen(live, box);
		judge(live, box);
		is_freezing |= box->state == FREEZING;
		next = LOOK_EVERY;
	}
	took = (rf_loop_now() - began) * LOOK_SHARE;
	next = next > 0 && took > next ? took : next;
	return is_freezing ? FREEZE_SOON : next;
}

/* ------------------------------------------------------------- the list */

static void view(const struct rf_live *live, const struct box *box, struct rf_roster_box *out)
{
	const struct moment *now = &box->history[0], *then = before(box);
	uint64_t ns = box->moments ? now->ns - then->ns : 0;

	*out = (struct rf_roster_box){
		.id = box->node.name,
		.agent = box->agent,
		.program = box->program,
		.policy = box->policy,
		.state = states[box->state],
		.user = box->user,
		.pid = box->herd.init,
		.launcher = box->launcher,
		.started_ns = box->started_ns,
		.age_ms = (rf_loop_now() - box->began_ns) / MS,
		.limits = box->moments > 0 ? box->limits : NULL,
		.used = box->gauge.last,
		.cpu_percent = rate(now->cpu_ns, then->cpu_ns, ns) / 10000000u,
		.begun_rate = rate(now->begun, then->begun, ns),
		.write_rate = rate(now->written, then->written, ns),
	};
	if (box->agent[0] && live->options.breaker)
		out->breaker =
			live->options.breaker(live->options.data, box->agent, &out->breaker_reason);
}

static int answer_ps(struct rf_live *live, pid_t asker, const char *const *words,
		     struct rf_buf *out, struct rf_err *err)
{
	bool is_text = strcmp(words[0], "text") == 0;
	struct rf_roster_box *boxes;
	size_t count = 0;

	(void)asker;
	if (!is_text && strcmp(words[0], "json") != 0)
		return rf_fail_say(err, -EINVAL, "\"%.60s\" is not a form", words[0]);
	boxes = calloc(live->boxes.node_count + 1, sizeof(*boxes));
	if (!boxes)
		return rf_fail(err, -ENOMEM, "list the boxes");
	for (struct box *box = live->oldest; box; box = box->newer) {
		if (box->moments == 0 && box->state == RUNNING)
			look_at(box);
		view(live, box, &boxes[count++]);
	}
	if (is_text)
		rf_roster_text(boxes, count, out);
	else
		rf_roster_json(boxes, count, live->denials, live->denial_count, out);
	free(boxes);
	return out->has_failed ? rf_fail(err, -E2BIG, "list the boxes") : 1;
}

/* ------------------------------------------------------------- acting */

/* The ids of some boxes, for a hint: those that begin with `start`. */
static size_t name_boxes(const struct rf_live *live, const char *start, char *text, size_t size)
{
	size_t count = 0, len = 0;

	text[0] = '\0';
	for (const struct box *box = live->newest; box; box = box->older) {
		if (strncmp(box->node.name, start, strlen(start)) != 0)
			continue;
		if (++count <= NEAR)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						box->node.name);
	}
	return count;
}

static int fail_unknown(const struct rf_live *live, const char *id, struct rf_err *err)
{
	struct rf_near near = rf_near_init(id);
	char some[NEAR * (RF_SIGHT_BOX + 2)];

	rf_fail_say(err, -ENOENT, "no box %.40s lives", id);
	for (const struct box *box = live->newest; box; box = box->older)
		rf_near_consider(&near, id, box->node.name, box->node.name);
	if (near.name)
		return rf_fail_hint(err, "did you mean %s?", near.name);
	if (name_boxes(live, "", some, sizeof(some)) > 0)
		return rf_fail_hint(err, "these do: %s; `ringfort ps` lists them", some);
	return rf_fail_hint(err, "none lives now; how one ended: ringfort audit show --box %.20s",
			    id);
}

/* A box by its id, or by the begin of it that no other has; NULL, with why, if there is none. */
static struct box *find_by(const struct rf_live *live, const char *id, struct rf_err *err)
{
	char some[NEAR * (RF_SIGHT_BOX + 2)];
	struct box *found = find(live, id);
	size_t count = found || !id[0] ? 0 : name_boxes(live, id, some, sizeof(some));

	if (count > 1) {
		rf_fail_say(err, -EINVAL, "%zu boxes begin with %.40s", count, id);
		rf_fail_hint(err, "which one: %s?", some);
		return NULL;
	}
	for (struct box *box = live->oldest; box && count == 1 && !found; box = box->newer)
		if (strncmp(box->node.name, id, strlen(id)) == 0)
			found = box;
	if (!found)
		fail_unknown(live, id, err);
	return found;
}

static bool is_reason(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return len < REASON && rf_json_is_utf8(text, len);
}

/* What an act needs: a box that is seen, and a reason that can be told.  NULL, with why, if there is none. */
static struct box *prepare(const struct rf_live *live, const char *const *words, struct rf_err *err)
{
	struct box *box;

	if (!is_reason(words[1])) {
		rf_fail_say(err, -EINVAL, "a reason is one line of at most %d bytes", REASON - 1);
		return NULL;
	}
	box = find_by(live, words[0], err);
	if (!box || box->state != STARTING)
		return box;
	rf_fail_say(err, -EAGAIN, "box %s is just starting", box->node.name);
	rf_fail_hint(err, "try again in a moment");
	return NULL;
}

static int answer_freeze(struct rf_live *live, pid_t asker, const char *const *words,
			 struct rf_buf *out, struct rf_err *err)
{
	struct box *box = prepare(live, words, err);

	if (!box)
		return err->code;
	if (box->state == ENDING)
		return rf_fail_say(err, -EINVAL, "box %s is being killed", box->node.name);
	freeze_box(live, box, &(struct wish){ "hand", asker, NULL, words[1] });
	rf_buf_printf(out, "frozen: %s\n", box->node.name);
	return 1;
}

static int answer_thaw(struct rf_live *live, pid_t asker, const char *const *words,
		       struct rf_buf *out, struct rf_err *err)
{
	struct box *box = prepare(live, words, err);

	if (!box)
		return err->code;
	if (box->state == ENDING)
		return rf_fail_say(err, -EINVAL, "box %s is being killed", box->node.name);
	if (box->state != RUNNING) {
		rf_herd_continue(&box->herd);
		box->state = RUNNING;
		note_act(live, box, RF_AUDIT_FREEZE, "running",
			 &(struct wish){ "hand", asker, NULL, words[1] });
	}
	rf_buf_printf(out, "running: %s\n", box->node.name);
	return 1;
}

static int answer_kill(struct rf_live *live, pid_t asker, const char *const *words,
		       struct rf_buf *out, struct rf_err *err)
{
	struct box *box = prepare(live, words, err);

	if (!box)
		return err->code;
	if (box->state != ENDING)
		look_at(box); /* what it used: afterwards nobody is there */
	kill_box(live, box, &(struct wish){ "hand", asker, NULL, words[1] });
	rf_buf_printf(out, "killed: %s\n", box->node.name);
	return 1;
}

static int answer_fate(struct rf_live *live, pid_t asker, const char *const *words,
		       struct rf_buf *out, struct rf_err *err)
{
	const struct box *box = find(live, words[0]);

	(void)asker;
	(void)err;
	if (box && box->fate[0])
		rf_buf_printf(out, "killed %" PRIu64 " %s\n",
			      box->moments ? box->gauge.last.cpu_ns : 0, box->fate);
	else
		rf_buf_puts(out, "none\n");
	return 1;
}

/* ------------------------------------------------------------- its network */

static int answer_net_show(struct rf_live *live, pid_t asker, const char *const *words,
			   struct rf_buf *out, struct rf_err *err)
{
	struct box *box = prepare(live, (const char *const[]){ words[0], "" }, err);
	uint64_t number;

	(void)asker;
	if (!box || rf_lever_show(&box->lever, &number, err) < 0)
		return err->code;
	rf_buf_printf(out, "asked %" PRIu64 "\n", number);
	return 1;
}

/* Recorded first, and once more if it is refused: see rf_lever_answer(). */
static int answer_net_change(struct rf_live *live, pid_t asker, const char *const *words,
			     struct rf_buf *out, struct rf_err *err)
{
	struct box *box = prepare(live, words, err);
	struct rf_audit_event event;
	uint64_t number;

	(void)asker;
	if (!box || rf_lever_change(&box->lever, words[3], &number, err) < 0)
		return err->code;
	rf_audit_event_init(&event, RF_AUDIT_CONFIG_CHANGE);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box->node.name);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, box->agent);
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	rf_audit_event_text(&event, RF_AUDIT_SETTING, "network");
	rf_audit_event_text(&event, RF_AUDIT_TO, words[2]);
	rf_audit_event_text(&event, RF_AUDIT_BY, "hand");
	rf_audit_event_text(&event, RF_AUDIT_REASON, words[1]);
	live->options.note(live->options.data, &event);
	rf_buf_printf(out, "asked %" PRIu64 "\n", number);
	return 1;
}

static int answer_net_answer(struct rf_live *live, pid_t asker, const char *const *words,
			     struct rf_buf *out, struct rf_err *err)
{
	struct box *box = find_by(live, words[0], err);
	struct rf_audit_event event;
	bool is_change;
	int code;

	(void)asker;
	if (!box)
		return err->code;
	code = rf_lever_answer(&box->lever, strtoull(words[1], NULL, 10), &is_change, out, err);
	if (code < 0 && code != -EAGAIN && is_change) {
		rf_audit_event_init(&event, RF_AUDIT_CONFIG_CHANGE);
		rf_audit_event_text(&event, RF_AUDIT_BOX, box->node.name);
		rf_audit_event_text(&event, RF_AUDIT_AGENT, box->agent);
		rf_audit_event_text(&event, RF_AUDIT_SETTING, "network");
		rf_audit_event_text(&event, RF_AUDIT_TO, "as it was: refused");
		rf_audit_event_text(&event, RF_AUDIT_BY, "gateway");
		rf_audit_event_text(&event, RF_AUDIT_REASON, err->msg);
		live->options.note(live->options.data, &event);
	}
	return code < 0 ? code : 1;
}

/* clang-format off */
static const struct {
	const char *word;
	size_t count; /* of the words that follow */
	int (*answer)(struct rf_live *live, pid_t asker, const char *const *words,
		      struct rf_buf *out, struct rf_err *err);
} answers[] = {
	{ "ps",     1, answer_ps },
	{ "freeze", 2, answer_freeze },
	{ "thaw",   2, answer_thaw },
	{ "kill",   2, answer_kill },
	{ "fate",   1, answer_fate },
	{ "net-show",   1, answer_net_show },
	{ "net-change", 4, answer_net_change },
	{ "net-answer", 2, answer_net_answer },
};
/* clang-format on */

int rf_live_ask(struct rf_live *live, pid_t asker, const char *const *words, size_t count,
		struct rf_buf *out, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(answers); i++) {
		if (count == 0 || strcmp(words[0], answers[i].word) != 0)
			continue;
		if (count != answers[i].count + 1)
			return rf_fail_say(err, -EINVAL, "`%s` with other words than it takes",
					   words[0]);
		return answers[i].answer(live, asker, words + 1, out, err);
	}
	return 0;
}

/* ------------------------------------------------------------- life */

struct rf_live *rf_live_new(const struct rf_live_options *options)
{
	struct rf_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->options = *options;
	rf_table_init(&live->boxes, options->key);
	return live;
}

void rf_live_free(struct rf_live *live)
{
	if (!live)
		return;
	while (live->oldest)
		forget(live, live->oldest);
	rf_table_done(&live->boxes);
	free(live);
}
