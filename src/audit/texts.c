/* The texts of policies: see texts.h. */
#include "audit/texts.h"

#include <stdlib.h>
#include <string.h>

#include "audit/runs.h"
#include "base/buf.h"
#include "base/sha256.h"

#define MOST 4096 /* policies; of more than these no text is known */

struct text {
	uint8_t hash[RF_AUDIT_HASH];
	struct rf_buf buf;
	uint64_t parts; /* that are there */
	bool is_whole;
};

struct rf_texts {
	struct text *rows;
	size_t count, room;
	bool has_failed;
};

struct rf_texts *rf_texts_new(void)
{
	return calloc(1, sizeof(struct rf_texts));
}

void rf_texts_free(struct rf_texts *texts)
{
	for (size_t i = 0; texts && i < texts->count; i++)
		rf_buf_done(&texts->rows[i].buf);
	if (texts)
		free(texts->rows);
	free(texts);
}

static struct text *find(const struct rf_texts *texts, const uint8_t *hash)
{
	for (size_t i = texts->count; i > 0; i--) /* what came last is wanted most */
		if (memcmp(texts->rows[i - 1].hash, hash, RF_AUDIT_HASH) == 0)
			return &texts->rows[i - 1];
	return NULL;
}

static struct text *add(struct rf_texts *texts, const uint8_t *hash)
{
	struct text *rows = texts->rows;

	if (texts->count == MOST)
		return NULL;
	if (texts->count == texts->room) {
		texts->room = texts->room ? 2 * texts->room : 16;
		rows = realloc(rows, texts->room * sizeof(*rows));
		if (!rows) {
			texts->has_failed = true;
			return NULL;
		}
		texts->rows = rows;
	}
	rows += texts->count++;
	*rows = (struct text){ 0 };
	memcpy(rows->hash, hash, RF_AUDIT_HASH);
	rf_buf_init(&rows->buf, (size_t)RF_RUNS_POLICY_PARTS * RF_AUDIT_TEXT_MAX + 1);
	return rows;
}

static bool is_hashed(const struct text *text)
{
	uint8_t hash[RF_SHA256_BYTES];
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, text->buf.data, text->buf.len);
	rf_sha256_end(&sha, hash);
	return memcmp(hash, text->hash, sizeof(hash)) == 0;
}

void rf_texts_add(struct rf_texts *texts, const struct rf_audit_event *event)
{
	const uint8_t *hash = (const uint8_t *)event->values[RF_AUDIT_POLICY].text;
	uint64_t part = rf_audit_event_get(event, RF_AUDIT_PART);
	struct text *text = find(texts, hash);

	if (text && text->is_whole)
		return;
	if (!text && part == 1)
		text = add(texts, hash);
	if (!text)
		return;
	if (part == 1) {
		rf_buf_clear(&text->buf);
		text->parts = 0;
	}
	if (part != text->parts + 1)
		return;
	rf_buf_add(&text->buf, event->values[RF_AUDIT_TEXT_PART].text,
		   event->values[RF_AUDIT_TEXT_PART].len);
	text->parts = part;
	text->is_whole = part == rf_audit_event_get(event, RF_AUDIT_COUNT) &&
			 !text->buf.has_failed && is_hashed(text);
}

const char *rf_texts_find(const struct rf_texts *texts, const uint8_t hash[RF_AUDIT_HASH])
{
	const struct text *text = find(texts, hash);

	return text && text->is_whole ? text->buf.data : NULL;
}

bool rf_texts_has_failed(const struct rf_texts *texts)
{
	return texts->has_failed;
}
