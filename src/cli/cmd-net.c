/*
 * ringfort net show, set, allow, deny: the network of a box that lives, looked at and changed.
 *
 * The watcher has a hand on it, which the launcher lent; the box's gateway does what is asked, as far as the box may have it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/home.h"
#include "cli/option.h"
#include "cli/shelf.h"
#include "http/span.h"
#include "policy/net-change.h"
#include "policy/net.h"

#define EXIT_NONE 1   /* no watcher, no such box, or more than it may have */
#define TRIES     250 /* for a box that is just starting, and for a gateway that is busy */
#define TRY_EVERY 20000000L
#define WHAT_MOST 120 /* bytes of what is recorded of a change */
#define WITHOUT   "nobody has a hand on the networks of boxes"

struct wish {
	bool wants_help;
	const char *box, *reason, *file;
	struct rf_policy *over; /* what the line says */
	struct rf_buf what;     /* the same in a few words */
	char *home;
};

/* ------------------------------------------------------------- the line */

static void note_word(struct wish *wish, const char *name, const char *value)
{
	rf_buf_printf(&wish->what, "%s%s%s%s", wish->what.len ? " " : "", name, *name ? " " : "",
		      value);
}

/* Rules with commas between, as --net has them. */
static int take_rules(struct wish *wish, const char *key, const char *rules, struct rf_err *err)
{
	bool is_allow = strcmp(key, "network.allow") == 0;
	struct rf_span rule;

	if (is_allow && (strcmp(rules, "none") == 0 || strcmp(rules, "host") == 0))
		return rf_policy_set(wish->over, "network.link", rules, "/", wish->home, err);
	if (!*rules)
		return rf_fail_say(err, -EINVAL, "there is no host");
	while (rf_net_rule_next(&rules, &rule)) {
		char *text = strndup(rule.at, rule.len);
		int code = text ? rf_policy_set(wish->over, key, text, "/", wish->home, err)
				: rf_fail(err, -ENOMEM, "read a rule");

		free(text);
		if (code < 0)
			return code;
	}
	return 0;
}

static int take_option(struct wish *wish, const struct rf_option *option, const char *value,
		       struct rf_err *err)
{
	char name[64];

	switch (option->id) {
	case RF_OPTION_REASON:
		wish->reason = value;
		return 0;
	case RF_OPTION_POLICY:
		wish->file = value;
		note_word(wish, "--policy", value);
		return 0;
	case RF_OPTION_KEY:
		snprintf(name, sizeof(name), "--%s", option->name);
		note_word(wish, name, value);
		if ((strncmp(option->arg, "HOST", 4) == 0
			     ? take_rules(wish, option->key, value, err)
			     : rf_policy_set(wish->over, option->key, value, "/", wish->home,
					     err)) < 0)
			return rf_fail_in(err, "--%s", option->name);
		return 0;
	default:
		wish->wants_help = true;
		return 0;
	}
}

static int take_word(enum rf_cmd_id id, struct wish *wish, const char *word, struct rf_err *err)
{
	const char *name = rf_cmd_table[id].name;

	if (!wish->box) {
		wish->box = word;
		return 0;
	}
	if (id == RF_CMD_NET_SHOW || id == RF_CMD_NET_SET) {
		rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`", name, word);
		return rf_fail_hint(err, "see `ringfort %s --help`", name);
	}
	note_word(wish, wish->what.len ? "" : name + strlen("net "), word);
	return take_rules(wish, id == RF_CMD_NET_ALLOW ? "network.allow" : "network.deny", word,
			  err);
}

/* Options may stand before, between and behind the words. */
static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while (at < argc) {
		got = rf_option_next(id, argc, argv, &at, &option, &value, err);
		if (got > 0 && take_option(wish, option, value, err) < 0)
			return err->hint[0] ? err->code : rf_option_hint(option, err);
		if (got < 0 || (got == 0 && at < argc && take_word(id, wish, argv[at++], err) < 0))
			return err->code;
	}
	if (wish->wants_help || (wish->box && (id == RF_CMD_NET_SHOW || wish->what.len > 0)))
		return 0;
	if (!wish->box) {
		rf_fail_say(err, -EINVAL, "which box?  An ID is needed here");
		return rf_fail_hint(err, "`ringfort ps` lists them");
	}
	rf_fail_say(err, -EINVAL, "what is to change?");
	return rf_fail_hint(err, "for example: ringfort %s %s", rf_cmd_table[id].name,
			    id == RF_CMD_NET_SET ? "3fa9 --net api.example" : "3fa9 api.example");
}

/* ------------------------------------------------------------- the watcher */

static int ask(const char *const *words, struct rf_buf *answer, struct rf_err *err)
{
	const struct timespec moment = { 0, TRY_EVERY };
	int code = -EAGAIN;

	for (int i = 0; i < TRIES && code == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&moment, NULL);
		*err = RF_ERR_INIT; /* of the try before */
		code = rf_ask_watcher(words, WITHOUT, answer, err);
	}
	return code;
}

/* Asks, and waits for what the gateway says: the policy that holds then. */
static int ask_gateway(const char *const *words, struct rf_buf *policy, struct rf_err *err)
{
	static const char asked[] = "asked ";
	RF_AUTO_BUF struct rf_buf number;
	const char *fetch[] = { "net-answer", words[1], NULL, NULL };

	rf_buf_init(&number, 4096);
	if (ask(words, &number, err) < 0)
		return err->code;
	if (!number.data || strncmp(number.data, asked, strlen(asked)) != 0)
		return rf_fail_say(err, -EPROTO, "the watcher answers something else");
	fetch[2] = number.data + strlen(asked);
	return ask(fetch, policy, err);
}

static int show(const struct wish *wish, struct rf_buf *policy, struct rf_err *err)
{
	const char *const words[] = { "net-show", wish->box, NULL };

	return ask_gateway(words, policy, err);
}

/* ------------------------------------------------------------- the change */

/* Of a file and all that it extends, what it says of the network. */
static int read_file(const struct wish *wish, struct rf_policy *policy, struct rf_err *err)
{
	struct rf_shelf shelf = { 0 };
	struct rf_chain chain = { .load = rf_shelf_load, .context = &shelf, .home = wish->home };
	struct rf_chain_text text = { 0 };
	struct rf_policy *all = rf_policy_new_empty(), *part = NULL;
	RF_AUTO_BUF struct rf_buf kept;
	int code = all ? 0 : rf_fail(err, -ENOMEM, "a policy");

	rf_buf_init(&kept, RF_MAX_POLICY_BYTES);
	if (code == 0 &&
	    (rf_shelf_init(&shelf, wish->home, err) < 0 ||
	     rf_shelf_load_file(wish->file, &text, err) < 0 ||
	     rf_chain_add_text(&chain, &text, err) < 0 || rf_chain_merge(&chain, all, err) < 0))
		code = rf_fail_in(err, "%s", wish->file);
	if (code == 0) {
		rf_net_change_format(all, &kept);
		code = rf_policy_parse(kept.data, kept.len, "/", "/", &part, err);
	}
	if (code == 0)
		code = rf_net_change_replace(policy, part, err);
	rf_policy_free(part);
	rf_policy_free(all);
	rf_chain_done(&chain);
	rf_shelf_done(&shelf);
	return code;
}

/* What the box is to go by. */
static int make(enum rf_cmd_id id, const struct wish *wish, const struct rf_buf *now,
		struct rf_buf *ret_text, struct rf_err *err)
{
	struct rf_policy *policy = NULL;
	int code;

	if (wish->file)
		policy = rf_policy_new_empty();
	else if (rf_policy_parse(now->data ? now->data : "", now->len, "/", "/", &policy, err) < 0)
		return rf_fail_in(err, "the box's policy");
	code = policy ? 0 : rf_fail(err, -ENOMEM, "a policy");
	if (code == 0 && wish->file)
		code = read_file(wish, policy, err);
	if (code == 0)
		code = id == RF_CMD_NET_SET ? rf_net_change_replace(policy, wish->over, err)
					    : rf_net_change_add(policy, wish->over, err);
	if (code == 0)
		rf_net_change_format(policy, ret_text);
	rf_policy_free(policy);
	return code;
}

/* A bound is the box's own; what it cut off is told. */
static int compare(const struct wish *wish, const struct rf_buf *asked, const struct rf_buf *now,
		   struct rf_err *err)
{
	struct rf_policy *policy = NULL, *over = NULL;
	const char *missing = NULL;

	if (rf_policy_parse(now->data ? now->data : "", now->len, "/", "/", &policy, err) == 0 &&
	    rf_policy_parse(asked->data, asked->len, "/", "/", &over, err) == 0)
		missing = rf_net_change_missing(policy, over);
	if (missing) {
		rf_fail_say(err, -EPERM, "%.200s goes beyond what box %.20s may have", missing,
			    wish->box);
		rf_fail_hint(err, "it is bounded by what it began with: an agent's policy, a final "
				  "rule or a ceiling; `ringfort net show` prints what holds");
	}
	rf_policy_free(policy);
	rf_policy_free(over);
	return err->code;
}

static int change(enum rf_cmd_id id, struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf now, text, then;
	char what[WHAT_MOST];
	const char *words[] = { "net-change", wish->box, wish->reason, what, NULL, NULL };

	rf_buf_init(&now, RF_ASK_MOST);
	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_buf_init(&then, RF_ASK_MOST);
	snprintf(what, sizeof(what), "%s", wish->what.data);
	if (show(wish, &now, err) < 0 || make(id, wish, &now, &text, err) < 0)
		return err->code;
	words[4] = text.data ? text.data : "{}\n";
	if (ask_gateway(words, &then, err) < 0)
		return err->code;
	return compare(wish, &text, &then, err);
}

static int carry_out(enum rf_cmd_id id, struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf policy;

	rf_buf_init(&policy, RF_ASK_MOST);
	if (id != RF_CMD_NET_SHOW)
		return change(id, wish, err);
	if (show(wish, &policy, err) < 0)
		return err->code;
	return rf_cmd_print(&policy) ? -EIO : 0;
}

static int run(enum rf_cmd_id id, int argc, char **argv)
{
	struct wish wish = { .reason = "",
			     .over = rf_policy_new_empty(),
			     .home = rf_home_find(geteuid()) };
	struct rf_err err = RF_ERR_INIT;
	int exit = 0;

	rf_buf_init(&wish.what, 4096);
	if (!wish.over || !wish.home)
		rf_fail(&err, -ENOMEM, "a policy");
	else if (read_line(id, argc, argv, &wish, &err) == 0 && !wish.wants_help)
		carry_out(id, &wish, &err);
	if (wish.wants_help && err.code == 0)
		rf_command_help(id, stdout);
	if (err.code) {
		rf_cmd_complain(NULL, &err);
		exit = err.code == -ENOENT || err.code == -ECONNREFUSED || err.code == -EPERM
			       ? EXIT_NONE
			       : RF_EXIT_FAILED;
	}
	rf_policy_free(wish.over);
	rf_buf_done(&wish.what);
	free(wish.home);
	return exit;
}

int rf_cmd_net_show(int argc, char **argv)
{
	return run(RF_CMD_NET_SHOW, argc, argv);
}

int rf_cmd_net_set(int argc, char **argv)
{
	return run(RF_CMD_NET_SET, argc, argv);
}

int rf_cmd_net_allow(int argc, char **argv)
{
	return run(RF_CMD_NET_ALLOW, argc, argv);
}

int rf_cmd_net_deny(int argc, char **argv)
{
	return run(RF_CMD_NET_DENY, argc, argv);
}
