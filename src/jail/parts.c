/* Parts of boxes: see parts.h. */
#include "jail/parts.h"

bool rf_parts_has_mold(const struct rf_box *box)
{
	return box->is_root && !box->is_lesser && box->parts && box->parts->mold >= 0 &&
	       box->hidden.count == 0 && !box->programs;
}

/*
 * Without inet and netlink sockets nothing of a network namespace can be seen or changed; without unix
 * sockets no abstract name can be met in it.
 */
bool rf_parts_has_network(const struct rf_box *box)
{
	const struct rf_plan *plan = box->plan;

	return box->is_root && !box->is_lesser && box->parts && box->parts->network >= 0 &&
	       plan->link == RF_LINK_NONE && !plan->has_loopback && !plan->has_unix;
}
