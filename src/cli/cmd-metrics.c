/* ringfort metrics: figures for Prometheus. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "jail/record.h"
#include "watch/metrics.h"

#define MAX_TEXT (1024 * 1024)

/* Without a watcher there is what the records show, and no count of what has been. */
static int print(void)
{
	struct rf_metrics *metrics = rf_metrics_new();
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, MAX_TEXT);
	if (metrics) {
		rf_metrics_set(metrics, RF_METRIC_INFO, RF_VERSION, NULL, 1);
		rf_metrics_set(metrics, RF_METRIC_WATCHED, NULL, NULL, 0);
		rf_metrics_set(metrics, RF_METRIC_BOXES, NULL, NULL, rf_record_count());
		rf_metrics_text(metrics, &out);
	} else {
		out.has_failed = true;
	}
	code = rf_cmd_print(&out);
	rf_metrics_free(metrics);
	return code;
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
		return print();
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}
