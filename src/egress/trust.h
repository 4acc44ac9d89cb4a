/*
 * What makes the programs of a box trust the box's own certificate authority, where TLS is ended for it: files that are brought along, and
 * variables that lead to them.
 *
 * The system's file of certificates, and Java's, are covered inside by ones with the authority in them, so that programs find it without being told;
 * variables tell those that bring certificates of their own.  A variable that the policy sets or passes stays as it is.
 */
#ifndef RF_EGRESS_TRUST_H
#define RF_EGRESS_TRUST_H

#include "base/err.h"
#include "policy/plan.h"
#include "policy/policy.h"

struct rf_trust;

/* `ca_pem` (borrows) is the authority's certificate, as the gateway told it (GATE_READY). */
int rf_trust_new(const char *ca_pem, struct rf_trust **ret_trust, struct rf_err *err);
void rf_trust_free(struct rf_trust *trust);

/* For rf_facts.extras; they live as long as the trust. */
const struct rf_place *rf_trust_places(const struct rf_trust *trust, size_t *ret_count);

/* Adds the variables to the policy's `env.set`: before the plan is made, or the errand is sent. */
int rf_trust_set(const struct rf_trust *trust, struct rf_policy *policy, struct rf_err *err);

#endif
