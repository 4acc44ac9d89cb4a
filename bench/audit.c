/*
 * bench/audit: what the user's watcher does in a second, and how long one event takes.
 *
 *     bench-audit latency ROUNDS        connects, tells of one run as `ringfort run` does, and goes: microseconds
 *     bench-audit rate SECONDS BATCH    tells events, BATCH in a message, as fast as they are acknowledged
 *     bench-audit fill EVENTS AGENTS    tells of so many, in runs of so many agents in turn: a log to look things up in
 *
 * Prints a line of JSON.  A watcher must stand (XDG_RUNTIME_DIR).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/runs.h"
#include "audit/teller.h"

#define MAX_ROUNDS 100000

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void need(int code, const struct rf_err *err)
{
	if (code == 0)
		return;
	fprintf(stderr, "bench-audit: %s\n", err->msg);
	exit(1);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double part(double *values, int count, double share)
{
	qsort(values, (size_t)count, sizeof(*values), by_size);
	return values[(int)((count - 1) * share)];
}

static void add_event_of(struct rf_teller *teller, enum rf_audit_kind kind, const char *box,
			 const char *agent)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;

	rf_audit_event_init(&event, kind);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, "python3");
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	if (kind == RF_AUDIT_RUN_ENDED) {
		rf_audit_event_text(&event, RF_AUDIT_VERDICT, "ok");
		rf_audit_event_number(&event, RF_AUDIT_EXIT_CODE, 0);
		rf_audit_event_number(&event, RF_AUDIT_WALL_US, 12345);
		rf_audit_event_number(&event, RF_AUDIT_CPU_US, 12345);
		rf_audit_event_number(&event, RF_AUDIT_MEMORY, 12345678);
	}
	need(rf_teller_add(teller, &event, &err), &err);
}

/* Each of a box of its own: an end that is told twice is acknowledged, and written once. */
static void add_event(struct rf_teller *teller, enum rf_audit_kind kind, uint64_t number)
{
	char box[32];

	snprintf(box, sizeof(box), "%08x%08x", (unsigned)getpid(), (unsigned)number);
	add_event_of(teller, kind, box, "bench");
}

static int measure_latency(int rounds)
{
	static double open_us[MAX_ROUNDS], start_us[MAX_ROUNDS], end_us[MAX_ROUNDS];
	struct rf_err err = RF_ERR_INIT;

	for (int i = 0; i < rounds; i++) {
		struct rf_teller teller;
		double began = now_us();

		rf_teller_init(&teller);
		need(rf_teller_open(&teller, &err), &err);
		open_us[i] = now_us() - began;
		usleep(1000); /* in which a launcher reads its command line, and the watcher looks at it */
		began = now_us();
		add_event(&teller, RF_AUDIT_RUN_STARTED, (uint64_t)i);
		need(rf_teller_send(&teller, NULL, &err), &err);
		start_us[i] = now_us() - began;
		began = now_us();
		add_event(&teller, RF_AUDIT_RUN_ENDED, (uint64_t)i);
		need(rf_teller_send(&teller, NULL, &err), &err);
		end_us[i] = now_us() - began;
		rf_teller_done(&teller);
	}
	printf("{\"rounds\": %d, \"connect_us\": %.1f, \"started_us\": %.1f, \"started_p95_us\": "
	       "%.1f, "
	       "\"ended_us\": %.1f}\n",
	       rounds, part(open_us, rounds, 0.5), part(start_us, rounds, 0.5),
	       part(start_us, rounds, 0.95), part(end_us, rounds, 0.5));
	return 0;
}

static int measure_rate(double seconds, int batch)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_teller teller;
	double began, took;
	uint64_t count = 0;

	rf_teller_init(&teller);
	need(rf_teller_open(&teller, &err), &err);
	began = now_us();
	do {
		for (int i = 0; i < batch; i++)
			add_event(&teller, RF_AUDIT_RUN_ENDED, count + (uint64_t)i);
		need(rf_teller_send(&teller, NULL, &err), &err);
		count += (uint64_t)batch;
		took = now_us() - began;
	} while (took < seconds * 1e6);
	rf_teller_done(&teller);
	printf("{\"events\": %llu, \"seconds\": %.2f, \"rate\": %.0f}\n", (unsigned long long)count,
	       took / 1e6, (double)count / took * 1e6);
	return 0;
}

static int fill(int events, int agents)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_teller teller;
	char box[32], agent[32];

	rf_teller_init(&teller);
	need(rf_teller_open(&teller, &err), &err);
	for (int i = 0; i < events / 2; i++) {
		snprintf(box, sizeof(box), "%016x", (unsigned)i * 2654435761u);
		snprintf(agent, sizeof(agent), "agent%d", i % agents);
		add_event_of(&teller, RF_AUDIT_RUN_STARTED, box, agent);
		add_event_of(&teller, RF_AUDIT_RUN_ENDED, box, agent);
		if (i % 64 == 63 || i + 1 == events / 2)
			need(rf_teller_send(&teller, NULL, &err), &err);
	}
	rf_teller_done(&teller);
	printf("{\"events\": %d}\n", events / 2 * 2);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "latency") == 0 && atoi(argv[2]) > 0 &&
	    atoi(argv[2]) <= MAX_ROUNDS)
		return measure_latency(atoi(argv[2]));
	if (argc == 4 && strcmp(argv[1], "rate") == 0 && atof(argv[2]) > 0 && atoi(argv[3]) > 0)
		return measure_rate(atof(argv[2]), atoi(argv[3]));
	if (argc == 4 && strcmp(argv[1], "fill") == 0 && atoi(argv[2]) > 0 && atoi(argv[3]) > 0)
		return fill(atoi(argv[2]), atoi(argv[3]));
	fputs("usage: bench-audit latency ROUNDS | rate SECONDS BATCH | fill EVENTS AGENTS\n",
	      stderr);
	return 2;
}
