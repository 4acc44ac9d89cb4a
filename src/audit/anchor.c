/* Anchors: see anchor.h. */
#include "audit/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "audit/digest.h"
#include "base/fd.h"

#define BEGIN "ringfort-audit-head v1 "
#define MOST  1000000 /* heads of one chain that are read */

size_t rf_anchor_format(const struct rf_anchor_line *line, char *text)
{
	char chain[RF_DIGEST_HEX], hash[RF_DIGEST_HEX], key[RF_DIGEST_HEX];
	char signature[2 * RF_FRAME_SIGNED + 1];

	rf_digest_hex(line->head.chain, RF_AUDIT_HASH, chain);
	rf_digest_hex(line->head.hash, RF_AUDIT_HASH, hash);
	rf_digest_hex(line->key, RF_FRAME_KEY, key);
	rf_digest_hex(line->signature, RF_FRAME_SIGNED, signature);
	return (size_t)snprintf(text, RF_ANCHOR_LINE,
				BEGIN "chain=%s seq=%" PRIu64 " hash=%s key=%s sig=%s\n", chain,
				line->head.seq, hash, key, signature);
}

/* Takes "name=" and as many bytes in hexadecimal digits; gives what follows, or NULL. */
static const char *take_hex(const char *at, const char *name, uint8_t *bytes, size_t len)
{
	size_t n = strlen(name);

	if (!at || strncmp(at, name, n) != 0 || at[n] != '=' ||
	    !rf_digest_unhex(at + n + 1, bytes, len))
		return NULL;
	at += n + 1 + 2 * len;
	return *at == ' ' ? at + 1 : at;
}

static const char *take_seq(const char *at, uint64_t *ret_seq)
{
	char *end = NULL;

	if (!at || strncmp(at, "seq=", 4) != 0 || at[4] < '1' || at[4] > '9')
		return NULL;
	errno = 0;
	*ret_seq = strtoull(at + 4, &end, 10);
	return errno || *end != ' ' ? NULL : end + 1;
}

bool rf_anchor_parse(const char *text, size_t len, struct rf_anchor_line *ret_line)
{
	const char *found = memmem(text, len, BEGIN, strlen(BEGIN)), *at;
	struct rf_anchor_line line = { 0 };
	char copy[RF_ANCHOR_LINE];

	if (!found)
		return false;
	len -= (size_t)(found - text);
	len = len < sizeof(copy) ? len : sizeof(copy) - 1;
	memcpy(copy, found, len);
	copy[len] = '\0';
	copy[strcspn(copy, "\r\n")] = '\0';
	at = copy + strlen(BEGIN);
	at = take_hex(at, "chain", line.head.chain, RF_AUDIT_HASH);
	at = take_seq(at, &line.head.seq);
	at = take_hex(at, "hash", line.head.hash, RF_AUDIT_HASH);
	at = take_hex(at, "key", line.key, RF_FRAME_KEY);
	at = take_hex(at, "sig", line.signature, RF_FRAME_SIGNED);
	if (!at || *at)
		return false;
	*ret_line = line;
	return true;
}

int rf_anchor_tell(const char *where, const struct rf_anchor_line *line)
{
	RF_AUTO_FD int fd = -1;
	char text[RF_ANCHOR_LINE];
	size_t len = rf_anchor_format(line, text);

	if (strcmp(where, RF_ANCHOR_SYSLOG) == 0) {
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "%.*s", (int)len - 1, text);
		return 0;
	}
	fd = open(where,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		  0600);
	return fd < 0 ? -errno : rf_fd_write(fd, text, len);
}

static int by_seq(const void *a, const void *b)
{
	const struct rf_sign_head *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int add_line(struct rf_anchor_heads *all, size_t *room, const struct rf_anchor_line *line,
		    const uint8_t chain[RF_AUDIT_HASH], const struct rf_sign *key)
{
	if (memcmp(line->head.chain, chain, RF_AUDIT_HASH) != 0 ||
	    memcmp(line->key, rf_sign_key(key), RF_FRAME_KEY) != 0) {
		all->others++;
		return 0;
	}
	if (!rf_sign_is_good(key, &line->head, line->signature)) {
		all->forged++;
		return 0;
	}
	if (all->count == *room) {
		struct rf_sign_head *more;

		*room = *room ? 2 * *room : 64;
		more = *room > MOST ? NULL : realloc(all->heads, *room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		all->heads = more;
	}
	all->heads[all->count++] = line->head;
	return 0;
}

int rf_anchor_read(const char *path, const uint8_t chain[RF_AUDIT_HASH], const struct rf_sign *key,
		   struct rf_anchor_heads *ret_heads, struct rf_err *err)
{
	struct rf_anchor_heads all = { 0 };
	FILE *file = fopen(path, "re");
	char text[2 * RF_ANCHOR_LINE];
	size_t room = 0;
	int code = 0;

	if (!file)
		return rf_fail(err, -errno, "open the anchor %s", path);
	while (code == 0 && fgets(text, sizeof(text), file)) {
		struct rf_anchor_line line;

		if (rf_anchor_parse(text, strlen(text), &line))
			code = add_line(&all, &room, &line, chain, key);
	}
	if (ferror(file))
		code = -EIO;
	fclose(file);
	if (code < 0) {
		free(all.heads);
		return rf_fail(err, code, "read the anchor %s", path);
	}
	if (all.count > 0)
		qsort(all.heads, all.count, sizeof(*all.heads), by_seq);
	*ret_heads = all;
	return 0;
}
