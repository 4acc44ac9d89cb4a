/* The boxes that live: see roster.h. */
#include "watch/roster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/event.h"
#include "base/json.h"

#define PAIR 24 /* bytes of "used/limit" */

void rf_roster_bytes(uint64_t bytes, char text[8])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	if (bytes == UINT64_MAX) {
		snprintf(text, 8, "-");
		return;
	}
	while (value >= 999.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, 8, "%u", (unsigned)bytes);
	else
		snprintf(text, 8, "%.*f%c", value < 9.95 ? 1 : 0, value, units[unit]);
}

static void put_count(uint64_t count, char text[8])
{
	if (count == UINT64_MAX)
		snprintf(text, 8, "-");
	else if (count < 100000)
		snprintf(text, 8, "%u", (unsigned)count);
	else
		rf_roster_bytes(count, text);
}

static uint64_t limit_of(const struct rf_roster_box *box, enum rf_limit limit)
{
	return box->limits ? box->limits[limit] : UINT64_MAX;
}

static void put_pair(const char *used, const char *limit, char out[PAIR])
{
	snprintf(out, PAIR, strcmp(limit, "-") == 0 ? "%s" : "%s/%s", used, limit);
}

static void put_bytes_pair(uint64_t used, uint64_t limit, char out[PAIR])
{
	char a[8], b[8];

	rf_roster_bytes(used, a);
	rf_roster_bytes(limit, b);
	put_pair(a, b, out);
}

static void put_count_pair(uint64_t used, uint64_t limit, char out[PAIR])
{
	char a[8], b[8];

	put_count(used, a);
	put_count(limit, b);
	put_pair(a, b, out);
}

/* "3.4s", "12m", "5h", "3d". */
static void put_time(uint64_t ms, char text[16])
{
	if (ms == UINT64_MAX)
		snprintf(text, 16, "-");
	else if (ms < 10000)
		snprintf(text, 16, "%u.%us", (unsigned)(ms / 1000), (unsigned)(ms / 100 % 10));
	else if (ms < 120000)
		snprintf(text, 16, "%us", (unsigned)(ms / 1000));
	else if (ms < 7200000)
		snprintf(text, 16, "%um", (unsigned)(ms / 60000));
	else if (ms < 172800000)
		snprintf(text, 16, "%uh", (unsigned)(ms / 3600000));
	else
		snprintf(text, 16, "%" PRIu64 "d", ms / 86400000);
}

/* What came from others, cut and without what steers a terminal. */
static void put_word(const char *word, size_t size, char *text)
{
	snprintf(text, size, "%s", word && word[0] ? word : "-");
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
}

void rf_roster_text(const struct rf_roster_box *boxes, size_t count, struct rf_buf *out)
{
	if (count == 0)
		rf_buf_puts(out, "no box lives\n");
	else
		rf_buf_printf(out, "%-16s  %-12s  %-12s  %-8s  %-9s  %5s  %-9s  %-11s  %-9s  %s\n",
			      "ID", "AGENT", "PROGRAM", "STATE", "AGE", "CPU%", "CPU", "MEMORY",
			      "PROCESSES", "WRITTEN");
	for (size_t i = 0; i < count; i++) {
		const struct rf_roster_box *box = &boxes[i];
		char agent[13], program[13], age[16], age_most[16], cpu[16], cpu_most[16];
		char ages[PAIR], cpus[PAIR], memory[PAIR], pids[PAIR], share[8], written[8];
		bool is_known = box->limits != NULL;

		put_word(box->agent, sizeof(agent), agent);
		put_word(box->program, sizeof(program), program);
		put_time(box->age_ms, age);
		put_time(limit_of(box, RF_LIMIT_TIME), age_most);
		put_pair(age, age_most, ages);
		put_time(is_known && box->used.cpu_ns != UINT64_MAX ? box->used.cpu_ns / 1000000
								    : UINT64_MAX,
			 cpu);
		put_time(limit_of(box, RF_LIMIT_CPU_TIME), cpu_most);
		put_pair(cpu, cpu_most, cpus);
		put_bytes_pair(is_known ? box->used.memory : UINT64_MAX,
			       limit_of(box, RF_LIMIT_MEMORY), memory);
		put_count_pair(is_known ? box->used.pids : UINT64_MAX, limit_of(box, RF_LIMIT_PIDS),
			       pids);
		put_count(is_known ? box->cpu_percent : UINT64_MAX, share);
		rf_roster_bytes(is_known ? box->used.written : UINT64_MAX, written);
		rf_buf_printf(out, "%-16s  %-12s  %-12s  %-8s  %-9s  %5s  %-9s  %-11s  %-9s  %s\n",
			      box->id, agent, program, box->state, ages, share, cpus, memory, pids,
			      written);
	}
}

/* ------------------------------------------------------------- JSON */

static void put_number(struct rf_json *json, const char *name, uint64_t number)
{
	if (number == UINT64_MAX)
		rf_json_null(json, name);
	else
		rf_json_int(json, name, (int64_t)number);
}

static void put_name(struct rf_json *json, const char *name, const char *text)
{
	rf_json_string(json, name, text && text[0] ? text : NULL);
}

static void put_limits(struct rf_json *json, const struct rf_roster_box *box)
{
	if (!box->limits) {
		rf_json_null(json, "limits");
		return;
	}
	rf_json_open_object(json, "limits");
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		put_number(json, rf_limit_table[i].key, box->limits[i]);
	rf_json_close_object(json);
}

/* Under the names of the limits that they count against, where there is one; in their units. */
static void put_used(struct rf_json *json, const struct rf_roster_box *box)
{
	const struct rf_gauge_figures *used = &box->used;

	if (!box->limits) {
		rf_json_null(json, "used");
		return;
	}
	rf_json_open_object(json, "used");
	put_number(json, "memory", used->memory);
	put_number(json, "cpu", box->cpu_percent);
	put_number(json, "cpu_time",
		   used->cpu_ns == UINT64_MAX ? UINT64_MAX : used->cpu_ns / 1000000);
	put_number(json, "time", box->age_ms);
	put_number(json, "pids", used->pids);
	put_number(json, "disk", used->disk);
	put_number(json, "written", used->written);
	put_number(json, "begun", used->begun);
	rf_json_close_object(json);
	rf_json_open_object(json, "rates");
	put_number(json, "begun", box->begun_rate);
	put_number(json, "written", box->write_rate);
	rf_json_close_object(json);
}

static void put_breaker(struct rf_json *json, const struct rf_roster_box *box)
{
	if (!box->breaker) {
		rf_json_null(json, "breaker");
		return;
	}
	rf_json_open_object(json, "breaker");
	rf_json_string(json, "state", box->breaker);
	put_name(json, "reason", box->breaker_reason);
	rf_json_close_object(json);
}

static void put_box(struct rf_json *json, const struct rf_roster_box *box)
{
	char time[32];

	rf_audit_event_time(box->started_ns, time, sizeof(time));
	rf_json_open_object(json, NULL);
	rf_json_string(json, "id", box->id);
	put_name(json, "agent", box->agent);
	put_name(json, "program", box->program);
	put_name(json, "policy", box->policy);
	rf_json_string(json, "state", box->state);
	rf_json_int(json, "user", (int64_t)box->user);
	put_number(json, "pid", box->pid > 0 ? (uint64_t)box->pid : UINT64_MAX);
	put_number(json, "launcher", box->launcher > 0 ? (uint64_t)box->launcher : UINT64_MAX);
	rf_json_string(json, "started", time);
	put_limits(json, box);
	put_used(json, box);
	put_breaker(json, box);
	rf_json_close_object(json);
}

void rf_roster_json(const struct rf_roster_box *boxes, size_t count,
		    const struct rf_roster_denial *denials, size_t denial_count, struct rf_buf *out)
{
	struct rf_json json;
	char time[32];

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "boxes");
	for (size_t i = 0; i < count; i++)
		put_box(&json, &boxes[i]);
	rf_json_close_array(&json);
	rf_json_open_array(&json, "denials");
	for (size_t i = 0; i < denial_count; i++) {
		rf_audit_event_time(denials[i].time_ns, time, sizeof(time));
		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "time", time);
		put_name(&json, "box", denials[i].box);
		put_name(&json, "agent", denials[i].agent);
		rf_json_string(&json, "what", denials[i].what);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}
