/*
 * A load for proxies, and a measure of their policy.
 *
 *   bench-load http PORT TARGET HOST LINES ROUNDS      requests on LINES connections, all at once, ROUNDS times
 *   bench-load https PORT TARGET HOST LINES ROUNDS CONNECT   the same in TLS, through tunnels to CONNECT ("-": none)
 *   bench-load pour MIB                                a server that answers so much; prints its port
 *   bench-load bulk PORT CONNECT                       that, read, through a tunnel to CONNECT ("-": none)
 *   bench-load net RULES                               nanoseconds that a judgement takes
 *
 * Prints JSON.  One thread and blocking sockets: a round is written to all connections, then read from all; with one connection, its
 * times are latencies.  The port is 127.0.0.1's, or that of the address in LOAD_ADDRESS.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "policy/net.h"

#define PIECE (256 * 1024)
#define LINES 1024

static char piece[PIECE];

struct line {
	int fd;
	SSL *ssl; /* NULL: plain */
};

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int dial(const char *port)
{
	const char *address = getenv("LOAD_ADDRESS");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	inet_pton(AF_INET, address ? address : "127.0.0.1", &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static ssize_t get(const struct line *line, char *to, size_t len)
{
	return line->ssl ? SSL_read(line->ssl, to, (int)len) : recv(line->fd, to, len, 0);
}

static void send_all(const struct line *line, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = line->ssl ? SSL_write(line->ssl, text, (int)len)
					 : send(line->fd, text, len, MSG_NOSIGNAL);

		if (sent <= 0)
			die("send");
		text += sent;
		len -= (size_t)sent;
	}
}

/* Reads a head, and what came with it of the body; returns how many bytes of the body are still to come. */
static uint64_t read_head(const struct line *line, const char *wanted)
{
	size_t len = 0;
	char *end = NULL, *field;

	while (!end) {
		ssize_t got = get(line, piece + len, PIECE - 1 - len);

		if (got <= 0)
			die("read a head");
		len += (size_t)got;
		piece[len] = '\0';
		end = strstr(piece, "\r\n\r\n");
	}
	if (strncmp(piece + 9, wanted, 3) != 0) {
		fprintf(stderr, "bench-load: %.200s\n", piece);
		exit(1);
	}
	field = strcasestr(piece, "\r\nContent-Length:");
	if (!field || field > end)
		return 0;
	return strtoull(field + 17, NULL, 10) - (len - (size_t)(end + 4 - piece));
}

static void read_body(const struct line *line, uint64_t left)
{
	while (left) {
		ssize_t got = get(line, piece, left < PIECE ? (size_t)left : PIECE);

		if (got <= 0)
			die("read a body");
		left -= (uint64_t)got;
	}
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void open_tunnel(const struct line *line, const char *place)
{
	char head[1024];

	send_all(line, head,
		 (size_t)snprintf(head, sizeof(head), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
				  place, place));
	read_head(line, "200");
}

/* TLS on a connection; whose certificate it is does not matter here. */
static void begin_tls(struct line *line, const char *host)
{
	static SSL_CTX *context;
	char name[256];

	if (!context)
		context = SSL_CTX_new(TLS_client_method());
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, ":"), host);
	line->ssl = SSL_new(context);
	SSL_set_tlsext_host_name(line->ssl, name);
	SSL_set_fd(line->ssl, line->fd);
	if (SSL_connect(line->ssl) != 1)
		die("shake hands");
}

static int load_http(char **argv, bool is_tls)
{
	static struct line lines[LINES];
	unsigned count = (unsigned)atoi(argv[3]), rounds = (unsigned)atoi(argv[4]), seen = 0;
	uint64_t *times = calloc((size_t)rounds * count + 1, sizeof(*times)), began, took;
	char head[1024];
	int len = snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[1],
			   argv[2]);

	if (!times || count > LINES)
		die("lines");
	for (unsigned i = 0; i < count; i++) {
		lines[i].fd = dial(argv[0]);
		if (is_tls && strcmp(argv[5], "-") != 0)
			open_tunnel(&lines[i], argv[5]);
		if (is_tls)
			begin_tls(&lines[i], argv[2]);
	}
	began = now_ns();
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t start = now_ns();

		for (unsigned i = 0; i < count; i++)
			send_all(&lines[i], head, (size_t)len);
		for (unsigned i = 0; i < count; i++) {
			read_body(&lines[i], read_head(&lines[i], "200"));
			times[seen++] = now_ns() - start;
		}
	}
	took = now_ns() - began;
	qsort(times, seen, sizeof(*times), by_value);
	size_t middle = seen / 2, late = seen * 99UL / 100;

	printf("{\"requests\": %u, \"seconds\": %.6f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", seen,
	       (double)took / 1e9, (double)times[middle] / 1e3, (double)times[late] / 1e3);
	free(times);
	return 0;
}

/* Says something that is no HTTP, and reads to the end. */
static int load_bulk(char **argv)
{
	uint64_t began, bytes = 0;
	struct line line = { .fd = dial(argv[0]) };
	ssize_t got;

	if (strcmp(argv[1], "-") != 0)
		open_tunnel(&line, argv[1]);
	began = now_ns();
	send_all(&line, "\1\2\3\4 pour", 9);
	while ((got = get(&line, piece, PIECE)) > 0)
		bytes += (uint64_t)got;
	printf("{\"bytes\": %lu, \"seconds\": %.6f}\n", (unsigned long)bytes,
	       (double)(now_ns() - began) / 1e9);
	close(line.fd);
	return 0;
}

/* Answers whatever is said with so many bytes, again and again. */
__attribute__((noreturn)) static void pour(char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
	if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 128) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		die("listen");
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		uint64_t left = strtoull(argv[0], NULL, 10) << 20;

		if (fd < 0)
			die("accept");
		if (recv(fd, piece, PIECE, 0) > 0)
			while (left) {
				ssize_t sent = send(fd, piece, left < PIECE ? (size_t)left : PIECE,
						    MSG_NOSIGNAL);

				if (sent <= 0)
					break;
				left -= (uint64_t)sent;
			}
		close(fd);
	}
}

/* Rules of every kind, with the one that is asked for among them. */
static struct rf_net *make_net(unsigned rules)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	struct rf_policy *policy = NULL;
	struct rf_net *net = NULL;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&text, 16 << 20);
	rf_buf_puts(&text, "version: 1\nnetwork:\n  allow:\n");
	for (unsigned i = 0; i < rules; i++) {
		rf_buf_puts(&text, "    - \"");
		if (i % 4 == 3)
			rf_buf_printf(&text, "10.%u.%u.0/24:8080", i / 256 % 256, i % 256);
		else
			rf_buf_printf(&text,
				      i % 4 == 0   ? "host-%u.example"
				      : i % 4 == 1 ? "*.tree-%u.example"
						   : "GET,POST api-%u.example/v1/things/*",
				      i);
		rf_buf_puts(&text, "\"\n");
	}
	if (rf_policy_parse(text.data, text.len, "/", "/", &policy, &err) < 0 ||
	    rf_net_make(policy, &net, &err) < 0) {
		fprintf(stderr, "bench-load: %s\n", err.msg);
		exit(1);
	}
	rf_policy_free(policy);
	return net;
}

static double judge(const struct rf_net *net, const char *name, bool wanted)
{
	struct rf_host host;
	uint64_t best = UINT64_MAX;

	if (rf_host_parse(rf_span_of(name), &host) != RF_FAULT_NONE)
		die(name);
	for (int round = 0; round < 20; round++) {
		uint64_t began = now_ns();

		for (int i = 0; i < 10000; i++) {
			struct rf_net_verdict verdict = rf_net_judge_host(net, &host, 443);

			if (verdict.is_allowed != wanted)
				die(name);
		}
		uint64_t took = now_ns() - began;

		best = took < best ? took : best;
	}
	return (double)best / 10000;
}

static int measure_net(char **argv)
{
	unsigned rules = (unsigned)atoi(argv[0]);
	uint64_t began = now_ns();
	struct rf_net *net = make_net(rules);
	double made = (double)(now_ns() - began) / 1e6;
	char name[64], below[64];

	snprintf(name, sizeof(name), "host-%u.example", rules / 2 / 4 * 4);
	snprintf(below, sizeof(below), "a.b.tree-%u.example", rules / 2 / 4 * 4 + 1);
	printf("{\"rules\": %u, \"made_ms\": %.2f, \"name_ns\": %.0f, \"below_ns\": %.0f, "
	       "\"denied_ns\": %.0f}\n",
	       rules, made, judge(net, name, true), judge(net, below, true),
	       judge(net, "evil.example.org", false));
	rf_net_free(net);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "http"))
		return load_http(argv + 2, false);
	if (argc == 8 && !strcmp(argv[1], "https"))
		return load_http(argv + 2, true);
	if (argc == 3 && !strcmp(argv[1], "pour"))
		pour(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "bulk"))
		return load_bulk(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "net"))
		return measure_net(argv + 2);
	fprintf(stderr, "usage: bench-load http|https|pour|bulk|net ...\n");
	return 2;
}
