/*
 * Capture: see capture.h.
 *
 * Loopback is the only interface, and two routes make every address one of this machine's: `local 0.0.0.0/0 dev lo`
 * and `local ::/0 dev lo`.  So whatever a program dials stays in the namespace, and something in it answers:
 *
 *   TCP to 127.0.0.0/8, ::1, the box's own address    a program of the box, as on any machine
 *   TCP to port 53 of any other address               RF_LINE_DNS_TCP, which listens on every address
 *   TCP to anything else                              RF_LINE_TCP, by a rule of nftables (TPROXY) that puts each
 *                                                     connection on the one transparent listener, whatever its port
 *   UDP to port 53 of any address                     RF_LINE_DNS_UDP
 *   UDP to anything else                              nobody: the kernel says so at once (ECONNREFUSED)
 *
 * There is no way past the rule: a connection that it does not take finds no socket behind it but the box's own.  When the
 * sockets are closed, connections are refused.  What is accepted has the address that was dialled as its own
 * (getsockname()), and answers leave with it as their source, because the sockets are transparent.
 *
 * The box has an address besides 127.0.0.1, for two reasons.  A connection to an address that is only local by such a
 * route would have that address as its source, too, and now and then connect to itself; and resolvers that are asked
 * for what this machine can use (AI_ADDRCONFIG) leave 127.0.0.1 out of account and would answer nothing.  There is no
 * such address for IPv6, so that nobody asks for names' IPv6 addresses, which are not given.
 *
 * Rules go to the kernel in one message, as it wants them (linux/netfilter/nf_tables.h): a library would have
 * to be linked into the launcher, and to be run between clone and exec with the launcher's memory.
 *
 * A kernel without nftables has a listener for each port that the policy names instead (PORT in
 * docs/protocols/gateway.md); other ports are refused, and a program of the box can't offer these ports on loopback.
 */
#include "jail/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/kernel.h"

#define RAW RF_KERNEL_RAW

#define LOOPBACK_INDEX  1
#define UP              1u /* IFF_UP, of net/if.h, which does not go with linux/netlink.h */
#define BACKLOG         512
#define TABLE           "ringfort"
#define CHAIN           "capture"
#define PRIORITY_MANGLE (-150)
#define ANSWERS         4096
#define FDS_MAX         (RF_LINE_COUNT + RF_CAPTURE_PORTS + RF_CAPTURE_STOCK)

static const uint8_t source[4] = { 192, 0, 0,
				   2 }; /* RFC 7335: of a host behind something that translates */

/* ------------------------------------------------------------- messages to the kernel */

/* What is sent at once: messages, of which only the last asks to be told that all went well. */
struct batch {
	_Alignas(8) char bytes[3072];
	size_t len;
	size_t head; /* where the last message begins */
	uint32_t sequence;
};

static void *grow(struct batch *batch, size_t len)
{
	size_t room = NLMSG_ALIGN(len);
	char *at = batch->bytes + batch->len;

	if (batch->len + room > sizeof(batch->bytes))
		__builtin_trap(); /* what is written here is of a known length */
	memset(at, 0, room);
	batch->len += room;
	return at;
}

static struct nlmsghdr *head_of(struct batch *batch)
{
	return (struct nlmsghdr *)(void *)(batch->bytes + batch->head);
}

/* Begins a message; the one before it is as long as it has become. */
static void begin(struct batch *batch, unsigned type, unsigned flags, const void *body, size_t len)
{
	struct nlmsghdr *head;

	batch->head = batch->len;
	head = grow(batch, sizeof(*head));
	head->nlmsg_type = (uint16_t)type;
	head->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	head->nlmsg_seq = ++batch->sequence;
	memcpy(grow(batch, len), body, len);
	head->nlmsg_len = (uint32_t)(batch->len - batch->head);
}

static void end(struct batch *batch)
{
	head_of(batch)->nlmsg_len = (uint32_t)(batch->len - batch->head);
}

/* An attribute; and one that holds others, which ends where unnest() is called with what it gave. */
static void put(struct batch *batch, unsigned type, const void *value, size_t len)
{
	struct nlattr *attribute = grow(batch, sizeof(*attribute));

	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(sizeof(*attribute) + len);
	memcpy(grow(batch, len), value, len);
	end(batch);
}

static void put_be32(struct batch *batch, unsigned type, uint32_t value)
{
	uint32_t big = htonl(value);

	put(batch, type, &big, sizeof(big));
}

static void put_text(struct batch *batch, unsigned type, const char *text)
{
	put(batch, type, text, strlen(text) + 1);
}

static size_t nest(struct batch *batch, unsigned type)
{
	size_t at = batch->len;
	struct nlattr *attribute = grow(batch, sizeof(*attribute));

	attribute->nla_type = (uint16_t)(type | NLA_F_NESTED);
	return at;
}

static void unnest(struct batch *batch, size_t at)
{
	struct nlattr *attribute = (struct nlattr *)(void *)(batch->bytes + at);

	attribute->nla_len = (uint16_t)(batch->len - at);
	end(batch);
}

/*
 * Reads what the kernel answers to messages up to number `last`, of which those of `optional` (a bit each) may fail.
 * Returns the first error.
 */
static long hear(long fd, uint32_t last, uint32_t optional)
{
	_Alignas(8) char answers[ANSWERS] = { 0 };

	for (;;) {
		long len = RAW(SYS_recvfrom, fd, (long)answers, sizeof(answers), 0);
		long at = 0;

		if (len == -EINTR)
			continue;
		if (len <= 0)
			return len < 0 ? len : -EPROTO;
		while (len - at >= (long)(NLMSG_HDRLEN + sizeof(struct nlmsgerr))) {
			const struct nlmsghdr *head = (const void *)(answers + at);
			const struct nlmsgerr *answer = (const void *)(answers + at + NLMSG_HDRLEN);

			if (head->nlmsg_type != NLMSG_ERROR)
				return -EPROTO;
			if (answer->error && !(optional & 1u << head->nlmsg_seq))
				return answer->error;
			if (head->nlmsg_seq == last)
				return 0;
			at += NLMSG_ALIGN(head->nlmsg_len);
		}
	}
}

static long tell_kernel(int protocol, const struct batch *batch, uint32_t last, uint32_t optional)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	long fd = RAW(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	long code;

	if (fd < 0)
		return fd;
	code = RAW(SYS_sendto, fd, (long)batch->bytes, (long)batch->len, 0, (long)&kernel,
		   sizeof(kernel));
	if (code >= 0)
		code = hear(fd, last, optional);
	RAW(SYS_close, fd);
	return code;
}

/* ------------------------------------------------------------- routes */

static void add_route(struct batch *batch, uint8_t family)
{
	const struct rtmsg route = {
		.rtm_family = family,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	const uint32_t index = LOOPBACK_INDEX;

	begin(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &route, sizeof(route));
	put(batch, RTA_OIF, &index, sizeof(index));
	if (family == AF_INET)
		put(batch, RTA_PREFSRC, source, sizeof(source));
}

/* Loopback is switched on, gets the box's address, and is where everything is. */
static long lay_routes(void)
{
	const struct ifinfomsg up = { .ifi_index = LOOPBACK_INDEX,
				      .ifi_flags = UP,
				      .ifi_change = UP };
	const struct ifaddrmsg address = { .ifa_family = AF_INET,
					   .ifa_prefixlen = 32,
					   .ifa_scope = RT_SCOPE_UNIVERSE,
					   .ifa_index = LOOPBACK_INDEX };
	struct batch batch = { .len = 0 };

	begin(&batch, RTM_NEWLINK, 0, &up, sizeof(up));
	begin(&batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &address, sizeof(address));
	put(&batch, IFA_LOCAL, source, sizeof(source));
	add_route(&batch, AF_INET);
	add_route(&batch, AF_INET6);
	/* Without the last there is no IPv6, and nothing to capture. */
	return tell_kernel(NETLINK_ROUTE, &batch, batch.sequence, 1u << batch.sequence);
}

/* ------------------------------------------------------------- rules */

/* What is left to the box itself, or to a socket that waits for it: the first `len` bytes at `offset` are these. */
/* clang-format off */
static const struct {
	uint8_t family; /* or 0: both */
	uint32_t base, offset, len;
	uint8_t bytes[16];
} left_alone[] = {
	{ NFPROTO_IPV4, NFT_PAYLOAD_NETWORK_HEADER,   16, 1,  { 127 } },                  /* daddr */
	{ NFPROTO_IPV4, NFT_PAYLOAD_NETWORK_HEADER,   16, 4,  { 192, 0, 0, 2 } },
	{ NFPROTO_IPV6, NFT_PAYLOAD_NETWORK_HEADER,   24, 16, { [15] = 1 } },
	{ 0,            NFT_PAYLOAD_TRANSPORT_HEADER, 2,  2,  { RF_CAPTURE_DNS_PORT >> 8, RF_CAPTURE_DNS_PORT } }, /* dport */
};
/* clang-format on */

static void begin_nft(struct batch *batch, unsigned type, unsigned flags)
{
	const struct nfgenmsg body = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };

	begin(batch, NFNL_SUBSYS_NFTABLES << 8 | type, flags, &body, sizeof(body));
}

static void mark_batch(struct batch *batch, unsigned type)
{
	const struct nfgenmsg body = { .nfgen_family = AF_UNSPEC,
				       .version = NFNETLINK_V0,
				       .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	begin(batch, type, 0, &body, sizeof(body));
}

struct expression {
	size_t whole, data;
};

static struct expression begin_expression(struct batch *batch, const char *name)
{
	struct expression expression = { .whole = nest(batch, NFTA_LIST_ELEM) };

	put_text(batch, NFTA_EXPR_NAME, name);
	expression.data = nest(batch, NFTA_EXPR_DATA);
	return expression;
}

static void end_expression(struct batch *batch, struct expression expression)
{
	unnest(batch, expression.data);
	unnest(batch, expression.whole);
}

static void put_data(struct batch *batch, unsigned type, const void *value, size_t len)
{
	size_t at = nest(batch, type);

	put(batch, NFTA_DATA_VALUE, value, len);
	unnest(batch, at);
}

/* The rule goes on if what was loaded is this. */
static void compare(struct batch *batch, const void *value, size_t len)
{
	struct expression cmp = begin_expression(batch, "cmp");

	put_be32(batch, NFTA_CMP_SREG, NFT_REG_1);
	put_be32(batch, NFTA_CMP_OP, NFT_CMP_EQ);
	put_data(batch, NFTA_CMP_DATA, value, len);
	end_expression(batch, cmp);
}

static void compare_meta(struct batch *batch, unsigned key, uint8_t value)
{
	struct expression meta = begin_expression(batch, "meta");

	put_be32(batch, NFTA_META_KEY, key);
	put_be32(batch, NFTA_META_DREG, NFT_REG_1);
	end_expression(batch, meta);
	compare(batch, &value, sizeof(value));
}

static void accept_it(struct batch *batch)
{
	struct expression immediate = begin_expression(batch, "immediate");
	size_t data, verdict;

	put_be32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = nest(batch, NFTA_IMMEDIATE_DATA);
	verdict = nest(batch, NFTA_DATA_VERDICT);
	put_be32(batch, NFTA_VERDICT_CODE, NF_ACCEPT);
	unnest(batch, verdict);
	unnest(batch, data);
	end_expression(batch, immediate);
}

/* Begins a rule at the chain's end; gives where its expressions are. */
static size_t begin_rule(struct batch *batch, unsigned flags)
{
	begin_nft(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | flags);
	put_text(batch, NFTA_RULE_TABLE, TABLE);
	put_text(batch, NFTA_RULE_CHAIN, CHAIN);
	return nest(batch, NFTA_RULE_EXPRESSIONS);
}

static void add_exception(struct batch *batch, size_t i)
{
	size_t rule = begin_rule(batch, 0);
	struct expression payload;

	if (left_alone[i].family)
		compare_meta(batch, NFT_META_NFPROTO, left_alone[i].family);
	payload = begin_expression(batch, "payload");
	put_be32(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	put_be32(batch, NFTA_PAYLOAD_BASE, left_alone[i].base);
	put_be32(batch, NFTA_PAYLOAD_OFFSET, left_alone[i].offset);
	put_be32(batch, NFTA_PAYLOAD_LEN, left_alone[i].len);
	end_expression(batch, payload);
	compare(batch, left_alone[i].bytes, left_alone[i].len);
	accept_it(batch);
	unnest(batch, rule);
}

static void add_tproxy(struct batch *batch)
{
	const uint16_t port = htons(RF_CAPTURE_PORT);
	size_t rule = begin_rule(batch, NLM_F_ACK);
	struct expression expression;

	compare_meta(batch, NFT_META_L4PROTO, IPPROTO_TCP);
	expression = begin_expression(batch, "immediate");
	put_be32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_data(batch, NFTA_IMMEDIATE_DATA, &port, sizeof(port));
	end_expression(batch, expression);
	expression = begin_expression(batch, "tproxy");
	put_be32(batch, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC); /* both */
	put_be32(batch, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	end_expression(batch, expression);
	accept_it(batch);
	unnest(batch, rule);
}

static void add_chain(struct batch *batch)
{
	size_t hook;

	begin_nft(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
	put_text(batch, NFTA_TABLE_NAME, TABLE);
	begin_nft(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL);
	put_text(batch, NFTA_CHAIN_TABLE, TABLE);
	put_text(batch, NFTA_CHAIN_NAME, CHAIN);
	put_text(batch, NFTA_CHAIN_TYPE, "filter");
	put_be32(batch, NFTA_CHAIN_POLICY, NF_ACCEPT);
	hook = nest(batch, NFTA_CHAIN_HOOK);
	put_be32(batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	put_be32(batch, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY_MANGLE);
	unnest(batch, hook);
}

static long lay_rules(void)
{
	struct batch batch = { .len = 0 };
	uint32_t last;

	mark_batch(&batch, NFNL_MSG_BATCH_BEGIN);
	add_chain(&batch);
	for (size_t i = 0; i < RF_LEN(left_alone); i++)
		add_exception(&batch, i);
	add_tproxy(&batch);
	last = batch.sequence;
	mark_batch(&batch, NFNL_MSG_BATCH_END);
	return tell_kernel(NETLINK_NETFILTER, &batch, last, 0);
}

/* ------------------------------------------------------------- sockets */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static long set(long fd, int level, int option)
{
	const int on = 1;

	return RAW(SYS_setsockopt, fd, level, option, (long)&on, sizeof(on));
}

/* Addresses that are no socket's own can be taken, and tell where they were dialled. */
static long make_transparent(long fd, int family, int type)
{
	long code = family == AF_INET6 ? set(fd, IPPROTO_IPV6, IPV6_TRANSPARENT)
				       : set(fd, IPPROTO_IP, IP_TRANSPARENT);

	if (code == 0 && type == SOCK_DGRAM)
		code = family == AF_INET6 ? set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO)
					  : set(fd, IPPROTO_IP, IP_PKTINFO);
	return code;
}

static long bind_all(long fd, int family, uint16_t port)
{
	const int off = 0;
	union address address = { .any.sa_family = (sa_family_t)family };

	if (family == AF_INET) {
		address.v4.sin_port = htons(port);
		return RAW(SYS_bind, fd, (long)&address, sizeof(address.v4));
	}
	address.v6.sin6_port = htons(port);
	if (RAW(SYS_setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, (long)&off, sizeof(off)) < 0)
		return -EPROTO;
	return RAW(SYS_bind, fd, (long)&address, sizeof(address.v6));
}

/* One on every address, of both families where there are both. */
static long open_line(int type, uint16_t port, int *ret_fd)
{
	int family = AF_INET6;
	long fd = RAW(SYS_socket, family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long code;

	if (fd == -EAFNOSUPPORT) {
		family = AF_INET;
		fd = RAW(SYS_socket, family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (fd < 0)
		return fd;
	*ret_fd = (int)fd;
	code = make_transparent(fd, family, type);
	if (code == 0)
		code = bind_all(fd, family, port);
	if (code == 0 && type == SOCK_STREAM)
		code = RAW(SYS_listen, fd, BACKLOG);
	return code;
}

static long open_proxy(int *ret_fd)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(RF_CAPTURE_PROXY_PORT),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	long fd = RAW(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long code;

	if (fd < 0)
		return fd;
	*ret_fd = (int)fd;
	code = RAW(SYS_bind, fd, (long)&address, sizeof(address));
	return code < 0 ? code : RAW(SYS_listen, fd, BACKLOG);
}

/* The first is RF_LINE_TCP, so that whoever gets the lines need not know how they were made. */
static long open_ports(const struct rf_capture_wish *wish, struct rf_capture *capture)
{
	long code = 0;

	if (wish->port_count == 0 || wish->port_count > RF_CAPTURE_PORTS + 1)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < wish->port_count && code == 0; i++) {
		if (i == 0) {
			code = open_line(SOCK_STREAM, wish->ports[i], &capture->lines[RF_LINE_TCP]);
			continue;
		}
		capture->numbers[i - 1] = wish->ports[i];
		code = open_line(SOCK_STREAM, wish->ports[i], &capture->ports[i - 1]);
		capture->port_count = i;
	}
	return code;
}

static long open_stock(size_t count, struct rf_capture *capture)
{
	for (; capture->stock_count < count; capture->stock_count++) {
		long fd = RAW(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			return fd;
		capture->stock[capture->stock_count] = (int)fd;
	}
	return 0;
}

/* ------------------------------------------------------------- the whole */

void rf_capture_init(struct rf_capture *capture)
{
	memset(capture, 0, sizeof(*capture));
	memset(capture->lines, -1, sizeof(capture->lines));
	memset(capture->ports, -1, sizeof(capture->ports));
	memset(capture->stock, -1, sizeof(capture->stock));
}

static void close_each(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i] >= 0)
			RAW(SYS_close, fds[i]);
		fds[i] = -1;
	}
}

void rf_capture_done(struct rf_capture *capture)
{
	close_each(capture->lines, RF_LINE_COUNT);
	close_each(capture->ports, RF_CAPTURE_PORTS);
	close_each(capture->stock, RF_CAPTURE_STOCK);
	capture->port_count = capture->stock_count = 0;
}

static long make(const struct rf_capture_wish *wish, struct rf_capture *capture)
{
	long code;

	capture->what = "lead every address to loopback";
	code = lay_routes();
	if (code < 0)
		return code;
	capture->has_nftables = !wish->without_nftables && lay_rules() == 0;
	capture->what = "listen for connections";
	if (capture->has_nftables)
		code = open_line(SOCK_STREAM, RF_CAPTURE_PORT, &capture->lines[RF_LINE_TCP]);
	else
		code = open_ports(wish, capture);
	if (code < 0)
		return code;
	capture->what = "listen for questions about names";
	code = open_line(SOCK_DGRAM, RF_CAPTURE_DNS_PORT, &capture->lines[RF_LINE_DNS_UDP]);
	if (code == 0)
		code = open_line(SOCK_STREAM, RF_CAPTURE_DNS_PORT,
				 &capture->lines[RF_LINE_DNS_TCP]);
	if (code < 0)
		return code;
	capture->what = "listen as a proxy";
	code = open_proxy(&capture->lines[RF_LINE_PROXY]);
	if (code < 0)
		return code;
	capture->what = "make sockets for what is published";
	return open_stock(wish->stock_count, capture);
}

long rf_capture_make(const struct rf_capture_wish *wish, struct rf_capture *capture)
{
	long code;

	rf_capture_init(capture);
	code = make(wish, capture);
	if (code < 0)
		rf_capture_done(capture);
	return code;
}

/* ------------------------------------------------------------- from one process to the other */

/* What goes along with the descriptors. */
struct note {
	uint32_t port_count, stock_count;
	uint16_t numbers[RF_CAPTURE_PORTS];
	uint8_t has_nftables;
};

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

int rf_capture_send(const struct rf_capture *capture, int channel, struct rf_err *err)
{
	struct note note = { .port_count = (uint32_t)capture->port_count,
			     .stock_count = (uint32_t)capture->stock_count,
			     .has_nftables = capture->has_nftables };
	struct iovec part = { &note, sizeof(note) };
	union control control = { .room = { 0 } };
	size_t count = RF_LINE_COUNT + capture->port_count + capture->stock_count;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int)) };
	char *at = (char *)CMSG_DATA(&control.head);

	memcpy(note.numbers, capture->numbers, sizeof(note.numbers));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
	memcpy(at, capture->lines, sizeof(capture->lines));
	at += sizeof(capture->lines);
	memcpy(at, capture->ports, capture->port_count * sizeof(int));
	at += capture->port_count * sizeof(int);
	memcpy(at, capture->stock, capture->stock_count * sizeof(int));
	if (rf_fd_sendmsg(channel, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(note))
		return rf_fail(err, -errno, "hand the box's sockets over");
	return 0;
}

int rf_capture_take(struct rf_capture *capture, int channel, struct rf_err *err)
{
	struct note note = { 0 };
	struct iovec part = { &note, sizeof(note) };
	union control control = { .room = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const char *at = (const char *)CMSG_DATA(&control.head);
	ssize_t len = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (len < 0)
		return rf_fail(err, -errno, "receive the box's sockets");
	/* From a child of ours, which no foreign byte has reached: it can only be whole. */
	if (len != (ssize_t)sizeof(note) || !CMSG_FIRSTHDR(&message) ||
	    note.port_count > RF_CAPTURE_PORTS || note.stock_count > RF_CAPTURE_STOCK ||
	    control.head.cmsg_len !=
		    CMSG_LEN((RF_LINE_COUNT + note.port_count + note.stock_count) * sizeof(int)))
		return rf_fail_say(err, -EBADMSG, "the box's sockets are not what was to come");
	capture->port_count = note.port_count;
	capture->stock_count = note.stock_count;
	capture->has_nftables = note.has_nftables;
	memcpy(capture->numbers, note.numbers, sizeof(note.numbers));
	memcpy(capture->lines, at, sizeof(capture->lines));
	at += sizeof(capture->lines);
	memcpy(capture->ports, at, note.port_count * sizeof(int));
	at += note.port_count * sizeof(int);
	memcpy(capture->stock, at, note.stock_count * sizeof(int));
	return 0;
}
