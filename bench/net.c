/*
 * What one question to a box's rules costs: a request judged against N rules, by what the rules are like.
 *
 *     ninja -C build bench-net && build/bench-net [N]
 *
 * Requests go in turns to hosts and paths that are allowed, denied and unknown, so that nothing is in a
 * predictor's memory from the time before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "policy/net.h"
#include "policy/policy.h"

#define ASKED  4096
#define ROUNDS 200

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct asked {
	struct rf_host host;
	char room[256];
	struct rf_url_path path;
};

static struct asked asked[ASKED];

static void ask_for(struct asked *one, const char *host, const char *path)
{
	if (rf_host_parse(rf_span_of(host), &one->host) ||
	    rf_url_path_read(rf_span_of(path), one->room, sizeof(one->room), &one->path))
		abort();
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, struct rf_policy *policy)
{
	static double times[ROUNDS];
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;
	double begin = now_ns(), made;
	unsigned allowed = 0;

	if (rf_net_make(policy, &net, &err) < 0) {
		fprintf(stderr, "%s: %s\n", name, err.msg);
		exit(1);
	}
	made = now_ns() - begin;
	for (int round = 0; round < ROUNDS; round++) {
		begin = now_ns();
		for (int i = 0; i < ASKED; i++)
			allowed += rf_net_judge_request(net, &asked[i].host, 443, RF_SPAN("GET"),
							&asked[i].path)
					   .is_allowed;
		times[round] = (now_ns() - begin) / ASKED;
	}
	qsort(times, ROUNDS, sizeof(times[0]), by_number);
	printf("%-34s %6zu rules  %7.1f ns a request (p99 %.1f), %.0f %% allowed, compiled in %.2f "
	       "ms\n",
	       name, net->rule_count, times[ROUNDS / 2], times[ROUNDS * 99 / 100],
	       100.0 * allowed / ASKED / ROUNDS, made / 1e6);
	rf_net_free(net);
	rf_policy_free(policy);
}

static void add(struct rf_policy *policy, const char *key, const char *rule)
{
	struct rf_err err = RF_ERR_INIT;

	if (rf_policy_set(policy, key, rule, "/", "/", &err) < 0) {
		fprintf(stderr, "%s: %s\n", rule, err.msg);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 4096;
	struct rf_policy *policy;
	char text[256], path[128];

	policy = rf_policy_new_empty();
	for (int i = 0; policy && i < count; i++) {
		snprintf(text, sizeof(text), i % 2 ? "*.zone%d.example" : "host%d.example:443", i);
		add(policy, "network.allow", text);
	}
	for (int i = 0; i < ASKED; i++) {
		snprintf(text, sizeof(text), i % 3 ? "a.b.zone%d.example" : "host%d.example",
			 i * 7919 % (2 * count));
		ask_for(&asked[i], text, "/repos/acme/site/issues");
	}
	measure("names and zones", policy);

	policy = rf_policy_new_empty();
	for (int i = 0; policy && i < count; i++) {
		snprintf(text, sizeof(text), "GET api.example/repos/org%d/*", i);
		add(policy, i % 8 ? "network.allow" : "network.deny", text);
	}
	for (int i = 0; i < ASKED; i++) {
		snprintf(path, sizeof(path), "/repos/org%d/site", i * 7919 % (2 * count));
		ask_for(&asked[i], "api.example", path);
	}
	measure("paths of one host", policy);

	policy = rf_policy_new_empty();
	for (int i = 0; policy && i < count; i++) {
		snprintf(text, sizeof(text), "10.%d.%d.0/24", i / 256 % 256, i % 256);
		add(policy, "network.allow", text);
	}
	for (int i = 0; i < ASKED; i++) {
		snprintf(text, sizeof(text), "10.%d.%d.7", i * 7919 / 256 % 32, i * 7919 % 256);
		ask_for(&asked[i], text, "/");
	}
	measure("ranges of addresses", policy);
	return 0;
}
