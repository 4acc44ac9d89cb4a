/* The clerk's line to the watcher: see clerk-watcher.h. */
#include "server/clerk-watcher.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "audit/teller.h"
#include "base/fd.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rf_teller teller = { .fd = -1 };

void rf_clerk_watcher_take(int *fd)
{
	pthread_mutex_lock(&lock);
	rf_teller_done(&teller);
	rf_teller_init(&teller);
	teller.fd = rf_fd_take(fd);
	pthread_mutex_unlock(&lock);
}

int rf_clerk_watcher_ask(const char *const *words, size_t count, struct rf_buf *out,
			 struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf line;
	struct rf_err why = RF_ERR_INIT;
	int code;

	rf_buf_init(&line, 4096);
	for (size_t i = 0; i < count; i++)
		rf_buf_add(&line, words[i], strlen(words[i]) + 1);
	if (line.has_failed)
		return rf_fail(err, -E2BIG, "ask the watcher");
	pthread_mutex_lock(&lock);
	code = rf_teller_ask(&teller, line.data, line.len, out, &why);
	if (code < 0 && !rf_teller_is_open(&teller))
		code = -EHOSTDOWN;
	pthread_mutex_unlock(&lock);
	if (code == 0)
		return 0;
	rf_fail_say(err, code, "%s", why.msg);
	return rf_fail_hint(err, "%s", why.hint[0] ? why.hint : "try again in a moment");
}
