/* Events of the network for people: a line for each connection and request.  A part of render.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/render.h"

#define WIDTH_TIME 19

void rf_render_net_heading(struct rf_style style, struct rf_buf *out)
{
	rf_style_printf(style, RF_STYLE_HEADING, out, "%-*s  %-16s  %-6s  %4s  %9s  %9s  %8s  %s",
			WIDTH_TIME, "TIME (UTC)", "BOX", "", "CODE", "OUT", "IN", "MS", "WHAT");
	rf_buf_puts(out, "\n");
}

static void put_what(struct rf_style style, const struct rf_audit_event *event,
		     const char *decision, struct rf_buf *out)
{
	char host[300], method[40], path[520], what[40], rule[300], remedy[300], credential[80];
	bool is_use = event->kind == RF_AUDIT_CREDENTIAL_USE;
	unsigned port = (unsigned)rf_audit_event_get(event, RF_AUDIT_PORT);
	char number[16] = "";

	rf_audit_event_copy(event, RF_AUDIT_HOST, host, sizeof(host));
	rf_audit_event_copy(event, RF_AUDIT_METHOD, method, sizeof(method));
	rf_audit_event_copy(event, RF_AUDIT_PATH, path, sizeof(path));
	rf_audit_event_copy(event, RF_AUDIT_WHAT, what, sizeof(what));
	rf_audit_event_copy(event, RF_AUDIT_RULE, rule, sizeof(rule));
	rf_audit_event_copy(event, RF_AUDIT_REMEDY, remedy, sizeof(remedy));
	rf_audit_event_copy(event, RF_AUDIT_CREDENTIAL, credential, sizeof(credential));
	if (port)
		snprintf(number, sizeof(number), ":%u", port);
	if (is_use)
		rf_style_printf(style, RF_STYLE_PLAIN, out, "credential %s for %s", credential,
				host);
	else
		rf_style_printf(style, RF_STYLE_PLAIN, out, "%s%s%s%s%s", *method ? method : what,
				*method || *what ? " " : "", host, number, path);
	if (!is_use && *credential)
		rf_style_printf(style, RF_STYLE_QUIET, out, "  with %s", credential);
	if (strcmp(decision, "allow") == 0)
		rf_style_printf(style, RF_STYLE_QUIET, out, "%s%s", *rule ? "  by " : "", rule);
	else
		rf_style_printf(style, RF_STYLE_QUIET, out, "%s%s",
				*remedy ? "  to allow it: " : "", remedy);
}

void rf_render_net_row(struct rf_style style, const struct rf_audit_event *event,
		       struct rf_buf *out)
{
	char time[32], box[40], decision[16], code[16] = "-";
	enum rf_style_role role = RF_STYLE_GOOD;

	rf_audit_event_time(event->time_ns, time, sizeof(time));
	time[WIDTH_TIME] = '\0';
	time[10] = ' ';
	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	rf_audit_event_copy(event, RF_AUDIT_DECISION, decision, sizeof(decision));
	if (strcmp(decision, "allow") != 0)
		role = strcmp(decision, "deny") == 0 ? RF_STYLE_BAD : RF_STYLE_WARNING;
	if (rf_audit_event_has(event, RF_AUDIT_CODE))
		snprintf(code, sizeof(code), "%" PRIu64, rf_audit_event_get(event, RF_AUDIT_CODE));
	rf_buf_printf(out, "%s  %-16.16s  ", time, box);
	rf_style_put(style, role, decision, 6, out);
	rf_buf_printf(out, "  %4s  %9" PRIu64 "  %9" PRIu64 "  %8.1f  ", code,
		      rf_audit_event_get(event, RF_AUDIT_BYTES_OUT),
		      rf_audit_event_get(event, RF_AUDIT_BYTES_IN),
		      (double)rf_audit_event_get(event, RF_AUDIT_TOOK_US) / 1000);
	put_what(style, event, decision, out);
	rf_buf_puts(out, "\n");
}
