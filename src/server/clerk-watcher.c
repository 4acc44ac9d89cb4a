/* The clerk's line to the watcher: see clerk-watcher.h. */
#include "server/clerk-watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "audit/teller.h"
#include "base/fd.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rf_teller teller = { .fd = -1 }; /* initialised when the first is brought */

void rf_clerk_watcher_take(int *fd)
{
	pthread_mutex_lock(&lock);
	rf_teller_done(&teller);
	rf_teller_init(&teller);
	teller.fd = rf_fd_take(fd);
	pthread_mutex_unlock(&lock);
}

/*
 * A watcher that was late once is one still, and nobody would bring another line to it: it is kept.  What it answers then carries the id of a
 * question that is over, and is passed over (audit/teller.c).
 */
static int settle(int code, int *spare)
{
	if (code == -ETIMEDOUT && !rf_teller_is_open(&teller))
		teller.fd = rf_fd_take(spare);
	rf_fd_done(spare);
	return code < 0 && (code == -ETIMEDOUT || !rf_teller_is_open(&teller)) ? -EHOSTDOWN : code;
}

static int spare_line(void)
{
	return teller.fd < 0 ? -1 : fcntl(teller.fd, F_DUPFD_CLOEXEC, 3);
}

static int fail_with(struct rf_err *err, int code, const struct rf_err *why)
{
	rf_fail_say(err, code, "%s", why->msg);
	return rf_fail_hint(err, "%s", why->hint[0] ? why->hint : "try again in a moment");
}

int rf_clerk_watcher_tell(const struct rf_audit_event *event, bool *ret_is_said, struct rf_err *err)
{
	struct rf_err why = RF_ERR_INIT;
	int code, spare;
	bool is_cut;

	pthread_mutex_lock(&lock);
	spare = spare_line();
	is_cut = rf_teller_is_cut(&teller);
	code = rf_teller_add(&teller, event, &why);
	if (code == 0)
		code = rf_teller_post(&teller, &why);
	*ret_is_said = code == 0 && !is_cut;
	if (code == 0)
		code = rf_teller_wait(&teller, NULL, &why);
	code = settle(code, &spare);
	*ret_is_said = *ret_is_said && code == -EHOSTDOWN; /* else it was answered */
	pthread_mutex_unlock(&lock);
	return code < 0 ? fail_with(err, code, &why) : 0;
}

int rf_clerk_watcher_ask(const char *const *words, size_t count, struct rf_buf *out,
			 struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf line;
	struct rf_err why = RF_ERR_INIT;
	int code, spare;

	rf_buf_init(&line, 4096);
	for (size_t i = 0; i < count; i++)
		rf_buf_add(&line, words[i], strlen(words[i]) + 1);
	if (line.has_failed)
		return rf_fail(err, -E2BIG, "ask the watcher");
	pthread_mutex_lock(&lock);
	spare = spare_line();
	code = settle(rf_teller_ask(&teller, line.data, line.len, out, &why), &spare);
	pthread_mutex_unlock(&lock);
	return code < 0 ? fail_with(err, code, &why) : 0;
}
