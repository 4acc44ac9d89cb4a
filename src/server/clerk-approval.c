/* Writes of a tenant's boxes that wait for approval: seen, and decided about.  The tenant is the connection's, and who decides has shown a key for that. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/event.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/pack.h"
#include "server/api-key.h"
#include "server/clerk-desk.h"
#include "server/custodian.h"

#define BODY_SHOWN (64 * 1024) /* bytes of a body */
#define GAP        4           /* between a head's last line and the body */

static const char *const states[RF_CUSTODIAN_STATES] = {
	[RF_CUSTODIAN_ARRIVING] = "waiting", [RF_CUSTODIAN_WAITING] = "waiting",
	[RF_CUSTODIAN_DECIDING] = "waiting", [RF_CUSTODIAN_APPROVED] = "approved",
	[RF_CUSTODIAN_DENIED] = "denied",    [RF_CUSTODIAN_EXPIRED] = "expired",
};

static void put_time(struct rf_json *json, const char *name, uint64_t time_ns)
{
	char text[40];

	if (time_ns == 0) {
		rf_json_null(json, name);
		return;
	}
	rf_audit_event_time(time_ns, text, sizeof(text));
	rf_json_string(json, name, text);
}

static void put_words(struct rf_json *json, const char *name, const char *words)
{
	rf_json_string(json, name, words[0] ? words : NULL);
}

static void put_item(struct rf_json *json, const struct rf_clerk_asker *who,
		     const struct rf_custodian_item *item)
{
	rf_json_string(json, "id", item->id);
	if (who->scopes & RF_SCOPE_OPERATOR)
		rf_json_string(json, "tenant", item->owner.tenant);
	rf_json_string(json, "state", states[item->state]);
	put_words(json, "sandbox", item->owner.sandbox);
	put_words(json, "agent", item->owner.agent);
	rf_json_string(json, "method", item->method);
	rf_json_string(json, "scheme", item->is_tls ? "https" : "http");
	rf_json_string(json, "host", item->host);
	rf_json_int(json, "port", item->port);
	rf_json_string(json, "path", item->path);
	rf_json_int(json, "size", (int64_t)item->size);
	put_time(json, "asked", item->asked_ns);
	put_time(json, "expires", item->expires_ns);
	put_time(json, "decided", item->decided_ns);
	put_words(json, "by", item->by);
	put_words(json, "reason", item->reason);
}

/* ------------------------------------------------------------- all that wait */

struct page {
	const struct rf_clerk_asker *who;
	const struct rf_approval_ask_page *ask;
	struct rf_json json;
	uint64_t last_ns;
	size_t given;
	bool has_more;
};

static bool put_row(void *data, const struct rf_custodian_item *item)
{
	struct page *page = data;

	if (page->ask->sandbox[0] && strcmp(page->ask->sandbox, item->owner.sandbox) != 0)
		return true;
	if (page->given == page->ask->limit) {
		page->has_more = true;
		return false;
	}
	rf_json_open_object(&page->json, NULL);
	put_item(&page->json, page->who, item);
	rf_json_close_object(&page->json);
	page->last_ns = item->asked_ns;
	page->given++;
	return true;
}

int rf_clerk_approval_list(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			   struct rf_err *err)
{
	struct rf_approval_ask_page ask;
	struct page page = { .who = who, .ask = &ask };
	char cursor[24];

	if (rf_approval_ask_take_page(matter->body, matter->len, &ask, err) < 0)
		return err->code;
	rf_json_init(&page.json, &matter->out, false);
	rf_json_open_object(&page.json, NULL);
	rf_json_open_array(&page.json, "approvals");
	rf_custodian_each(rf_custodian_whose(who), ask.after_ns, put_row, &page);
	rf_json_close_array(&page.json);
	snprintf(cursor, sizeof(cursor), "%" PRIu64, page.last_ns);
	rf_json_string(&page.json, "next_cursor", page.has_more ? cursor : NULL);
	rf_json_close_object(&page.json);
	rf_buf_puts(&matter->out, "\n");
	return 0;
}

/* ------------------------------------------------------------- one */

/* As it will be written, with placeholders where credentials will be; of its body the beginning, and by what all of it can be known. */
static void put_message(struct rf_json *json, const struct rf_custodian_item *item)
{
	size_t at = item->body_at, len = item->size - at, head = at > GAP ? at - GAP : at;
	size_t shown = len < BODY_SHOWN ? len : BODY_SHOWN;

	rf_json_bytes(json, "head", item->message, head);
	if (!rf_json_is_utf8(item->message, head))
		rf_json_base64(json, "head_base64", item->message, head);
	rf_json_int(json, "body_size", (int64_t)len);
	rf_json_string(json, "body_sha256", item->body_sha256);
	if (rf_json_is_utf8(item->message + at, shown))
		rf_json_bytes(json, "body", item->message + at, shown);
	else
		rf_json_base64(json, "body_base64", item->message + at, shown);
	rf_json_bool(json, "is_cut", shown < len);
}

struct one {
	const struct rf_clerk_asker *who;
	struct rf_buf *out;
};

static bool put_one(void *data, const struct rf_custodian_item *item)
{
	const struct one *one = data;
	struct rf_json json;

	rf_json_init(&json, one->out, false);
	rf_json_open_object(&json, NULL);
	put_item(&json, one->who, item);
	if (item->message)
		put_message(&json, item);
	rf_json_close_object(&json);
	rf_buf_puts(one->out, "\n");
	return false;
}

int rf_clerk_approval_get(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			  struct rf_err *err)
{
	char id[RF_APPROVAL_ASK_ID];
	struct one one = { who, &matter->out };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, matter->body, matter->len);
	rf_pack_read_text(&in, id, sizeof(id));
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -ENOENT, "there is no such approval");
	return rf_custodian_look(rf_custodian_whose(who), id, put_one, &one, err);
}

/* What is approved comes with the connection on which it is answered: the front reads what strangers send, and not who has rights. */
int rf_clerk_approval_decide(const struct rf_clerk_asker *who, struct rf_clerk_matter *matter,
			     struct rf_err *err)
{
	struct rf_approval_ask_decision decision;
	RF_AUTO_FD int answer = -1;

	if (rf_approval_ask_take_decision(matter->body, matter->len, &decision, err) < 0 ||
	    rf_custodian_decide(who, &decision, &answer, err) < 0)
		return err->code;
	if (answer >= 0) {
		matter->out_fds[0] = rf_fd_take(&answer);
		matter->out_fd_count = 1;
	}
	return 0;
}
