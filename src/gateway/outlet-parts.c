/* What attaches itself to an outlet when it is opened, in the order in which filters see a request. */
#include "gateway/outlet.h"

const struct rf_outlet_part rf_outlet_parts[] = {
	{ 0 },
};
