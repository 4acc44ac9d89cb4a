/* Breakers of gateways: see abroad.h. */
#include "watch/abroad.h"

#include <string.h>

static void remove_row(struct rf_abroad *abroad, size_t i)
{
	abroad->count--;
	memmove(abroad->rows + i, abroad->rows + i + 1,
		(abroad->count - i) * sizeof(abroad->rows[0]));
}

/* What an event says, as a row.  False if it is about no breaker of a gateway's. */
static bool read_row(const struct rf_audit_event *event, struct rf_abroad_row *row)
{
	char breaker[RF_TABLE_NAME + 16], state[16], *name;

	if (event->kind != RF_AUDIT_BREAKER_CHANGE)
		return false;
	rf_audit_event_copy(event, RF_AUDIT_BOX, row->box, sizeof(row->box));
	rf_audit_event_copy(event, RF_AUDIT_BREAKER, breaker, sizeof(breaker));
	rf_audit_event_copy(event, RF_AUDIT_TO, state, sizeof(state));
	rf_audit_event_copy(event, RF_AUDIT_REASON, row->reason, sizeof(row->reason));
	row->until_ms = rf_audit_event_get(event, RF_AUDIT_UNTIL_MS);
	name = strchr(breaker, ' ');
	if (!row->box[0] || !name)
		return false;
	*name++ = '\0';
	row->kind = rf_table_kind_parse(breaker);
	for (row->state = 0; row->state < RF_BREAKER_STATES; row->state++)
		if (strcmp(rf_breaker_state_name(row->state), state) == 0)
			break;
	if ((row->kind != RF_TABLE_HOST && row->kind != RF_TABLE_CREDENTIAL) ||
	    row->state == RF_BREAKER_STATES || !rf_table_takes(name))
		return false;
	memcpy(row->name, name, strlen(name) + 1);
	return true;
}

/* Room for one more of a box: one that fails everywhere pushes out its own, and nobody else's. */
static void make_room(struct rf_abroad *abroad, const char *box)
{
	size_t first = 0, own = 0;

	for (size_t i = abroad->count; i-- > 0;)
		if (strcmp(abroad->rows[i].box, box) == 0) {
			first = i;
			own++;
		}
	if (own >= RF_ABROAD_EACH)
		remove_row(abroad, first);
	else if (abroad->count == RF_ABROAD_MOST)
		remove_row(abroad, 0);
}

bool rf_abroad_hear(struct rf_abroad *abroad, const struct rf_audit_event *event,
		    enum rf_table_kind *ret_kind)
{
	struct rf_abroad_row row = { 0 };

	if (!read_row(event, &row))
		return false;
	for (size_t i = abroad->count; i-- > 0;)
		if (abroad->rows[i].kind == row.kind && strcmp(abroad->rows[i].box, row.box) == 0 &&
		    strcmp(abroad->rows[i].name, row.name) == 0)
			remove_row(abroad, i);
	if (row.state == RF_BREAKER_CLOSED)
		return false;
	make_room(abroad, row.box);
	abroad->rows[abroad->count++] = row;
	*ret_kind = row.kind;
	return row.state == RF_BREAKER_OPEN;
}

void rf_abroad_leave(struct rf_abroad *abroad, const char *box)
{
	for (size_t i = abroad->count; i-- > 0;)
		if (strcmp(abroad->rows[i].box, box) == 0)
			remove_row(abroad, i);
}

bool rf_abroad_has(const struct rf_abroad *abroad, enum rf_table_kind kind, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < abroad->count; i++) {
		const struct rf_abroad_row *row = &abroad->rows[i];

		if (row->kind == kind && strncmp(row->name, name, len) == 0 &&
		    (!row->name[len] || (kind == RF_TABLE_HOST && row->name[len] == ':')))
			return true;
	}
	return false;
}
