/* The policy language as JSON Schema (2020-12), for editors and validators. */
#ifndef RF_POLICY_SCHEMA_H
#define RF_POLICY_SCHEMA_H

#include "base/buf.h"

void rf_schema_json(struct rf_buf *out);

#endif
