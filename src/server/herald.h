/*
 * ringfort-herald: tells others what happened: signed messages to webhooks, spans and figures to a collector.
 *
 * A process of its own, since it speaks with strangers' servers: it has no file of the operator's, no key but the secrets that it signs with, and can do nothing
 * but connect (herald-stance.h).  Each place is told one thing after the other; what can't be told is tried again, later each time, and given up after
 * so many; what waits is bounded.  Who started it hears of what was given up, and has it recorded.
 */
#ifndef RF_SERVER_HERALD_H
#define RF_SERVER_HERALD_H

#include "base/err.h"

#define RF_HERALD_QUEUE 256 /* messages that wait, for each place */

/* Serves on the connection to who started it, until that ends. */
int rf_herald_serve(int host, struct rf_err *err);

#endif
