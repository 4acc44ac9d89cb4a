/*
 * A uid on the host for each box of root's.
 *
 * Two boxes with one uid could signal and trace each other's processes and read each other's files
 * wherever another wall fails, so root's boxes share none.  The uids come from a range that no
 * distribution hands out; one in passwd or subuid is passed over.  A uid is held by a lock on one
 * byte of one file: the kernel drops it with its holder, so nothing has to be cleaned up, and a
 * launcher that was killed frees its uid by dying.
 */
#include "jail/uid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/record.h"

/* True if a line of "name:x:START[:COUNT]" style claims `uid`; `column` is where START stands. */
static bool is_claimed(const char *file, int column, bool has_count, unsigned uid)
{
	char text[65536];

	if (rf_fd_read_text(AT_FDCWD, file, text, sizeof(text)) < 0)
		return false;
	for (char *line = text, *next; line && *line; line = next) {
		char *at = line;
		unsigned long start, count = 1;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		for (int i = 0; at && i < column; i++) {
			at = strchr(at, ':');
			at = at ? at + 1 : NULL;
		}
		if (!at)
			continue;
		start = strtoul(at, &at, 10);
		if (has_count && *at == ':')
			count = strtoul(at + 1, NULL, 10);
		if (uid >= start && uid - start < count)
			return true;
	}
	return false;
}

static bool lock_byte(int file, unsigned at)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

int rf_uid_take(struct rf_box *box, struct rf_err *err)
{
	unsigned at = 0;

	box->host_uid = geteuid();
	box->host_gid = getegid();
	if (!box->is_root)
		return 0;

	box->uid_lock = rf_record_open_uids(err);
	if (box->uid_lock < 0)
		return err->code;
	/* A random start keeps a uid from being used twice in a row. */
	if (getrandom(&at, sizeof(at), GRND_NONBLOCK) != (ssize_t)sizeof(at))
		at = (unsigned)getpid() * 2654435761u;
	for (unsigned tries = 0; tries < RF_UID_COUNT; tries++, at++) {
		unsigned uid = RF_UID_FIRST + at % RF_UID_COUNT;

		if (!lock_byte(box->uid_lock, at % RF_UID_COUNT))
			continue;
		if (is_claimed("/etc/passwd", 2, false, uid) ||
		    is_claimed("/etc/subuid", 1, true, uid))
			continue;
		box->host_uid = uid;
		box->host_gid = uid;
		return 0;
	}
	rf_fail_say(err, -EAGAIN, "all %u uids for boxes are in use", RF_UID_COUNT);
	return rf_fail_hint(err, "end some of the boxes first");
}
