/* A header field: see field.h. */
#include "http/field.h"

#include <errno.h>

#include "base/fd.h"
#include "http/octet.h"

/* Names that decide where a message ends or whom it is for. */
static const struct rf_span own_names[] = {
	RF_SPAN_INIT("content-length"),
	RF_SPAN_INIT("transfer-encoding"),
};

bool rf_field_is_seen_as(struct rf_span name, struct rf_span own)
{
	if (name.len != own.len)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char octet = name.at[i] == '_' ? '-' : rf_octet_lower(name.at[i]);

		if (octet != own.at[i])
			return false;
	}
	return true;
}

bool rf_field_is_alike(struct rf_span name)
{
	if (rf_span_find(name, '_') == name.len)
		return false;
	for (size_t i = 0; i < RF_LEN(own_names); i++)
		if (rf_field_is_seen_as(name, own_names[i]))
			return true;
	return false;
}

static enum rf_fault check_name(struct rf_span name)
{

	if (name.len == 0)
		return RF_FAULT_NAME;
	for (size_t i = 0; i < name.len; i++)
		if (!rf_octet_is(name.at[i], RF_OCTET_TOKEN))
			return RF_FAULT_NAME;
	return rf_field_is_alike(name) ? RF_FAULT_NAME_ALIKE : RF_FAULT_NONE;
}

enum rf_fault rf_field_parse(struct rf_span line, struct rf_field *ret_field)
{
	size_t colon = rf_span_find(line, ':');
	struct rf_span name = rf_span_part(line, 0, colon);
	enum rf_fault fault;

	if (line.len > 0 && (line.at[0] == ' ' || line.at[0] == '\t'))
		return RF_FAULT_FOLD;
	if (colon == line.len)
		return RF_FAULT_NO_COLON;
	if (colon > 0 && (line.at[colon - 1] == ' ' || line.at[colon - 1] == '\t'))
		return RF_FAULT_NAME_SPACE;
	fault = check_name(name);
	if (fault)
		return fault;
	ret_field->name = name;
	ret_field->value = rf_span_trim(rf_span_part(line, colon + 1, line.len));
	return RF_FAULT_NONE;
}

const struct rf_field *rf_field_find(struct rf_fields fields, struct rf_span name)
{
	const struct rf_field *end = fields.at + fields.count;

	for (const struct rf_field *field = fields.at; field < end; field++)
		if (rf_span_is_like(field->name, name))
			return field;
	return NULL;
}

int rf_field_next_token(struct rf_span *list, struct rf_span *ret_token)
{
	while (list->len > 0) {
		size_t comma = rf_span_find(*list, ',');
		struct rf_span token = rf_span_trim(rf_span_part(*list, 0, comma));

		*list = rf_span_part(*list, comma + 1, list->len);
		if (token.len == 0)
			continue;
		for (size_t i = 0; i < token.len; i++)
			if (!rf_octet_is(token.at[i], RF_OCTET_TOKEN))
				return -EINVAL;
		*ret_token = token;
		return 1;
	}
	return 0;
}
