/* ringfort metrics: figures for Prometheus. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/teller.h"
#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "jail/record.h"
#include "watch/metrics.h"

#define MAX_TEXT (1024 * 1024)

/* What the watcher has counted.  -ENOENT, -ECONNREFUSED: none stands. */
static int ask(struct rf_buf *out, struct rf_err *err)
{
	struct rf_teller teller;
	int code;

	rf_teller_init(&teller);
	code = rf_teller_open(&teller, err);
	if (code == 0)
		code = rf_teller_ask(&teller, "metrics", sizeof("metrics"), out, err);
	rf_teller_done(&teller);
	return code;
}

/* Without a watcher there is what the records show, and no count of what has been. */
static void look(struct rf_buf *out)
{
	struct rf_metrics *metrics = rf_metrics_new();

	out->has_failed |= !metrics;
	if (!metrics)
		return;
	rf_metrics_set(metrics, RF_METRIC_INFO, RF_VERSION, NULL, 1);
	rf_metrics_set(metrics, RF_METRIC_WATCHED, NULL, NULL, 0);
	rf_metrics_set(metrics, RF_METRIC_BOXES, NULL, NULL, rf_record_count());
	rf_metrics_text(metrics, out);
	rf_metrics_free(metrics);
}

static int print(struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, MAX_TEXT);
	code = ask(&out, err);
	if (code == -ENOENT || code == -ECONNREFUSED)
		look(&out);
	else if (code < 0)
		return code;
	return rf_cmd_print(&out) ? -EIO : 0;
}

int rf_cmd_metrics(int argc, char **argv)
{
	const struct rf_option *option;
	struct rf_err err = RF_ERR_INIT;
	const char *value;
	int at = 1, got;

	got = rf_option_next(RF_CMD_METRICS, argc, argv, &at, &option, &value, &err);
	if (got > 0) { /* there is no other option than --help */
		rf_command_help(RF_CMD_METRICS, stdout);
		return 0;
	}
	if (got == 0 && at < argc) {
		got = rf_fail_say(&err, -EINVAL, "metrics has no argument `%.60s`", argv[at]);
		rf_fail_hint(&err, "see `ringfort metrics --help`");
	}
	if (got == 0)
		got = print(&err);
	if (got == 0)
		return 0;
	if (got != -EIO) /* which is told */
		rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}
