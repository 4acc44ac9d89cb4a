/*
 * A hook: a program that is told of alarms.
 *
 * Only the watcher's owner names it (`ringfort watch --hook`): what a policy or a box says never decides what the
 * watcher executes.  It is started without a shell, arguments or variables, in a process group of its own, with one
 * event as JSON on its standard input and nowhere to write to.  At most RF_HOOK_MOST run at once and RF_HOOK_QUEUE
 * wait; one that takes longer than RF_HOOK_MS is killed with its group.  How each ended is recorded.  The watcher never
 * waits for one.
 */
#ifndef RF_WATCH_HOOK_H
#define RF_WATCH_HOOK_H

#include "audit/event.h"
#include "base/err.h"
#include "base/loop.h"

#define RF_HOOK_MOST  4
#define RF_HOOK_QUEUE 64
#define RF_HOOK_MS    5000

struct rf_hook;

/* Refuses a program that is not an absolute path, or that others than its owner and root could change. */
int rf_hook_check(const char *program, struct rf_err *err);

/* `program` is borrowed; `note` is told how each call ended.  Gives. */
int rf_hook_new(const char *program, struct rf_loop *loop,
		void (*note)(void *data, const struct rf_audit_event *event), void *data,
		struct rf_hook **ret_hook, struct rf_err *err);

/* Kills what runs.  Accepts NULL. */
void rf_hook_free(struct rf_hook *hook);

/* Tells it of an event, now or when there is room. */
void rf_hook_tell(struct rf_hook *hook, const struct rf_audit_event *event);

#endif
