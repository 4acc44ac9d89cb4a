/* What a warden tells its server of boxes that are kept: see news.h. */
#include "wire/news.h"

#include <errno.h>

#include "base/pack.h"

void rf_news_begin(struct rf_buf *out, bool is_all)
{
	rf_pack_bool(out, is_all);
}

void rf_news_pack(const struct rf_news *news, struct rf_buf *out)
{
	rf_pack_string(out, news->id);
	rf_pack_string(out, news->key);
	rf_pack_string(out, news->tenant);
	rf_pack_string(out, news->note);
	rf_pack_string(out, news->why);
	rf_pack_u64(out, news->left_ms);
}

static int fail(struct rf_err *err)
{
	return rf_fail_say(err, -EBADMSG, "news of boxes are malformed");
}

int rf_news_head(const void *data, size_t len, size_t *at, bool *ret_is_all, struct rf_err *err)
{
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	*ret_is_all = rf_pack_read_bool(&in);
	if (in.has_failed)
		return fail(err);
	*at = (size_t)(in.at - (const char *)data);
	return 0;
}

int rf_news_next(const void *data, size_t len, size_t *at, struct rf_news *ret_news,
		 struct rf_err *err)
{
	struct rf_pack_reader in;

	if (*at >= len)
		return 0;
	rf_pack_read_init(&in, (const char *)data + *at, len - *at);
	rf_pack_read_text(&in, ret_news->id, sizeof(ret_news->id));
	rf_pack_read_text(&in, ret_news->key, sizeof(ret_news->key));
	rf_pack_read_text(&in, ret_news->tenant, sizeof(ret_news->tenant));
	rf_pack_read_text(&in, ret_news->note, sizeof(ret_news->note));
	rf_pack_read_text(&in, ret_news->why, sizeof(ret_news->why));
	ret_news->left_ms = rf_pack_read_u64(&in);
	if (in.has_failed || !ret_news->id[0])
		return fail(err);
	*at = (size_t)(in.at - (const char *)data);
	return 1;
}
