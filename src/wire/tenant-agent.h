/*
 * The agents of a server's tenants: $STATE/tenants/t-TENANT/.agents/NAME, a file each.
 *
 * Written by who keeps them (the server's clerk) and read again by who bounds boxes by them (the warden, and the clerk for a box's way out), each for itself: so nobody
 * between the two says what an agent may do.  A file is its owner's alone, and whole or not there; what was changed by others is an error, never half an agent.
 *
 *     ringfort-agent 1
 *     name bot
 *     created 1700000000
 *     workspace own bot              (without `own`: it was there before, and stays)
 *     description what it is for     (may be missing)
 *     label project=blue             (any number of them)
 *
 *     and behind the empty line its policy, with nothing left to extend
 *
 * Beside it lies `.was-NAME`, which is empty and stays: who is bounded by an agent that there was, and finds none, is refused.  A name that nobody ever made is but a name,
 * which has a breaker and budgets and bounds nothing.  Of a tenant that has made very many there is `.was` instead, and no name is but a name.
 */
#ifndef RF_WIRE_TENANT_AGENT_H
#define RF_WIRE_TENANT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/tenancy.h"

#define RF_TENANT_AGENT_MOST   64 /* of one tenant: as many as have breakers of their own */
#define RF_TENANT_AGENT_NAME   52 /* bytes of one's name, with a NUL: the tenant's goes before it */
#define RF_TENANT_AGENT_CHARS  200                             /* characters of a description */
#define RF_TENANT_AGENT_ABOUT  (4 * RF_TENANT_AGENT_CHARS + 1) /* bytes of that, with a NUL */
#define RF_TENANT_AGENT_LABELS 16
#define RF_TENANT_AGENT_KNOWN  1024 /* names that were an agent's and are known each for itself */
#define RF_TENANT_AGENT_BYTES  (RF_MAX_POLICY_BYTES + 8192) /* of a file */

struct rf_tenant_agent {
	char name[RF_TENANCY_NAME], workspace[RF_TENANCY_NAME];
	bool owns_workspace; /* which was made with it, and goes with it */
	int64_t created;     /* seconds since 1970 */
	char about[RF_TENANT_AGENT_ABOUT];
	struct {
		char name[RF_TENANCY_LABEL], value[RF_TENANCY_LABEL];
	} labels[RF_TENANT_AGENT_LABELS];
	size_t label_count;
	char *policy; /* its text */
};

void rf_tenant_agent_done(struct rf_tenant_agent *agent);

/* One line of readable UTF-8, short enough for a description. */
bool rf_tenant_agent_is_about(const char *text);

/* Pure: a file's text, and back.  Parsing gives `*ret_agent`, or fails with -EBADMSG. */
void rf_tenant_agent_format(const struct rf_tenant_agent *agent, struct rf_buf *out);
int rf_tenant_agent_parse(const char *text, size_t len, struct rf_tenant_agent *ret_agent,
			  struct rf_err *err);

/* The folder of a tenant's agents; a descriptor or a negative errno. */
int rf_tenant_agent_open_all(const char *tenant, bool may_make);

/* One of a tenant's; gives `*ret_agent`.  -ENOENT: there is none of this name. */
int rf_tenant_agent_read(const char *tenant, const char *name, struct rf_tenant_agent *ret_agent,
			 struct rf_err *err);

/*
 * The one that bounds what is done under a name: 1, and gives `*ret_agent`; 0: nobody ever made one.  One that is gone is an error, as is one that can't be read: what it may do is not
 * known then, and a key that is held to it would have its whole ceiling.
 */
int rf_tenant_agent_find(const char *tenant, const char *name, struct rf_tenant_agent *ret_agent,
			 struct rf_err *err);

/* Writes one into the folder of its tenant's, as a whole.  -EEXIST: there is one of this name. */
int rf_tenant_agent_write(int all, const struct rf_tenant_agent *agent, struct rf_err *err);

/* The same in place of the one of its name: who reads it finds the one or the other. */
int rf_tenant_agent_replace(int all, const struct rf_tenant_agent *agent, struct rf_err *err);

/* Takes one out of it; that there was one stays known.  A negative errno. */
int rf_tenant_agent_remove(int all, const char *name);

#endif
