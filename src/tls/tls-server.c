/*
 * Connections that are whom a client asks for: see tls.h.
 *
 * No session is kept and none resumed: a handshake with P-256 costs less than a table of secrets that must be guarded, and a client whose certificate is withdrawn, or not of the
 * authority that counts now, does not go on with what it had shown before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/fd.h"
#include "http/host.h"
#include "tls/pem.h"
#include "tls/tls-inside.h"
#include "tls/tls.h"

struct rf_tls_server {
	SSL_CTX *context;
	struct rf_tls_server_how how;
};

/* Whether the client asks for the name that the connection is for, or for none. */
static bool is_asked_for(const SSL *ssl)
{
	const char *asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct rf_host host;

	if (!asked)
		return true;
	return rf_host_parse((struct rf_span){ asked, strlen(asked) }, &host) == RF_FAULT_NONE &&
	       strcmp(host.text, rf_tls_name(ssl)) == 0;
}

static int on_name(SSL *ssl, int *ret_alert, void *data)
{
	if (is_asked_for(ssl))
		return SSL_TLSEXT_ERR_OK;
	*ret_alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* The certificate for the name.  1 goes on, 0 ends the handshake. */
static int on_certificate(SSL *ssl, void *data)
{
	const struct rf_tls_server *server = data;
	struct rf_tls_identity identity = { 0 };

	if (!is_asked_for(ssl) ||
	    server->how.identify(server->how.data, rf_tls_name(ssl), &identity) < 0)
		return 0;
	return SSL_use_certificate(ssl, identity.certificate) == 1 &&
	       SSL_use_PrivateKey(ssl, identity.key) == 1 &&
	       (!identity.issuer || SSL_add1_chain_cert(ssl, identity.issuer) == 1);
}

static bool is_offered(const unsigned char *offered, unsigned len, const char *protocol)
{
	size_t size = strlen(protocol);

	for (unsigned at = 0; at < len; at += 1u + offered[at])
		if (offered[at] == size && at + 1 + size <= len &&
		    memcmp(offered + at + 1, protocol, size) == 0)
			return true;
	return false;
}

/* What we speak, the best first; a server without HTTP/2 begins with the second. */
static const char *const protocols[] = { "h2", "http/1.1", NULL };

static int on_protocols(SSL *ssl, const unsigned char **ret_chosen, unsigned char *ret_len,
			const unsigned char *offered, unsigned len, void *data)
{
	for (const char *const *at = data; *at; at++)
		if (is_offered(offered, len, *at)) {
			*ret_chosen = (const unsigned char *)*at;
			*ret_len = (unsigned char)strlen(*at);
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int rf_tls_server_new(const struct rf_tls_server_how *how, struct rf_tls_server **ret_server,
		      struct rf_err *err)
{
	struct rf_tls_server *server = calloc(1, sizeof(*server));
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	if (!server || !context) {
		SSL_CTX_free(context);
		free(server);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	server->how = *how;
	server->how.certificate_pem = server->how.key_pem = server->how.clients_pem = NULL;
	server->context = context;
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_security_level(context, 2);
	SSL_CTX_set_options(context,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(context, on_protocols,
				   (void *)(uintptr_t)&protocols[how->speaks_http2 ? 0 : 1]);
	if (how->identify) {
		SSL_CTX_set_tlsext_servername_callback(context, on_name);
		SSL_CTX_set_cert_cb(context, on_certificate, server);
	} else if (rf_pem_identity(context, how->certificate_pem, how->key_pem, err) < 0 ||
		   (how->clients_pem && rf_pem_clients(context, how->clients_pem, err) < 0)) {
		rf_tls_server_free(server);
		return err->code;
	}
	*ret_server = server;
	return 0;
}

void rf_tls_server_free(struct rf_tls_server *server)
{
	if (!server)
		return;
	SSL_CTX_free(server->context);
	free(server);
}

int rf_tls_accept(struct rf_tls_server *server, int *fd, struct rf_span first, const char *name,
		  struct rf_transport *ret_transport, struct rf_err *err)
{
	struct rf_transport transport;

	if (rf_tls_begin(server->context, fd, name, &transport, err) < 0)
		return err->code;
	if (rf_tls_first(&transport, first) < 0) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	SSL_set_accept_state(rf_tls_ssl(&transport));
	*ret_transport = transport;
	return 0;
}

void rf_tls_prepare(void)
{
	OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL);
	SSL_CTX_free(SSL_CTX_new(TLS_server_method())); /* providers come with the first */
}
