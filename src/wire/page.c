/* A page of what a box's network did: see page.h. */
#include "wire/page.h"

#include <errno.h>
#include <string.h>

#include "base/pack.h"

#define COUNTS (8 * sizeof(uint64_t))

void rf_page_pack(const struct rf_page *page, struct rf_buf *out)
{
	rf_gate_pack_counts(&page->counts, out);
	rf_pack_u64(out, page->next);
	rf_pack_u64(out, page->missed);
	rf_pack_u64(out, page->unlisted);
	rf_pack_u32(out, (uint32_t)page->host_count);
	for (size_t i = 0; i < page->host_count; i++) {
		const struct rf_page_host *host = &page->hosts[i];

		rf_pack_string(out, host->host);
		rf_pack_u64(out, host->connections);
		rf_pack_u64(out, host->requests);
		rf_pack_u64(out, host->denied);
		rf_pack_u64(out, host->up_bytes);
		rf_pack_u64(out, host->down_bytes);
	}
	if (page->events_len > 0)
		rf_buf_add(out, page->events, page->events_len);
}

int rf_page_read(const void *data, size_t len, struct rf_page *ret_page, struct rf_err *err)
{
	struct rf_pack_reader in;

	*ret_page = (struct rf_page){ 0 };
	if (len < COUNTS)
		return rf_fail_say(err, -EBADMSG, "a page of a network's log is malformed");
	if (rf_gate_read_counts(data, COUNTS, &ret_page->counts, err) < 0)
		return err->code;
	rf_pack_read_init(&in, (const char *)data + COUNTS, len - COUNTS);
	ret_page->next = rf_pack_read_u64(&in);
	ret_page->missed = rf_pack_read_u64(&in);
	ret_page->unlisted = rf_pack_read_u64(&in);
	ret_page->host_count = rf_pack_read_below(&in, RF_PAGE_HOSTS + 1);
	for (size_t i = 0; i < ret_page->host_count && !in.has_failed; i++) {
		struct rf_page_host *host = &ret_page->hosts[i];

		host->host = rf_pack_read_string(&in, RF_GATE_HOST);
		host->connections = rf_pack_read_u64(&in);
		host->requests = rf_pack_read_u64(&in);
		host->denied = rf_pack_read_u64(&in);
		host->up_bytes = rf_pack_read_u64(&in);
		host->down_bytes = rf_pack_read_u64(&in);
	}
	if (in.has_failed)
		return rf_fail_say(err, -EBADMSG, "a page of a network's log is malformed");
	ret_page->events = in.at;
	ret_page->events_len = (size_t)(in.end - in.at);
	return 0;
}

int rf_page_event(const struct rf_page *page, size_t *at, struct rf_gate_event *ret_event,
		  struct rf_err *err)
{
	size_t used = 0;

	if (*at >= page->events_len)
		return 0;
	if (rf_gate_read_event(page->events + *at, page->events_len - *at, ret_event, &used, err) <
	    0)
		return err->code;
	*at += used;
	return 1;
}
