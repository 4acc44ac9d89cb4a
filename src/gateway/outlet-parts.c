/* What attaches itself to an outlet when it is opened, in the order in which filters see a request. */
#include "gateway/outlet.h"
#include "gateway/redaction-part.h"

const struct rf_outlet_part rf_outlet_parts[] = {
	{ "redaction", rf_redaction_part_open, NULL, rf_redaction_part_close },
	{ 0 },
};
