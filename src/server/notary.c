/* Sees to it that a watcher stands: see notary.h. */
#include "server/notary.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "audit/teller.h"
#include "base/fd.h"
#include "server/household.h"
#include "wire/client.h"

#define MS       1000000ull
#define BEGIN_MS 15000 /* that a watcher has to stand, at the beginning */
#define END_MS   3000  /* that it has to end, when all ends are told */
#define LOOK_MS  20    /* how often it is looked whether it does */
#define SOON_MS  3000  /* a watcher that is lost within this time is not replaced at once, */
#define LATER_MS 1000  /* but after this */

struct rf_notary {
	const struct rf_landlord_options *options;
	struct rf_loop *loop;
	struct rf_teller teller; /* the connection to it; closed: none stands */
	int own;                 /* one that we started ends with this; or -1 */
	struct rf_event *event, *timer;
	uint64_t since_ns; /* when the last one was found */
	void (*on_back)(void *data);
	void *data;
};

/* ------------------------------------------------------------- finding and starting */

static void add_word(const char **argv, size_t *n, const char *name, const char *value)
{
	if (!value)
		return;
	argv[(*n)++] = name;
	argv[(*n)++] = value;
}

static int start(struct rf_notary *notary, struct rf_err *err)
{
	const struct rf_charter *charter = notary->options->charter;
	const char *argv[3 + 2 * (RF_CHARTER_ANCHORS + 3)] = { NULL };
	char path[4096];
	size_t n = 0;

	argv[n++] = path;
	argv[n++] = "--owned";
	for (char *const *anchor = charter ? charter->anchors : NULL; anchor && *anchor; anchor++)
		add_word(argv, &n, "--anchor", *anchor);
	add_word(argv, &n, "--keep", charter ? charter->keep : NULL);
	add_word(argv, &n, "--keep-days", charter ? charter->keep_days : NULL);
	add_word(argv, &n, "--hook", charter ? charter->hook : NULL);

	rf_fd_done(&notary->own);
	snprintf(path, sizeof(path), "%s/ringfort-watch", notary->options->folder);
	return rf_client_start(path, argv, "watcher", &notary->own, err);
}

static bool is_none(int code)
{
	return code == -ENOENT || code == -ECONNREFUSED;
}

static void on_line(void *data, int what);

/* 0: one stands, and its end will be heard of. */
static int find(struct rf_notary *notary, struct rf_err *err)
{
	*err = RF_ERR_INIT;
	if (rf_teller_try(&notary->teller, err) < 0)
		return err->code;
	notary->since_ns = rf_loop_now();
	return rf_loop_watch(notary->loop, notary->teller.fd, RF_LOOP_READ, on_line, notary,
			     &notary->event, err);
}

static void look_again(const struct rf_notary *notary, uint64_t ms)
{
	rf_event_again(notary->timer, rf_loop_now() + ms * MS);
}

/* None stands: one is started, and looked for until it does.  One that ends at once is started again all the same, later. */
static void on_time(void *data, int what)
{
	struct rf_notary *notary = data;
	struct rf_err err = RF_ERR_INIT;
	int code = find(notary, &err);

	(void)what;
	if (code == 0) {
		rf_household_say("a watcher stands again", "");
		notary->on_back(notary->data);
		return;
	}
	if (is_none(code) && rf_loop_now() >= notary->since_ns + LATER_MS * MS) {
		notary->since_ns = rf_loop_now();
		if (start(notary, &err) < 0)
			rf_household_say(err.msg, "");
	}
	look_again(notary, LOOK_MS);
}

static void lose(struct rf_notary *notary)
{
	bool was_soon = rf_loop_now() < notary->since_ns + SOON_MS * MS;

	rf_event_cancel(notary->event);
	notary->event = NULL;
	rf_fd_done(&notary->teller.fd);
	rf_household_say("the watcher has ended: nothing is begun until another stands", "");
	notary->since_ns = was_soon ? rf_loop_now() : 0;
	look_again(notary, 0);
}

/* Nothing comes but answers that nobody waits for; or its end. */
static void on_line(void *data, int what)
{
	struct rf_notary *notary = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(notary->teller.fd, RF_WIRE_WATCHER, &notary->teller.in, &message,
				  &err);

	(void)what;
	if (got > 0 || got == -EAGAIN)
		return;
	lose(notary);
}

/* ------------------------------------------------------------- the whole */

static int begin(struct rf_notary *notary, struct rf_err *err)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000L };
	uint64_t until = rf_loop_now() + BEGIN_MS * MS;
	int code = find(notary, err);

	if (is_none(code) && start(notary, err) < 0)
		return err->code;
	while (code < 0 && (is_none(code) || code == -ETIMEDOUT) && rf_loop_now() < until) {
		nanosleep(&pause, NULL);
		code = find(notary, err);
	}
	if (code == 0)
		return 0;
	rf_fail_in(err, "no watcher stands, and nothing is served that is not recorded");
	return rf_fail_hint(err, "`ringfort watch` says what is wrong with it");
}

/* What it answers comes behind answers that nobody waits for, and all of them here. */
int rf_notary_ask_figures(struct rf_notary *notary, struct rf_buf *out, struct rf_err *err)
{
	int code;

	if (!rf_teller_is_open(&notary->teller))
		return rf_fail_say(err, -EHOSTDOWN, "no watcher stands");
	rf_event_cancel(notary->event); /* a connection that fails is closed */
	notary->event = NULL;
	code = rf_teller_ask(&notary->teller, "metrics", sizeof("metrics"), out, err);
	if (!rf_teller_is_open(&notary->teller) ||
	    rf_loop_watch(notary->loop, notary->teller.fd, RF_LOOP_READ, on_line, notary,
			  &notary->event, err) < 0) {
		lose(notary);
		return -EHOSTDOWN;
	}
	return code;
}

int rf_notary_lend(const struct rf_notary *notary, int *ret_fd, struct rf_err *err)
{
	pid_t pid;

	if (!rf_teller_is_open(&notary->teller))
		return rf_fail_say(err, -EHOSTDOWN, "no watcher stands");
	return rf_client_connect_to(RF_TELLER_SOCKET, "watcher", RF_TELLER_WAIT, ret_fd, &pid, err);
}

int rf_notary_new(struct rf_loop *loop, const struct rf_landlord_options *options,
		  void (*on_back)(void *data), void *data, struct rf_notary **ret_notary,
		  struct rf_err *err)
{
	struct rf_notary *notary = calloc(1, sizeof(*notary));

	if (!notary)
		return rf_fail(err, -ENOMEM, "a notary");
	*notary = (struct rf_notary){
		.options = options, .loop = loop, .own = -1, .on_back = on_back, .data = data
	};
	rf_teller_init(&notary->teller);
	*ret_notary = notary;
	if (begin(notary, err) < 0)
		return err->code;
	return rf_loop_timer(loop, UINT64_MAX, on_time, notary, &notary->timer, err);
}

void rf_notary_note(struct rf_notary *notary, const struct rf_audit_event *event)
{
	struct rf_err ignored = RF_ERR_INIT;

	if (!rf_teller_is_open(&notary->teller) ||
	    rf_teller_add(&notary->teller, event, &ignored) < 0)
		return;
	rf_event_cancel(notary->event); /* a connection that fails is closed */
	notary->event = NULL;
	if (rf_teller_post(&notary->teller, &ignored) < 0 ||
	    rf_loop_watch(notary->loop, notary->teller.fd, RF_LOOP_READ, on_line, notary,
			  &notary->event, &ignored) < 0)
		lose(notary);
}

/* One that others tell something, too, stays until they are gone: that is not waited for. */
static void part(struct rf_notary *notary)
{
	struct pollfd wait = { .fd = notary->own, .events = POLLIN };

	if (notary->own < 0)
		return;
	shutdown(notary->own, SHUT_WR);
	poll(&wait, 1, END_MS);
	rf_fd_done(&notary->own);
}

void rf_notary_free(struct rf_notary *notary)
{
	if (!notary)
		return;
	rf_event_cancel(notary->event);
	rf_event_cancel(notary->timer);
	rf_teller_done(&notary->teller);
	part(notary);
	free(notary);
}
