/*
 * What the files of a request of the API share: its head (api-call-head.c), its answer (api-call-answer.c) and its place among those of its key
 * (api-call-place.c).  Internal to api-call*.c.
 */
#ifndef RF_SERVER_API_CALL_INSIDE_H
#define RF_SERVER_API_CALL_INSIDE_H

#include "server/api-call.h"

/* A field's value; its `at` is NULL if there is none. */
struct rf_span rf_api_call_value(const struct rf_http1_head *head, struct rf_span name);

/* What Authorization shows as `Bearer`; without bytes if it shows nothing. */
struct rf_span rf_api_call_bearer(const struct rf_http1_head *head);

/* What answers call the request, and what they bring back of what it said. */
void rf_api_call_name(struct rf_api_call *call, const struct rf_http1_head *head);

/* Each refuses what may not be: fields of which two mean two things; who is asked, and by whose page; a body's type; parameters that are unknown or there twice. */
int rf_api_call_check_fields(const struct rf_http1_head *head, struct rf_api_error *error);
int rf_api_call_check_names(const struct rf_api_call *call, const struct rf_http1_head *head,
			    struct rf_api_error *error);
int rf_api_call_check_type(const struct rf_api_call *call, const struct rf_http1_head *head,
			   struct rf_api_error *error);
int rf_api_call_check_query(const struct rf_api_call *call, struct rf_api_error *error);
bool rf_api_call_accepts(struct rf_span accept, struct rf_span type);

/* Notes what of the head its handler may want to know. */
void rf_api_call_note(struct rf_api_call *call, const struct rf_http1_head *head);

/* Of a request that is passed on to a port of a sandbox: keeps what passes of its head. */
int rf_api_call_keep_head(struct rf_api_call *call, const struct rf_http1_head *head,
			  struct rf_api_error *error);
/* Tells who has others told of it that it was answered, where anybody is. */
void rf_api_call_tell_span(const struct rf_api_call *call);

/* Sends of the answer what the client has room for. */
void rf_api_call_pump(struct rf_api_call *call);

/* Nobody waits for its answer any more. */
void rf_api_call_settle(struct rf_api_call *call);

/* It waits for a place no more. */
void rf_api_call_leave_line(struct rf_api_call *call);

#endif
