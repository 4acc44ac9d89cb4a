/* A query: what is read has a name that is its question's, and what is answered repeats it and fits. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/dns.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_answer(const struct rf_dns_query *query, enum rf_dns_rcode rcode,
			 size_t address_len)
{
	static const uint8_t address[16] = { 28 };
	struct rf_dns_answer answer = { rcode, address_len ? address : NULL, address_len, 30 };
	uint8_t room[RF_DNS_ANSWER];
	size_t len = rf_dns_format(query, &answer, room, sizeof(room));

	require(len >= 12 && len <= sizeof(room) && room[2] & 0x80);
	require(len <= query->room);
	if (query->has_question)
		require(memcmp(room + 12, query->question, query->question_len) == 0);
}

RF_FUZZ(data, size)
{
	struct rf_dns_query query;
	int code = rf_dns_parse(data, size, &query);

	if (code < 0)
		return 0;
	require(strlen(query.name) < RF_DNS_NAME);
	for (const char *at = query.name; *at; at++)
		require(*at > ' ' && *at < 0x7f && (*at < 'A' || *at > 'Z'));
	if (code == RF_DNS_WELL)
		require(query.has_question && query.question_len <= 255 + 4);
	check_answer(&query, code == RF_DNS_WELL ? RF_DNS_NO_NAME : (enum rf_dns_rcode)code, 0);
	check_answer(&query, RF_DNS_WELL, 4);
	check_answer(&query, RF_DNS_WELL, 16);
	return 0;
}
