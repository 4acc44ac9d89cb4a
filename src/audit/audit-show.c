/* ringfort audit show, and export: events of the log, by way of its index where that saves something. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit-wish.h"
#include "audit/digest.h"
#include "audit/index.h"
#include "audit/lookup.h"
#include "audit/render.h"
#include "audit/segment.h"
#include "base/fd.h"
#include "base/statedir.h"
#include "base/style.h"

#define FOLLOW_EACH 100 /* milliseconds */
#define GATHER      (64u << 10)
#define INDEX_EACH  (4u << 20) /* bytes of the log that came: then they are taken into the index */

struct shown {
	const struct rf_audit_wish *wish;
	const char *chain;
	struct rf_style style;
	struct rf_buf out;
};

static void render(struct shown *shown, const struct rf_audit_event *event)
{
	const struct rf_audit_wish *wish = shown->wish;

	if (wish->format && strcmp(wish->format, "ocsf") == 0)
		rf_render_ocsf(event, shown->chain, &shown->out);
	else if (wish->format || wish->is_json)
		rf_render_json(event, &shown->out);
	else if (wish->is_csv)
		rf_render_csv(event, &shown->out);
	else if (wish->is_net)
		rf_render_net_row(shown->style, event, &shown->out);
	else
		rf_render_row(shown->style, event, &shown->out);
}

/* Writes what was gathered.  1: who read it is gone. */
static int flush(struct shown *shown, struct rf_err *err)
{
	int code = shown->out.has_failed ? -ENOMEM : 0;

	if (code == 0 && shown->out.len > 0)
		code = rf_fd_write(STDOUT_FILENO, shown->out.data, shown->out.len);
	rf_buf_clear(&shown->out);
	if (code == -EPIPE)
		return 1;
	return code < 0 ? rf_fail(err, code, "write to standard output") : 0;
}

static int on_event(void *data, const struct rf_audit_event *event, struct rf_err *err)
{
	struct shown *shown = data;

	/* Of the network are only credentials that were sent to a host: canaries are credentials, too. */
	if (shown->wish->is_net && !rf_audit_event_has(event, RF_AUDIT_HOST))
		return 0;
	render(shown, event);
	return shown->out.len > GATHER ? flush(shown, err) : 0;
}

/* What came meanwhile, again and again. */
static int follow(struct shown *shown, struct rf_lookup *lookup, struct rf_reader *reader,
		  struct rf_err *err)
{
	const struct timespec pause = { .tv_nsec = FOLLOW_EACH * 1000000L };
	struct rf_audit_event event;
	int code = 0;

	while (code == 0) {
		while (code == 0 && (code = rf_lookup_next(lookup, reader, &event, err)) > 0)
			code = on_event(shown, &event, err);
		if (code == 0)
			code = flush(shown, err);
		if (code == 0)
			nanosleep(&pause, NULL);
	}
	return code;
}

/* Says that some were passed over. */
static int mind_changes(const struct rf_lookup *lookup)
{
	struct rf_err err = RF_ERR_INIT;

	if (lookup->changed == 0)
		return 0;
	rf_fail_say(&err, -EBADMSG,
		    "%" PRIu64
		    " events were changed and are not shown, first that of record %" PRIu64,
		    lookup->changed, lookup->first_changed);
	rf_fail_hint(&err, "`ringfort audit verify` tells what was changed");
	rf_audit_wish_complain(&err);
	return RF_AUDIT_WISH_BAD;
}

static int pass_on(struct shown *shown, int dir, const struct rf_index *index, struct rf_err *err)
{
	struct rf_lookup lookup = {
		.dir = dir,
		.pick = &shown->wish->filter,
		.index = index,
		.limit = shown->wish->limit,
		.on_event = on_event,
		.data = shown,
	};
	struct rf_reader reader;
	int code;

	if (rf_digest_new(&lookup.digest, err) < 0)
		return err->code;
	rf_reader_init(&reader, dir);
	code = rf_lookup(&lookup, &reader, err);
	if (code == 0)
		code = flush(shown, err);
	if (code == 0 && shown->wish->follows)
		code = follow(shown, &lookup, &reader, err);
	rf_reader_done(&reader);
	rf_digest_free(lookup.digest);
	return code < 0 ? code : mind_changes(&lookup);
}

/* ------------------------------------------------------------- the index */

/* True if so much came since the index was made that taking it in is worth the while. */
static bool has_grown(int dir, const struct rf_index *index)
{
	uint64_t segment, offset, *numbers = NULL, bytes = 0;
	struct rf_err err;
	size_t count = 0;

	rf_index_end(index, &segment, &offset);
	if (rf_segment_list(dir, &numbers, &count, &err) < 0)
		return false;
	for (size_t i = 0; i < count && bytes < INDEX_EACH; i++) {
		char name[RF_SEGMENT_NAME];
		struct stat st;

		rf_segment_name(numbers[i], name);
		if (numbers[i] >= segment && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size - (numbers[i] == segment ? offset : 0);
	}
	free(numbers);
	return bytes >= INDEX_EACH;
}

/* The index of the user's own log, brought up to date; NULL where there is none. */
static struct rf_index *open_index(const struct rf_audit_wish *wish, int dir)
{
	RF_AUTO_FD int folder = -1;
	struct rf_index *index = NULL;
	struct rf_err err = RF_ERR_INIT;
	uint64_t records;

	if (wish->log || wish->has_no_index)
		return NULL;
	folder = rf_statedir_open_in(RF_INDEX_FOLDER, true);
	if (folder < 0 || rf_index_open(dir, folder, true, &index, &err) < 0)
		return NULL;
	if (has_grown(dir, index) && rf_index_update(index, &records, &err) < 0) {
		rf_index_free(index);
		return NULL;
	}
	return index;
}

/* The name of the log's chain, in hexadecimal digits. */
static void name_chain(int dir, char hex[RF_DIGEST_HEX])
{
	struct rf_segment segment = { 0 };
	struct rf_frame_segment says = { 0 };
	struct rf_frame frame;
	struct rf_err err;
	uint64_t *numbers = NULL;
	size_t count = 0;

	if (rf_segment_list(dir, &numbers, &count, &err) == 0 && count > 0 &&
	    rf_segment_map(dir, numbers[0], &segment, &err) == 0 &&
	    rf_frame_parse(segment.data, segment.len, &frame) == RF_FRAME_WHOLE)
		rf_frame_segment(&frame, &says);
	rf_segment_done(&segment);
	free(numbers);
	rf_digest_hex(says.chain, RF_AUDIT_HASH, hex);
}

int rf_audit_show(const struct rf_audit_wish *wish, struct rf_err *err)
{
	char chain[RF_DIGEST_HEX] = "";
	struct shown shown = { .wish = wish, .chain = chain };
	RF_AUTO_FD int dir = rf_audit_wish_open(wish, err);
	struct rf_index *index;
	int code;

	if (dir < 0)
		return dir;
	if (wish->is_json && wish->is_csv)
		return rf_fail_say(err, -EINVAL, "--json or --csv, not both");
	name_chain(dir, chain);
	shown.style = rf_style_of(STDOUT_FILENO);
	rf_buf_init(&shown.out, 16u << 20);
	if (wish->is_csv)
		rf_render_csv_heading(&shown.out);
	else if (!wish->is_json && !wish->format && wish->is_net)
		rf_render_net_heading(shown.style, &shown.out);
	else if (!wish->is_json && !wish->format)
		rf_render_heading(shown.style, &shown.out);
	index = open_index(wish, dir);
	code = pass_on(&shown, dir, index, err);
	rf_index_free(index);
	rf_buf_done(&shown.out);
	return code;
}

int rf_audit_export(const struct rf_audit_wish *wish, struct rf_err *err)
{
	struct rf_audit_wish whole = *wish;

	if (!whole.format)
		whole.format = "jsonl";
	if (strcmp(whole.format, "jsonl") != 0 && strcmp(whole.format, "ocsf") != 0)
		return rf_audit_wish_refuse_format(whole.format, "jsonl or ocsf", err);
	return rf_audit_show(&whole, err);
}
