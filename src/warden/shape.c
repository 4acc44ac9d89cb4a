/* The shape of a plan: see shape.h. */
#include "warden/shape.h"

#include <string.h>

#include "jail/netns.h"
#include "policy/net.h"

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(const struct rf_place *a, const struct rf_place *b)
{
	return !a->layers && !b->layers && a->kind == b->kind && a->rights == b->rights &&
	       a->is_optional == b->is_optional && is_same_text(a->path, b->path) &&
	       is_same_text(a->source, b->source) && is_same_text(a->rule, b->rule);
}

/* Sockets are made with the box: the ports of one are not those of another. */
static bool is_same_network(const struct rf_plan *a, const struct rf_plan *b)
{
	struct rf_capture_wish of_a, of_b;

	if (a->link != b->link || a->link != RF_LINK_GATEWAY)
		return a->link == b->link;
	rf_netns_wish(a, &of_a);
	rf_netns_wish(b, &of_b);
	return of_a.stock_count == of_b.stock_count && of_a.port_count == of_b.port_count &&
	       memcmp(of_a.ports, of_b.ports, sizeof(of_a.ports)) == 0;
}

bool rf_shape_is_common(const struct rf_plan *plan)
{
	/* A box whose TLS is ended has a certificate that no other has. */
	if (plan->net && plan->net->needs_tls)
		return false;
	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i]
			    .is_site) /* one that waits would keep a workspace that is to go */
			return false;
	return !plan->commands && !plan->canaries && plan->deny_count == 0 && !plan->has_terminal &&
	       !(plan->seccomp && plan->seccomp[0]);
}

bool rf_shape_is_same(const struct rf_plan *a, const struct rf_plan *b)
{
	if (!rf_shape_is_common(a) || !rf_shape_is_common(b) || a->place_count != b->place_count ||
	    a->hides_credentials != b->hides_credentials ||
	    a->keeps_attributes != b->keeps_attributes || a->uid != b->uid || a->gid != b->gid ||
	    a->isolation != b->isolation || !is_same_network(a, b) ||
	    a->has_loopback != b->has_loopback || a->has_unix != b->has_unix ||
	    a->syscalls != b->syscalls || a->may_be_weaker != b->may_be_weaker ||
	    a->needs_hard != b->needs_hard)
		return false;
	if (!is_same_text(a->hostname, b->hostname) || !is_same_text(a->user, b->user) ||
	    !is_same_text(a->home, b->home))
		return false;
	if (memcmp(a->limits, b->limits, sizeof(a->limits)) != 0)
		return false;
	for (size_t i = 0; i < a->place_count; i++)
		if (!is_same_place(&a->places[i], &b->places[i]))
			return false;
	return true;
}
