/* ringfort ps, freeze, thaw, kill: the boxes that live, and a hand on each.  The watcher does the work. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option.h"

#define EXIT_NONE 1  /* no watcher, or no such box */
#define TRIES     50 /* for a box that is just starting */
#define TRY_EVERY 20000000L

struct wish {
	bool wants_help, is_json;
	const char *reason, *box;
};

static void take_option(struct wish *wish, const struct rf_option *option, const char *value)
{
	if (option->id == RF_OPTION_JSON)
		wish->is_json = true;
	else if (option->id == RF_OPTION_REASON)
		wish->reason = value;
	else
		wish->wants_help = true;
}

/* Options may stand before and behind the box. */
static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const char *const name = rf_cmd_table[id].name;
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while (at < argc) {
		got = rf_option_next(id, argc, argv, &at, &option, &value, err);
		if (got < 0)
			return err->code;
		if (got > 0) {
			take_option(wish, option, value);
		} else if (at < argc && (id == RF_CMD_PS || wish->box)) {
			rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`", name, argv[at]);
			return rf_fail_hint(err, "see `ringfort %s --help`", name);
		} else if (at < argc) {
			wish->box = argv[at++];
		}
	}
	if (wish->wants_help || id == RF_CMD_PS || wish->box)
		return 0;
	rf_fail_say(err, -EINVAL, "which box?  An ID is needed here");
	return rf_fail_hint(err, "`ringfort ps` lists them");
}

/* One that was told of a moment ago can't be reached yet. */
static int ask(const char *const *words, struct rf_buf *answer, struct rf_err *err)
{
	const struct timespec moment = { 0, TRY_EVERY };
	int code = -EAGAIN;

	for (int i = 0; i < TRIES && code == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&moment, NULL);
		code = rf_ask_watcher(words, "nobody sees the boxes", answer, err);
	}
	return code;
}

static int carry_out(enum rf_cmd_id id, const struct wish *wish, struct rf_err *err)
{
	const char *const list[] = { "ps", wish->is_json ? "json" : "text", NULL };
	const char *const act[] = { rf_cmd_table[id].name, wish->box, wish->reason, NULL };
	RF_AUTO_BUF struct rf_buf answer;

	rf_buf_init(&answer, RF_ASK_MOST);
	if (ask(id == RF_CMD_PS ? list : act, &answer, err) < 0)
		return err->code;
	return rf_cmd_print(&answer) ? -EIO : 0;
}

static int run(enum rf_cmd_id id, int argc, char **argv)
{
	struct wish wish = { .reason = "" };
	struct rf_err err = RF_ERR_INIT;

	if (read_line(id, argc, argv, &wish, &err) == 0) {
		if (wish.wants_help) {
			rf_command_help(id, stdout);
			return 0;
		}
		if (carry_out(id, &wish, &err) == 0)
			return 0;
	}
	if (err.code) /* else it is told */
		rf_cmd_complain(NULL, &err);
	return err.code == -ENOENT || err.code == -ECONNREFUSED ? EXIT_NONE : RF_EXIT_FAILED;
}

int rf_cmd_ps(int argc, char **argv)
{
	return run(RF_CMD_PS, argc, argv);
}

int rf_cmd_freeze(int argc, char **argv)
{
	return run(RF_CMD_FREEZE, argc, argv);
}

int rf_cmd_thaw(int argc, char **argv)
{
	return run(RF_CMD_THAW, argc, argv);
}

int rf_cmd_kill(int argc, char **argv)
{
	return run(RF_CMD_KILL, argc, argv);
}
