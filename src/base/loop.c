/* One loop drives a process: see loop.h. */
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

struct rf_event {
	struct rf_loop *loop;
	struct rf_event *next;
	rf_event_fn *fn; /* NULL: cancelled, freed when the loop is between two rounds */
	void *data;
	int fd; /* -1 for a timer */
	int want;
	bool is_always_ready; /* a regular file: epoll refuses those */
	bool is_signals;
	uint64_t at_ns; /* of a timer; UINT64_MAX: not set */
};

struct rf_loop {
	struct rf_event *events; /* a few, so a list is enough */
	int epoll;
	int signals;
	bool is_stopped;
};

uint64_t rf_loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int rf_loop_new(struct rf_loop **ret_loop, struct rf_err *err)
{
	struct rf_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return rf_fail(err, -ENOMEM, "event loop");
	loop->signals = -1;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		free(loop);
		return rf_fail(err, -errno, "event loop");
	}
	*ret_loop = loop;
	return 0;
}

void rf_loop_free(struct rf_loop *loop)
{
	if (!loop)
		return;
	while (loop->events) {
		struct rf_event *event = loop->events;

		loop->events = event->next;
		free(event);
	}
	rf_fd_done(&loop->epoll);
	rf_fd_done(&loop->signals);
	free(loop);
}

static uint32_t to_epoll(int want)
{
	return (want & RF_LOOP_READ ? (uint32_t)EPOLLIN : 0) |
	       (want & RF_LOOP_WRITE ? (uint32_t)EPOLLOUT : 0);
}

static struct rf_event *add(struct rf_loop *loop, rf_event_fn *fn, void *data)
{
	struct rf_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	*event = (struct rf_event){
		.loop = loop,
		.next = loop->events,
		.fn = fn,
		.data = data,
		.fd = -1,
		.at_ns = UINT64_MAX,
	};
	loop->events = event;
	return event;
}

/* True for what epoll(7) can always wait for: pipes, sockets, and what has no file (signals, pidfds). */
static bool can_wait(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
	       (st.st_mode & S_IFMT) == 0;
}

int rf_loop_watch(struct rf_loop *loop, int fd, int want, rf_event_fn *fn, void *data,
		  struct rf_event **ret_event, struct rf_err *err)
{
	struct rf_event *event = add(loop, fn, data);
	struct epoll_event told = { .events = to_epoll(want), .data.ptr = event };

	if (!event)
		return rf_fail(err, -ENOMEM, "event loop");
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &told) < 0) {
		int code = errno;

		if (code != EPERM || can_wait(fd)) {
			event->fn = NULL;
			return rf_fail(err, -code, "watch a descriptor");
		}
		event->is_always_ready = true;
	}
	event->fd = fd;
	event->want = want;
	*ret_event = event;
	return 0;
}

void rf_event_want(struct rf_event *event, int want)
{
	struct epoll_event told = { .events = to_epoll(want), .data.ptr = event };

	if (!event || event->want == want)
		return;
	event->want = want;
	if (!event->is_always_ready)
		epoll_ctl(event->loop->epoll, EPOLL_CTL_MOD, event->fd, &told);
}

int rf_loop_timer(struct rf_loop *loop, uint64_t at_ns, rf_event_fn *fn, void *data,
		  struct rf_event **ret_event, struct rf_err *err)
{
	struct rf_event *event = add(loop, fn, data);

	if (!event)
		return rf_fail(err, -ENOMEM, "event loop");
	event->at_ns = at_ns;
	*ret_event = event;
	return 0;
}

void rf_event_again(struct rf_event *event, uint64_t at_ns)
{
	event->at_ns = at_ns;
}

int rf_loop_signals(struct rf_loop *loop, const sigset_t *set, rf_event_fn *fn, void *data,
		    struct rf_err *err)
{
	struct rf_event *event = NULL;

	loop->signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->signals < 0)
		return rf_fail(err, -errno, "receive signals");
	if (rf_loop_watch(loop, loop->signals, RF_LOOP_READ, fn, data, &event, err) < 0)
		return err->code;
	event->is_signals = true;
	return 0;
}

void rf_event_cancel(struct rf_event *event)
{
	if (!event)
		return;
	if (event->fd >= 0 && !event->is_always_ready)
		epoll_ctl(event->loop->epoll, EPOLL_CTL_DEL, event->fd, NULL);
	event->fn = NULL;
	event->fd = -1;
}

static void dispatch(struct rf_event *event, uint32_t told)
{
	struct signalfd_siginfo info;
	int what = 0;

	if (!event->fn)
		return;
	if (event->is_signals) {
		while (event->fn && read(event->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			event->fn(event->data, (int)info.ssi_signo);
		return;
	}
	if (told & EPOLLIN)
		what |= RF_LOOP_READ;
	if (told & EPOLLOUT)
		what |= RF_LOOP_WRITE;
	if (told & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		what |= RF_LOOP_HANGUP;
	event->fn(event->data, what);
}

/* Frees what was cancelled in the last round; nobody holds these any more. */
static void sweep(struct rf_loop *loop)
{
	for (struct rf_event **at = &loop->events; *at;) {
		struct rf_event *event = *at;

		if (event->fn) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		free(event);
	}
}

/* How long the kernel may sleep, in milliseconds: until the next timer, rounded up. */
static int until_next(const struct rf_loop *loop)
{
	uint64_t next = UINT64_MAX, now;

	for (const struct rf_event *event = loop->events; event; event = event->next) {
		if (event->fn && event->is_always_ready && event->want)
			return 0;
		if (event->fn && event->at_ns < next)
			next = event->at_ns;
	}
	if (next == UINT64_MAX)
		return -1;
	now = rf_loop_now();
	if (next <= now)
		return 0;
	return (next - now) / 1000000 >= INT32_MAX ? INT32_MAX
						   : (int)((next - now + 999999) / 1000000);
}

/* The timer that has been due for longest, or NULL. */
static struct rf_event *due(const struct rf_loop *loop, uint64_t now)
{
	struct rf_event *first = NULL;

	for (struct rf_event *event = loop->events; event; event = event->next)
		if (event->fn && event->at_ns <= now && (!first || event->at_ns < first->at_ns))
			first = event;
	return first;
}

static void dispatch_others(struct rf_loop *loop)
{
	uint64_t now = rf_loop_now();
	struct rf_event *timer;

	while ((timer = due(loop, now))) {
		timer->at_ns = UINT64_MAX;
		timer->fn(timer->data, 0);
	}
	for (struct rf_event *event = loop->events; event; event = event->next)
		if (event->fn && event->is_always_ready && event->want)
			event->fn(event->data, event->want);
}

int rf_loop_run(struct rf_loop *loop, struct rf_err *err)
{
	struct epoll_event told[16];

	loop->is_stopped = false;
	while (!loop->is_stopped) {
		int n = epoll_wait(loop->epoll, told, RF_LEN(told), until_next(loop));

		/* After a stop, too: what can be read by now comes before a time that has passed. */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rf_fail(err, -errno, "wait for events");
		for (int i = 0; i < n; i++)
			dispatch(told[i].data.ptr, told[i].events);
		dispatch_others(loop);
		sweep(loop);
	}
	return 0;
}

void rf_loop_stop(struct rf_loop *loop)
{
	loop->is_stopped = true;
}
