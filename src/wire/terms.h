/*
 * The terms of a connection to a warden that is somebody else's: whose it is, and what it never gets beyond.
 *
 * Who serves strangers makes one such connection for each of them and hands it to the process that reads what strangers send.  What is
 * asked on it, and on all that are joined to it, is bounded by the warden: the policy by the ceiling, the sight of kept boxes by the tenant.
 */
#ifndef RF_WIRE_TERMS_H
#define RF_WIRE_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_TERMS_NAME  64 /* bytes of a key's id or a tenant's name, with a NUL */
#define RF_TERMS_BOXES 65536

struct rf_terms {
	const char *key;     /* an id, for messages */
	const char *tenant;  /* whose boxes it sees */
	const char *ceiling; /* a policy's text, nothing extended and every path absolute */
	uint32_t boxes;      /* at once, of all connections of this key */
	bool is_recorded;    /* none of them without a watcher, whatever its policy says */
	struct rf_terms_sums {
		uint64_t memory, cpu, disk; /* of the limits of these boxes together; 0: any */
		uint64_t storage, files; /* that the tenant's workspaces take; 0: wire/tenancy.h */
	} sums;
};

/* Writes them (borrows). */
void rf_terms_pack(const struct rf_terms *terms, struct rf_buf *out);

/* Reads them from `len` bytes (borrows: the strings stay there).  Fails with -EBADMSG. */
int rf_terms_unpack(const void *data, size_t len, struct rf_terms *ret_terms, struct rf_err *err);

/*
 * Makes a connection on these terms by way of one to the warden that has none.  Gives `*ret_fd`: its other end is the
 * warden's.
 */
int rf_terms_ask(int warden, const struct rf_terms *terms, int *ret_fd, struct rf_err *err);

#endif
