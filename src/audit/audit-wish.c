/* What `ringfort audit` was asked for: see audit-wish.h. */
#include "audit/audit-wish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/segment.h"
#include "audit/store.h"
#include "base/fd.h"
#include "base/statedir.h"
#include "base/style.h"

int rf_audit_wish_complain(const struct rf_err *err)
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
	return RF_AUDIT_WISH_FAILED;
}

/* ------------------------------------------------------------- options */

typedef int take_fn(struct rf_audit_wish *wish, const char *value, struct rf_err *err);

static int take_since(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_time(value, rf_store_now(), &wish->filter.since_ns, err);
}

static int take_until(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_time(value, rf_store_now(), &wish->filter.until_ns, err);
}

static int take_kind(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	return rf_pick_add_kind(&wish->filter, value, err);
}

static int take_agent(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.agent = value;
	return 0;
}

static int take_box(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.box = value;
	return 0;
}

static int take_verdict(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->filter.verdict = value;
	return 0;
}

static int take_limit(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	char *end = NULL;

	errno = 0;
	wish->limit = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || wish->limit > 1000000)
		return rf_fail_say(err, -EINVAL, "`%.40s` is not a number of events", value);
	return 0;
}

static int take_follow(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->follows = true;
	return 0;
}

static int take_json(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->is_json = true;
	return 0;
}

static int take_csv(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->is_csv = true;
	return 0;
}

static int take_no_index(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->has_no_index = true;
	return 0;
}

static int take_rebuild(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)value;
	(void)err;
	wish->rebuilds = true;
	return 0;
}

static int take_anchor(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->anchor = value;
	return 0;
}

static int take_key(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->key = value;
	return 0;
}

static int take_log(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->log = value;
	return 0;
}

static int take_format(struct rf_audit_wish *wish, const char *value, struct rf_err *err)
{
	(void)err;
	wish->format = value;
	return 0;
}

int rf_audit_wish_refuse_format(const char *format, const char *hint, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "there is no format `%.40s`", format);
	return rf_fail_hint(err, "%s", hint);
}

/* clang-format off */
static const struct {
	const char *name;
	bool has_value;
	take_fn *take;
} options[] = {
	{ "--since",   true,  take_since },
	{ "--until",   true,  take_until },
	{ "--kind",    true,  take_kind },
	{ "--agent",   true,  take_agent },
	{ "--box",     true,  take_box },
	{ "--verdict", true,  take_verdict },
	{ "--last",    true,  take_limit },
	{ "--follow",  false, take_follow },
	{ "--json",    false, take_json },
	{ "--csv",     false, take_csv },
	{ "--anchor",  true,  take_anchor },
	{ "--no-index", false, take_no_index },
	{ "--rebuild", false, take_rebuild },
	{ "--key",     true,  take_key },
	{ "--log",     true,  take_log },
	{ "--format",  true,  take_format },
};
/* clang-format on */

int rf_audit_wish_read(int argc, char **argv, struct rf_audit_wish *wish, struct rf_err *err)
{
	for (int i = 2; i < argc; i++) {
		size_t row = 0;

		while (row < RF_LEN(options) && strcmp(options[row].name, argv[i]) != 0)
			row++;
		if (row == RF_LEN(options) || (options[row].has_value && i + 1 == argc)) {
			rf_fail_say(err, -EINVAL, "what is `%.60s`?", argv[i]);
			return rf_fail_hint(err, "start it with `ringfort audit`");
		}
		if (options[row].take(wish, options[row].has_value ? argv[++i] : NULL, err) < 0)
			return err->code;
	}
	return 0;
}

/* The log's folder: this user's, or the one that was named. */
int rf_audit_wish_open(const struct rf_audit_wish *wish, struct rf_err *err)
{
	int dir = wish->log ? open(wish->log, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			    : rf_statedir_open_in(RF_SEGMENT_FOLDER, false);

	if (dir >= 0)
		return dir;
	if (wish->log)
		return rf_fail(err, -errno, "open %s", wish->log);
	if (dir != -ENOENT)
		return rf_fail(err, dir, "open your audit log");
	rf_fail_say(err, dir, "you have no audit log");
	return rf_fail_hint(err, "`ringfort watch &` begins one");
}
