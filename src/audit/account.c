/* Between the watcher and the gateway of one box: see account.h. */
#include "audit/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/net.h"

#define HOUR_MS 3600000
#define DAY_MS  (24 * HOUR_MS)

void rf_account_init(struct rf_account *account, const struct rf_plan *plan)
{
	*account = (struct rf_account){ .net = plan->link == RF_LINK_GATEWAY ? plan->net : NULL,
					.tenant = plan->origin.tenant };
}

static size_t count_of(const struct rf_account *account)
{
	size_t count = account->net ? account->net->credential_count : 0;

	return count < RF_BOOKS_SUMS ? count : RF_BOOKS_SUMS;
}

bool rf_account_is_needed(const struct rf_account *account)
{
	for (size_t i = 0; i < count_of(account); i++) {
		const struct rf_net_credential *one = &account->net->credentials[i];

		if (one->money != RF_LIMIT_NONE ||
		    (one->budget != RF_LIMIT_NONE &&
		     (one->budget_ms == HOUR_MS || one->budget_ms == DAY_MS)))
			return true;
	}
	return false;
}

void rf_account_hear(struct rf_account *account, const struct rf_gate_event *event)
{
	if (event->kind != RF_GATE_CREDENTIAL || event->verdict != RF_GATE_ALLOWED)
		return;
	for (size_t i = 0; i < count_of(account); i++)
		account->heard[i] +=
			strcmp(account->net->credentials[i].name, event->credential) == 0;
}

void rf_account_ask(struct rf_account *account, struct rf_buf *out)
{
	rf_buf_add(out, "books", sizeof("books"));
	rf_buf_printf(out, "%" PRIu64, account->serial);
	rf_buf_add(out, "", 1);
	for (size_t i = 0; i < count_of(account); i++) {
		if (i > 0)
			rf_buf_puts(out, ",");
		if (account->tenant) /* another's of this name is another */
			rf_buf_printf(out, "%s/", account->tenant);
		rf_buf_puts(out, account->net->credentials[i].name);
		account->asked[i] = account->heard[i];
	}
	rf_buf_add(out, "", 1);
}

/* As the box's gateway knows it: without the tenant.  False: it is another tenant's. */
static bool is_own(const struct rf_account *account, char name[RF_BOOKS_NAME])
{
	size_t len = account->tenant ? strlen(account->tenant) : 0;
	const char *slash = strchr(name, '/');

	if (!slash)
		return true; /* said by hand, of all that are called so */
	if (!len || strncmp(name, account->tenant, len) != 0 || slash != name + len)
		return false;
	memmove(name, slash + 1, strlen(slash + 1) + 1);
	return true;
}

/* Orders for others' credentials are not passed on: a gateway need not know that there are any. */
static void keep_own(const struct rf_account *account, struct rf_books *books)
{
	size_t kept = 0;

	for (size_t i = 0; i < books->sum_count; i++)
		is_own(account, books->sums[i].name);
	for (size_t i = 0; i < books->order_count; i++)
		if (!books->orders[i].is_credential || is_own(account, books->orders[i].name))
			books->orders[kept++] = books->orders[i];
	books->order_count = kept;
}

int rf_account_answer(struct rf_account *account, const char *answer, struct rf_buf *out,
		      struct rf_err *err)
{
	struct rf_books *books = malloc(sizeof(*books));
	int code = books ? rf_books_read(answer, strlen(answer), books, err)
			 : rf_fail(err, -ENOMEM, "the watcher's books");

	if (code == 0) {
		account->serial = books->serial;
		keep_own(account, books);
		for (size_t i = 0; i < books->sum_count; i++)
			for (size_t j = 0; j < count_of(account); j++)
				if (strcmp(account->net->credentials[j].name,
					   books->sums[i].name) == 0)
					books->sums[i].heard = account->asked[j];
		rf_books_write(books, out);
	}
	free(books);
	return code;
}
