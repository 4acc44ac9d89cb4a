/* The addresses of this machine's interfaces: see own-addresses.h. */
#include "gateway/own-addresses.h"

#include <ifaddrs.h>
#include <stdlib.h>

#define OWN_NS   (5ull * 1000000000) /* how long the list is believed */
#define OWN_MOST 4096

struct rf_own_addresses {
	struct rf_address *list;
	size_t count;
	uint64_t read_ns;
	bool is_known;
};

struct rf_own_addresses *rf_own_addresses_new(void)
{
	return calloc(1, sizeof(struct rf_own_addresses));
}

void rf_own_addresses_free(struct rf_own_addresses *own)
{
	if (!own)
		return;
	free(own->list);
	free(own);
}

static void read_own(struct rf_own_addresses *own)
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
		if (one->ifa_addr && rf_address_from(one->ifa_addr, &own->list[own->count], &port))
			own->count++;
	freeifaddrs(all);
}

bool rf_own_addresses_has(struct rf_own_addresses *own, const struct rf_address *addr,
			  uint64_t now_ns)
{
	if (!own->is_known || now_ns - own->read_ns > OWN_NS) {
		read_own(own);
		own->read_ns = now_ns;
	}
	if (!own->is_known)
		return true;
	for (size_t i = 0; i < own->count; i++)
		if (rf_address_is_same(&own->list[i], addr))
			return true;
	return false;
}
