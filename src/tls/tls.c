/*
 * TLS as a transport: see tls.h.
 *
 * OpenSSL reads and writes through a BIO of ours, for three reasons: bytes that somebody has read before come first, a closed connection raises
 * no signal, and the errno of a failed call is kept where nothing overwrites it.
 *
 * During the handshake OpenSSL reads no further than a record, so that a write, which drives it too, never swallows data that a reader would
 * then wait for in vain.  Behind it a read takes what is there.
 */
#include "tls/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/fd.h"
#include "base/loop.h"
#include "http/host.h"
#include "tls/tls-inside.h"

#define STORY 160 /* bytes of what OpenSSL says */

struct tls {
	SSL *ssl;
	int fd;
	char *first; /* bytes that were read by somebody else */
	size_t first_at, first_len;
	int io_errno;   /* of the last call that failed */
	int code;       /* why nothing more can be done, or 0 */
	bool is_shaken; /* the handshake is done */
	bool is_ended;  /* the other end has said farewell */
	bool is_client, speaks_http2, is_http2_only;
	char name[RF_HOST_TEXT + 1];
	char story[STORY];
};

/* --- the BIO --- */

static int bio_read(BIO *bio, char *data, size_t size, size_t *ret_len)
{
	struct tls *tls = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (tls->first_at < tls->first_len) {
		size_t left = tls->first_len - tls->first_at;

		*ret_len = size < left ? size : left;
		memcpy(data, tls->first + tls->first_at, *ret_len);
		tls->first_at += *ret_len;
		return 1;
	}
	do
		n = recv(tls->fd, data, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*ret_len = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return 1;
	if (n == 0)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	else if (errno == EAGAIN || errno == ENOTCONN) /* not connected: not yet */
		BIO_set_retry_read(bio);
	else
		tls->io_errno = errno;
	return 0;
}

static int bio_write(BIO *bio, const char *data, size_t len, size_t *ret_len)
{
	struct tls *tls = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	do
		n = send(tls->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*ret_len = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return 1;
	if (errno == EAGAIN || errno == ENOTCONN)
		BIO_set_retry_write(bio);
	else
		tls->io_errno = errno;
	return 0;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
	switch (what) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	default:
		return 0;
	}
}

static BIO_METHOD *bio_method(void)
{
	static BIO_METHOD *method;

	if (method)
		return method;
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
	if (!method)
		return NULL;
	BIO_meth_set_read_ex(method, bio_read);
	BIO_meth_set_write_ex(method, bio_write);
	BIO_meth_set_ctrl(method, bio_ctrl);
	return method;
}

/* --- what went wrong --- */

static int keep(struct tls *tls, int code, const char *story)
{
	tls->code = code;
	snprintf(tls->story, sizeof(tls->story), "%s", story);
	return code;
}

/* OpenSSL's last word, without its code and library. */
static int judge_protocol(struct tls *tls)
{
	unsigned long error = ERR_peek_last_error();
	long verified = SSL_get_verify_result(tls->ssl);
	const char *words = ERR_reason_error_string(error);

	if (tls->is_client && verified != X509_V_OK &&
	    ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return keep(tls, -EKEYREJECTED, X509_verify_cert_error_string(verified));
	if (ERR_GET_LIB(error) == ERR_LIB_SSL &&
	    ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return keep(tls, -ECONNRESET,
			    tls->is_shaken ? "the connection was cut: it ended without a farewell"
					   : "the connection ended in the handshake");
	return keep(tls, -EPROTO, words ? words : "a protocol error");
}

/* What became of an operation that did not succeed. */
static int judge(struct tls *tls, int result, int *ret_needs)
{
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*ret_needs = RF_LOOP_READ;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*ret_needs = RF_LOOP_WRITE;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		tls->is_ended = true;
		return 0;
	case SSL_ERROR_SYSCALL:
		tls->code = tls->io_errno ? -tls->io_errno : -ECONNRESET;
		return tls->code;
	default:
		return judge_protocol(tls);
	}
}

/* What OpenSSL leaves to its user to look at. */
static int check_agreed(struct tls *tls)
{
	const unsigned char *chosen;
	unsigned len;

	SSL_get0_alpn_selected(tls->ssl, &chosen, &len);
	if (tls->is_http2_only && (len != 2 || memcmp(chosen, "h2", 2) != 0))
		return keep(tls, -EPROTO, "the server speaks no HTTP/2, and nothing else will do");
	if (!tls->is_client || len == 0 || (len == 8 && memcmp(chosen, "http/1.1", 8) == 0) ||
	    (tls->speaks_http2 && len == 2 && memcmp(chosen, "h2", 2) == 0))
		return 0;
	return keep(tls, -EPROTO, "the server chose a protocol that was not offered");
}

int rf_tls_handshake(struct rf_transport *transport)
{
	struct tls *tls = transport->data;
	int result, code;

	if (tls->code)
		return tls->code;
	if (tls->is_shaken)
		return 0;
	ERR_clear_error();
	result = SSL_do_handshake(tls->ssl);
	if (result != 1) {
		code = judge(tls, result, &transport->read_needs);
		transport->write_needs = transport->read_needs;
		return code ? code
			    : keep(tls, -ECONNRESET, "the connection ended in the handshake");
	}
	transport->read_needs = transport->write_needs = 0;
	if (check_agreed(tls) < 0)
		return tls->code;
	SSL_set_read_ahead(tls->ssl, 1);
	tls->is_shaken = true;
	return 0;
}

/* --- the transport --- */

static ssize_t tls_read(struct rf_transport *transport, void *data, size_t size)
{
	struct tls *tls = transport->data;
	int code = rf_tls_handshake(transport), result;
	size_t len;

	if (code < 0)
		return code;
	if (tls->is_ended)
		return 0;
	ERR_clear_error();
	result = SSL_read_ex(tls->ssl, data, size, &len);
	if (result != 1)
		return judge(tls, result, &transport->read_needs);
	transport->read_needs = 0;
	return (ssize_t)len;
}

static ssize_t tls_write(struct rf_transport *transport, const void *data, size_t len)
{
	struct tls *tls = transport->data;
	int code = rf_tls_handshake(transport), result;
	size_t written;

	if (code < 0)
		return code;
	ERR_clear_error();
	result = SSL_write_ex(tls->ssl, data, len, &written);
	if (result != 1) {
		code = judge(tls, result, &transport->write_needs);
		return code ? code : -EPIPE;
	}
	transport->write_needs = 0;
	return (ssize_t)written;
}

static void tls_shut(struct rf_transport *transport)
{
	struct tls *tls = transport->data;

	ERR_clear_error();
	if (!tls->code && tls->is_shaken)
		SSL_shutdown(tls->ssl);
	shutdown(transport->fd, SHUT_WR);
}

static void tls_done(struct rf_transport *transport)
{
	struct tls *tls = transport->data;

	if (tls) {
		/* Says nothing, and so takes no session back that the client may use again. */
		SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
		SSL_free(tls->ssl);
		free(tls->first);
		free(tls);
	}
	transport->data = NULL;
	rf_fd_done(&transport->fd);
}

static bool tls_explain(const struct rf_transport *transport, struct rf_err *err)
{
	const struct tls *tls = transport->data;

	if (!tls->code || !tls->story[0])
		return false;
	rf_fail_say(err, tls->code, "TLS with %s: %s", tls->name, tls->story);
	return true;
}

static const struct rf_transport_ops ops = {
	.read = tls_read,
	.write = tls_write,
	.shut = tls_shut,
	.done = tls_done,
	.explain = tls_explain,
};

int rf_tls_begin(struct ssl_ctx_st *context, int *fd, const char *name,
		 struct rf_transport *ret_transport, struct rf_err *err)
{
	struct rf_transport transport = { .ops = &ops, .fd = rf_fd_take(fd), .is_deep = true };
	struct tls *tls = calloc(1, sizeof(*tls));
	BIO *bio = NULL;

	if (tls && bio_method())
		bio = BIO_new(bio_method());
	if (bio)
		tls->ssl = SSL_new(context);
	if (!tls || !tls->ssl || strlen(name) > RF_HOST_TEXT) {
		BIO_free(bio);
		free(tls);
		rf_fd_done(&transport.fd);
		return rf_fail(err, -ENOMEM, "TLS");
	}
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_app_data(tls->ssl, tls);
	tls->fd = transport.fd;
	snprintf(tls->name, sizeof(tls->name), "%s", name);
	transport.data = tls;
	*ret_transport = transport;
	return 0;
}

struct ssl_st *rf_tls_ssl(const struct rf_transport *transport)
{
	const struct tls *tls = transport->data;

	return tls->ssl;
}

const char *rf_tls_name(const struct ssl_st *ssl)
{
	const struct tls *tls = SSL_get_app_data(ssl);

	return tls->name;
}

int rf_tls_first(struct rf_transport *transport, struct rf_span first)
{
	struct tls *tls = transport->data;

	if (first.len == 0)
		return 0;
	tls->first = malloc(first.len);
	if (!tls->first)
		return -ENOMEM;
	memcpy(tls->first, first.at, first.len);
	tls->first_len = first.len;
	return 0;
}

void rf_tls_connects(struct rf_transport *transport, bool speaks_http2, bool is_http2_only)
{
	struct tls *tls = transport->data;

	tls->is_client = true;
	tls->speaks_http2 = speaks_http2 || is_http2_only;
	tls->is_http2_only = is_http2_only;
}

enum rf_tls_protocol rf_tls_protocol(const struct rf_transport *transport)
{
	const struct tls *tls = transport->data;
	const unsigned char *chosen;
	unsigned len;

	SSL_get0_alpn_selected(tls->ssl, &chosen, &len);
	return len == 2 && memcmp(chosen, "h2", 2) == 0 ? RF_TLS_HTTP2 : RF_TLS_HTTP1;
}

bool rf_tls_is_resumed(const struct rf_transport *transport)
{
	const struct tls *tls = transport->data;

	return SSL_session_reused(tls->ssl);
}
