/* Forms with files that strangers send: read alike at once and in pieces, and no byte is told that did not come. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/multipart.h"

struct sum {
	uint64_t data, hash;
	unsigned parts;
	bool is_bad, has_ended;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_all(struct rf_span type, const uint8_t *data, size_t size, size_t piece,
		     struct sum *sum)
{
	struct rf_multipart reader;
	size_t at = 0, there = 0, used;

	*sum = (struct sum){ .is_bad = !rf_multipart_init(&reader, type) };
	while (!sum->is_bad && !sum->has_ended) {
		struct rf_span input = { (const char *)data + at, there - at };
		enum rf_multipart_event event = rf_multipart_next(&reader, input, &used);

		require(used <= input.len);
		at += used;
		if (event == RF_MULTIPART_MORE && there == size)
			return;
		if (event == RF_MULTIPART_MORE)
			there = there + piece < size ? there + piece : size;
		if (event == RF_MULTIPART_DATA) {
			require(reader.data.at == input.at && reader.data.len == used && used > 0);
			sum->data += used;
			for (size_t i = 0; i < used; i++)
				sum->hash = sum->hash * 31 + (uint8_t)reader.data.at[i];
		}
		sum->parts += event == RF_MULTIPART_PART;
		sum->is_bad = event == RF_MULTIPART_BAD;
		sum->has_ended = event == RF_MULTIPART_END;
		require(strlen(reader.name) < RF_MULTIPART_NAME);
	}
}

/* The first line is the type, the rest the body. */
RF_FUZZ(data, size)
{
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	struct rf_span type = { (const char *)data, line ? (size_t)(line - data) : 0 };
	struct sum whole, parts;
	size_t from = line ? type.len + 1 : 0;

	if (!line)
		return 0;
	read_all(type, data + from, size - from, size, &whole);
	for (size_t piece = 1; piece < 8; piece += 3) {
		read_all(type, data + from, size - from, piece, &parts);
		require(parts.data == whole.data || whole.is_bad || !whole.has_ended);
		require(parts.is_bad == whole.is_bad && parts.has_ended == whole.has_ended);
		require(!whole.has_ended ||
			(parts.hash == whole.hash && parts.parts == whole.parts));
	}
	return 0;
}
