/* Where a message ends: see framing.h. */
#include "http/framing.h"

#include "base/fd.h"

/* What the fields say about the message itself, each at most once. */
struct facts {
	const struct rf_field *host, *length, *coding, *expect, *upgrade;
	bool has_close, has_upgrade; /* in Connection */
	uint64_t length_value;
};

/* Fields that the connection's own list must not name: to drop them would change the message. */
static const struct rf_span kept_names[] = {
	RF_SPAN_INIT("host"),
	RF_SPAN_INIT("content-length"),
	RF_SPAN_INIT("transfer-encoding"),
};

static const struct rf_span head_only[] = {
	RF_SPAN_INIT("authorization"),
	RF_SPAN_INIT("connection"),
	RF_SPAN_INIT("content-encoding"),
	RF_SPAN_INIT("content-length"),
	RF_SPAN_INIT("content-range"),
	RF_SPAN_INIT("content-type"),
	RF_SPAN_INIT("cookie"),
	RF_SPAN_INIT("expect"),
	RF_SPAN_INIT("forwarded"),
	RF_SPAN_INIT("host"),
	RF_SPAN_INIT("keep-alive"),
	RF_SPAN_INIT("location"),
	RF_SPAN_INIT("proxy-authenticate"),
	RF_SPAN_INIT("proxy-authorization"),
	RF_SPAN_INIT("set-cookie"),
	RF_SPAN_INIT("te"),
	RF_SPAN_INIT("trailer"),
	RF_SPAN_INIT("transfer-encoding"),
	RF_SPAN_INIT("upgrade"),
	RF_SPAN_INIT("www-authenticate"),
};

static bool is_one_of(struct rf_span name, const struct rf_span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rf_span_is_like(name, names[i]))
			return true;
	return false;
}

bool rf_framing_is_head_only(struct rf_span name)
{
	return is_one_of(name, head_only, RF_LEN(head_only));
}

/* --- facts: one function a field, by a table --- */

static enum rf_fault take_host(struct facts *facts, const struct rf_field *field)
{
	if (facts->host)
		return RF_FAULT_HOST_TWICE;
	facts->host = field;
	return RF_FAULT_NONE;
}

static enum rf_fault take_length(struct facts *facts, const struct rf_field *field)
{
	unsigned long long value;

	if (facts->length)
		return RF_FAULT_LENGTH_TWICE;
	if (rf_span_number(field->value, UINT64_MAX, &value) < 0)
		return RF_FAULT_LENGTH;
	facts->length = field;
	facts->length_value = value;
	return RF_FAULT_NONE;
}

static enum rf_fault take_coding(struct facts *facts, const struct rf_field *field)
{
	if (facts->coding)
		return RF_FAULT_CODING_TWICE;
	if (!rf_span_is(field->value, RF_SPAN("chunked")))
		return RF_FAULT_CODING;
	facts->coding = field;
	return RF_FAULT_NONE;
}

static enum rf_fault take_connection(struct facts *facts, const struct rf_field *field)
{
	struct rf_span list = field->value, token;
	int code;

	while ((code = rf_field_next_token(&list, &token)) > 0) {
		if (is_one_of(token, kept_names, RF_LEN(kept_names)))
			return RF_FAULT_CONNECTION;
		facts->has_close |= rf_span_is_like(token, RF_SPAN("close"));
		facts->has_upgrade |= rf_span_is_like(token, RF_SPAN("upgrade"));
	}
	return code < 0 ? RF_FAULT_CONNECTION : RF_FAULT_NONE;
}

static enum rf_fault take_expect(struct facts *facts, const struct rf_field *field)
{
	if (facts->expect || !rf_span_is_like(field->value, RF_SPAN("100-continue")))
		return RF_FAULT_EXPECT;
	facts->expect = field;
	return RF_FAULT_NONE;
}

static enum rf_fault take_upgrade(struct facts *facts, const struct rf_field *field)
{
	facts->upgrade = field;
	return RF_FAULT_NONE;
}

/* clang-format off */
static const struct {
	struct rf_span name;
	enum rf_fault (*take)(struct facts *facts, const struct rf_field *field);
} takers[] = {
	{ RF_SPAN_INIT("host"),              take_host       },
	{ RF_SPAN_INIT("content-length"),    take_length     },
	{ RF_SPAN_INIT("transfer-encoding"), take_coding     },
	{ RF_SPAN_INIT("connection"),        take_connection },
	{ RF_SPAN_INIT("expect"),            take_expect     },
	{ RF_SPAN_INIT("upgrade"),           take_upgrade    },
};
/* clang-format on */

static enum rf_fault read_facts(struct rf_fields fields, unsigned minor, struct facts *facts)
{
	enum rf_fault fault;

	for (size_t i = 0; i < fields.count; i++)
		for (size_t k = 0; k < RF_LEN(takers); k++) {
			if (!rf_span_is_like(fields.at[i].name, takers[k].name))
				continue;
			fault = takers[k].take(facts, &fields.at[i]);
			if (fault)
				return fault;
		}
	if (facts->length && facts->coding)
		return RF_FAULT_LENGTH_AND_CODING;
	if (facts->coding && minor == 0)
		return RF_FAULT_CODING_OLD;
	return RF_FAULT_NONE;
}

/* --- the rules --- */

/* Whom a request is for.  A target that names a host and a Host field that names another are two answers. */
static enum rf_fault find_authority(const struct rf_start_line *start, const struct facts *facts,
				    struct rf_authority *ret_authority)
{
	bool is_named = start->form == RF_TARGET_URL || start->form == RF_TARGET_AUTHORITY;
	struct rf_authority host = { 0 };
	enum rf_fault fault;

	if (!facts->host) {
		if (start->minor > 0)
			return RF_FAULT_HOST_MISSING;
		*ret_authority = is_named ? start->url.authority : host;
		return RF_FAULT_NONE;
	}
	fault = rf_url_parse_authority(facts->host->value, &host);
	if (fault)
		return fault;
	if (is_named) {
		/* Clients leave a scheme's own port out; some do so with CONNECT too. */
		uint16_t port = host.port ? host.port : rf_url_port(start->url.scheme);
		bool is_same_port = port == start->url.authority.port ||
				    (start->form == RF_TARGET_AUTHORITY && !host.port);

		if (!rf_host_is_same(&host.host, &start->url.authority.host) || !is_same_port)
			return RF_FAULT_HOST_DIFFERS;
		host = start->url.authority;
	}
	*ret_authority = host;
	return RF_FAULT_NONE;
}

enum rf_fault rf_framing_request(const struct rf_start_line *start, struct rf_fields fields,
				 struct rf_framing *ret_framing, struct rf_authority *ret_authority)
{
	struct rf_framing framing = { 0 };
	struct rf_authority authority;
	struct facts facts = { 0 };
	enum rf_fault fault = read_facts(fields, start->minor, &facts);

	if (!fault)
		fault = find_authority(start, &facts, &authority);
	if (fault)
		return fault;
	if (start->form == RF_TARGET_AUTHORITY && (facts.length || facts.coding))
		return RF_FAULT_BODY_UNWANTED;
	if (facts.coding)
		framing.body = RF_BODY_CHUNKED;
	else if (facts.length_value > 0)
		framing.body = RF_BODY_LENGTH;
	framing.length = facts.length_value;
	/* HTTP/1.0 has keep-alive only as an extension, which is not worth its rules. */
	framing.is_kept = start->minor > 0 && !facts.has_close;
	framing.is_upgrade = start->minor > 0 && facts.has_upgrade && facts.upgrade &&
			     framing.body == RF_BODY_NONE;
	framing.wants_continue = start->minor > 0 && facts.expect && framing.body != RF_BODY_NONE;
	*ret_framing = framing;
	*ret_authority = authority;
	return RF_FAULT_NONE;
}

/* The body of a response whose status and method decide nothing. */
static enum rf_body plain_body(const struct facts *facts)
{
	if (facts->coding)
		return RF_BODY_CHUNKED;
	if (!facts->length)
		return RF_BODY_CLOSE;
	return facts->length_value > 0 ? RF_BODY_LENGTH : RF_BODY_NONE;
}

static enum rf_fault find_body(unsigned status, const struct facts *facts,
			       const struct rf_framing_asked *asked, enum rf_body *ret_body)
{
	bool has_body = facts->coding || facts->length_value > 0;

	*ret_body = RF_BODY_NONE;
	if (status == 101) {
		*ret_body = RF_BODY_TUNNEL;
		if (!asked->is_upgrade || !facts->has_upgrade || !facts->upgrade)
			return RF_FAULT_SWITCH;
		return has_body ? RF_FAULT_BODY_UNWANTED : RF_FAULT_NONE;
	}
	/* A server that announces a body here may send it, and it would be taken for the next answer. */
	if (status < 200 || status == 204)
		return has_body ? RF_FAULT_BODY_UNWANTED : RF_FAULT_NONE;
	if (asked->is_connect && status < 300)
		*ret_body = RF_BODY_TUNNEL;
	else if (!asked->is_head && status != 304)
		*ret_body = plain_body(facts);
	return RF_FAULT_NONE;
}

enum rf_fault rf_framing_response(const struct rf_start_line *start, struct rf_fields fields,
				  const struct rf_framing_asked *asked,
				  struct rf_framing *ret_framing)
{
	struct rf_framing framing = { 0 };
	struct facts facts = { 0 };
	enum rf_fault fault = read_facts(fields, start->minor, &facts);

	if (!fault)
		fault = find_body(start->status, &facts, asked, &framing.body);
	if (fault)
		return fault;
	framing.length = facts.length_value;
	framing.is_kept = start->minor > 0 && !facts.has_close && framing.body != RF_BODY_CLOSE &&
			  framing.body != RF_BODY_TUNNEL;
	framing.is_upgrade = start->status == 101;
	*ret_framing = framing;
	return RF_FAULT_NONE;
}
