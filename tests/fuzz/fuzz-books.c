/* What a gateway is told of the watcher's books: what is taken is what would be written again. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/books.h"

RF_FUZZ(data, size)
{
	struct rf_books *books = malloc(sizeof(*books));
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 1 << 20);
	if (!books)
		return 0;
	if (rf_books_read((const char *)data, size, books, &err) < 0) {
		if (!err.msg[0])
			abort();
	} else {
		rf_books_write(books, &again);
		if (again.has_failed || again.len != size || memcmp(again.data, data, size) != 0)
			abort();
	}
	free(books);
	return 0;
}
