/* Asks the user's watcher something: see ask.h. */
#include "cli/ask.h"

#include <errno.h>
#include <string.h>

#include "audit/teller.h"

int rf_ask_watcher(const char *const *words, const char *without, struct rf_buf *out,
		   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf line;
	struct rf_teller teller;
	int code;

	rf_buf_init(&line, RF_ASK_MOST);
	for (; *words; words++)
		rf_buf_add(&line, *words, strlen(*words) + 1);
	if (line.has_failed)
		return rf_fail(err, -E2BIG, "ask the watcher");
	rf_teller_init(&teller);
	code = rf_teller_open(&teller, err);
	if (code == -ENOENT || code == -ECONNREFUSED) {
		rf_fail_say(err, code, "no watcher stands, and without one %s", without);
		rf_fail_hint(err, "start one: ringfort watch &");
	} else if (code == 0) {
		code = rf_teller_ask(&teller, line.data, line.len, out, err);
	}
	rf_teller_done(&teller);
	return code;
}
