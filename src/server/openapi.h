/* The API as others read it, from openapi.json. */
#ifndef RF_SERVER_OPENAPI_H
#define RF_SERVER_OPENAPI_H

#include <stddef.h>

extern const char rf_openapi_text[];
extern const size_t rf_openapi_len;

#endif
