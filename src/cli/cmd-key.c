/* ringfort key: API keys, with which others may ask `ringfort serve` for boxes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "cli/shelf.h"
#include "server/keyring.h"

#define EXIT_NONE 1 /* there is no such key */

struct wish {
	const char *name, *scopes, *tenant, *ceiling, *boxes, *rate, *memory, *cpu, *disk, *storage,
		*files;
	bool wants_help, is_json;
	char *file; /* that an error is about, or NULL */
	char **words;
	int count;
};

/* ------------------------------------------------------------- create */

static int read_count(const char *text, const char *what, uint32_t most, uint32_t *ret_count,
		      struct rf_err *err)
{
	char *end = NULL;
	unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	if (!end || *end || number < 1 || number > most) {
		rf_fail_say(err, -EINVAL, "--%s: `%.40s` is no number from 1 to %u", what, text,
			    most);
		return rf_fail_hint(err, "for example: --%s 16", what);
	}
	*ret_count = (uint32_t)number;
	return 0;
}

/* What the key goes no further than, as text with every path absolute. */
static int read_ceiling(struct wish *wish, char **ret_text, struct rf_err *err)
{
	struct rf_policy *policy = NULL;
	struct rf_shelf shelf;
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (!wish->ceiling) {
		rf_buf_puts(&text, rf_api_key_ceiling);
	} else {
		if (rf_shelf_init(&shelf, NULL, err) < 0)
			return err->code;
		code = rf_shelf_policy(&shelf, wish->ceiling, &policy, &wish->file, err);
		rf_shelf_done(&shelf);
		if (code < 0)
			return code;
		rf_policy_format(policy, &text);
		rf_policy_free(policy);
	}
	*ret_text = rf_buf_take(&text);
	return *ret_text ? 0 : rf_fail(err, -ENOMEM, "the ceiling");
}

static int read_names(const struct wish *wish, struct rf_api_key *key, struct rf_err *err)
{
	const char *const names[] = { wish->tenant, wish->name };

	for (size_t i = 0; i < 2; i++) {
		if (!names[i] || rf_api_key_is_name(names[i]))
			continue;
		rf_fail_say(err, -EINVAL, "--%s: `%.60s` can't be a name", i ? "name" : "tenant",
			    names[i]);
		return rf_fail_hint(err, "letters, digits, `-`, `_` and `.`, up to 63");
	}
	snprintf(key->tenant, sizeof(key->tenant), "%s", wish->tenant ? wish->tenant : "");
	snprintf(key->name, sizeof(key->name), "%s", wish->name ? wish->name : "");
	return 0;
}

static int print_token(const struct rf_api_key *key, const char *token, bool is_json)
{
	char text[32];
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	if (is_json) {
		rf_json_init(&json, &out, true);
		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "id", key->id);
		rf_json_string(&json, "key", token);
		rf_json_string(&json, "tenant", key->tenant);
		rf_json_string(&json, "scopes", rf_api_key_format_scopes(key->scopes, text));
		rf_json_close_object(&json);
		rf_buf_puts(&out, "\n");
	} else {
		rf_buf_printf(&out, "%s\n", token);
		rf_cmd_remark(
			"this is the only time that it is shown; `ringfort key rm %s` ends it",
			key->id);
	}
	return rf_cmd_print(&out);
}

/* What boxes have together is said as `limits` says it of one. */
static int read_sum_as(const char *name, enum rf_limit limit, const char *text, uint64_t *ret_sum,
		       struct rf_err *err)
{
	if (!text)
		return 0;
	if (rf_limit_parse(limit, text, ret_sum, err) < 0)
		return rf_fail_in(err, "--%s", name);
	return *ret_sum == RF_LIMIT_NONE ? rf_fail_say(err, -EINVAL, "--%s: `none` is no sum", name)
					 : 0;
}

static int read_sum(enum rf_limit limit, const char *text, uint64_t *ret_sum, struct rf_err *err)
{
	return read_sum_as(rf_limit_table[limit].key, limit, text, ret_sum, err);
}

static int create(struct wish *wish, struct rf_err *err)
{
	struct rf_api_key key = { .boxes = RF_API_KEY_BOXES };
	char token[RF_API_KEY_TOKEN];
	int code;

	if (rf_api_key_parse_scopes(wish->scopes ? wish->scopes : "run,read", &key.scopes, err) <
		    0 ||
	    (wish->boxes &&
	     read_count(wish->boxes, "boxes", RF_TERMS_BOXES, &key.boxes, err) < 0) ||
	    (wish->rate && read_count(wish->rate, "rate", 1000000, &key.rate, err) < 0) ||
	    read_sum(RF_LIMIT_MEMORY, wish->memory, &key.sums.memory, err) < 0 ||
	    read_sum(RF_LIMIT_CPU, wish->cpu, &key.sums.cpu, err) < 0 ||
	    read_sum(RF_LIMIT_DISK, wish->disk, &key.sums.disk, err) < 0 ||
	    read_sum_as("storage", RF_LIMIT_DISK, wish->storage, &key.sums.storage, err) < 0 ||
	    read_sum_as("files", RF_LIMIT_INODES, wish->files, &key.sums.files, err) < 0 ||
	    read_names(wish, &key, err) < 0 || read_ceiling(wish, &key.ceiling, err) < 0)
		return err->code;
	code = rf_keyring_make(&key, token, err);
	if (code == 0)
		code = print_token(&key, token, wish->is_json) ? -EIO : 0;
	rf_api_key_done(&key);
	return code;
}

/* ------------------------------------------------------------- ls, rm */

struct listing {
	struct rf_buf *out;
	bool is_json, has_one;
};

static void put_row(const struct rf_api_key *key, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	char scopes[32], made[32];
	time_t at = (time_t)key->created;
	struct tm tm;

	strftime(made, sizeof(made), "%Y-%m-%d %H:%M", gmtime_r(&at, &tm));
	rf_style_put(style, RF_STYLE_NAME, key->id, 14, out);
	rf_buf_printf(out, "%-16s %-15s %5u boxes  %s  ", key->tenant,
		      rf_api_key_format_scopes(key->scopes, scopes), key->boxes, made);
	rf_style_put(style, RF_STYLE_PLAIN, key->name, 0, out);
	rf_buf_puts(out, "\n");
}

static int list_one(void *data, const struct rf_api_key *key)
{
	struct listing *listing = data;

	if (listing->is_json) {
		rf_buf_puts(listing->out, listing->has_one ? ",\n" : "");
		rf_api_key_format(key, false, listing->out);
		listing->out->len--; /* its line's end */
	} else {
		put_row(key, listing->out);
	}
	listing->has_one = true;
	return 0;
}

static int list(struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct listing listing = { &out, wish->is_json, false };

	rf_buf_init(&out, RF_MAX_JSON);
	if (wish->is_json)
		rf_buf_puts(&out, "[\n");
	if (rf_keyring_each(list_one, &listing, err) < 0)
		return err->code;
	if (wish->is_json)
		rf_buf_puts(&out, listing.has_one ? "\n]\n" : "]\n");
	return rf_cmd_print(&out) ? -EIO : 0;
}

static int remove_all(struct wish *wish, struct rf_err *err)
{
	if (wish->count == 0) {
		rf_fail_say(err, -EINVAL, "which API key shall be removed?");
		return rf_fail_hint(err, "`ringfort key ls` lists them");
	}
	for (int i = 0; i < wish->count; i++)
		if (rf_keyring_remove(wish->words[i], err) < 0)
			return err->code;
	return 0;
}

/* ------------------------------------------------------------- the commands */

static void take_option(struct wish *wish, const struct rf_option *option, const char *value)
{
	switch (option->id) {
	case RF_OPTION_NAME:
		wish->name = value;
		break;
	case RF_OPTION_SCOPE:
		wish->scopes = value;
		break;
	case RF_OPTION_TENANT:
		wish->tenant = value;
		break;
	case RF_OPTION_CEILING:
		wish->ceiling = value;
		break;
	case RF_OPTION_BOXES:
		wish->boxes = value;
		break;
	case RF_OPTION_RATE:
		wish->rate = value;
		break;
	case RF_OPTION_SUM_MEMORY:
		wish->memory = value;
		break;
	case RF_OPTION_SUM_CPU:
		wish->cpu = value;
		break;
	case RF_OPTION_SUM_DISK:
		wish->disk = value;
		break;
	case RF_OPTION_STORAGE:
		wish->storage = value;
		break;
	case RF_OPTION_FILES:
		wish->files = value;
		break;
	case RF_OPTION_JSON:
		wish->is_json = true;
		break;
	default:
		wish->wants_help = true;
		break;
	}
}

static int read_line(enum rf_cmd_id id, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(id, argc, argv, &at, &option, &value, err)) > 0)
		take_option(wish, option, value);
	wish->words = argv + at;
	wish->count = argc - at;
	if (got == 0 && at < argc && id != RF_CMD_KEY_RM) {
		got = rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`", rf_cmd_table[id].name,
				  argv[at]);
		rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
	}
	return got;
}

static int run(enum rf_cmd_id id, int (*fn)(struct wish *wish, struct rf_err *err), int argc,
	       char **argv)
{
	struct wish wish = { 0 };
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(id, argc, argv, &wish, &err);

	if (code == 0 && wish.wants_help)
		rf_command_help(id, stdout);
	else if (code == 0)
		code = fn(&wish, &err);
	if (code < 0 && err.code)
		rf_cmd_complain(wish.file, &err);
	free(wish.file);
	return code == 0                                    ? 0
	       : err.code == -ENOENT && id == RF_CMD_KEY_RM ? EXIT_NONE
							    : RF_EXIT_FAILED;
}

int rf_cmd_key_create(int argc, char **argv)
{
	return run(RF_CMD_KEY_CREATE, create, argc, argv);
}

int rf_cmd_key_ls(int argc, char **argv)
{
	return run(RF_CMD_KEY_LS, list, argc, argv);
}

int rf_cmd_key_rm(int argc, char **argv)
{
	return run(RF_CMD_KEY_RM, remove_all, argc, argv);
}
