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
	if (gossip->body.len + RF_AUDIT_EVENT_MAX > RF_TELLER_MOST)
		rf_gossip_pass_on(gossip);
	rf_traffic_write(&gossip->body, work->plan->agent, work->life.box.id, event, &ignored);
	if (rf_loop_now() - gossip->sent_ns >= EACH_NS)
		rf_gossip_pass_on(gossip);
}

void rf_gossip_listen(struct rf_gossip *gossip, struct rf_work *work, struct rf_scribe *scribe)
{
	rf_gossip_done(gossip);
	*gossip = (struct rf_gossip){ .work = work, .scribe = scribe };
	rf_buf_init(&gossip->body, RF_TELLER_MOST);
	work->outward.on_event = on_event;
	work->outward.data = gossip;
}

void rf_gossip_done(struct rf_gossip *gossip)
{
	rf_buf_done(&gossip->body);
	*gossip = (struct rf_gossip){ 0 };
}
