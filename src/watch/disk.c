/* Waits for the disk: see disk.h. */
#include "watch/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"

#define STACK (64 * 1024)

struct rf_disk {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	const char *const *anchors;
	/* Under the lock: */
	int fd; /* to be synced, or -1 */
	bool is_busy, is_syncing, has_line, is_ending;
	struct rf_anchor_line line;
	int sync_error, anchor_error;
};

/* Takes one piece of work and does it, without the lock. */
static void work(struct rf_disk *disk)
{
	RF_AUTO_FD int fd = rf_fd_take(&disk->fd);
	struct rf_anchor_line line = disk->line;
	bool has_line = disk->has_line;
	int sync = 0, anchor = 0;

	disk->has_line = false;
	disk->is_busy = true;
	disk->is_syncing = fd >= 0;
	pthread_mutex_unlock(&disk->lock);
	if (fd >= 0 && fdatasync(fd) < 0)
		sync = -errno;
	for (const char *const *where = disk->anchors; has_line && *where; where++) {
		int code = rf_anchor_tell(*where, &line);

		anchor = code < 0 ? code : anchor;
	}
	pthread_mutex_lock(&disk->lock);
	disk->is_busy = disk->is_syncing = false;
	disk->sync_error = sync < 0 ? sync : disk->sync_error;
	disk->anchor_error = anchor < 0 ? anchor : disk->anchor_error;
}

static void *run(void *data)
{
	struct rf_disk *disk = data;

	pthread_mutex_lock(&disk->lock);
	for (;;) {
		if (disk->fd >= 0 || disk->has_line)
			work(disk);
		else if (disk->is_ending)
			break;
		else
			pthread_cond_wait(&disk->wake, &disk->lock);
	}
	pthread_mutex_unlock(&disk->lock);
	return NULL;
}

int rf_disk_new(const char *const *anchors, struct rf_disk **ret_disk, struct rf_err *err)
{
	struct rf_disk *disk = calloc(1, sizeof(*disk));
	pthread_attr_t how;
	sigset_t all, before;
	int code;

	if (!disk)
		return rf_fail(err, -ENOMEM, "a thread for the disk");
	disk->anchors = anchors;
	disk->fd = -1;
	pthread_mutex_init(&disk->lock, NULL);
	pthread_cond_init(&disk->wake, NULL);
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the loop */
	code = pthread_create(&disk->thread, &how, run, disk);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	if (code != 0) {
		free(disk);
		return rf_fail(err, -code, "a thread for the disk");
	}
	*ret_disk = disk;
	return 0;
}

void rf_disk_free(struct rf_disk *disk)
{
	if (!disk)
		return;
	pthread_mutex_lock(&disk->lock);
	disk->is_ending = true;
	pthread_cond_signal(&disk->wake);
	pthread_mutex_unlock(&disk->lock);
	pthread_join(disk->thread, NULL);
	pthread_cond_destroy(&disk->wake);
	pthread_mutex_destroy(&disk->lock);
	free(disk);
}

bool rf_disk_sync(struct rf_disk *disk, int fd)
{
	bool is_taken;

	pthread_mutex_lock(&disk->lock);
	is_taken = !disk->is_busy && disk->fd < 0;
	if (is_taken) {
		disk->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		pthread_cond_signal(&disk->wake);
	}
	pthread_mutex_unlock(&disk->lock);
	return is_taken;
}

bool rf_disk_is_busy(struct rf_disk *disk)
{
	bool is_busy;

	pthread_mutex_lock(&disk->lock);
	is_busy = disk->is_syncing || disk->fd >= 0;
	pthread_mutex_unlock(&disk->lock);
	return is_busy;
}

void rf_disk_tell(struct rf_disk *disk, const struct rf_anchor_line *line)
{
	pthread_mutex_lock(&disk->lock);
	disk->line = *line;
	disk->has_line = true;
	pthread_cond_signal(&disk->wake);
	pthread_mutex_unlock(&disk->lock);
}

void rf_disk_errors(struct rf_disk *disk, int *ret_sync, int *ret_anchor)
{
	pthread_mutex_lock(&disk->lock);
	*ret_sync = disk->sync_error;
	*ret_anchor = disk->anchor_error;
	disk->sync_error = disk->anchor_error = 0;
	pthread_mutex_unlock(&disk->lock);
}
