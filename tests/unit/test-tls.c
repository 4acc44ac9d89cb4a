/* TLS as a transport: src/tls. */
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "base/fd.h"
#include "harness.h"
#include "http/stream.h"
#include "pki.h"
#include "tls/tls-inside.h"

#define NAME "api.example"

static struct rf_pki root, leaf, issuer;
static struct rf_tls_client *client;
static struct rf_tls_server *server;
static struct rf_transport near_end, far_end; /* the client's, the server's */

static int identify(void *data, const char *name, struct rf_tls_identity *ret_identity)
{
	(void)data;
	if (strcmp(name, "unknown.example") == 0)
		return -ENOENT;
	*ret_identity = (struct rf_tls_identity){ leaf.certificate, leaf.key, issuer.certificate };
	return 0;
}

static void make_root(void)
{
	rf_pki_make(&(struct rf_pki_how){ .name = "Test root", .is_ca = 1 }, NULL, &root);
}

static void make_client(const struct rf_tls_client_how *how)
{
	struct rf_err err = RF_ERR_INIT;
	char *pem = rf_pki_pem(&root);
	struct rf_tls_client_how with_root = *how;

	if (!with_root.roots_pem)
		with_root.roots_pem = pem;
	RF_REQUIRE(rf_tls_client_new(&with_root, &client, &err) == 0, "%s", err.msg);
	free(pem);
}

static void make_server(bool speaks_http2)
{
	struct rf_err err = RF_ERR_INIT;
	const struct rf_tls_server_how how = { .identify = identify, .speaks_http2 = speaks_http2 };

	RF_REQUIRE(rf_tls_server_new(&how, &server, &err) == 0, "%s", err.msg);
}

/* Both ends on one pair of sockets. */
static void join(const char *asked, const char *served, int near_fd, int far_fd)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_tls_connect(client, &near_fd, asked, &near_end, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_tls_accept(server, &far_fd, RF_SPAN(""), served, &far_end, &err) == 0, "%s",
		   err.msg);
}

static void join_pair(const char *asked, const char *served)
{
	int fds[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0,
		   "no sockets");
	join(asked, served, fds[0], fds[1]);
}

static void part(void)
{
	near_end.ops->done(&near_end);
	far_end.ops->done(&far_end);
}

static void end_all(void)
{
	rf_tls_client_free(client);
	rf_tls_server_free(server);
	rf_pki_done(&root);
	rf_pki_done(&leaf);
	rf_pki_done(&issuer);
}

/* Lets both go on until neither waits for the other.  What the client's came to. */
static int shake(int *ret_far)
{
	int near_code = -EAGAIN, far_code = -EAGAIN;

	for (int i = 0; i < 50 && (near_code == -EAGAIN || far_code == -EAGAIN); i++) {
		near_code = rf_tls_handshake(&near_end);
		far_code = rf_tls_handshake(&far_end);
		if (near_code != 0 && near_code != -EAGAIN)
			break;
	}
	if (ret_far)
		*ret_far = far_code;
	return near_code;
}

static void make_leaf(const char *alt)
{
	rf_pki_make(&(struct rf_pki_how){ .name = NAME, .alt = alt, .usage = "serverAuth" }, &root,
		    &leaf);
}

RF_TEST(bytes_go_both_ways_and_a_farewell_is_an_end)
{
	char data[16];

	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair(NAME, NAME);
	/* Nobody calls rf_tls_handshake(): reads and writes do it. */
	RF_CHECK(near_end.ops->write(&near_end, "ask", 3) == -EAGAIN, "sent before the handshake");
	RF_CHECK(near_end.write_needs == RF_LOOP_READ, "waits for %d", near_end.write_needs);
	RF_CHECK(far_end.ops->read(&far_end, data, sizeof(data)) == -EAGAIN, "what came?");
	RF_CHECK(near_end.ops->write(&near_end, "ask", 3) == 3, "not sent");
	RF_CHECK(far_end.ops->read(&far_end, data, sizeof(data)) == 3 && !memcmp(data, "ask", 3),
		 "not received");
	RF_CHECK(far_end.ops->write(&far_end, "answer", 6) == 6, "not answered");
	far_end.ops->shut(&far_end);
	RF_CHECK(near_end.ops->read(&near_end, data, 4) == 4 && !memcmp(data, "answ", 4), "head");
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == 2, "the rest");
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == 0, "no end");
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == 0, "an end is one for good");
	part();
	end_all();
}

RF_TEST(an_end_without_a_farewell_is_a_cut)
{
	struct rf_err err = RF_ERR_INIT;
	char data[16];

	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair(NAME, NAME);
	RF_REQUIRE(shake(NULL) == 0, "no handshake");
	RF_CHECK(far_end.ops->write(&far_end, "half", 4) == 4, "not sent");
	far_end.ops->done(&far_end);
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == 4, "what was sent");
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == -ECONNRESET, "not cut");
	RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == -ECONNRESET, "forgotten");
	RF_CHECK(near_end.ops->explain(&near_end, &err) && strstr(err.msg, "farewell"), "%s",
		 err.msg);
	near_end.ops->done(&near_end);
	end_all();
}

/* Whether a client of `asked` takes the leaf, and why not. */
static int try_leaf(const char *asked, struct rf_err *err)
{
	int code;

	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair(asked, asked);
	code = shake(NULL);
	*err = RF_ERR_INIT;
	if (code < 0)
		near_end.ops->explain(&near_end, err);
	part();
	rf_tls_client_free(client);
	rf_tls_server_free(server);
	client = NULL;
	server = NULL;
	return code;
}

RF_TEST(only_a_certificate_that_proves_the_name_is_taken)
{
	const int day = 86400;
	/* clang-format off */
	const struct { const char *what; struct rf_pki_how how; const char *asked; const char *story; } cases[] = {
		{ "good",              { .name = "x", .alt = "DNS:" NAME, .usage = "serverAuth" }, NAME, NULL },
		{ "no usage at all",   { .name = "x", .alt = "DNS:" NAME }, NAME, NULL },
		{ "a wildcard",        { .name = "x", .alt = "DNS:*.example.org" }, "api.example.org", NULL },
		{ "an address",        { .name = "x", .alt = "IP:192.0.2.7" }, "192.0.2.7", NULL },
		{ "an address of six", { .name = "x", .alt = "IP:2001:db8::7" }, "2001:db8::7", NULL },
		{ "wrong name",        { .name = NAME, .alt = "DNS:other.example" }, NAME, "ostname mismatch" },
		{ "wrong address",     { .name = NAME, .alt = "IP:192.0.2.8" }, "192.0.2.7", "IP address mismatch" },
		{ "address as a name", { .name = NAME, .alt = "DNS:192.0.2.7" }, "192.0.2.7", "IP address mismatch" },
		{ "common name alone", { .name = NAME }, NAME, "ostname mismatch" },
		{ "common name beside an address", { .name = NAME, .alt = "IP:192.0.2.7" }, NAME, "ostname mismatch" },
		{ "partial wildcard",  { .name = "x", .alt = "DNS:a*.example.org" }, "api.example.org", "ostname mismatch" },
		{ "wildcard too deep", { .name = "x", .alt = "DNS:*.example.org" }, "a.b.example.org", "ostname mismatch" },
		{ "wildcard of the apex", { .name = "x", .alt = "DNS:*.example.org" }, "example.org", "ostname mismatch" },
		{ "a NUL in the name", { .name = "x", .alt = "DNS:" NAME "\\0.evil.example" }, NAME, "ostname mismatch" },
		{ "expired",           { .name = "x", .alt = "DNS:" NAME, .from_s = -2 * day, .until_s = -day }, NAME, "expired" },
		{ "not yet valid",     { .name = "x", .alt = "DNS:" NAME, .from_s = day, .until_s = 2 * day }, NAME, "not yet valid" },
		{ "for clients",       { .name = "x", .alt = "DNS:" NAME, .usage = "clientAuth" }, NAME, "purpose" },
		{ "for mail",          { .name = "x", .alt = "DNS:" NAME, .usage = "emailProtection" }, NAME, "purpose" },
		{ "a weak key",        { .name = "x", .alt = "DNS:" NAME, .rsa_bits = 1024 }, NAME, "" },
	};
	/* clang-format on */

	make_root();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err;
		int code;

		rf_pki_make(&cases[i].how, &root, &leaf);
		code = try_leaf(cases[i].asked, &err);
		if (!cases[i].story)
			RF_CHECK(code == 0, "%s: %d %s", cases[i].what, code, err.msg);
		else if (cases[i].story[0])
			RF_CHECK(code == -EKEYREJECTED && strstr(err.msg, cases[i].story),
				 "%s: %d %s", cases[i].what, code, err.msg);
		else
			RF_CHECK(code < 0 && code != -EAGAIN, "%s: %d", cases[i].what, code);
		rf_pki_done(&leaf);
	}
	rf_pki_done(&root);
}

RF_TEST(only_a_chain_to_a_root_of_ours_is_taken)
{
	struct rf_pki other, none = { 0 };
	struct rf_err err;
	const struct rf_pki_how good = { .name = "x", .alt = "DNS:" NAME };

	make_root();
	rf_pki_make(&good, NULL, &leaf);
	RF_CHECK(try_leaf(NAME, &err) == -EKEYREJECTED && strstr(err.msg, "self"), "%s", err.msg);
	rf_pki_done(&leaf);

	rf_pki_make(&(struct rf_pki_how){ .name = "Test root", .is_ca = 1 }, NULL, &other);
	rf_pki_make(&good, &other, &leaf);
	RF_CHECK(try_leaf(NAME, &err) == -EKEYREJECTED, "a namesake of our root: %s", err.msg);
	rf_pki_done(&leaf);
	rf_pki_done(&other);

	rf_pki_make(&(struct rf_pki_how){ .name = "between", .is_ca = 1 }, &root, &issuer);
	rf_pki_make(&good, &issuer, &leaf);
	RF_CHECK(try_leaf(NAME, &err) == 0, "a chain of three: %s", err.msg);
	rf_pki_done(&leaf);

	other = issuer; /* signed by one that may not sign */
	issuer = none;
	rf_pki_done(&other);
	rf_pki_make(&(struct rf_pki_how){ .name = "no CA", .alt = "DNS:a.example" }, &root,
		    &issuer);
	rf_pki_make(&good, &issuer, &leaf);
	RF_CHECK(try_leaf(NAME, &err) == -EKEYREJECTED, "an issuer that is none: %s", err.msg);
	rf_pki_done(&issuer);
	rf_pki_done(&leaf);

	rf_pki_make(&(struct rf_pki_how){ .name = "bound",
					  .is_ca = 1,
					  .extra = "critical,permitted;DNS:other.example" },
		    &root, &issuer);
	rf_pki_make(&good, &issuer, &leaf);
	RF_CHECK(try_leaf(NAME, &err) == -EKEYREJECTED && strstr(err.msg, "subtree"), "%s",
		 err.msg);
	rf_pki_done(&issuer);
	rf_pki_done(&leaf);
	rf_pki_done(&root);
}

RF_TEST(names_that_prove_nothing_are_refused_before_a_byte_is_sent)
{
	static const char *const names[] = { "",          ".", "a b",    "a\nb",
					     "*.example", "-", "0x7f.1", "a..b" };
	struct rf_err err = RF_ERR_INIT;

	make_root();
	make_client(&(struct rf_tls_client_how){ 0 });
	for (size_t i = 0; i < RF_LEN(names); i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		RF_CHECK(rf_tls_connect(client, &fd, names[i], &near_end, &err) < 0, "\"%s\"",
			 names[i]);
		RF_CHECK(fd == -1, "not taken");
	}
	end_all();
}

RF_TEST(a_server_is_only_whom_it_was_made_for)
{
	int far;

	make_root();
	make_leaf("DNS:" NAME ",DNS:other.example,DNS:unknown.example");
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair("other.example", NAME);
	RF_CHECK(shake(&far) == -EPROTO && far == -EPROTO, "another name: %d", far);
	part();
	join_pair("unknown.example", "unknown.example");
	RF_CHECK(shake(&far) == -EPROTO && far == -EPROTO, "an unknown name: %d", far);
	part();
	end_all();
}

RF_TEST(the_best_protocol_that_both_speak_is_agreed_upon)
{
	static const struct {
		bool near, far;
		enum rf_tls_protocol got;
	} cases[] = {
		{ false, false, RF_TLS_HTTP1 },
		{ true, false, RF_TLS_HTTP1 },
		{ false, true, RF_TLS_HTTP1 },
		{ true, true, RF_TLS_HTTP2 },
	};

	make_root();
	make_leaf("DNS:" NAME);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		make_client(&(struct rf_tls_client_how){ .speaks_http2 = cases[i].near });
		make_server(cases[i].far);
		join_pair(NAME, NAME);
		RF_CHECK(shake(NULL) == 0, "no handshake");
		RF_CHECK(rf_tls_protocol(&near_end) == cases[i].got &&
				 rf_tls_protocol(&far_end) == cases[i].got,
			 "case %zu", i);
		part();
		rf_tls_client_free(client);
		rf_tls_server_free(server);
	}
	client = NULL;
	server = NULL;
	end_all();
}

RF_TEST(old_versions_are_not_spoken)
{
	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair(NAME, NAME);
	SSL_set_security_level(rf_tls_ssl(&near_end), 0);
	SSL_set_min_proto_version(rf_tls_ssl(&near_end), TLS1_VERSION);
	SSL_set_max_proto_version(rf_tls_ssl(&near_end), TLS1_1_VERSION);
	RF_CHECK(shake(NULL) < 0, "a server that speaks TLS 1.1");
	part();
	join_pair(NAME, NAME);
	SSL_set_security_level(rf_tls_ssl(&far_end), 0);
	SSL_set_min_proto_version(rf_tls_ssl(&far_end), TLS1_VERSION);
	SSL_set_max_proto_version(rf_tls_ssl(&far_end), TLS1_1_VERSION);
	RF_CHECK(shake(NULL) < 0, "a client that speaks TLS 1.1");
	part();
	end_all();
}

RF_TEST(nothing_is_negotiated_twice)
{
	char data[64];

	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	join_pair(NAME, NAME);
	SSL_set_max_proto_version(rf_tls_ssl(&near_end), TLS1_2_VERSION);
	RF_REQUIRE(shake(NULL) == 0, "no handshake");
	SSL_clear_options(rf_tls_ssl(&near_end), SSL_OP_NO_RENEGOTIATION);
	RF_REQUIRE(SSL_renegotiate(rf_tls_ssl(&near_end)) == 1, "can't ask");
	SSL_do_handshake(rf_tls_ssl(&near_end));
	RF_CHECK(far_end.ops->read(&far_end, data, sizeof(data)) == -EAGAIN, "told of it");
	RF_CHECK(SSL_do_handshake(rf_tls_ssl(&near_end)) != 1, "negotiated again");
	part();
	end_all();
}

RF_TEST(a_session_is_used_for_the_next_handshake_with_the_same_name_alone)
{
	SSL_CTX *other = SSL_CTX_new(TLS_server_method());
	struct rf_err err = RF_ERR_INIT;
	static const struct {
		const char *name;
		bool is_resumed;
	} turns[] = {
		{ NAME, false },       { NAME, true },         { "b.example", false },
		{ "b.example", true }, { "c.example", false }, /* two are kept: the first is gone */
		{ NAME, false },
	};

	make_root();
	make_leaf("DNS:" NAME ",DNS:b.example,DNS:c.example");
	make_client(&(struct rf_tls_client_how){ .most_sessions = 2 });
	SSL_CTX_use_certificate(other, leaf.certificate);
	SSL_CTX_use_PrivateKey(other, leaf.key);
	for (size_t i = 0; i < RF_LEN(turns); i++) {
		char data[8];
		int fds[2];

		RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				      fds) == 0,
			   "no sockets");
		RF_REQUIRE(rf_tls_begin(other, &fds[1], turns[i].name, &far_end, &err) == 0, "%s",
			   err.msg);
		SSL_set_accept_state(rf_tls_ssl(&far_end));
		RF_REQUIRE(rf_tls_connect(client, &fds[0], turns[i].name, &near_end, &err) == 0,
			   "%s", err.msg);
		RF_REQUIRE(shake(NULL) == 0, "no handshake");
		RF_CHECK(rf_tls_is_resumed(&near_end) == turns[i].is_resumed, "turn %zu", i);
		far_end.ops->write(&far_end, "x", 1);
		RF_CHECK(near_end.ops->read(&near_end, data, sizeof(data)) == 1, "tickets");
		part();
	}
	SSL_CTX_free(other);
	end_all();
}

RF_TEST(a_client_can_prove_who_it_is)
{
	struct rf_pki self;
	char *certificate, *key, data[8];

	make_root();
	make_leaf("DNS:" NAME);
	rf_pki_make(&(struct rf_pki_how){ .name = "client", .usage = "clientAuth" }, &root, &self);
	certificate = rf_pki_pem(&self);
	key = rf_pki_key_pem(&self);
	for (int has_key = 0; has_key < 2; has_key++) {
		make_client(&(struct rf_tls_client_how){
			.certificate_pem = has_key ? certificate : NULL, .key_pem = key });
		make_server(false);
		join_pair(NAME, NAME);
		SSL_set_verify(rf_tls_ssl(&far_end),
			       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		X509_STORE_add_cert(SSL_CTX_get_cert_store(SSL_get_SSL_CTX(rf_tls_ssl(&far_end))),
				    root.certificate);
		shake(NULL);
		near_end.ops->write(&near_end, "x", 1);
		RF_CHECK((far_end.ops->read(&far_end, data, sizeof(data)) == 1) == (bool)has_key,
			 "with a key: %d", has_key);
		part();
		rf_tls_client_free(client);
		rf_tls_server_free(server);
	}
	client = NULL;
	server = NULL;
	free(certificate);
	free(key);
	rf_pki_done(&self);
	end_all();
}

RF_TEST(what_is_no_tls_is_an_error)
{
	static const char *const texts[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x16\x03\x01\xff\xff\x01\x00\x00",
		"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
		"\x15\x03\x03\x00\x02\x02\x28",
	};

	make_root();
	make_leaf("DNS:" NAME);
	make_server(false);
	for (size_t i = 0; i < RF_LEN(texts); i++) {
		struct rf_err err = RF_ERR_INIT;
		int fds[2], code;

		RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				      fds) == 0,
			   "no sockets");
		/* The first half was read by somebody else. */
		RF_REQUIRE(rf_tls_accept(server, &fds[1], (struct rf_span){ texts[i], 3 }, NAME,
					 &far_end, &err) == 0,
			   "%s", err.msg);
		RF_REQUIRE(send(fds[0], texts[i] + 3, 5, 0) == 5, "can't send");
		close(fds[0]);
		code = rf_tls_handshake(&far_end);
		RF_CHECK(code == -EPROTO || code == -ECONNRESET, "text %zu: %d", i, code);
		RF_CHECK(far_end.ops->explain(&far_end, &err), "no story");
		far_end.ops->done(&far_end);
	}
	end_all();
}

/* --- on streams --- */

static struct rf_loop *loop;
static struct rf_stream near_stream, far_stream;
static size_t left_to_send[2], left_to_get[2];
static int relay[2][2]; /* between two pairs */
static size_t relay_piece, total_bytes;

/* What the n-th byte of a direction is. */
static unsigned char byte_at(size_t side, size_t n)
{
	return (unsigned char)(n * 31 + n / 251 + side);
}

/* Sends and takes what it can, in odd pieces. */
static void work(struct rf_stream *stream, size_t side, size_t total)
{
	ssize_t n;

	for (int i = 0; i < 3; i++) {
		char data[5000];
		size_t len = left_to_send[side] < sizeof(data) ? left_to_send[side] : sizeof(data);

		for (size_t at = 0; at < len; at++)
			data[at] = (char)byte_at(side, total - left_to_send[side] + at);
		if (len == 0 || rf_stream_write(stream, (struct rf_span){ data, len }) < 0)
			break;
		left_to_send[side] -= len;
	}
	n = rf_stream_flush(stream);
	RF_REQUIRE(n == 0 || n == -EAGAIN, "flush: %zd", n);
	for (int i = 0; i < 2; i++) {
		struct rf_span got;

		n = rf_stream_fill(stream);
		RF_REQUIRE(n > 0 || n == -EAGAIN, "fill: %zd", n);
		got = rf_stream_input(stream);
		for (size_t at = 0; at < got.len; at++)
			RF_REQUIRE((unsigned char)got.at[at] ==
					   byte_at(!side, total - left_to_get[side] + at),
				   "another byte");
		left_to_get[side] -= got.len;
		rf_stream_drop(stream, got.len);
	}
	if (left_to_get[0] + left_to_get[1] == 0)
		rf_loop_stop(loop);
	rf_stream_wait(stream, left_to_get[side] > 0);
}

#define TOTAL 700000

static void on_near(void *data, int what)
{
	(void)data;
	(void)what;
	work(&near_stream, 0, total_bytes);
}

static void on_far(void *data, int what)
{
	(void)data;
	(void)what;
	work(&far_stream, 1, total_bytes);
}

static void shrink(int fd)
{
	int size = 2048;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static void run_streams(size_t in_max, size_t total)
{
	struct rf_err err = RF_ERR_INIT;

	total_bytes = total;
	for (int i = 0; i < 2; i++)
		left_to_send[i] = left_to_get[i] = total;
	RF_REQUIRE(rf_stream_init(&near_stream, loop, near_end, in_max, 20000, on_near, NULL,
				  &err) == 0 &&
			   rf_stream_init(&far_stream, loop, far_end, in_max, 20000, on_far, NULL,
					  &err) == 0,
		   "%s", err.msg);
	rf_stream_wait(&near_stream, true);
	rf_stream_wait(&far_stream, true);
	RF_REQUIRE(rf_loop_run(loop, &err) == 0, "%s", err.msg);
	RF_CHECK(left_to_get[0] == 0 && left_to_get[1] == 0, "%zu and %zu left", left_to_get[0],
		 left_to_get[1]);
	rf_stream_done(&near_stream);
	rf_stream_done(&far_stream);
}

RF_TEST(much_goes_both_ways_at_once_through_tiny_buffers)
{
	struct rf_err err = RF_ERR_INIT;
	static const size_t sizes[] = { 100, 4000, 40000 };

	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	RF_REQUIRE(rf_loop_new(&loop, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < RF_LEN(sizes); i++) {
		join_pair(NAME, NAME);
		shrink(near_end.fd);
		shrink(far_end.fd);
		run_streams(sizes[i], TOTAL);
	}
	rf_loop_free(loop);
	end_all();
}

/* Moves a few bytes from one pair to the other, each time around. */
static void on_relay(void *data, int what)
{
	const int *way = data;
	char piece[64];
	ssize_t n;

	(void)what;
	n = recv(way[0], piece, relay_piece, MSG_DONTWAIT);
	if (n > 0)
		RF_REQUIRE(send(way[1], piece, (size_t)n, MSG_NOSIGNAL) == n, "relay");
}

RF_TEST(a_handshake_that_comes_byte_by_byte_is_one)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_event *events[2];
	int near_pair[2], far_pair[2];

	make_root();
	make_leaf("DNS:" NAME);
	make_client(&(struct rf_tls_client_how){ 0 });
	make_server(false);
	RF_REQUIRE(rf_loop_new(&loop, &err) == 0, "%s", err.msg);
	for (relay_piece = 1; relay_piece <= 8; relay_piece += 7) {
		RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				      near_pair) == 0 &&
				   socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					      0, far_pair) == 0,
			   "no sockets");
		relay[0][0] = relay[1][1] = near_pair[1];
		relay[0][1] = relay[1][0] = far_pair[1];
		join(NAME, NAME, near_pair[0], far_pair[0]);
		for (int i = 0; i < 2; i++)
			RF_REQUIRE(rf_loop_watch(loop, relay[i][0], RF_LOOP_READ, on_relay,
						 relay[i], &events[i], &err) == 0,
				   "%s", err.msg);
		run_streams(300, 3000);
		for (int i = 0; i < 2; i++) {
			rf_event_cancel(events[i]);
			close(relay[i][0]);
		}
	}
	rf_loop_free(loop);
	end_all();
}
