/* One box's certificate authority: src/gateway/ca.c. */
#include "gateway/ca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/fd.h"
#include "base/loop.h"
#include "harness.h"
#include "tls/tls.h"

static struct rf_ca *ca;

static void make(size_t most)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_ca_new("b-1234", most, &ca, &err) == 0, "%s", err.msg);
}

static struct rf_host host_of(const char *text)
{
	struct rf_host host;

	RF_REQUIRE(rf_host_parse((struct rf_span){ text, strlen(text) }, &host) == RF_FAULT_NONE,
		   "%s is no host", text);
	return host;
}

static struct rf_tls_identity issue(const char *text, time_t now)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_host host = host_of(text);
	struct rf_tls_identity identity;

	RF_REQUIRE(rf_ca_issue(ca, &host, now, &identity, &err) == 0, "%s", err.msg);
	return identity;
}

static X509 *own_certificate(void)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf text;
	BIO *bio;
	X509 *own;

	rf_buf_init(&text, 10000);
	RF_REQUIRE(rf_ca_pem(ca, &text, &err) == 0, "%s", err.msg);
	bio = BIO_new_mem_buf(text.data, -1);
	own = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	RF_REQUIRE(own, "no certificate");
	return own;
}

/* What the strictest reader says of a leaf, as a server's of this name. */
static int verify(X509 *leaf, const char *name, bool is_address, time_t now)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	X509 *own = own_certificate();
	int code;

	X509_STORE_add_cert(store, own);
	X509_STORE_CTX_init(context, store, leaf, NULL);
	param = X509_STORE_CTX_get0_param(context);
	X509_VERIFY_PARAM_set_flags(param,
				    X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set_time(param, now);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (is_address)
		X509_VERIFY_PARAM_set1_ip_asc(param, name);
	else
		X509_VERIFY_PARAM_set1_host(param, name, 0);
	X509_verify_cert(context);
	code = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	X509_free(own);
	return code;
}

RF_TEST(strict_readers_take_what_it_signs)
{
	static const struct {
		const char *host, *name;
		bool is_address;
	} cases[] = {
		{ "api.example", "api.example", false },
		{ "192.0.2.7", "192.0.2.7", true },
		{ "[2001:db8::7]", "2001:db8::7", true },
		{ "a-name-that-is-longer-than-what-a-common-name-may-hold.which-is-sixty-four."
		  "example",
		  "a-name-that-is-longer-than-what-a-common-name-may-hold.which-is-sixty-four."
		  "example",
		  false },
	};
	const time_t now = time(NULL);

	make(8);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_tls_identity identity = issue(cases[i].host, now);
		int code = verify(identity.certificate, cases[i].name, cases[i].is_address, now);

		RF_CHECK(code == X509_V_OK, "%s: %s", cases[i].host,
			 X509_verify_cert_error_string(code));
		RF_CHECK(X509_check_private_key(identity.certificate, identity.key) == 1,
			 "the key");
	}
	rf_ca_free(ca);
}

RF_TEST(it_is_for_its_box_alone_and_signs_no_further_authority)
{
	char name[200];
	X509 *own;
	struct rf_ca *first;

	make(8);
	own = own_certificate();
	X509_NAME_oneline(X509_get_subject_name(own), name, sizeof(name));
	RF_CHECK(strcmp(name, "/CN=Ringfort box b-1234") == 0, "%s", name);
	RF_CHECK(X509_get_pathlen(own) == 0, "path length %ld", X509_get_pathlen(own));
	{
		static const unsigned char is_ca[] = { 0x30, 0x06, 0x01, 0x01,
						       0xff, 0x02, 0x01, 0x00 };
		unsigned char *der = NULL;
		int len = i2d_X509(own, &der);

		RF_CHECK(len > 0 && memmem(der, (size_t)len, is_ca, sizeof(is_ca)),
			 "its constraints are no DER");
		OPENSSL_free(der);
	}
	RF_CHECK(X509_get_key_usage(own) == KU_KEY_CERT_SIGN, "%x", X509_get_key_usage(own));
	X509_free(own);
	first = ca;
	make(8);
	RF_CHECK(verify(issue("a.example", time(NULL)).certificate, "a.example", false,
			time(NULL)) == X509_V_OK,
		 "its own");
	{
		struct rf_ca *second = ca;
		X509 *leaf = issue("a.example", time(NULL)).certificate;

		ca = first;
		RF_CHECK(verify(leaf, "a.example", false, time(NULL)) != X509_V_OK,
			 "another box's authority of the same name");
		rf_ca_free(second);
	}
	rf_ca_free(ca);
}

RF_TEST(certificates_are_kept_and_made_anew_in_time)
{
	const time_t now = time(NULL);
	X509 *first;

	make(2);
	first = issue("a.example", now).certificate;
	RF_CHECK(issue("a.example", now + RF_CA_LEAF_S - RF_CA_MARGIN_S).certificate == first &&
			 rf_ca_issued(ca) == 1,
		 "not kept");
	X509_up_ref(first);
	RF_CHECK(X509_cmp(issue("a.example", now + RF_CA_LEAF_S - RF_CA_MARGIN_S + 1).certificate,
			  first) != 0,
		 "not made anew");
	RF_CHECK(rf_ca_issued(ca) == 2, "%zu", rf_ca_issued(ca));
	X509_free(first);
	issue("b.example", now);
	issue("a.example", now);
	issue("c.example", now); /* b goes */
	RF_CHECK(rf_ca_issued(ca) == 4, "%zu", rf_ca_issued(ca));
	issue("a.example", now);
	RF_CHECK(rf_ca_issued(ca) == 4, "the wrong one went");
	issue("b.example", now);
	RF_CHECK(rf_ca_issued(ca) == 5, "%zu", rf_ca_issued(ca));
	/* One that would outlive its issuer does not. */
	RF_CHECK(verify(issue("d.example", now + RF_CA_LIFE_S - 7200).certificate, "d.example",
			false, now + RF_CA_LIFE_S - 60) == X509_V_OK,
		 "at the end");
	RF_CHECK(verify(issue("d.example", now + RF_CA_LIFE_S - 7200).certificate, "d.example",
			false, now + RF_CA_LIFE_S + 60) == X509_V_ERR_CERT_HAS_EXPIRED,
		 "behind it");
	rf_ca_free(ca);
}

RF_TEST(keys_lie_in_guarded_memory)
{
	struct rf_err err = RF_ERR_INIT;
	size_t before;

	if (rf_ca_guard(&err) < 0)
		RF_SKIP("%s", err.msg);
	make(8); /* OpenSSL's source of random numbers lies there, too */
	rf_ca_free(ca);
	before = CRYPTO_secure_used();
	make(8);
	RF_CHECK(CRYPTO_secure_used() >= before + 64, "%zu bytes are guarded",
		 CRYPTO_secure_used() - before);
	rf_ca_free(ca);
	RF_CHECK(CRYPTO_secure_used() == before, "not given back");
}

RF_TEST(a_certificate_is_made_in_less_than_a_third_of_a_millisecond)
{
	const int rounds = 300;
	uint64_t best = UINT64_MAX;
	char name[64];

	make(rounds);
	for (int i = 0; i < rounds; i++) {
		uint64_t at = rf_loop_now(), took;

		snprintf(name, sizeof(name), "n%d.example", i);
		issue(name, time(NULL));
		took = rf_loop_now() - at;
		if (took < best)
			best = took;
	}
	RF_CHECK(best < 300000, "%llu ns", (unsigned long long)best);
	rf_ca_free(ca);
}
