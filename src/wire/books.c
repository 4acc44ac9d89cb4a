/* What a gateway is told of the watcher's books: see books.h. */
#include "wire/books.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const words[2] = { "host", "credential" };

/* ------------------------------------------------------------- writing */

void rf_books_write(const struct rf_books *books, struct rf_buf *out)
{
	rf_buf_printf(out, "serial %" PRIu64 "\n", books->serial);
	for (size_t i = 0; i < books->sum_count; i++) {
		const struct rf_books_sum *sum = &books->sums[i];

		rf_buf_printf(out,
			      "credential %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			      " %" PRIu64 "\n",
			      sum->name, sum->uses[0], sum->uses[1], sum->money[0], sum->money[1],
			      sum->heard);
	}
	for (size_t i = 0; i < books->order_count; i++) {
		const struct rf_books_order *order = &books->orders[i];

		rf_buf_printf(out, "%s %s %s", order->is_reset ? "reset" : "open",
			      words[order->is_credential], order->name);
		if (!order->is_reset && order->ms == RF_BOOKS_NEVER)
			rf_buf_printf(out, " - %s", order->reason);
		else if (!order->is_reset)
			rf_buf_printf(out, " %" PRIu64 " %s", order->ms, order->reason);
		rf_buf_puts(out, "\n");
	}
}

/* ------------------------------------------------------------- reading */

/* The rest of one line. */
struct line {
	const char *at, *end;
	bool is_bad;
};

/* The next word, and the blank behind it if there is one. */
static void take_word(struct line *line, char *word, size_t size)
{
	const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
	size_t len = (size_t)((blank ? blank : line->end) - line->at);

	word[0] = '\0';
	if (len == 0 || len >= size) {
		line->is_bad = true;
		return;
	}
	memcpy(word, line->at, len);
	word[len] = '\0';
	line->at += len;
	if (blank)
		line->at++;
	line->is_bad |= blank && line->at == line->end; /* something is to follow */
}

/* A number as it is written here: without a sign, or zeros in front. */
static uint64_t take_number(struct line *line)
{
	uint64_t number = 0;
	char word[24];

	take_word(line, word, sizeof(word));
	line->is_bad |= word[0] == '0' && word[1];
	for (const char *at = word; *at && !line->is_bad; at++)
		line->is_bad = *at < '0' || *at > '9' ||
			       __builtin_mul_overflow(number, 10, &number) ||
			       __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number);
	return number;
}

static bool is_clean(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static void take_sum(struct line *line, struct rf_books *books)
{
	struct rf_books_sum *sum = &books->sums[books->sum_count];

	if (books->sum_count == RF_BOOKS_SUMS || books->order_count > 0) {
		line->is_bad = true;
		return;
	}
	take_word(line, sum->name, sizeof(sum->name));
	for (int i = 0; i < RF_BOOKS_PERIODS; i++)
		sum->uses[i] = take_number(line);
	for (int i = 0; i < RF_BOOKS_PERIODS; i++)
		sum->money[i] = take_number(line);
	sum->heard = take_number(line);
	books->sum_count++;
}

static void take_order(struct line *line, bool is_reset, struct rf_books *books)
{
	struct rf_books_order *order = &books->orders[books->order_count];
	char kind[16];
	size_t len;

	if (books->order_count == RF_BOOKS_ORDERS) {
		line->is_bad = true;
		return;
	}
	take_word(line, kind, sizeof(kind));
	order->is_reset = is_reset;
	order->is_credential = strcmp(kind, words[1]) == 0;
	line->is_bad |= strcmp(kind, words[order->is_credential]) != 0;
	take_word(line, order->name, sizeof(order->name));
	books->order_count++;
	if (is_reset)
		return;
	if (!line->is_bad && line->end - line->at >= 2 && memcmp(line->at, "- ", 2) == 0) {
		order->ms = RF_BOOKS_NEVER;
		line->at += 2;
	} else {
		order->ms = take_number(line);
		line->is_bad |= order->ms == RF_BOOKS_NEVER;
	}
	len = (size_t)(line->end - line->at);
	if (line->is_bad || len == 0 || len >= sizeof(order->reason)) {
		line->is_bad = true;
		return;
	}
	memcpy(order->reason, line->at, len);
	line->at = line->end;
}

static void take_line(struct line *line, bool is_first, struct rf_books *books)
{
	char what[16];

	line->is_bad = !is_clean(line->at, (size_t)(line->end - line->at));
	take_word(line, what, sizeof(what));
	if (is_first && strcmp(what, "serial") == 0)
		books->serial = take_number(line);
	else if (!is_first && strcmp(what, "credential") == 0)
		take_sum(line, books);
	else if (!is_first && (strcmp(what, "open") == 0 || strcmp(what, "reset") == 0))
		take_order(line, what[0] == 'r', books);
	else
		line->is_bad = true;
	line->is_bad |= line->at != line->end;
}

int rf_books_read(const char *text, size_t len, struct rf_books *ret_books, struct rf_err *err)
{
	const char *at = text, *end = text + len;
	bool is_bad = len == 0;

	memset(ret_books, 0, sizeof(*ret_books));
	while (at < end && !is_bad) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct line line = { at, stop, false };

		is_bad = !stop;
		if (stop)
			take_line(&line, at == text, ret_books);
		is_bad |= line.is_bad;
		at = stop ? stop + 1 : end;
	}
	return is_bad ? rf_fail_say(err, -EBADMSG, "the watcher's books are malformed") : 0;
}
