/*
 * What a program writes on its standard output as the whole body of an answer, byte for byte, and its result behind that, in the trailer.
 *
 *     X-Ringfort-Status: ok          as in a result
 *     X-Ringfort-Exit-Code: 0        or X-Ringfort-Signal: 9; neither, if it never ran
 *     X-Ringfort-Truncated: true     if it wrote more than it may
 *     X-Ringfort-Stderr: ...         the end of what it wrote there, as base64; if there is any
 */
#ifndef RF_SERVER_RAW_H
#define RF_SERVER_RAW_H

#include "server/api-call.h"

/* Of a job whose output is left to its owner, the call. */
extern const struct rf_job_ops rf_raw_ops;

/* Before the job is started.  False without memory: the call ends. */
bool rf_raw_begin(struct rf_api_call *call);

#endif
