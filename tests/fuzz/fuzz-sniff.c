/* First bytes: whatever was decided from a part of them is decided from more of them alike. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "gateway/sniff.h"
#include "gateway/socks.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_socks(struct rf_span bytes)
{
	enum rf_socks_reply reply;
	struct rf_host host;
	uint16_t port;
	size_t used = 0;
	bool is_open;

	if (rf_socks_greeting(bytes, &used, &is_open) > 0)
		require(used <= bytes.len);
	if (rf_socks_request(bytes, &used, &host, &port, &reply) > 0)
		require(used <= bytes.len && port > 0 && host.len > 0);
}

RF_FUZZ(data, size)
{
	struct rf_span all = { (const char *)data, size };
	struct rf_sniff whole, part;

	if (size > RF_SNIFF_MOST)
		return 0;
	rf_sniff_look(all, &whole);
	for (size_t len = 0; len < size; len += 1 + len / 8) {
		rf_sniff_look((struct rf_span){ all.at, len }, &part);
		if (part.kind == RF_SNIFF_MORE)
			continue;
		require(part.kind == whole.kind && part.has_name == whole.has_name &&
			part.bytes == whole.bytes);
		require(part.kind != RF_SNIFF_TLS || (part.bytes > 0 && part.bytes <= len));
		if (part.kind == RF_SNIFF_TLS && part.has_name)
			require(rf_host_is_same(&part.name, &whole.name));
	}
	check_socks(all);
	return 0;
}
