/* Parts of boxes: see parts.h. */
#include "jail/parts.h"

bool rf_parts_has_mold(const struct rf_box *box)
{
	return box->is_root && !box->is_lesser && box->parts && box->parts->mold >= 0 &&
	       box->hidden.count == 0 && !box->programs;
}
