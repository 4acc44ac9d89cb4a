/* Messages to a process that may have stopped reading: see outbox.h. */
#include "server/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/loop.h"

struct rf_outbox_letter {
	struct rf_outbox_letter *next;
	enum rf_wire_type type;
	uint64_t id;
	int fds[RF_WIRE_FDS];
	size_t fd_count;
	size_t len;
	char body[];
};

void rf_outbox_init(struct rf_outbox *box, int fd)
{
	*box = (struct rf_outbox){ .fd = fd };
	box->last = &box->first;
}

/* What it had may have been a key: nothing of it is left. */
static void free_letter(struct rf_outbox_letter *letter)
{
	for (size_t i = 0; i < letter->fd_count; i++)
		rf_fd_done(&letter->fds[i]);
	explicit_bzero(letter->body, letter->len);
	free(letter);
}

static void drop_first(struct rf_outbox *box)
{
	struct rf_outbox_letter *letter = box->first;

	box->first = letter->next;
	if (!box->first)
		box->last = &box->first;
	box->count--;
	box->bytes -= letter->len;
	free_letter(letter);
}

void rf_outbox_done(struct rf_outbox *box)
{
	while (box->first)
		drop_first(box);
	rf_outbox_init(box, -1);
}

static int keep(struct rf_outbox *box, enum rf_wire_type type, uint64_t id, const void *body,
		size_t len, const int *fds, size_t fd_count, struct rf_err *err)
{
	struct rf_outbox_letter *letter = NULL;

	if (box->count < RF_OUTBOX_MOST && len <= RF_OUTBOX_BYTES - box->bytes &&
	    fd_count <= RF_WIRE_FDS)
		letter = calloc(1, sizeof(*letter) + len);
	if (!letter) {
		box->is_full = true;
		return rf_fail_say(err, -ENOBUFS, "%s: it does not read what it was sent before",
				   rf_wire_name(type));
	}
	letter->type = type;
	letter->id = id;
	letter->len = len;
	if (len > 0)
		memcpy(letter->body, body, len);
	for (; letter->fd_count < fd_count; letter->fd_count++) {
		int copy = fcntl(fds[letter->fd_count], F_DUPFD_CLOEXEC, 0);

		if (copy < 0) {
			rf_fail(err, -errno, "keep a descriptor");
			free_letter(letter);
			return err->code;
		}
		letter->fds[letter->fd_count] = copy;
	}
	*box->last = letter;
	box->last = &letter->next;
	box->count++;
	box->bytes += len;
	return 0;
}

int rf_outbox_send(struct rf_outbox *box, enum rf_wire_type type, uint64_t id, const void *body,
		   size_t len, const int *fds, size_t fd_count, struct rf_err *err)
{
	int code = -EAGAIN;

	if (box->fd < 0)
		return rf_fail_say(err, -ENOTCONN, "%s: nobody is there", rf_wire_name(type));
	if (!box->first)
		code = rf_wire_send(box->fd, type, id, body, len, fds, fd_count, err);
	if (code != -EAGAIN)
		return code;
	*err = (struct rf_err)RF_ERR_INIT;
	if (!box->first)
		box->stuck_ns = rf_loop_now();
	return keep(box, type, id, body, len, fds, fd_count, err);
}

/* One that can't be sent at all is gone with who should have it, whose end is heard of elsewhere. */
bool rf_outbox_flush(struct rf_outbox *box)
{
	while (box->first) {
		const struct rf_outbox_letter *at = box->first;
		struct rf_err err = RF_ERR_INIT;

		if (rf_wire_send(box->fd, at->type, at->id, at->body, at->len, at->fds,
				 at->fd_count, &err) == -EAGAIN)
			return false;
		box->stuck_ns = rf_loop_now();
		drop_first(box);
	}
	box->stuck_ns = 0;
	return true;
}
