/*
 * The client's side: finds or starts a warden, and asks it for runs.
 *
 * Safe in programs with threads: nothing here changes the process (no signal handler, no umask, no
 * working directory), waits for children that it did not make, or leaves one behind (but for
 * rf_client_start_child()); descriptors are close-on-exec from the start.
 */
#ifndef RF_WIRE_CLIENT_H
#define RF_WIRE_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/errand.h"
#include "wire/wire.h"

#define RF_CLIENT_SOCKET       "warden.sock"       /* in $RUN */
#define RF_CLIENT_SERVERS      "serve-warden.sock" /* the same for the one that a server has */
#define RF_CLIENT_SERVERS_SELF "serve-warden.self"
#define RF_CLIENT_WAIT_MS      10000 /* that a warden has to take a connection, or a message */

/*
 * Connects to the user's standing warden.  -ENOENT or -ECONNREFUSED: there is none.  Its directory,
 * its socket and the process behind it must be the caller's own.  Gives `*ret_fd`.
 */
int rf_client_connect(int *ret_fd, struct rf_err *err);

/*
 * The same for another socket of the user's in $RUN: `name` is the file's, `who` what messages call its owner.  Root
 * proves to it that it is in no sandbox; -EXDEV: it may be in one.  Connecting, and every message that is sent, waits
 * at most `wait_ms` (-ETIMEDOUT, -EAGAIN); 0: the socket does not wait at all.
 */
int rf_client_connect_to(const char *name, const char *who, int wait_ms, int *ret_fd,
			 pid_t *ret_pid, struct rf_err *err);

/*
 * Starts `program` with `argv` for this process alone, one end of a pair of sockets as its descriptor 3, and gives the
 * other.  It is nobody's child that could be waited for; `who` is what messages call it.
 */
int rf_client_start(const char *program, const char *const *argv, const char *who, int *ret_fd,
		    struct rf_err *err);

/*
 * The same for a child of the calling thread, which can ask the kernel to end with that (PR_SET_PDEATHSIG).  Gives its number, to be waited for, and a descriptor of it, by which it
 * can be killed and its end be seen, whatever it does with the connection; -1 where the kernel has none (before 5.2).
 */
int rf_client_start_child(const char *program, const char *const *argv, const char *who,
			  int *ret_fd, pid_t *ret_pid, int *ret_process, struct rf_err *err);

/*
 * Starts a warden for this process alone, `program` with --private, and gives the connection: when it
 * closes, the warden ends.  It is nobody's child that could be waited for.
 */
int rf_client_private(const char *program, int *ret_fd, struct rf_err *err);

/* Makes a further connection to a warden by way of one that there is.  Gives `*ret_fd`. */
int rf_client_join(int fd, int *ret_fd, struct rf_err *err);

/* Asks who is there, and waits for the answer, at most `timeout_ms`. */
int rf_client_hello(int fd, int timeout_ms, struct rf_wire_welcome *ret_welcome,
		    struct rf_err *err);

/*
 * Asks for a run with these three as its stdin, stdout and stderr (NULL: for a box that is kept), and where the box's network leads to a gateway, the connection to it on
 * which the box was asked for and answered (-1: none); what is said on it from now on is said by the warden.  Borrows all; once it is sent, the caller's copies are to be closed.
 */
int rf_client_run(int fd, uint64_t id, const struct rf_errand *errand, const int stdio[3],
		  int gateway, struct rf_err *err);

#endif
