/* Addresses and ports that a policy names: see net-place.h. */
#include "policy/net-place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "http/url.h"

static const uint8_t loopback[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 };

static int fail_place(const char *text, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not an address", text);
	return rf_fail_hint(err, "write one such as 127.0.0.1, 127.0.0.1:8080, ::1 or [::1]:8080");
}

int rf_net_place_read(const char *text, uint8_t ret_address[16], uint16_t *ret_port,
		      struct rf_err *err)
{
	struct rf_authority authority;
	char bracketed[RF_NET_PLACE];
	const char *colon = strchr(text, ':');
	int len = (int)strlen(text);

	if (len >= (int)sizeof(bracketed) - 2)
		return fail_place(text, err);
	if (text[0] != '[' && colon && strchr(colon + 1, ':')) {
		len = snprintf(bracketed, sizeof(bracketed), "[%s]", text);
		text = bracketed;
	}
	if (rf_url_parse_authority((struct rf_span){ text, (size_t)len }, &authority) ||
	    !rf_net_address_of(&authority.host, ret_address))
		return fail_place(text, err);
	*ret_port = authority.port;
	return 0;
}

void rf_net_place_write(const uint8_t address[16], uint16_t port, char text[RF_NET_PLACE])
{
	bool is_v4 = memcmp(address, loopback, 12) == 0;
	char name[INET6_ADDRSTRLEN];

	inet_ntop(is_v4 ? AF_INET : AF_INET6, address + (is_v4 ? 12 : 0), name, sizeof(name));
	if (port == 0)
		snprintf(text, RF_NET_PLACE, "%s", name);
	else
		snprintf(text, RF_NET_PLACE, is_v4 ? "%s:%u" : "[%s]:%u", name, port);
}

static int fail_publish(const char *text, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not a port to publish", text);
	return rf_fail_hint(err, "write 8080, 8080:80 (the host's first), or 0.0.0.0:8080:80");
}

/* Takes a port off the end of `span`, and what is in front of it. */
static bool take_port(struct rf_span *span, uint16_t *ret_port)
{
	unsigned long long number;
	size_t at = span->len;

	while (at > 0 && span->at[at - 1] != ':')
		at--;
	if (rf_span_number(rf_span_part(*span, at, span->len), UINT16_MAX, &number) < 0 ||
	    number == 0)
		return false;
	*ret_port = (uint16_t)number;
	span->len = at ? at - 1 : 0;
	return true;
}

int rf_net_place_publish(const char *text, struct rf_net_publish *ret_publish, struct rf_err *err)
{
	struct rf_net_publish publish = { 0 };
	struct rf_span rest = rf_span_of(text);
	char address[RF_NET_PLACE];
	uint16_t none;

	memcpy(publish.address, loopback, sizeof(loopback));
	if (rest.len >= sizeof(address) || !take_port(&rest, &publish.inside))
		return fail_publish(text, err);
	publish.port = publish.inside;
	if (rest.len > 0 && !take_port(&rest, &publish.port))
		return fail_publish(text, err);
	if (rest.len > 0) {
		memcpy(address, rest.at, rest.len);
		address[rest.len] = '\0';
		if (rf_net_place_read(address, publish.address, &none, err) < 0 || none != 0)
			return fail_publish(text, err);
	}
	*ret_publish = publish;
	return 0;
}

void rf_net_place_write_publish(const struct rf_net_publish *publish, char text[RF_NET_PLACE])
{
	bool is_usual = memcmp(publish->address, loopback, sizeof(loopback)) == 0;
	char address[RF_NET_PLACE];

	rf_net_place_write(publish->address, publish->port, address);
	if (!is_usual)
		snprintf(text, RF_NET_PLACE, "%.56s:%u", address, publish->inside);
	else if (publish->port == publish->inside)
		snprintf(text, RF_NET_PLACE, "%u", publish->port);
	else
		snprintf(text, RF_NET_PLACE, "%u:%u", publish->port, publish->inside);
}
