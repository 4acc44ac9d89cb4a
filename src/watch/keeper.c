/* The steward in a watcher's process: see keeper.h. */
#include "watch/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "watch/clock.h"
#include "watch/hook.h"
#include "watch/live.h"
#include "watch/metrics.h"
#include "watch/settings.h"
#include "watch/steward.h"

#define STATE     "state"
#define STATE_NEW "state.new"
#define STATE_BAD "state.bad"
#define MAX_STATE (16 * 1024 * 1024)
#define CAP       2048 /* agents, hosts, tools and credentials; some hundred bytes each, budgets 1 KiB */
#define RUNS      8192
#define SAVE_MS   1000

struct rf_keeper {
	struct rf_watcher_guest guest;
	struct rf_steward *steward;
	struct rf_live *live;
	struct rf_hook *hook; /* or NULL */
	const char *program;  /* its program, or NULL; borrowed */
	const char *settings; /* what the watcher was started with; borrowed */
	struct rf_event *look_timer;
	bool is_looking;            /* the timer is set */
	struct rf_watcher *own;     /* the watcher, once it stands */
	struct rf_watcher *watcher; /* the same, while one of the guest's functions is called */
	int dir;                    /* borrowed */
	char boot[RF_CLOCK_BOOT];
	uint64_t saved_ms;
	char trouble[256]; /* what is yet to be told in the log, or "" */
	bool has_failed_to_save;
};

static struct rf_steward_now now(void)
{
	struct timespec mono, wall;

	clock_gettime(CLOCK_BOOTTIME, &mono);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (struct rf_steward_now){
		(uint64_t)mono.tv_sec * 1000 + (uint64_t)mono.tv_nsec / 1000000,
		(uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000,
	};
}

static void note(void *data, const struct rf_audit_event *event)
{
	struct rf_keeper *keeper = data;
	struct rf_err err = RF_ERR_INIT;

	rf_watcher_note(keeper->watcher, event, &err); /* what is wrong the watcher keeps in mind */
	if (keeper->hook && event->kind == RF_AUDIT_ALARM)
		rf_hook_tell(keeper->hook, event);
}

/* ------------------------------------------------------------- the state */

static int write_state(struct rf_keeper *keeper, const struct rf_buf *state)
{
	RF_AUTO_FD int fd = openat(keeper->dir, STATE_NEW,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = fd < 0 ? -errno : rf_fd_write(fd, state->data, state->len);

	if (code == 0 && renameat(keeper->dir, STATE_NEW, keeper->dir, STATE) < 0)
		code = -errno;
	return code;
}

static void save(struct rf_keeper *keeper)
{
	RF_AUTO_BUF struct rf_buf state;
	int code;

	rf_buf_init(&state, MAX_STATE);
	rf_steward_pack(keeper->steward, keeper->boot, &state);
	code = state.has_failed ? -ENOMEM : write_state(keeper, &state);
	if (code < 0 && !keeper->has_failed_to_save)
		snprintf(keeper->trouble, sizeof(keeper->trouble),
			 "the state of breakers and budgets can't be saved: %s", strerror(-code));
	keeper->has_failed_to_save = code < 0;
}

static void save_if_new(struct rf_keeper *keeper, uint64_t mono_ms)
{
	enum rf_steward_news news = rf_steward_news(keeper->steward);

	if (news == RF_STEWARD_CHANGED ||
	    (news == RF_STEWARD_COUNTED && mono_ms - keeper->saved_ms >= SAVE_MS)) {
		keeper->saved_ms = mono_ms;
		save(keeper);
	}
}

/* Takes over what a watcher before this one left. */
static void load(struct rf_keeper *keeper)
{
	RF_AUTO_FD int fd = openat(keeper->dir, STATE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *data = fd < 0 ? NULL : malloc(MAX_STATE);
	struct rf_err err = RF_ERR_INIT;
	ssize_t len = data ? rf_fd_read(fd, data, MAX_STATE) : -1;

	if (fd < 0 && errno == ENOENT)
		return;
	if (len >= 0 && rf_steward_unpack(keeper->steward, keeper->boot, now().mono_ms, data,
					  (size_t)len, &err) == 0) {
		free(data);
		return;
	}
	free(data);
	renameat(keeper->dir, STATE, keeper->dir, STATE_BAD);
	snprintf(
		keeper->trouble, sizeof(keeper->trouble),
		"all breakers are closed and nothing is spent: the state could not be read, and is "
		"kept as " STATE_BAD);
}

/* ------------------------------------------------------------- the guest */

static void tell_trouble(struct rf_keeper *keeper)
{
	struct rf_audit_event event;

	if (!keeper->trouble[0])
		return;
	rf_audit_event_init(&event, RF_AUDIT_ALARM);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, "breaker_state");
	rf_audit_event_text(&event, RF_AUDIT_SEVERITY, "high");
	rf_audit_event_text(&event, RF_AUDIT_REASON, keeper->trouble);
	note(keeper, &event);
	rf_metrics_add(rf_steward_metrics(keeper->steward), RF_METRIC_ALARMS, "breaker_state", NULL,
		       1);
	keeper->trouble[0] = '\0';
}

static const char *breaker(void *data, const char *agent, const char **ret_reason)
{
	struct rf_keeper *keeper = data;
	struct rf_steward_now when = now();

	return rf_steward_breaker(keeper->steward, agent, &when, ret_reason);
}

static void trip(void *data, const char *box, const char *agent, const char *reason)
{
	struct rf_keeper *keeper = data;
	struct rf_steward_now when = now();

	rf_steward_trip(keeper->steward, box, agent, reason, &when);
}

/* What the boxes that live gave rise to: an alarm counts as those do of boxes that ended. */
static void note_live(void *data, const struct rf_audit_event *event)
{
	struct rf_keeper *keeper = data;
	char name[65];

	note(keeper, event);
	if (event->kind != RF_AUDIT_ALARM)
		return;
	rf_audit_event_copy(event, RF_AUDIT_ALARM_NAME, name, sizeof(name));
	rf_metrics_add(rf_steward_metrics(keeper->steward), RF_METRIC_ALARMS, name, NULL, 1);
}

/* What became of a hook comes at any time, within other calls and on its own. */
static void note_hook(void *data, const struct rf_audit_event *event)
{
	struct rf_keeper *keeper = data;
	struct rf_watcher *before = keeper->watcher;

	keeper->watcher = keeper->own;
	note(keeper, event);
	keeper->watcher = before;
}

/* Looks at the boxes that live, for as long as there are any. */
static void on_look(void *data, int what)
{
	struct rf_keeper *keeper = data;
	uint64_t next;

	(void)what;
	keeper->watcher = keeper->own;
	next = rf_live_look(keeper->live);
	save_if_new(keeper, now().mono_ms);
	keeper->watcher = NULL;
	keeper->is_looking = next > 0;
	if (next > 0)
		rf_event_again(keeper->look_timer, rf_loop_now() + next);
}

static void look_soon(struct rf_keeper *keeper)
{
	if (!keeper->is_looking)
		rf_event_again(keeper->look_timer, rf_loop_now());
	keeper->is_looking = true;
}

/* A watcher that was started with something else than the one before it. */
static void on_setting(void *data, const char *name, const char *from, const char *to)
{
	struct rf_keeper *keeper = data;
	struct rf_audit_event event;
	struct rf_err ignored = RF_ERR_INIT;

	rf_audit_event_init(&event, RF_AUDIT_CONFIG_CHANGE);
	rf_audit_event_text(&event, RF_AUDIT_SETTING, name);
	rf_audit_event_text(&event, RF_AUDIT_FROM, from);
	rf_audit_event_text(&event, RF_AUDIT_TO, to);
	rf_audit_event_text(&event, RF_AUDIT_BY, "who started the watcher");
	rf_watcher_note(keeper->own, &event, &ignored);
}

static int on_begin(void *data, struct rf_watcher *watcher, struct rf_loop *loop,
		    struct rf_err *err)
{
	struct rf_keeper *keeper = data;

	keeper->own = watcher;
	rf_settings_note(keeper->dir, keeper->settings, on_setting, keeper);
	if (keeper->program &&
	    rf_hook_new(keeper->program, loop, note_hook, keeper, &keeper->hook, err) < 0)
		return err->code;
	return rf_loop_timer(loop, rf_loop_now(), on_look, keeper, &keeper->look_timer, err);
}

/* While the loop and the log are still there. */
static void on_finish(void *data)
{
	struct rf_keeper *keeper = data;

	rf_hook_free(keeper->hook);
	keeper->hook = NULL;
}

static int on_sight(void *data, struct rf_watcher *watcher, pid_t teller,
		    const struct rf_sight *sight, int *pidfd, int *hand, struct rf_err *err)
{
	struct rf_keeper *keeper = data;

	(void)watcher;
	if (rf_live_show(keeper->live, teller, sight, pidfd, hand, err) < 0)
		return err->code;
	look_soon(keeper);
	return 0;
}

static void on_event(void *data, struct rf_watcher *watcher, const struct rf_audit_event *event)
{
	struct rf_keeper *keeper = data;
	struct rf_steward_now when = now();

	keeper->watcher = watcher;
	rf_steward_event(keeper->steward, event, &when);
	rf_live_event(keeper->live, event);
	if (keeper->hook && event->kind == RF_AUDIT_ALARM)
		rf_hook_tell(keeper->hook, event);
	save_if_new(keeper, when.mono_ms);
	tell_trouble(keeper);
	keeper->watcher = NULL;
}

static int on_ask(void *data, struct rf_watcher *watcher, pid_t asker, const char *const *words,
		  size_t count, struct rf_buf *out, struct rf_err *err)
{
	struct rf_keeper *keeper = data;
	struct rf_steward_now when = now();
	int code;

	keeper->watcher = watcher;
	tell_trouble(keeper);
	rf_metrics_set(rf_steward_metrics(keeper->steward), RF_METRIC_AUDIT_LAG, NULL, NULL,
		       rf_watcher_lag_ns(watcher));
	code = rf_live_ask(keeper->live, asker, words, count, out, err);
	if (code == 0)
		code = rf_steward_ask(keeper->steward, words, count, &when, out, err);
	save_if_new(keeper, when.mono_ms);
	tell_trouble(keeper);
	keeper->watcher = NULL;
	return code;
}

int rf_keeper_new(int dir, const char *hook, const char *settings, struct rf_keeper **ret_keeper,
		  struct rf_err *err)
{
	struct rf_keeper *keeper = calloc(1, sizeof(*keeper));
	struct rf_steward_options options = {
		.cap = CAP, .runs = RUNS, .note = note, .data = keeper
	};
	struct rf_live_options live = {
		.most = RUNS, .note = note_live, .breaker = breaker, .trip = trip, .data = keeper
	};

	if (!keeper)
		return rf_fail(err, -ENOMEM, "breakers and budgets");
	keeper->dir = dir;
	keeper->guest = (struct rf_watcher_guest){ on_begin, on_finish, on_event,
						   on_ask,   on_sight,  keeper };
	if (getrandom(options.key, sizeof(options.key), 0) != (ssize_t)sizeof(options.key)) {
		rf_fail(err, -errno, "random bytes");
		free(keeper);
		return err->code;
	}
	rf_fd_read_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", keeper->boot,
			sizeof(keeper->boot));
	keeper->boot[strcspn(keeper->boot, "\n")] = '\0';
	memcpy(live.key, options.key, sizeof(live.key));
	keeper->program = hook;
	keeper->settings = settings;
	keeper->steward = rf_steward_new(&options);
	keeper->live = rf_live_new(&live);
	if (!keeper->steward || !keeper->live) {
		rf_live_free(keeper->live);
		rf_steward_free(keeper->steward);
		free(keeper);
		return rf_fail(err, -ENOMEM, "breakers and budgets");
	}
	load(keeper);
	*ret_keeper = keeper;
	return 0;
}

void rf_keeper_free(struct rf_keeper *keeper)
{
	if (!keeper)
		return;
	if (rf_steward_news(keeper->steward) != RF_STEWARD_NOTHING)
		save(keeper);
	rf_live_free(keeper->live);
	rf_steward_free(keeper->steward);
	free(keeper);
}

const struct rf_watcher_guest *rf_keeper_guest(const struct rf_keeper *keeper)
{
	return &keeper->guest;
}
