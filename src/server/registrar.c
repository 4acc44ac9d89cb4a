/* Who keeps the register: see registrar.h. */
#include "server/registrar.h"

#include <stdlib.h>
#include <string.h>

#include "server/concierge.h"
#include "server/pass.h"
#include "server/register.h"
#include "wire/news.h"

void rf_registrar_hear(struct landlord *l, const struct rf_wire_message *message)
{
	struct rf_news *news = malloc(sizeof(*news));
	struct rf_err err = RF_ERR_INIT;
	bool is_all = false;
	size_t at = 0;
	int got = -1;

	if (news && l->reg && rf_news_head(message->body, message->len, &at, &is_all, &err) == 0) {
		rf_register_begin(l->reg);
		while ((got = rf_news_next(message->body, message->len, &at, news, &err)) > 0)
			rf_register_note(l->reg, news);
		if (is_all && got == 0)
			rf_register_end_others(l->reg, "nobody served, and its grace is over");
		rf_register_end(l->reg);
	}
	if (got < 0)
		rf_household_say("news of sandboxes were not understood", "");
	free(news);
}

void rf_registrar_lose_all(struct landlord *l)
{
	if (!l->reg)
		return;
	rf_register_begin(l->reg);
	rf_register_end_others(l->reg, "the warden has ended, and all sandboxes with it");
	rf_register_end(l->reg);
}

void rf_registrar_answer(struct landlord *l, const struct rf_wire_message *message)
{
	struct rf_pass_question question;
	struct rf_pass_told told = { .verdict = RF_PASS_FAILED, .text = "" };
	struct rf_err err = RF_ERR_INIT;
	const char *tenant;
	char why[RF_NEWS_WHY];
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&text, RF_PASS_TEXT + 1);
	rf_buf_init(&body, 2 * RF_PASS_TEXT);
	if (rf_pass_take_question(message->body, message->len, &question, &err) < 0) {
		rf_household_say(err.msg, "");
		return;
	}
	tenant = rf_concierge_tenant(l, question.key);
	if (!l->reg) {
		told.verdict = RF_PASS_FAILED;        /* who serves itself alone keeps none */
	} else if (question.asked == RF_PASS_STORE) { /* what is under way was begun with a key */
		told.verdict = rf_register_store(l->reg, question.key, question.name,
						 question.status, question.text);
	} else if (tenant && question.asked == RF_PASS_ONCE) {
		told = rf_register_once(l->reg, question.key, tenant, question.name, question.hash,
					&text);
	} else if (tenant) {
		rf_register_fate(l->reg, tenant, question.name, why, sizeof(why));
		told = (struct rf_pass_told){ .verdict = RF_PASS_STORED, .text = why };
	}
	rf_pass_put_told(&told, &body);
	if (rf_household_tell_front(l, RF_WIRE_FRONT_TOLD, message->id, body.data, body.len, NULL,
				    0, &err) < 0)
		rf_household_say(err.msg, "");
}
