/* Who comes through a door, and who is told why not: src/wire/door.c. */
#include "wire/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "wire/wire.h"

#define MOST 2

struct guest {
	struct rf_door_visitor visitor;
	int bytes;
};

static char folder[] = "/tmp/rf-door-XXXXXX";
static int run = -1, heard;

static void on_message(void *data, int what)
{
	struct guest *guest = data;
	char bytes[64];
	ssize_t n = recv(guest->visitor.fd, bytes, sizeof(bytes), 0);

	(void)what;
	heard++;
	if (n > 0)
		guest->bytes += (int)n;
	else
		rf_door_leave(&guest->visitor);
}

static const struct rf_door_rules rules = {
	.who = "porter",
	.instead = "come another day",
	.most = MOST,
	.size = sizeof(struct guest),
	.on_message = on_message,
	.refuse = rf_wire_refuse,
};

static int ring(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/door", folder);
	RF_REQUIRE(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "%s",
		   strerror(errno));
	return fd;
}

static void on_time(void *data, int what)
{
	(void)what;
	rf_loop_stop(data);
}

/* Lets the loop do what is to be done. */
static void turn(struct rf_loop *loop)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_event *timer;

	RF_REQUIRE(rf_loop_timer(loop, rf_loop_now() + 20000000, on_time, loop, &timer, &err) == 0,
		   "%s", err.msg);
	RF_REQUIRE(rf_loop_run(loop, &err) == 0, "%s", err.msg);
	rf_event_cancel(timer);
}

/* What somebody at the door was told, or "" for nothing. */
static const char *reason_at(int fd)
{
	static struct rf_err said;
	RF_AUTO_BUF struct rf_buf buf;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;

	said = RF_ERR_INIT;
	rf_buf_init(&buf, RF_WIRE_ROOM);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (rf_wire_receive(fd, RF_WIRE_WARDEN, &buf, &message, &err) > 0)
		rf_wire_refused(&message, &said);
	return said.msg;
}

static void open_door(struct rf_door *door, struct rf_loop **loop, int *listener)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(mkdtemp(folder), "%s", strerror(errno));
	run = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*listener = rf_door_listen(run, "door", &err);
	RF_REQUIRE(*listener >= 0 && rf_loop_new(loop, &err) == 0, "%s", err.msg);
	rf_door_init(door, &rules, NULL);
	RF_REQUIRE(rf_door_open(door, *loop, *listener, &err) == 0, "%s", err.msg);
}

static void shut_door(struct rf_door *door, struct rf_loop *loop, int listener)
{
	rf_door_done(door);
	RF_CHECK(door->count == 0 && !door->visitors, "somebody is left");
	rf_loop_free(loop);
	close(listener);
	unlinkat(run, "door", 0);
	close(run);
	rmdir(folder);
}

/* A test of its own where its kind may not connect to anything: in a sandbox nobody is admitted. */
static bool are_visitors_admitted(struct rf_door *door, struct rf_loop *loop, int fd)
{
	turn(loop);
	return door->count == 1 && reason_at(fd)[0] == '\0';
}

RF_TEST(a_socket_is_its_owners_alone_and_takes_the_place_of_an_older_one)
{
	struct rf_err err = RF_ERR_INIT;
	struct stat st;
	int first, second;

	RF_REQUIRE(mkdtemp(folder), "%s", strerror(errno));
	run = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	first = rf_door_listen(run, "door", &err);
	second = rf_door_listen(run, "door", &err);
	RF_REQUIRE(first >= 0 && second >= 0, "%s", err.msg);
	RF_CHECK(fstatat(run, "door", &st, 0) == 0 && (st.st_mode & 0777) == 0600, "mode %o",
		 st.st_mode);
	close(first);
	close(second);
	unlinkat(run, "door", 0);
	rmdir(folder);
}

RF_TEST(visitors_are_heard_and_there_are_at_most_so_many)
{
	struct rf_door door;
	struct rf_loop *loop;
	int listener, fds[MOST + 1];

	open_door(&door, &loop, &listener);
	fds[0] = ring();
	if (are_visitors_admitted(&door, loop, fds[0])) {
		for (int i = 1; i <= MOST; i++)
			fds[i] = ring();
		turn(loop);
		RF_CHECK(door.count == MOST, "%zu", door.count);
		RF_CHECK(strstr(reason_at(fds[MOST]), "more than 2 connections"), "%s",
			 reason_at(fds[MOST]));
		RF_CHECK(send(fds[0], "ab", 2, 0) == 2, "send");
		turn(loop);
		RF_CHECK(heard == 1, "%d", heard);
		close(fds[0]);
		turn(loop);
		RF_CHECK(door.count == MOST - 1, "one left, and %zu are there", door.count);
	}
	shut_door(&door, loop, listener);
}

RF_TEST(who_comes_when_no_descriptor_is_left_is_told_so)
{
	struct rf_door door;
	struct rf_loop *loop;
	struct rlimit few;
	int listener, fd, next;

	open_door(&door, &loop, &listener);
	fd = ring();
	next = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	close(next);
	RF_REQUIRE(getrlimit(RLIMIT_NOFILE, &few) == 0, "limit");
	few.rlim_cur = (rlim_t)next; /* the next one is one too many */
	RF_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0, "limit");
	turn(loop);
	RF_CHECK(strstr(reason_at(fd), "no more room for descriptors"), "%s", reason_at(fd));
	few.rlim_cur = few.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	RF_CHECK(door.spare >= 0 && door.count == 0, "spare %d", door.spare);
	shut_door(&door, loop, listener);
}

RF_TEST(root_proves_itself_by_the_doors_own_memory_and_nothing_else)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_door door;
	struct rf_loop *loop;
	int listener, fd, pair[2], proof = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rf_door_visitor *visitor = NULL;

	open_door(&door, &loop, &listener);
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0, "pair");
	fd = pair[0];
	RF_REQUIRE(rf_door_admit(&door, &fd, getpid(), &visitor, &err) == 0, "%s", err.msg);
	RF_CHECK(fd == -1, "it is taken");
	RF_CHECK((rf_door_demand(visitor, &err) == 0) == (geteuid() != 0), "%s", err.msg);
	RF_CHECK(geteuid() != 0 || strcmp(err.hint, "come another day") == 0, "%s", err.hint);
	RF_CHECK(rf_door_take_proof(visitor, other, &err) == -EINVAL && !visitor->is_proven,
		 "/dev/null");
	RF_CHECK(rf_door_take_proof(visitor, proof, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_door_demand(visitor, &err) == 0, "%s", err.msg);
	shut_door(&door, loop, listener);
	close(pair[1]);
}
