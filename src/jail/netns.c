/*
 * The network wall.
 *
 * Takes away: every interface, address and port of the host; abstract unix sockets too.
 * Raised: after the mounts.  Nothing costs a box more: the kernel needs about half a millisecond to
 * make a network namespace.  So a second process makes it meanwhile (hands.h), where there is another
 * processor; it is entered here.
 * A launcher that stays has one namespace for all boxes that can have no socket in it (parts.h).
 * From inside: ENETUNREACH for the world; 127.0.0.1 and ::1 are the box's own.
 */
#include "jail/netns.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jail/hands.h"
#include "jail/parts.h"

int rf_netns_raise(struct rf_box *box, struct rf_err *err)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	RF_AUTO_FD int fd = -1;

	if (box->plan->link == RF_LINK_HOST)
		return 0;
	if (rf_parts_has_network(box)) {
		if (setns(box->parts->network, CLONE_NEWNET) < 0)
			return rf_fail(err, -errno, "enter the network namespace without sockets");
		return 0;
	}
	if (rf_hands_enter_net(box))
		return 0;
	if (unshare(CLONE_NEWNET) < 0)
		return rf_fail(err, -errno, "make a network namespace");
	if (!box->plan->has_loopback)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		return rf_fail(err, -errno, "switch the loopback interface on");
	return 0;
}
