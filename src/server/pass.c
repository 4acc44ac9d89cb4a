/* What the server's two processes say to each other: see pass.h. */
#include "server/pass.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pack.h"

void rf_pass_put_rules(const struct rf_pass_rules *rules, struct rf_buf *out)
{
	rf_pack_strings(out, (const char *const *)rules->hosts);
	rf_pack_strings(out, (const char *const *)rules->origins);
	rf_pack_bool(out, rules->tells_spans);
}

int rf_pass_take_rules(const void *data, size_t len, struct rf_pass_rules *ret_rules,
		       struct rf_err *err)
{
	struct rf_pass_rules rules;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rules.hosts = rf_pack_read_strings(&in, RF_PASS_NAMES, RF_PASS_NAME);
	rules.origins = rf_pack_read_strings(&in, RF_PASS_NAMES, RF_PASS_NAME);
	rules.tells_spans = rf_pack_read_bool(&in);
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
	rf_pack_string(out, holder->ceiling);
}

int rf_pass_take_holder(const void *data, size_t len, struct rf_pass_holder *ret_holder,
			struct rf_err *err)
{
	struct rf_pass_holder holder = { 0 };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, holder.key, sizeof(holder.key));
	rf_pack_read_text(&in, holder.tenant, sizeof(holder.tenant));
	holder.scopes = rf_pack_read_below(&in, 8);
	holder.boxes = rf_pack_read_u32(&in);
	holder.rate = rf_pack_read_u32(&in);
	holder.ceiling = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES + 1);
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

void rf_pass_put_question(const struct rf_pass_question *question, struct rf_buf *out)
{
	rf_pack_u32(out, question->asked);
	rf_pack_string(out, question->key);
	rf_pack_string(out, question->name);
	rf_pack_string(out, question->hash ? question->hash : "");
	rf_pack_u32(out, question->status);
	rf_pack_string(out, question->text ? question->text : "");
}

int rf_pass_take_question(const void *data, size_t len, struct rf_pass_question *ret_question,
			  struct rf_err *err)
{
	struct rf_pass_question question;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	question.asked = (enum rf_pass_asked)rf_pack_read_below(&in, RF_PASS_ASKED);
	question.key = rf_pack_read_string(&in, RF_TERMS_NAME);
	question.name = rf_pack_read_string(&in, RF_PASS_NAME);
	question.hash = rf_pack_read_string(&in, 65);
	question.status = rf_pack_read_below(&in, 1000);
	question.text = rf_pack_read_string(&in, RF_PASS_TEXT + 1);
	if (!rf_pack_is_whole(&in) || !question.key[0] || !question.name[0])
		return rf_fail_say(err, -EBADMSG, "a question to the register is malformed");
	*ret_question = question;
	return 0;
}

void rf_pass_put_told(const struct rf_pass_told *told, struct rf_buf *out)
{
	rf_pack_u32(out, told->verdict);
	rf_pack_u32(out, told->status);
	rf_pack_string(out, told->text ? told->text : "");
}

int rf_pass_take_told(const void *data, size_t len, struct rf_pass_told *ret_told,
		      struct rf_err *err)
{
	struct rf_pass_told told;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	told.verdict = (enum rf_pass_verdict)rf_pack_read_below(&in, RF_PASS_VERDICTS);
	told.status = rf_pack_read_below(&in, 1000);
	told.text = rf_pack_read_string(&in, RF_PASS_TEXT + 1);
	if (!rf_pack_is_whole(&in))
		return rf_fail_say(err, -EBADMSG, "what the register says is malformed");
	*ret_told = told;
	return 0;
}
