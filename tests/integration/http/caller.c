/*
 * A client that does what it is told, one line at a time: test_http_client.py is at both of its ends.
 *
 *	http-caller PORT|unix:PATH [LIMIT=VALUE...]
 *
 *	METHOD TARGET none|length|chunked|upgrade BYTES    a call, with a body of so many bytes
 *	load PARALLEL CALLS TARGET                         so many calls, each begun where another one ends
 *	wait MS                                            the loop runs on
 *
 * Answers each call with "STATUS BYTES SUM new|kept", or with "error[ stale] MESSAGE"; a load with how many were whole and on
 * connections that were kept, all bytes, and microseconds.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/fd.h"
#include "http/http-pool.h"

#define PIECE 65536

struct caller {
	struct rf_loop *loop;
	struct rf_http_pool *pool;
	struct rf_call_limits limits;
	struct rf_http_pool_limits pool_limits;
	struct rf_call_origin origin;
	/* The call that is under way: */
	struct rf_call *call;
	const char *how; /* "new" or "kept" */
	unsigned status;
	unsigned long long got, sum, left;
	struct rf_stream tunnel;
};

static void send_more(struct caller *caller)
{
	static char piece[PIECE];
	int code = 0;

	memset(piece, 'x', sizeof(piece));
	while (caller->left > 0 && code == 0) {
		size_t len = caller->left < PIECE ? (size_t)caller->left : PIECE;

		code = rf_call_send(caller->call, (struct rf_span){ piece, len });
		caller->left -= len;
	}
	if (caller->left == 0 && code >= 0)
		rf_call_finish(caller->call, (struct rf_fields){ 0 });
}

/* Four bytes go, and four come back. */
static void on_tunnel(void *data, int what)
{
	struct caller *caller = data;

	rf_stream_flush(&caller->tunnel);
	while (rf_stream_fill(&caller->tunnel) > 0)
		continue;
	caller->got = rf_stream_input(&caller->tunnel).len;
	if (caller->got < 4) {
		rf_stream_wait(&caller->tunnel, true);
		return;
	}
	printf("tunnel %u %.*s\n", caller->status, RF_SPAN_ARG(rf_stream_input(&caller->tunnel)));
	rf_stream_done(&caller->tunnel);
	rf_loop_stop(caller->loop);
}

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head)
{
	struct caller *caller = own;
	struct rf_err err = RF_ERR_INIT;

	caller->status = head->start.status;
	if (head->framing.body != RF_BODY_TUNNEL)
		return;
	if (rf_call_take(call, &caller->tunnel, on_tunnel, caller, &err) < 0)
		abort();
	rf_stream_write(&caller->tunnel, RF_SPAN("ping"));
	rf_stream_flush(&caller->tunnel);
	rf_stream_wait(&caller->tunnel, true);
}

static void on_body(void *own, struct rf_call *call, struct rf_span bytes)
{
	struct caller *caller = own;

	caller->got += bytes.len;
	for (size_t i = 0; i < bytes.len; i++)
		caller->sum += (uint8_t)bytes.at[i];
}

static void on_room(void *own, struct rf_call *call)
{
	send_more(own);
}

static void on_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct caller *caller = own;

	caller->call = NULL;
	if (caller->tunnel.event)
		return; /* it goes on */
	if (err)
		printf("error%s %s\n", rf_call_is_stale(call) ? " stale" : "", err->msg);
	else
		printf("%u %llu %llu %s\n", caller->status, caller->got, caller->sum, caller->how);
	rf_loop_stop(caller->loop);
}

static const struct rf_call_ops ops = {
	.on_answer = on_answer,
	.on_body = on_body,
	.on_room = on_room,
	.on_end = on_end,
};

/* --- many calls --- */

struct load {
	struct caller *caller;
	const char *target;
	unsigned left, under_way, whole, kept;
	unsigned long long got;
};

static void begin_one(struct load *load);

static void on_load_body(void *own, struct rf_call *call, struct rf_span bytes)
{
	((struct load *)own)->got += bytes.len;
}

static void on_load_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct load *load = own;

	load->whole += !err;
	load->under_way--;
	begin_one(load);
	if (load->under_way == 0)
		rf_loop_stop(load->caller->loop);
}

static void begin_one(struct load *load)
{
	static const struct rf_call_ops load_ops = { .on_body = on_load_body,
						     .on_end = on_load_end };
	static const struct rf_authority authority = { .host = { .len = 1, .text = "a" } };
	struct rf_call_request request = { .method = RF_SPAN("GET"),
					   .target = rf_span_of(load->target),
					   .authority = &authority };
	struct rf_err err = RF_ERR_INIT;
	struct rf_call *call;

	if (load->left == 0)
		return;
	load->left--;
	load->kept += rf_http_pool_idle(load->caller->pool) > 0;
	if (rf_http_pool_call(load->caller->pool, &load->caller->origin, &request, &load_ops, load,
			      &call, &err) == 0)
		load->under_way++;
}

static void run(struct caller *caller)
{
	struct rf_err err = RF_ERR_INIT;

	if (rf_loop_run(caller->loop, &err) < 0)
		exit(1);
	fflush(stdout);
}

static void call(struct caller *caller, const char *method, const char *target, const char *kind)
{
	struct rf_authority authority = { 0 };
	struct rf_call_request request = { .method = rf_span_of(method),
					   .target = rf_span_of(target),
					   .authority = &authority };
	struct rf_err err = RF_ERR_INIT;

	rf_url_parse_authority(
		strcmp(method, "CONNECT") == 0 ? request.target : RF_SPAN("a.example"), &authority);
	request.length = caller->left;
	if (strcmp(kind, "length") == 0)
		request.body = RF_BODY_LENGTH;
	if (strcmp(kind, "chunked") == 0)
		request.body = RF_BODY_CHUNKED;
	if (strcmp(kind, "upgrade") == 0)
		request.upgrade = RF_SPAN("echo");
	caller->how = rf_http_pool_idle(caller->pool) > 0 ? "kept" : "new";
	caller->got = caller->sum = caller->status = 0;
	if (rf_http_pool_call(caller->pool, &caller->origin, &request, &ops, caller, &caller->call,
			      &err) < 0) {
		printf("error %s\n", err.msg);
		fflush(stdout);
		return;
	}
	if (request.body != RF_BODY_NONE)
		send_more(caller);
	run(caller);
}

static void run_load(struct caller *caller, unsigned parallel, unsigned calls, const char *target)
{
	struct load load = { .caller = caller, .target = target, .left = calls };
	uint64_t begin = rf_loop_now();

	while (parallel-- > 0)
		begin_one(&load);
	if (load.under_way > 0)
		run(caller);
	printf("load %u %u %llu %llu\n", load.whole, load.kept, load.got,
	       (unsigned long long)(rf_loop_now() - begin) / 1000);
	fflush(stdout);
}

static void on_time(void *data, int what)
{
	rf_loop_stop(data);
}

static void wait_for(struct caller *caller, unsigned long ms)
{
	struct rf_event *timer = NULL;
	struct rf_err err = RF_ERR_INIT;

	if (rf_loop_timer(caller->loop, rf_loop_now() + ms * 1000000, on_time, caller->loop, &timer,
			  &err) < 0)
		exit(1);
	run(caller);
	rf_event_cancel(timer);
	printf("waited %zu\n", rf_http_pool_idle(caller->pool));
	fflush(stdout);
}

static void set_limit(struct caller *caller, const char *word)
{
	const char *value = strchr(word, '=');
	unsigned long number = value ? strtoul(value + 1, NULL, 10) : 0;
	size_t len = value ? (size_t)(value - word) : 0;
	const struct {
		const char *name;
		uint32_t *limit;
	} limits[] = {
		{ "connect_ms", &caller->limits.connect_ms },
		{ "answer_ms", &caller->limits.answer_ms },
		{ "stall_ms", &caller->limits.stall_ms },
		{ "total_ms", &caller->limits.total_ms },
		{ "idle_ms", &caller->pool_limits.idle_ms },
	};

	for (size_t i = 0; i < RF_LEN(limits); i++)
		if (strlen(limits[i].name) == len && strncmp(word, limits[i].name, len) == 0) {
			*limits[i].limit = (uint32_t)number;
			return;
		}
	if (strncmp(word, "most_idle=", 10) == 0)
		caller->pool_limits.most_idle = number;
	else if (strncmp(word, "body_bytes=", 11) == 0)
		caller->limits.http.body.body_bytes = number;
	else
		exit(2);
}

static void set_origin(struct caller *caller, const char *where)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (strncmp(where, "unix:", 5) == 0) {
		snprintf(path.sun_path, sizeof(path.sun_path), "%s", where + 5);
		memcpy(&caller->origin.address, &path, sizeof(path));
		caller->origin.len = sizeof(path);
	} else {
		address.sin_port = htons((uint16_t)strtoul(where, NULL, 10));
		memcpy(&caller->origin.address, &address, sizeof(address));
		caller->origin.len = sizeof(address);
	}
}

int main(int argc, char **argv)
{
	struct caller caller = {
		.limits = rf_call_usual,
		.pool_limits = { .most_idle = 256, .most_idle_origin = 256, .idle_ms = 60000 },
	};
	struct rf_err err = RF_ERR_INIT;
	char line[8192], method[64], target[4096], kind[16];
	unsigned parallel, calls;

	for (int i = 2; i < argc; i++)
		set_limit(&caller, argv[i]);
	if (argc < 2 || rf_loop_new(&caller.loop, &err) < 0 ||
	    rf_http_pool_new(caller.loop, &caller.limits, &caller.pool_limits, &caller.pool, &err) <
		    0)
		return 1;
	set_origin(&caller, argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "wait ", 5) == 0)
			wait_for(&caller, strtoul(line + 5, NULL, 10));
		else if (sscanf(line, "load %u %u %4095s", &parallel, &calls, target) == 3)
			run_load(&caller, parallel, calls, target);
		else if (sscanf(line, "%63s %4095s %15s %llu", method, target, kind,
				&caller.left) == 4)
			call(&caller, method, target, kind);
		else
			return 2;
	}
	rf_http_pool_free(caller.pool);
	rf_loop_free(caller.loop);
	return 0;
}
