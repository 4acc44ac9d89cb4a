/*
 * What the launcher says to pid 1 of a kept box, and hears from it: tasks and reports (init/orders.h).
 *
 * Nothing here waits: a pid 1 that does not read is its own box's trouble.  Errors are the caller's to
 * tell; -EAGAIN means that pid 1 has much to do, or has been stopped.
 */
#ifndef RF_JAIL_TASK_H
#define RF_JAIL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "init/orders.h"

/* A program to be started. */
struct rf_task_program {
	uint32_t number; /* never 0, and never used twice in one box */
	const char *workdir;
	char *const *argv, *const *env; /* NULL-ended */
	unsigned umask;
	int streams[3]; /* borrowed: pipes of the box's, or three times the slave of its terminal */
	int program;    /* borrowed: what to execute, if it is no file of the box's; or -1 */
	bool has_terminal; /* which the streams are */
};

/* True if these words fit into one message; their length is limited by the socket. */
bool rf_task_fits(const char *workdir, char *const *argv, char *const *env);

/* Writes them; they fit.  Gives how many bytes of `words` are used. */
size_t rf_task_write(struct rf_words *words, const char *workdir, char *const *argv,
		     char *const *env, unsigned umask);

/* Sends a message with descriptors (borrows). */
int rf_task_send(int channel, const void *bytes, size_t len, const int *fds, size_t fd_count);

int rf_task_start(int channel, const struct rf_task_program *program, struct rf_err *err);

/* Each of these is a message of a few numbers. */
int rf_task_signal(int channel, uint32_t number, int signal, bool is_for_group);
int rf_task_terminal(int channel, uint32_t number);
int rf_task_reach(int channel, uint32_t number, uint16_t port);
int rf_task_renew(int channel, uint64_t time_ms);
int rf_task_freeze(int channel, bool is_frozen);

/*
 * Receives a report, and gives the descriptor that came along, or -1.  Returns 1; 0 at the end; or a negative
 * errno: -EAGAIN if there is none.
 */
int rf_task_receive(int channel, struct rf_report *ret_report, int *ret_fd);

#endif
