/* The resolver of a box: see dns-line.h. */
#include "gateway/dns-line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "gateway/dns.h"
#include "gateway/judge.h"

#define TURN    64 /* datagrams in a row */
#define TTL_S   60
#define IDLE_NS (10ull * 1000000000)
#define MOST    16 /* connections to port 53 at a time */

struct rf_dns_line {
	struct rf_outlet *outlet;
	struct rf_dns_line *next, **link;
	int fd;
	struct rf_event *event;
	struct rf_deadline limit;
	uint8_t in[2 + RF_DNS_QUERY];
	size_t len;
};

/* ------------------------------------------------------------- answers */

static void tell(struct rf_outlet *outlet, const char *name, const struct rf_judge *judge,
		 const char *reason)
{
	struct rf_gate_event event = {
		.kind = RF_GATE_DNS,
		.verdict = rf_judge_verdict(judge),
		.host = name,
		.rule = judge->rule,
		.reason = reason ? reason : judge->reason,
		.remedy = judge->remedy,
	};

	rf_note_tell(outlet->note, &event);
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0 &&
	       (len == end_len || name[len - end_len - 1] == '.');
}

/* The box's own machine (RFC 6761, 6.3). */
static void answer_local(const struct rf_dns_query *query, struct rf_dns_answer *answer)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };

	if (query->type == RF_DNS_A) {
		answer->address = v4;
		answer->address_len = sizeof(v4);
	} else if (query->type == RF_DNS_AAAA) {
		answer->address = v6;
		answer->address_len = sizeof(v6);
	}
}

static void answer_allowed(struct rf_outlet *outlet, const struct rf_host *host,
			   const struct rf_dns_query *query, const struct rf_judge *judge,
			   struct rf_dns_answer *answer, uint8_t address[4])
{
	uint64_t known = rf_names_count(outlet->names) + rf_names_forgotten(outlet->names);
	uint32_t number;

	switch (query->type) {
	case RF_DNS_AAAA: /* there is none, and no hint how to reach it otherwise */
	case RF_DNS_HTTPS:
	case RF_DNS_SVCB:
		return;
	case RF_DNS_A:
		break;
	default:
		answer->rcode = RF_DNS_REFUSED;
		return;
	}
	number = htonl(rf_names_give(outlet->names, host->text));
	if (number == 0) {
		answer->rcode = RF_DNS_FAILED;
		return;
	}
	if (rf_names_count(outlet->names) + rf_names_forgotten(outlet->names) > known) {
		rf_note_counts(outlet->note)->names++;
		tell(outlet, host->text, judge, NULL);
	}
	memcpy(address, &number, 4);
	answer->address = address;
	answer->address_len = 4;
}

/* Decides a question. */
static void decide(struct rf_outlet *outlet, const struct rf_dns_query *query,
		   struct rf_dns_answer *answer, uint8_t address[4])
{
	struct rf_judge judge = { 0 };
	struct rf_host host;

	if (ends_with(query->name, "localhost")) {
		answer_local(query, answer);
		return;
	}
	answer->rcode = RF_DNS_NO_NAME;
	if (ends_with(query->name,
		      "arpa")) /* whom an address belongs to: no attempt to reach anybody */
		return;
	if (!query->name[0] || rf_host_parse(rf_span_of(query->name), &host) ||
	    host.kind != RF_HOST_NAME) {
		snprintf(judge.rule, sizeof(judge.rule), "default");
		tell(outlet, query->name, &judge, "no name of a host");
		return;
	}
	rf_judge_host(outlet, &host, 0, &judge);
	if (!judge.is_allowed) {
		tell(outlet, host.text, &judge, NULL);
		return;
	}
	answer->rcode = RF_DNS_WELL;
	answer_allowed(outlet, &host, query, &judge, answer, address);
}

static size_t answer_query(struct rf_outlet *outlet, const uint8_t *data, size_t len, uint8_t *out,
			   size_t room)
{
	struct rf_dns_answer answer = { .ttl_s = TTL_S };
	struct rf_dns_query query;
	uint8_t address[4];
	int code = rf_dns_parse(data, len, &query);

	if (code < 0)
		return 0;
	answer.rcode = (enum rf_dns_rcode)code;
	if (code == RF_DNS_WELL)
		decide(outlet, &query, &answer, address);
	return rf_dns_format(&query, &answer, out, room);
}

/* ------------------------------------------------------------- datagrams */

void rf_dns_line_datagrams(struct rf_outlet *outlet, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 64];
		struct cmsghdr align;
	} control;
	uint8_t in[RF_DNS_QUERY + 1], out[RF_DNS_ANSWER];

	for (int i = 0; i < TURN; i++) {
		struct sockaddr_storage from;
		struct iovec part = { in, sizeof(in) };
		struct msghdr packet = {
			.msg_name = &from,
			.msg_namelen = sizeof(from),
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control.bytes),
		};
		ssize_t n = recvmsg(fd, &packet, MSG_DONTWAIT);
		size_t len;

		if (n < 0)
			return;
		if (!rf_note_has_room(outlet->note)) /* it asks again */
			continue;
		len = answer_query(outlet, in, (size_t)n, out, sizeof(out));
		if (len == 0)
			continue;
		/* The ancillary data says to whom it was sent: sent back, it says from whom the answer is. */
		part = (struct iovec){ out, len };
		packet.msg_flags = 0;
		if (packet.msg_controllen == 0)
			packet.msg_control = NULL;
		sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* ------------------------------------------------------------- connections */

static void free_line(struct rf_dns_line *line)
{
	rf_event_cancel(line->event);
	rf_deadline_done(&line->limit);
	rf_fd_done(&line->fd);
	*line->link = line->next;
	if (line->next)
		line->next->link = line->link;
	line->outlet->dns_line_count--;
	free(line);
}

static void on_limit(void *data)
{
	free_line(data);
}

/* Answers whole queries.  False: the connection is over. */
static bool answer_all(struct rf_dns_line *line)
{
	uint8_t out[2 + RF_DNS_ANSWER];

	for (;;) {
		size_t need = line->len < 2 ? 2 : 2 + ((size_t)line->in[0] << 8 | line->in[1]), len;

		if (need > sizeof(line->in))
			return false;
		if (line->len < need || line->len < 2)
			return true;
		if (!rf_note_has_room(line->outlet->note))
			return false;
		len = answer_query(line->outlet, line->in + 2, need - 2, out + 2, sizeof(out) - 2);
		if (len == 0)
			return false;
		out[0] = (uint8_t)(len >> 8);
		out[1] = (uint8_t)len;
		/* Who does not take a few bytes gets none. */
		if (send(line->fd, out, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(len + 2))
			return false;
		line->len -= need;
		memmove(line->in, line->in + need, line->len);
		rf_deadline_set(&line->limit, rf_loop_now() + IDLE_NS);
	}
}

static void on_line(void *data, int what)
{
	struct rf_dns_line *line = data;
	ssize_t n =
		recv(line->fd, line->in + line->len, sizeof(line->in) - line->len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		line->len += (size_t)n;
		if (answer_all(line))
			return;
	}
	free_line(line);
}

void rf_dns_line_accept(struct rf_outlet *outlet, int *fd)
{
	struct rf_dns_line *line = outlet->dns_line_count < MOST ? calloc(1, sizeof(*line)) : NULL;
	struct rf_err err;

	if (!line) {
		rf_fd_done(fd);
		return;
	}
	line->outlet = outlet;
	line->fd = rf_fd_take(fd);
	line->link = &outlet->dns_lines;
	line->next = outlet->dns_lines;
	if (line->next)
		line->next->link = &line->next;
	outlet->dns_lines = line;
	outlet->dns_line_count++;
	if (rf_deadline_init(&line->limit, outlet->gateway->deadlines, on_limit, line) < 0 ||
	    rf_loop_watch(outlet->gateway->loop, line->fd, RF_LOOP_READ, on_line, line,
			  &line->event, &err) < 0) {
		free_line(line);
		return;
	}
	rf_deadline_set(&line->limit, rf_loop_now() + IDLE_NS);
}

void rf_dns_line_close(struct rf_outlet *outlet)
{
	struct rf_dns_line *next;

	for (struct rf_dns_line *line = outlet->dns_lines; line; line = next) {
		next = line->next;
		free_line(line);
	}
}
