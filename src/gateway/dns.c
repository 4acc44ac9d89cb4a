/* DNS as a box speaks it: see dns.h.  Numbers and layouts are RFC 1035's (4.1), OPT's RFC 6891's (6.1). */
#include "gateway/dns.h"

#include <errno.h>
#include <string.h>

#define HEAD        12
#define LABEL       63
#define NAME_OCTETS 255 /* as it is sent: each label with its length, and the root */
#define OPT         41
#define IN          1
#define ADDITIONAL  4 /* records behind the question, at most: an OPT, a signature */

/* Bits of the second pair of octets. */
#define QR     0x8000u
#define OPCODE 0x7800u
#define AA     0x0400u
#define TC     0x0200u
#define RD     0x0100u
#define RA     0x0080u
#define CD     0x0010u

struct reader {
	const uint8_t *at, *end;
};

static bool has(const struct reader *reader, size_t len)
{
	return (size_t)(reader->end - reader->at) >= len;
}

static uint16_t take_u16(struct reader *reader)
{
	uint16_t value = (uint16_t)(reader->at[0] << 8 | reader->at[1]);

	reader->at += 2;
	return value;
}

/* Whether a label's octet can stand in a name's text without meaning something else there. */
static bool is_plain(uint8_t octet)
{
	return octet > ' ' && octet < 0x7f && octet != '.';
}

/* Reads a whole name, and its text if `name` is given: empty if it can't be shown. */
static bool take_name(struct reader *reader, char *name)
{
	size_t octets = 1, len = 0;
	bool can_show = true;

	for (;;) {
		size_t label;

		if (!has(reader, 1))
			return false;
		label = *reader->at++;
		octets += label + 1;
		if (label == 0)
			break;
		if (label > LABEL || !has(reader, label) || octets > NAME_OCTETS)
			return false;
		if (len > 0)
			name[len++] = '.';
		for (size_t i = 0; i < label; i++) {
			uint8_t octet = reader->at[i];

			can_show = can_show && is_plain(octet);
			name[len++] = (char)(octet >= 'A' && octet <= 'Z' ? octet | 0x20 : octet);
		}
		reader->at += label;
	}
	name[can_show ? len : 0] = '\0';
	return true;
}

/* A record's name: the root, or one that is passed over. */
static bool skip_name(struct reader *reader, bool *ret_is_root)
{
	*ret_is_root = has(reader, 1) && reader->at[0] == 0;
	for (size_t octets = 0; octets < NAME_OCTETS && has(reader, 1);) {
		size_t label = *reader->at++;

		if (label == 0)
			return true;
		if (label >= 0xc0) { /* a pointer is the end of a name; nobody follows it */
			if (!has(reader, 1))
				return false;
			reader->at++;
			return true;
		}
		if (label > LABEL || !has(reader, label))
			return false;
		reader->at += label;
		octets += label + 1;
	}
	return false;
}

/* What follows the question: an OPT at most once, anything else unread. */
static int take_additional(struct reader *reader, unsigned count, struct rf_dns_query *query)
{
	while (count-- > 0) {
		uint16_t type, class, len;
		bool is_root;
		uint8_t version;

		if (!skip_name(reader, &is_root) || !has(reader, 10))
			return RF_DNS_MALFORMED;
		type = take_u16(reader);
		class = take_u16(reader);
		version = reader->at[1];
		reader->at += 4;
		len = take_u16(reader);
		if (!has(reader, len))
			return RF_DNS_MALFORMED;
		reader->at += len;
		if (type != OPT)
			continue;
		if (!is_root || query->has_edns)
			return RF_DNS_MALFORMED;
		query->has_edns = true;
		query->room = class < RF_DNS_UDP    ? RF_DNS_UDP
			      : class > RF_DNS_EDNS ? RF_DNS_EDNS
						    : class;
		if (version != 0)
			return RF_DNS_VERSION;
	}
	return reader->at == reader->end ? RF_DNS_WELL : RF_DNS_MALFORMED;
}

int rf_dns_parse(const uint8_t *data, size_t len, struct rf_dns_query *ret_query)
{
	struct reader reader = { data, data + len };
	struct rf_dns_query query = { .room = RF_DNS_UDP };
	uint16_t flags, count[4];
	int code;

	if (len < HEAD || len > RF_DNS_QUERY)
		return -EINVAL;
	query.id = take_u16(&reader);
	flags = take_u16(&reader);
	for (size_t i = 0; i < 4; i++)
		count[i] = take_u16(&reader);
	if (flags & QR) /* who answers answers might talk to itself for ever */
		return -EINVAL;
	query.wants_recursion = flags & RD;
	query.is_check_disabled = flags & CD;
	*ret_query = query;
	if (flags & OPCODE)
		return RF_DNS_UNKNOWN;
	if (count[0] != 1 || count[1] > 0 || count[2] > 0 || count[3] > ADDITIONAL || flags & TC)
		return RF_DNS_MALFORMED;
	query.question = reader.at;
	if (!take_name(&reader, query.name) || !has(&reader, 4))
		return RF_DNS_MALFORMED;
	query.type = take_u16(&reader);
	query.class = take_u16(&reader);
	query.question_len = (size_t)(reader.at - query.question);
	query.has_question = true;
	code = take_additional(&reader, count[3], &query);
	*ret_query = query;
	if (code == RF_DNS_WELL && query.class != IN)
		return RF_DNS_REFUSED;
	return code;
}

static void put_u16(uint8_t **at, unsigned value)
{
	*(*at)++ = (uint8_t)(value >> 8);
	*(*at)++ = (uint8_t)value;
}

static void put_bytes(uint8_t **at, const uint8_t *data, size_t len)
{
	memcpy(*at, data, len);
	*at += len;
}

size_t rf_dns_format(const struct rf_dns_query *query, const struct rf_dns_answer *answer,
		     uint8_t *data, size_t room)
{
	size_t question_len = query->has_question ? query->question_len : 0;
	bool has_address = answer->address && query->has_question;
	size_t len = HEAD + question_len + (has_address ? 12 + answer->address_len : 0) +
		     (query->has_edns ? 11 : 0);
	uint8_t *at = data;

	if (len > room)
		return 0;
	put_u16(&at, query->id);
	put_u16(&at, QR | RA | (query->wants_recursion ? RD : 0) |
			     (query->is_check_disabled ? CD : 0) | ((unsigned)answer->rcode & 0xf));
	put_u16(&at, question_len > 0);
	put_u16(&at, has_address);
	put_u16(&at, 0);
	put_u16(&at, query->has_edns);
	if (question_len > 0)
		put_bytes(&at, query->question, question_len);
	if (has_address) {
		put_u16(&at, 0xc000 | HEAD); /* the question's name */
		put_u16(&at, query->type);
		put_u16(&at, IN);
		put_u16(&at, answer->ttl_s >> 16);
		put_u16(&at, answer->ttl_s);
		put_u16(&at, (unsigned)answer->address_len);
		put_bytes(&at, answer->address, answer->address_len);
	}
	if (query->has_edns) {
		*at++ = 0;
		put_u16(&at, OPT);
		put_u16(&at, RF_DNS_EDNS);
		put_u16(&at, (unsigned)answer->rcode >> 4 << 8);
		put_u16(&at, 0);
		put_u16(&at, 0);
	}
	return (size_t)(at - data);
}
