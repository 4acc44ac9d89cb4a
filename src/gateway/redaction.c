/* Secrets taken out of answers: see redaction.h. */
#include "gateway/redaction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"

#define ROOM (256 * 1024) /* bytes that one piece of a body may become before it is passed on */

struct rf_redaction {
	struct rf_sieve_set *set;
	struct rf_buf own; /* the policy's own rules, a line each */
	uint64_t limit_bytes;
	bool may_pass_unread, is_idle;
	rf_redaction_told *told;
	void *context;
};

/* One answer. */
struct answer {
	struct rf_filter_stream *stream;
	struct rf_forward_place place;
	uint64_t in_fields;           /* known secrets masked there */
	struct rf_sieve_counts heard; /* in messages of a WebSocket that are whole */
};

static void list_own(const struct rf_sieve_config *config, struct rf_buf *out)
{
	for (unsigned i = 0; i < config->own_count; i++)
		rf_buf_printf(out, "%s\n", config->own_rules[i]);
}

int rf_redaction_new(const struct rf_redaction_config *config, struct rf_redaction **ret_redaction,
		     struct rf_err *err)
{
	struct rf_redaction *redaction = calloc(1, sizeof(*redaction));
	unsigned skipped = 0;

	if (!redaction)
		return rf_fail(err, -ENOMEM, "filter answers");
	rf_buf_init(&redaction->own, RF_MAX_MASKS * RF_MAX_MASK_TEXT);
	list_own(&config->secrets, &redaction->own);
	redaction->limit_bytes = config->limit_bytes;
	redaction->may_pass_unread = config->may_pass_unread;
	redaction->told = config->told;
	redaction->context = config->context;
	if (rf_sieve_set_new(&config->secrets, &redaction->set, &skipped, err) < 0) {
		rf_redaction_free(redaction);
		return rf_fail_in(err, "filter answers");
	}
	redaction->is_idle = !rf_exact_count(redaction->set->exact) && !config->secrets.has_rules &&
			     !config->secrets.own_count && !config->limit_bytes;
	*ret_redaction = redaction;
	return 0;
}

void rf_redaction_free(struct rf_redaction *redaction)
{
	if (!redaction)
		return;
	rf_sieve_set_free(redaction->set);
	rf_buf_done(&redaction->own);
	free(redaction);
}

bool rf_redaction_is_idle(const struct rf_redaction *redaction)
{
	return redaction->is_idle;
}

bool rf_redaction_is_for(const struct rf_redaction *redaction, const struct rf_sieve_config *config)
{
	RF_AUTO_BUF struct rf_buf own = { 0 };

	rf_buf_init(&own, RF_MAX_MASKS * RF_MAX_MASK_TEXT);
	list_own(config, &own);
	if (!redaction)
		return !config->has_rules && own.len == 0;
	return redaction->set->has_rules == config->has_rules && own.len == redaction->own.len &&
	       (own.len == 0 || memcmp(own.data, redaction->own.data, own.len) == 0);
}

/* --- fields --- */

static void drop(struct rf_forward_message *message, struct rf_span name)
{
	size_t kept = 0;

	for (size_t i = 0; i < message->count; i++)
		if (!rf_span_is_like(message->fields[i].name, name))
			message->fields[kept++] = message->fields[i];
	message->count = kept;
}

struct masking {
	char *text; /* a copy of what is masked, once there is something to mask */
	const struct rf_span *value;
	struct rf_arena *arena;
	uint64_t count;
	size_t end;
};

static void on_found(void *context, size_t at, size_t len, unsigned id)
{
	struct masking *masking = context;

	if (id >= RF_SIEVE_IDS) /* where a private key may begin: a rule's */
		return;
	if (!masking->text) {
		masking->text = rf_arena_alloc(masking->arena, masking->value->len + 1);
		if (!masking->text)
			return;
		memcpy(masking->text, masking->value->at, masking->value->len);
	}
	memset(masking->text + at, '*', len);
	masking->count += at >= masking->end;
	masking->end = at + len > masking->end ? at + len : masking->end;
}

/* Masks known secrets in an answer's fields, and counts them.  False without memory: then nothing may pass. */
static bool mask_fields(const struct rf_redaction *redaction, struct rf_forward_message *answer,
			uint64_t *count)
{
	for (size_t i = 0; i < answer->count; i++) {
		struct rf_span *value = &answer->fields[i].value;
		struct masking masking = { .value = value, .arena = answer->arena };

		rf_exact_scan(redaction->set->exact, value->at, value->len, 0, on_found, &masking);
		if (masking.text)
			*value = (struct rf_span){ masking.text, value->len };
		*count += masking.count;
	}
	return !answer->arena->has_failed;
}

/* Keeps what can be read of the codings that a client takes: "gzip;q=0.5, dcb" becomes "gzip;q=0.5". */
static void limit_codings(struct rf_forward_message *request)
{
	for (size_t i = 0; i < request->count; i++) {
		struct rf_field *field = &request->fields[i];
		struct rf_span rest = field->value;
		char *text;
		size_t size = 0;

		if (!rf_span_is_like(field->name, RF_SPAN("Accept-Encoding")))
			continue;
		text = rf_arena_alloc(request->arena, rest.len + 16);
		if (!text)
			return;
		while (rest.len) {
			size_t end = rf_span_find(rest, ',');
			struct rf_span one = rf_span_trim(rf_span_part(rest, 0, end));
			struct rf_span name =
				rf_span_trim(rf_span_part(one, 0, rf_span_find(one, ';')));

			rest = rf_span_part(rest, end + 1, rest.len);
			if (!name.len || rf_coding_parse(name.at, name.len) == RF_CODING_UNKNOWN)
				continue;
			size += (size_t)snprintf(text + size, field->value.len + 16 - size,
						 "%s%.*s", size ? ", " : "", RF_SPAN_ARG(one));
		}
		field->value = size ? (struct rf_span){ text, size } : RF_SPAN("identity");
	}
}

/* --- answers in parts --- */

/*
 * By these a client asks for a part of what there is: a range, which may end in the midst of a secret, or the difference from
 * what it has.  Two parts that each have half of a secret have none that could be found.  A server need not honour any of them,
 * so that it sends the whole.
 */
static const struct rf_span wants_part[] = {
	RF_SPAN_INIT("Range"), RF_SPAN_INIT("If-Range"),
	RF_SPAN_INIT(
		"Request-Range"), /* what Range was called before there was a standard; some servers still know it */
	RF_SPAN_INIT("A-IM"), /* RFC 3229 */
};

/* Codings within a body that has its own frames, message by message: what is asked for, and what an answer says that it has. */
static const struct {
	struct rf_span accepts, has;
} within[] = {
	{ RF_SPAN_INIT("Grpc-Accept-Encoding"), RF_SPAN_INIT("Grpc-Encoding") },
	{ RF_SPAN_INIT("Connect-Accept-Encoding"), RF_SPAN_INIT("Connect-Content-Encoding") },
};

static void ask_for_whole(struct rf_forward_message *request)
{
	for (size_t i = 0; i < RF_LEN(wants_part); i++)
		drop(request, wants_part[i]);
	for (size_t i = 0; i < RF_LEN(within); i++)
		drop(request, within[i].accepts);
}

/* Whether an answer is a part though none was asked for: by its status, or by what says where the part lies. */
static bool is_part(const struct rf_forward_message *answer)
{
	static const struct rf_span several = RF_SPAN_INIT("multipart/byteranges"),
				    old = RF_SPAN_INIT("multipart/x-byteranges");

	if (answer->status == 206 || answer->status == 226)
		return true;
	for (size_t i = 0; i < answer->count; i++) {
		const struct rf_field *field = &answer->fields[i];
		struct rf_span value = rf_span_trim(field->value);

		if (rf_span_is_like(field->name, RF_SPAN("Content-Range")) && answer->status != 416)
			return true;
		if (rf_span_is_like(field->name, RF_SPAN("Content-Type")) &&
		    (rf_span_is_like(rf_span_part(value, 0, several.len), several) ||
		     rf_span_is_like(rf_span_part(value, 0, old.len), old)))
			return true;
	}
	return false;
}

static bool has_coding_within(const struct rf_forward_message *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		for (size_t j = 0; j < RF_LEN(within); j++)
			if (rf_span_is_like(answer->fields[i].name, within[j].has) &&
			    rf_coding_parse(answer->fields[i].value.at,
					    answer->fields[i].value.len) != RF_CODING_IDENTITY)
				return true;
	return false;
}

static enum rf_forward_wish on_request(void *data, void **own, struct rf_forward_message *request,
				       struct rf_refusal *ret_refusal)
{
	const struct rf_redaction *redaction = data;

	if (redaction->is_idle)
		return RF_FORWARD_LEAVE;
	if (!redaction->may_pass_unread)
		limit_codings(request);
	ask_for_whole(request);
	return RF_FORWARD_LEAVE;
}

/* --- answers --- */

static enum rf_forward_wish refuse(struct rf_refusal *refusal, unsigned status, const char *code,
				   const char *message, const char *remedy)
{
	refusal->status = status;
	refusal->code = code;
	snprintf(refusal->message, sizeof(refusal->message), "%s", message);
	snprintf(refusal->rule, sizeof(refusal->rule), "network.filter");
	snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
	return RF_FORWARD_REFUSE;
}

static enum rf_coding coding_of(const struct rf_forward_message *answer)
{
	enum rf_coding coding = RF_CODING_IDENTITY;

	for (size_t i = 0; i < answer->count; i++) {
		const struct rf_field *field = &answer->fields[i];

		if (!rf_span_is_like(field->name, RF_SPAN("Content-Encoding")))
			continue;
		/* Two of them are two codings, one around the other. */
		coding = coding == RF_CODING_IDENTITY
				 ? rf_coding_parse(field->value.at, field->value.len)
				 : RF_CODING_UNKNOWN;
	}
	return coding;
}

static enum rf_forward_wish on_answer(void *data, void **own, struct rf_forward_message *answer,
				      struct rf_refusal *ret_refusal)
{
	const struct rf_redaction *redaction = data;
	enum rf_coding coding = coding_of(answer);
	struct rf_err err = RF_ERR_INIT;
	struct answer *mine;
	int code;

	if (redaction->is_idle)
		return RF_FORWARD_LEAVE;
	if (is_part(answer))
		return refuse(
			ret_refusal, 502, "part_unasked",
			"The answer is a part of what there is, and a secret could lie across "
			"its end.",
			"ask for the whole: parts can't be looked at for secrets");
	if (has_coding_within(answer) && !redaction->may_pass_unread)
		return refuse(ret_refusal, 502, "coding_unknown",
			      "The answer's messages are in a coding that can't be looked into for "
			      "secrets.",
			      "ask for messages without a coding");
	drop(answer, RF_SPAN("Accept-Ranges")); /* which nobody gets here */
	mine = *own ? *own : calloc(1, sizeof(*mine));
	*own = mine;
	if (!mine || !mask_fields(redaction, answer, &mine->in_fields))
		return refuse(ret_refusal, 502, "out_of_memory",
			      "The answer could not be looked at for secrets.", "");
	mine->place = *answer->place;
	rf_filter_stream_free(mine->stream); /* of an answer before this one, such as a 103 */
	mine->stream = NULL;
	if (answer->is_head_answer || answer->body == RF_BODY_NONE)
		return RF_FORWARD_LEAVE;
	code = rf_filter_stream_new(redaction->set, coding, redaction->limit_bytes,
				    redaction->may_pass_unread, &mine->stream, &err);
	if (code == -ENOTSUP)
		return refuse(ret_refusal, 502, "coding_unknown",
			      "The answer is in a coding that can't be looked into for secrets.",
			      "ask for gzip, br or zstd, or for no coding");
	if (code < 0)
		return refuse(ret_refusal, 502, "filter_failed",
			      "The answer could not be looked at for secrets.", "");
	if (!rf_filter_stream_is_decoded(mine->stream))
		return redaction->limit_bytes && answer->length > redaction->limit_bytes
			       ? RF_FORWARD_CHANGE
			       : RF_FORWARD_SAME;
	/* What spoke of the body as it came is not true of what passes. */
	drop(answer, RF_SPAN("Content-Encoding"));
	drop(answer, RF_SPAN("Content-MD5"));
	drop(answer, RF_SPAN("Content-Digest"));
	drop(answer, RF_SPAN("Digest"));
	return RF_FORWARD_CHANGE;
}

static int on_answer_body(void *data, void **own, struct rf_span bytes, bool is_last,
			  struct rf_buf *out, struct rf_err *err)
{
	struct answer *mine = *own;
	int code;

	if (!bytes.len && !is_last) /* nothing has come for a while */
		return rf_filter_stream_flush(mine->stream, out);
	for (;;) {
		size_t before = out->len;
		ssize_t taken = rf_filter_stream_feed(mine->stream, bytes.at, bytes.len, out, ROOM);

		if (taken == -E2BIG)
			return rf_fail_say(
				err, -E2BIG,
				"an answer that grows beyond measure when it is decoded");
		if (taken < 0)
			return rf_fail(err, (int)taken, "decode an answer");
		bytes = rf_span_part(bytes, (size_t)taken, bytes.len);
		if (!bytes.len && out->len == before)
			break;
	}
	code = is_last ? rf_filter_stream_finish(mine->stream, out) : 0;
	return code < 0 ? rf_fail(err, code, "decode an answer") : 0;
}

/* --- the end --- */

static void say(char *words, size_t room, const char *what, uint64_t count)
{
	size_t size = strlen(words);

	if (count > 1)
		snprintf(words + size, room - size, "%s%lu %s", size ? ", " : "",
			 (unsigned long)count, what);
	else if (count)
		snprintf(words + size, room - size, "%s%s", size ? ", " : "", what);
}

static void add_counts(struct rf_sieve_counts *to, const struct rf_sieve_counts *from)
{
	to->secrets += from->secrets;
	for (unsigned rule = 0; rule < rf_tokens_count(); rule++)
		to->rules[rule] += from->rules[rule];
	to->own += from->own;
}

static void on_end(void *data, void **own)
{
	const struct rf_redaction *redaction = data;
	struct answer *mine = *own;
	uint64_t known;
	char words[512] = "";

	if (!mine)
		return;
	if (mine->stream)
		add_counts(&mine->heard, rf_filter_stream_counted(mine->stream));
	known = mine->in_fields + mine->heard.secrets;
	for (unsigned rule = 0; rule < rf_tokens_count(); rule++)
		say(words, sizeof(words), rf_tokens_name(rule), mine->heard.rules[rule]);
	say(words, sizeof(words), "by the policy's own rules", mine->heard.own);
	say(words, sizeof(words), known > 1 ? "known secrets" : "a known secret", known);
	if (words[0] && redaction->told)
		redaction->told(redaction->context, &mine->place, words);
	rf_filter_stream_free(mine->stream);
	free(mine);
	*own = NULL;
}

/* ------------------------------------------------------------- WebSocket */

struct spot {
	struct rf_buf *out;
	size_t from;
};

static void mask_spot(void *context, size_t at, size_t len, unsigned id)
{
	const struct spot *spot = context;

	if (id < RF_SIEVE_IDS)
		memset(spot->out->data + spot->from + at, '*', len);
}

/* Each message is a body of its own: nothing is kept back behind its end. */
static int on_heard(void *data, void **own, struct rf_span bytes, bool is_end, struct rf_buf *out,
		    struct rf_err *err)
{
	const struct rf_redaction *redaction = data;
	struct spot spot = { out, out->len };
	struct answer *mine;
	int code;

	if (redaction->is_idle || !own) {
		rf_buf_add(out, bytes.at, bytes.len);
		if (!redaction->is_idle && bytes.len > 0 && !out->has_failed)
			rf_exact_scan(redaction->set->exact, bytes.at, bytes.len, 0, mask_spot,
				      &spot);
		return 0;
	}
	mine = *own;
	if (!mine)
		return rf_fail_say(err, -EPROTO, "a message before its answer");
	if (!mine->stream && rf_filter_stream_new(redaction->set, RF_CODING_IDENTITY, 0, false,
						  &mine->stream, err) < 0)
		return err->code;
	code = on_answer_body(data, own, bytes, is_end, out, err);
	if (code == 0 && is_end) {
		add_counts(&mine->heard, rf_filter_stream_counted(mine->stream));
		rf_filter_stream_free(mine->stream);
		mine->stream = NULL;
	}
	return code;
}

static enum rf_forward_wish on_trailer(void *data, void **own, struct rf_forward_message *trailer,
				       struct rf_refusal *ret_refusal)
{
	const struct rf_redaction *redaction = data;
	struct answer *mine = *own;
	uint64_t count = 0;

	if (!trailer->status || redaction->is_idle)
		return RF_FORWARD_LEAVE;
	if (!mask_fields(redaction, trailer, &count))
		return refuse(ret_refusal, 502, "out_of_memory",
			      "The answer could not be looked at for secrets.", "");
	if (mine)
		mine->in_fields += count;
	return RF_FORWARD_LEAVE;
}

const struct rf_forward_filter rf_redaction_filter = {
	.name = "redaction",
	.on_heard = on_heard,
	.on_trailer = on_trailer,
	.on_request = on_request,
	.on_answer = on_answer,
	.on_answer_body = on_answer_body,
	.on_end = on_end,
};
