/* What a client sends, on its way into a program: see inlet.h. */
#include "server/inlet.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"

#define MOST                                                                                       \
	(1024 * 1024) /* that a client may have sent ahead: one read, or a body's first piece */

static void close_pipe(struct rf_inlet *inlet)
{
	rf_event_cancel(inlet->event);
	inlet->event = NULL;
	if (inlet->fd >= 0)
		close(inlet->fd);
	inlet->fd = -1;
	rf_buf_done(&inlet->waiting);
	inlet->at = 0;
}

/* How many bytes were written; all of them where nobody reads. */
static size_t write_some(struct rf_inlet *inlet, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len && !inlet->is_broken) {
		ssize_t n = write(inlet->fd, bytes + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return done;
		inlet->is_broken = n < 0;
		done += n > 0 ? (size_t)n : 0;
	}
	return len;
}

static void on_pipe(void *data, int what)
{
	struct rf_inlet *inlet = data;

	if (what & RF_LOOP_HANGUP)
		inlet->is_broken = true;
	inlet->at +=
		write_some(inlet, inlet->waiting.data + inlet->at, inlet->waiting.len - inlet->at);
	if (inlet->at < inlet->waiting.len)
		return;
	rf_buf_done(&inlet->waiting);
	rf_buf_init(&inlet->waiting, MOST);
	inlet->at = 0;
	if (inlet->is_broken) { /* it would be told for ever */
		rf_event_cancel(inlet->event);
		inlet->event = NULL;
	} else {
		rf_event_want(inlet->event, 0);
	}
	if (inlet->is_last)
		close_pipe(inlet);
	else
		inlet->on_room(inlet->data);
}

int rf_inlet_init(struct rf_inlet *inlet, struct rf_loop *loop, int *fd,
		  void (*on_room)(void *data), void *data, struct rf_err *err)
{
	*inlet = (struct rf_inlet){ .fd = rf_fd_take(fd), .on_room = on_room, .data = data };
	rf_buf_init(&inlet->waiting, MOST);
	if (inlet->fd < 0)
		return rf_fail_say(err, -EBADF, "the program takes no input");
	return rf_loop_watch(loop, inlet->fd, 0, on_pipe, inlet, &inlet->event, err);
}

void rf_inlet_done(struct rf_inlet *inlet)
{
	if (inlet->on_room)
		close_pipe(inlet);
	*inlet = (struct rf_inlet){ .fd = -1 };
}

bool rf_inlet_put(struct rf_inlet *inlet, struct rf_span bytes)
{
	size_t done = 0;

	if (inlet->fd < 0 || inlet->is_broken)
		return true;
	if (inlet->waiting.len == 0)
		done = write_some(inlet, bytes.at, bytes.len);
	if (done == bytes.len)
		return true;
	rf_buf_add(&inlet->waiting, bytes.at + done, bytes.len - done);
	if (inlet->waiting.has_failed || !inlet->event) { /* a hole in it is worse than its end */
		inlet->is_broken = true;
		return true;
	}
	rf_event_want(inlet->event, RF_LOOP_WRITE);
	return false;
}

void rf_inlet_end(struct rf_inlet *inlet)
{
	inlet->is_last = true;
	if (inlet->waiting.len == 0 || inlet->is_broken)
		close_pipe(inlet);
}
