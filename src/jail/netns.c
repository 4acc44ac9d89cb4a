/*
 * The network wall.
 *
 * Takes away: every interface, address and port of the host; abstract unix sockets too.
 * Raised: after the mounts.  Nothing costs a box more: the kernel needs about half a millisecond to
 * make a network namespace.  So a second process makes it meanwhile (hands.h), where there is another
 * processor; it is entered here.
 * A launcher that stays has some ready for boxes under `loopback: off` (warden/netns-pool.h), each for one box.  None is
 * ever shared: no filter of sockets keeps boxes apart in one, for an end of a socket pair can be bound to an abstract
 * name, and /proc/net/unix lists these.
 * With a gateway: every address leads to sockets that are handed out of the namespace (capture.h), and whoever has
 * those decides.
 * From inside: ENETUNREACH for the world, or the gateway's answer; 127.0.0.1 and ::1 are the box's own.
 */
#include "jail/netns.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jail/hands.h"
#include "policy/net.h"

static int switch_loopback_on(struct rf_err *err)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	RF_AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		return rf_fail(err, -errno, "switch the loopback interface on");
	return 0;
}

static void wish_port(struct rf_capture_wish *wish, uint16_t port)
{
	for (size_t i = 0; i < wish->port_count; i++)
		if (wish->ports[i] == port)
			return;
	if (wish->port_count < RF_LEN(wish->ports))
		wish->ports[wish->port_count++] = port;
}

/* Other ports than these are refused where each has a listener of its own, as are those beyond the first few of a range. */
static void wish_ports(const struct rf_net_rule *rule, struct rf_capture_wish *wish)
{
	for (size_t i = 0; i < rule->port_count && !rule->is_deny; i++)
		for (unsigned port = rule->ports[i].first;
		     port <= rule->ports[i].last && wish->port_count < RF_LEN(wish->ports); port++)
			if (port > 0 && port != RF_CAPTURE_DNS_PORT)
				wish_port(wish, (uint16_t)port);
}

void rf_netns_wish(const struct rf_plan *plan, struct rf_capture_wish *wish)
{
	const struct rf_net *net = plan->net;

	*wish = (struct rf_capture_wish){ 0 };
	if (plan->link != RF_LINK_GATEWAY || !net)
		return;
	wish_port(wish, 443);
	wish_port(wish, 80);
	for (size_t i = 0; i < net->rule_count; i++)
		wish_ports(&net->rules[i], wish);
	wish->stock_count = net->publish_count > 0 ? RF_CAPTURE_STOCK : 0;
}

/* The sockets are made here, in a table of descriptors of our own, and sent to the launcher. */
static int capture(struct rf_box *box, struct rf_err *err)
{
	struct rf_capture_wish wish;
	struct rf_capture capture;
	long code;

	rf_netns_wish(box->plan, &wish);
	code = rf_capture_make(&wish, &capture);
	if (code < 0) {
		rf_fail(err, (int)code, "a way to the gateway: %s", capture.what);
		return rf_fail_hint(err, "`ringfort doctor` says what this machine allows");
	}
	box->shared->has_sent_lines = true;
	code = rf_capture_send(&capture, box->channel[1], err);
	rf_capture_done(&capture);
	return (int)code;
}

bool rf_netns_is_bare(const struct rf_plan *plan)
{
	return plan->link == RF_LINK_NONE && !plan->has_loopback;
}

int rf_netns_raise(struct rf_box *box, struct rf_err *err)
{
	if (box->plan->link == RF_LINK_HOST)
		return 0;
	if (box->network >= 0) {
		if (setns(box->network, CLONE_NEWNET) < 0)
			return rf_fail(err, -errno, "enter the network namespace made beforehand");
		return 0;
	}
	if (rf_hands_enter_net(box))
		return 0;
	if (unshare(CLONE_NEWNET) < 0)
		return rf_fail(err, -errno, "make a network namespace");
	if (box->plan->link == RF_LINK_GATEWAY)
		return capture(box, err);
	return box->plan->has_loopback ? switch_loopback_on(err) : 0;
}

int rf_netns_take(struct rf_box *box, struct rf_err *err)
{
	if (box->plan->link != RF_LINK_GATEWAY || box->is_lesser)
		return 0;
	if (box->shared->has_sent_lines)
		return rf_capture_take(&box->capture, box->channel[0], err);
	if (!rf_hands_take_lines(box, &box->capture))
		return rf_fail_say(err, -EPROTO, "the box's sockets are missing");
	return 0;
}
