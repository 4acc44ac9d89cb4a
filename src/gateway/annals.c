/* What one box's network did: see annals.h. */
#include "gateway/annals.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	char *bytes;
	size_t len;
};

struct host {
	char name[RF_GATE_HOST];
	struct rf_page_host sums;
};

struct rf_annals {
	struct entry entries[RF_ANNALS_EVENTS]; /* the event n is at n % RF_ANNALS_EVENTS */
	uint64_t first, next;
	size_t bytes;
	struct host hosts[RF_PAGE_HOSTS];
	size_t host_count;
	uint64_t unlisted;
};

struct rf_annals *rf_annals_new(void)
{
	return calloc(1, sizeof(struct rf_annals));
}

static void drop_oldest(struct rf_annals *annals)
{
	struct entry *entry = &annals->entries[annals->first++ % RF_ANNALS_EVENTS];

	annals->bytes -= entry->len;
	free(entry->bytes);
	*entry = (struct entry){ 0 };
}

void rf_annals_free(struct rf_annals *annals)
{
	if (!annals)
		return;
	while (annals->first < annals->next)
		drop_oldest(annals);
	free(annals);
}

static struct host *find_host(struct rf_annals *annals, const char *name)
{
	struct host *host = annals->hosts;

	while (host < annals->hosts + annals->host_count && strcmp(host->name, name) != 0)
		host++;
	if (host < annals->hosts + annals->host_count)
		return host;
	if (annals->host_count == RF_PAGE_HOSTS || strlen(name) >= sizeof(host->name)) {
		annals->unlisted++;
		return NULL;
	}
	annals->host_count++;
	memcpy(host->name, name, strlen(name) + 1);
	return host;
}

/* Of what somebody wanted to reach; all else is a remark on one of these. */
static void sum_up(struct rf_annals *annals, const struct rf_gate_event *event)
{
	struct host *host;

	if ((event->kind != RF_GATE_CONNECT && event->kind != RF_GATE_REQUEST &&
	     event->kind != RF_GATE_DNS) ||
	    !event->host || !event->host[0])
		return;
	host = find_host(annals, event->host);
	if (!host)
		return;
	host->sums.connections += event->kind == RF_GATE_CONNECT;
	host->sums.requests += event->kind == RF_GATE_REQUEST;
	host->sums.denied += event->verdict == RF_GATE_DENIED;
	host->sums.up_bytes += event->up_bytes;
	host->sums.down_bytes += event->down_bytes;
}

void rf_annals_hear(struct rf_annals *annals, const struct rf_gate_event *event, const void *packed,
		    size_t len)
{
	char *copy = malloc(len ? len : 1);

	sum_up(annals, event);
	while (annals->first < annals->next && (annals->next - annals->first == RF_ANNALS_EVENTS ||
						annals->bytes + len > RF_ANNALS_BYTES))
		drop_oldest(annals);
	if (copy)
		memcpy(copy, packed, len);
	annals->entries[annals->next++ % RF_ANNALS_EVENTS] = (struct entry){ copy, copy ? len : 0 };
	annals->bytes += copy ? len : 0;
}

static void put_hosts(const struct rf_annals *annals, struct rf_page *page)
{
	page->host_count = annals->host_count;
	page->unlisted = annals->unlisted;
	for (size_t i = 0; i < annals->host_count; i++) {
		page->hosts[i] = annals->hosts[i].sums;
		page->hosts[i].host = annals->hosts[i].name;
	}
}

void rf_annals_write(const struct rf_annals *annals, const struct rf_page_wish *wish,
		     const struct rf_gate_counts *counts, struct rf_buf *out)
{
	struct rf_page page = { .counts = *counts, .next = wish->cursor };
	RF_AUTO_BUF struct rf_buf events;

	rf_buf_init(&events, RF_PAGE_BYTES);
	if (page.next > annals->next) /* of a box that this is not */
		page.next = annals->next;
	if (page.next < annals->first) {
		page.missed = annals->first - page.next;
		page.next = annals->first;
	}
	while (!wish->is_summary && page.next < annals->next) {
		const struct entry *entry = &annals->entries[page.next % RF_ANNALS_EVENTS];

		if (events.len + entry->len > RF_PAGE_BYTES)
			break;
		if (entry->len > 0)
			rf_buf_add(&events, entry->bytes, entry->len);
		page.next++;
	}
	if (wish->is_summary)
		put_hosts(annals, &page);
	page.events = events.data;
	page.events_len = events.len;
	rf_page_pack(&page, out);
}
