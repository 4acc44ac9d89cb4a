/* What is done with workspaces, for the record: see moves.h. */
#include "audit/moves.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void add_counts(struct rf_audit_event *event, const struct rf_move *move)
{
	if (move->added)
		rf_audit_event_number(event, RF_AUDIT_ADDED, move->added);
	if (move->modified)
		rf_audit_event_number(event, RF_AUDIT_MODIFIED, move->modified);
	if (move->deleted)
		rf_audit_event_number(event, RF_AUDIT_DELETED, move->deleted);
}

/* A recovery is told by what was found; the others by where the workspace is now. */
static void add_place(struct rf_audit_event *event, const struct rf_move *move, char *text,
		      size_t size)
{
	if (move->kind == RF_AUDIT_RECOVERY) {
		rf_audit_event_text(event, RF_AUDIT_WHAT, "an apply that was interrupted");
		return;
	}
	snprintf(text, size, "@%u%s%s", move->point, move->name ? " " : "",
		 move->name ? move->name : "");
	rf_audit_event_text(event, RF_AUDIT_CHECKPOINT_ID, text);
}

int rf_moves_add(struct rf_teller *teller, const struct rf_move *move, struct rf_err *err)
{
	struct rf_audit_event event;
	char place[64];

	rf_audit_event_init(&event, move->kind);
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	rf_audit_event_text(&event, RF_AUDIT_WORKSPACE, move->workspace);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, move->agent);
	rf_audit_event_text(&event, RF_AUDIT_BOX, move->box);
	rf_audit_event_text(&event, RF_AUDIT_REASON, move->reason);
	add_place(&event, move, place, sizeof(place));
	if (move->kind != RF_AUDIT_CHECKPOINT && move->kind != RF_AUDIT_RECOVERY)
		rf_audit_event_text(&event, RF_AUDIT_BY, move->by);
	if (move->kind == RF_AUDIT_APPLY || move->kind == RF_AUDIT_RECOVERY)
		rf_audit_event_text(&event, RF_AUDIT_VERDICT, move->verdict);
	if (move->kind != RF_AUDIT_RECOVERY)
		add_counts(&event, move);
	return rf_teller_add(teller, &event, err);
}

int rf_moves_tell(const struct rf_move *moves, size_t count, struct rf_err *err)
{
	struct rf_teller teller;
	int code;

	rf_teller_init(&teller);
	code = rf_teller_open(&teller, err);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = rf_moves_add(&teller, &moves[i], err);
	if (code == 0)
		code = rf_teller_send(&teller, NULL, err);
	rf_teller_done(&teller);
	if (code == -ENOENT || code == -ECONNREFUSED) {
		*err = RF_ERR_INIT;
		code = 0;
	}
	return code;
}
