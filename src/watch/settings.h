/*
 * What a watcher was started with, held against what the last one was: a change is told in the log.
 *
 * Where heads are sent, how long the log is kept and what is told of alarms decide what the log is worth; who takes an anchor away
 * should not do so unseen.  Settings are lines, "name value", of at most RF_SETTINGS_LINE bytes.
 */
#ifndef RF_WATCH_SETTINGS_H
#define RF_WATCH_SETTINGS_H

#define RF_SETTINGS_TEXT 2048
#define RF_SETTINGS_LINE 128 /* of a value, with its NUL; longer ones are cut */

/* One that is another now; "" where there was or is none. */
typedef void rf_settings_fn(void *data, const char *name, const char *from, const char *to);

/* Tells of each line in which `before` and `now` differ.  Bytes that a setting can't have are shown as ?.  Pure. */
void rf_settings_compare(const char *before, const char *now, rf_settings_fn *fn, void *data);

/*
 * Compares `now` with what the last one left in the folder `dir`, and leaves it there for the next.  The first one has nothing to
 * compare.  Returns 0, or a negative errno if it can't be left.
 */
int rf_settings_note(int dir, const char *now, rf_settings_fn *fn, void *data);

#endif
