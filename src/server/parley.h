/*
 * A program in a sandbox that somebody has a WebSocket to: what it writes goes out as it comes, and what comes in is its input.
 *
 * The program ends when its connection does; one with a terminal goes on for a while, and what it wrote last is kept, so that a client whose connection broke comes
 * back to it by its number.  docs/server.md has the messages.  Parleys are the front's: when it dies, they end.
 */
#ifndef RF_SERVER_PARLEY_H
#define RF_SERVER_PARLEY_H

#include "server/front.h"

/* Goes on with a call as the WebSocket of a program that its first message will name, in the sandbox that the call names; or answers why not. */
void rf_parley_begin(struct rf_api_call *call);

/* Goes on with a call as the WebSocket of a terminal that is there, by its number; or answers why not. */
void rf_parley_attach(struct rf_api_call *call);

/* A key was removed: what was begun with it ends. */
void rf_parley_revoke(struct rf_front *front, const char *key);

/* The server will end: terminals do, and programs without one are waited for. */
void rf_parley_drain(struct rf_front *front);

/* Forgets all; those that run are ended. */
void rf_parley_free_all(struct rf_front *front);

#endif
