/* The way out of one box: see outward.h. */
#include "jail/outward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/limits.h"
#include "policy/policy.h"

#define READY_MS 10000 /* that a gateway has to start and to read a policy */
#define END_MS   2000  /* and to tell the rest */
#define MS       1000000ull
#define AT_ONCE  64 /* messages, before others have their turn */

static const char LATE[] =
	"the gateway did not tell the end of it: denials lists a part of what it refused";

void rf_outward_init(struct rf_outward *outward)
{
	*outward = (struct rf_outward){ .fd = -1, .box = 1, .pem = "" };
	rf_buf_init(&outward->buf, RF_WIRE_ROOM);
}

int rf_outward_await(struct rf_outward *outward, struct rf_err *err)
{
	if (outward->is_ready)
		return 0;
	if (rf_gate_await(outward->fd, outward->box, READY_MS, &outward->buf, &outward->pem, err) <
	    0) {
		if (err->code == -ECONNRESET && !err->hint[0])
			rf_fail_hint(err, "is ringfort-gateway of the same version as ringfort?");
		return err->code;
	}
	outward->is_ready = true;
	return 0;
}

static void close_ports(struct rf_outward *outward)
{
	while (outward->port_count > 0)
		rf_fd_done(&outward->ports[--outward->port_count].listener);
}

static int publish(struct rf_outward *outward, struct rf_err *err)
{
	int code = 0;

	for (size_t i = 0; i < outward->port_count && code == 0; i++)
		code = rf_gate_publish(outward->fd, outward->box, outward->ports[i].inside,
				       outward->ports[i].listener, err);
	close_ports(outward);
	return code;
}

int rf_outward_hand_over(struct rf_outward *outward, int *ret_fd, struct rf_err *err)
{
	if (rf_outward_await(outward, err) < 0 || publish(outward, err) < 0)
		return rf_fail_in(err, "the network");
	*ret_fd = rf_fd_take(&outward->fd);
	return 0;
}

void rf_outward_adopt(struct rf_outward *outward, int *fd)
{
	rf_outward_init(outward);
	outward->fd = rf_fd_take(fd);
	outward->is_ready = outward->fd >= 0;
	fcntl(outward->fd, F_SETFL, O_NONBLOCK); /* whatever it is: nobody makes us wait */
}

int rf_outward_give(struct rf_outward *outward, struct rf_capture *capture, struct rf_err *err)
{
	int code = rf_gate_give_lines(outward->fd, outward->box, capture->lines, err);

	for (size_t i = 0; i < capture->port_count && code == 0; i++)
		code = rf_gate_give_port(outward->fd, outward->box, capture->numbers[i],
					 capture->ports[i], err);
	for (size_t i = 0; i + RF_GATE_STOCK <= capture->stock_count && code == 0;
	     i += RF_GATE_STOCK)
		code = rf_gate_give_stock(outward->fd, outward->box, capture->stock + i, err);
	if (code == 0)
		code = publish(outward, err);
	rf_capture_done(capture); /* so that the gateway's end is the end of them */
	return code < 0 ? rf_fail_in(err, "the network") : 0;
}

int rf_outward_bound(const struct rf_outward *outward, const struct rf_policy *policy,
		     struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_policy_format_net(policy, &text);
	if (text.has_failed)
		return rf_fail(err, -ENOMEM, "a policy's text");
	return rf_gate_bound(outward->fd, outward->box, text.data, err);
}

int rf_outward_lend(struct rf_outward *outward, bool is_bounded, int *ret_fd, struct rf_err *err)
{
	RF_AUTO_FD int ours = -1, theirs = -1;
	int pair[2];

	if (outward->fd < 0 || outward->is_over)
		return rf_fail_say(err, -ENOTCONN, "the box has no gateway");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return rf_fail(err, -errno, "a socket");
	ours = pair[0];
	theirs = pair[1];
	if (rf_gate_give_hand(outward->fd, outward->box, theirs, is_bounded, err) < 0)
		return err->code;
	*ret_fd = rf_fd_take(&ours);
	return 0;
}

/* ------------------------------------------------------------- what happens */

/* "api.example:443", "POST api.example/v1/x" where it was a request, or "TCP api.example:443" where it was no HTTP. */
static void name_it(const struct rf_gate_event *event, char *text, size_t size)
{
	if (event->kind == RF_GATE_DNS)
		snprintf(text, size, "%s", event->host);
	else if (event->method[0] && event->kind == RF_GATE_REQUEST &&
		 (event->port == 443 || event->port == 80))
		snprintf(text, size, "%s %s%s", event->method, event->host, event->path);
	else if (event->method[0])
		snprintf(text, size, "%s %s:%u%s", event->method, event->host, event->port,
			 event->path);
	else
		snprintf(text, size, "%s:%u", event->host, event->port);
}

static bool is_listed(const struct rf_result *result, const char *what)
{
	for (size_t i = 0; i < result->denial_count; i++)
		if (strcmp(result->denials[i].kind, "network") == 0 &&
		    strcmp(result->denials[i].what, what) == 0)
			return true;
	return false;
}

/* Once for each thing that was wanted, however often. */
static void list_denial(struct rf_outward *outward, const struct rf_gate_event *event)
{
	char what[RF_GATE_HOST + RF_GATE_PATH + 64];

	name_it(event, what, sizeof(what));
	if (!outward->found) {
		outward->found = malloc(sizeof(*outward->found));
		if (outward->found)
			rf_result_init(outward->found, NULL);
	}
	if (outward->found && is_listed(outward->found, what))
		return;
	if (outward->found && outward->found->denial_count < RF_OUTWARD_DENIALS)
		rf_result_add_denial(outward->found, "network", what,
				     event->rule[0] ? event->rule : "default", event->remedy);
	else
		outward->unlisted++;
}

/* The first one that was sent; nothing more will leave the box. */
static void catch_canary(struct rf_outward *outward, const struct rf_gate_event *event)
{
	if (outward->canary[0])
		return;
	snprintf(outward->canary, sizeof(outward->canary), "%s", event->credential);
	snprintf(outward->canary_to, sizeof(outward->canary_to), "%s:%u", event->host, event->port);
	if (outward->on_canary)
		outward->on_canary(outward->canary_data);
}

/* Hears one message.  False if there is none, or there will be none any more. */
static bool hear(struct rf_outward *outward)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_gate_news news;
	int code = rf_gate_next(outward->fd, &outward->buf, &news, &err);

	outward->pem = "";
	if (code == -EAGAIN)
		return false;
	if (code <= 0) {
		outward->is_over = outward->is_lost = true;
		return false;
	}
	if (news.is_done) {
		outward->counts = news.counts;
		outward->is_over = true;
		return false;
	}
	if (news.is_refused) {
		outward->refused = news.why;
		return true;
	}
	if (news.is_held) {
		/* The box was told that it is kept: if it is not, nothing of the run may count. */
		outward->is_lost = outward->is_lost || rf_held_add(&outward->held, &news.held) < 0;
		return true;
	}
	do {
		if (news.event.kind == RF_GATE_CANARY)
			catch_canary(outward, &news.event);
		if (outward->on_event)
			outward->on_event(outward->data, &news.event);
		if (news.event.verdict == RF_GATE_DENIED)
			list_denial(outward, &news.event);
		code = rf_gate_more(&news, &err);
	} while (code > 0);
	if (code < 0)
		outward->is_over = outward->is_lost = true;
	return code == 0;
}

/* All is said, or has had time enough. */
static void be_parted(struct rf_outward *outward)
{
	void (*on_parted)(void *data) = outward->on_parted;

	rf_event_cancel(outward->patience);
	outward->patience = NULL;
	outward->on_parted = NULL;
	on_parted(outward->parted_data);
}

static void on_impatience(void *data, int what)
{
	struct rf_outward *outward = data;

	(void)what;
	outward->is_late = true;
	be_parted(outward);
}

static void on_news(void *data, int what)
{
	struct rf_outward *outward = data;

	(void)what;
	for (int i = 0; i < AT_ONCE; i++)
		if (!hear(outward))
			break;
	if (!outward->is_over)
		return;
	rf_event_cancel(outward->event);
	outward->event = NULL;
	if (outward->on_parted)
		be_parted(outward);
}

int rf_outward_watch(struct rf_outward *outward, struct rf_loop *loop, struct rf_err *err)
{
	fcntl(outward->fd, F_SETFL, O_NONBLOCK);
	return rf_loop_watch(loop, outward->fd, RF_LOOP_READ, on_news, outward, &outward->event,
			     err);
}

bool rf_outward_listen(struct rf_outward *outward, int wait_ms)
{
	struct pollfd ready = { .fd = outward->fd, .events = POLLIN };
	bool has_heard = false;

	while (!outward->is_over && poll(&ready, 1, has_heard ? 0 : wait_ms) > 0) {
		hear(outward);
		has_heard = true;
	}
	return has_heard;
}

/* ------------------------------------------------------------- the end */

void rf_outward_close(struct rf_outward *outward)
{
	struct rf_err ignored = RF_ERR_INIT; /* who ends it finds out */

	if (outward->fd >= 0 && outward->is_ready && !outward->is_over && !outward->is_closed)
		outward->is_closed = rf_gate_close(outward->fd, outward->box, &ignored) == 0;
}

bool rf_outward_part(struct rf_outward *outward, struct rf_loop *loop,
		     void (*on_parted)(void *data), void *data)
{
	struct rf_err err = RF_ERR_INIT;

	if (outward->fd < 0 || !outward->event || outward->is_over)
		return false;
	rf_outward_close(outward);
	outward->is_late = !outward->is_closed ||
			   rf_loop_timer(loop, rf_loop_now() + END_MS * MS, on_impatience, outward,
					 &outward->patience, &err) < 0;
	outward->on_parted = outward->is_late ? NULL : on_parted;
	outward->parted_data = data;
	return !outward->is_late;
}

/* Until the gateway has said all, or has had time enough. */
static void hear_the_rest(struct rf_outward *outward, struct rf_result *result)
{
	uint64_t end = rf_loop_now() + END_MS * MS;

	while (!outward->is_over) {
		struct pollfd ready = { .fd = outward->fd, .events = POLLIN };
		uint64_t now = rf_loop_now();
		int got = now >= end ? 0 : poll(&ready, 1, (int)((end - now) / MS) + 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			rf_result_warn(result, LATE);
			return;
		}
		hear(outward);
	}
}

static void pass_on(const struct rf_outward *outward, struct rf_result *result)
{
	for (size_t i = 0; outward->found && i < outward->found->denial_count; i++) {
		const struct rf_result_denial *denial = &outward->found->denials[i];

		rf_result_add_denial(result, denial->kind, denial->what, denial->rule,
				     denial->remedy);
	}
	if (outward->unlisted > 0)
		rf_result_warn(result,
			       "the network refused more than %d things: %llu are not listed",
			       RF_OUTWARD_DENIALS, (unsigned long long)outward->unlisted);
	if (outward->refused.code)
		rf_result_warn(result, "the box had no network: %s", outward->refused.msg);
	else if (outward->is_lost)
		rf_result_warn(result, "the gateway ended before the box, which had no network "
				       "from then on");
	if (outward->counts.lost_events > 0)
		rf_result_warn(result, "%llu events of the network could not be told",
			       (unsigned long long)outward->counts.lost_events);
}

void rf_outward_end(struct rf_outward *outward, struct rf_result *result)
{
	rf_event_cancel(outward->event);
	outward->event = NULL;
	if (outward->fd < 0 || !outward->is_ready)
		return;
	rf_outward_close(outward);
	if (outward->is_late)
		rf_result_warn(result, LATE);
	else if (!outward->is_over && outward->is_closed)
		hear_the_rest(outward, result);
	outward->is_over = true;
	pass_on(outward, result);
}

void rf_outward_done(struct rf_outward *outward)
{
	rf_event_cancel(outward->event);
	rf_event_cancel(outward->patience);
	outward->event = outward->patience = NULL;
	close_ports(outward);
	rf_fd_done(&outward->fd);
	rf_buf_done(&outward->buf);
	if (outward->found)
		rf_result_done(outward->found);
	free(outward->found);
	outward->found = NULL;
	rf_held_done(&outward->held);
	outward->pem = "";
}
