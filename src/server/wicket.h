/*
 * What the front asks who has the keys about its register (register.h), and hears.
 *
 * One question of a call at a time; a call that ends is forgotten.
 */
#ifndef RF_SERVER_WICKET_H
#define RF_SERVER_WICKET_H

#include "server/api-call.h"
#include "server/pass.h"

/* `told` is borrowed for the call. */
typedef void rf_wicket_fn(struct rf_api_call *call, const struct rf_pass_told *told);

/* Asks (the question's key is the call's own).  False: it can't be asked, and `fn` is not called. */
bool rf_wicket_ask(struct rf_api_call *call, struct rf_pass_question *question, rf_wicket_fn *fn);

/* Says something whose answer nobody waits for. */
void rf_wicket_say(const struct rf_api_call *call, struct rf_pass_question *question);

/* A TOLD has come. */
void rf_wicket_hear(struct rf_front *front, const struct rf_wire_message *message);

void rf_wicket_forget(struct rf_api_call *call);

#endif
