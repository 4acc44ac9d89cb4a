/* A host, in the one form that everybody compares: see host.h. */
#include "http/host.h"

#include <arpa/inet.h>

#include "http/octet.h"

#define LABEL_MAX 63

static enum rf_fault parse_ipv6(struct rf_span text, struct rf_host *host)
{
	char copy[INET6_ADDRSTRLEN];

	if (text.len < 4 || text.at[text.len - 1] != ']' || text.len - 2 >= sizeof(copy))
		return RF_FAULT_HOST_IPV6;
	text = rf_span_part(text, 1, text.len - 2);
	for (size_t i = 0; i < text.len; i++)
		if (!rf_octet_is(text.at[i], RF_OCTET_HEX) && text.at[i] != ':' &&
		    text.at[i] != '.')
			return RF_FAULT_HOST_IPV6; /* a zone, an IPvFuture, a NUL */
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET6, copy, host->address) != 1 ||
	    !inet_ntop(AF_INET6, host->address, host->text, sizeof(host->text)))
		return RF_FAULT_HOST_IPV6;
	host->kind = RF_HOST_IPV6;
	host->len = (uint8_t)strlen(host->text);
	return RF_FAULT_NONE;
}

/* Four decimal numbers, in the form in which they would be printed. */
static enum rf_fault parse_ipv4(struct rf_host *host)
{
	struct rf_span rest = { host->text, host->len };

	for (int i = 0; i < 4; i++) {
		size_t dot = rf_span_find(rest, '.');
		unsigned long long number;

		if ((dot == rest.len) != (i == 3) ||
		    rf_span_number(rf_span_part(rest, 0, dot), 255, &number) < 0)
			return RF_FAULT_HOST_NUMBER;
		host->address[i] = (uint8_t)number;
		rest = rf_span_part(rest, dot + 1, rest.len);
	}
	host->kind = RF_HOST_IPV4;
	return RF_FAULT_NONE;
}

static enum rf_fault check_label(struct rf_span label)
{
	for (size_t i = 0; i < label.len; i++)
		if (!rf_octet_is(label.at[i], RF_OCTET_LABEL))
			return RF_FAULT_HOST_OCTET;
	if (label.len == 0 || label.len > LABEL_MAX || label.at[0] == '-' ||
	    label.at[label.len - 1] == '-' || rf_span_is_like(label, RF_SPAN("xn--")))
		return RF_FAULT_HOST_LABEL;
	return RF_FAULT_NONE;
}

/* True for a last label that makes systems read the whole as an address: digits, or 0x and what may follow. */
static bool is_number(struct rf_span label)
{
	size_t from = 0;
	enum rf_octet part = RF_OCTET_DIGIT;

	if (label.len >= 2 && label.at[0] == '0' && rf_octet_lower(label.at[1]) == 'x') {
		from = 2;
		part = RF_OCTET_HEX;
	}
	for (size_t i = from; i < label.len; i++)
		if (!rf_octet_is(label.at[i], part))
			return false;
	return true;
}

static enum rf_fault check_labels(struct rf_span rest, struct rf_span *ret_last)
{
	enum rf_fault fault;
	size_t dot;

	for (;;) {
		dot = rf_span_find(rest, '.');
		*ret_last = rf_span_part(rest, 0, dot);
		fault = check_label(*ret_last);
		if (fault || dot == rest.len)
			return fault;
		rest = rf_span_part(rest, dot + 1, rest.len);
	}
}

enum rf_fault rf_host_parse(struct rf_span text, struct rf_host *ret_host)
{
	struct rf_host host = { .kind = RF_HOST_NAME };
	struct rf_span last;
	enum rf_fault fault;

	if (text.len == 0)
		return RF_FAULT_HOST_EMPTY;
	if (text.at[0] == '[') {
		fault = parse_ipv6(text, &host);
	} else {
		if (text.len > 1 && text.at[text.len - 1] == '.')
			text.len--;
		if (text.len > RF_HOST_TEXT)
			return RF_FAULT_HOST_LONG;
		fault = check_labels(text, &last);
		if (fault)
			return fault;
		for (size_t i = 0; i < text.len; i++)
			host.text[i] = rf_octet_lower(text.at[i]);
		host.len = (uint8_t)text.len;
		if (is_number(last))
			fault = parse_ipv4(&host);
	}
	if (!fault)
		*ret_host = host;
	return fault;
}

bool rf_host_is_same(const struct rf_host *host, const struct rf_host *other)
{
	return host->kind == other->kind && host->len == other->len &&
	       memcmp(host->text, other->text, host->len) == 0;
}
