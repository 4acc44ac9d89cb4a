/*
 * What is known of living boxes outside of them: $RUN.
 *
 * $RUN is /run/ringfort for root and $XDG_RUNTIME_DIR/ringfort for others, mode 0700.  Each box has
 * a file boxes/ID, locked by its launcher: its pid, its namespaces, its cgroups.  A file that nobody
 * holds belongs to a launcher that was killed; the next start takes away what it left.  An ordinary
 * user without a runtime directory has no records, and nothing that would need them.
 */
#ifndef RF_JAIL_RECORD_H
#define RF_JAIL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jail/box.h"

/* Opens $RUN, made if need be.  Returns a descriptor. */
int rf_record_open_run(struct rf_err *err);

/* Opens the file whose bytes are the locks of root's uids.  Returns a descriptor. */
int rf_record_open_uids(struct rf_err *err);

/* Makes and locks the box's record, and looks whether other boxes live. */
int rf_record_make(struct rf_box *box, struct rf_err *err);

/* Adds a cgroup's path, before the group is made. */
int rf_record_cgroup(const struct rf_box *box, const char *path);

/* The same for a lesser box's scratch folder. */
int rf_record_scratch(const struct rf_box *box, const char *path);

/* Fails if another living box has one of these namespaces. */
int rf_record_check(struct rf_box *box, const uint64_t *ns, struct rf_err *err);

/* True if the process is in the namespace of that number right now; `kind` is an enum rf_ns. */
bool rf_record_is_inside(long pid, int kind, uint64_t ns);

/* Adds pid and namespaces. */
void rf_record_started(const struct rf_box *box, const uint64_t *ns);

void rf_record_done(struct rf_box *box);

/* Takes away what killed launchers left behind, if rf_record_make() came across any. */
void rf_record_sweep(const struct rf_box *box);

/* The same, whether anybody came across any or not. */
void rf_record_sweep_all(void);

/* What was found of one box when it was swept. */
struct rf_record_swept {
	char box[17];
	unsigned groups, folders; /* that its record named */
	bool is_clean;            /* nothing of it is left */
};

/* In words, for people; gives `text`, of RF_RECORD_TEXT bytes. */
const char *rf_record_describe(const struct rf_record_swept *one, char *text, size_t size);

#define RF_RECORD_TEXT  96
#define RF_RECORD_SWEPT 64 /* more are swept, and not told of */

/* Copies what this process has swept since it was last asked, at most RF_RECORD_SWEPT.  Returns how many. */
size_t rf_record_take_swept(struct rf_record_swept *list);

/* How many boxes of this user's live, as far as there are records. */
size_t rf_record_count(void);

/* True if the opened file is Ringfort's state, lies in it or holds it. */
bool rf_record_is_ours(int fd);

#endif
