/*
 * A message that was read, made into one that is sent: copied, and without what is only between two neighbours.
 */
#ifndef RF_GATEWAY_MESSAGE_H
#define RF_GATEWAY_MESSAGE_H

#include "gateway/forward.h"

/*
 * Copies the fields of a head into the message's room and arena, without those that are about the connection or the body's end, those that
 * Connection names, and Host.  -ENOMEM, or -E2BIG if there is no room for as many.
 */
int rf_message_take(struct rf_forward_message *message, struct rf_fields fields);

/* A copy in the message's arena; empty, and the arena failed, when memory is gone. */
struct rf_span rf_message_copy(struct rf_forward_message *message, struct rf_span text);

#endif
