/* SHA-256: see digest.h. */
#include "audit/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct rf_digest {
	EVP_MD *kind;
	EVP_MD_CTX *work;
};

int rf_digest_new(struct rf_digest **ret_digest, struct rf_err *err)
{
	struct rf_digest *digest = calloc(1, sizeof(*digest));

	if (digest) {
		digest->kind = EVP_MD_fetch(NULL, "SHA256", NULL);
		digest->work = EVP_MD_CTX_new();
	}
	if (!digest || !digest->kind || !digest->work) {
		rf_digest_free(digest);
		return rf_fail_say(err, -ENOMEM, "OpenSSL gives no SHA-256");
	}
	*ret_digest = digest;
	return 0;
}

void rf_digest_free(struct rf_digest *digest)
{
	if (!digest)
		return;
	EVP_MD_CTX_free(digest->work);
	EVP_MD_free(digest->kind);
	free(digest);
}

int rf_digest(struct rf_digest *digest, const void *data, size_t len, uint8_t hash[RF_AUDIT_HASH])
{
	return EVP_DigestInit_ex2(digest->work, digest->kind, NULL) == 1 &&
			       EVP_DigestUpdate(digest->work, data, len) == 1 &&
			       EVP_DigestFinal_ex(digest->work, hash, NULL) == 1
		       ? 0
		       : -EIO;
}

void rf_digest_hex(const uint8_t *bytes, size_t len, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool rf_digest_unhex(const char *text, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
