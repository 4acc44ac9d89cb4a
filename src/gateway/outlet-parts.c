/* What attaches itself to an outlet when it is opened, in the order in which filters see a request. */
#include "gateway/credentials.h"
#include "gateway/decoy.h"
#include "gateway/ends.h"
#include "gateway/outlet.h"
#include "gateway/redaction-part.h"

/* clang-format off */
const struct rf_outlet_part rf_outlet_parts[] = {
	{ "TLS",         rf_ends_open,           NULL,                     rf_ends_stop, rf_ends_close           },
	{ "canaries",    rf_decoy_open,          NULL,                     NULL,         rf_decoy_close          },
	{ "credentials", rf_credentials_open,    NULL,                     NULL,         rf_credentials_close    },
	{ "redaction",   rf_redaction_part_open, rf_redaction_part_change, NULL,         rf_redaction_part_close },
	{ 0 },
};
/* clang-format on */
