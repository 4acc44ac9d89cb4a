/*
 * What happened, told to who has the box.
 *
 * What was refused is told at once; what went well within some milliseconds, together with what follows, since each telling wakes the client.  While the client
 * does not listen events are kept, up to a bound, in order, and beyond that counted as lost.  Denials of the same
 * kind to the same place are told once in a while, with a count of all of them: a program that tries a thousand times is one story.
 */
#ifndef RF_GATEWAY_NOTE_H
#define RF_GATEWAY_NOTE_H

#include "http/deadline.h"
#include "wire/gate.h"

struct rf_annals;
struct rf_note;

/* `fd` is the client's connection (borrows), `box` the number that it gave the box. */
int rf_note_new(struct rf_deadlines *deadlines, int fd, uint64_t box, struct rf_note **ret_note,
		struct rf_err *err);
void rf_note_free(struct rf_note *note);

/* Whether there is room for what is going to happen.  If not, it is not let happen: what can't be told is not done. */
bool rf_note_has_room(const struct rf_note *note);

/* Tells, or keeps it to be told; the time is set here.  A refusal that was told a moment ago is only counted. */
void rf_note_tell(struct rf_note *note, struct rf_gate_event *event);

/* The same of what has reached a server: each is told, also where it was refused in the end. */
void rf_note_tell_sent(struct rf_note *note, struct rf_gate_event *event);

/* Hands a request over that is held back.  False if the client does not take it now. */
bool rf_note_hold(struct rf_note *note, const struct rf_gate_held *held);

/* Tells what was kept.  True if that is all of it. */
bool rf_note_flush(struct rf_note *note);

/* The last message; to be flushed as well. */
void rf_note_finish(struct rf_note *note);

/* What is told is kept there as well from now on (borrows). */
void rf_note_keep(struct rf_note *note, struct rf_annals *annals);

struct rf_gate_counts *rf_note_counts(struct rf_note *note);

#endif
