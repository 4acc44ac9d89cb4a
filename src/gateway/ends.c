/*
 * Where TLS ends and begins for one box: see ends.h.
 *
 * A connection of the box's shakes hands first, because the handshake decides between HTTP/1.1 and HTTP/2.  Each request of HTTP/2 goes through
 * one half of a socket pair, on the other half of which HTTP/1.1 is served: all of the policy is there.
 */
#include "gateway/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bundles.h"
#include "base/fd.h"
#include "gateway/ca.h"
#include "http2/http2.h"
#include "tls/handshake.h"
#include "tls/tls.h"

#define LEAVES       512 /* certificates that are kept for a box */
#define SESSIONS     64  /* servers whose TLS session is kept */
#define HANDSHAKE_MS 15000
#define ROOTS_MAX    (4 * 1024 * 1024)

/* A connection of the box's, from its first byte to the end of the handshake, or of HTTP/2. */
struct link {
	struct rf_ends *ends;
	struct link *next, **at;
	struct rf_forward_place place;
	struct rf_handshake *handshake;
	struct rf_http2 *http2;
};

struct rf_ends {
	struct rf_outlet *outlet;
	struct rf_ca *ca;
	struct rf_tls_server *server;
	struct rf_tls_client *client; /* who shows nothing of itself */
	struct own {
		char name[RF_GATE_NAME]; /* of a credential that is a certificate */
		struct rf_tls_client *client;
	} * owns; /* and who does */
	size_t own_count;
	struct rf_http2_host http2;
	struct link *links;
};

/* What SSL_CERT_FILE named, or NULL. */
static char *own_roots;

/* The system's own file, by whatever name, is trusted anyway, and read only as far as it is needed. */
static bool is_systems(const char *path)
{
	static const char *const bundles[] = { RF_BUNDLES };
	struct stat st, other;

	for (size_t i = 0; i < RF_LEN(bundles); i++)
		if (stat(path, &st) == 0 && stat(bundles[i], &other) == 0 &&
		    st.st_dev == other.st_dev && st.st_ino == other.st_ino)
			return true;
	return false;
}

int rf_ends_prepare(struct rf_err *err)
{
	const char *path = getenv("SSL_CERT_FILE");
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_FD int fd = -1;
	char *place;
	ssize_t n = 1;

	rf_buf_init(&text, ROOTS_MAX);
	if (rf_ca_guard(err) < 0)
		*err = RF_ERR_INIT; /* as good as this machine has it */
	if (!path || !*path || is_systems(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && (place = rf_buf_reserve(&text, 65536))) {
		n = read(fd, place, 65536);
		rf_buf_grew(&text, n > 0 ? (size_t)n : 0);
	}
	if (fd < 0 || n < 0 || text.has_failed)
		return rf_fail(err, fd < 0 || n < 0 ? -errno : -ENOMEM, "SSL_CERT_FILE: read %s",
			       path);
	own_roots = rf_buf_take(&text);
	return 0;
}

/* --- links --- */

static void drop(struct link *link)
{
	*link->at = link->next;
	if (link->next)
		link->next->at = link->at;
	rf_outlet_count(link->ends->outlet, -1);
	free(link);
}

static struct link *add(struct rf_ends *ends, const struct rf_forward_place *place)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->ends = ends;
	link->place = *place;
	link->at = &ends->links;
	link->next = ends->links;
	if (link->next)
		link->next->at = &link->next;
	ends->links = link;
	rf_outlet_count(ends->outlet, 1);
	return link;
}

/* A program that breaks off the handshake most often does not trust the authority: that should be said somewhere. */
static void tell_failure(const struct link *link, const struct rf_err *why)
{
	struct rf_gate_event event = {
		.kind = RF_GATE_CONNECT,
		.verdict = RF_GATE_ALLOWED,
		.host = link->place.host.text,
		.address = "",
		.port = link->place.port,
		.method = "",
		.path = "",
		.credential = "",
		.rule = "",
		.reason = why->msg,
		.remedy = "",
	};

	rf_note_tell(link->ends->outlet->note, &event);
}

/* A line of HTTP/1.1 for a request of HTTP/2. */
static int open_line(void *data, struct rf_transport *ret_transport, struct rf_err *err)
{
	const struct link *link = data;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return rf_fail(err, -errno, "make a pair of sockets");
	if (rf_forward_serve(link->ends->outlet, rf_transport_plain(&fds[1]), &link->place, err) <
	    0) {
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
	struct link *link = data;
	struct rf_outlet *outlet = link->ends->outlet;
	struct rf_forward_place place = link->place;
	struct rf_err err = RF_ERR_INIT;

	link->handshake = NULL;
	if (code < 0) {
		tell_failure(link, why);
		drop(link);
	} else if (rf_tls_protocol(transport) == RF_TLS_HTTP2) {
		if (rf_http2_new(&link->ends->http2, *transport, link, &link->http2, &err) < 0)
			drop(link);
	} else {
		drop(link);
		rf_forward_serve(outlet, *transport, &place, &err);
	}
}

static int accept_tls(struct rf_outlet *outlet, int *fd, struct rf_span first,
		      const struct rf_forward_place *place, struct rf_err *err)
{
	struct rf_ends *ends = outlet->ends;
	struct rf_transport transport;
	struct link *link;

	if (rf_tls_accept(ends->server, fd, first, place->host.text, &transport, err) < 0)
		return err->code;
	link = add(ends, place);
	if (!link) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	if (rf_handshake_new(outlet->gateway->loop, outlet->gateway->deadlines, transport,
			     HANDSHAKE_MS, on_shaken, link, &link->handshake, err) < 0) {
		drop(link);
		return err->code;
	}
	return 0;
}

/* --- the part --- */

static int identify(void *data, const char *name, struct rf_tls_identity *ret_identity)
{
	struct rf_ends *ends = data;
	struct rf_err err = RF_ERR_INIT;
	struct rf_host host;
	char text[RF_HOST_TEXT + 3];

	/* An address of IPv6 is written with its brackets, but for here. */
	snprintf(text, sizeof(text), strchr(name, ':') ? "[%s]" : "%s", name);
	if (rf_host_parse(rf_span_of(text), &host) != RF_FAULT_NONE)
		return -EINVAL;
	return rf_ca_issue(ends->ca, &host, time(NULL), ret_identity, &err);
}

void rf_ends_stop(struct rf_outlet *outlet, void *own)
{
	struct rf_ends *ends = own;
	struct link *next;

	for (struct link *link = ends ? ends->links : NULL; link; link = next) {
		next = link->next;
		if (link->http2) {
			rf_http2_close(link->http2); /* drops it */
		} else {
			rf_handshake_free(link->handshake);
			drop(link);
		}
	}
}

void rf_ends_close(struct rf_outlet *outlet, void *own)
{
	struct rf_ends *ends = own;

	if (!ends)
		return;
	rf_ends_stop(outlet, own);
	outlet->accept = NULL;
	outlet->secure = NULL;
	rf_tls_server_free(ends->server);
	rf_tls_client_free(ends->client);
	for (size_t i = 0; i < ends->own_count; i++)
		rf_tls_client_free(ends->owns[i].client);
	free(ends->owns);
	rf_ca_free(ends->ca);
	free(ends);
}

/* --- certificates that are shown to servers --- */

static const struct rf_net_credential *rule_of(const struct rf_net *net, const char *name)
{
	for (size_t i = 0; i < net->credential_count; i++)
		if (net->credentials[i].how == RF_NET_CERTIFICATE &&
		    strcmp(net->credentials[i].name, name) == 0)
			return &net->credentials[i];
	return NULL;
}

/* As any credential: where it is bound to, and a rule of the policy lets the box go. */
static bool is_shown(const struct rf_net *net, const struct rf_net_credential *credential,
		     const struct rf_forward_place *place)
{
	struct rf_net_verdict verdict = rf_net_judge_host(net, &place->host, place->port);

	if (net->mode == RF_NET_OPEN || !verdict.is_allowed || verdict.is_reported)
		return false;
	for (size_t i = 0; i < credential->rule_count; i++)
		if (rf_net_rule_has_host(&credential->rules[i], &place->host) &&
		    rf_net_rule_has_port(&credential->rules[i], place->port))
			return true;
	return false;
}

static void tell_shown(struct rf_outlet *outlet, const char *name,
		       const struct rf_forward_place *place)
{
	struct rf_gate_event event = {
		.kind = RF_GATE_CREDENTIAL,
		.verdict = RF_GATE_ALLOWED,
		.host = place->host.text,
		.address = "",
		.port = place->port,
		.method = "",
		.path = "",
		.credential = name,
		.rule = "credentials",
		.reason = "",
		.remedy = "",
	};

	rf_note_tell(outlet->note, &event);
}

static const struct rf_transport_maker *secure(struct rf_outlet *outlet,
					       const struct rf_forward_place *place)
{
	const struct rf_ends *ends = outlet->ends;
	struct rf_tls_client *client = ends->client;

	for (size_t i = 0; i < ends->own_count; i++) {
		const struct rf_net_credential *rule = rule_of(outlet->net, ends->owns[i].name);

		if (!rule || !is_shown(outlet->net, rule, place))
			continue;
		tell_shown(outlet, ends->owns[i].name, place);
		client = ends->owns[i].client;
		break;
	}
	return place->is_http2 ? rf_tls_client_maker2(client) : rf_tls_client_maker(client);
}

static int open_clients(struct rf_ends *ends, const struct rf_gate_open *open,
			const struct rf_tls_client_how *usual, struct rf_err *err)
{
	if (rf_tls_client_new(usual, &ends->client, err) < 0)
		return err->code;
	ends->owns = calloc(open->credential_count + 1, sizeof(*ends->owns));
	if (!ends->owns)
		return rf_fail(err, -ENOMEM, "TLS");
	for (size_t i = 0; i < open->credential_count; i++) {
		const struct rf_gate_credential *one = &open->credentials[i];
		struct rf_tls_client_how how = *usual;
		struct own *own = &ends->owns[ends->own_count];

		if (!rule_of(ends->outlet->net, one->name))
			continue;
		how.certificate_pem = how.key_pem = one->value;
		if (rf_tls_client_new(&how, &own->client, err) < 0) {
			rf_fail_in(err, "credential %s", one->name);
			return rf_fail_hint(err,
					    "its value is PEM: the certificate, those between "
					    "it and its root, and the key, without a password");
		}
		snprintf(own->name, sizeof(own->name), "%s", one->name);
		ends->own_count++;
	}
	return 0;
}

/* All roots besides the system's as one text; NULL if there are none. */
static const char *join_roots(const char *of_policy, struct rf_buf *text)
{
	if (own_roots)
		rf_buf_puts(text, own_roots);
	if (own_roots && *of_policy)
		rf_buf_puts(text, "\n");
	rf_buf_puts(text, of_policy);
	return text->len > 0 ? text->data : NULL;
}

int rf_ends_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
		 struct rf_err *err)
{
	struct rf_tls_client_how client = { .has_system_roots = true, .most_sessions = SESSIONS };
	RF_AUTO_BUF struct rf_buf roots;
	struct rf_tls_server_how server = { .identify = identify, .speaks_http2 = true };
	struct rf_ends *ends;

	rf_buf_init(&roots, ROOTS_MAX + RF_GATE_ROOTS);
	if (!outlet->net->needs_tls)
		return 0;
	client.roots_pem = join_roots(open->roots, &roots);
	if (roots.has_failed)
		return rf_fail(err, -ENOMEM, "roots");
	*own = ends = calloc(1, sizeof(*ends));
	if (!ends)
		return rf_fail(err, -ENOMEM, "TLS");
	ends->outlet = outlet;
	server.data = ends;
	ends->http2 = (struct rf_http2_host){
		.loop = outlet->gateway->loop,
		.deadlines = outlet->gateway->deadlines,
		.limits = &rf_http2_usual,
		.open = open_line,
		.on_closed = on_http2_closed,
	};
	if (rf_ca_new(open->box, LEAVES, &ends->ca, err) < 0 ||
	    rf_tls_server_new(&server, &ends->server, err) < 0 ||
	    open_clients(ends, open, &client, err) < 0 ||
	    rf_ca_pem(ends->ca, &outlet->pem, err) < 0)
		return err->code;
	outlet->ends = ends;
	outlet->accept = accept_tls;
	outlet->secure = secure;
	return 0;
}
