/* The door of a process that serves its user: see door.h. */
#include "wire/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/wire.h"

#define BACKLOG 128
#define LOCK_NS 2000000000ull /* who was killed takes its time to end where the machine is busy */

int rf_door_lock(int fd)
{
	uint64_t until = rf_loop_now() + LOCK_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || rf_loop_now() > until)
			return -errno;
		poll(NULL, 0, 10);
	}
	return 0;
}

int rf_door_listen(int run, const char *name, struct rf_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	RF_AUTO_FD int fd = -1;
	mode_t mask;
	int code;

	if (unlinkat(run, name, 0) < 0 && errno != ENOENT)
		return rf_fail(err, -errno, "take an old %s away", name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return rf_fail(err, -errno, "make a socket");
	/* By its folder's descriptor: a path may be longer than an address. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", run, name);
	mask = umask(0177);
	code = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (code < 0 || listen(fd, BACKLOG) < 0)
		return rf_fail(err, -errno, "listen on %s", name);
	return rf_fd_take(&fd);
}

/* ------------------------------------------------------------- visitors */

int rf_door_look(const struct rf_door *door, int fd, pid_t *ret_pid, struct rf_err *err)
{
	int code = door->rules->is_for_all
			   ? rf_peer_check_free(fd, &door->self, door->rules->who, ret_pid, err)
			   : rf_peer_check(fd, &door->self, door->rules->who, ret_pid, err);

	return code == -EXDEV ? rf_fail_hint(err, "%s", door->rules->instead) : code;
}

static struct rf_door_visitor *oldest(const struct rf_door *door)
{
	struct rf_door_visitor *visitor = door->visitors;

	while (visitor && visitor->next)
		visitor = visitor->next;
	return visitor;
}

int rf_door_admit(struct rf_door *door, int *fd, pid_t pid, struct rf_door_visitor **ret_visitor,
		  struct rf_err *err)
{
	struct rf_door_visitor *visitor;

	if (door->count >= door->rules->most && door->rules->makes_room)
		rf_door_leave(oldest(door));
	if (door->count >= door->rules->most)
		return rf_fail_say(err, -EAGAIN, "more than %zu connections", door->rules->most);
	visitor = calloc(1, door->rules->size);
	if (!visitor)
		return rf_fail(err, -ENOMEM, "a connection");
	fcntl(*fd, F_SETFL, O_NONBLOCK);
	*visitor = (struct rf_door_visitor){ .door = door, .fd = *fd, .pid = pid };
	if (rf_loop_watch(door->loop, *fd, RF_LOOP_READ, door->rules->on_message, visitor,
			  &visitor->event, err) < 0) {
		free(visitor);
		return err->code;
	}
	rf_fd_take(fd);
	visitor->next = door->visitors;
	door->visitors = visitor;
	door->count++;
	if (ret_visitor)
		*ret_visitor = visitor;
	return 0;
}

static void release(struct rf_door_visitor *visitor)
{
	rf_event_cancel(visitor->event);
	rf_wire_close(&visitor->fd);
	free(visitor);
}

void rf_door_leave(struct rf_door_visitor *visitor)
{
	struct rf_door_visitor **at = &visitor->door->visitors;

	while (*at != visitor)
		at = &(*at)->next;
	*at = visitor->next;
	visitor->door->count--;
	release(visitor);
}

int rf_door_take_proof(struct rf_door_visitor *visitor, int fd, struct rf_err *err)
{
	if (!rf_peer_is_proof(fd))
		return rf_fail_say(err, -EINVAL, "PROVE: that is nothing of this %s's",
				   visitor->door->rules->who);
	visitor->is_proven = true;
	return 0;
}

/* Root's visitors could be in a Landlock domain that nothing shows: see wire/peer.h. */
int rf_door_demand(const struct rf_door_visitor *visitor, struct rf_err *err)
{
	const struct rf_door *door = visitor->door;

	if (visitor->is_proven || door->listener < 0 || geteuid() != 0)
		return 0;
	rf_fail_say(err, -EXDEV, "who can't look at the %s may be in a sandbox", door->rules->who);
	return rf_fail_hint(err, "%s", door->rules->instead);
}

/* ------------------------------------------------------------- connections */

static int accept_one(const struct rf_door *door)
{
	struct sockaddr_storage who; /* nobody: its socket has no name */
	socklen_t len = sizeof(who);

	return accept4(door->listener, (struct sockaddr *)&who, &len, SOCK_CLOEXEC);
}

static void turn_away(struct rf_door *door)
{
	struct rf_err err = RF_ERR_INIT, ignored;
	int fd;

	if (errno != EMFILE && errno != ENFILE)
		return;
	rf_fd_done(&door->spare);
	fd = accept_one(door);
	if (fd >= 0) {
		rf_fail_say(&err, -EMFILE, "the %s has no more room for descriptors",
			    door->rules->who);
		rf_fail_hint(&err, "start it with a higher `ulimit -n`");
		door->rules->refuse(fd, 0, &err, &ignored);
		rf_wire_close(&fd);
	}
	door->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_connection(void *data, int what)
{
	struct rf_door *door = data;
	struct rf_err err = RF_ERR_INIT, ignored;
	RF_AUTO_FD int fd = accept_one(door);
	pid_t pid;

	(void)what;
	if (fd < 0) {
		turn_away(door);
		return;
	}
	if (rf_door_look(door, fd, &pid, &err) < 0 || rf_door_admit(door, &fd, pid, NULL, &err) < 0)
		door->rules->refuse(fd, 0, &err, &ignored);
	rf_wire_close(&fd); /* unless it was admitted */
}

/* ------------------------------------------------------------- the door */

void rf_door_init(struct rf_door *door, const struct rf_door_rules *rules, void *host)
{
	*door = (struct rf_door){ .rules = rules, .host = host, .listener = -1, .spare = -1 };
}

int rf_door_open(struct rf_door *door, struct rf_loop *loop, int listener, struct rf_err *err)
{
	door->loop = loop;
	door->listener = listener;
	door->self.has_any_groups = door->rules->has_any_groups;
	door->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (rf_peer_note_self(&door->self, err) < 0)
		return err->code;
	if (listener < 0)
		return 0;
	return rf_loop_watch(loop, listener, RF_LOOP_READ, on_connection, door, &door->event, err);
}

void rf_door_done(struct rf_door *door)
{
	for (struct rf_door_visitor *visitor = door->visitors, *next; visitor; visitor = next) {
		next = visitor->next;
		release(visitor);
	}
	door->visitors = NULL;
	door->count = 0;
	rf_event_cancel(door->event);
	door->event = NULL;
	rf_fd_done(&door->spare);
}
