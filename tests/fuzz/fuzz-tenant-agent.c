/* The file of a tenant's agent: refused, or written to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/tenant-agent.h"

RF_FUZZ(data, size)
{
	struct rf_tenant_agent agent;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, RF_TENANT_AGENT_BYTES);
	if (rf_tenant_agent_parse((const char *)data, size, &agent, &err) < 0)
		return 0;
	rf_tenant_agent_format(&agent, &again);
	if (again.len != size || memcmp(again.data, data, size) != 0)
		abort();
	rf_tenant_agent_done(&agent);
	return 0;
}
