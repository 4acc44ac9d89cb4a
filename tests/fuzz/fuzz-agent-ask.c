/* What is asked of the clerk about agents: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/agent-ask.h"

static void require_same(struct rf_buf *again, const uint8_t *data, size_t size)
{
	if (again->len != size || memcmp(again->data, data, size) != 0)
		abort();
	rf_buf_clear(again);
}

RF_FUZZ(data, size)
{
	struct rf_agent_ask_new new;
	struct rf_agent_ask_page page;
	struct rf_agent_ask_end end;
	struct rf_agent_ask_use use;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 16 << 20);
	if (rf_agent_ask_take_new(data, size, &new, &err) == 0) {
		rf_agent_ask_put_new(&new, &again);
		require_same(&again, data, size);
		free(new.labels);
	}
	if (rf_agent_ask_take_page(data, size, &page, &err) == 0) {
		rf_agent_ask_put_page(&page, &again);
		require_same(&again, data, size);
	}
	if (rf_agent_ask_take_end(data, size, &end, &err) == 0) {
		rf_agent_ask_put_end(&end, &again);
		require_same(&again, data, size);
	}
	if (rf_agent_ask_take_use(data, size, &use, &err) == 0) {
		rf_agent_ask_put_use(&use, &again);
		require_same(&again, data, size);
	}
	return 0;
}
