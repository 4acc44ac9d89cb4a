/* Where a request goes: see url.h. */
#include "http/url.h"

#include "base/fd.h"
#include "http/octet.h"

static const struct {
	struct rf_span prefix;
	uint16_t port;
} schemes[] = {
	[RF_URL_HTTP] = { RF_SPAN_INIT("http://"), 80 },
	[RF_URL_HTTPS] = { RF_SPAN_INIT("https://"), 443 },
};

uint16_t rf_url_port(enum rf_url_scheme scheme)
{
	return schemes[scheme].port;
}

/* Where the host ends and a port's colon stands, if one does: an IPv6 address has colons of its own. */
static size_t find_port(struct rf_span text)
{
	size_t from = text.len > 0 && text.at[0] == '[' ? rf_span_find(text, ']') : 0;

	return from + rf_span_find(rf_span_part(text, from, text.len), ':');
}

enum rf_fault rf_url_parse_authority(struct rf_span text, struct rf_authority *ret_authority)
{
	struct rf_authority authority = { 0 };
	unsigned long long port = 0;
	enum rf_fault fault;
	size_t colon;

	if (rf_span_find(text, '@') < text.len)
		return RF_FAULT_USERINFO;
	colon = find_port(text);
	fault = rf_host_parse(rf_span_part(text, 0, colon), &authority.host);
	if (fault)
		return fault;
	if (colon < text.len &&
	    (rf_span_number(rf_span_part(text, colon + 1, text.len), 65535, &port) < 0 ||
	     port == 0))
		return RF_FAULT_PORT;
	authority.port = (uint16_t)port;
	*ret_authority = authority;
	return RF_FAULT_NONE;
}

enum rf_fault rf_url_divide(struct rf_span text, struct rf_url *url)
{
	size_t mark = rf_span_find(text, '?');

	for (size_t i = 0; i < text.len; i++)
		if (!rf_octet_is(text.at[i], RF_OCTET_TARGET))
			return RF_FAULT_TARGET_OCTET;
	url->path = rf_span_part(text, 0, mark);
	url->query = rf_span_part(text, mark + 1, text.len);
	url->has_query = mark < text.len;
	return RF_FAULT_NONE;
}

/* The bytes up to the first that ends an authority. */
static size_t authority_length(struct rf_span text)
{
	size_t len = 0;

	while (len < text.len && text.at[len] != '/' && text.at[len] != '?' && text.at[len] != '#')
		len++;
	return len;
}

enum rf_fault rf_url_parse(struct rf_span text, struct rf_url *ret_url)
{
	struct rf_url url = { 0 };
	enum rf_fault fault;
	size_t i, len;

	for (i = 0; i < RF_LEN(schemes); i++)
		if (rf_span_is_like(rf_span_part(text, 0, schemes[i].prefix.len),
				    schemes[i].prefix))
			break;
	if (i == RF_LEN(schemes))
		return RF_FAULT_SCHEME;
	url.scheme = (enum rf_url_scheme)i;
	text = rf_span_part(text, schemes[i].prefix.len, text.len);
	len = authority_length(text);
	fault = rf_url_parse_authority(rf_span_part(text, 0, len), &url.authority);
	if (!fault)
		fault = rf_url_divide(rf_span_part(text, len, text.len), &url);
	if (fault)
		return fault;
	if (!url.authority.port)
		url.authority.port = schemes[i].port;
	*ret_url = url;
	return RF_FAULT_NONE;
}
