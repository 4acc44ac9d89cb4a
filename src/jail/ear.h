/*
 * Hears what the kernel refuses a box: its audit log, by way of the multicast group (Linux 3.16).
 *
 * Reading takes nothing from others who read, and only root can (CAP_AUDIT_READ).  Whether this
 * machine audits at all is its administrator's decision: an ear never switches it on.
 */
#ifndef RF_JAIL_EAR_H
#define RF_JAIL_EAR_H

#include "jail/denial.h"

struct rf_ear {
	int fd;                     /* or -1: nothing is heard */
	struct rf_denials *denials; /* owned, once the box is known */
	uint64_t heard;             /* records, others' among them */
	bool has_lost;              /* not all was heard: records came too fast, or too many */
};

#define RF_EAR_DEAF ((struct rf_ear){ .fd = -1 })

enum rf_ear_state {
	RF_EAR_ON,
	RF_EAR_CLOSED, /* no audit in the kernel, not root, or in a container */
	RF_EAR_OFF,    /* the machine does not audit */
	RF_EAR_DIRE,   /* it halts when a record is lost: no box is to be given the chance */
};

/* Asks the kernel how auditing is set. */
enum rf_ear_state rf_ear_ask(void);

/* Opens the log.  The ear stays deaf where refusals can't be seen; that is no failure. */
void rf_ear_open(struct rf_ear *ear);

/* Takes in what has come, some hundred records at most.  False if this ear has heard enough. */
bool rf_ear_hear(struct rf_ear *ear);

/* Takes in the rest, and waits a moment for what is on its way. */
void rf_ear_hear_last(struct rf_ear *ear);

void rf_ear_done(struct rf_ear *ear);

#endif
