/*
 * ringfort-top: what lives, in a terminal.
 *
 * Started by `ringfort top`, which has read the command line and passes it on in one form: "--name value" or "--name"
 * for each option.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/limit.h"
#include "top/panel.h"
#include "top/session.h"

#define EXIT_NONE    1   /* no watcher */
#define EXIT_FAILED  125 /* ringfort itself failed, or was asked for something wrong */
#define ONCE_COLUMNS 120 /* where nobody says otherwise */

#define SCRIPTS "for scripts: `ringfort ps --json`, `ringfort metrics`, or `ringfort top --once`"

/* What the locale says, in the order in which a C library asks. */
static bool speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < RF_LEN(names) && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

static int print_once(struct rf_session *session, struct rf_err *err)
{
	const char *wanted = getenv("COLUMNS");
	struct rf_panel panel = { .style = session->style, .is_utf8 = session->is_utf8 };
	int code;

	if (wanted && atoi(wanted) >= RF_PANEL_COLUMNS) {
		panel.columns = atoi(wanted);
	} else if (isatty(STDOUT_FILENO)) {
		rf_screen_measure(&session->screen);
		panel.columns = session->screen.columns;
	} else {
		panel.columns = ONCE_COLUMNS;
	}
	rf_panel_draw(&panel, session->board, &session->desk, &session->frame);
	code = session->frame.has_failed
		       ? -ENOMEM
		       : rf_fd_write(STDOUT_FILENO, session->frame.data, session->frame.len);
	return code < 0 && code != -EPIPE ? rf_fail(err, code, "write to standard output") : 0;
}

/* A terminal on which a cursor can be placed. */
static int require_terminal(struct rf_err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		rf_fail_say(err, -ENOTTY, "top draws on a terminal, and this is none");
		return rf_fail_hint(err, "%s", SCRIPTS);
	}
	if (!term || !*term || strcmp(term, "dumb") == 0) {
		rf_fail_say(err, -ENOTTY,
			    "top draws on a terminal, and this one (TERM=%.20s) can't",
			    term && *term ? term : "");
		return rf_fail_hint(err, "%s", SCRIPTS);
	}
	return 0;
}

static int read_line(struct rf_session *session, int argc, char **argv, bool *ret_once,
		     struct rf_err *err)
{
	static const struct rf_limit_info interval = {
		.key = "interval", .unit = RF_UNIT_MS, .min = 100, .max = 3600000
	};
	uint64_t interval_ms = 1000;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--once") == 0) {
			*ret_once = true;
			continue;
		}
		if (value && strcmp(argv[i], "--interval") == 0) {
			if (rf_limit_read(&interval, value, &interval_ms, err) < 0)
				return rf_fail_in(err, "--interval");
		} else if (value && strcmp(argv[i], "--agent") == 0) {
			if (strlen(value) >= sizeof(session->desk.filter))
				return rf_fail_say(err, -EINVAL, "--agent: that is too long");
			snprintf(session->desk.filter, sizeof(session->desk.filter), "%s", value);
		} else {
			rf_fail_say(err, -EINVAL, "what is `%.60s`?", argv[i]);
			return rf_fail_hint(err, "start it with `ringfort top`");
		}
		i++;
	}
	session->interval_ns = interval_ms * 1000000;
	return 0;
}

static int complain(const struct rf_err *err)
{
	const struct rf_style style = rf_style_of(STDERR_FILENO);
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 8192);
	rf_style_put(style, RF_STYLE_ERROR, "ringfort:", 0, &out);
	rf_buf_puts(&out, " ");
	rf_style_put(style, RF_STYLE_PLAIN, err->msg, 0, &out);
	rf_buf_puts(&out, "\n");
	if (err->hint[0]) {
		rf_style_printf(style, RF_STYLE_QUIET, &out, "  hint: %s", err->hint);
		rf_buf_puts(&out, "\n");
	}
	rf_fd_write(STDERR_FILENO, out.data, out.len);
	return err->code == -ENOENT || err->code == -ECONNREFUSED ? EXIT_NONE : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_session session;
	bool is_once = false;
	int code;

	signal(SIGPIPE, SIG_IGN);
	rf_session_init(&session);
	session.style = rf_style_of(STDOUT_FILENO);
	session.is_utf8 = speaks_utf8();
	code = read_line(&session, argc, argv, &is_once, &err);
	if (code == 0 && !is_once)
		code = require_terminal(&err);
	if (code == 0)
		code = rf_session_look(&session, &err);
	if (code == 0)
		code = is_once ? print_once(&session, &err) : rf_session_stay(&session, &err);
	rf_session_done(&session);
	return code < 0 ? complain(&err) : 0;
}
