/* Which part of a list is wanted: its parameters, which are the same for every list that comes in pages. */
#ifndef RF_SERVER_LIST_PAGE_H
#define RF_SERVER_LIST_PAGE_H

#include "server/api-call.h"

struct rf_list_page {
	size_t limit;
	char cursor[64];           /* behind what, or "" */
	char label[64], value[64]; /* "": any */
};

/* From `limit`, `cursor` and `label=NAME=VALUE`.  0, or -1 and the error. */
int rf_list_page_read(const struct rf_api_call *call, struct rf_list_page *page,
		      struct rf_api_error *error);

#endif
