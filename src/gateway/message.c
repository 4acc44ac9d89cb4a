/* A message that was read, made into one that is sent: see message.h; and what filters do with it: forward.h. */
#include "gateway/message.h"

#include <errno.h>

#include "base/fd.h"

/* Of one connection alone (RFC 9110, 7.6.1), or written anew from what was read. */
static const struct rf_span between_neighbours[] = {
	RF_SPAN_INIT("connection"),
	RF_SPAN_INIT("content-length"),
	RF_SPAN_INIT("expect"),
	RF_SPAN_INIT("host"),
	RF_SPAN_INIT("http2-settings"),
	RF_SPAN_INIT("keep-alive"),
	RF_SPAN_INIT("proxy-authenticate"),
	RF_SPAN_INIT("proxy-authorization"),
	RF_SPAN_INIT("proxy-connection"),
	RF_SPAN_INIT("te"),
	RF_SPAN_INIT("trailer"),
	RF_SPAN_INIT("transfer-encoding"),
	RF_SPAN_INIT("upgrade"),
};

/* By which the gateway says that an answer is its own (forward.c): nobody else's word for it is passed on, on either side. */
static const struct rf_span ours = RF_SPAN_INIT("x-ringfort");

struct rf_span rf_message_copy(struct rf_forward_message *message, struct rf_span text)
{
	char *copy = rf_arena_alloc(message->arena, text.len + 1);

	if (!copy)
		return RF_SPAN("");
	if (text.len > 0)
		memcpy(copy, text.at, text.len);
	return (struct rf_span){ copy, text.len };
}

static bool is_named(struct rf_fields fields, struct rf_span name)
{
	for (size_t i = 0; i < fields.count; i++) {
		struct rf_span list = fields.at[i].value, token;

		if (!rf_span_is_like(fields.at[i].name, RF_SPAN("connection")))
			continue;
		while (rf_field_next_token(&list, &token) > 0)
			if (rf_span_is_like(token, name))
				return true;
	}
	return false;
}

static bool is_between(struct rf_fields fields, struct rf_span name, bool has_connection)
{
	for (size_t i = 0; i < RF_LEN(between_neighbours); i++)
		if (rf_span_is_like(name, between_neighbours[i]))
			return true;
	return rf_field_is_seen_as(name, ours) || (has_connection && is_named(fields, name));
}

int rf_message_take(struct rf_forward_message *message, struct rf_fields fields)
{
	bool has_connection = rf_field_find(fields, RF_SPAN("connection")) != NULL;
	size_t need = 0;
	char *copy;

	for (size_t i = 0; i < fields.count; i++)
		need += fields.at[i].name.len + fields.at[i].value.len;
	copy = rf_arena_alloc(message->arena, need + 1);
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < fields.count; i++) {
		const struct rf_field *field = &fields.at[i];
		struct rf_field *place = &message->fields[message->count];

		if (is_between(fields, field->name, has_connection))
			continue;
		if (message->count == message->room)
			return -E2BIG;
		place->name = (struct rf_span){ copy, field->name.len };
		memcpy(copy, field->name.at, field->name.len);
		copy += field->name.len;
		place->value = (struct rf_span){ copy, field->value.len };
		if (field->value.len > 0)
			memcpy(copy, field->value.at, field->value.len);
		copy += field->value.len;
		message->count++;
	}
	return 0;
}

int rf_message_take_trailer(const struct rf_forward_message *of, struct rf_fields fields,
			    struct rf_forward_message *ret_trailer)
{
	*ret_trailer = *of;
	ret_trailer->fields = rf_arena_alloc(of->arena, (fields.count + 1) * sizeof(*fields.at));
	ret_trailer->count = 0;
	ret_trailer->room = fields.count;
	ret_trailer->body = RF_BODY_NONE;
	ret_trailer->gathered = RF_SPAN("");
	return ret_trailer->fields ? rf_message_take(ret_trailer, fields) : -ENOMEM;
}

struct rf_field *rf_forward_find(const struct rf_forward_message *message, struct rf_span name)
{
	for (size_t i = 0; i < message->count; i++)
		if (rf_span_is_like(message->fields[i].name, name))
			return &message->fields[i];
	return NULL;
}

bool rf_forward_put(struct rf_forward_message *message, struct rf_span name, struct rf_span value)
{
	rf_forward_remove(message, name);
	if (message->count == message->room)
		return false;
	message->fields[message->count++] = (struct rf_field){ name, value };
	return true;
}

void rf_forward_remove(struct rf_forward_message *message, struct rf_span name)
{
	size_t kept = 0;

	for (size_t i = 0; i < message->count; i++)
		if (!rf_span_is_like(message->fields[i].name, name))
			message->fields[kept++] = message->fields[i];
	message->count = kept;
}

struct rf_span rf_message_target(struct rf_forward_message *message)
{
	size_t len = message->path.len + 1 + message->query.len;
	char *text;

	if (!message->has_query)
		return message->path;
	text = rf_arena_alloc(message->arena, len + 1);
	if (!text)
		return RF_SPAN("");
	memcpy(text, message->path.at, message->path.len);
	text[message->path.len] = '?';
	if (message->query.len > 0)
		memcpy(text + message->path.len + 1, message->query.at, message->query.len);
	return (struct rf_span){ text, len };
}

const char *rf_message_text(struct rf_forward_message *message, struct rf_span text)
{
	struct rf_span copy = rf_message_copy(message, text);

	return copy.len > 0 ? copy.at : "";
}
