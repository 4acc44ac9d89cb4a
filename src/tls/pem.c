/* Who a server is, from text: see pem.h. */
#include "tls/pem.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#define CHAIN_MOST 16
#define ROOTS_MOST 1024

static int no_password(char *text, int size, int is_writing, void *data)
{
	return -1;
}

static BIO *open_text(const char *text)
{
	size_t len = strlen(text);

	return len < INT_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
}

/* Why nothing more can be read: true if there is nothing but words that are no PEM. */
static bool is_end(void)
{
	unsigned long error = ERR_peek_last_error();
	bool is_so =
		ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;

	ERR_clear_error();
	return is_so;
}

static int refuse(const char *what, const char *why, struct rf_err *err)
{
	ERR_clear_error();
	return rf_fail_say(err, -EINVAL, "%s: %s", what, why);
}

static int read_chain(SSL_CTX *context, BIO *text, struct rf_err *err)
{
	X509 *one = PEM_read_bio_X509(text, NULL, no_password, NULL);
	int ok = one ? SSL_CTX_use_certificate(context, one) : 0;

	X509_free(one);
	if (!ok)
		return refuse("the certificate", "there is none that can be used, as PEM", err);
	for (int i = 0; i < CHAIN_MOST; i++) {
		one = PEM_read_bio_X509(text, NULL, no_password, NULL);
		if (!one)
			return is_end() ? 0
					: refuse("the certificate", "what follows it is none", err);
		if (SSL_CTX_add0_chain_cert(context, one) != 1) {
			X509_free(one);
			return refuse("the certificate", "what follows it is no chain", err);
		}
	}
	return refuse("the certificate", "too many follow it", err);
}

static int read_key(SSL_CTX *context, BIO *text, struct rf_err *err)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, no_password, NULL);
	bool is_there = key, is_used = key && SSL_CTX_use_PrivateKey(context, key) == 1;

	EVP_PKEY_free(key);
	if (!is_there)
		return refuse("the key", "there is none without a password, as PEM", err);
	if (!is_used || SSL_CTX_check_private_key(context) != 1)
		return refuse("the key", "it is not the certificate's", err);
	return 0;
}

int rf_pem_identity(struct ssl_ctx_st *context, const char *certificate, const char *key,
		    struct rf_err *err)
{
	BIO *chain = open_text(certificate), *secret = open_text(key);
	int code = chain && secret ? 0 : rf_fail(err, -ENOMEM, "TLS");

	if (code == 0)
		code = read_chain(context, chain, err);
	if (code == 0)
		code = read_key(context, secret, err);
	BIO_free(chain);
	BIO_free(secret);
	return code;
}

/* Clients are told which they are, so that they can choose what to show. */
static int add_root(SSL_CTX *context, X509_STORE *store, X509 *root)
{
	return X509_STORE_add_cert(store, root) == 1 && SSL_CTX_add_client_CA(context, root) == 1;
}

int rf_pem_clients(struct ssl_ctx_st *context, const char *roots, struct rf_err *err)
{
	X509_STORE *store = X509_STORE_new();
	BIO *text = open_text(roots);
	int code = store && text ? 0 : rf_fail(err, -ENOMEM, "TLS"), count = 0;
	X509 *root = NULL;

	while (code == 0 && count <= ROOTS_MOST &&
	       (root = PEM_read_bio_X509(text, NULL, no_password, NULL))) {
		if (!add_root(context, store, root))
			code = refuse("the clients' authority", "a certificate can't be used", err);
		X509_free(root);
		count++;
	}
	if (code == 0 && (!is_end() || count == 0 || count > ROOTS_MOST))
		code = refuse("the clients' authority", "there is no certificate of one, as PEM",
			      err);
	BIO_free(text);
	if (code < 0) {
		X509_STORE_free(store);
		return code;
	}
	SSL_CTX_set_cert_store(context, store); /* takes it */
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_verify_depth(context, 8);
	return 0;
}
