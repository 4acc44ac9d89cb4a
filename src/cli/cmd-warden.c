/* ringfort warden: keeps boxes ready; the program ringfort-warden does the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/ceiling.h"
#include "cli/cmd.h"
#include "cli/home.h"
#include "cli/option.h"
#include "cli/service.h"
#include "wire/client.h"
#include "wire/peer.h"

#define EXIT_NONE  1    /* --status: none stands */
#define ANSWER_IN  2000 /* milliseconds */
#define AHEAD_MOST 256

struct wish {
	const char *ceiling; /* a profile's name or a file, or NULL */
	const char *ahead;   /* a number, or NULL */
	bool wants_status, wants_help, is_json;
	char *file; /* that an error is about, or NULL */
};

/* ------------------------------------------------------------- --status */

static int print_status(const struct rf_wire_welcome *welcome, bool is_json)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	int code;

	rf_buf_init(&out, 4096);
	if (is_json) {
		rf_json_init(&json, &out, true);
		rf_json_open_object(&json, NULL);
		rf_json_bool(&json, "stands", welcome != NULL);
		if (welcome) {
			rf_json_int(&json, "pid", welcome->pid);
			rf_json_string(&json, "version", welcome->version);
			rf_json_string(&json, "boxes", welcome->is_lesser ? "lesser" : "full");
		}
		rf_json_close_object(&json);
		rf_buf_puts(&out, "\n");
	} else if (welcome) {
		rf_buf_printf(&out, "a warden stands: pid %u, version %s%s\n", welcome->pid,
			      welcome->version,
			      welcome->is_lesser ? ", whose boxes are lesser ones" : "");
	} else {
		rf_buf_puts(&out, "no warden stands; `ringfort warden` starts one\n");
	}
	code = rf_cmd_print(&out);
	return code ? code : welcome ? 0 : EXIT_NONE;
}

static int ask(bool is_json)
{
	struct rf_wire_welcome welcome;
	struct rf_err err = RF_ERR_INIT;
	struct rf_peer self = { 0 };
	RF_AUTO_FD int fd = -1;

	if (rf_client_connect(&fd, &err) < 0) {
		if (err.code == -ENOENT || err.code == -ECONNREFUSED)
			return print_status(NULL, is_json);
	} else if (rf_peer_note_self(&self, &err) == 0 &&
		   rf_peer_compare(fd, RF_PEER_FILE, "warden", &self, &err) == 0 &&
		   rf_client_hello(fd, ANSWER_IN, &welcome, &err) == 0) {
		return print_status(&welcome, is_json);
	}
	if (err.code == -EXDEV)
		rf_fail_in(&err, "a warden stands, but not for this process");
	rf_cmd_complain(NULL, &err);
	return err.code == -EXDEV ? EXIT_NONE : RF_EXIT_FAILED;
}

/* ------------------------------------------------------------- the warden itself */

static int check_ahead(const char *text, struct rf_err *err)
{
	char *end = NULL;
	long number = text ? strtol(text, &end, 10) : 0;

	if (!text || (*text && !*end && number >= 0 && number <= AHEAD_MOST))
		return 0;
	rf_fail_say(err, -EINVAL, "`%.60s` is not a number of kinds of boxes", text);
	return rf_fail_hint(err, "0 to %d; for example: --ahead 8", AHEAD_MOST);
}

/* Becomes the warden.  Returns only on failure. */
static int become(struct wish *wish, struct rf_err *err)
{
	char ceiling[16];
	const char *argv[8] = { "ringfort-warden", "--standing" };
	size_t n = 2;

	if (check_ahead(wish->ahead, err) < 0)
		return err->code;
	if (wish->ahead) {
		argv[n++] = "--ahead";
		argv[n++] = wish->ahead;
	}
	if (wish->ceiling) {
		int fd = rf_ceiling_open(wish->ceiling, &wish->file, err);

		if (fd < 0)
			return err->code;
		snprintf(ceiling, sizeof(ceiling), "%d", fd);
		argv[n++] = "--ceiling-fd";
		argv[n++] = ceiling;
	}
	return rf_service_become("ringfort-warden", argv, err);
}

static int read_line(int argc, char **argv, struct wish *wish, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(RF_CMD_WARDEN, argc, argv, &at, &option, &value, err)) > 0) {
		switch (option->id) {
		case RF_OPTION_CEILING:
			wish->ceiling = value;
			break;
		case RF_OPTION_AHEAD:
			wish->ahead = value;
			break;
		case RF_OPTION_STATUS:
			wish->wants_status = true;
			break;
		case RF_OPTION_JSON:
			wish->is_json = true;
			break;
		default:
			wish->wants_help = true;
			break;
		}
	}
	if (got == 0 && at < argc) {
		got = rf_fail_say(err, -EINVAL, "warden has no argument `%.60s`", argv[at]);
		rf_fail_hint(err, "see `ringfort warden --help`");
	}
	return got;
}

int rf_cmd_warden(int argc, char **argv)
{
	struct wish wish = { 0 };
	struct rf_err err = RF_ERR_INIT;
	int code = RF_EXIT_FAILED;

	if (read_line(argc, argv, &wish, &err) < 0) {
		rf_cmd_complain(NULL, &err);
	} else if (wish.wants_help) {
		rf_command_help(RF_CMD_WARDEN, stdout);
		code = 0;
	} else if (wish.wants_status) {
		code = ask(wish.is_json);
	} else {
		become(&wish, &err);
		rf_cmd_complain(wish.file, &err);
	}
	free(wish.file);
	return code;
}
