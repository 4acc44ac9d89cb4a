/*
 * How a server is to serve: what its options and its file `ringfort.yaml` say, in the same words.
 *
 * Checked as a whole while it is read, as a policy is: an unknown key is an error with its place and the nearest name.  Pure: no file that it names is
 * opened.
 */
#ifndef RF_SERVER_CHARTER_H
#define RF_SERVER_CHARTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_CHARTER_BYTES    65536 /* of a file */
#define RF_CHARTER_PORTS    16
#define RF_CHARTER_NAMES    64
#define RF_CHARTER_ANCHORS  3
#define RF_CHARTER_WEBHOOKS 8
#define RF_CHARTER_GRACE_S  30
#define RF_CHARTER_TRIES    8

/* What a webhook may be told of. */
enum rf_charter_topic {
	RF_CHARTER_ALARMS = 1,
	RF_CHARTER_BREAKERS = 2,
	RF_CHARTER_APPROVALS = 4
};

/* Where secrets are: "file:/PATH" or "env:NAME". */
struct rf_charter_webhook {
	char *url;       /* http or https */
	char *secret;    /* that messages are signed with */
	char *ca;        /* a file of roots besides the system's, or NULL */
	uint32_t tries;  /* before it is given up */
	unsigned topics; /* enum rf_charter_topic bits */
};

struct rf_charter {
	char *listen[RF_CHARTER_PORTS + 1]; /* NULL-ended, as are the lists that follow */
	char *hosts[RF_CHARTER_NAMES + 1], *origins[RF_CHARTER_NAMES + 1];
	char *certificate, *key, *clients;    /* of TLS; or NULL */
	uint64_t reserve_bytes, margin_bytes; /* of memory: see struct rf_wire_own */
	uint64_t disk_bytes;                  /* that are left of the disk of workspaces */
	uint32_t grace_s;                     /* that sandboxes outlive a server that was killed */
	bool keeps_sandboxes;                 /* or one that ends */
	/* Of a watcher that it starts: as `ringfort watch` takes them, or NULL. */
	char *anchors[RF_CHARTER_ANCHORS + 1];
	char *keep, *keep_days, *hook;
	struct rf_charter_webhook webhooks[RF_CHARTER_WEBHOOKS];
	size_t webhook_count;
	char *collector;    /* of OTLP/HTTP, its base URL; or NULL */
	char *collector_ca; /* as above */
	uint32_t every_s;   /* how often figures go there */
};

/* What holds where nothing is said.  To be ended with rf_charter_done(), in any case. */
void rf_charter_init(struct rf_charter *charter);
void rf_charter_done(struct rf_charter *charter);

/* Sets one thing by the name of its key ("listen", "tls.cert"); lists grow.  Fails with -EINVAL or -E2BIG and names it. */
int rf_charter_set(struct rf_charter *charter, const char *name, const char *value,
		   struct rf_err *err);

/* Reads a file's text (borrows) over what is there; err->line and err->column say where something is wrong. */
int rf_charter_read(struct rf_charter *charter, const char *text, size_t len, struct rf_err *err);

/* What goes together, once all is read. */
int rf_charter_check(const struct rf_charter *charter, struct rf_err *err);

/* Says what it comes to, for people. */
void rf_charter_describe(const struct rf_charter *charter, struct rf_buf *out);

#endif
