/* The credentials of a server's tenants: see strongbox.h. */
#include "server/strongbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/statedir.h"
#include "policy/net-credential.h"
#include "server/api-key.h"

#define FOLDER    "credentials"
#define HEAD      "ringfort-credential 1\n"
#define MOST      10000
#define FILE_NAME (RF_TERMS_NAME + RF_STRONGBOX_NAME + 1)

static int open_folder(bool may_make, struct rf_err *err)
{
	int fd = rf_statedir_open_in(FOLDER, may_make);

	if (fd >= 0)
		return fd;
	rf_fail(err, fd, "the folder of credentials");
	return rf_fail_hint(err, "it lies in " RF_STATEDIR_OF_ROOT " for root, for others in "
				 "$XDG_STATE_HOME/ringfort or in a home that passwd names");
}

/* Neither part has the sign between them, so a file is one tenant's. */
static int name_file(const char *tenant, const char *name, char file[FILE_NAME], struct rf_err *err)
{
	if (!rf_api_key_is_name(tenant)) {
		rf_fail_say(err, -EINVAL, "`%.60s` can't be a tenant", tenant);
		return rf_fail_hint(err, "letters, digits, `-`, `_` and `.`, up to 63");
	}
	if (rf_net_credential_check_name(name, err) < 0)
		return err->code;
	snprintf(file, FILE_NAME, "%s@%s", tenant, name);
	return 0;
}

void rf_strongbox_done(struct rf_strongbox_item *item)
{
	if (item->value)
		explicit_bzero(item->value, strlen(item->value));
	free(item->value);
	free(item->text);
	*item = (struct rf_strongbox_item){ 0 };
}

/* ------------------------------------------------------------- writing */

static int write_file(int folder, const char *name, const struct rf_buf *text, struct rf_err *err)
{
	RF_AUTO_FD int fd = -1;
	char fresh[FILE_NAME + 32];
	int code;

	snprintf(fresh, sizeof(fresh), "%s@%d", name, (int)getpid());
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return rf_fail(err, -errno, "write a credential");
	code = rf_fd_write(fd, text->data, text->len);
	if (code == 0 && fsync(fd) < 0)
		code = -errno;
	if (code == 0 && renameat(folder, fresh, folder, name) < 0)
		code = -errno;
	if (code < 0) {
		unlinkat(folder, fresh, 0);
		return rf_fail(err, code, "write a credential");
	}
	fsync(folder);
	return 0;
}

int rf_strongbox_put(const struct rf_strongbox_item *item, struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	struct rf_buf text = { 0 };
	char file[FILE_NAME];
	int code;

	if (name_file(item->tenant, item->name, file, err) < 0)
		return err->code;
	folder = open_folder(true, err);
	if (folder < 0)
		return err->code;
	rf_buf_init(&text, RF_STRONGBOX_BYTES);
	rf_buf_puts(&text, HEAD);
	rf_buf_puts(&text, item->text);
	rf_buf_puts(&text, "\n");
	rf_buf_puts(&text, item->value);
	code = text.has_failed ? rf_fail_say(err, -E2BIG, "the credential is too long")
			       : write_file(folder, file, &text, err);
	if (text.data)
		explicit_bzero(text.data, text.room);
	rf_buf_done(&text);
	return code;
}

/* ------------------------------------------------------------- reading */

/* Divides what a file has: a head, lines, an empty one, and the value. */
static int divide(const char *data, bool wants_value, struct rf_strongbox_item *item,
		  struct rf_err *err)
{
	const char *text = data + strlen(HEAD), *end;

	if (strncmp(data, HEAD, strlen(HEAD)) != 0 || !(end = strstr(text, "\n\n")) || !end[2])
		return rf_fail_say(err, -EINVAL, "it is no credential of this version's");
	item->text = strndup(text, (size_t)(end + 1 - text));
	item->value = wants_value ? strdup(end + 2) : NULL;
	if (!item->text || (wants_value && !item->value))
		return rf_fail(err, -ENOMEM, "a credential");
	return 0;
}

static int read_file(int folder, const char *file, bool wants_value, struct rf_strongbox_item *item,
		     struct rf_err *err)
{
	RF_AUTO_FD int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *data;
	ssize_t len;
	int code;

	if (fd < 0)
		return rf_fail(err, -errno, "the credential");
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & 077 || status.st_size > RF_STRONGBOX_BYTES) {
		rf_fail_say(err, -EPERM, "its file is not yours alone");
		return rf_fail_hint(err, "`chmod 600` it, if it is yours, or remove it");
	}
	data = calloc(1, RF_STRONGBOX_BYTES + 1);
	if (!data)
		return rf_fail(err, -ENOMEM, "a credential");
	len = rf_fd_read(fd, data, RF_STRONGBOX_BYTES);
	item->changed = status.st_mtim.tv_sec;
	code = len < 0 ? rf_fail(err, (int)len, "read it") : divide(data, wants_value, item, err);
	explicit_bzero(data, RF_STRONGBOX_BYTES);
	free(data);
	return code;
}

static int fail_none(const char *tenant, const char *name, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "tenant %s has no credential `%.40s`", tenant, name);
	return rf_fail_hint(err, "`ringfort credential set` makes one, `credential ls` lists them");
}

int rf_strongbox_find(const char *tenant, const char *name, struct rf_strongbox_item *ret_item,
		      struct rf_err *err)
{
	struct rf_strongbox_item item = { 0 };
	RF_AUTO_FD int folder = -1;
	char file[FILE_NAME];
	int code;

	if (name_file(tenant, name, file, err) < 0)
		return err->code;
	folder = rf_statedir_open_in(FOLDER, false);
	code = folder < 0 ? folder : read_file(folder, file, true, &item, err);
	if (code < 0) {
		rf_strongbox_done(&item);
		return code == -ENOENT ? fail_none(tenant, name, err)
				       : rf_fail_in(err, "credential %s", name);
	}
	snprintf(item.tenant, sizeof(item.tenant), "%s", tenant);
	snprintf(item.name, sizeof(item.name), "%s", name);
	*ret_item = item;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the files that are credentials. */
static int gather(int folder, char ***ret_files, size_t *ret_count, struct rf_err *err)
{
	DIR *dir = fdopendir(dup(folder));
	const struct dirent *entry;
	char **files = calloc(MOST, sizeof(*files));
	size_t count = 0;

	while (dir && files && count < MOST && (entry = readdir(dir))) {
		const char *sign = strchr(entry->d_name, '@');

		if (!sign || strchr(sign + 1, '@') || strlen(entry->d_name) >= FILE_NAME)
			continue;
		files[count] = strdup(entry->d_name);
		if (!files[count++])
			break;
	}
	*ret_files = files;
	*ret_count = count;
	if (!dir || !files || (count > 0 && !files[count - 1])) {
		if (dir)
			closedir(dir);
		return rf_fail(err, -ENOMEM, "the credentials");
	}
	closedir(dir);
	qsort(files, count, sizeof(*files), by_name);
	return 0;
}

static int tell(int folder, const char *file, const char *tenant,
		int (*fn)(void *data, const struct rf_strongbox_item *item), void *data,
		struct rf_err *err)
{
	struct rf_strongbox_item item = { 0 };
	size_t len = strcspn(file, "@");
	int code;

	if (tenant && (strlen(tenant) != len || strncmp(file, tenant, len) != 0))
		return 0;
	code = read_file(folder, file, false, &item, err);
	if (code == 0) {
		snprintf(item.tenant, sizeof(item.tenant), "%.*s", (int)len, file);
		snprintf(item.name, sizeof(item.name), "%s", file + len + 1);
		code = fn(data, &item) < 0 ? -ECANCELED : 1;
	} else if (code == -ENOENT) { /* removed meanwhile */
		code = 0;
	} else {
		rf_fail_in(err, "credential %s", file);
	}
	rf_strongbox_done(&item);
	return code;
}

int rf_strongbox_each(const char *tenant,
		      int (*fn)(void *data, const struct rf_strongbox_item *item), void *data,
		      struct rf_err *err)
{
	RF_AUTO_FD int folder = open_folder(false, err);
	char **files = NULL;
	size_t count = 0;
	int code, told = 0;

	if (folder == -ENOENT) {
		*err = RF_ERR_INIT;
		return 0;
	}
	if (folder < 0)
		return err->code;
	code = gather(folder, &files, &count, err);
	for (size_t i = 0; i < count; i++) {
		if (code >= 0)
			code = tell(folder, files[i], tenant, fn, data, err);
		told += code > 0;
		free(files[i]);
	}
	free(files);
	return code < 0 ? code : told;
}

int rf_strongbox_remove(const char *tenant, const char *name, struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	char file[FILE_NAME];

	if (name_file(tenant, name, file, err) < 0)
		return err->code;
	folder = rf_statedir_open_in(FOLDER, false);
	if (folder >= 0 && unlinkat(folder, file, 0) == 0)
		return 0;
	if (folder >= 0 && errno != ENOENT)
		return rf_fail(err, -errno, "remove credential %s", name);
	return fail_none(tenant, name, err);
}
