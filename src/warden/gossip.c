/* What is told of a box's network: see gossip.h. */
#include "warden/gossip.h"

#include "audit/traffic.h"

#define EACH_NS 200000000ull /* how often a busy network is told of */

void rf_gossip_pass_on(struct rf_gossip *gossip)
{
	struct rf_err err = RF_ERR_INIT;

	gossip->sent_ns = rf_loop_now();
	if (gossip->body.len == 0)
		return;
	rf_scribe_say(gossip->scribe, RF_WIRE_TELL, &gossip->body, NULL, NULL, NULL, &err);
	rf_buf_done(&gossip->body);
	rf_buf_init(&gossip->body, RF_TELLER_MOST);
}

static void on_event(void *data, const struct rf_gate_event *event)
{
	struct rf_gossip *gossip = data;
	const struct rf_work *work = gossip->work;
	struct rf_err ignored = RF_ERR_INIT;

	if (!work->is_told || !rf_traffic_is_told(event))
		return;
	rf_account_hear(&gossip->account, event);
	if (gossip->body.len + RF_AUDIT_EVENT_MAX > RF_TELLER_MOST)
		rf_gossip_pass_on(gossip);
	rf_traffic_write(&gossip->body, work->plan->agent, work->life.box.id, event, &ignored);
	if (rf_loop_now() - gossip->sent_ns >= EACH_NS)
		rf_gossip_pass_on(gossip);
}

/* ------------------------------------------------------------- books */

bool rf_gossip_ask_books(struct rf_gossip *gossip, rf_scribe_fn *fn, void *data,
			 struct rf_scribe_note **ret_note)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf question;

	rf_buf_init(&question, RF_AUDIT_EVENT_MAX);
	if (!gossip->account.net || gossip->work->outward.fd < 0 ||
	    rf_scribe_reach(gossip->scribe, &err) < 0)
		return false;
	rf_gossip_pass_on(gossip);
	rf_account_ask(&gossip->account, &question);
	return rf_scribe_say(gossip->scribe, RF_WIRE_ASK, &question, fn, data, ret_note, &err) == 0;
}

void rf_gossip_pass_books(struct rf_gossip *gossip, const char *answer)
{
	struct rf_outward *outward = &gossip->work->outward;
	struct rf_err ignored = RF_ERR_INIT; /* it goes by what it knows */
	RF_AUTO_BUF struct rf_buf books;

	rf_buf_init(&books, RF_BOOKS_TEXT);
	if (answer && outward->fd >= 0 &&
	    rf_account_answer(&gossip->account, answer, &books, &ignored) == 0)
		rf_gate_tell_books(outward->fd, outward->box, &books, &ignored);
}

static void on_books(void *data, const char *answer, const struct rf_err *why)
{
	struct rf_gossip *gossip = data;

	(void)why;
	gossip->note = NULL;
	rf_gossip_pass_books(gossip, answer);
}

void rf_gossip_renew_books(struct rf_gossip *gossip)
{
	if (!gossip->note && !rf_gossip_ask_books(gossip, on_books, gossip, &gossip->note))
		gossip->note = NULL;
}

void rf_gossip_listen(struct rf_gossip *gossip, struct rf_work *work, struct rf_scribe *scribe)
{
	rf_gossip_done(gossip);
	*gossip = (struct rf_gossip){ .work = work, .scribe = scribe };
	if (work->plan)
		rf_account_init(&gossip->account, work->plan);
	rf_buf_init(&gossip->body, RF_TELLER_MOST);
	work->outward.on_event = on_event;
	work->outward.data = gossip;
}

void rf_gossip_done(struct rf_gossip *gossip)
{
	if (gossip->note)
		rf_scribe_drop(gossip->note);
	rf_buf_done(&gossip->body);
	*gossip = (struct rf_gossip){ 0 };
}
