/* Addresses: see addr.h.  The ranges are IANA's registries of special-purpose addresses (RFC 6890), IPv4 and IPv6. */
#include "gateway/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define OWN_NS   (5ull * 1000000000) /* how long this machine's addresses are believed */
#define OWN_MOST 4096

static const uint8_t v4_in_v6[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* clang-format off */
static const struct range4 {
	uint8_t octets[4];
	uint8_t bits;
	enum rf_addr_kind kind;
} ranges4[] = { /* the first that fits */
	{ { 169, 254, 169, 254 }, 32, RF_ADDR_METADATA },    /* AWS, Azure, Google, and most others */
	{ { 169, 254, 170,   2 }, 32, RF_ADDR_METADATA },    /* AWS containers */
	{ { 169, 254, 170,  23 }, 32, RF_ADDR_METADATA },    /* AWS, pods */
	{ { 100, 100, 100, 200 }, 32, RF_ADDR_METADATA },    /* Alibaba */
	{ { 192,   0,   0, 192 }, 32, RF_ADDR_METADATA },    /* Oracle */
	{ { 168,  63, 129,  16 }, 32, RF_ADDR_METADATA },    /* Azure's WireServer, in the midst of public space */
	{ {   0,   0,   0,   0 },  8, RF_ADDR_UNSPECIFIED }, /* Linux takes 0.0.0.0 for this machine */
	{ { 127,   0,   0,   0 },  8, RF_ADDR_LOOPBACK },
	{ { 169, 254,   0,   0 }, 16, RF_ADDR_LINK_LOCAL },
	{ {  10,   0,   0,   0 },  8, RF_ADDR_PRIVATE },
	{ { 172,  16,   0,   0 }, 12, RF_ADDR_PRIVATE },
	{ { 192, 168,   0,   0 }, 16, RF_ADDR_PRIVATE },
	{ { 100,  64,   0,   0 }, 10, RF_ADDR_SHARED },
	{ { 192,   0,   0,   0 }, 24, RF_ADDR_RESERVED },
	{ { 192,   0,   2,   0 }, 24, RF_ADDR_RESERVED },
	{ { 192,  88,  99,   0 }, 24, RF_ADDR_RESERVED },
	{ { 198,  18,   0,   0 }, 15, RF_ADDR_RESERVED },
	{ { 198,  51, 100,   0 }, 24, RF_ADDR_RESERVED },
	{ { 203,   0, 113,   0 }, 24, RF_ADDR_RESERVED },
	{ { 224,   0,   0,   0 },  4, RF_ADDR_MULTICAST },
	{ { 240,   0,   0,   0 },  4, RF_ADDR_RESERVED },    /* 255.255.255.255 among them */
};

#define NOTHING 0xff /* carries no address within */

static const struct range6 {
	uint8_t octets[16];
	uint8_t bits;
	enum rf_addr_kind kind; /* RF_ADDR_PUBLIC: as what it carries */
	uint8_t within;         /* where an address of IPv4 begins, or NOTHING */
	bool is_inverted;
} ranges6[] = { /* the first that fits */
	{ { 0 }, 128, RF_ADDR_UNSPECIFIED, NOTHING, false },
	{ { [15] = 1 }, 128, RF_ADDR_LOOPBACK, NOTHING, false },
	{ { [10] = 0xff, 0xff }, 96, RF_ADDR_PUBLIC, 12, false },                        /* mapped */
	{ { [8] = 0xff, 0xff }, 96, RF_ADDR_PUBLIC, 12, false },                         /* translated: RFC 2765 */
	{ { 0 }, 96, RF_ADDR_RESERVED, 12, false },                                      /* compatible: RFC 4291 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, RF_ADDR_PUBLIC, 12, false },                   /* NAT64: RFC 6052 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, RF_ADDR_PRIVATE, NOTHING, false }, /* NAT64 of one's own: RFC 8215 */
	{ { 0x01, 0x00 }, 64, RF_ADDR_RESERVED, NOTHING, false },                        /* discard */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, RF_ADDR_RESERVED, 12, true },                  /* Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, RF_ADDR_RESERVED, NOTHING, false },
	{ { 0x20, 0x01, 0x00, 0x00 }, 23, RF_ADDR_RESERVED, NOTHING, false },
	{ { 0x20, 0x02 }, 16, RF_ADDR_PUBLIC, 2, false },                                /* 6to4 */
	{ { 0x3f, 0xff }, 20, RF_ADDR_RESERVED, NOTHING, false },
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 32, RF_ADDR_METADATA, NOTHING, false },            /* AWS: fd00:ec2::254 and ::23 */
	{ { 0xfd, 0x20, 0x00, 0xce }, 96, RF_ADDR_METADATA, NOTHING, false },            /* Google: fd20:ce::254 */
	{ { 0xfc, 0x00 }, 7, RF_ADDR_PRIVATE, NOTHING, false },
	{ { 0xfe, 0x80 }, 10, RF_ADDR_LINK_LOCAL, NOTHING, false },
	{ { 0xfe, 0xc0 }, 10, RF_ADDR_PRIVATE, NOTHING, false },
	{ { 0xff, 0x00 }, 8, RF_ADDR_MULTICAST, NOTHING, false },
};
/* clang-format on */

static bool is_in(const uint8_t *octets, const uint8_t *range, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(octets, range, whole) == 0 &&
	       (rest == 0 || (octets[whole] ^ range[whole]) >> (8 - rest) == 0);
}

static enum rf_addr_kind kind_of_v4(const uint8_t octets[4])
{
	for (size_t i = 0; i < RF_LEN(ranges4); i++)
		if (is_in(octets, ranges4[i].octets, ranges4[i].bits))
			return ranges4[i].kind;
	return RF_ADDR_PUBLIC;
}

static const struct range6 *range_of(const uint8_t *octets)
{
	for (size_t i = 0; i < RF_LEN(ranges6); i++)
		if (is_in(octets, ranges6[i].octets, ranges6[i].bits))
			return &ranges6[i];
	return NULL;
}

/* The address of IPv4 within one that is in `range`, or in none (NULL).  False if there is none. */
static bool find_within(const uint8_t *octets, const struct range6 *range, uint8_t ret_within[4])
{
	/* What identifies an interface by an address of IPv4 (ISATAP) leads into a tunnel to it. */
	static const uint8_t isatap[4] = { 0x00, 0x00, 0x5e, 0xfe };

	if (!range && ((octets[8] & 0xfd) != 0 || memcmp(octets + 9, isatap + 1, 3) != 0))
		return false;
	if (range && range->within == NOTHING)
		return false;
	for (size_t i = 0; i < 4; i++)
		ret_within[i] = range ? octets[range->within + i] ^ (range->is_inverted ? 0xff : 0)
				      : octets[12 + i];
	return true;
}

enum rf_addr_kind rf_addr_kind(const struct rf_addr *addr)
{
	const struct range6 *range = range_of(addr->octets);
	uint8_t within[4];
	enum rf_addr_kind kind = RF_ADDR_PUBLIC;

	if (find_within(addr->octets, range, within))
		kind = kind_of_v4(within);
	if (kind != RF_ADDR_PUBLIC)
		return kind;
	if (range)
		return range->kind;
	/* Only 2000::/3 is given out. */
	return addr->octets[0] >> 5 == 1 ? RF_ADDR_PUBLIC : RF_ADDR_RESERVED;
}

bool rf_addr_within(const struct rf_addr *addr, struct rf_addr *ret_within)
{
	uint8_t within[4];

	if (rf_addr_is_v4(addr) || !find_within(addr->octets, range_of(addr->octets), within))
		return false;
	*ret_within = rf_addr_v4(within);
	return true;
}

const char *rf_addr_words(enum rf_addr_kind kind)
{
	static const char *const words[] = {
		[RF_ADDR_PUBLIC] = "a public address",
		[RF_ADDR_UNSPECIFIED] = "no address of a machine",
		[RF_ADDR_LOOPBACK] = "a loopback address",
		[RF_ADDR_METADATA] = "a cloud's metadata service",
		[RF_ADDR_LINK_LOCAL] = "a link-local address",
		[RF_ADDR_PRIVATE] = "a private address",
		[RF_ADDR_SHARED] = "an address of a provider's own network",
		[RF_ADDR_MULTICAST] = "a multicast address",
		[RF_ADDR_RESERVED] = "a reserved address",
	};

	static_assert(RF_LEN(words) == RF_ADDR_KINDS, "a row for each kind");
	return words[kind];
}

bool rf_addr_is_v4(const struct rf_addr *addr)
{
	return memcmp(addr->octets, v4_in_v6, sizeof(v4_in_v6)) == 0;
}

struct rf_addr rf_addr_v4(const uint8_t octets[4])
{
	struct rf_addr addr;

	memcpy(addr.octets, v4_in_v6, sizeof(v4_in_v6));
	memcpy(addr.octets + 12, octets, 4);
	return addr;
}

bool rf_addr_is_same(const struct rf_addr *addr, const struct rf_addr *other)
{
	return memcmp(addr->octets, other->octets, sizeof(addr->octets)) == 0;
}

bool rf_addr_parse(const char *text, struct rf_addr *ret_addr)
{
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1) {
		*ret_addr = rf_addr_v4(v4);
		return true;
	}
	return inet_pton(AF_INET6, text, ret_addr->octets) == 1;
}

void rf_addr_format(const struct rf_addr *addr, char text[RF_ADDR_TEXT])
{
	bool is_v4 = rf_addr_is_v4(addr);

	if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, addr->octets + (is_v4 ? 12 : 0), text,
		       RF_ADDR_TEXT))
		text[0] = '\0';
}

bool rf_addr_from(const struct sockaddr *from, struct rf_addr *ret_addr, uint16_t *ret_port)
{
	if (from->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, from, sizeof(in));
		*ret_addr = rf_addr_v4((const uint8_t *)&in.sin_addr);
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

socklen_t rf_addr_to(const struct rf_addr *addr, uint16_t port, struct sockaddr_storage *ret_to)
{
	*ret_to = (struct sockaddr_storage){ 0 };
	if (rf_addr_is_v4(addr)) {
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

/* ------------------------------------------------------------- this machine's own */

struct rf_addr_own {
	struct rf_addr *list;
	size_t count;
	uint64_t read_ns;
	bool is_known;
};

struct rf_addr_own *rf_addr_own_new(void)
{
	return calloc(1, sizeof(struct rf_addr_own));
}

void rf_addr_own_free(struct rf_addr_own *own)
{
	if (!own)
		return;
	free(own->list);
	free(own);
}

static void read_own(struct rf_addr_own *own)
{
	struct ifaddrs *all;
	size_t room = 0;
	uint16_t port;

	own->is_known = false;
	own->count = 0;
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next)
		room += one->ifa_addr != NULL;
	free(own->list);
	own->list = room <= OWN_MOST ? calloc(room ? room : 1, sizeof(*own->list)) : NULL;
	own->is_known = own->list != NULL;
	for (const struct ifaddrs *one = all; own->list && one; one = one->ifa_next)
		if (one->ifa_addr && rf_addr_from(one->ifa_addr, &own->list[own->count], &port))
			own->count++;
	freeifaddrs(all);
}

bool rf_addr_is_own(struct rf_addr_own *own, const struct rf_addr *addr, uint64_t now_ns)
{
	if (!own->is_known || now_ns - own->read_ns > OWN_NS) {
		read_own(own);
		own->read_ns = now_ns;
	}
	if (!own->is_known)
		return true;
	for (size_t i = 0; i < own->count; i++)
		if (rf_addr_is_same(&own->list[i], addr))
			return true;
	return false;
}
