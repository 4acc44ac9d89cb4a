/* What the herald is told, by a front that was talked into anything, too: what is read is within its bounds, and a span is written again as it was. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/herald-word.h"

RF_FUZZ(data, size)
{
	struct rf_herald_rules rules;
	struct rf_herald_span span;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	if (rf_herald_word_take_span(data, size, &span, &err) == 0) {
		rf_herald_word_put_span(&span, &out);
		if (out.has_failed || out.len != size || memcmp(out.data, data, size) != 0)
			abort();
	}
	if (rf_herald_word_take_rules(data, size, &rules, &err) == 0)
		for (size_t i = 0; i < rules.count; i++)
			if (!rules.targets[i].url || !rules.targets[i].secret ||
			    !rules.targets[i].roots || rules.targets[i].tries > 20)
				abort();
	return 0;
}
