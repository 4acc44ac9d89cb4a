/* What a warden tells its server of boxes that are kept: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/news.h"
#include "wire/wire.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf again;
	struct rf_err err = RF_ERR_INIT;
	static struct rf_news news;
	bool is_all = false;
	size_t at = 0;
	int got;

	rf_buf_init(&again, RF_WIRE_BODY);
	if (rf_news_head(data, size, &at, &is_all, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		return 0;
	}
	rf_news_begin(&again, is_all);
	while ((got = rf_news_next(data, size, &at, &news, &err)) > 0) {
		require(news.id[0] && strlen(news.note) < sizeof(news.note));
		rf_news_pack(&news, &again);
		require(again.len == at);
	}
	require(got == 0 || err.code < 0);
	require(memcmp(again.data, data, again.len) == 0);
	return 0;
}
