/* The roots that this system trusts: see roots.h. */
#include "tls/roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/bundles.h"
#include "base/fd.h"

static const char *const files[] = { RF_BUNDLES };
static const char *const folders[] = { "/etc/ssl/certs", "/etc/pki/tls/certs" };

/* Whether a folder has names like 5f15c80c.0. */
static bool is_hashed(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool is_found = false;

	while (dir && !is_found && (entry = readdir(dir)))
		is_found = strlen(entry->d_name) == 10 && entry->d_name[8] == '.' &&
			   strspn(entry->d_name, "0123456789abcdef") == 8;
	if (dir)
		closedir(dir);
	return is_found;
}

int rf_roots_system(X509_STORE *store, struct rf_err *err)
{
	X509_LOOKUP *lookup;

	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (is_hashed(folders[i])) {
			lookup = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
			if (lookup && X509_LOOKUP_add_dir(lookup, folders[i], X509_FILETYPE_PEM))
				return 0;
		}
	for (size_t i = 0; i < RF_LEN(files); i++)
		if (access(files[i], R_OK) == 0 && X509_STORE_load_file(store, files[i]))
			return 0;
	ERR_clear_error();
	rf_fail_say(err, -ENOENT, "this system has no root certificates");
	return rf_fail_hint(err, "install the package ca-certificates");
}

int rf_roots_add(X509_STORE *store, const char *pem, struct rf_err *err)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *certificate;
	int count = 0, added = 1;

	while (bio && added && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		added = X509_STORE_add_cert(store, certificate);
		X509_free(certificate);
		count++;
	}
	BIO_free(bio);
	/* At the end of the text there is no further beginning; all else is a certificate that can't be read. */
	if (count > 0 && added && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
		ERR_clear_error();
		return 0;
	}
	ERR_clear_error();
	return rf_fail_say(err, -EINVAL,
			   count ? "certificate %d can't be read" : "no certificate in PEM",
			   count + 1);
}

int rf_roots_text(struct rf_buf *text, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(files); i++) {
		RF_AUTO_FD int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		char *place;
		ssize_t n = 1;

		if (fd < 0)
			continue;
		while (n > 0 && (place = rf_buf_reserve(text, 32768))) {
			n = read(fd, place, 32768);
			rf_buf_grew(text, n > 0 ? (size_t)n : 0);
		}
		if (n < 0 || text->has_failed)
			return rf_fail(err, n < 0 ? -errno : -ENOMEM, "read %s", files[i]);
		return 0;
	}
	return rf_fail_say(err, -ENOENT, "this system has no file of root certificates");
}
