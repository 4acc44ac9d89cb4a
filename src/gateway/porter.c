/* The porter of a standing gateway: see porter.h. */
#include "gateway/porter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "wire/client.h"
#include "wire/door.h"
#include "wire/wire.h"

#define VISITORS    256 /* who have not said yet what they want */
#define MS          1000000ull
#define PAUSE_FIRST (100 * MS) /* before another gateway is started */
#define PAUSE_LAST  (10000 * MS)
#define STEADY      (60000 * MS) /* one that has lived so long has not failed at its start */

struct porter {
	const char *program;
	struct rf_loop *loop;
	struct rf_door door;
	struct rf_buf in;
	int gateway; /* its connection, or -1: it has ended */
	struct rf_event *gateway_event, *timer;
	uint64_t began, pause;
};

/* ------------------------------------------------------------- the gateway */

static int start_gateway(struct porter *porter, struct rf_err *err);

static void on_pause_over(void *data, int what)
{
	struct porter *porter = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	if (start_gateway(porter, &err) == 0)
		return;
	fprintf(stderr, "ringfort-gateway: %s\n", err.msg);
	rf_event_again(porter->timer, rf_loop_now() + porter->pause);
}

/* Nothing is ever said on its connection but by its end. */
static void on_gateway(void *data, int what)
{
	struct porter *porter = data;
	uint64_t now = rf_loop_now();

	(void)what;
	fprintf(stderr, "ringfort-gateway: the gateway has ended, and its boxes' networks with it; "
			"another one is started\n");
	rf_event_cancel(porter->gateway_event);
	porter->gateway_event = NULL;
	rf_fd_done(&porter->gateway);
	porter->pause = now - porter->began > STEADY ? PAUSE_FIRST : 2 * porter->pause;
	if (porter->pause > PAUSE_LAST)
		porter->pause = PAUSE_LAST;
	rf_event_again(porter->timer, now + porter->pause);
}

static int start_gateway(struct porter *porter, struct rf_err *err)
{
	const char *const words[] = { "ringfort-gateway", "--many", "3", NULL };

	porter->began = rf_loop_now();
	if (rf_client_start(porter->program, words, "gateway", &porter->gateway, err) < 0)
		return err->code;
	fcntl(porter->gateway, F_SETFL, O_NONBLOCK);
	return rf_loop_watch(porter->loop, porter->gateway, RF_LOOP_READ, on_gateway, porter,
			     &porter->gateway_event, err);
}

/* ------------------------------------------------------------- visitors */

static struct porter *porter_of(const struct rf_door_visitor *visitor)
{
	return visitor->door->host;
}

/* What the next message is, without taking it; RF_WIRE_COUNT: it is none, or there will be none any more; 0: not yet. */
static unsigned peek(int fd)
{
	struct rf_wire_head head;
	ssize_t len = recv(fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return len == (ssize_t)sizeof(head) && head.version == RF_WIRE_VERSION ? head.type
									       : RF_WIRE_COUNT;
}

/* Its words are for the gateway, which has the connection from now on. */
static int let_in(struct rf_door_visitor *visitor, struct rf_err *err)
{
	struct porter *porter = porter_of(visitor);

	if (!rf_peer_is_alive(visitor->fd))
		return rf_fail_say(err, -ESRCH, "who connected is gone");
	if (rf_door_demand(visitor, err) < 0)
		return err->code;
	if (porter->gateway < 0 ||
	    rf_wire_send(porter->gateway, RF_WIRE_JOIN, 0, NULL, 0, &visitor->fd, 1, err) < 0) {
		rf_fail_say(err, -EAGAIN, "the standing gateway has ended, or has no time");
		return rf_fail_hint(err, "run it again, or with --no-gateway");
	}
	/* Only our copy of it is closed: what was said on it is still to be read. */
	rf_event_cancel(visitor->event);
	visitor->event = NULL;
	rf_fd_done(&visitor->fd);
	return 0;
}

static int welcome(const struct rf_door_visitor *visitor, uint64_t id, struct rf_err *err)
{
	struct rf_wire_welcome words = {
		.version = RF_VERSION,
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)geteuid(),
	};

	if (rf_door_demand(visitor, err) < 0)
		return err->code;
	return rf_wire_send(visitor->fd, RF_WIRE_WELCOME, id, &words, sizeof(words), NULL, 0, err);
}

/* Takes a message that is for the porter.  0: it may stay and say more. */
static int serve(struct rf_door_visitor *visitor, struct rf_err *err)
{
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	int code = rf_wire_receive(visitor->fd, RF_WIRE_CLIENT, &porter_of(visitor)->in, &message,
				   err);

	if (code <= 0)
		return code < 0 ? code : -ECONNRESET;
	if (message.type == RF_WIRE_PROVE)
		return rf_door_take_proof(visitor, message.fds[0], err);
	return welcome(visitor, message.id, err);
}

static void on_message(void *data, int what)
{
	struct rf_door_visitor *visitor = data;
	struct rf_err err = RF_ERR_INIT, ignored;
	unsigned type = peek(visitor->fd);
	int code;

	(void)what;
	if (type == 0)
		return;
	if (type == RF_WIRE_PROVE || type == RF_WIRE_HELLO) {
		code = serve(visitor, &err);
		if (code == 0 || code == -EAGAIN)
			return;
	} else if (type >= RF_WIRE_GATE_OPEN && type <= RF_WIRE_GATE_SPEAK) {
		code = let_in(visitor, &err);
	} else {
		code = -ECONNRESET; /* it has gone, or says what nobody here understands */
	}
	if (code < 0 && code != -ECONNRESET)
		rf_wire_refuse(visitor->fd, 0, &err, &ignored);
	rf_door_leave(visitor);
}

static const struct rf_door_rules rules = {
	.who = "gateway",
	.instead = "run it with --no-gateway, or start a gateway where the client is",
	.most = VISITORS,
	.size = sizeof(struct rf_door_visitor),
	.has_any_groups = true,
	.on_message = on_message,
	.refuse = rf_wire_refuse,
};

/* ------------------------------------------------------------- the whole */

static void on_signal(void *data, int signal)
{
	struct porter *porter = data;

	(void)signal;
	rf_loop_stop(porter->loop);
}

static int start(struct porter *porter, int listener, struct rf_err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0)
		return rf_fail(err, -errno, "hold signals");
	signal(SIGPIPE, SIG_IGN);
	if (rf_loop_new(&porter->loop, err) < 0 ||
	    rf_loop_signals(porter->loop, &ends, on_signal, porter, err) < 0 ||
	    rf_loop_timer(porter->loop, UINT64_MAX, on_pause_over, porter, &porter->timer, err) <
		    0 ||
	    start_gateway(porter, err) < 0)
		return err->code;
	return rf_door_open(&porter->door, porter->loop, listener, err);
}

int rf_porter_serve(int listener, const char *program, struct rf_err *err)
{
	struct porter porter = { .program = program, .gateway = -1, .pause = PAUSE_FIRST / 2 };
	int code;

	rf_door_init(&porter.door, &rules, &porter);
	rf_buf_init(&porter.in, RF_WIRE_PACKET);
	code = start(&porter, listener, err);
	if (code == 0)
		code = rf_loop_run(porter.loop, err);
	rf_door_done(&porter.door);
	rf_fd_done(&porter.gateway); /* it ends with us */
	rf_loop_free(porter.loop);
	rf_buf_done(&porter.in);
	return code;
}
