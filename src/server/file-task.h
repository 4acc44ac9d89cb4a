/*
 * Something done with the files of a sandbox: by a program of the box's own, and what came of it.
 *
 * What a path means is found within the box and with the box's rights: a link that was laid there leads nowhere that its programs could not go by
 * themselves.  The cost is a program for each request (a shell, and cat, find, tar or another), and that the box's policy lets these be run.
 */
#ifndef RF_SERVER_FILE_TASK_H
#define RF_SERVER_FILE_TASK_H

#include "server/api-call.h"

#define RF_FILE_PATH  4000 /* bytes of a path, with a NUL */
#define RF_FILE_WORDS 4    /* of a script */

/* What the scripts end with. */
enum {
	RF_FILE_NONE = 44,
	RF_FILE_FOLDER = 45,
	RF_FILE_DENIED = 46,
	RF_FILE_BEYOND = 47, /* a part that the file does not have */
	RF_FILE_NO_FOLDER = 48
};

struct rf_file_task {
	const char *script;               /* for /bin/sh; its words are never part of it: */
	const char *words[RF_FILE_WORDS]; /* "$1" and so on; NULL-ended */
	uint64_t output_limit;            /* of what is kept */
	uint64_t timeout;                 /* seconds; 0: as long as the client waits */
	struct rf_span input;             /* of the program, until it ends (borrows); or none */
	bool leaves_input, leaves_output; /* as of a job */
	const struct rf_job_ops
		*ops; /* whose data is the call; without on_output() its words are kept */
};

/* An absolute path, from the request's parameter of that name.  -1, and the error. */
int rf_file_task_path(const struct rf_api_call *call, const char *name, char path[RF_FILE_PATH],
		      struct rf_api_error *error);

/* Starts it as the call's job.  -1: the call is answered. */
int rf_file_task_start(struct rf_api_call *call, const struct rf_file_task *task);

/* True if its job has ended well; else that is answered, with what the program said of it: `said`, or NULL for what the job has kept. */
bool rf_file_task_went_well(struct rf_api_call *call, const struct rf_buf *said);

/* Its job is not needed any more. */
void rf_file_task_end(struct rf_api_call *call);

/* Answers that something is wrong with the path. */
void rf_file_task_complain(struct rf_api_call *call, enum rf_api_code code, const char *what,
			   const char *hint);

#endif
