/* Certificates for tests: see pki.h. */
#include "pki.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "harness.h"

static void extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	if (!value)
		return;
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509V3_set_ctx_nodb(&context);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	RF_REQUIRE(extension && X509_add_ext(certificate, extension, -1) == 1, "%s", value);
	X509_EXTENSION_free(extension);
}

void rf_pki_make(const struct rf_pki_how *how, const struct rf_pki *issuer, struct rf_pki *ret_pki)
{
	EVP_PKEY *key = how->rsa_bits ? EVP_RSA_gen((unsigned)how->rsa_bits) : EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509 *signer = issuer ? issuer->certificate : certificate;
	unsigned char serial[8];

	RF_REQUIRE(key && certificate && RAND_bytes(serial, sizeof(serial)) == 1, "no key");
	serial[0] = (unsigned char)((serial[0] & 0x3f) | 0x40); /* positive, and no zero in front */
	X509_set_version(certificate, X509_VERSION_3);
	ASN1_STRING_set(X509_get_serialNumber(certificate), serial, sizeof(serial));
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
				   (const unsigned char *)how->name, -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(signer));
	X509_gmtime_adj(X509_getm_notBefore(certificate), how->from_s ? how->from_s : -60);
	X509_gmtime_adj(X509_getm_notAfter(certificate), how->until_s ? how->until_s : 3600);
	X509_set_pubkey(certificate, key);
	extend(certificate, signer, NID_basic_constraints,
	       how->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
	extend(certificate, signer, NID_key_usage,
	       how->is_ca ? "critical,keyCertSign" : "critical,digitalSignature");
	extend(certificate, signer, NID_subject_alt_name, how->alt);
	extend(certificate, signer, NID_ext_key_usage, how->usage);
	extend(certificate, signer, NID_name_constraints, how->extra);
	RF_REQUIRE(X509_sign(certificate, issuer ? issuer->key : key, EVP_sha256()) > 0,
		   "can't sign");
	*ret_pki = (struct rf_pki){ .key = key, .certificate = certificate };
}

void rf_pki_done(struct rf_pki *pki)
{
	EVP_PKEY_free(pki->key);
	X509_free(pki->certificate);
	*pki = (struct rf_pki){ 0 };
}

static char *take_text(BIO *bio)
{
	char *data, *text;
	long len = BIO_get_mem_data(bio, &data);

	text = calloc(1, (size_t)len + 1);
	RF_REQUIRE(text, "no memory");
	memcpy(text, data, (size_t)len);
	BIO_free(bio);
	return text;
}

char *rf_pki_pem(const struct rf_pki *pki)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_X509(bio, pki->certificate);
	return take_text(bio);
}

char *rf_pki_key_pem(const struct rf_pki *pki)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey(bio, pki->key, NULL, NULL, 0, NULL, NULL);
	return take_text(bio);
}
