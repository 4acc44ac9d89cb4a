/* What is told without a question: see chronicle.h. */
#include "warden/chronicle.h"

#include "audit/runs.h"
#include "jail/record.h"

void rf_chronicle_take_back(struct rf_scribe *scribe, struct rf_work *work)
{
	const char *box = work->life.box.id;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_TELLER_MOST);
	if (work->is_told)
		rf_runs_write_lost(&body, work->plan, box, "it was not begun", &err);
	else
		rf_runs_write_refused(&body, work->plan, box, "the watcher was late", &err);
	rf_scribe_say(scribe, RF_WIRE_TELL, &body, NULL, NULL, NULL, &err);
	work->is_told = false;
}

void rf_chronicle_end(struct rf_scribe *scribe, const struct rf_work *work)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_TELLER_MOST);
	if (work->is_told &&
	    rf_runs_write_ended(&body, work->plan, work->life.box.id, &work->result, &err) == 0)
		rf_scribe_say(scribe, RF_WIRE_TELL, &body, NULL, NULL, NULL, &err);
}

void rf_chronicle_exec(struct rf_scribe *scribe, const struct rf_work *work,
		       const struct rf_runs_exec *exec)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_TELLER_MOST);
	if (work->is_told &&
	    rf_runs_write_exec(&body, work->plan, work->life.box.id, exec, &err) == 0)
		rf_scribe_say(scribe, RF_WIRE_TELL, &body, NULL, NULL, NULL, &err);
}

void rf_chronicle_recoveries(struct rf_scribe *scribe, bool is_successor)
{
	struct rf_record_swept list[RF_RECORD_SWEPT];
	struct rf_err err = RF_ERR_INIT;
	size_t count = rf_record_take_swept(list);
	char what[RF_RECORD_TEXT];
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_TELLER_MOST);
	for (size_t i = 0; i < count; i++)
		rf_runs_write_recovery(&body, list[i].box,
				       rf_record_describe(&list[i], what, sizeof(what)),
				       list[i].is_clean ? "removed" : "left", &err);
	if (is_successor)
		rf_runs_write_recovery(&body, NULL, "a warden that did not end in order",
				       "taken over", &err);
	if (body.len > 0)
		rf_scribe_say(scribe, RF_WIRE_TELL, &body, NULL, NULL, NULL, &err);
}
