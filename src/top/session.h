/*
 * Somebody in front of a terminal, from the first frame to the last: keys, the watcher's answers and a tick, in one loop.
 *
 * All that is shown is the watcher's word, and all that is done the watcher does: this holds no privilege and
 * touches no process.
 */
#ifndef RF_TOP_SESSION_H
#define RF_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/style.h"
#include "top/board.h"
#include "top/desk.h"
#include "top/inquiry.h"
#include "top/keys.h"
#include "top/screen.h"

/* What the watcher was asked last; boxes and breakers make one board. */
enum rf_session_question {
	RF_SESSION_BOXES,
	RF_SESSION_BREAKERS,
	RF_SESSION_DEED,
};

struct rf_session {
	/* Set before it begins: */
	uint64_t interval_ns;
	struct rf_style style;
	bool is_utf8;
	struct rf_desk desk;
	/* Made by rf_session_look(): */
	struct rf_board *board; /* or NULL: nothing is known */
	struct rf_inquiry inquiry;
	struct rf_buf boxes, answer, frame;
	/* While somebody is there: */
	struct rf_loop *loop;
	struct rf_event *input, *socket, *tick, *key_timer;
	struct rf_screen screen;
	struct rf_keys keys;
	enum rf_session_question question;
	uint64_t asked_ns;
	enum rf_desk_wish deed; /* to be asked for next, or RF_DESK_NOTHING */
	char target[RF_BOARD_ID];
	struct rf_err trouble; /* code 0: none */
	int signal;            /* that ends us */
	struct rf_err fail;    /* that ends us */
};

void rf_session_init(struct rf_session *session);
void rf_session_done(struct rf_session *session);

/* The first board, waited for: who has no watcher hears it before the terminal is taken. */
int rf_session_look(struct rf_session *session, struct rf_err *err);

/* Takes the terminal, and stays until somebody leaves.  A signal that ends it ends the process, once the terminal is given back. */
int rf_session_stay(struct rf_session *session, struct rf_err *err);

#endif
