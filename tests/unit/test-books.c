/* What a gateway is told of the watcher's books: src/wire/books.c, src/gateway/edict.c. */
#include "wire/books.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/edict.h"
#include "harness.h"

#define FIRST "serial 7\n"

RF_TEST(what_is_written_reads_back_and_nothing_else_does)
{
	/* clang-format off */
	static const struct { const char *text; bool is_right; } cases[] = {
		{ FIRST, true },
		{ FIRST "credential k 1 2 3 4 5\nopen host a.b:443 60000 by hand: odd\nopen credential k - by hand\nreset host a.b\n", true },
		{ FIRST "credential k 0 0 0 0 18446744073709551615\n", true },
		{ "", false }, { "serial 7", false }, { "serial\n", false }, { "serial 07\n", false }, { "serial 7 \n", false },
		{ "credential k 1 2 3 4 5\n", false },
		{ FIRST FIRST, false },
		{ FIRST "credential k 1 2 3 4\n", false },
		{ FIRST "credential k 1 2 3 4 5 6\n", false },
		{ FIRST "credential k 1 2 3 4 18446744073709551616\n", false },
		{ FIRST "credential k -1 2 3 4 5\n", false },
		{ FIRST "open host a.b:443 60000\n", false },
		{ FIRST "open tool x 60000 by hand\n", false },
		{ FIRST "open host a.b 18446744073709551615 never\n", false },
		{ FIRST "reset host\n", false }, { FIRST "reset host a b\n", false },
		{ FIRST "reset host a\nserial 8\n", false },
		{ FIRST "reset host a\ncredential k 1 2 3 4 5\n", false },
		{ FIRST "open host a.b - by\thand\n", false },
		{ FIRST "\n", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_books *books = malloc(sizeof(*books));
		RF_AUTO_BUF struct rf_buf again;
		struct rf_err err = RF_ERR_INIT;
		int code;

		RF_REQUIRE(books, "no memory");
		rf_buf_init(&again, RF_BOOKS_TEXT);
		code = rf_books_read(cases[i].text, strlen(cases[i].text), books, &err);
		RF_CHECK((code == 0) == cases[i].is_right, "case %zu: %d", i, code);
		RF_CHECK(code == 0 || (code == -EBADMSG && err.msg[0]), "case %zu: %s", i, err.msg);
		if (code == 0) {
			rf_books_write(books, &again);
			RF_CHECK(strcmp(again.data, cases[i].text) == 0, "case %zu: %s", i,
				 again.data);
		}
		free(books);
	}
}

RF_TEST(more_than_there_is_room_for_is_malformed)
{
	struct rf_books *books = malloc(sizeof(*books));
	RF_AUTO_BUF struct rf_buf text;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(books, "no memory");
	rf_buf_init(&text, 1 << 20);
	rf_buf_puts(&text, FIRST);
	for (int i = 0; i < RF_BOOKS_ORDERS; i++)
		rf_buf_puts(&text, "reset host a\n");
	RF_CHECK(rf_books_read(text.data, text.len, books, &err) == 0, "as many as fit");
	rf_buf_puts(&text, "reset host a\n");
	RF_CHECK(rf_books_read(text.data, text.len, books, &err) == -EBADMSG, "one more");
	free(books);
}

static int take(struct rf_edict **edict, const char *text, uint64_t now_ms)
{
	struct rf_err err = RF_ERR_INIT;

	return rf_edict_take(edict, text, strlen(text), now_ms, &err);
}

RF_TEST(what_is_opened_by_hand_bars_until_its_time_is_over)
{
	struct rf_edict *edict = NULL;
	uint64_t ms = 0;

	RF_CHECK(!rf_edict_bars(edict, false, "a.b:443", "a.b", 0, &ms), "without books");
	RF_REQUIRE(take(&edict,
			FIRST "open host a.b 5000 by hand\nopen host c.d:8080 - odd\n"
			      "open credential a.b - k\nreset host e.f\n",
			1000) == 0,
		   "taken");
	RF_CHECK(rf_edict_bars(edict, false, "a.b:443", "a.b", 2000, &ms) && ms == 4000, "%llu",
		 (unsigned long long)ms);
	RF_CHECK(!rf_edict_bars(edict, false, "a.b:443", "a.b", 6000, &ms), "its time is over");
	RF_CHECK(rf_edict_bars(edict, false, "c.d:8080", "c.d", 1ull << 60, &ms) &&
			 ms == RF_BOOKS_NEVER,
		 "until it is reset");
	RF_CHECK(!rf_edict_bars(edict, false, "c.d:443", "c.d", 1000, &ms), "another port");
	RF_CHECK(!rf_edict_bars(edict, false, "e.f:443", "e.f", 1000, &ms), "reset");
	RF_CHECK(rf_edict_bars(edict, true, "a.b", NULL, 9000, &ms), "a credential is no host");
	RF_CHECK(take(&edict, "nonsense", 1000) == -EBADMSG, "malformed");
	RF_CHECK(rf_edict_bars(edict, false, "c.d:8080", "c.d", 1000, &ms),
		 "what was before stays");
	RF_REQUIRE(take(&edict, FIRST, 1000) == 0, "taken");
	RF_CHECK(!rf_edict_bars(edict, false, "c.d:8080", "c.d", 1000, &ms), "all is replaced");
	rf_edict_free(edict);
}

RF_TEST(what_was_used_since_is_counted_on_top)
{
	struct rf_edict *edict = NULL;
	uint64_t uses = 0, money = 0;

	RF_CHECK(!rf_edict_spent(edict, "k", 86400000, 0, 0, &uses, &money), "without books");
	RF_REQUIRE(take(&edict, FIRST "credential k 3 10 300 1000 4\n", 0) == 0, "taken");
	RF_CHECK(rf_edict_spent(edict, "k", 86400000, 6, 100, &uses, &money) && uses == 12 &&
			 money == 1200,
		 "%llu, %llu", (unsigned long long)uses, (unsigned long long)money);
	RF_CHECK(rf_edict_spent(edict, "k", 3600000, 4, 100, &uses, &money) && uses == 3 &&
			 money == 300,
		 "by the hour");
	RF_CHECK(!rf_edict_spent(edict, "k", 60000, 4, 100, &uses, &money), "by the minute");
	RF_CHECK(!rf_edict_spent(edict, "other", 86400000, 4, 100, &uses, &money), "another");
	RF_CHECK(rf_edict_spent(edict, "k", 86400000, UINT64_MAX, UINT64_MAX, &uses, &money) &&
			 uses == UINT64_MAX && money == UINT64_MAX,
		 "no sum wraps");
	rf_edict_free(edict);
}
