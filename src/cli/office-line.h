/* A line to the clerk of the user's server, for the operator's own commands: see server/office.h. */
#ifndef RF_CLI_OFFICE_LINE_H
#define RF_CLI_OFFICE_LINE_H

#include "base/buf.h"
#include "server/clerk-terms.h"
#include "wire/wire.h"

struct rf_office_line {
	int fd; /* or -1 */
	struct rf_buf in;
};

/* -ENOENT or -ECONNREFUSED: no server of this user's runs.  To be ended with rf_office_line_close(), also where it fails. */
int rf_office_line_open(struct rf_office_line *line, struct rf_err *err);
void rf_office_line_close(struct rf_office_line *line);

/* Asks, and waits for the answer.  Gives `*ret_answer`, whose body holds until the next question; to be ended with rf_wire_done(). */
int rf_office_line_ask(struct rf_office_line *line, const struct rf_clerk_ask *ask,
		       struct rf_wire_message *ret_answer, struct rf_err *err);

#endif
