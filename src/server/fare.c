/* A box's way out, as the front asks for it: see fare.h. */
#include "server/fare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pack.h"

#define NAME     64
#define VARIABLE (64 * 1024)
#define PATH     4096
#define TEXT     (6 * 1024 * 1024)

void rf_fare_put_ask(const struct rf_fare_ask *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->policy);
	rf_pack_strings(out, (const char *const *)ask->names);
}

int rf_fare_take_ask(const void *data, size_t len, struct rf_fare_ask *ret_ask, struct rf_err *err)
{
	struct rf_pack_reader in;
	struct rf_fare_ask ask;

	rf_pack_read_init(&in, data, len);
	ask.policy = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES + 1);
	ask.names = rf_pack_read_strings(&in, RF_MAX_CREDENTIALS, NAME);
	if (!rf_pack_is_whole(&in) || !ask.names) {
		free(ask.names);
		return rf_fail_say(err, -EBADMSG, "a question for a way out is malformed");
	}
	*ret_ask = ask;
	return 0;
}

void rf_fare_put(const struct rf_fare *fare, struct rf_buf *out)
{
	rf_pack_strings(out, (const char *const *)fare->set);
	rf_pack_u32(out, (uint32_t)fare->place_count);
	for (size_t i = 0; i < fare->place_count; i++) {
		rf_pack_u32(out, fare->places[i].kind);
		rf_pack_string(out, fare->places[i].path);
		rf_pack_string(out, fare->places[i].source);
	}
}

int rf_fare_take(const void *data, size_t len, struct rf_fare *ret_fare, struct rf_err *err)
{
	struct rf_pack_reader in;
	struct rf_fare fare = { 0 };
	bool is_text = true;

	rf_pack_read_init(&in, data, len);
	fare.set = rf_pack_read_strings(&in, RF_FARE_SET, VARIABLE);
	fare.place_count = rf_pack_read_below(&in, RF_FARE_PLACES + 1);
	for (size_t i = 0; i < fare.place_count; i++) {
		struct rf_place *place = &fare.places[i];

		*place = (struct rf_place){ .rights = RF_RIGHT_READ, .why = "", .rule = "network" };
		place->kind = (enum rf_place_kind)rf_pack_read_u32(&in);
		place->path = rf_pack_read_string(&in, PATH);
		place->source = rf_pack_read_string(&in, TEXT);
		is_text &= place->kind == RF_PLACE_TEXT || place->kind == RF_PLACE_DATA;
	}
	if (!rf_pack_is_whole(&in) || !fare.set || !is_text) {
		free(fare.set);
		return rf_fail_say(err, -EBADMSG, "a way out is malformed");
	}
	*ret_fare = fare;
	return 0;
}
