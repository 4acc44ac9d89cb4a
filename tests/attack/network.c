/* Attacks over the network, and the kinds of sockets that have a history. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* TYPE ADDRESS PORT: says something, and listens for the answer */
static int talk(char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(args[2])) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = to.sin_port };
	const struct timeval wait = { .tv_sec = 2 };
	int is_6 = strchr(args[1], ':') != NULL, family = is_6 ? AF_INET6 : AF_INET;
	int fd = socket(family, args[0][0] == 't' ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0 ||
	    inet_pton(family, args[1], is_6 ? (void *)&to6.sin6_addr : &to.sin_addr) != 1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, is_6 ? (const void *)&to6 : &to, is_6 ? sizeof(to6) : sizeof(to)) < 0 ||
	    send(fd, "overwritten", 11, MSG_NOSIGNAL) < 0)
		return -errno;
	return attack_read(fd);
}

/* FAMILY TYPE PROTOCOL, as numbers: can such a socket be had? */
static int make_socket(char **args)
{
	return attack_result(socket(atoi(args[0]), atoi(args[1]), atoi(args[2])));
}

/* What a box may have: TCP and UDP, and routes to be looked at. */
static int is_ordinary(int family, int type, int protocol)
{
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE && (type == SOCK_RAW || type == SOCK_DGRAM);
	if (family != AF_INET && family != AF_INET6)
		return 0;
	return type == SOCK_STREAM
		       ? protocol == 0 || protocol == IPPROTO_TCP
		       : type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);
}

/* Every family, type and protocol there is a number for; a number of our own in the high half, too */
static int sweep_sockets(char **args)
{
	static const unsigned long high[] = { 0, 1ul << 32, 1ul << 63 };
	int last = -EAFNOSUPPORT;

	(void)args;
	for (int family = 0; family < 64; family++)
		for (int type = 0; type < 12; type++)
			for (int protocol = 0; protocol < 264; protocol++)
				for (int i = 0; i < 3; i++) {
					long fd;
					char text[64];

					if (is_ordinary(family, type, protocol))
						continue;
					fd = syscall(SYS_socket, high[i] | (unsigned)family,
						     high[i] | (unsigned)type,
						     high[i] | (unsigned)protocol);
					if (fd < 0)
						continue;
					snprintf(text, sizeof(text), "%d,%d,%d", family, type,
						 protocol);
					attack_loot(text);
					close((int)fd);
					last = 0;
				}
	return last;
}

/* A further interface for the box's own network: only asked for, by its kind */
static int add_interface(char **args)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
		struct rtattr link, kind;
		char name[8];
	} ask = {
		.head = { sizeof(ask), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1,
			  0 },
		.link = { sizeof(ask.link) + sizeof(ask.kind) + 8, IFLA_LINKINFO },
		.kind = { sizeof(ask.kind) + 6, IFLA_INFO_KIND },
		.name = "no-such",
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	(void)args;
	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		return -errno;
	errno = -answer.error.error;
	return attack_reached(answer.error.error ? -1 : 0);
}

/* LEVEL OPTION: switches an option of a TCP socket on */
static int set_option(char **args)
{
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return -errno;
	return attack_result(setsockopt(fd, atoi(args[0]), atoi(args[1]), &on, sizeof(on)));
}

/* PORT: takes it on every address, also where somebody has it who shares it */
static int take_port(char **args)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)atoi(args[0])) };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
		return -errno;
	return attack_result(bind(fd, (const struct sockaddr *)&at, sizeof(at)));
}

/* A route of the box's own network, to nowhere */
static int add_route(char **args)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr to;
		unsigned char address[4];
	} ask = {
		.head = { sizeof(ask), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1,
			  0 },
		.route = { .rtm_family = AF_INET,
			   .rtm_dst_len = 32,
			   .rtm_table = RT_TABLE_MAIN,
			   .rtm_protocol = RTPROT_BOOT,
			   .rtm_type = RTN_BLACKHOLE },
		.to = { sizeof(ask.to) + 4, RTA_DST },
		.address = { 203, 0, 113, 7 },
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	(void)args;
	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		return -errno;
	errno = -answer.error.error;
	return attack_result(answer.error.error ? -1 : 0);
}

/* PATH: one datagram to a unix socket */
static int send_datagram(char **args)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", args[0]);
	if (fd < 0)
		return -errno;
	return attack_result(
		sendto(fd, "overwritten", 11, 0, (const struct sockaddr *)&to, sizeof(to)));
}

const struct attack attack_network[] = {
	{ "sweep-sockets", sweep_sockets },
	{ "add-interface", add_interface },
	{ "unix-datagram", send_datagram },
	{ "talk", talk },
	{ "socket", make_socket },
	{ "set-option", set_option },
	{ "take-port", take_port },
	{ "add-route", add_route },
	{ NULL, NULL },
};
