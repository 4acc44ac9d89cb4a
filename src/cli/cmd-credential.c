/* ringfort credential: what the gateway of `ringfort serve` adds to requests of a tenant's boxes, which never have it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "egress/purse.h"
#include "policy/arena.h"
#include "policy/net-credential.h"
#include "server/api-key.h"
#include "server/strongbox.h"

#define EXIT_NONE 1 /* there is no such credential */
#define USUAL     "local"

struct wish {
	const char *tenant;
	bool wants_help, is_json;
	char **words;
	int count;
};

/* ------------------------------------------------------------- set */

static int add_hosts(struct rf_net_credential_draft *draft, const char *text, struct rf_err *err)
{
	struct rf_span rule;

	while (rf_net_rule_next(&text, &rule)) {
		char *one = strndup(rule.at, rule.len);
		int code = one ? rf_net_credential_add(draft, "hosts", one, NULL, err)
			       : rf_fail(err, -ENOMEM, "a host");

		free(one);
		if (code < 0)
			return code;
	}
	return 0;
}

/*
 * The fields of a policy's `credentials`, as FIELD=VALUE.  Where the value comes from is asked for now (`from`), and never again: what is kept names
 * a file that is none, since nobody reads it.
 */
static int draft_text(const struct wish *wish, const char *from, char **ret_text,
		      struct rf_err *err)
{
	struct rf_net_credential_draft draft = { 0 };
	char folder[4096];
	const struct rf_files_base base = { .folder = getcwd(folder, sizeof(folder)) ? folder : "/",
					    .home = "/" };
	int code = rf_net_credential_add(&draft, "from", from, &base, err);

	for (int i = 1; i < wish->count && code == 0; i++) {
		const char *word = wish->words[i], *sign = strchr(word, '=');
		char *field = sign ? strndup(word, (size_t)(sign - word)) : NULL;

		if (!field) {
			rf_fail_say(err, -EINVAL, "`%.4s...` is no FIELD=VALUE", word);
			code = rf_fail_hint(err, "the value itself never stands on a command line: "
						 "from=stdin:, from=env:NAME or from=file:PATH");
		} else if (strcmp(field, "hosts") == 0) {
			code = add_hosts(&draft, sign + 1, err);
		} else if (strcmp(field, "from") != 0) {
			code = rf_net_credential_add(&draft, field, sign + 1, &base, err);
		}
		free(field);
	}
	if (code == 0)
		code = rf_net_credential_end(&draft, ret_text, err);
	rf_net_credential_done(&draft);
	return code < 0 ? rf_fail_in(err, "credential %.32s", wish->words[0]) : 0;
}

static const char *source_of(const struct wish *wish)
{
	for (int i = 1; i < wish->count; i++)
		if (strncmp(wish->words[i], "from=", 5) == 0)
			return wish->words[i] + 5;
	return "stdin:";
}

/* What is typed is not shown. */
static int fill(struct rf_purse *purse, const struct rf_net *net, struct rf_err *err)
{
	struct termios before, quiet;
	bool is_typed = net->credentials[0].from == RF_NET_FROM_STDIN && isatty(STDIN_FILENO) &&
			tcgetattr(STDIN_FILENO, &before) == 0;
	int code;

	if (is_typed) {
		rf_cmd_remark("its value, and Enter; it is not shown:");
		quiet = before;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	code = rf_purse_fill(purse, net, err);
	if (is_typed)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	return code;
}

/* Reads the value by the rules of a policy's credentials. */
static int read_value(const struct wish *wish, const char *text, struct rf_purse *purse,
		      struct rf_arena *arena, struct rf_err *err)
{
	struct rf_net_credential *credential = rf_arena_alloc(arena, sizeof(*credential));
	struct rf_net *net = rf_arena_alloc(arena, sizeof(*net));

	if (!credential || !net)
		return rf_fail(err, -ENOMEM, "a credential");
	if (rf_net_credential_make(arena, wish->words[0], text, credential, err) < 0)
		return err->code;
	net->credentials = credential;
	net->credential_count = 1;
	return fill(purse, net, err);
}

/* As in a policy: a variable that it was read from holds the placeholder inside, if nothing else is said. */
static int add_variable(const struct wish *wish, char **text, struct rf_err *err)
{
	const char *source = source_of(wish);
	char *more = NULL;

	if (!*text)
		return rf_fail(err, -ENOMEM, "a credential");
	if (strncmp(source, "env:", 4) != 0 || strstr(*text, "\nenv ") ||
	    strstr(*text, "\ncertificate "))
		return 0;
	if (asprintf(&more, "%senv %s\n", *text, source + 4) < 0)
		return rf_fail(err, -ENOMEM, "a credential");
	free(*text);
	*text = more;
	return 0;
}

static int keep(const struct wish *wish, const struct rf_purse *purse, struct rf_err *err)
{
	struct rf_strongbox_item item = { 0 };
	char from[64];
	int code;

	snprintf(from, sizeof(from), "file:/credentials/%.40s", wish->words[0]);
	if (draft_text(wish, from, &item.text, err) < 0 ||
	    add_variable(wish, &item.text, err) < 0) {
		free(item.text);
		return err->code;
	}
	snprintf(item.tenant, sizeof(item.tenant), "%s", wish->tenant);
	snprintf(item.name, sizeof(item.name), "%s", wish->words[0]);
	item.value = purse->items[0].value; /* the purse's */
	code = rf_strongbox_put(&item, err);
	free(item.text);
	return code;
}

static int set(struct wish *wish, struct rf_err *err)
{
	struct rf_purse purse = { 0 };
	struct rf_arena *arena;
	char *text = NULL;
	int code;

	if (wish->count == 0) {
		rf_fail_say(err, -EINVAL, "what shall the credential be called?");
		return rf_fail_hint(err, "`ringfort credential set github hosts=api.github.com`");
	}
	if (!rf_api_key_is_name(wish->tenant)) {
		rf_fail_say(err, -EINVAL, "--tenant: `%.60s` can't be a name", wish->tenant);
		return rf_fail_hint(err, "letters, digits, `-`, `_` and `.`, up to 63");
	}
	if (rf_net_credential_check_name(wish->words[0], err) < 0 ||
	    draft_text(wish, source_of(wish), &text, err) < 0)
		return err->code;
	arena = rf_arena_new();
	code = arena ? read_value(wish, text, &purse, arena, err)
		     : rf_fail(err, -ENOMEM, "a credential");
	if (code == 0)
		code = keep(wish, &purse, err);
	rf_purse_done(&purse);
	rf_arena_free(arena);
	free(text);
	return code;
}

/* ------------------------------------------------------------- ls, rm */

struct listing {
	struct rf_buf *out;
	struct rf_json *json; /* or NULL: rows */
};

/* Its fields, but for where the value came from, which is no more known. */
static void put_fields(const struct rf_strongbox_item *item, struct rf_json *json)
{
	struct rf_span field, value;
	const char *at = item->text;
	char name[16], text[RF_STRONGBOX_BYTES];

	rf_json_open_array(json, "hosts");
	while (rf_net_credential_next(&at, &field, &value)) {
		snprintf(text, sizeof(text), "%.*s", RF_SPAN_ARG(value));
		if (rf_span_is(field, RF_SPAN("hosts")))
			rf_json_string(json, NULL, text);
	}
	rf_json_close_array(json);
	for (at = item->text; rf_net_credential_next(&at, &field, &value);) {
		if (rf_span_is(field, RF_SPAN("hosts")) || rf_span_is(field, RF_SPAN("from")))
			continue;
		snprintf(name, sizeof(name), "%.*s", RF_SPAN_ARG(field));
		snprintf(text, sizeof(text), "%.*s", RF_SPAN_ARG(value));
		rf_json_string(json, name, text);
	}
}

static void put_row(const struct rf_strongbox_item *item, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	struct rf_span field, value;
	const char *at = item->text, *between = "";

	rf_style_put(style, RF_STYLE_NAME, item->name, 18, out);
	rf_buf_printf(out, "%-16s ", item->tenant);
	while (rf_net_credential_next(&at, &field, &value))
		if (rf_span_is(field, RF_SPAN("hosts"))) {
			rf_buf_printf(out, "%s%.*s", between, RF_SPAN_ARG(value));
			between = ", ";
		}
	rf_buf_puts(out, "\n");
}

static int list_one(void *data, const struct rf_strongbox_item *item)
{
	struct listing *listing = data;
	time_t at = (time_t)item->changed;
	char changed[32];
	struct tm tm;

	if (!listing->json) {
		put_row(item, listing->out);
		return 0;
	}
	strftime(changed, sizeof(changed), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	rf_json_open_object(listing->json, NULL);
	rf_json_string(listing->json, "name", item->name);
	rf_json_string(listing->json, "tenant", item->tenant);
	rf_json_string(listing->json, "changed", changed);
	put_fields(item, listing->json);
	rf_json_close_object(listing->json);
	return 0;
}

static int list(struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	struct listing listing = { &out, wish->is_json ? &json : NULL };

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&json, &out, true);
	if (wish->is_json)
		rf_json_open_array(&json, NULL);
	if (rf_strongbox_each(wish->tenant, list_one, &listing, err) < 0)
		return err->code;
	if (wish->is_json) {
		rf_json_close_array(&json);
		rf_buf_puts(&out, "\n");
	}
	return rf_cmd_print(&out) ? -EIO : 0;
}

static int remove_all(struct wish *wish, struct rf_err *err)
{
	if (wish->count == 0) {
		rf_fail_say(err, -EINVAL, "which credential shall be removed?");
		return rf_fail_hint(err, "`ringfort credential ls` lists them");
	}
	for (int i = 0; i < wish->count; i++)
		if (rf_strongbox_remove(wish->tenant, wish->words[i], err) < 0)
			return err->code;
	return 0;
}

/* ------------------------------------------------------------- the commands */

static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) > 0) {
		if (option->id == RF_OPTION_TENANT)
			wish->tenant = value;
		else if (option->id == RF_OPTION_JSON)
			wish->is_json = true;
		else
			wish->wants_help = true;
	}
	wish->words = argv + at;
	wish->count = argc - at;
	if (got == 0 && at < argc && id == RF_CMD_CREDENTIAL_LS) {
		got = rf_fail_say(err, -EINVAL, "credential ls has no argument `%.60s`", argv[at]);
		rf_fail_hint(err, "see `ringfort credential ls --help`");
	}
	return got;
}

static int run(enum rf_cmd_id id, int (*fn)(struct wish *wish, struct rf_err *err), int argc,
	       char **argv)
{
	struct wish wish = { .tenant = id == RF_CMD_CREDENTIAL_LS ? NULL : USUAL };
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(id, argc, argv, &wish, &err);

	if (code == 0 && wish.wants_help)
		rf_command_help(id, stdout);
	else if (code == 0)
		code = fn(&wish, &err);
	if (code < 0 && err.code)
		rf_cmd_complain(NULL, &err);
	if (code == 0)
		return 0;
	return err.code == -ENOENT && id == RF_CMD_CREDENTIAL_RM ? EXIT_NONE : RF_EXIT_FAILED;
}

int rf_cmd_credential_set(int argc, char **argv)
{
	return run(RF_CMD_CREDENTIAL_SET, set, argc, argv);
}

int rf_cmd_credential_ls(int argc, char **argv)
{
	return run(RF_CMD_CREDENTIAL_LS, list, argc, argv);
}

int rf_cmd_credential_rm(int argc, char **argv)
{
	return run(RF_CMD_CREDENTIAL_RM, remove_all, argc, argv);
}
