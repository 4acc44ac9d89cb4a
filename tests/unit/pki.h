/* Certificates for tests, good ones and all kinds of bad ones. */
#ifndef RF_TEST_PKI_H
#define RF_TEST_PKI_H

#include <openssl/evp.h>
#include <openssl/x509.h>

struct rf_pki {
	EVP_PKEY *key;
	X509 *certificate;
};

/* How a certificate is; a zero is the good one. */
struct rf_pki_how {
	const char *name; /* common name */
	const char *alt;  /* subjectAltName as OpenSSL writes it ("DNS:a.example"), or NULL: none */
	const char *usage;   /* extendedKeyUsage, or NULL: none */
	const char *extra;   /* nameConstraints, or NULL */
	int from_s, until_s; /* from now; 0 and 0: good for an hour */
	int is_ca;
	int rsa_bits; /* 0: P-256 */
};

/* Signed by `issuer`, or by itself if that is NULL.  Ends the test on failure. */
void rf_pki_make(const struct rf_pki_how *how, const struct rf_pki *issuer, struct rf_pki *ret_pki);
void rf_pki_done(struct rf_pki *pki);

/* As PEM, to be freed. */
char *rf_pki_pem(const struct rf_pki *pki);
char *rf_pki_key_pem(const struct rf_pki *pki);

#endif
