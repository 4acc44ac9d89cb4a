/*
 * Credentials of a box: put into requests that they are bound to, kept out of all others, and taken out of answers.
 *
 * The box has placeholders only.  A value goes into a request if the policy's rules for the credential and for the request both name its host, method and
 * path, and if the server has proved who it is; never on a connection in clear, and never in a mode where everything may pass.  A placeholder on its way to
 * anybody else is a program that gives away what it believes to be a secret: the request is refused, and told.  Values in answers, in
 * whatever form, are masked (redaction-part.h).
 */
#ifndef RF_GATEWAY_CREDENTIALS_H
#define RF_GATEWAY_CREDENTIALS_H

#include "gateway/outlet.h"

/* A row of rf_outlet_parts. */
int rf_credentials_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
			struct rf_err *err);
void rf_credentials_close(struct rf_outlet *outlet, void *own);

#endif
