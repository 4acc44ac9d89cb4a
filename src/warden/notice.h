/*
 * A program for a kept box that waits until it is recorded that it is begun.
 *
 * Where all must be recorded, a box that stands is no licence: the watcher may be gone by now, or its disk full.  So the program is told of
 * first, and pid 1 hears of it when the log has it; meanwhile everybody else is served.  A program that is not begun after all
 * has an end in the log, too.
 */
#ifndef RF_WARDEN_NOTICE_H
#define RF_WARDEN_NOTICE_H

#include "base/err.h"
#include "wire/exec.h"
#include "wire/wire.h"

struct client;
struct rf_notice;

/*
 * Tells of `exec`, in the box of `keeper`, as `client` has asked with `message` (takes its descriptors); it goes on by itself, or the client
 * is told why not.  client->notice holds it until then.
 */
int rf_notice_begin(struct client *client, struct client *keeper, struct rf_wire_message *message,
		    const struct rf_exec *exec, struct rf_err *err);

/* Who asked for it is gone.  Accepts NULL. */
void rf_notice_drop(struct rf_notice *notice);

#endif
