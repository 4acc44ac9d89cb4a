/* ringfort breaker: which breakers there are; closes and opens them by hand.  The watcher does the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "policy/quota.h"

#define EXIT_NONE 1 /* no watcher, or no such breaker */

struct wish {
	bool wants_help, is_json;
	const char *reason;
	uint64_t open_ms;
	const char *kind, *name;
};

/* Asks the watcher with words, the last of which is NULL, and prints its answer. */
static int ask(const char *const *words, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf answer;

	rf_buf_init(&answer, RF_ASK_MOST);
	if (rf_ask_watcher(words, "there are no breakers", &answer, err) < 0)
		return err->code;
	return rf_cmd_print(&answer) ? -EIO : 0;
}

static int take_option(struct wish *wish, const struct rf_option *option, const char *value,
		       struct rf_err *err)
{
	switch (option->id) {
	case RF_OPTION_JSON:
		wish->is_json = true;
		return 0;
	case RF_OPTION_REASON:
		wish->reason = value;
		return 0;
	case RF_OPTION_FOR:
		if (rf_limit_read(&rf_quota_table[RF_QUOTA_OPEN], value, &wish->open_ms, err) < 0)
			return rf_fail_in(err, "--for");
		return 0;
	default:
		wish->wants_help = true;
		return 0;
	}
}

/* [KIND] NAME: without a kind, an agent's. */
static int take_words(enum rf_cmd_id id, const char *const *words, int count, struct wish *wish,
		      struct rf_err *err)
{
	if (id == RF_CMD_BREAKER_LS && count == 0)
		return 0;
	if (id == RF_CMD_BREAKER_LS) {
		rf_fail_say(err, -EINVAL, "breaker ls has no argument `%.60s`", words[0]);
	} else if (count == 1 || count == 2) {
		wish->kind = count == 2 ? words[0] : "agent";
		wish->name = words[count - 1];
		return 0;
	} else {
		rf_fail_say(err, -EINVAL, "whose breaker?  [KIND] NAME is needed here");
	}
	return rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
}

/* Options may stand before, between and behind the words. */
static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value, *words[3];
	int at = 1, count = 0, got = 0;

	while (at < argc && count < 3) {
		got = rf_option_next(id, argc, argv, &at, &option, &value, err);
		if (got < 0 || (got > 0 && take_option(wish, option, value, err) < 0))
			return err->code;
		if (got == 0 && at < argc)
			words[count++] = argv[at++];
	}
	return wish->wants_help ? 0 : take_words(id, words, count, wish, err);
}

static int carry_out(enum rf_cmd_id id, const struct wish *wish, struct rf_err *err)
{
	const char *const list[] = { "breaker", "ls", wish->is_json ? "json" : "text", NULL };
	const char *const reset[] = { "breaker", "reset", wish->kind, wish->name, NULL };
	char open_ms[24] = "-";
	const char *const trip[] = { "breaker", "trip",       wish->kind, wish->name,
				     open_ms,   wish->reason, NULL };

	if (wish->open_ms != RF_LIMIT_NONE)
		snprintf(open_ms, sizeof(open_ms), "%llu", (unsigned long long)wish->open_ms);
	return ask(id == RF_CMD_BREAKER_LS ? list : id == RF_CMD_BREAKER_RESET ? reset : trip, err);
}

static int run(enum rf_cmd_id id, int argc, char **argv)
{
	struct wish wish = { .reason = "", .open_ms = RF_LIMIT_NONE };
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

int rf_cmd_breaker_ls(int argc, char **argv)
{
	return run(RF_CMD_BREAKER_LS, argc, argv);
}

int rf_cmd_breaker_reset(int argc, char **argv)
{
	return run(RF_CMD_BREAKER_RESET, argc, argv);
}

int rf_cmd_breaker_trip(int argc, char **argv)
{
	return run(RF_CMD_BREAKER_TRIP, argc, argv);
}
