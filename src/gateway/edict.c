/* What the watcher's books say to one box: see edict.h. */
#include "gateway/edict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rf_edict {
	struct rf_books books;
	uint64_t taken_ms;
};

int rf_edict_take(struct rf_edict **edict, const char *text, size_t len, uint64_t now_ms,
		  struct rf_err *err)
{
	struct rf_edict *fresh = malloc(sizeof(*fresh));

	if (!fresh)
		return rf_fail(err, -ENOMEM, "the watcher's books");
	if (rf_books_read(text, len, &fresh->books, err) < 0) {
		free(fresh);
		return err->code;
	}
	fresh->taken_ms = now_ms;
	free(*edict);
	*edict = fresh;
	return 0;
}

void rf_edict_free(struct rf_edict *edict)
{
	free(edict);
}

void rf_edict_restrict(struct rf_edict *edict)
{
	struct rf_books *books = &edict->books;
	size_t kept = 0;

	books->sum_count = 0;
	for (size_t i = 0; i < books->order_count; i++)
		if (!books->orders[i].is_reset)
			books->orders[kept++] = books->orders[i];
	books->order_count = kept;
}

const struct rf_books *rf_edict_books(const struct rf_edict *edict)
{
	return &edict->books;
}

const char *rf_edict_bars(const struct rf_edict *edict, bool is_credential, const char *name,
			  const char *or_name, uint64_t now_ms, uint64_t *ret_ms)
{
	uint64_t since = edict ? now_ms - edict->taken_ms : 0;

	for (size_t i = 0; edict && i < edict->books.order_count; i++) {
		const struct rf_books_order *order = &edict->books.orders[i];

		if (order->is_reset || order->is_credential != is_credential ||
		    (strcmp(order->name, name) != 0 &&
		     (!or_name || strcmp(order->name, or_name) != 0)) ||
		    order->ms <= since)
			continue;
		*ret_ms = order->ms == RF_BOOKS_NEVER ? RF_BOOKS_NEVER : order->ms - since;
		return order->reason;
	}
	return NULL;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool rf_edict_spent(const struct rf_edict *edict, const char *name, uint64_t period_ms,
		    uint64_t uses, uint64_t cost, uint64_t *ret_uses, uint64_t *ret_money)
{
	int period = period_ms == 3600000    ? RF_BOOKS_HOUR
		     : period_ms == 86400000 ? RF_BOOKS_DAY
					     : RF_BOOKS_PERIODS;

	for (size_t i = 0; edict && period < RF_BOOKS_PERIODS && i < edict->books.sum_count; i++) {
		const struct rf_books_sum *sum = &edict->books.sums[i];
		uint64_t since = uses > sum->heard ? uses - sum->heard : 0, money;

		if (strcmp(sum->name, name) != 0)
			continue;
		if (__builtin_mul_overflow(since, cost, &money))
			money = UINT64_MAX;
		*ret_uses = add(sum->uses[period], since);
		*ret_money = add(sum->money[period], money);
		return true;
	}
	return false;
}
