/* What the server's two processes say to each other: see pass.h. */
#include "server/pass.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pack.h"

void rf_pass_put_rules(const struct rf_pass_rules *rules, struct rf_buf *out)
{
	rf_pack_strings(out, (const char *const *)rules->hosts);
	rf_pack_strings(out, (const char *const *)rules->origins);
}

int rf_pass_take_rules(const void *data, size_t len, struct rf_pass_rules *ret_rules,
		       struct rf_err *err)
{
	struct rf_pass_rules rules;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rules.hosts = rf_pack_read_strings(&in, RF_PASS_NAMES, RF_PASS_NAME);
	rules.origins = rf_pack_read_strings(&in, RF_PASS_NAMES, RF_PASS_NAME);
	if (!rf_pack_is_whole(&in)) {
		rf_pass_rules_done(&rules);
		return rf_fail_say(err, -EBADMSG, "the rules of serving are malformed");
	}
	*ret_rules = rules;
	return 0;
}

void rf_pass_rules_done(struct rf_pass_rules *rules)
{
	free((void *)rules->hosts);
	free((void *)rules->origins);
	*rules = (struct rf_pass_rules){ 0 };
}

void rf_pass_put_holder(const struct rf_pass_holder *holder, struct rf_buf *out)
{
	rf_pack_string(out, holder->key);
	rf_pack_string(out, holder->tenant);
	rf_pack_u32(out, holder->scopes);
	rf_pack_u32(out, holder->boxes);
	rf_pack_u32(out, holder->rate);
}

int rf_pass_take_holder(const void *data, size_t len, struct rf_pass_holder *ret_holder,
			struct rf_err *err)
{
	struct rf_pass_holder holder;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, holder.key, sizeof(holder.key));
	rf_pack_read_text(&in, holder.tenant, sizeof(holder.tenant));
	holder.scopes = rf_pack_read_below(&in, 8);
	holder.boxes = rf_pack_read_u32(&in);
	holder.rate = rf_pack_read_u32(&in);
	if (!rf_pack_is_whole(&in) || !holder.key[0] || !holder.tenant[0] || !holder.scopes)
		return rf_fail_say(err, -EBADMSG, "the holder of a key is malformed");
	*ret_holder = holder;
	return 0;
}

void rf_pass_put_tls(const struct rf_pass_tls *tls, struct rf_buf *out)
{
	rf_pack_string(out, tls->certificate);
	rf_pack_string(out, tls->key);
	rf_pack_string(out, tls->clients);
}

int rf_pass_take_tls(const void *data, size_t len, struct rf_pass_tls *ret_tls, struct rf_err *err)
{
	struct rf_pass_tls tls;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	tls.certificate = rf_pack_read_string(&in, RF_PASS_PEM + 1);
	tls.key = rf_pack_read_string(&in, RF_PASS_PEM + 1);
	tls.clients = rf_pack_read_maybe(&in, RF_PASS_PEM + 1);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "who the ports are is malformed");
	*ret_tls = tls;
	return 0;
}
