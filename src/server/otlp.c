/* Spans and figures as a collector takes them: see otlp.h. */
#include "server/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"

#define LABELS 8

/* 64 bits are texts in this encoding. */
static void put_u64(struct rf_json *json, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	rf_json_string(json, name, text);
}

static void put_attribute(struct rf_json *json, const char *key, const char *value, size_t len)
{
	if (len == 0)
		return;
	rf_json_open_object(json, NULL);
	rf_json_string(json, "key", key);
	rf_json_open_object(json, "value");
	rf_json_bytes(json, "stringValue", value, len);
	rf_json_close_object(json);
	rf_json_close_object(json);
}

static void put_text(struct rf_json *json, const char *key, const char *value)
{
	put_attribute(json, key, value, strlen(value));
}

static void put_number(struct rf_json *json, const char *key, uint64_t value)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "key", key);
	rf_json_open_object(json, "value");
	put_u64(json, "intValue", value);
	rf_json_close_object(json);
	rf_json_close_object(json);
}

/* Who tells it: "resourceSpans" or "resourceMetrics", and within that one scope. */
static void begin(struct rf_json *json, struct rf_buf *out, const char *what, const char *scopes,
		  const char *list)
{
	rf_json_init(json, out, false);
	rf_json_open_object(json, NULL);
	rf_json_open_array(json, what);
	rf_json_open_object(json, NULL);
	rf_json_open_object(json, "resource");
	rf_json_open_array(json, "attributes");
	put_text(json, "service.name", "ringfort");
	put_text(json, "service.version", RF_VERSION);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_open_array(json, scopes);
	rf_json_open_object(json, NULL);
	rf_json_open_object(json, "scope");
	rf_json_string(json, "name", "ringfort");
	rf_json_close_object(json);
	rf_json_open_array(json, list);
}

static void end(struct rf_json *json)
{
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

/* ------------------------------------------------------------- spans */

void rf_otlp_begin_traces(struct rf_json *json, struct rf_buf *out)
{
	begin(json, out, "resourceSpans", "scopeSpans", "spans");
}

void rf_otlp_end_traces(struct rf_json *json)
{
	end(json);
}

static void put_status(struct rf_json *json, bool is_error)
{
	rf_json_open_object(json, "status");
	rf_json_int(json, "code", is_error ? 2 : 0);
	rf_json_close_object(json);
}

void rf_otlp_put_request(struct rf_json *json, const struct rf_herald_span *span)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "traceId", span->trace);
	rf_json_string(json, "spanId", span->span);
	if (span->parent[0])
		rf_json_string(json, "parentSpanId", span->parent);
	rf_json_string(json, "name", span->name);
	rf_json_int(json, "kind", 2); /* a server's */
	put_u64(json, "startTimeUnixNano", span->start_ns);
	put_u64(json, "endTimeUnixNano", span->start_ns + span->took_ns);
	rf_json_open_array(json, "attributes");
	put_number(json, "http.response.status_code", span->status);
	put_text(json, "ringfort.tenant", span->tenant);
	put_text(json, "ringfort.request", span->request);
	rf_json_close_array(json);
	put_status(json, span->status >= 500);
	rf_json_close_object(json);
}

/* The same for the same box, so that what is told twice is one. */
static void name_run(const char *box, char id[17])
{
	uint8_t hash[RF_SHA256_BYTES];
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, box, strlen(box));
	rf_sha256_end(&sha, hash);
	for (int i = 0; i < 8; i++)
		snprintf(id + 2 * i, 3, "%02x", hash[i]);
}

static void put_field(struct rf_json *json, const struct rf_audit_event *event, const char *key,
		      enum rf_audit_field field)
{
	if (rf_audit_event_has(event, field))
		put_attribute(json, key, event->values[field].text, event->values[field].len);
}

bool rf_otlp_put_run(struct rf_json *json, const struct rf_audit_event *event)
{
	uint64_t took_ns = rf_audit_event_get(event, RF_AUDIT_WALL_US) * 1000;
	char trace[65], box[33], verdict[17], id[17], whole[33], parent[17];

	rf_audit_event_copy(event, RF_AUDIT_TRACE, trace, sizeof(trace));
	if (event->kind != RF_AUDIT_RUN_ENDED || strlen(trace) != 55)
		return false;
	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	rf_audit_event_copy(event, RF_AUDIT_VERDICT, verdict, sizeof(verdict));
	name_run(box, id);
	snprintf(whole, sizeof(whole), "%.32s", trace + 3);
	snprintf(parent, sizeof(parent), "%.16s", trace + 36);
	took_ns = took_ns < event->time_ns ? took_ns : 0;
	rf_json_open_object(json, NULL);
	rf_json_string(json, "traceId", whole);
	rf_json_string(json, "spanId", id);
	rf_json_string(json, "parentSpanId", parent);
	rf_json_string(json, "name", "run");
	rf_json_int(json, "kind", 1); /* internal */
	put_u64(json, "startTimeUnixNano", event->time_ns - took_ns);
	put_u64(json, "endTimeUnixNano", event->time_ns);
	rf_json_open_array(json, "attributes");
	put_text(json, "ringfort.box", box);
	put_text(json, "ringfort.verdict", verdict);
	put_field(json, event, "ringfort.tenant", RF_AUDIT_TENANT);
	put_field(json, event, "ringfort.agent", RF_AUDIT_AGENT);
	put_field(json, event, "ringfort.program", RF_AUDIT_PROGRAM);
	put_field(json, event, "ringfort.request", RF_AUDIT_REQUEST);
	if (rf_audit_event_has(event, RF_AUDIT_MEMORY))
		put_number(json, "ringfort.memory_peak",
			   rf_audit_event_get(event, RF_AUDIT_MEMORY));
	rf_json_close_array(json);
	put_status(json, strcmp(verdict, "ok") != 0);
	rf_json_close_object(json);
	return true;
}

/* ------------------------------------------------------------- figures */

/* One line: name, labels, value. */
struct sample {
	char name[128];
	struct {
		char key[64], value[128];
	} labels[LABELS];
	size_t count;
	double value;
};

/* Behind an opening brace; gives what is behind the closing one, or NULL. */
static const char *read_labels(const char *at, struct sample *sample)
{
	while (*at && *at != '}') {
		size_t len = strcspn(at, "=}"), n = 0;

		if (at[len] != '=' || at[len + 1] != '"' || sample->count == LABELS || len > 63)
			return NULL;
		snprintf(sample->labels[sample->count].key, 64, "%.*s", (int)len, at);
		for (at += len + 2; *at && *at != '"'; at++) {
			if (*at == '\\' && at[1])
				at++;
			if (n < sizeof(sample->labels[0].value) - 1)
				sample->labels[sample->count].value[n++] = *at;
		}
		sample->labels[sample->count++].value[n] = '\0';
		if (*at != '"')
			return NULL;
		at += at[1] == ',' ? 2 : 1;
	}
	return *at == '}' ? at + 1 : NULL;
}

static bool read_sample(const char *line, struct sample *ret_sample)
{
	struct sample sample = { 0 };
	size_t len = strcspn(line, "{ ");
	const char *at = line + len;
	char *end_of = NULL;

	if (len == 0 || len >= sizeof(sample.name))
		return false;
	memcpy(sample.name, line, len);
	if (*at == '{')
		at = read_labels(at + 1, &sample);
	if (!at || *at != ' ')
		return false;
	sample.value = strtod(at + 1, &end_of);
	if (end_of == at + 1 || *end_of || sample.value != sample.value || sample.value > 1e300 ||
	    sample.value < -1e300)
		return false;
	*ret_sample = sample;
	return true;
}

/* A histogram's buckets are many, and its sum and count tell most of it. */
static bool is_bucket(const char *name)
{
	size_t len = strlen(name);

	return len > 7 && strcmp(name + len - 7, "_bucket") == 0;
}

static bool is_sum(const char *type, const char *name)
{
	size_t len = strlen(name);

	return strcmp(type, "counter") == 0 || (len > 4 && strcmp(name + len - 4, "_sum") == 0) ||
	       (len > 6 && strcmp(name + len - 6, "_count") == 0);
}

static void put_sample(struct rf_json *json, const struct sample *sample, bool sums,
		       uint64_t now_ns)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "name", sample->name);
	rf_json_open_object(json, sums ? "sum" : "gauge");
	if (sums) {
		rf_json_int(json, "aggregationTemporality", 2); /* since it began */
		rf_json_bool(json, "isMonotonic", true);
	}
	rf_json_open_array(json, "dataPoints");
	rf_json_open_object(json, NULL);
	put_u64(json, "timeUnixNano", now_ns);
	rf_json_double(json, "asDouble", sample->value, 9);
	rf_json_open_array(json, "attributes");
	for (size_t i = 0; i < sample->count; i++)
		put_text(json, sample->labels[i].key, sample->labels[i].value);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_array(json);
	rf_json_close_object(json);
	rf_json_close_object(json);
}

void rf_otlp_put_figures(const char *text, size_t len, uint64_t now_ns, struct rf_buf *out)
{
	char line[2048], type[32] = "";
	struct rf_json json;

	begin(&json, out, "resourceMetrics", "scopeMetrics", "metrics");
	for (size_t at = 0, size; at < len; at += size + 1) {
		const char *stop = memchr(text + at, '\n', len - at);
		struct sample sample;

		size = stop ? (size_t)(stop - text) - at : len - at;
		if (size == 0 || size >= sizeof(line) || memchr(text + at, '\0', size))
			continue;
		memcpy(line, text + at, size);
		line[size] = '\0';
		if (strncmp(line, "# TYPE ", 7) == 0 && strchr(line + 7, ' '))
			snprintf(type, sizeof(type), "%.31s", strchr(line + 7, ' ') + 1);
		if (line[0] != '#' && read_sample(line, &sample) && !is_bucket(sample.name) &&
		    rf_json_is_utf8(line, size))
			put_sample(&json, &sample, is_sum(type, sample.name), now_ns);
	}
	end(&json);
}
