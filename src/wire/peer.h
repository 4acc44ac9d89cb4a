/*
 * Who is at the other end of a connection, and whether it is what we are.
 *
 * A box from a warden is made with the warden's rights, in its namespaces.  A client that lives in other
 * ones would be shown other files under its own paths, or another network; one that is confined (another
 * group list, fewer capabilities, a filter, no_new_privs, as who is in a sandbox has) would get out of its
 * confinement by asking.  So a client of a standing warden must be what the warden is: the warden looks,
 * and refuses.  It also leaves a note of what it is, so that a client need not ask in vain, and makes its box
 * itself; a look at the warden would not do, which steps into other mounts now and then (jail/mold.h).
 */
#ifndef RF_WIRE_PEER_H
#define RF_WIRE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RF_PEER_SPACES 6
#define RF_PEER_LINES  9

struct rf_peer {
	uint64_t spaces[RF_PEER_SPACES]; /* namespaces, by inode number */
	uint64_t root_dev, root_ino;     /* the root directory */
	char lines[RF_PEER_LINES][256];  /* of /proc/PID/status */
	char groups[2048];   /* an ordinary user's cgroups, which its boxes live in; or "" */
	bool has_any_groups; /* of `self`: whoever is in others is like it all the same */
};

#define RF_PEER_FILE "warden.self" /* in $RUN: what the standing warden is */

/* What this process is. */
int rf_peer_note_self(struct rf_peer *ret_self, struct rf_err *err);

/* The same, of who keeps a note of it; NULL: it can't be looked at. */
typedef const struct rf_peer *rf_peer_self_fn(void);

/*
 * Looks at the other end; gives its pid.  Fails with -EACCES if it is another user's or can't be looked
 * at, and with -EXDEV if it is not what `self` is, the `who` ("warden"), saying in what.
 */
int rf_peer_check(int connection, const struct rf_peer *self, const char *who, pid_t *ret_pid,
		  struct rf_err *err);

/*
 * Looks whether the other end is confined, for who serves its user's processes with something that is no right of theirs alone: its namespaces and root must be
 * `self`'s or, as far as we may look there, those of pid 1; it must have our user's ids and all capabilities that we have; no no_new_privs, and no more filters than
 * pid 1.  So a service that was confined itself (by a unit's directives, say) is open to its user's shell.  Errors as above.
 */
int rf_peer_check_free(int connection, const struct rf_peer *self, const char *who, pid_t *ret_pid,
		       struct rf_err *err);

/* False if the process that connected is gone: its number may be another's by now. */
bool rf_peer_is_alive(int connection);

/*
 * What /proc does not tell of a process is whether it is in a Landlock domain, and root can be in one without
 * no_new_privs.  Such a process can't look at one outside of its domain as ptrace(2) would.  So root's client
 * opens a file in /proc, of who listens behind its connection, that demands this, and passes it on; the one that listens sees that it is its own.
 */
int rf_peer_open_proof(int connection); /* a descriptor or a negative errno */
bool rf_peer_is_proof(int fd);

/*
 * Leaves the note `name` in `dir`, $RUN; and says, from the note, whether the one behind a connection, the `who` ("warden"), is like
 * `self` and of our version.
 */
int rf_peer_write(int dir, const char *name, const struct rf_peer *self, struct rf_err *err);
int rf_peer_compare(int connection, const char *name, const char *who, const struct rf_peer *self,
		    struct rf_err *err);

#endif
