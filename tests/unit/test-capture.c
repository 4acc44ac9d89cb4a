/* Capture: src/jail/capture.c, in a network namespace of each test's own. */
#include "jail/capture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

#define PATIENCE_MS 2000

/* As an ordinary user, too: in a user namespace of its own. */
static bool enter_namespace(void)
{
	return unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	RF_REQUIRE(dir, "no /proc");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void make(const struct rf_capture_wish *wish, struct rf_capture *capture)
{
	long code = rf_capture_make(wish, capture);

	RF_REQUIRE(code == 0, "%s: %s", capture->what, strerror((int)-code));
}

struct place {
	struct sockaddr_storage address;
	socklen_t len;
};

static struct place at(const char *host, uint16_t port)
{
	struct place place = { .len = 0 };
	struct sockaddr_in *v4 = (void *)&place.address;
	struct sockaddr_in6 *v6 = (void *)&place.address;

	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		place.len = sizeof(*v4);
	} else {
		RF_REQUIRE(inet_pton(AF_INET6, host, &v6->sin6_addr) == 1, "%s", host);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		place.len = sizeof(*v6);
	}
	return place;
}

/* "203.0.113.7:443", whichever family the socket is of. */
static const char *text_of(const struct sockaddr_storage *address)
{
	static char text[2][80];
	static int turn;
	char host[INET6_ADDRSTRLEN], *out = text[turn = !turn];
	const struct sockaddr_in6 *v6 = (const void *)address;
	const struct sockaddr_in *v4 = (const void *)address;

	if (address->ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
	else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], host, sizeof(host));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
	snprintf(out, sizeof(text[0]), "%s:%d", host, ntohs(v6->sin6_port)); /* at the same place */
	return out;
}

static const char *own_name(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);

	getsockname(fd, (struct sockaddr *)&address, &len);
	return text_of(&address);
}

/* 0 or a negative errno; what takes long is an error of its own. */
static int dial(const char *host, uint16_t port, int type, int *ret_fd)
{
	struct place place = at(host, port);
	int fd = socket(place.address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t len = sizeof(code);

	RF_REQUIRE(fd >= 0, "%s", strerror(errno));
	*ret_fd = fd;
	if (connect(fd, (struct sockaddr *)&place.address, place.len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&ready, 1, PATIENCE_MS) != 1)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len);
	return -code;
}

/* What is waiting to be accepted, or -1. */
static int take(int listener)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };

	poll(&ready, 1, PATIENCE_MS);
	/* cppcheck-suppress nullPointer */
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

/* Dials, and checks that it arrives at that listener under the address that was dialled. */
static void check_way(int listener, const char *host, uint16_t port, const char *source)
{
	char wanted[80], byte = 0;
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);
	int out, in, code = dial(host, port, SOCK_STREAM, &out);

	snprintf(wanted, sizeof(wanted), "%s:%d", host, port);
	RF_REQUIRE(code == 0, "dial %s: %s", wanted, strerror(-code));
	in = take(listener);
	RF_REQUIRE(in >= 0, "%s did not arrive: %s", wanted, strerror(errno));
	RF_CHECK(strcmp(own_name(in), wanted) == 0, "%s arrived as %s", wanted, own_name(in));
	getpeername(in, (struct sockaddr *)&peer, &len);
	RF_CHECK(strncmp(text_of(&peer), source, strlen(source)) == 0, "%s came from %s", wanted,
		 text_of(&peer));
	RF_CHECK(send(in, "x", 1, 0) == 1 &&
			 poll(&(struct pollfd){ .fd = out, .events = POLLIN }, 1, PATIENCE_MS) ==
				 1 &&
			 recv(out, &byte, 1, 0) == 1 && byte == 'x',
		 "%s: no answer", wanted);
	close(in);
	close(out);
}

static int listen_at(const char *host, uint16_t port)
{
	struct place place = at(host, port);
	int fd = socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	RF_REQUIRE(bind(fd, (struct sockaddr *)&place.address, place.len) == 0 &&
			   listen(fd, 8) == 0,
		   "listen on %s:%d: %s", host, port, strerror(errno));
	return fd;
}

RF_TEST(whatever_is_dialled_arrives_at_one_listener_under_its_own_address)
{
	struct rf_capture capture;
	int before = count_fds();

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	if (!capture.has_nftables)
		RF_SKIP("this kernel has no nftables with tproxy");
	RF_CHECK(capture.port_count == 0 && capture.stock_count == 0, "more than was asked for");
	check_way(capture.lines[RF_LINE_TCP], "203.0.113.7", 443, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "8.8.8.8", 1, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "10.0.0.1", 65535, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "169.254.169.254", 80, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "203.0.113.7", 1000, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "2001:db8::7", 443, "::1:");
	check_way(capture.lines[RF_LINE_TCP], "fd00::1", 80, "::1:");
	check_way(capture.lines[RF_LINE_DNS_TCP], "9.9.9.9", 53, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_DNS_TCP], "2001:db8::53", 53, "::1:");
	check_way(capture.lines[RF_LINE_PROXY], RF_CAPTURE_PROXY, RF_CAPTURE_PROXY_PORT,
		  "127.0.0.1:");
	rf_capture_done(&capture);
	RF_CHECK(count_fds() == before, "%d descriptors are left", count_fds() - before);
}

RF_TEST(the_boxs_own_services_are_left_alone)
{
	struct rf_capture capture;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	check_way(listen_at("127.0.0.1", 8080), "127.0.0.1", 8080, "127.0.0.1:");
	check_way(listen_at("127.9.9.9", 8080), "127.9.9.9", 8080, "127.0.0.1:");
	check_way(listen_at("0.0.0.0", 8081), "192.0.0.2", 8081, "192.0.0.2:");
	check_way(listen_at("::1", 8082), "::1", 8082, "::1:");
	check_way(listen_at("::", 8083), "127.0.0.1", 8083, "127.0.0.1:");
}

RF_TEST(a_service_inside_does_not_get_what_is_for_the_world)
{
	struct rf_capture capture;
	int own, bold;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	if (!capture.has_nftables)
		RF_SKIP("this kernel has no nftables with tproxy");
	own = listen_at("0.0.0.0", 8080);
	bold = listen_at("203.0.113.8", 8081); /* which is as local as any other */
	check_way(capture.lines[RF_LINE_TCP], "203.0.113.7", 8080, "192.0.0.2:");
	check_way(capture.lines[RF_LINE_TCP], "203.0.113.8", 8081, "192.0.0.2:");
	RF_CHECK(accept(own, NULL, NULL) < 0 && errno == EAGAIN, "it got the connection");
	RF_CHECK(accept(bold, NULL, NULL) < 0 && errno == EAGAIN, "it got the connection");
}

/* Asks a name's question and answers it, as a gateway does. */
static void check_dns(int line, const char *server)
{
	char text[8], wanted[80], control[256];
	struct sockaddr_storage from = { 0 };
	struct iovec part = { text, sizeof(text) };
	struct msghdr message = { .msg_name = &from,
				  .msg_namelen = sizeof(from),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct sockaddr_in6 dialled = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
	int client;

	RF_REQUIRE(dial(server, 53, SOCK_DGRAM, &client) == 0 && send(client, "name?", 5, 0) == 5,
		   "ask %s: %s", server, strerror(errno));
	poll(&(struct pollfd){ .fd = line, .events = POLLIN }, 1, PATIENCE_MS);
	RF_REQUIRE(recvmsg(line, &message, 0) == 5, "%s: the question did not arrive", server);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			dialled.sin6_addr = ((struct in6_pktinfo *)(void *)CMSG_DATA(c))->ipi6_addr;
	snprintf(wanted, sizeof(wanted), "%s:53", server);
	RF_CHECK(strcmp(text_of((struct sockaddr_storage *)&dialled), wanted) == 0,
		 "%s arrived as %s", wanted, text_of((struct sockaddr_storage *)&dialled));
	part.iov_len =
		5; /* and back with the same control message: its address is then the source */
	RF_REQUIRE(sendmsg(line, &message, 0) == 5, "answer: %s", strerror(errno));
	RF_CHECK(poll(&(struct pollfd){ .fd = client, .events = POLLIN }, 1, PATIENCE_MS) == 1 &&
			 recv(client, text, sizeof(text), 0) == 5,
		 "%s: the answer did not arrive", server);
	close(client);
}

RF_TEST(questions_about_names_arrive_and_are_answered_from_where_they_went)
{
	struct rf_capture capture;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	check_dns(capture.lines[RF_LINE_DNS_UDP], "9.9.9.9");
	check_dns(capture.lines[RF_LINE_DNS_UDP], "127.0.0.53");
	check_dns(capture.lines[RF_LINE_DNS_UDP], "192.0.0.2");
	check_dns(capture.lines[RF_LINE_DNS_UDP], "2001:db8::53");
}

RF_TEST(every_other_datagram_is_refused_at_once)
{
	static const char *const hosts[] = { "203.0.113.7", "8.8.8.8", "2001:db8::7" };
	struct rf_capture capture;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	for (size_t i = 0; i < RF_LEN(hosts); i++) {
		char byte;
		int fd;

		RF_REQUIRE(dial(hosts[i], 443, SOCK_DGRAM, &fd) == 0, "%s", strerror(errno));
		RF_CHECK(send(fd, "quic", 4, 0) == 4 && recv(fd, &byte, 1, 0) < 0 &&
				 errno == ECONNREFUSED,
			 "%s: %s", hosts[i], strerror(errno));
		close(fd);
	}
}

RF_TEST(without_nftables_each_wished_port_has_a_listener)
{
	const struct rf_capture_wish wish = { .ports = { 443, 80, 8443 },
					      .port_count = 3,
					      .without_nftables = true };
	struct rf_capture capture;
	int fd;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&wish, &capture);
	RF_REQUIRE(!capture.has_nftables && capture.port_count == 2, "%zu", capture.port_count);
	RF_CHECK(capture.numbers[0] == 80 && capture.numbers[1] == 8443, "their ports");
	check_way(capture.lines[RF_LINE_TCP], "203.0.113.7", 443, "192.0.0.2:");
	check_way(capture.ports[0], "203.0.113.7", 80, "192.0.0.2:");
	check_way(capture.ports[1], "2001:db8::7", 8443, "::1:");
	check_way(capture.lines[RF_LINE_DNS_TCP], "9.9.9.9", 53, "192.0.0.2:");
	RF_CHECK(dial("203.0.113.7", 81, SOCK_STREAM, &fd) == -ECONNREFUSED, "another port");
}

RF_TEST(without_nftables_and_ports_there_is_nothing_to_listen_on)
{
	struct rf_capture capture;
	int before = count_fds();

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	RF_CHECK(rf_capture_make(&(struct rf_capture_wish){ .without_nftables = true }, &capture) ==
				 -EOPNOTSUPP &&
			 capture.what,
		 "it was made");
	RF_CHECK(count_fds() == before, "%d descriptors are left", count_fds() - before);
}

RF_TEST(once_the_sockets_are_closed_everything_is_refused)
{
	struct rf_capture capture;
	int fd;

	if (!enter_namespace())
		RF_SKIP("no network namespace here");
	make(&(struct rf_capture_wish){ 0 }, &capture);
	rf_capture_done(&capture);
	RF_CHECK(dial("203.0.113.7", 443, SOCK_STREAM, &fd) == -ECONNREFUSED, "dialled");
	RF_CHECK(dial("2001:db8::7", 443, SOCK_STREAM, &fd) == -ECONNREFUSED, "dialled");
	RF_CHECK(dial("9.9.9.9", 53, SOCK_STREAM, &fd) == -ECONNREFUSED, "dialled");
}

RF_TEST(sockets_of_the_stock_reach_inside_from_outside_again_and_again)
{
	struct place service;
	struct rf_capture capture, taken;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int pair[2], listener, in, before;
	char byte;

	if (geteuid() != 0 || !enter_namespace())
		RF_SKIP("only root can leave the namespace again");
	make(&(struct rf_capture_wish){ .stock_count = 3 }, &capture);
	listener = listen_at("127.0.0.1", 8080);
	service = at("127.0.0.1", 8080);
	RF_REQUIRE(setns(home, CLONE_NEWNET) == 0, "%s", strerror(errno));
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	rf_capture_init(&taken);
	before = count_fds();
	RF_REQUIRE(rf_capture_send(&capture, pair[1], &err) == 0 &&
			   rf_capture_take(&taken, pair[0], &err) == 0,
		   "%s", err.msg);
	RF_CHECK(taken.stock_count == 3 && count_fds() == before + RF_LINE_COUNT + 3, "%zu",
		 taken.stock_count);
	RF_CHECK(taken.has_nftables == capture.has_nftables, "what it is");
	for (int i = 0; i < 3; i++) {
		const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
		struct pollfd ready = { .fd = taken.stock[0], .events = POLLOUT };

		RF_CHECK(connect(taken.stock[0], (struct sockaddr *)&service.address,
				 service.len) == 0 ||
				 errno == EINPROGRESS,
			 "connection %d: %s", i, strerror(errno));
		RF_CHECK(poll(&ready, 1, PATIENCE_MS) == 1 && send(taken.stock[0], "x", 1, 0) == 1,
			 "connection %d: %s", i, strerror(errno));
		in = take(listener);
		RF_CHECK(in >= 0 && recv(in, &byte, 1, 0) == 1, "connection %d did not arrive", i);
		close(in);
		RF_CHECK(connect(taken.stock[0], &nowhere, sizeof(nowhere)) == 0, "%s",
			 strerror(errno));
	}
	rf_capture_done(&taken);
	RF_CHECK(count_fds() == before, "%d descriptors are left", count_fds() - before);
}
