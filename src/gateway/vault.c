/* Memory for secrets: see vault.h. */
#include "gateway/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447 /* Linux 5.14; the same number everywhere */
#endif

#define PAGE 4096

struct rf_vault {
	char *bytes;
	size_t size, used;
	bool is_secret, is_locked;
};

/* Pages that are not even mapped in the kernel. */
static char *map_secret(size_t size)
{
	RF_AUTO_FD int fd = (int)syscall(SYS_memfd_secret, (unsigned long)O_CLOEXEC);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	memset(at, 0,
	       size); /* takes the pages now: later there may be none, and that would be a signal */
	return at;
}

static char *map_private(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int rf_vault_new(size_t bytes, struct rf_vault **ret_vault, struct rf_err *err)
{
	struct rf_vault *vault = calloc(1, sizeof(*vault));

	if (!vault)
		return rf_fail(err, -ENOMEM, "memory for secrets");
	vault->size = (bytes / PAGE + 1) * PAGE;
	vault->bytes = map_secret(vault->size);
	vault->is_secret = vault->is_locked = vault->bytes;
	if (!vault->bytes) {
		vault->bytes = map_private(vault->size);
		if (!vault->bytes) {
			free(vault);
			return rf_fail(err, -ENOMEM, "memory for secrets");
		}
		vault->is_locked = mlock(vault->bytes, vault->size) == 0;
	}
	madvise(vault->bytes, vault->size, MADV_DONTDUMP);
	madvise(vault->bytes, vault->size, MADV_DONTFORK);
	*ret_vault = vault;
	return 0;
}

void rf_vault_free(struct rf_vault *vault)
{
	if (!vault)
		return;
	if (mprotect(vault->bytes, vault->size, PROT_READ | PROT_WRITE) == 0)
		explicit_bzero(vault->bytes, vault->size);
	munmap(vault->bytes, vault->size);
	free(vault);
}

struct rf_span rf_vault_keep(struct rf_vault *vault, struct rf_span bytes)
{
	char *at = vault->bytes + vault->used;

	if (bytes.len >= vault->size - vault->used)
		return (struct rf_span){ NULL, 0 };
	if (bytes.len > 0)
		memcpy(at, bytes.at, bytes.len);
	at[bytes.len] = '\0';
	vault->used += bytes.len + 1;
	return (struct rf_span){ at, bytes.len };
}

int rf_vault_seal(struct rf_vault *vault, struct rf_err *err)
{
	if (mprotect(vault->bytes, vault->size, PROT_READ) < 0)
		return rf_fail(err, -errno, "protect the secrets");
	return 0;
}

bool rf_vault_is_secret(const struct rf_vault *vault)
{
	return vault->is_secret;
}

bool rf_vault_is_locked(const struct rf_vault *vault)
{
	return vault->is_locked;
}
