/* ringfort audit verify: says what audit/verify.h found. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit-wish.h"
#include "audit/digest.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/json.h"

static void say_good(const struct rf_verify *verify, struct rf_buf *out)
{
	rf_buf_printf(out,
		      "good: %" PRIu64 " records in %" PRIu64 " files, %" PRIu64 " events, %" PRIu64
		      " signatures\n",
		      verify->records, verify->files, verify->events, verify->signatures);
	if (verify->is_retired)
		rf_buf_printf(out,
			      "  it begins with record %" PRIu64
			      ": older files went by the rules, and the log says so\n",
			      verify->first_seq);
	if (verify->has_anchor)
		rf_buf_printf(out,
			      "  the anchor answers for it up to record %" PRIu64 " of %" PRIu64
			      "\n",
			      verify->anchored_seq, verify->last_seq);
	else
		rf_buf_puts(out, "  no anchor: that its end was not cut off can't be proved (see "
				 "--anchor)\n");
	if (verify->unfinished)
		rf_buf_printf(out,
			      "  the last record is not finished (%" PRIu64
			      " bytes): it is being written, or something crashed\n",
			      verify->unfinished);
	else if (!verify->is_closed)
		rf_buf_puts(out,
			    "  it was not closed: a watcher writes it, or something crashed\n");
	if (verify->last_seq > verify->signed_seq + 1)
		rf_buf_printf(out, "  the last %" PRIu64 " records are not signed yet\n",
			      verify->last_seq - verify->signed_seq);
}

static void say_json(const struct rf_verify *verify, struct rf_buf *out)
{
	char hex[RF_DIGEST_HEX];
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_bool(&json, "good", verify->is_good);
	rf_json_string(&json, "problem", verify->is_good ? NULL : verify->what);
	if (verify->bad_seq)
		rf_json_int(&json, "first_bad_record", (int64_t)verify->bad_seq);
	else
		rf_json_null(&json, "first_bad_record");
	rf_json_int(&json, "files", (int64_t)verify->files);
	rf_json_int(&json, "records", (int64_t)verify->records);
	rf_json_int(&json, "events", (int64_t)verify->events);
	rf_json_int(&json, "signatures", (int64_t)verify->signatures);
	rf_json_int(&json, "bytes", (int64_t)verify->bytes);
	rf_json_int(&json, "first_record", (int64_t)verify->first_seq);
	rf_json_int(&json, "last_record", (int64_t)verify->last_seq);
	rf_json_int(&json, "signed_record", (int64_t)verify->signed_seq);
	rf_json_bool(&json, "closed", verify->is_closed);
	rf_json_int(&json, "unfinished_bytes", (int64_t)verify->unfinished);
	rf_json_bool(&json, "truncation_provable", verify->has_anchor);
	rf_json_int(&json, "anchored_record", (int64_t)verify->anchored_seq);
	rf_digest_hex(verify->chain, RF_AUDIT_HASH, hex);
	rf_json_string(&json, "chain", hex);
	rf_digest_hex(verify->head, RF_AUDIT_HASH, hex);
	rf_json_string(&json, "head", hex);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

int rf_audit_prove(const struct rf_audit_wish *wish, struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_audit_wish_open(wish, err);
	RF_AUTO_BUF struct rf_buf out;
	struct rf_verify_options how = { .dir = dir, .anchor = wish->anchor };
	struct rf_verify found = { 0 };
	uint8_t key[RF_FRAME_KEY];
	int code;

	rf_buf_init(&out, (size_t)64 * 1024);
	if (dir < 0)
		return dir;
	if (wish->key) {
		if (strlen(wish->key) != sizeof(key) * 2 ||
		    !rf_digest_unhex(wish->key, key, sizeof(key)))
			return rf_fail_say(err, -EINVAL, "--key: not a public key of 64 digits");
		how.key = key;
	}
	if (rf_verify_log(&how, &found, err) < 0)
		return err->code;
	if (wish->is_json)
		say_json(&found, &out);
	else if (found.is_good)
		say_good(&found, &out);
	else
		rf_buf_printf(&out, "BAD: %s\n", found.what);
	if (found.forged && !wish->is_json)
		rf_buf_printf(&out,
			      "  %" PRIu64
			      " lines of the anchor have no good signature, and say nothing\n",
			      found.forged);
	code = rf_fd_write(STDOUT_FILENO, out.data, out.len);
	if (code < 0)
		return rf_fail(err, code, "write to standard output");
	return found.is_good ? 0 : RF_AUDIT_WISH_BAD;
}
