/* One loop drives a process: see loop.h. */
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

struct rf_event {
	struct rf_loop *loop;
	struct rf_event *next, *before; /* of all */
	struct rf_event *next_ready;    /* of those that are always ready */
	struct rf_event *next_dead;     /* of those that were cancelled */
	rf_event_fn *fn; /* NULL: cancelled, freed when the loop is between two rounds */
	void *data;
	int fd;         /* -1 for a timer */
	int want, told; /* what is wanted, and what the kernel was told: that and perhaps more */
	bool is_always_ready; /* a regular file: epoll refuses those */
	bool is_signals, is_timer;
	uint64_t at_ns; /* of a timer; UINT64_MAX: not set */
	size_t place;   /* of a timer that is set: among all that are */
};

/* No round looks at an event that has nothing to tell: there may be thousands that wait. */
struct rf_loop {
	struct rf_event *events; /* all */
	struct rf_event *ready;  /* those that are always ready: a few */
	struct rf_event *dead;
	struct rf_event *
		*timers;        /* that are set, as a heap: none is later than the two behind it */
	size_t set, made, room; /* timers that are set, that there are, that there is room for */
	uint64_t round_ns;      /* when this round looked at them: these are due */
	int epoll;
	int signals;
	int clock;         /* wakes us for timers (rf_loop_keep_clock()); or -1 */
	uint64_t clock_ns; /* what it was last set to */
	bool is_stopped;
};

uint64_t rf_loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 0: no loop runs.  Found without a call to the dynamic linker, on which the library does not depend. */
static _Thread_local uint64_t turn_ns __attribute__((tls_model("initial-exec")));

uint64_t rf_loop_turn(void)
{
	return turn_ns ? turn_ns : rf_loop_now();
}

int rf_loop_new(struct rf_loop **ret_loop, struct rf_err *err)
{
	struct rf_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return rf_fail(err, -ENOMEM, "event loop");
	loop->signals = loop->clock = -1;
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
	free(loop->timers);
	rf_fd_done(&loop->epoll);
	rf_fd_done(&loop->signals);
	rf_fd_done(&loop->clock);
	free(loop);
}

/* Told at each of its times once (EPOLLET), so that it is never read. */
int rf_loop_keep_clock(struct rf_loop *loop, struct rf_err *err)
{
	struct epoll_event told = { .events = EPOLLIN | EPOLLET, .data.ptr = NULL };

	loop->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->clock < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->clock, &told) < 0) {
		rf_fail(err, -errno, "a clock");
		rf_fd_done(&loop->clock);
		return err->code;
	}
	return 0;
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
	if (loop->events)
		loop->events->before = event;
	loop->events = event;
	return event;
}

/* ------------------------------------------------------------- timers */

static void put(struct rf_loop *loop, size_t place, struct rf_event *timer)
{
	loop->timers[place] = timer;
	timer->place = place;
}

/* Moves a timer to where it belongs, towards the first or towards the last. */
static void settle(struct rf_loop *loop, struct rf_event *timer)
{
	size_t at = timer->place, next;

	for (; at > 0 && timer->at_ns < loop->timers[(at - 1) / 2]->at_ns; at = (at - 1) / 2)
		put(loop, at, loop->timers[(at - 1) / 2]);
	while ((next = 2 * at + 1) < loop->set) {
		if (next + 1 < loop->set &&
		    loop->timers[next + 1]->at_ns < loop->timers[next]->at_ns)
			next++;
		if (loop->timers[next]->at_ns >= timer->at_ns)
			break;
		put(loop, at, loop->timers[next]);
		at = next;
	}
	put(loop, at, timer);
}

/*
 * There is room for all timers: setting one never fails.  One that is set to what has passed is due in the next round: in
 * this one, a timer that is always late would be all that there is.
 */
static void set_timer(struct rf_event *timer, uint64_t at_ns)
{
	struct rf_loop *loop = timer->loop;
	bool was_set = timer->at_ns != UINT64_MAX;
	struct rf_event *last;

	if (at_ns <= loop->round_ns)
		at_ns = loop->round_ns + 1;
	timer->at_ns = at_ns;
	if (!was_set && at_ns == UINT64_MAX)
		return;
	if (!was_set)
		put(loop, loop->set++, timer);
	if (at_ns != UINT64_MAX) {
		settle(loop, timer);
		return;
	}
	last = loop->timers[--loop->set];
	if (last != timer) {
		put(loop, timer->place, last);
		settle(loop, last);
	}
}

static bool make_room(struct rf_loop *loop)
{
	size_t room = loop->room ? 2 * loop->room : 16;
	struct rf_event **timers;

	if (loop->made < loop->room)
		return true;
	timers = reallocarray(loop->timers, room, sizeof(struct rf_event *));
	if (!timers)
		return false;
	loop->timers = timers;
	loop->room = room;
	return true;
}

/* ------------------------------------------------------------- events */

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
			rf_event_cancel(event);
			return rf_fail(err, -code, "watch a descriptor");
		}
		event->is_always_ready = true;
		event->next_ready = loop->ready;
		loop->ready = event;
	}
	event->fd = fd;
	event->want = event->told = want;
	*ret_event = event;
	return 0;
}

/* Tells the kernel what is wanted. */
static void tell(struct rf_event *event)
{
	struct epoll_event told = { .events = to_epoll(event->want), .data.ptr = event };

	event->told = event->want;
	epoll_ctl(event->loop->epoll, EPOLL_CTL_MOD, event->fd, &told);
}

/*
 * What is no longer wanted is told only when it happens: who pauses a connection while an answer is under way wants it again
 * before anything came, nearly always, and neither costs a call then.
 */
void rf_event_want(struct rf_event *event, int want)
{
	if (!event || event->want == want)
		return;
	event->want = want;
	if (!event->is_always_ready && want & ~event->told)
		tell(event);
}

int rf_loop_timer(struct rf_loop *loop, uint64_t at_ns, rf_event_fn *fn, void *data,
		  struct rf_event **ret_event, struct rf_err *err)
{
	struct rf_event *event = make_room(loop) ? add(loop, fn, data) : NULL;

	if (!event)
		return rf_fail(err, -ENOMEM, "event loop");
	event->is_timer = true;
	loop->made++;
	set_timer(event, at_ns);
	*ret_event = event;
	return 0;
}

void rf_event_again(struct rf_event *event, uint64_t at_ns)
{
	set_timer(event, at_ns);
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
	struct rf_loop *loop;

	if (!event || !event->fn)
		return;
	loop = event->loop;
	if (event->fd >= 0 && !event->is_always_ready)
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, event->fd, NULL);
	if (event->is_timer)
		set_timer(event, UINT64_MAX);
	event->fn = NULL;
	event->fd = -1;
	event->next_dead = loop->dead;
	loop->dead = event;
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
	if (what & ~event->want) {
		what &= event->want;
		tell(event);
	}
	if (told & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		what |= RF_LOOP_HANGUP;
	if (what)
		event->fn(event->data, what);
}

static void forget_ready(struct rf_loop *loop, const struct rf_event *event)
{
	struct rf_event **at = &loop->ready;

	while (*at && *at != event)
		at = &(*at)->next_ready;
	if (*at)
		*at = event->next_ready;
}

/* Frees what was cancelled in the last round; nobody holds these any more. */
static void sweep(struct rf_loop *loop)
{
	while (loop->dead) {
		struct rf_event *event = loop->dead;

		loop->dead = event->next_dead;
		*(event->before ? &event->before->next : &loop->events) = event->next;
		if (event->next)
			event->next->before = event->before;
		if (event->is_always_ready)
			forget_ready(loop, event);
		loop->made -= event->is_timer;
		free(event);
	}
}

/* True if the clock wakes us at that time, or before: then it is set anew. */
static bool set_clock(struct rf_loop *loop, uint64_t at_ns, uint64_t now_ns)
{
	const struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ns / 1000000000u),
						     .tv_nsec = (long)(at_ns % 1000000000u) } };

	if (loop->clock < 0)
		return false;
	if (loop->clock_ns > now_ns && loop->clock_ns <= at_ns)
		return true;
	if (timerfd_settime(loop->clock, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		return false;
	loop->clock_ns = at_ns;
	return true;
}

/* How long the kernel may sleep, in milliseconds: until the next timer, rounded up; or until the clock tells. */
static int until_next(struct rf_loop *loop)
{
	uint64_t next, now;

	for (const struct rf_event *event = loop->ready; event; event = event->next_ready)
		if (event->fn && event->want)
			return 0;
	if (loop->set == 0)
		return -1;
	next = loop->timers[0]->at_ns;
	now = rf_loop_now();
	if (next <= now)
		return 0;
	if (set_clock(loop, next, now))
		return -1;
	return (next - now) / 1000000 >= INT32_MAX ? INT32_MAX
						   : (int)((next - now + 999999) / 1000000);
}

static void dispatch_others(struct rf_loop *loop)
{
	loop->round_ns = turn_ns = rf_loop_now();
	while (loop->set > 0 && loop->timers[0]->at_ns <= loop->round_ns) {
		struct rf_event *timer = loop->timers[0];

		set_timer(timer, UINT64_MAX);
		timer->fn(timer->data, 0);
	}
	for (struct rf_event *event = loop->ready; event; event = event->next_ready)
		if (event->fn && event->want)
			event->fn(event->data, event->want);
}

int rf_loop_run(struct rf_loop *loop, struct rf_err *err)
{
	struct epoll_event told[64];

	loop->is_stopped = false;
	while (!loop->is_stopped) {
		int n = epoll_wait(loop->epoll, told, RF_LEN(told), until_next(loop));

		/* After a stop, too: what can be read by now comes before a time that has passed. */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			turn_ns = 0;
			return rf_fail(err, -errno, "wait for events");
		}
		turn_ns = rf_loop_now();
		for (int i = 0; i < n; i++)
			if (told[i].data.ptr) /* else it is the clock, and timers come below */
				dispatch(told[i].data.ptr, told[i].events);
		dispatch_others(loop);
		sweep(loop);
	}
	turn_ns = 0;
	return 0;
}

void rf_loop_stop(struct rf_loop *loop)
{
	loop->is_stopped = true;
}
