/*
 * TLS and HTTP/2 in front of a server that speaks HTTP/1.1, as the gateway has it: test_http2.py drives it with real clients and with odd ones.
 *
 *	http2-front PORT CA-FILE [LIMIT=VALUE...]
 *
 * PORT is that server's, on 127.0.0.1.  Writes its authority's certificate, prints its own port, and is "front.test".  Ends when its standard
 * input does, and says then how many connections there were and are.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/ca.h"
#include "http2/http2.h"
#include "tls/handshake.h"
#include "tls/tls.h"

#define NAME "front.test"
#define MOST 256

static struct rf_loop *loop;
static struct rf_deadlines *deadlines;
static struct rf_ca *ca;
static struct rf_tls_server *server;
static struct rf_http2_limits limits;
static struct rf_http2_host host;
static struct rf_http2 *connections[MOST];
static unsigned accepted, failed, live;
static uint16_t backend;
static int listener;

static void die(const char *what)
{
	fprintf(stderr, "http2-front: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int identify(void *data, const char *name, struct rf_tls_identity *ret_identity)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_host named;

	(void)data;
	if (rf_host_parse(rf_span_of(name), &named) != RF_FAULT_NONE)
		return -EINVAL;
	return rf_ca_issue(ca, &named, time(NULL), ret_identity, &err);
}

static int open_inside(void *data, struct rf_transport *ret_transport, struct rf_err *err)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(backend),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)data;
	if (fd < 0 ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)) {
		rf_fd_done(&fd);
		return rf_fail(err, -errno, "connect");
	}
	*ret_transport = rf_transport_plain(&fd);
	return 0;
}

static void on_closed(void *data)
{
	*(struct rf_http2 **)data = NULL;
	live--;
}

static void on_shaken(void *data, int code, struct rf_transport *transport,
		      const struct rf_err *err)
{
	struct rf_http2 **place = connections;
	struct rf_err why = RF_ERR_INIT;

	(void)data;
	if (code < 0) {
		failed++;
		fprintf(stderr, "%s\n", err->msg);
		return;
	}
	while (place < connections + MOST && *place)
		place++;
	if (place == connections + MOST || rf_tls_protocol(transport) != RF_TLS_HTTP2) {
		failed++;
		transport->ops->done(transport);
		return;
	}
	if (rf_http2_new(&host, *transport, place, place, &why) < 0)
		fprintf(stderr, "%s\n", why.msg);
	else
		live++;
}

static void on_accept(void *data, int what)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_handshake *handshake;
	struct rf_transport transport;
	int fd;

	(void)data;
	(void)what;
	/* cppcheck-suppress nullPointer ; nobody asks who it is */
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		accepted++;
		if (rf_tls_accept(server, &fd, RF_SPAN(""), NAME, &transport, &err) < 0 ||
		    rf_handshake_new(loop, deadlines, transport, 5000, on_shaken, NULL, &handshake,
				     &err) < 0)
			fprintf(stderr, "%s\n", err.msg);
	}
}

static void on_input(void *data, int what)
{
	char byte;

	(void)data;
	(void)what;
	if (read(0, &byte, 1) <= 0)
		rf_loop_stop(loop);
}

static void write_ca(const char *path)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_buf text;
	FILE *file = fopen(path, "we");

	rf_buf_init(&text, 10000);
	if (!file || rf_ca_pem(ca, &text, &err) < 0 || fputs(text.data, file) < 0 || fclose(file))
		die(path);
	rf_buf_done(&text);
}

static void take_limit(const char *word)
{
	const struct {
		const char *name;
		uint32_t *value;
	} all[] = { { "streams=", &limits.most_streams },
		    { "head=", &limits.head_bytes },
		    { "idle=", &limits.idle_ms },
		    { "spare=", &limits.spare_frames } };

	for (size_t i = 0; i < RF_LEN(all); i++)
		if (strncmp(word, all[i].name, strlen(all[i].name)) == 0)
			*all[i].value = (uint32_t)strtoul(word + strlen(all[i].name), NULL, 10);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct rf_err err = RF_ERR_INIT;
	struct rf_event *events[2];
	const struct rf_tls_server_how how = { .identify = identify, .speaks_http2 = true };

	if (argc < 3)
		die("too few words");
	backend = (uint16_t)strtoul(argv[1], NULL, 10);
	limits = rf_http2_usual;
	for (int i = 3; i < argc; i++)
		take_limit(argv[i]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener, 128) < 0 || getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		die("listen");
	if (rf_loop_new(&loop, &err) < 0 || rf_deadlines_new(loop, &deadlines, &err) < 0 ||
	    rf_ca_new("front", 8, &ca, &err) < 0 || rf_tls_server_new(&how, &server, &err) < 0 ||
	    rf_loop_watch(loop, listener, RF_LOOP_READ, on_accept, NULL, &events[0], &err) < 0 ||
	    rf_loop_watch(loop, 0, RF_LOOP_READ, on_input, NULL, &events[1], &err) < 0)
		die(err.msg);
	host = (struct rf_http2_host){ .loop = loop,
				       .deadlines = deadlines,
				       .limits = &limits,
				       .open = open_inside,
				       .on_closed = on_closed };
	write_ca(argv[2]);
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
	if (rf_loop_run(loop, &err) < 0)
		die(err.msg);
	printf("accepted %u failed %u live %u\n", accepted, failed, live);
	return 0;
}
