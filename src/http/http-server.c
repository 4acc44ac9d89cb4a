/* Accepts connections: see http-server.h. */
#include "http/http-server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"

#define AT_A_TIME 16           /* connections accepted in one turn */
#define REST_NS   100000000ull /* without accepting, when something is used up */

struct listener {
	struct rf_http_server *server;
	struct listener *next;
	struct rf_event *event;
	int fd;
};

struct rf_http_server {
	struct rf_exchange_host host;
	struct listener *listeners;
	struct rf_deadline rest; /* set: nothing is accepted until then */
	size_t most;
	size_t elsewhere; /* connections that whoever they are diverted to has */
	rf_http_server_fn *divert;
	void *divert_data;
};

static bool is_accepting(const struct rf_http_server *server)
{
	return server->host.count + server->elsewhere < server->most && !server->rest.place;
}

static void watch_listeners(struct rf_http_server *server)
{
	int want = is_accepting(server) ? RF_LOOP_READ : 0;

	for (struct listener *at = server->listeners; at; at = at->next)
		rf_event_want(at->event, want);
}

/* What ends a single connection before it began, and is nobody's fault here (accept(2)). */
static bool is_passing(int code)
{
	switch (code) {
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case ENETDOWN:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return true;
	default:
		return false;
	}
}

/* Descriptors or memory are used up.  The socket would tell us at once, again and again. */
static void take_rest(struct rf_http_server *server)
{
	rf_deadline_set(&server->rest, rf_loop_now() + REST_NS);
	watch_listeners(server);
}

static int take_connection(struct rf_http_server *server, int *fd)
{
	struct rf_err err = RF_ERR_INIT;

	if (server->divert)
		return server->divert(server->divert_data, fd, &err);
	return rf_exchange_new(&server->host, rf_transport_plain(fd), &err);
}

static void on_connection(void *data, int what)
{
	struct listener *listener = data;
	struct rf_http_server *server = listener->server;
	const int on = 1;

	for (int i = 0; i < AT_A_TIME && is_accepting(server); i++) {
		struct sockaddr_storage who;
		socklen_t len = sizeof(who);
		int fd = accept4(listener->fd, (struct sockaddr *)&who, &len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && is_passing(errno))
			continue;
		if (fd < 0) {
			if (errno != EAGAIN)
				take_rest(server);
			return;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
			   sizeof(on)); /* a unix socket has none */
		if (take_connection(server, &fd) < 0) {
			take_rest(server);
			return;
		}
	}
	watch_listeners(server);
}

static void on_closed(struct rf_exchange_host *host)
{
	watch_listeners((struct rf_http_server *)host->server);
}

static void on_rest(void *data)
{
	watch_listeners(data);
}

int rf_http_server_new(struct rf_loop *loop, const struct rf_exchange_limits *limits, size_t most,
		       const struct rf_exchange_ops *ops, void *data,
		       struct rf_http_server **ret_server, struct rf_err *err)
{
	struct rf_http_server *server = calloc(1, sizeof(*server));

	if (!server)
		return rf_fail(err, -ENOMEM, "HTTP server");
	server->most = most;
	server->host = (struct rf_exchange_host){
		.loop = loop,
		.limits = limits,
		.ops = ops,
		.data = data,
		.on_closed = on_closed,
		.server = server,
	};
	if (rf_deadlines_new(loop, &server->host.deadlines, err) < 0) {
		free(server);
		return err->code;
	}
	if (rf_deadline_init(&server->rest, server->host.deadlines, on_rest, server) < 0) {
		rf_http_server_free(server);
		return rf_fail(err, -ENOMEM, "HTTP server");
	}
	*ret_server = server;
	return 0;
}

int rf_http_server_listen(struct rf_http_server *server, int *fd, struct rf_err *err)
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		rf_fd_done(fd);
		return rf_fail(err, -ENOMEM, "listen");
	}
	listener->server = server;
	listener->fd = rf_fd_take(fd);
	if (rf_loop_watch(server->host.loop, listener->fd, RF_LOOP_READ, on_connection, listener,
			  &listener->event, err) < 0) {
		rf_fd_done(&listener->fd);
		free(listener);
		return rf_fail_in(err, "listen");
	}
	listener->next = server->listeners;
	server->listeners = listener;
	return 0;
}

int rf_http_server_adopt(struct rf_http_server *server, int *fd, struct rf_err *err)
{
	if (server->host.count >= server->most) {
		rf_fd_done(fd);
		return rf_fail_say(err, -EAGAIN, "more than %zu connections", server->most);
	}
	return rf_exchange_new(&server->host, rf_transport_plain(fd), err);
}

int rf_http_server_serve(struct rf_http_server *server, struct rf_transport transport,
			 struct rf_err *err)
{
	return rf_exchange_new(&server->host, transport, err);
}

void rf_http_server_divert(struct rf_http_server *server, rf_http_server_fn *fn, void *data)
{
	server->divert = fn;
	server->divert_data = data;
}

void rf_http_server_count(struct rf_http_server *server, int change)
{
	server->elsewhere += (size_t)change;
	watch_listeners(server);
}

static void close_listeners(struct rf_http_server *server)
{
	while (server->listeners) {
		struct listener *listener = server->listeners;

		server->listeners = listener->next;
		rf_event_cancel(listener->event);
		rf_fd_done(&listener->fd);
		free(listener);
	}
}

void rf_http_server_rest(struct rf_http_server *server)
{
	close_listeners(server);
}

void rf_http_server_form(struct rf_http_server *server,
			 void (*put_refusal)(unsigned status, const char *words,
					     struct rf_buf *out))
{
	server->host.put_refusal = put_refusal;
}

size_t rf_http_server_connections(const struct rf_http_server *server)
{
	return server->host.count;
}

void rf_http_server_free(struct rf_http_server *server)
{
	if (!server)
		return;
	close_listeners(server);
	rf_exchange_close_all(&server->host);
	rf_deadline_done(&server->rest);
	rf_deadlines_free(server->host.deadlines);
	free(server);
}
