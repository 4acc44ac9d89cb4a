/* What of a message is sent on. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/message.h"
#include "harness.h"

static struct rf_forward_message make(struct rf_field *room, size_t count)
{
	return (struct rf_forward_message){ .arena = rf_arena_new(),
					    .fields = room,
					    .room = count };
}

RF_TEST(what_is_between_neighbours_stays_there)
{
	static const struct rf_field all[] = {
		{ RF_SPAN_INIT("Host"), RF_SPAN_INIT("a") },
		{ RF_SPAN_INIT("Accept"), RF_SPAN_INIT("*/*") },
		{ RF_SPAN_INIT("Connection"), RF_SPAN_INIT("x-a, close") },
		{ RF_SPAN_INIT("X-A"), RF_SPAN_INIT("1") },
		{ RF_SPAN_INIT("TE"), RF_SPAN_INIT("trailers") },
		{ RF_SPAN_INIT("Content-length"), RF_SPAN_INIT("3") },
		{ RF_SPAN_INIT("Transfer-Encoding"), RF_SPAN_INIT("chunked") },
		{ RF_SPAN_INIT("Expect"), RF_SPAN_INIT("100-continue") },
		{ RF_SPAN_INIT("Proxy-Authorization"), RF_SPAN_INIT("secret") },
		{ RF_SPAN_INIT("Upgrade"), RF_SPAN_INIT("h2c") },
		{ RF_SPAN_INIT("HTTP2-Settings"), RF_SPAN_INIT("x") },
		{ RF_SPAN_INIT("Keep-Alive"), RF_SPAN_INIT("5") },
		{ RF_SPAN_INIT("Cookie"), RF_SPAN_INIT("") },
	};
	struct rf_field room[RF_LEN(all)];
	struct rf_forward_message message = make(room, RF_LEN(room));

	RF_REQUIRE(rf_message_take(&message, (struct rf_fields){ all, RF_LEN(all) }) == 0, "take");
	RF_REQUIRE(message.count == 2, "%zu", message.count);
	RF_CHECK(rf_span_is(room[0].name, RF_SPAN("Accept")), "%.*s", RF_SPAN_ARG(room[0].name));
	RF_CHECK(rf_span_is(room[0].value, RF_SPAN("*/*")) && room[0].value.at != all[1].value.at,
		 "a copy");
	RF_CHECK(rf_span_is(room[1].name, RF_SPAN("Cookie")), "%.*s", RF_SPAN_ARG(room[1].name));
	rf_arena_free(message.arena);
}

RF_TEST(nobody_else_says_that_an_answer_is_ours)
{
	static const struct rf_field all[] = {
		{ RF_SPAN_INIT("X-Ringfort"), RF_SPAN_INIT("network_denied") },
		{ RF_SPAN_INIT("x-RINGFORT"), RF_SPAN_INIT("held") },
		{ RF_SPAN_INIT("X_Ringfort"), RF_SPAN_INIT("held") },
		{ RF_SPAN_INIT("X-Ringfort-Like"), RF_SPAN_INIT("1") },
	};
	struct rf_field room[RF_LEN(all)];
	struct rf_forward_message message = make(room, RF_LEN(room)), trailer;

	RF_REQUIRE(rf_message_take(&message, (struct rf_fields){ all, RF_LEN(all) }) == 0, "take");
	RF_REQUIRE(message.count == 1, "%zu", message.count);
	RF_CHECK(rf_span_is(room[0].name, RF_SPAN("X-Ringfort-Like")), "%.*s",
		 RF_SPAN_ARG(room[0].name));
	RF_REQUIRE(rf_message_take_trailer(&message, (struct rf_fields){ all, RF_LEN(all) },
					   &trailer) == 0,
		   "take what follows");
	RF_CHECK(trailer.count == 1, "%zu", trailer.count);
	rf_arena_free(message.arena);
}

RF_TEST(more_fields_than_there_is_room_for_are_refused)
{
	static const struct rf_field two[] = {
		{ RF_SPAN_INIT("A"), RF_SPAN_INIT("1") },
		{ RF_SPAN_INIT("B"), RF_SPAN_INIT("2") },
	};
	struct rf_field room[1];
	struct rf_forward_message message = make(room, 1);

	RF_CHECK(rf_message_take(&message, (struct rf_fields){ two, 2 }) == -E2BIG, "two");
	rf_arena_free(message.arena);
}

RF_TEST(a_field_is_put_once_however_it_is_spelled)
{
	struct rf_field room[2] = { { RF_SPAN("authorization"), RF_SPAN("placeholder") } };
	struct rf_forward_message message = make(room, 2);

	message.count = 1;
	RF_CHECK(rf_forward_put(&message, RF_SPAN("Authorization"), RF_SPAN("real")), "put");
	RF_CHECK(message.count == 1 && rf_span_is(room[0].value, RF_SPAN("real")), "in its place");
	RF_CHECK(rf_forward_put(&message, RF_SPAN("X"), RF_SPAN("y")), "another");
	RF_CHECK(!rf_forward_put(&message, RF_SPAN("Z"), RF_SPAN("y")), "no room");
	RF_CHECK(rf_forward_find(&message, RF_SPAN("x")) == &room[1], "find");
	rf_arena_free(message.arena);
}
