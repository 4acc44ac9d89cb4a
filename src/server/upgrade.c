/* A request that asks to go on as a WebSocket: see upgrade.h. */
#include "server/upgrade.h"

#include <string.h>

#include "http/websocket.h"

#define PROTOCOLS "Sec-WebSocket-Protocol"

/* The only field of its name; none has no bytes.  False: there are two. */
static bool find_one(const struct rf_http1_head *head, const char *name, struct rf_span *ret_value)
{
	size_t count = 0;

	*ret_value = (struct rf_span){ NULL, 0 };
	for (size_t i = 0; i < head->fields.count; i++)
		if (rf_span_is_like(head->fields.at[i].name, rf_span_of(name))) {
			*ret_value = head->fields.at[i].value;
			count++;
		}
	return count <= 1;
}

static bool is_key(struct rf_span name)
{
	return name.len >= strlen(RF_UPGRADE_KEY) &&
	       rf_span_is(rf_span_part(name, 0, strlen(RF_UPGRADE_KEY)), RF_SPAN(RF_UPGRADE_KEY));
}

int rf_upgrade_next(struct rf_span *list, struct rf_span *ret_name)
{
	while (rf_field_next_token(list, ret_name) > 0)
		if (!is_key(*ret_name))
			return 1;
	return 0;
}

static int malformed(struct rf_api_error *error, const char *where, const char *what)
{
	return rf_api_error_say(error, RF_API_MALFORMED, where, "%s: %s", where, what);
}

static int read_protocols(const struct rf_http1_head *head, struct rf_upgrade *upgrade,
			  struct rf_api_error *error)
{
	struct rf_span list, name;
	int got;

	if (!find_one(head, PROTOCOLS, &list))
		return malformed(error, PROTOCOLS, "it is there twice");
	while ((got = rf_field_next_token(&list, &name)) > 0) {
		if (!is_key(name)) {
			upgrade->offers_any = true;
			upgrade->offers_ringfort |= rf_span_is(name, RF_SPAN(RF_UPGRADE_PROTOCOL));
			continue;
		}
		name = rf_span_part(name, strlen(RF_UPGRADE_KEY), name.len);
		if (upgrade->token[0] || name.len == 0 || name.len >= sizeof(upgrade->token))
			return malformed(error, PROTOCOLS, "there is one key, of up to 200 bytes");
		memcpy(upgrade->token, name.at, name.len);
	}
	return got < 0 ? malformed(error, PROTOCOLS, "it is no list of names") : 0;
}

int rf_upgrade_read(const struct rf_http1_head *head, struct rf_upgrade *ret_upgrade,
		    struct rf_api_error *error)
{
	const struct rf_field *asked = rf_field_find(head->fields, RF_SPAN("Upgrade"));
	struct rf_upgrade upgrade = { .is_websocket = true };
	struct rf_span key = { 0 }, version = { 0 };

	*ret_upgrade = (struct rf_upgrade){ 0 };
	if (!head->framing.is_upgrade || !asked ||
	    !rf_span_is_like(asked->value, RF_SPAN("websocket")))
		return 0;
	if (!rf_span_is(head->start.method, RF_SPAN("GET")) || head->framing.body != RF_BODY_NONE)
		return malformed(error, "Upgrade", "a WebSocket begins with GET, without a body");
	if (!find_one(head, "Sec-WebSocket-Version", &version) ||
	    !rf_span_is(version, RF_SPAN("13")))
		return malformed(error, "Sec-WebSocket-Version", "it must be 13");
	if (!find_one(head, "Sec-WebSocket-Key", &key) || !rf_websocket_key_is_good(key) ||
	    !key.at || key.len >= sizeof(upgrade.key))
		return malformed(error, "Sec-WebSocket-Key", "it must be 16 bytes in base64");
	memcpy(upgrade.key, key.at, key.len);
	if (read_protocols(head, &upgrade, error) < 0)
		return -1;
	*ret_upgrade = upgrade;
	return 0;
}
