/* What the watcher is told of a box's network: see traffic.h. */
#include "audit/traffic.h"

#include <stdio.h>

#include "audit/event.h"

static const char *const decisions[RF_GATE_VERDICT_COUNT] = {
	[RF_GATE_ALLOWED] = "allow",
	[RF_GATE_DENIED] = "deny",
	[RF_GATE_REPORTED] = "report",
	[RF_GATE_HELD] = "hold",
};

bool rf_traffic_is_told(const struct rf_gate_event *event)
{
	return event->kind != RF_GATE_DNS || event->verdict != RF_GATE_ALLOWED;
}

static void put_number(struct rf_audit_event *event, enum rf_audit_field field, uint64_t number)
{
	if (number > 0)
		rf_audit_event_number(event, field, number);
}

/* A host's breaker, or that of a credential whose budget is spent, in the gateway of one box. */
static int write_change(struct rf_buf *out, const char *agent, const char *box,
			const struct rf_gate_event *event, struct rf_err *err)
{
	bool is_use = event->credential[0];
	struct rf_audit_event told;
	char breaker[288];

	snprintf(breaker, sizeof(breaker), "%s %s", is_use ? "credential" : "host",
		 is_use ? event->credential : event->host);
	rf_audit_event_init(&told, RF_AUDIT_BREAKER_CHANGE);
	rf_audit_event_text(&told, RF_AUDIT_BOX, box);
	rf_audit_event_text(&told, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&told, RF_AUDIT_BREAKER, breaker);
	rf_audit_event_text(&told, RF_AUDIT_FROM, event->method);
	rf_audit_event_text(&told, RF_AUDIT_TO, event->rule);
	rf_audit_event_text(&told, RF_AUDIT_REASON, event->reason);
	rf_audit_event_text(&told, RF_AUDIT_BY, "gateway");
	if (event->duration_us > 0)
		rf_audit_event_number(&told, RF_AUDIT_UNTIL_MS,
				      event->time_ms + event->duration_us / 1000);
	return rf_teller_write(out, &told, err);
}

int rf_traffic_write(struct rf_buf *out, const char *agent, const char *box,
		     const struct rf_gate_event *event, struct rf_err *err)
{
	bool is_use = event->kind == RF_GATE_CREDENTIAL && event->credential[0];
	const char *host = event->host[0] ? event->host : event->address[0] ? event->address : "?";
	struct rf_audit_event told;

	if (event->kind == RF_GATE_BREAKER)
		return write_change(out, agent, box, event, err);
	rf_audit_event_init(&told, is_use ? RF_AUDIT_CREDENTIAL_USE : RF_AUDIT_NET_REQUEST);
	rf_audit_event_text(&told, RF_AUDIT_BOX, box);
	rf_audit_event_text(&told, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&told, RF_AUDIT_HOST, host);
	rf_audit_event_text(&told, RF_AUDIT_DECISION, decisions[event->verdict]);
	rf_audit_event_text(&told, RF_AUDIT_REASON, event->reason);
	rf_audit_event_text(&told, RF_AUDIT_CREDENTIAL, event->credential);
	if (is_use)
		put_number(&told, RF_AUDIT_SPENT, event->cost);
	if (!is_use) {
		rf_audit_event_text(&told, RF_AUDIT_WHAT, rf_gate_kind_name(event->kind));
		rf_audit_event_text(&told, RF_AUDIT_METHOD, event->method);
		rf_audit_event_text(&told, RF_AUDIT_PATH, event->path);
		rf_audit_event_text(&told, RF_AUDIT_RULE, event->rule);
		rf_audit_event_text(&told, RF_AUDIT_REMEDY, event->remedy);
		put_number(&told, RF_AUDIT_PORT, event->port);
		put_number(&told, RF_AUDIT_CODE, event->status);
		put_number(&told, RF_AUDIT_BYTES_OUT, event->up_bytes);
		put_number(&told, RF_AUDIT_BYTES_IN, event->down_bytes);
		put_number(&told, RF_AUDIT_TOOK_US, event->duration_us);
	}
	return rf_teller_write(out, &told, err);
}
