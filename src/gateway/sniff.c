/* What a connection's first bytes say it is: see sniff.h.  TLS' layouts are RFC 8446's (4.1.2, 5.1) and RFC 6066's (3). */
#include "gateway/sniff.h"

#include <stdint.h>

#include "http/octet.h"

#define RECORD_HEAD   5
#define RECORD_MOST   16384 /* bytes of a plain record */
#define CLIENT_HELLO  1
#define HELLO_MOST    16384
#define METHOD_MOST   24 /* letters, as start-line.c has it */
#define EXT_NAME      0
#define EXT_PROTOCOLS 16
#define EXT_ECH       0xfe0d

struct reader {
	const uint8_t *at, *end;
};

static size_t left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* A number of `size` octets; false at the end. */
static bool take(struct reader *reader, unsigned size, size_t *ret_value)
{
	if (left(reader) < size)
		return false;
	*ret_value = 0;
	while (size-- > 0)
		*ret_value = *ret_value << 8 | *reader->at++;
	return true;
}

/* A run of octets behind its length. */
static bool take_run(struct reader *reader, unsigned size, struct reader *ret_run)
{
	size_t len;

	if (!take(reader, size, &len) || left(reader) < len)
		return false;
	*ret_run = (struct reader){ reader->at, reader->at + len };
	reader->at += len;
	return true;
}

/* One name, of the only kind there is. */
static bool take_server_name(struct reader ext, struct rf_sniff *sniff)
{
	struct reader list, name;
	size_t kind;

	if (!take_run(&ext, 2, &list) || left(&ext) > 0 || !take(&list, 1, &kind) || kind != 0 ||
	    !take_run(&list, 2, &name) || left(&list) > 0)
		return false;
	if (rf_host_parse((struct rf_span){ (const char *)name.at, left(&name) }, &sniff->name))
		return false;
	sniff->has_name = true;
	return true;
}

static bool take_protocols(struct reader ext, struct rf_sniff *sniff)
{
	struct reader list, name;

	if (!take_run(&ext, 2, &list) || left(&ext) > 0)
		return false;
	while (left(&list) > 0) {
		if (!take_run(&list, 1, &name))
			return false;
		if (left(&name) == 2 && memcmp(name.at, "h2", 2) == 0)
			sniff->offers_h2 = true;
	}
	return true;
}

static bool take_extensions(struct reader *list, struct rf_sniff *sniff)
{
	while (left(list) > 0) {
		struct reader ext;
		size_t type;

		if (!take(list, 2, &type) || !take_run(list, 2, &ext))
			return false;
		if (type == EXT_NAME && (sniff->has_name || !take_server_name(ext, sniff)))
			return false;
		if (type == EXT_PROTOCOLS && !take_protocols(ext, sniff))
			return false;
		if (type == EXT_ECH)
			sniff->has_ech = true;
	}
	return true;
}

/* A whole ClientHello, without its head. */
static bool take_hello(struct reader hello, struct rf_sniff *sniff)
{
	struct reader run, extensions;
	size_t version;

	if (!take(&hello, 2, &version) || version >> 8 != 3 || left(&hello) < 32)
		return false;
	hello.at += 32; /* random */
	if (!take_run(&hello, 1, &run) || !take_run(&hello, 2, &run) || !take_run(&hello, 1, &run))
		return false;
	if (left(&hello) == 0) /* without extensions */
		return true;
	return take_run(&hello, 2, &extensions) && left(&hello) == 0 &&
	       take_extensions(&extensions, sniff);
}

/*
 * Puts the ClientHello together from its records.  RF_SNIFF_TLS: it is all there, and `*ret_hello` of the copy.  How many octets it has is known from its
 * first four; a record that is empty, of another kind in between, or with more in it than the ClientHello, is nothing that a client sends.
 */
static enum rf_sniff_kind gather(struct reader bytes, uint8_t *copy, struct reader *ret_hello,
				 size_t *ret_bytes)
{
	const uint8_t *begin = bytes.at;
	size_t have = 0, need = 4;

	while (have < need) {
		size_t kind, version, len, part;

		if (!take(&bytes, 1, &kind) || !take(&bytes, 2, &version) || !take(&bytes, 2, &len))
			return RF_SNIFF_MORE;
		if (kind != RF_SNIFF_HANDSHAKE || version >> 8 != 3 || len == 0 ||
		    len > RECORD_MOST)
			return RF_SNIFF_BAD;
		part = left(&bytes) < len ? left(&bytes) : len;
		if (part > 4 + HELLO_MOST - have)
			part = 4 + HELLO_MOST - have;
		memcpy(copy + have, bytes.at, part);
		have += part;
		if (have >= 4) {
			need = 4 + ((size_t)copy[1] << 16 | (size_t)copy[2] << 8 | copy[3]);
			if (copy[0] != CLIENT_HELLO || need > 4 + HELLO_MOST)
				return RF_SNIFF_BAD;
		}
		if (left(&bytes) < len && have < need)
			return RF_SNIFF_MORE;
		if (have >= need && (have > need || part < len))
			return RF_SNIFF_BAD;
		bytes.at += left(&bytes) < len ? left(&bytes) : len;
	}
	*ret_bytes = (size_t)(bytes.at - begin);
	*ret_hello = (struct reader){ copy + 4, copy + need };
	return RF_SNIFF_TLS;
}

static enum rf_sniff_kind look_for_tls(struct rf_span bytes, struct rf_sniff *sniff)
{
	uint8_t copy[4 + HELLO_MOST];
	struct reader all = { (const uint8_t *)bytes.at, (const uint8_t *)bytes.at + bytes.len };
	struct reader hello;
	enum rf_sniff_kind kind;

	/* A text that begins with this octet is none; the version's first octet is 3 in all of TLS. */
	if (bytes.len >= 2 && bytes.at[1] != 3)
		return RF_SNIFF_OTHER;
	kind = gather(all, copy, &hello, &sniff->bytes);
	if (kind != RF_SNIFF_TLS)
		return kind;
	return take_hello(hello, sniff) ? RF_SNIFF_TLS : RF_SNIFF_BAD;
}

bool rf_sniff_is_like_http(struct rf_span bytes)
{
	static const struct rf_span version = RF_SPAN_INIT("HTTP/");
	size_t end = rf_span_find(bytes, '\n');

	for (size_t at = 0; at + version.len <= end; at++)
		if (rf_span_is_like(rf_span_part(bytes, at, version.len), version))
			return true;
	return false;
}

/* A first line that ends with a version of HTTP, wherever a server might look for it. */
static enum rf_sniff_kind look_for_version(struct rf_span bytes)
{
	size_t end = rf_span_find(bytes, '\n');

	if (rf_sniff_is_like_http(bytes))
		return RF_SNIFF_HTTP;
	/* No text: git's "git-upload-pack /x", for one, which no line ends. */
	if (memchr(bytes.at, '\0', end))
		return RF_SNIFF_OTHER;
	/* Of a line that is too long to be looked at, who reads it as HTTP says so. */
	if (end == bytes.len)
		return bytes.len < RF_SNIFF_MOST / 2 ? RF_SNIFF_MORE : RF_SNIFF_HTTP;
	return RF_SNIFF_OTHER;
}

/*
 * What a server might take for a request: servers pass over empty lines before it, over more than one space, and many know methods in small
 * letters and targets with any scheme.  What is no such thing is told as soon as it can't become one.
 */
static enum rf_sniff_kind look_for_http(struct rf_span bytes)
{
	static const struct rf_span preface = RF_SPAN_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	size_t len = 0, target;
	bool is_usual = true;

	if (bytes.at[0] == 'P' &&
	    rf_span_is(rf_span_part(bytes, 0, preface.len), rf_span_part(preface, 0, bytes.len)))
		return bytes.len >= preface.len ? RF_SNIFF_HTTP2 : RF_SNIFF_MORE;
	while (bytes.len > 0 && (bytes.at[0] == '\r' || bytes.at[0] == '\n'))
		bytes = rf_span_part(bytes, 1, bytes.len);
	for (; len < bytes.len && len <= METHOD_MOST && rf_octet_is(bytes.at[len], RF_OCTET_TOKEN);
	     len++)
		is_usual = is_usual && rf_octet_is(bytes.at[len], RF_OCTET_METHOD);
	if (len == bytes.len && len <= METHOD_MOST)
		return RF_SNIFF_MORE;
	if (len == 0 || len > METHOD_MOST)
		return RF_SNIFF_OTHER;
	for (target = len;
	     target < bytes.len && (bytes.at[target] == ' ' || bytes.at[target] == '\t');)
		target++;
	if (target == len)
		return RF_SNIFF_OTHER;
	if (target == bytes.len)
		return RF_SNIFF_MORE;
	if (is_usual && (bytes.at[target] == '/' || bytes.at[target] == '*'))
		return RF_SNIFF_HTTP;
	return look_for_version(bytes);
}

void rf_sniff_look(struct rf_span bytes, struct rf_sniff *ret_sniff)
{
	*ret_sniff = (struct rf_sniff){ .kind = RF_SNIFF_MORE };
	if (bytes.len == 0)
		return;
	if ((uint8_t)bytes.at[0] == RF_SNIFF_HANDSHAKE)
		ret_sniff->kind = look_for_tls(bytes, ret_sniff);
	else
		ret_sniff->kind = look_for_http(bytes);
	if (ret_sniff->kind == RF_SNIFF_MORE && bytes.len >= RF_SNIFF_MOST)
		ret_sniff->kind =
			(uint8_t)bytes.at[0] == RF_SNIFF_HANDSHAKE ? RF_SNIFF_BAD : RF_SNIFF_HTTP;
}
