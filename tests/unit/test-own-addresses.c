/* This machine's own addresses: src/gateway/own-addresses.c. */
#include "base/loop.h"
#include "gateway/own-addresses.h"
#include "harness.h"

RF_TEST(this_machine_knows_its_own)
{
	struct rf_own_addresses *own = rf_own_addresses_new();
	struct rf_address addr;

	rf_address_parse("127.0.0.1", &addr);
	RF_CHECK(rf_own_addresses_has(own, &addr, rf_loop_now()), "loopback");
	rf_address_parse("93.184.216.34", &addr);
	RF_CHECK(!rf_own_addresses_has(own, &addr, rf_loop_now()), "somebody else's");
	rf_own_addresses_free(own);
}
