/*
 * Hears what the kernel refuses a box: see ear.h.
 *
 * Records are not written where they arise: they go through a queue and a thread of the kernel's
 * (kauditd), so the last ones may arrive after the box has ended.  How many wait is part of the
 * status, and asked until none does.
 *
 * A box can be refused things as fast as it can ask: an ear hears a fair number and no more.
 */
#include "jail/ear.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define AT_ONCE  256   /* records, before others have their turn */
#define ENOUGH   50000 /* records of one run */
#define LAST_MS  1     /* without a record, when none waits: the end */
#define LAST_MAX 100   /* of those, at most */
#define PART     16384 /* more than the longest record (MAX_AUDIT_MESSAGE_LENGTH) */

/* Asked on a socket of its own, which hears no records. */
static bool ask_status(struct audit_status *ret_status)
{
	RF_AUTO_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr ask = { .nlmsg_len = sizeof(ask),
				.nlmsg_type = AUDIT_GET,
				.nlmsg_flags = NLM_F_REQUEST };
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct {
		struct nlmsghdr head;
		struct audit_status status;
	} answer = { 0 };
	ssize_t len;

	if (fd < 0 ||
	    sendto(fd, &ask, sizeof(ask), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0 ||
	    poll(&wait, 1, 100) <= 0)
		return false;
	len = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (len < (ssize_t)(sizeof(answer.head) + offsetof(struct audit_status, backlog) +
			    sizeof(answer.status.backlog)) ||
	    answer.head.nlmsg_type != AUDIT_GET)
		return false; /* an NLMSG_ERROR, in a container */
	*ret_status = answer.status;
	return true;
}

enum rf_ear_state rf_ear_ask(void)
{
	struct audit_status status;

	if (!ask_status(&status))
		return RF_EAR_CLOSED;
	if (status.enabled == 0)
		return RF_EAR_OFF;
	return status.failure == AUDIT_FAIL_PANIC ? RF_EAR_DIRE : RF_EAR_ON;
}

void rf_ear_open(struct rf_ear *ear)
{
	struct sockaddr_nl log = { .nl_family = AF_NETLINK,
				   .nl_groups = 1u << (AUDIT_NLGRP_READLOG - 1) };
	RF_AUTO_FD int fd = -1;

	*ear = RF_EAR_DEAF;
	if (rf_ear_ask() != RF_EAR_ON)
		return;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_AUDIT);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&log, sizeof(log)) == 0)
		ear->fd = rf_fd_take(&fd);
}

/* Takes one record in.  False if there is none. */
static bool hear_one(struct rf_ear *ear)
{
	char part[PART];
	struct nlmsghdr head;
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t len = recvfrom(ear->fd, part, sizeof(part), 0, (struct sockaddr *)&from, &from_len);

	if (len < 0 && errno == ENOBUFS) {
		ear->has_lost = true;
		return true;
	}
	if (len < (ssize_t)sizeof(head))
		return false;
	memcpy(&head, part, sizeof(head));
	ear->heard++;
	if (from.nl_pid == 0 && ear->denials) /* the kernel's own words */
		rf_denial_take(ear->denials, head.nlmsg_type, part + sizeof(head),
			       (size_t)len - sizeof(head));
	return true;
}

bool rf_ear_hear(struct rf_ear *ear)
{
	for (int i = 0; i < AT_ONCE && ear->heard < ENOUGH; i++)
		if (!hear_one(ear))
			return true;
	if (ear->heard >= ENOUGH)
		ear->has_lost = true;
	return ear->heard < ENOUGH;
}

void rf_ear_hear_last(struct rf_ear *ear)
{
	struct pollfd wait = { .fd = ear->fd, .events = POLLIN };
	struct audit_status status;

	for (int i = 0; i < LAST_MAX; i++) {
		bool has_more = poll(&wait, 1, LAST_MS) > 0;

		if (has_more && !rf_ear_hear(ear))
			return;
		if (!has_more && (!ask_status(&status) || status.backlog == 0))
			return;
	}
	ear->has_lost = true;
}

void rf_ear_done(struct rf_ear *ear)
{
	rf_fd_done(&ear->fd);
	free(ear->denials);
	ear->denials = NULL;
}
