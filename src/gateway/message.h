/*
 * A message that was read, made into one that is sent: copied, and without what is only between two neighbours.
 */
#ifndef RF_GATEWAY_MESSAGE_H
#define RF_GATEWAY_MESSAGE_H

#include "gateway/forward.h"

/*
 * Copies the fields of a head into the message's room and arena, without those that are about the connection or the body's end, those that
 * Connection names, Host, and X-Ringfort, which is the gateway's own.  -ENOMEM, or -E2BIG if there is no room for as many.
 */
int rf_message_take(struct rf_forward_message *message, struct rf_fields fields);

/* The path, with the query if it has one: as a request's first line has it.  Empty when memory is gone. */
/* The same of what follows the body of `of`: a message of its own, with room in that one's arena. */
int rf_message_take_trailer(const struct rf_forward_message *of, struct rf_fields fields,
			    struct rf_forward_message *ret_trailer);

struct rf_span rf_message_target(struct rf_forward_message *message);

/* The same as a copy that a NUL ends; "" for nothing. */
const char *rf_message_text(struct rf_forward_message *message, struct rf_span text);

/* A copy in the message's arena; empty, and the arena failed, when memory is gone. */
struct rf_span rf_message_copy(struct rf_forward_message *message, struct rf_span text);

#endif
