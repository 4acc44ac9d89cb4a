/* The API keys of this user: see keyring.h. */
#include "server/keyring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"

#define FOLDER "keys"
#define MOST   10000

static int open_folder(bool may_make, struct rf_err *err)
{
	int fd = rf_statedir_open_in(FOLDER, may_make);

	if (fd >= 0)
		return fd;
	rf_fail(err, fd, "the folder of API keys");
	return rf_fail_hint(err, "it lies in " RF_STATEDIR_OF_ROOT " for root, for others in "
				 "$XDG_STATE_HOME/ringfort or in a home that passwd names");
}

static bool is_id(const char *text)
{
	return strlen(text) == RF_API_KEY_ID - 1 &&
	       strspn(text, "0123456789abcdef") == RF_API_KEY_ID - 1;
}

/* ------------------------------------------------------------- making */

static int write_file(int folder, const char *name, const struct rf_buf *text, struct rf_err *err)
{
	RF_AUTO_FD int fd = -1;
	char fresh[64];
	int code;

	snprintf(fresh, sizeof(fresh), ".%.32s.%d", name, (int)getpid());
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return rf_fail(err, -errno, "write an API key");
	code = rf_fd_write(fd, text->data, text->len);
	if (code == 0 && fsync(fd) < 0)
		code = -errno;
	if (code == 0 && renameat(folder, fresh, folder, name) < 0)
		code = -errno;
	if (code < 0) {
		unlinkat(folder, fresh, 0);
		return rf_fail(err, code, "write an API key");
	}
	fsync(folder);
	return 0;
}

int rf_keyring_make(struct rf_api_key *key, char ret_token[RF_API_KEY_TOKEN], struct rf_err *err)
{
	RF_AUTO_FD int folder = open_folder(true, err);
	uint8_t secret[RF_API_KEY_SECRET], id[(RF_API_KEY_ID - 1) / 2];
	RF_AUTO_BUF struct rf_buf text = { 0 };
	char name[32];

	if (folder < 0)
		return err->code;
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret) ||
	    getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return rf_fail(err, -EIO, "random bytes for an API key");
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(key->id + 2 * i, 3, "%02x", id[i]);
	rf_api_key_hash(secret, key->hash);
	key->created = time(NULL);
	if (!key->tenant[0]) /* nobody else's */
		snprintf(key->tenant, sizeof(key->tenant), "%s", key->id);
	rf_buf_init(&text, RF_API_KEY_BYTES);
	rf_api_key_format(key, true, &text);
	if (text.has_failed)
		return rf_fail_say(err, -E2BIG, "the ceiling is too long");
	snprintf(name, sizeof(name), "%s.json", key->id);
	if (write_file(folder, name, &text, err) < 0)
		return err->code;
	rf_api_key_put_token(key->id, secret, ret_token);
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

/* ------------------------------------------------------------- finding */

static int read_file(int folder, const char *name, struct rf_api_key *ret_key, struct rf_err *err)
{
	RF_AUTO_FD int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *text = NULL;
	ssize_t len = 0;
	int code;

	if (fd < 0)
		return rf_fail(err, -errno, "API key %.12s", name);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & 077 || status.st_size > RF_API_KEY_BYTES) {
		rf_fail_say(err, -EPERM, "API key %.12s is no file that is yours alone", name);
		return rf_fail_hint(err, "`chmod 600` it, if it is yours, or remove it");
	}
	text = malloc((size_t)status.st_size + 1);
	if (text)
		len = rf_fd_read(fd, text, (size_t)status.st_size);
	if (!text || len < 0)
		code = rf_fail(err, text ? (int)len : -ENOMEM, "API key %.12s", name);
	else if (rf_api_key_read(text, (size_t)len, ret_key, err) < 0)
		code = rf_fail_in(err, "API key %.12s", name);
	else if (strncmp(ret_key->id, name, RF_API_KEY_ID - 1) != 0) {
		rf_api_key_done(ret_key);
		code = rf_fail_say(err, -EINVAL, "API key %.12s is another's", name);
	} else
		code = 0;
	free(text);
	return code;
}

int rf_keyring_find(const char *id, struct rf_api_key *ret_key, struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	char name[32];

	if (!is_id(id))
		return rf_fail_say(err, -ENOENT, "`%.40s` is no id of an API key", id);
	folder = open_folder(false, err);
	if (folder < 0)
		return err->code;
	snprintf(name, sizeof(name), "%s.json", id);
	return read_file(folder, name, ret_key, err);
}

static int by_age(const void *a, const void *b)
{
	const struct rf_api_key *x = a, *y = b;

	return x->created != y->created ? (x->created > y->created) - (x->created < y->created)
					: strcmp(x->id, y->id);
}

static int gather(int folder, struct rf_api_key **list, size_t *count, struct rf_err *err)
{
	DIR *dir = fdopendir(dup(folder));
	const struct dirent *entry;
	int code = 0;

	if (!dir)
		return rf_fail(err, -errno, "the folder of API keys");
	while (code == 0 && (entry = readdir(dir))) {
		char id[RF_API_KEY_ID] = "";
		struct rf_api_key *more;

		if (strlen(entry->d_name) != RF_API_KEY_ID + 4 ||
		    strcmp(entry->d_name + RF_API_KEY_ID - 1, ".json") != 0)
			continue;
		memcpy(id, entry->d_name, RF_API_KEY_ID - 1);
		more = is_id(id) && *count < MOST ? realloc(*list, (*count + 1) * sizeof(**list))
						  : NULL;
		if (!more) {
			code = is_id(id) ? rf_fail(err, -ENOMEM, "the API keys") : 0;
			continue;
		}
		*list = more;
		code = read_file(folder, entry->d_name, &more[*count], err);
		if (code == -ENOENT) /* removed meanwhile */
			code = 0;
		else if (code == 0)
			++*count;
	}
	closedir(dir);
	return code;
}

int rf_keyring_each(int (*fn)(void *data, const struct rf_api_key *key), void *data,
		    struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	struct rf_api_key *list = NULL;
	size_t count = 0;
	int code;

	folder = open_folder(false, err);
	if (folder == -ENOENT) {
		*err = RF_ERR_INIT;
		return 0;
	}
	if (folder < 0)
		return err->code;
	code = gather(folder, &list, &count, err);
	if (count > 0)
		qsort(list, count, sizeof(*list), by_age);
	for (size_t i = 0; i < count && code >= 0; i++)
		code = fn(data, &list[i]);
	for (size_t i = 0; i < count; i++)
		rf_api_key_done(&list[i]);
	free(list);
	return code < 0 ? code : (int)count;
}

int rf_keyring_remove(const char *id, struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	char name[32];

	if (is_id(id))
		folder = rf_statedir_open_in(FOLDER, false);
	snprintf(name, sizeof(name), "%.20s.json", id);
	if (folder >= 0 && unlinkat(folder, name, 0) == 0)
		return 0;
	if (folder >= 0 && errno != ENOENT)
		return rf_fail(err, -errno, "remove API key %s", id);
	rf_fail_say(err, -ENOENT, "there is no API key `%.40s`", id);
	return rf_fail_hint(err, "`ringfort key ls` lists them");
}
