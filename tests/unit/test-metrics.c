/* Metrics: src/watch/metrics.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/metrics.h"

/* The text, to be freed. */
static char *text_of(const struct rf_metrics *metrics)
{
	struct rf_buf out;
	char *text;

	rf_buf_init(&out, 1 << 20);
	rf_buf_puts(&out, "\n"); /* so that each line stands between two of them */
	rf_metrics_text(metrics, &out);
	text = rf_buf_take(&out);
	RF_REQUIRE(text, "no text");
	return text;
}

static void expect(const struct rf_metrics *metrics, const char *line, bool is_there)
{
	char *text = text_of(metrics), whole[256];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	RF_CHECK((strstr(text, whole) != NULL) == is_there, "%s\n%s", line, text);
	free(text);
}

RF_TEST(a_figure_is_printed_with_its_help_its_type_and_its_labels)
{
	struct rf_metrics *metrics = rf_metrics_new();

	RF_REQUIRE(metrics, "no memory");
	expect(metrics, "ringfort_starts_total 0", false); /* not known */
	rf_metrics_begin(metrics);
	expect(metrics, "ringfort_starts_total 0", true);
	expect(metrics, "ringfort_start_seconds_count 0", true);
	expect(metrics, "# TYPE ringfort_runs_total counter", false);
	rf_metrics_add(metrics, RF_METRIC_STARTS, NULL, NULL, 2);
	rf_metrics_add(metrics, RF_METRIC_STARTS, NULL, NULL, 1);
	rf_metrics_add(metrics, RF_METRIC_RUNS, "ok", NULL, 1);
	rf_metrics_add(metrics, RF_METRIC_RUNS, "timeout", NULL, 4);
	rf_metrics_set(metrics, RF_METRIC_BREAKERS, "agent", "open", 3);
	rf_metrics_set(metrics, RF_METRIC_BREAKERS, "agent", "open", 2);
	rf_metrics_add(metrics, RF_METRIC_CPU_SECONDS, NULL, NULL, 1500000000);
	rf_metrics_add(metrics, RF_METRIC_CPU_SECONDS, NULL, NULL, 1);
	expect(metrics, "# HELP ringfort_starts_total Boxes whose program was started.", true);
	expect(metrics, "# TYPE ringfort_starts_total counter", true);
	expect(metrics, "ringfort_starts_total 3", true);
	expect(metrics, "ringfort_starts_total 0", false);
	expect(metrics, "ringfort_runs_total{verdict=\"ok\"} 1", true);
	expect(metrics, "ringfort_runs_total{verdict=\"timeout\"} 4", true);
	expect(metrics, "ringfort_breakers{kind=\"agent\",state=\"open\"} 2", true);
	expect(metrics, "ringfort_cpu_seconds_total 1.500000001", true);
	RF_CHECK(rf_metrics_get(metrics, RF_METRIC_RUNS, "timeout", NULL) == 4, "get");
	rf_metrics_clear(metrics, RF_METRIC_BREAKERS);
	expect(metrics, "# TYPE ringfort_breakers gauge", false);
	rf_metrics_free(metrics);
	rf_metrics_free(NULL);
}

RF_TEST(a_distribution_counts_each_value_in_all_parts_above_it)
{
	struct rf_metrics *metrics = rf_metrics_new();

	RF_REQUIRE(metrics, "no memory");
	rf_metrics_observe(metrics, RF_METRIC_START_SECONDS, 0);
	rf_metrics_observe(metrics, RF_METRIC_START_SECONDS, 250000); /* on the bound: in it */
	rf_metrics_observe(metrics, RF_METRIC_START_SECONDS, 250001);
	rf_metrics_observe(metrics, RF_METRIC_START_SECONDS, 9000000000);
	expect(metrics, "# TYPE ringfort_start_seconds histogram", true);
	expect(metrics, "ringfort_start_seconds_bucket{le=\"0.00025\"} 2", true);
	expect(metrics, "ringfort_start_seconds_bucket{le=\"0.0005\"} 3", true);
	expect(metrics, "ringfort_start_seconds_bucket{le=\"4\"} 3", true);
	expect(metrics, "ringfort_start_seconds_bucket{le=\"+Inf\"} 4", true);
	expect(metrics, "ringfort_start_seconds_sum 9.000500001", true);
	expect(metrics, "ringfort_start_seconds_count 4", true);
	rf_metrics_free(metrics);
}

RF_TEST(two_distributions_are_two)
{
	struct rf_metrics *metrics = rf_metrics_new();
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 16);
	rf_metrics_observe(metrics, RF_METRIC_START_SECONDS, 300000);
	rf_metrics_observe(metrics, RF_METRIC_NET_SECONDS, 3000000000);
	rf_metrics_text(metrics, &out);
	RF_CHECK(strstr(out.data, "ringfort_start_seconds_sum 0.0003\n") &&
			 strstr(out.data, "ringfort_start_seconds_count 1\n") &&
			 strstr(out.data, "ringfort_network_request_seconds_sum 3\n") &&
			 strstr(out.data, "ringfort_network_request_seconds_bucket{le=\"1\"} 0\n"),
		 "%s", out.data);
	rf_metrics_free(metrics);
}

RF_TEST(labels_that_somebody_invents_are_bounded_and_still_counted)
{
	struct rf_metrics *metrics = rf_metrics_new();
	char name[32];

	RF_REQUIRE(metrics, "no memory");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		rf_metrics_add(metrics, RF_METRIC_DENIALS, name, NULL, 1);
	}
	expect(metrics, "ringfort_denials_total{ring=\"name-63\"} 1", true);
	expect(metrics, "ringfort_denials_total{ring=\"name-64\"} 1", false);
	expect(metrics, "ringfort_denials_total{ring=\"other\"} 936", true);
	rf_metrics_free(metrics);
}

RF_TEST(a_label_can_hold_anything)
{
	struct rf_metrics *metrics = rf_metrics_new();
	char longest[3 * RF_METRICS_LABEL];

	RF_REQUIRE(metrics, "no memory");
	rf_metrics_add(metrics, RF_METRIC_ALARMS, "a\"b\\c\nd", NULL, 1);
	expect(metrics, "ringfort_alarms_total{alarm=\"a\\\"b\\\\c\\nd\"} 1", true);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + RF_METRICS_LABEL - 2, "\xc3\xa4", 2); /* would be cut in the middle */
	longest[sizeof(longest) - 1] = '\0';
	rf_metrics_add(metrics, RF_METRIC_REFUSED, longest, NULL, 1);
	longest[RF_METRICS_LABEL - 2] = '\0';
	{
		char line[2 * RF_METRICS_LABEL];

		snprintf(line, sizeof(line), "ringfort_refused_total{kind=\"%s\"} 1", longest);
		expect(metrics, line, true);
	}
	rf_metrics_free(metrics);
}

RF_TEST(a_sum_does_not_wrap)
{
	struct rf_metrics *metrics = rf_metrics_new();

	RF_REQUIRE(metrics, "no memory");
	rf_metrics_add(metrics, RF_METRIC_BREAKER_LOST, NULL, NULL, UINT64_MAX);
	rf_metrics_add(metrics, RF_METRIC_BREAKER_LOST, NULL, NULL, 5);
	expect(metrics, "ringfort_breaker_lost_total 18446744073709551615", true);
	rf_metrics_free(metrics);
}
