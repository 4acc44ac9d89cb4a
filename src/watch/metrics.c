/* Metrics: see metrics.h. */
#include "watch/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define NS      1000000000ull
#define MILLION 1000000ull

enum type {
	COUNTER, /* only grows */
	GAUGE,
	HISTOGRAM,
};

/* clang-format off */
static const struct info {
	const char *name;
	enum type type;
	const char *labels[2];
	uint64_t scale; /* what is counted in one of what is printed */
	const char *help;
} infos[RF_METRICS_COUNT] = {
	[RF_METRIC_INFO] =           { "ringfort_info", GAUGE, { "version" }, 1,
		"The version that told this." },
	[RF_METRIC_WATCHED] =        { "ringfort_watched", GAUGE, { NULL }, 1,
		"Whether a watcher stands: 1, or 0, and then all else is what the runtime directory shows." },
	[RF_METRIC_BOXES] =          { "ringfort_boxes", GAUGE, { NULL }, 1,
		"Boxes that stand now." },
	[RF_METRIC_STARTS] =         { "ringfort_starts_total", COUNTER, { NULL }, 1,
		"Boxes whose program was started." },
	[RF_METRIC_START_SECONDS] =  { "ringfort_start_seconds", HISTOGRAM, { NULL }, NS,
		"Time from a request to its program's first instruction." },
	[RF_METRIC_RUNS] =           { "ringfort_runs_total", COUNTER, { "verdict" }, 1,
		"Runs that ended, by what they came to." },
	[RF_METRIC_RUN_SECONDS] =    { "ringfort_run_seconds_total", COUNTER, { NULL }, NS,
		"Time on the clock of all runs that ended." },
	[RF_METRIC_CPU_SECONDS] =    { "ringfort_cpu_seconds_total", COUNTER, { NULL }, NS,
		"Processor time of all runs that ended." },
	[RF_METRIC_DENIALS] =        { "ringfort_denials_total", COUNTER, { "ring" }, 1,
		"What a ring refused to something that ran." },
	[RF_METRIC_REFUSED] =        { "ringfort_refused_total", COUNTER, { "kind" }, 1,
		"Work that a breaker or a budget refused before it began." },
	[RF_METRIC_BREAKERS] =       { "ringfort_breakers", GAUGE, { "kind", "state" }, 1,
		"Breakers, by what they are about and their state." },
	[RF_METRIC_BREAKER_OPENED] = { "ringfort_breaker_opened_total", COUNTER, { "kind" }, 1,
		"How often breakers opened." },
	[RF_METRIC_BREAKER_LOST] =   { "ringfort_breaker_lost_total", COUNTER, { NULL }, 1,
		"Closed breakers with a failure that were forgotten for want of room." },
	[RF_METRIC_BUDGET_OWNERS] =  { "ringfort_budget_owners", GAUGE, { NULL }, 1,
		"Agents and credentials of which spending is remembered." },
	[RF_METRIC_NET_REQUESTS] =   { "ringfort_network_requests_total", COUNTER, { "decision" }, 1,
		"Requests of boxes through the gateway, and connections that it did not look into." },
	[RF_METRIC_NET_BYTES] =      { "ringfort_network_bytes_total", COUNTER, { "direction" }, 1,
		"Bytes that boxes sent and got through the gateway." },
	[RF_METRIC_NET_SECONDS] =    { "ringfort_network_request_seconds", HISTOGRAM, { NULL }, NS,
		"Time from a request to the end of its answer." },
	[RF_METRIC_CREDENTIAL_USES] = { "ringfort_credential_uses_total", COUNTER, { "credential", "decision" }, 1,
		"Requests that a credential was put into, or held back from." },
	[RF_METRIC_MONEY] =          { "ringfort_money_total", COUNTER, { "credential" }, MILLION,
		"What requests with a credential came to, by the cost that policies give it." },
	[RF_METRIC_ALARMS] =         { "ringfort_alarms_total", COUNTER, { "alarm" }, 1,
		"Alarms that the watcher raised." },
	[RF_METRIC_EVENTS] =         { "ringfort_audit_events_total", COUNTER, { "kind" }, 1,
		"Events that were recorded." },
	[RF_METRIC_AUDIT_LAG] =      { "ringfort_audit_lag_seconds", GAUGE, { NULL }, NS,
		"How long the oldest record has waited that is not on the disk yet." },
};

/* Upper bounds of the parts of a distribution, in nanoseconds. */
static const uint64_t bounds[] = {
	250000, 500000, 1000000, 2000000, 4000000, 8000000, 16000000, 32000000, 64000000, 128000000,
	256000000, 1000000000, 4000000000,
};
/* clang-format on */

struct series {
	char labels[2][RF_METRICS_LABEL];
	uint64_t value;
};

struct family {
	struct series *series;
	size_t count, room;
	struct series other;
	bool has_other;
};

struct rf_metrics {
	struct family families[RF_METRICS_COUNT];
	struct histogram {
		uint64_t parts[RF_LEN(bounds) + 1], sum_ns, count;
	} histograms[RF_METRICS_COUNT]; /* of the few that are one */
};

struct rf_metrics *rf_metrics_new(void)
{
	return calloc(1, sizeof(struct rf_metrics));
}

void rf_metrics_free(struct rf_metrics *metrics)
{
	for (int i = 0; metrics && i < RF_METRICS_COUNT; i++)
		free(metrics->families[i].series);
	free(metrics);
}

/* ------------------------------------------------------------- counting */

/* A label's value: cut where it is too long, but not inside a letter of UTF-8. */
static void copy_label(char label[RF_METRICS_LABEL], const char *value)
{
	size_t len = strnlen(value ? value : "", RF_METRICS_LABEL);

	if (len == RF_METRICS_LABEL) {
		len--;
		while (len > 0 && ((unsigned char)value[len] & 0xc0) == 0x80)
			len--;
	}
	if (len > 0)
		memcpy(label, value, len);
	label[len] = '\0';
}

static struct series *find(const struct family *family, const struct series *as)
{
	for (size_t i = 0; i < family->count; i++)
		if (strcmp(family->series[i].labels[0], as->labels[0]) == 0 &&
		    strcmp(family->series[i].labels[1], as->labels[1]) == 0)
			return &family->series[i];
	return NULL;
}

/* Those of these labels; what is too many, or has no memory, is among the others. */
static struct series *get(struct family *family, const char *a, const char *b)
{
	struct series as = { 0 }, *found, *grown;
	size_t room = family->room ? family->room * 2 : 4;

	copy_label(as.labels[0], a);
	copy_label(as.labels[1], b);
	found = find(family, &as);
	if (found)
		return found;
	if (family->count < RF_METRICS_SERIES && family->count == family->room) {
		grown = realloc(family->series, room * sizeof(*grown));
		family->series = grown ? grown : family->series;
		family->room = grown ? room : family->room;
	}
	if (family->count == RF_METRICS_SERIES || family->count == family->room) {
		family->has_other = true;
		return &family->other;
	}
	family->series[family->count] = as;
	return &family->series[family->count++];
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void rf_metrics_begin(struct rf_metrics *metrics)
{
	for (int i = 0; i < RF_METRICS_COUNT; i++)
		if (infos[i].type != GAUGE && !infos[i].labels[0])
			get(&metrics->families[i], NULL, NULL);
}

void rf_metrics_add(struct rf_metrics *metrics, enum rf_metric metric, const char *a, const char *b,
		    uint64_t amount)
{
	struct series *series = get(&metrics->families[metric], a, b);

	series->value = sum(series->value, amount);
}

void rf_metrics_set(struct rf_metrics *metrics, enum rf_metric metric, const char *a, const char *b,
		    uint64_t value)
{
	get(&metrics->families[metric], a, b)->value = value;
}

void rf_metrics_clear(struct rf_metrics *metrics, enum rf_metric metric)
{
	struct family *family = &metrics->families[metric];

	family->count = 0;
	family->has_other = false;
	family->other.value = 0;
}

void rf_metrics_observe(struct rf_metrics *metrics, enum rf_metric metric, uint64_t ns)
{
	struct histogram *histogram = &metrics->histograms[metric];
	size_t i = 0;

	if (infos[metric].type != HISTOGRAM)
		return;
	while (i < RF_LEN(bounds) && ns > bounds[i])
		i++;
	get(&metrics->families[metric], NULL, NULL); /* there is something to print */
	histogram->parts[i]++;
	histogram->count++;
	histogram->sum_ns = sum(histogram->sum_ns, ns);
}

uint64_t rf_metrics_get(const struct rf_metrics *metrics, enum rf_metric metric, const char *a,
			const char *b)
{
	struct series as = { 0 };
	const struct series *found;

	if (infos[metric].type == HISTOGRAM)
		return metrics->histograms[metric].count;
	copy_label(as.labels[0], a);
	copy_label(as.labels[1], b);
	found = find(&metrics->families[metric], &as);
	return found ? found->value : 0;
}

/* ------------------------------------------------------------- the text */

/* A number of what is printed: whole, or with as many decimals as it has. */
static void put_value(uint64_t value, uint64_t scale, struct rf_buf *out)
{
	char digits[24];
	size_t len;

	rf_buf_printf(out, "%" PRIu64, value / scale);
	if (value % scale == 0)
		return;
	len = (size_t)snprintf(digits, sizeof(digits), "%0*" PRIu64, scale == NS ? 9 : 6,
			       value % scale);
	while (len > 0 && digits[len - 1] == '0')
		len--;
	rf_buf_printf(out, ".%.*s", (int)len, digits);
}
_Static_assert(NS == 1000000000 && MILLION == 1000000, "as many decimals as a scale has zeros");

static void put_label(const char *name, const char *value, struct rf_buf *out)
{
	rf_buf_printf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			rf_buf_puts(out, "\\n");
		else if (*value == '"' || *value == '\\')
			rf_buf_printf(out, "\\%c", *value);
		else
			rf_buf_add(out, value, 1);
	}
	rf_buf_puts(out, "\"");
}

static void put_series(const struct info *info, const struct series *series, bool is_other,
		       struct rf_buf *out)
{
	rf_buf_puts(out, info->name);
	for (int i = 0; i < 2 && info->labels[i]; i++) {
		rf_buf_puts(out, i == 0 ? "{" : ",");
		put_label(info->labels[i], is_other ? "other" : series->labels[i], out);
	}
	rf_buf_puts(out, info->labels[0] ? "} " : " ");
	put_value(series->value, info->scale, out);
	rf_buf_puts(out, "\n");
}

static void put_histogram(const struct histogram *histogram, const struct info *info,
			  struct rf_buf *out)
{
	uint64_t below = 0;

	for (size_t i = 0; i < RF_LEN(bounds); i++) {
		below += histogram->parts[i];
		rf_buf_printf(out, "%s_bucket{le=\"", info->name);
		put_value(bounds[i], info->scale, out);
		rf_buf_printf(out, "\"} %" PRIu64 "\n", below);
	}
	rf_buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", info->name,
		      histogram->count, info->name);
	put_value(histogram->sum_ns, info->scale, out);
	rf_buf_printf(out, "\n%s_count %" PRIu64 "\n", info->name, histogram->count);
}

void rf_metrics_text(const struct rf_metrics *metrics, struct rf_buf *out)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };

	for (int i = 0; i < RF_METRICS_COUNT; i++) {
		const struct info *info = &infos[i];
		const struct family *family = &metrics->families[i];

		if (family->count == 0 && !family->has_other)
			continue;
		rf_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", info->name, info->help,
			      info->name, types[info->type]);
		if (info->type == HISTOGRAM) {
			put_histogram(&metrics->histograms[i], info, out);
			continue;
		}
		for (size_t k = 0; k < family->count; k++)
			put_series(info, &family->series[k], false, out);
		if (family->has_other)
			put_series(info, &family->other, true, out);
	}
}
