/* Figures in Prometheus's text, whatever is in it: what they come to is one whole JSON. */
#include <stdlib.h>

#include "base/jsonread.h"
#include "replay.h"
#include "server/otlp.h"

RF_FUZZ(data, size)
{
	struct rf_jsonread *json = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 8u << 20);
	if (size > 4096)
		return 0;
	rf_otlp_put_figures((const char *)data, size, 1, &out);
	if (out.has_failed || rf_jsonread_parse(out.data, out.len, &json, &err) < 0)
		abort();
	rf_jsonread_free(json);
	return 0;
}
