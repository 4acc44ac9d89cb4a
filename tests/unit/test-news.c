/* What a warden tells its server of boxes that are kept: src/wire/news.c. */
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "wire/news.h"
#include "wire/wire.h"

static const struct rf_news rows[] = {
	{ .id = "a1", .key = "0123456789ab", .tenant = "acme", .note = "{}", .left_ms = 300000 },
	{ .id = "b2", .key = "local", .tenant = "local", .why = "idle", .left_ms = UINT64_MAX },
};

RF_TEST(news_arrive_as_they_were_told)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = RF_ERR_INIT;
	static struct rf_news got;
	bool is_all = false;
	size_t at = 0;

	rf_buf_init(&out, RF_WIRE_PACKET);
	rf_news_begin(&out, true);
	for (size_t i = 0; i < RF_LEN(rows); i++)
		rf_news_pack(&rows[i], &out);
	RF_REQUIRE(rf_news_head(out.data, out.len, &at, &is_all, &err) == 0 && is_all, "%s",
		   err.msg);
	for (size_t i = 0; i < RF_LEN(rows); i++) {
		RF_REQUIRE(rf_news_next(out.data, out.len, &at, &got, &err) == 1, "%s", err.msg);
		RF_CHECK(strcmp(got.id, rows[i].id) == 0 && strcmp(got.key, rows[i].key) == 0 &&
				 strcmp(got.tenant, rows[i].tenant) == 0 &&
				 strcmp(got.note, rows[i].note) == 0 &&
				 strcmp(got.why, rows[i].why) == 0 &&
				 got.left_ms == rows[i].left_ms,
			 "row %zu", i);
	}
	RF_CHECK(rf_news_next(out.data, out.len, &at, &got, &err) == 0,
		 "something behind the last");
}

RF_TEST(what_is_cut_off_is_refused_at_every_byte)
{
	RF_AUTO_BUF struct rf_buf out;
	static struct rf_news got;

	rf_buf_init(&out, RF_WIRE_PACKET);
	rf_news_begin(&out, false);
	rf_news_pack(&rows[0], &out);
	for (size_t len = 0; len < out.len; len++) {
		struct rf_err err = RF_ERR_INIT;
		bool is_all = false;
		size_t at = 0;

		if (rf_news_head(out.data, len, &at, &is_all, &err) < 0 || at == len)
			continue;
		RF_CHECK(rf_news_next(out.data, len, &at, &got, &err) < 0 && err.msg[0],
			 "%zu bytes of %zu", len, out.len);
	}
}
