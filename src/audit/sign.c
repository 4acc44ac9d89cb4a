/* Signed heads: see sign.h. */
#include "audit/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/digest.h"
#include "base/fd.h"

/* What a signature is about can't be mistaken for anything else that a key might sign. */
static const char what[24] = "ringfort audit head 1";

#define SAID (sizeof(what) + RF_AUDIT_HASH + 8 + RF_AUDIT_HASH)

struct rf_sign {
	EVP_PKEY *pair;
	uint8_t key[RF_FRAME_KEY];
};

void rf_sign_free(struct rf_sign *key)
{
	if (key)
		EVP_PKEY_free(key->pair);
	free(key);
}

const uint8_t *rf_sign_key(const struct rf_sign *key)
{
	return key->key;
}

/* Takes the pair, which is NULL if OpenSSL did not give one. */
static int wrap(EVP_PKEY *pair, struct rf_sign **ret_key, struct rf_err *err)
{
	struct rf_sign *key = calloc(1, sizeof(*key));
	size_t len = RF_FRAME_KEY;

	if (key)
		key->pair = pair;
	if (!key || !pair || EVP_PKEY_get_raw_public_key(pair, key->key, &len) != 1) {
		if (!key)
			EVP_PKEY_free(pair);
		rf_sign_free(key);
		return rf_fail_say(err, -EIO, "OpenSSL gives no Ed25519 key");
	}
	*ret_key = key;
	return 0;
}

int rf_sign_public(const uint8_t key[RF_FRAME_KEY], struct rf_sign **ret_key, struct rf_err *err)
{
	return wrap(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, RF_FRAME_KEY), ret_key,
		    err);
}

/* ------------------------------------------------------------- files */

/* Writes a file that was not there, whole or not at all. */
static int write_new(int dir, const char *name, const void *data, size_t len, mode_t mode)
{
	RF_AUTO_FD int fd = -1;
	char fresh[64];
	int code;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	code = fd < 0 ? -errno : rf_fd_write(fd, data, len);
	if (code == 0 && (fsync(fd) < 0 || renameat(dir, fresh, dir, name) < 0))
		code = -errno;
	return code;
}

static int make_key(int dir, struct rf_sign **ret_key, struct rf_err *err)
{
	uint8_t secret[RF_FRAME_KEY];
	char hex[2 * RF_FRAME_KEY + 2];
	size_t len = sizeof(secret);
	struct rf_sign *key;
	int code;

	if (wrap(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), &key, err) < 0)
		return err->code;
	code = EVP_PKEY_get_raw_private_key(key->pair, secret, &len) == 1 ? 0 : -EIO;
	rf_digest_hex(key->key, sizeof(key->key), hex);
	hex[2 * RF_FRAME_KEY] = '\n';
	if (code == 0)
		code = write_new(dir, RF_SIGN_PUBLIC, hex, 2 * RF_FRAME_KEY + 1, 0644);
	if (code == 0)
		code = write_new(dir, RF_SIGN_FILE, secret, sizeof(secret), 0600);
	OPENSSL_cleanse(secret, sizeof(secret));
	if (code < 0) {
		rf_sign_free(key);
		return rf_fail(err, code, "make the audit key");
	}
	*ret_key = key;
	return 0;
}

int rf_sign_open(int dir, struct rf_sign **ret_key, struct rf_err *err)
{
	RF_AUTO_FD int fd = openat(dir, RF_SIGN_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t secret[RF_FRAME_KEY + 1];
	struct stat st;
	ssize_t len;
	int code;

	if (fd < 0 && errno == ENOENT)
		return make_key(dir, ret_key, err);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rf_fail(err, -errno, "open the audit key");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077) {
		rf_fail_say(err, -EPERM, "the audit key is not only yours");
		return rf_fail_hint(err, "who could read it could have signed another log: look "
					 "into it, then chmod 600");
	}
	len = rf_fd_read(fd, secret, sizeof(secret));
	code = len == RF_FRAME_KEY ? wrap(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
								       secret, RF_FRAME_KEY),
					  ret_key, err)
				   : rf_fail_say(err, -EBADMSG, "the audit key is not one");
	OPENSSL_cleanse(secret, sizeof(secret));
	return code;
}

int rf_sign_read_public(int dir, uint8_t ret_key[RF_FRAME_KEY], struct rf_err *err)
{
	char text[128];
	int len = (int)rf_fd_read_text(dir, RF_SIGN_PUBLIC, text, sizeof(text));

	if (len < 0)
		return rf_fail(err, len, "read " RF_SIGN_PUBLIC);
	if (len < 2 * RF_FRAME_KEY || !rf_digest_unhex(text, ret_key, RF_FRAME_KEY))
		return rf_fail_say(err, -EBADMSG, RF_SIGN_PUBLIC " holds no key");
	return 0;
}

/* ------------------------------------------------------------- signatures */

static void say(const struct rf_sign_head *head, uint8_t said[SAID])
{
	uint8_t *at = said;

	memcpy(at, what, sizeof(what));
	at += sizeof(what);
	memcpy(at, head->chain, RF_AUDIT_HASH);
	at += RF_AUDIT_HASH;
	for (int i = 0; i < 8; i++)
		*at++ = (uint8_t)(head->seq >> 8 * i);
	memcpy(at, head->hash, RF_AUDIT_HASH);
}

int rf_sign(const struct rf_sign *key, const struct rf_sign_head *head,
	    uint8_t signature[RF_FRAME_SIGNED], struct rf_err *err)
{
	EVP_MD_CTX *work = EVP_MD_CTX_new();
	uint8_t said[SAID];
	size_t len = RF_FRAME_SIGNED;
	bool is_done;

	say(head, said);
	is_done = work && EVP_DigestSignInit(work, NULL, NULL, NULL, key->pair) == 1 &&
		  EVP_DigestSign(work, signature, &len, said, sizeof(said)) == 1;
	EVP_MD_CTX_free(work);
	return is_done ? 0 : rf_fail_say(err, -EIO, "OpenSSL does not sign");
}

bool rf_sign_is_good(const struct rf_sign *key, const struct rf_sign_head *head,
		     const uint8_t signature[RF_FRAME_SIGNED])
{
	EVP_MD_CTX *work = EVP_MD_CTX_new();
	uint8_t said[SAID];
	bool is_good;

	say(head, said);
	is_good = work && EVP_DigestVerifyInit(work, NULL, NULL, NULL, key->pair) == 1 &&
		  EVP_DigestVerify(work, signature, RF_FRAME_SIGNED, said, sizeof(said)) == 1;
	EVP_MD_CTX_free(work);
	return is_good;
}
