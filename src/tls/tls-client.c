/* Connections that verify whom they reach: see tls.h. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/fd.h"
#include "http/host.h"
#include "tls/roots.h"
#include "tls/tls-inside.h"
#include "tls/tls.h"

#define CHAIN 8 /* certificates between a server's and a root, at most */

/* The last session with a name. */
struct kept {
	char name[RF_HOST_TEXT + 1];
	SSL_SESSION *session;
	uint64_t used; /* a count that grows */
};

struct rf_tls_client {
	struct rf_transport_maker maker;  /* first: the maker is the client */
	struct rf_transport_maker maker2; /* of connections that speak HTTP/2 and nothing else */
	SSL_CTX *context;
	bool speaks_http2;
	struct kept *kept;
	size_t most, count;
	uint64_t uses;
};

/* --- sessions --- */

static struct kept *find(struct rf_tls_client *client, const char *name)
{
	for (size_t i = 0; i < client->count; i++)
		if (strcmp(client->kept[i].name, name) == 0)
			return &client->kept[i];
	return NULL;
}

/* A place for a name: a free one, or that which was not used for longest. */
static struct kept *make_place(struct rf_tls_client *client)
{
	struct kept *oldest = &client->kept[0];

	if (client->count < client->most)
		return &client->kept[client->count++];
	for (size_t i = 1; i < client->count; i++)
		if (client->kept[i].used < oldest->used)
			oldest = &client->kept[i];
	return oldest;
}

/* The server offers a session for the next time (takes it when 1 is returned). */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct rf_tls_client *client = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const char *name = rf_tls_name(ssl);
	struct kept *place;

	if (!client || client->most == 0)
		return 0;
	place = find(client, name);
	if (!place)
		place = make_place(client);
	SSL_SESSION_free(place->session);
	snprintf(place->name, sizeof(place->name), "%s", name);
	place->session = session;
	place->used = ++client->uses;
	return 1;
}

/* --- the context --- */

static int take_key(SSL_CTX *context, const struct rf_tls_client_how *how, struct rf_err *err)
{
	BIO *certificates = BIO_new_mem_buf(how->certificate_pem, -1);
	BIO *keys = BIO_new_mem_buf(how->key_pem, -1);
	X509 *certificate = certificates ? PEM_read_bio_X509(certificates, NULL, NULL, NULL) : NULL;
	EVP_PKEY *key = keys ? PEM_read_bio_PrivateKey(keys, NULL, NULL, NULL) : NULL;
	bool fits = certificate && key && SSL_CTX_use_certificate(context, certificate) == 1 &&
		    SSL_CTX_use_PrivateKey(context, key) == 1;
	X509 *next;

	while (fits && (next = PEM_read_bio_X509(certificates, NULL, NULL, NULL)))
		if (SSL_CTX_add0_chain_cert(context, next) != 1) {
			X509_free(next);
			fits = false;
		}
	X509_free(certificate);
	EVP_PKEY_free(key);
	BIO_free(certificates);
	BIO_free(keys);
	ERR_clear_error();
	return fits ? 0 : rf_fail_say(err, -EINVAL, "the client's certificate and key do not fit");
}

static int set_up(struct rf_tls_client *client, const struct rf_tls_client_how *how,
		  struct rf_err *err)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1", one[] = "\x08http/1.1";
	SSL_CTX *context = client->context;
	X509_STORE *store = SSL_CTX_get_cert_store(context);

	SSL_CTX_set_app_data(context, client);
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_security_level(context, 2);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_verify_depth(context, CHAIN);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_session);
	if (how->speaks_http2 ? SSL_CTX_set_alpn_protos(context, both, sizeof(both) - 1)
			      : SSL_CTX_set_alpn_protos(context, one, sizeof(one) - 1))
		return rf_fail(err, -ENOMEM, "TLS");
	if (how->has_system_roots && rf_roots_system(store, err) < 0)
		return err->code;
	if (how->roots_pem && rf_roots_add(store, how->roots_pem, err) < 0)
		return rf_fail_in(err, "roots");
	return how->certificate_pem ? take_key(context, how, err) : 0;
}

static int make(const struct rf_transport_maker *maker, int *fd, const char *name,
		struct rf_transport *ret_transport, struct rf_err *err)
{
	/* Nothing of the client changes but its sessions. */
	struct rf_tls_client *client = (struct rf_tls_client *)(uintptr_t)maker;

	return rf_tls_connect(client, fd, name, ret_transport, err);
}

static int connect_for(struct rf_tls_client *client, int *fd, const char *name, bool is_http2,
		       struct rf_transport *ret_transport, struct rf_err *err);

static int make2(const struct rf_transport_maker *maker, int *fd, const char *name,
		 struct rf_transport *ret_transport, struct rf_err *err)
{
	uintptr_t client = (uintptr_t)maker - offsetof(struct rf_tls_client, maker2);

	return connect_for((struct rf_tls_client *)client, fd, name, true, ret_transport, err);
}

int rf_tls_client_new(const struct rf_tls_client_how *how, struct rf_tls_client **ret_client,
		      struct rf_err *err)
{
	struct rf_tls_client *client = calloc(1, sizeof(*client));

	if (client) {
		client->maker.make = make;
		client->maker2.make = make2;
		client->speaks_http2 = how->speaks_http2;
		client->most = how->most_sessions;
		client->kept = calloc(client->most + 1, sizeof(*client->kept));
		client->context = SSL_CTX_new(TLS_client_method());
	}
	if (!client || !client->kept || !client->context)
		rf_fail(err, -ENOMEM, "TLS");
	else if (set_up(client, how, err) == 0) {
		*ret_client = client;
		return 0;
	}
	rf_tls_client_free(client);
	return err->code;
}

void rf_tls_client_free(struct rf_tls_client *client)
{
	if (!client)
		return;
	for (size_t i = 0; i < client->count; i++)
		SSL_SESSION_free(client->kept[i].session);
	if (client->context)
		SSL_CTX_set_app_data(client->context, NULL); /* connections may hold it */
	SSL_CTX_free(client->context);
	free(client->kept);
	free(client);
}

const struct rf_transport_maker *rf_tls_client_maker(struct rf_tls_client *client)
{
	return &client->maker;
}

const struct rf_transport_maker *rf_tls_client_maker2(struct rf_tls_client *client)
{
	return &client->maker2;
}

/* Whom the other end must prove to be.  A name with a dot at its end, or none, never gets here. */
static bool expect(SSL *ssl, const char *name)
{
	X509_VERIFY_PARAM *expected = SSL_get0_param(ssl);
	struct rf_host host;
	bool is_name;

	X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
							  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (X509_VERIFY_PARAM_set1_ip_asc(expected, name) == 1)
		return true;
	ERR_clear_error();
	is_name = rf_host_parse((struct rf_span){ name, strlen(name) }, &host) == RF_FAULT_NONE &&
		  host.kind == RF_HOST_NAME;
	return is_name && X509_VERIFY_PARAM_set1_host(expected, host.text, 0) == 1 &&
	       SSL_set_tlsext_host_name(ssl, host.text) == 1;
}

static int connect_for(struct rf_tls_client *client, int *fd, const char *name, bool is_http2,
		       struct rf_transport *ret_transport, struct rf_err *err)
{
	static const unsigned char h2[] = "\x02h2";
	struct rf_transport transport;
	struct kept *kept;
	SSL *ssl;

	if (rf_tls_begin(client->context, fd, name, &transport, err) < 0)
		return err->code;
	ssl = rf_tls_ssl(&transport);
	if (!expect(ssl, name)) {
		transport.ops->done(&transport);
		return rf_fail_say(err, -EINVAL, "\"%s\" is no host that could prove who it is",
				   name);
	}
	if (is_http2 && SSL_set_alpn_protos(ssl, h2, sizeof(h2) - 1)) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	kept = is_http2 ? NULL
			: find(client, name); /* what was agreed upon with that is HTTP/1.1 */
	if (kept) {
		SSL_set_session(ssl, kept->session);
		kept->used = ++client->uses;
	}
	rf_tls_connects(&transport, client->speaks_http2, is_http2);
	SSL_set_connect_state(ssl);
	*ret_transport = transport;
	return 0;
}

int rf_tls_connect(struct rf_tls_client *client, int *fd, const char *name,
		   struct rf_transport *ret_transport, struct rf_err *err)
{
	return connect_for(client, fd, name, false, ret_transport, err);
}
