/* The way in where ports speak TLS: see airlock.h. */
#include "server/airlock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http2/http2.h"
#include "tls/handshake.h"
#include "tls/tls.h"

#define MS           1000000ull
#define HELLO_MS     10000 /* from the connection to its first byte */
#define HANDSHAKE_MS 10000
#define RECORD       0x16 /* the first byte of a client of TLS */

/* One that has come in, and is not served yet; or that speaks HTTP/2. */
struct entrant {
	struct rf_airlock *airlock;
	struct entrant *next, **at;
	int fd; /* until it is TLS's */
	struct rf_event *event;
	struct rf_deadline limit;
	struct rf_handshake *handshake;
	struct rf_http2 *http2;
};

struct rf_airlock {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_http_server *server;
	struct rf_tls_server *tls;
	struct rf_http2_host http2;
	struct entrant *entrants;
};

/* How long an answer takes is the request's own matter, and whether a client stalls is looked at where requests are answered. */
static const struct rf_call_limits inside = {
	.http = {
		.head = { .first_bytes = 16 * 1024, .line_bytes = 16 * 1024, .all_bytes = 64 * 1024 },
		.trailer = { .first_bytes = 4 * 1024, .line_bytes = 4 * 1024, .all_bytes = 8 * 1024 },
		.body = { .line_bytes = 256, .extension_bytes = 16 * 1024, .body_bytes = UINT64_MAX },
	},
	.connect_ms = 10000,
	.out_bytes = 256 * 1024,
};

static const char plain[] =
	"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"
	"Content-Length: 133\r\n\r\n"
	"{\"error\": {\"code\": \"malformed\", \"message\": \"this port speaks TLS\", \"remedy\": "
	"\"ask "
	"with https:// instead of http://\", \"where\": null}}\n";

/* ------------------------------------------------------------- entrants */

static void drop(struct entrant *entrant)
{
	*entrant->at = entrant->next;
	if (entrant->next)
		entrant->next->at = entrant->at;
	rf_event_cancel(entrant->event);
	rf_deadline_done(&entrant->limit);
	rf_handshake_free(entrant->handshake);
	rf_fd_done(&entrant->fd);
	rf_http_server_count(entrant->airlock->server, -1);
	free(entrant);
}

/* A connection of HTTP/1.1 for requests of HTTP/2. */
static int open_line(void *data, struct rf_transport *ret_transport, struct rf_err *err)
{
	const struct entrant *entrant = data;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return rf_fail(err, -errno, "a pair of sockets");
	if (rf_http_server_adopt(entrant->airlock->server, &fds[1], err) < 0) {
		rf_fd_done(&fds[0]);
		return err->code;
	}
	*ret_transport = rf_transport_plain(&fds[0]);
	return 0;
}

static void on_http2_closed(void *data)
{
	drop(data);
}

static void on_shaken(void *data, int code, struct rf_transport *transport,
		      const struct rf_err *why)
{
	struct entrant *entrant = data;
	struct rf_http_server *server = entrant->airlock->server;
	struct rf_err err = RF_ERR_INIT;

	(void)why; /* OpenSSL has told the client */
	entrant->handshake = NULL;
	if (code < 0) {
		drop(entrant);
	} else if (rf_tls_protocol(transport) == RF_TLS_HTTP2) {
		if (rf_http2_new(&entrant->airlock->http2, *transport, entrant, &entrant->http2,
				 &err) < 0)
			drop(entrant);
	} else {
		drop(entrant);
		rf_http_server_serve(server, *transport, &err);
	}
}

/* What was read already would make the kernel reset the connection, and the answer be lost. */
static void turn_away(int fd)
{
	char bytes[4096];

	for (int i = 0; i < 8 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0; i++)
		continue;
	if (send(fd, plain, sizeof(plain) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		shutdown(fd, SHUT_WR);
}

static void on_hello(void *data, int what)
{
	struct entrant *entrant = data;
	struct rf_airlock *airlock = entrant->airlock;
	struct rf_transport transport;
	struct rf_err err = RF_ERR_INIT;
	unsigned char first = 0;
	ssize_t n = recv(entrant->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	(void)what;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n == 1 && first >= 'A' && first <= 'Z')
		turn_away(entrant->fd);
	if (n <= 0 || first != RECORD ||
	    rf_tls_accept(airlock->tls, &entrant->fd, (struct rf_span){ NULL, 0 }, "a client",
			  &transport, &err) < 0) {
		drop(entrant);
		return;
	}
	rf_event_cancel(entrant->event);
	entrant->event = NULL;
	rf_deadline_cancel(&entrant->limit);
	if (rf_handshake_new(airlock->loop, airlock->deadlines, transport, HANDSHAKE_MS, on_shaken,
			     entrant, &entrant->handshake, &err) < 0)
		drop(entrant);
}

static void on_late(void *data)
{
	drop(data);
}

static int admit(void *data, int *fd, struct rf_err *err)
{
	struct rf_airlock *airlock = data;
	struct entrant *entrant = calloc(1, sizeof(*entrant));

	if (!entrant ||
	    rf_deadline_init(&entrant->limit, airlock->deadlines, on_late, entrant) < 0) {
		free(entrant);
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	entrant->airlock = airlock;
	entrant->fd = rf_fd_take(fd);
	entrant->at = &airlock->entrants;
	entrant->next = airlock->entrants;
	if (entrant->next)
		entrant->next->at = &entrant->next;
	airlock->entrants = entrant;
	rf_http_server_count(airlock->server, 1);
	if (rf_loop_watch(airlock->loop, entrant->fd, RF_LOOP_READ, on_hello, entrant,
			  &entrant->event, err) < 0) {
		drop(entrant);
		return err->code;
	}
	rf_deadline_set(&entrant->limit, rf_loop_now() + HELLO_MS * MS);
	return 0;
}

/* ------------------------------------------------------------- the whole */

int rf_airlock_new(struct rf_loop *loop, struct rf_http_server *server,
		   struct rf_airlock **ret_airlock, struct rf_err *err)
{
	struct rf_airlock *airlock = calloc(1, sizeof(*airlock));

	if (!airlock)
		return rf_fail(err, -ENOMEM, "TLS");
	airlock->loop = loop;
	airlock->server = server;
	if (rf_deadlines_new(loop, &airlock->deadlines, err) < 0) {
		free(airlock);
		return err->code;
	}
	airlock->http2 = (struct rf_http2_host){
		.loop = loop,
		.deadlines = airlock->deadlines,
		.limits = &rf_http2_usual,
		.open = open_line,
		.inside = &inside,
		.on_closed = on_http2_closed,
	};
	*ret_airlock = airlock;
	return 0;
}

void rf_airlock_free(struct rf_airlock *airlock)
{
	if (!airlock)
		return;
	for (struct entrant *entrant = airlock->entrants, *next; entrant; entrant = next) {
		next = entrant->next;
		if (entrant->http2)
			rf_http2_close(entrant->http2); /* drops it */
		else
			drop(entrant);
	}
	rf_tls_server_free(airlock->tls);
	rf_deadlines_free(airlock->deadlines);
	free(airlock);
}

int rf_airlock_secure(struct rf_airlock *airlock, const char *certificate, const char *key,
		      const char *clients, struct rf_err *err)
{
	const struct rf_tls_server_how how = {
		.speaks_http2 = true,
		.certificate_pem = certificate,
		.key_pem = key,
		.clients_pem = clients,
	};
	struct rf_tls_server *tls;

	if (rf_tls_server_new(&how, &tls, err) < 0)
		return err->code;
	rf_tls_server_free(airlock->tls);
	airlock->tls = tls;
	rf_http_server_divert(airlock->server, admit, airlock);
	return 0;
}
