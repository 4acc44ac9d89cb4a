/* What a server's two processes say to each other: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/pass.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_pass_holder holder;
	struct rf_pass_rules rules;
	struct rf_pass_tls tls;
	struct rf_pass_question question;
	struct rf_pass_told told;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 1 << 22);
	if (rf_pass_take_holder(data, size, &holder, &err) == 0) {
		rf_pass_put_holder(&holder, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
	}
	rf_buf_clear(&again);
	if (rf_pass_take_rules(data, size, &rules, &err) == 0) {
		rf_pass_put_rules(&rules, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		rf_pass_rules_done(&rules);
	}
	rf_buf_clear(&again);
	if (rf_pass_take_tls(data, size, &tls, &err) == 0) {
		rf_pass_put_tls(&tls, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
	}
	rf_buf_clear(&again);
	if (rf_pass_take_question(data, size, &question, &err) == 0) {
		require(question.key[0] && question.name[0]);
		rf_pass_put_question(&question, &again);
		require(again.has_failed ||
			(again.len == size && memcmp(again.data, data, size) == 0));
	}
	rf_buf_clear(&again);
	if (rf_pass_take_told(data, size, &told, &err) == 0) {
		rf_pass_put_told(&told, &again);
		require(again.has_failed ||
			(again.len == size && memcmp(again.data, data, size) == 0));
	}
	return 0;
}
