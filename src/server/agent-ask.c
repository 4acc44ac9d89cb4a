/* What is asked of the clerk about agents: see agent-ask.h. */
#include "server/agent-ask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pack.h"

#define LABEL (2 * RF_TENANCY_LABEL) /* "NAME=VALUE", with a NUL */

static int end(const struct rf_pack_reader *in, struct rf_err *err)
{
	return rf_pack_is_whole(in) ? 0 : rf_fail_say(err, -EBADMSG, "a question about agents");
}

void rf_agent_ask_put_new(const struct rf_agent_ask_new *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->name);
	rf_pack_string(out, ask->about);
	rf_pack_string(out, ask->workspace);
	rf_pack_strings(out, (const char *const *)ask->labels);
	rf_pack_string(out, ask->policy);
}

int rf_agent_ask_take_new(const void *data, size_t len, struct rf_agent_ask_new *ret_ask,
			  struct rf_err *err)
{
	struct rf_agent_ask_new ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	ask.name = rf_pack_read_string(&in, RF_TENANCY_NAME);
	ask.about = rf_pack_read_string(&in, RF_TENANT_AGENT_ABOUT);
	ask.workspace = rf_pack_read_string(&in, RF_TENANCY_NAME);
	ask.labels = rf_pack_read_strings(&in, RF_TENANT_AGENT_LABELS, LABEL);
	ask.policy = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES);
	if (end(&in, err) < 0) {
		free(ask.labels);
		return err->code;
	}
	*ret_ask = ask;
	return 0;
}

void rf_agent_ask_put_page(const struct rf_agent_ask_page *ask, struct rf_buf *out)
{
	rf_pack_u32(out, ask->limit);
	rf_pack_string(out, ask->cursor);
	rf_pack_string(out, ask->label);
	rf_pack_string(out, ask->value);
}

int rf_agent_ask_take_page(const void *data, size_t len, struct rf_agent_ask_page *ret_ask,
			   struct rf_err *err)
{
	struct rf_agent_ask_page ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	ask.limit = rf_pack_read_u32(&in);
	ask.cursor = rf_pack_read_string(&in, RF_TENANCY_NAME);
	ask.label = rf_pack_read_string(&in, RF_TENANCY_LABEL);
	ask.value = rf_pack_read_string(&in, RF_TENANCY_LABEL);
	if (end(&in, err) < 0)
		return err->code;
	*ret_ask = ask;
	return 0;
}

void rf_agent_ask_put_end(const struct rf_agent_ask_end *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->name);
	rf_pack_bool(out, ask->keeps_workspace);
}

int rf_agent_ask_take_end(const void *data, size_t len, struct rf_agent_ask_end *ret_ask,
			  struct rf_err *err)
{
	struct rf_agent_ask_end ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	ask.name = rf_pack_read_string(&in, RF_TENANCY_NAME);
	ask.keeps_workspace = rf_pack_read_bool(&in);
	if (end(&in, err) < 0)
		return err->code;
	*ret_ask = ask;
	return 0;
}

void rf_agent_ask_put_use(const struct rf_agent_ask_use *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->name);
	rf_pack_string(out, ask->policy);
	rf_pack_string(out, ask->agent);
}

int rf_agent_ask_take_use(const void *data, size_t len, struct rf_agent_ask_use *ret_ask,
			  struct rf_err *err)
{
	struct rf_agent_ask_use ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	ask.name = rf_pack_read_string(&in, RF_TENANCY_NAME);
	ask.policy = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES);
	ask.agent = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES);
	if (end(&in, err) < 0)
		return err->code;
	*ret_ask = ask;
	return 0;
}
