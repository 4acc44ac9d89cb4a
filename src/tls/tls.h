/*
 * TLS as a transport: what HTTP speaks through without knowing it.
 *
 * Never waits: the handshake happens in the first reads and writes, or in rf_tls_handshake(), and what it must wait for stands in the transport
 * (read_needs, write_needs).  TLS 1.2 and 1.3, no renegotiation, no compression.  An end without a farewell (close_notify) is an error,
 * -ECONNRESET, so nobody takes a part for the whole.
 *
 * A client's other end is always verified: a chain to a root, a time that is now, a purpose that is a server's, and the name in
 * subjectAltName; a common name counts for nothing.  There is no way to turn that off.
 *
 * Errors: -EKEYREJECTED for a certificate that does not do, -ECONNRESET for an end that came too early, -EPROTO for the rest;
 * the transport's explain() has the story.
 */
#ifndef RF_TLS_TLS_H
#define RF_TLS_TLS_H

#include <stdbool.h>

#include "http/span.h"
#include "http/transport.h"

struct x509_st;
struct evp_pkey_st;

enum rf_tls_protocol {
	RF_TLS_HTTP1, /* also if none was agreed upon */
	RF_TLS_HTTP2
};

/* --- a client --- */

struct rf_tls_client;

struct rf_tls_client_how {
	bool has_system_roots;
	const char *roots_pem;                 /* further roots, or NULL */
	const char *certificate_pem, *key_pem; /* who we are, or NULL */
	bool speaks_http2;                     /* offers h2 beside http/1.1 */
	size_t most_sessions; /* names whose last session is kept for the next handshake */
};

/* Borrows `how` for the call alone. */
int rf_tls_client_new(const struct rf_tls_client_how *how, struct rf_tls_client **ret_client,
		      struct rf_err *err);

/* Connections that were made with it may live on. */
void rf_tls_client_free(struct rf_tls_client *client);

/*
 * Speaks TLS on a socket that connects or is connected, to the host `name` (canonical: a name or an address; borrows).  Takes `*fd`, also on
 * failure.
 */
int rf_tls_connect(struct rf_tls_client *client, int *fd, const char *name,
		   struct rf_transport *ret_transport, struct rf_err *err);

/* The same for who makes connections without knowing how (borrows the client). */
const struct rf_transport_maker *rf_tls_client_maker(struct rf_tls_client *client);

/* The same for connections on which HTTP/2 is offered and nothing else. */
const struct rf_transport_maker *rf_tls_client_maker2(struct rf_tls_client *client);

/* --- a server --- */

struct rf_tls_server;

/* Who a server is to a client that asks for `name`; what is given is the caller's still (borrows for as long as the handshake lasts). */
struct rf_tls_identity {
	struct x509_st *certificate;
	struct evp_pkey_st *key;
	struct x509_st *issuer; /* sent along, or NULL */
};

struct rf_tls_server_how {
	/* 0, or a negative errno: the client is told that the name is not known.  `name` is canonical and never NULL. */
	int (*identify)(void *data, const char *name, struct rf_tls_identity *ret_identity);
	void *data;
	bool speaks_http2;
	/* Or it is always the same, whatever name a client asks for: its certificate, those that lead to a root behind it, and its key. */
	const char *certificate_pem, *key_pem;
	const char *clients_pem; /* roots that a client must have a certificate of; or NULL */
};

/*
 * Borrows `how` for the call alone; what is in `how->data` for as long as the server lives.  Connections of one that has one identity may outlive it.  -EINVAL for
 * what is no certificate or key, or where they do not belong together.
 */
int rf_tls_server_new(const struct rf_tls_server_how *how, struct rf_tls_server **ret_server,
		      struct rf_err *err);
void rf_tls_server_free(struct rf_tls_server *server);

/*
 * Speaks TLS on a socket that was accepted.  `first` are bytes that were read from it already (copies); `name` is the only one that the client may ask
 * for (borrows).  One that asks for none gets it too.  Takes `*fd`, also on failure.
 */
int rf_tls_accept(struct rf_tls_server *server, int *fd, struct rf_span first, const char *name,
		  struct rf_transport *ret_transport, struct rf_err *err);

/* Reads what OpenSSL would read later, when there may be no files any more. */
void rf_tls_prepare(void);

/* --- both; only for transports that were made here --- */

/* Goes on with the handshake.  0 when it is done, -EAGAIN: read_needs says what to wait for; or why it failed. */
int rf_tls_handshake(struct rf_transport *transport);

/* What was agreed upon; the handshake is done. */
enum rf_tls_protocol rf_tls_protocol(const struct rf_transport *transport);

/* Whether the handshake made use of an earlier one, and what was verified then. */
bool rf_tls_is_resumed(const struct rf_transport *transport);

#endif
