/*
 * Network addresses: see address.h.  The rows are IANA's registries of special-purpose addresses
 * (RFC 6890), IPv4 and IPv6.
 */
#include "http/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/fd.h"

static const uint8_t v4_in_v6[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* clang-format off */
static const struct range4 {
	uint8_t octets[4];
	uint8_t bits;
	enum rf_address_kind kind;
} ranges4[] = { /* the first that fits */
	{ { 169, 254, 169, 254 }, 32, RF_ADDRESS_METADATA },    /* AWS, Azure, Google, and most others */
	{ { 169, 254, 170,   2 }, 32, RF_ADDRESS_METADATA },    /* AWS containers */
	{ { 169, 254, 170,  23 }, 32, RF_ADDRESS_METADATA },    /* AWS, pods */
	{ { 100, 100, 100, 200 }, 32, RF_ADDRESS_METADATA },    /* Alibaba */
	{ { 192,   0,   0, 192 }, 32, RF_ADDRESS_METADATA },    /* Oracle */
	{ { 168,  63, 129,  16 }, 32, RF_ADDRESS_METADATA },    /* Azure's WireServer, in the midst of public space */
	{ {   0,   0,   0,   0 },  8, RF_ADDRESS_UNSPECIFIED }, /* Linux takes 0.0.0.0 for this machine */
	{ { 127,   0,   0,   0 },  8, RF_ADDRESS_LOOPBACK },
	{ { 169, 254,   0,   0 }, 16, RF_ADDRESS_LINK_LOCAL },
	{ {  10,   0,   0,   0 },  8, RF_ADDRESS_PRIVATE },
	{ { 172,  16,   0,   0 }, 12, RF_ADDRESS_PRIVATE },
	{ { 192, 168,   0,   0 }, 16, RF_ADDRESS_PRIVATE },
	{ { 100,  64,   0,   0 }, 10, RF_ADDRESS_SHARED },
	{ { 192,   0,   0,   0 }, 24, RF_ADDRESS_RESERVED },
	{ { 192,   0,   2,   0 }, 24, RF_ADDRESS_RESERVED },
	{ { 192,  88,  99,   0 }, 24, RF_ADDRESS_RESERVED },
	{ { 198,  18,   0,   0 }, 15, RF_ADDRESS_RESERVED },
	{ { 198,  51, 100,   0 }, 24, RF_ADDRESS_RESERVED },
	{ { 203,   0, 113,   0 }, 24, RF_ADDRESS_RESERVED },
	{ { 224,   0,   0,   0 },  4, RF_ADDRESS_MULTICAST },
	{ { 240,   0,   0,   0 },  4, RF_ADDRESS_RESERVED },    /* 255.255.255.255 among them */
};

#define NOTHING  0xff /* carries no address within */
#define UNLISTED 8    /* bits of a row that no table has */

static const struct range6 {
	uint8_t octets[16];
	uint8_t bits;
	enum rf_address_kind kind; /* RF_ADDRESS_PUBLIC: as what it carries */
	uint8_t within;         /* where an address of IPv4 begins, or NOTHING */
	bool is_inverted;
} ranges6[] = { /* the first that fits */
	{ { 0 }, 128, RF_ADDRESS_UNSPECIFIED, NOTHING, false },
	{ { [15] = 1 }, 128, RF_ADDRESS_LOOPBACK, NOTHING, false },
	{ { [10] = 0xff, 0xff }, 96, RF_ADDRESS_PUBLIC, 12, false },                        /* mapped */
	{ { [8] = 0xff, 0xff }, 96, RF_ADDRESS_PUBLIC, 12, false },                         /* translated: RFC 2765 */
	{ { 0 }, 96, RF_ADDRESS_RESERVED, 12, false },                                      /* compatible: RFC 4291 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, RF_ADDRESS_PUBLIC, 12, false },                   /* NAT64: RFC 6052 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, RF_ADDRESS_PRIVATE, NOTHING, false }, /* NAT64 of one's own: RFC 8215 */
	{ { 0x01, 0x00 }, 64, RF_ADDRESS_RESERVED, NOTHING, false },                        /* discard */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, RF_ADDRESS_RESERVED, 12, true },                  /* Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, RF_ADDRESS_RESERVED, NOTHING, false },
	{ { 0x20, 0x01, 0x00, 0x00 }, 23, RF_ADDRESS_RESERVED, NOTHING, false },
	{ { 0x20, 0x02 }, 16, RF_ADDRESS_PUBLIC, 2, false },                                /* 6to4 */
	{ { 0x3f, 0xff }, 20, RF_ADDRESS_RESERVED, NOTHING, false },
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 32, RF_ADDRESS_METADATA, NOTHING, false },            /* AWS: fd00:ec2::254 and ::23 */
	{ { 0xfd, 0x20, 0x00, 0xce }, 96, RF_ADDRESS_METADATA, NOTHING, false },            /* Google: fd20:ce::254 */
	{ { 0xfc, 0x00 }, 7, RF_ADDRESS_PRIVATE, NOTHING, false },
	{ { 0xfe, 0x80 }, 10, RF_ADDRESS_LINK_LOCAL, NOTHING, false },
	{ { 0xfe, 0xc0 }, 10, RF_ADDRESS_PRIVATE, NOTHING, false },
	{ { 0xff, 0x00 }, 8, RF_ADDRESS_MULTICAST, NOTHING, false },
};
/* clang-format on */

static bool is_in(const uint8_t *octets, const uint8_t *range, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(octets, range, whole) == 0 &&
	       (rest == 0 || (octets[whole] ^ range[whole]) >> (8 - rest) == 0);
}

/* The innermost row of IPv4 that an address is in, of those with at most `bits`; or NULL. */
static const struct range4 *row_of_v4(const uint8_t octets[4], unsigned bits)
{
	for (size_t i = 0; i < RF_LEN(ranges4); i++)
		if (ranges4[i].bits <= bits && is_in(octets, ranges4[i].octets, ranges4[i].bits))
			return &ranges4[i];
	return NULL;
}

/* The same of IPv6. */
static const struct range6 *range_of(const uint8_t *octets, unsigned bits)
{
	for (size_t i = 0; i < RF_LEN(ranges6); i++)
		if (ranges6[i].bits <= bits && is_in(octets, ranges6[i].octets, ranges6[i].bits))
			return &ranges6[i];
	return NULL;
}

/*
 * The IPv4 address within one that is in `range`, or in none (NULL), and at which octet it begins.
 * False if there is none.
 */
static bool find_within(const uint8_t *octets, const struct range6 *range, uint8_t ret_within[4],
			unsigned *ret_at)
{
	/* An interface that is identified by an IPv4 address (ISATAP) leads into a tunnel to it. */
	static const uint8_t isatap[4] = { 0x00, 0x00, 0x5e, 0xfe };

	if (!range && ((octets[8] & 0xfd) != 0 || memcmp(octets + 9, isatap + 1, 3) != 0))
		return false;
	if (range && range->within == NOTHING)
		return false;
	*ret_at = range ? range->within : 12;
	for (size_t i = 0; i < 4; i++)
		ret_within[i] = octets[*ret_at + i] ^ (range && range->is_inverted ? 0xff : 0);
	return true;
}

struct rf_address_row rf_address_row(const uint8_t prefix[16], unsigned bits)
{
	const struct range6 *range = range_of(prefix, bits);
	const struct range4 *inner;
	uint8_t within[4];
	unsigned at;

	/* Of what it carries within, only whole rows count: the bits in front of it are then fixed. */
	if (find_within(prefix, range, within, &at) && bits >= at * 8) {
		inner = row_of_v4(within, bits - at * 8);
		if (inner)
			return (struct rf_address_row){ inner->kind,
							(uint8_t)(at * 8 + inner->bits) };
	}
	if (range)
		return (struct rf_address_row){ range->kind, range->kind ? range->bits : 0 };
	/* Only 2000::/3 is given out.  The rest is taken for rows of 8 bits. */
	if (bits >= UNLISTED && prefix[0] >> 5 != 1)
		return (struct rf_address_row){ RF_ADDRESS_RESERVED, UNLISTED };
	return (struct rf_address_row){ RF_ADDRESS_PUBLIC, 0 };
}

bool rf_address_is_granted(unsigned rule_bits, const uint8_t prefix[16], unsigned bits)
{
	/* The rule covers the prefix, so it lies in the prefix's row if it has the row's bits. */
	return rule_bits >= rf_address_row(prefix, bits).bits;
}

enum rf_address_kind rf_address_kind(const struct rf_address *addr)
{
	return rf_address_row(addr->octets, RF_ADDRESS_BITS).kind;
}

bool rf_address_within(const struct rf_address *addr, struct rf_address *ret_within)
{
	const struct range6 *range = range_of(addr->octets, RF_ADDRESS_BITS);
	uint8_t within[4];
	unsigned at;

	if (rf_address_is_v4(addr) || !find_within(addr->octets, range, within, &at))
		return false;
	*ret_within = rf_address_v4(within);
	return true;
}

const char *rf_address_words(enum rf_address_kind kind)
{
	static const char *const words[] = {
		[RF_ADDRESS_PUBLIC] = "a public address",
		[RF_ADDRESS_UNSPECIFIED] = "no address of a machine",
		[RF_ADDRESS_LOOPBACK] = "a loopback address",
		[RF_ADDRESS_METADATA] = "a cloud's metadata service",
		[RF_ADDRESS_LINK_LOCAL] = "a link-local address",
		[RF_ADDRESS_PRIVATE] = "a private address",
		[RF_ADDRESS_SHARED] = "an address of a provider's own network",
		[RF_ADDRESS_MULTICAST] = "a multicast address",
		[RF_ADDRESS_RESERVED] = "a reserved address",
	};

	static_assert(RF_LEN(words) == RF_ADDRESS_KINDS, "a row for each kind");
	return words[kind];
}

bool rf_address_is_v4(const struct rf_address *addr)
{
	return memcmp(addr->octets, v4_in_v6, sizeof(v4_in_v6)) == 0;
}

struct rf_address rf_address_v4(const uint8_t octets[4])
{
	struct rf_address addr;

	memcpy(addr.octets, v4_in_v6, sizeof(v4_in_v6));
	memcpy(addr.octets + 12, octets, 4);
	return addr;
}

bool rf_address_is_same(const struct rf_address *addr, const struct rf_address *other)
{
	return memcmp(addr->octets, other->octets, sizeof(addr->octets)) == 0;
}

bool rf_address_parse(const char *text, struct rf_address *ret_addr)
{
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1) {
		*ret_addr = rf_address_v4(v4);
		return true;
	}
	return inet_pton(AF_INET6, text, ret_addr->octets) == 1;
}

void rf_address_format(const struct rf_address *addr, char text[RF_ADDRESS_TEXT])
{
	bool is_v4 = rf_address_is_v4(addr);

	if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, addr->octets + (is_v4 ? 12 : 0), text,
		       RF_ADDRESS_TEXT))
		text[0] = '\0';
}

bool rf_address_from(const struct sockaddr *from, struct rf_address *ret_addr, uint16_t *ret_port)
{
	if (from->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, from, sizeof(in));
		*ret_addr = rf_address_v4((const uint8_t *)&in.sin_addr);
		*ret_port = ntohs(in.sin_port);
		return true;
	}
	if (from->sa_family == AF_INET6) {
		struct sockaddr_in6 in;

		memcpy(&in, from, sizeof(in));
		memcpy(ret_addr->octets, &in.sin6_addr, sizeof(ret_addr->octets));
		*ret_port = ntohs(in.sin6_port);
		return true;
	}
	return false;
}

socklen_t rf_address_to(const struct rf_address *addr, uint16_t port,
			struct sockaddr_storage *ret_to)
{
	*ret_to = (struct sockaddr_storage){ 0 };
	if (rf_address_is_v4(addr)) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

		memcpy(&in.sin_addr, addr->octets + 12, 4);
		memcpy(ret_to, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memcpy(&in.sin6_addr, addr->octets, 16);
	memcpy(ret_to, &in, sizeof(in));
	return sizeof(in);
}
