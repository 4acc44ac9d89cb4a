/* The box's terminal: see pty.h. */
#include "jail/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

#define PTY_MAJORS 136 /* and seven more: UNIX98_PTY_SLAVE_MAJOR */

/* Space for one descriptor beside a byte. */
union packet {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int socket, int fd)
{
	union packet packet = { .bytes = { 0 } };
	struct iovec byte = { .iov_base = (char[]){ 'T' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &packet,
		.msg_controllen = sizeof(packet.bytes),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return rf_fd_sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int receive_fd(int socket)
{
	union packet packet = { .bytes = { 0 } };
	char text;
	struct iovec byte = { .iov_base = &text, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &packet,
		.msg_controllen = sizeof(packet.bytes),
	};
	const struct cmsghdr *header;
	int fd;

	if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* The other end of `master`, by no name: whatever is mounted where. */
static int open_peer(int master)
{
	int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int rf_pty_open(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave, code;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &(int){ 0 }) < 0)
		return rf_fail(err, -errno, "open a terminal");
	slave = open_peer(master);
	if (slave < 0)
		return rf_fail(err, slave, "open the box's end of a terminal");
	code = send_fd(box->channel[1], master);
	if (code < 0) {
		close(slave);
		return rf_fail(err, code, "hand the terminal over");
	}
	box->stdio[0][0] = box->stdio[1][1] = box->stdio[2][1] = slave;
	return 0;
}

int rf_pty_check(int master, int *ret_slave, struct rf_err *err)
{
	RF_AUTO_FD int slave = open_peer(master);
	struct stat st, host;

	if (slave < 0)
		return rf_fail(err, slave, "open the box's end of the terminal");
	if (fstat(slave, &st) < 0)
		return rf_fail(err, -errno, "look at the terminal");
	/* Its own devpts, not one in which the caller's terminals are. */
	if (!S_ISCHR(st.st_mode) || major(st.st_rdev) < PTY_MAJORS ||
	    major(st.st_rdev) >= PTY_MAJORS + 8 ||
	    (stat("/dev/pts", &host) == 0 && host.st_dev == st.st_dev))
		return rf_fail_say(err, -EPERM, "the box's terminal is not its own");
	if (fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return rf_fail(err, -errno, "prepare the terminal");
	*ret_slave = rf_fd_take(&slave);
	return 0;
}

int rf_pty_take(struct rf_box *box, struct rf_err *err)
{
	box->pty[0] = receive_fd(box->channel[0]);
	if (box->pty[0] < 0)
		return rf_fail(err, box->pty[0], "receive the terminal");
	return rf_pty_check(box->pty[0], &box->pty[1], err);
}
