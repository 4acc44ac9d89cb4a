/* Whose key it is: see concierge.h. */
#include "server/concierge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/pack.h"
#include "base/statedir.h"
#include "server/clerk-terms.h"
#include "server/keyring.h"

/*
 * The user's own processes, on the unix socket: as much as a large box may have, with what is public of the network where they ask for it, and no file of this
 * machine, since it is the front that asks for them.
 */
static const char local_ceiling[] =
	"version: 1\n"
	"files: { current: none, credentials: hide }\n"
	"network: { mode: open }\n"
	"limits: { time: 24h, cpu_time: 24h, memory: 16G, cpu: 1600%, pids: 8192, open_files: "
	"65536,\n"
	"  file_size: 64G, disk: 64G, inodes: 4000000, output: 128M }\n";

struct rf_concierge_known {
	struct rf_concierge_known *next;
	struct rf_pass_holder holder;
	char *ceiling;
};

static void free_known(struct rf_concierge_known *known)
{
	free(known->ceiling);
	free(known);
}

static int remember(struct landlord *l, const struct rf_pass_holder *holder, const char *ceiling,
		    struct rf_err *err)
{
	struct rf_concierge_known *known;
	char *copy;

	for (known = l->known; known; known = known->next)
		if (strcmp(known->holder.key, holder->key) == 0)
			return 0; /* two requests have shown it */
	known = calloc(1, sizeof(*known));
	copy = strdup(ceiling);
	if (!known || !copy) {
		free(known);
		free(copy);
		return rf_fail(err, -ENOMEM, "a key");
	}
	*known = (struct rf_concierge_known){ l->known, *holder, copy };
	l->known = known;
	return 0;
}

static int connect_to_clerk(const struct landlord *l, const struct rf_pass_holder *holder,
			    const char *ceiling, int *ret_fd, struct rf_err *err)
{
	const struct rf_clerk_terms terms = {
		.terms = { .key = holder->key,
			   .tenant = holder->tenant,
			   .ceiling = ceiling,
			   .boxes = holder->boxes,
			   .sums = holder->sums },
		.scopes = holder->scopes,
		.rate = holder->rate,
	};

	return rf_clerk_terms_connect(l->clerk, &terms, ret_fd, err);
}

int rf_concierge_hand_over(struct landlord *l, uint64_t id, const struct rf_pass_holder *holder,
			   const char *ceiling, struct rf_err *err)
{
	const struct rf_terms terms = {
		.key = holder->key,
		.tenant = holder->tenant,
		.ceiling = ceiling,
		.boxes = holder->boxes,
		.is_recorded = l->notary != NULL,
		.sums = holder->sums,
	};
	struct rf_pass_holder told = *holder;
	struct rf_err why = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;
	RF_AUTO_FD int line = -1;
	RF_AUTO_FD int clerk = -1;

	rf_buf_init(&body, RF_PASS_BYTES);
	told.ceiling = ceiling;
	rf_pass_put_holder(&told, &body);
	if (remember(l, holder, ceiling, err) < 0 ||
	    rf_terms_ask(l->warden, &terms, &line, err) < 0)
		return err->code;
	/* Where the clerk has just died, another one is on its way, and the connection with it: rf_concierge_renew(). */
	if (l->clerk >= 0)
		connect_to_clerk(l, holder, ceiling, &clerk, &why);
	return rf_household_tell_front(l, RF_WIRE_FRONT_HOLDER, id, body.data, body.len,
				       (const int[]){ line, clerk }, clerk >= 0 ? 2 : 1, err);
}

const char *rf_concierge_tenant(const struct landlord *l, const char *key)
{
	for (const struct rf_concierge_known *at = l->known; at; at = at->next)
		if (strcmp(at->holder.key, key) == 0)
			return at->holder.tenant;
	return NULL;
}

void rf_concierge_renew(struct landlord *l)
{
	for (const struct rf_concierge_known *at = l->known; at && l->front >= 0; at = at->next) {
		const char *key = at->holder.key;
		struct rf_err err = RF_ERR_INIT;
		RF_AUTO_FD int clerk = -1;

		if (connect_to_clerk(l, &at->holder, at->ceiling, &clerk, &err) < 0 ||
		    rf_household_tell_front(l, RF_WIRE_FRONT_CLERK, 0, key, strlen(key), &clerk, 1,
					    &err) < 0)
			rf_household_say(err.msg, "");
	}
}

/* No key is needed: the kernel says whose process it is. */
int rf_concierge_welcome_guests(struct landlord *l, struct rf_err *err)
{
	const struct rf_pass_holder local = {
		.key = RF_PASS_LOCAL,
		.tenant = "local",
		.scopes = RF_SCOPE_READ | RF_SCOPE_RUN | RF_SCOPE_ADMIN,
		.boxes = RF_TERMS_BOXES,
	};
	const char *ceiling = l->options->ceiling ? l->options->ceiling : local_ceiling;

	if (rf_concierge_hand_over(l, 0, &local, ceiling, err) < 0)
		return err->code;
	l->has_guests = true;
	return 0;
}

/* Whoever has no key, a wrong one or one that was removed is told the same, after the same work. */
static int look_up(struct landlord *l, uint64_t id, const char *text, size_t len,
		   struct rf_err *err)
{
	uint8_t secret[RF_API_KEY_SECRET] = { 0 };
	char key_id[RF_API_KEY_ID];
	struct rf_api_key key = { 0 };
	struct rf_pass_holder holder = { 0 };
	struct rf_err why = RF_ERR_INIT;
	bool is_it = rf_api_key_take_token(text, len, key_id, secret) &&
		     rf_keyring_find(key_id, &key, &why) == 0;
	int code;

	is_it = rf_api_key_is_proven(&key, secret) && is_it;
	explicit_bzero(secret, sizeof(secret));
	if (!is_it) {
		if (why.code && why.code != -ENOENT)
			rf_household_say(why.msg, "");
		rf_api_key_done(&key);
		rf_fail_say(err, -EACCES, "this is no key of this server's");
		return rf_fail_hint(err, "`ringfort key create` makes one");
	}
	memcpy(holder.key, key.id, sizeof(key.id));
	memcpy(holder.tenant, key.tenant, sizeof(key.tenant));
	holder.scopes = key.scopes;
	holder.boxes = key.boxes;
	holder.sums = key.sums;
	holder.rate = key.rate;
	code = rf_concierge_hand_over(l, id, &holder, key.ceiling, err);
	rf_api_key_done(&key);
	return code;
}

void rf_concierge_answer(struct landlord *l, const struct rf_wire_message *message)
{
	struct rf_err err = RF_ERR_INIT, ignored;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	if (look_up(l, message->id, message->body, message->len, &err) == 0)
		return;
	rf_pack_err(&body, &err);
	rf_household_tell_front(l, RF_WIRE_FRONT_STRANGER, message->id, body.data, body.len, NULL,
				0, &ignored);
}

/* True if the folder of keys is not as it was. */
static bool have_changed(struct landlord *l)
{
	RF_AUTO_FD int folder = rf_statedir_open_in("keys", false);
	struct stat status = { 0 };
	bool is_so;

	if (folder >= 0)
		fstat(folder, &status);
	is_so = status.st_mtim.tv_sec != l->keys_changed.tv_sec ||
		status.st_mtim.tv_nsec != l->keys_changed.tv_nsec;
	l->keys_changed = status.st_mtim;
	return is_so;
}

void rf_concierge_withdraw(struct landlord *l)
{
	struct rf_concierge_known **at = &l->known;

	if (!have_changed(l))
		return;
	while (*at) {
		struct rf_concierge_known *known = *at;
		struct rf_api_key key = { 0 };
		struct rf_err err = RF_ERR_INIT;

		const char *id = known->holder.key;

		if (strcmp(id, RF_PASS_LOCAL) == 0 || rf_keyring_find(id, &key, &err) == 0) {
			rf_api_key_done(&key);
			at = &known->next;
			continue;
		}
		rf_household_tell_front(l, RF_WIRE_FRONT_REVOKED, 0, id, strlen(id), NULL, 0, &err);
		rf_household_withdraw(l, id);
		*at = known->next;
		free_known(known);
	}
}

void rf_concierge_revoke_all(struct landlord *l)
{
	struct rf_err err = RF_ERR_INIT;

	for (const struct rf_concierge_known *at = l->known; at && l->front >= 0; at = at->next)
		rf_household_tell_front(l, RF_WIRE_FRONT_REVOKED, RF_PASS_STALE, at->holder.key,
					strlen(at->holder.key), NULL, 0, &err);
	rf_concierge_forget(l);
}

void rf_concierge_forget(struct landlord *l)
{
	while (l->known) {
		struct rf_concierge_known *known = l->known;

		l->known = known->next;
		free_known(known);
	}
}

/* A port without a key is of no use: so there is one, which is shown this once. */
int rf_concierge_provide(const struct landlord *l, struct rf_err *err)
{
	struct rf_api_key key = { .scopes = RF_SCOPE_RUN | RF_SCOPE_READ | RF_SCOPE_ADMIN,
				  .boxes = RF_API_KEY_BOXES,
				  .name = "first" };
	char token[RF_API_KEY_TOKEN];
	RF_AUTO_FD int folder = rf_statedir_open_in("keys", false);
	int code;

	if (l->port_count == 0 || folder >= 0) /* whoever removed the last one wants none */
		return 0;
	key.ceiling = strdup(rf_api_key_ceiling);
	if (!key.ceiling)
		return rf_fail(err, -ENOMEM, "a key");
	code = rf_keyring_make(&key, token, err);
	rf_api_key_done(&key);
	if (code == 0) {
		rf_household_say("there was no key yet.  This one is shown now and never again:\n",
				 token);
		explicit_bzero(token, sizeof(token));
	}
	return code;
}
