/* SOCKS5 as a box speaks it: see socks.h. */
#include "gateway/socks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#define CONNECT 1
#define OPEN    0 /* a method: no password */

enum {
	IPV4 = 1,
	NAME = 3,
	IPV6 = 4
};

int rf_socks_greeting(struct rf_span bytes, size_t *ret_used, bool *ret_is_open)
{
	size_t count;

	if (bytes.len > 0 && bytes.at[0] != RF_SOCKS_VERSION)
		return -EPROTO;
	if (bytes.len < 2)
		return 0;
	count = (uint8_t)bytes.at[1];
	if (bytes.len < 2 + count)
		return 0;
	*ret_is_open = memchr(bytes.at + 2, OPEN, count) != NULL;
	*ret_used = 2 + count;
	return 1;
}

/* The host of `len` octets at `at`, as if it stood in a URL: one reader for all spellings. */
static bool read_host(int kind, const char *at, size_t len, struct rf_host *ret_host)
{
	char text[INET6_ADDRSTRLEN + 2] = "[";

	if (kind == NAME) {
		/* A name that is an address is one of another kind, and was to be sent as such. */
		return !rf_host_parse((struct rf_span){ at, len }, ret_host);
	}
	if (kind == IPV4) {
		inet_ntop(AF_INET, at, text, sizeof(text));
	} else {
		inet_ntop(AF_INET6, at, text + 1, INET6_ADDRSTRLEN);
		strncat(text, "]", 2);
	}
	return !rf_host_parse(rf_span_of(text), ret_host);
}

int rf_socks_request(struct rf_span bytes, size_t *ret_used, struct rf_host *ret_host,
		     uint16_t *ret_port, enum rf_socks_reply *ret_reply)
{
	size_t from = 4, len;
	int kind;

	*ret_reply = RF_SOCKS_FAILED;
	if (bytes.len > 0 && bytes.at[0] != RF_SOCKS_VERSION)
		return -EPROTO;
	if (bytes.len < 5)
		return 0;
	*ret_reply = RF_SOCKS_COMMAND;
	if (bytes.at[1] != CONNECT)
		return -EPROTO;
	*ret_reply = RF_SOCKS_ADDRESS;
	kind = (uint8_t)bytes.at[3];
	if (bytes.at[2] != 0 || (kind != IPV4 && kind != NAME && kind != IPV6))
		return -EPROTO;
	len = kind == IPV4 ? 4 : 16;
	if (kind == NAME) {
		len = (uint8_t)bytes.at[4];
		from = 5;
	}
	if (bytes.len < from + len + 2)
		return 0;
	*ret_port =
		(uint16_t)((uint8_t)bytes.at[from + len] << 8 | (uint8_t)bytes.at[from + len + 1]);
	if (*ret_port == 0 || !read_host(kind, bytes.at + from, len, ret_host))
		return -EPROTO;
	*ret_used = from + len + 2;
	return 1;
}

struct rf_span rf_socks_answer(enum rf_socks_reply reply, char room[10])
{
	memset(room, 0, 10);
	room[0] = RF_SOCKS_VERSION;
	room[1] = (char)reply;
	room[3] = IPV4;
	return (struct rf_span){ room, 10 };
}
