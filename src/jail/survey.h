/*
 * What lies in a layer on disk: bytes and names, counted by walking it.
 *
 * The box fills it meanwhile, as it likes: deeper than a path can name, with folders that deny their owner, with files of many
 * names.  The walk has two descriptors open at a time and a few words for each level, so no depth is too deep; what is closed to
 * an ordinary user is read by a child in a user namespace of its own.  What can't be counted is said: callers take it for too much.
 */
#ifndef RF_JAIL_SURVEY_H
#define RF_JAIL_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rf_survey {
	uint64_t bytes;  /* of blocks, those of a file with several names once */
	uint64_t inodes; /* names, which are no fewer */
	bool is_closed;  /* there is a folder that nobody but root could look into */
	bool is_torn;    /* folders were moved while we were in them: it is more than that */
};

/*
 * Walks what is in `folder` (borrows).  Ends early once one of both limits is passed.
 */
void rf_survey_take(int folder, uint64_t most_bytes, uint64_t most_inodes,
		    struct rf_survey *ret_survey);

/*
 * Bytes of files of an overlay without a name that the processes of a box have open.  False if there may be more that can't be
 * seen: a process that does not let itself be looked at, files under way in sockets, or such that are only mapped.
 */
bool rf_survey_unnamed(pid_t init, uint64_t *ret_bytes);

#endif
