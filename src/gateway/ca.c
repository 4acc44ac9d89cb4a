/* One box's certificate authority: see ca.h. */
#define OPENSSL_SUPPRESS_DEPRECATED /* see make_key() */
#include "gateway/ca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "tls/tls.h"

#define GUARDED  (128 * 1024) /* bytes for keys: some hundred of each box's two */
#define SMALLEST 32
#define SERIAL   16  /* bytes, random */
#define EARLY_S  300 /* a clock may be behind */
#define CN_MOST  64  /* characters of a common name */

struct leaf {
	struct rf_host host;
	X509 *certificate;
	time_t until;
	uint64_t used; /* a count that grows */
};

struct rf_ca {
	EVP_PKEY *key, *leaf_key; /* one for all leaves: they are one server */
	X509 *certificate;
	time_t until;
	struct leaf *leaves;
	size_t most, count, issued;
	uint64_t uses;
};

int rf_ca_guard(struct rf_err *err)
{
	if (CRYPTO_secure_malloc_initialized())
		return 0;
	/* 2: it is there, but could not be locked or kept out of cores. */
	if (CRYPTO_secure_malloc_init(GUARDED, SMALLEST) == 1)
		return 0;
	return rf_fail_say(err, -ENOMEM, "no memory that the kernel keeps from others");
}

/* Adds an extension's value (takes nothing). */
static bool put(X509 *certificate, int nid, void *value, bool is_critical)
{
	return value &&
	       X509_add1_ext_i2d(certificate, nid, value, is_critical, X509V3_ADD_DEFAULT) == 1;
}

static bool put_usage(X509 *certificate, int bit, bool is_critical)
{
	ASN1_BIT_STRING *bits = ASN1_BIT_STRING_new();
	bool is_put = bits && ASN1_BIT_STRING_set_bit(bits, bit, 1) == 1 &&
		      put(certificate, NID_key_usage, bits, is_critical);

	ASN1_BIT_STRING_free(bits);
	return is_put;
}

static bool put_constraints(X509 *certificate, bool is_ca)
{
	BASIC_CONSTRAINTS *constraints = BASIC_CONSTRAINTS_new();
	bool is_put = false;

	if (constraints && is_ca) {
		constraints->ca = 0xff; /* as DER has it: Go reads no other truth */
		constraints->pathlen = ASN1_INTEGER_new();
		if (constraints->pathlen)
			ASN1_INTEGER_set(constraints->pathlen, 0);
	}
	if (constraints && (!is_ca || constraints->pathlen))
		is_put = put(certificate, NID_basic_constraints, constraints, true);
	BASIC_CONSTRAINTS_free(constraints);
	return is_put;
}

/* A key's name: part of its hash. */
static bool put_key_id(X509 *certificate, const X509 *issuer)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned len;
	ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
	AUTHORITY_KEYID *of_issuer = AUTHORITY_KEYID_new();
	bool is_put = id && of_issuer &&
		      X509_pubkey_digest(certificate, EVP_sha256(), hash, &len) == 1 &&
		      ASN1_OCTET_STRING_set(id, hash, 20) == 1 &&
		      put(certificate, NID_subject_key_identifier, id, false);

	if (is_put && issuer) {
		const ASN1_OCTET_STRING *theirs =
			X509_get0_subject_key_id((X509 *)(uintptr_t)issuer);

		of_issuer->keyid = theirs ? ASN1_OCTET_STRING_dup(theirs) : NULL;
		is_put = of_issuer->keyid &&
			 put(certificate, NID_authority_key_identifier, of_issuer, false);
	}
	ASN1_OCTET_STRING_free(id);
	AUTHORITY_KEYID_free(of_issuer);
	return is_put;
}

static bool put_purpose(X509 *certificate)
{
	EXTENDED_KEY_USAGE *usage = sk_ASN1_OBJECT_new_null();
	bool is_put = usage && sk_ASN1_OBJECT_push(usage, OBJ_nid2obj(NID_server_auth)) > 0 &&
		      put(certificate, NID_ext_key_usage, usage, false);

	sk_ASN1_OBJECT_free(usage); /* its one object is a constant */
	return is_put;
}

static bool put_host(X509 *certificate, const struct rf_host *host, bool is_critical)
{
	bool is_name = host->kind == RF_HOST_NAME, is_put = false;
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	ASN1_STRING *value = ASN1_STRING_type_new(is_name ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);

	if (names && name && value &&
	    ASN1_STRING_set(value, is_name ? (const void *)host->text : host->address,
			    is_name                      ? (int)strlen(host->text)
			    : host->kind == RF_HOST_IPV4 ? 4
							 : 16) == 1) {
		GENERAL_NAME_set0_value(name, is_name ? GEN_DNS : GEN_IPADD, value);
		value = NULL;
		if (sk_GENERAL_NAME_push(names, name) > 0) {
			name = NULL;
			is_put = put(certificate, NID_subject_alt_name, names, is_critical);
		}
	}
	ASN1_STRING_free(value);
	GENERAL_NAME_free(name);
	GENERAL_NAMES_free(names);
	return is_put;
}

/*
 * A key in the older of OpenSSL's two forms.  The newer one goes through encoders that take six times as long as the
 * signature, for each certificate that it is put into.
 */
static EVP_PKEY *make_key(void)
{
	EVP_PKEY *key = EVP_PKEY_new();
	EC_KEY *half = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);

	if (key && half && EC_KEY_generate_key(half) == 1 && EVP_PKEY_assign_EC_KEY(key, half) == 1)
		return key;
	EC_KEY_free(half);
	EVP_PKEY_free(key);
	return NULL;
}

/* What all certificates of ours have. */
static X509 *begin(const char *common, time_t from, time_t until, EVP_PKEY *key)
{
	X509 *certificate = X509_new();
	unsigned char serial[SERIAL];

	if (!certificate || RAND_bytes(serial, sizeof(serial)) != 1)
		goto fail;
	serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and always as long */
	if (X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    ASN1_STRING_set(X509_get_serialNumber(certificate), serial, sizeof(serial)) != 1 ||
	    !ASN1_TIME_set(X509_getm_notBefore(certificate), from - EARLY_S) ||
	    !ASN1_TIME_set(X509_getm_notAfter(certificate), until) ||
	    X509_set_pubkey(certificate, key) != 1)
		goto fail;
	if (common && X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
						 MBSTRING_UTF8, (const unsigned char *)common, -1,
						 -1, 0) != 1)
		goto fail;
	return certificate;
fail:
	X509_free(certificate);
	return NULL;
}

/* What a person reads; an id that is too long is cut. */
static X509 *make_own(struct rf_ca *ca, const char *box)
{
	const time_t now = time(NULL);
	char name[CN_MOST + 1];
	X509 *own;

	snprintf(name, sizeof(name), "Ringfort box %s", box);
	ca->until = now + RF_CA_LIFE_S;
	own = begin(name, now, ca->until, ca->key);
	if (own && X509_set_issuer_name(own, X509_get_subject_name(own)) == 1 &&
	    put_constraints(own, true) && put_usage(own, 5 /* keyCertSign */, true) &&
	    put_key_id(own, NULL) && X509_sign(own, ca->key, EVP_sha256()) > 0)
		return own;
	X509_free(own);
	return NULL;
}

int rf_ca_new(const char *box, size_t most, struct rf_ca **ret_ca, struct rf_err *err)
{
	struct rf_ca *ca = calloc(1, sizeof(*ca));

	if (ca) {
		ca->most = most ? most : 1;
		ca->leaves = calloc(ca->most, sizeof(*ca->leaves));
		ca->key = make_key();
		ca->leaf_key = make_key();
	}
	if (ca && ca->leaves && ca->key && ca->leaf_key)
		ca->certificate = make_own(ca, box);
	if (!ca || !ca->certificate) {
		ERR_clear_error();
		rf_ca_free(ca);
		return rf_fail(err, -ENOMEM, "make a certificate authority");
	}
	*ret_ca = ca;
	return 0;
}

void rf_ca_free(struct rf_ca *ca)
{
	if (!ca)
		return;
	for (size_t i = 0; i < ca->count; i++)
		X509_free(ca->leaves[i].certificate);
	free(ca->leaves);
	X509_free(ca->certificate);
	EVP_PKEY_free(ca->key); /* wipes it */
	EVP_PKEY_free(ca->leaf_key);
	free(ca);
}

int rf_ca_pem(const struct rf_ca *ca, struct rf_buf *text, struct rf_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data;
	long len;

	if (!bio || PEM_write_bio_X509(bio, ca->certificate) != 1) {
		BIO_free(bio);
		return rf_fail(err, -ENOMEM, "write a certificate");
	}
	len = BIO_get_mem_data(bio, &data);
	rf_buf_add(text, data, (size_t)len);
	BIO_free(bio);
	return text->has_failed ? rf_fail(err, -ENOMEM, "write a certificate") : 0;
}

static X509 *make_leaf(struct rf_ca *ca, const struct rf_host *host, time_t now, time_t until)
{
	/* Without a common name the subject is empty, and then the names must be looked at (RFC 5280, 4.2.1.6). */
	bool has_common = strlen(host->text) <= CN_MOST;
	X509 *leaf = begin(has_common ? host->text : NULL, now, until, ca->leaf_key);

	if (leaf && X509_set_issuer_name(leaf, X509_get_subject_name(ca->certificate)) == 1 &&
	    put_constraints(leaf, false) && put_usage(leaf, 0 /* digitalSignature */, true) &&
	    put_purpose(leaf) && put_host(leaf, host, !has_common) &&
	    put_key_id(leaf, ca->certificate) && X509_sign(leaf, ca->key, EVP_sha256()) > 0)
		return leaf;
	X509_free(leaf);
	return NULL;
}

/* The place of a host's: its own, a free one, or that which was not asked for the longest. */
static struct leaf *find_place(struct rf_ca *ca, const struct rf_host *host)
{
	struct leaf *oldest = &ca->leaves[0];

	for (size_t i = 0; i < ca->count; i++) {
		if (rf_host_is_same(&ca->leaves[i].host, host))
			return &ca->leaves[i];
		if (ca->leaves[i].used < oldest->used)
			oldest = &ca->leaves[i];
	}
	return ca->count < ca->most ? &ca->leaves[ca->count++] : oldest;
}

int rf_ca_issue(struct rf_ca *ca, const struct rf_host *host, time_t now,
		struct rf_tls_identity *ret_identity, struct rf_err *err)
{
	struct leaf *leaf = find_place(ca, host);

	leaf->used = ++ca->uses;
	if (!leaf->certificate || !rf_host_is_same(&leaf->host, host) ||
	    leaf->until - RF_CA_MARGIN_S < now) {
		time_t until = now + RF_CA_LEAF_S < ca->until ? now + RF_CA_LEAF_S : ca->until;

		X509_free(leaf->certificate);
		leaf->certificate = make_leaf(ca, host, now, until);
		leaf->host = *host;
		leaf->until = until;
		ca->issued++;
	}
	if (!leaf->certificate) {
		ERR_clear_error();
		return rf_fail(err, -ENOMEM, "make a certificate for %s", host->text);
	}
	*ret_identity = (struct rf_tls_identity){ leaf->certificate, ca->leaf_key, NULL };
	return 0;
}

size_t rf_ca_issued(const struct rf_ca *ca)
{
	return ca->issued;
}
