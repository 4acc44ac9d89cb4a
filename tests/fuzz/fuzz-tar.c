/* A tar archive: no entry leads out of the tree, every number is within its bound, and what is read is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "archive/tar.h"
#include "replay.h"

struct memory {
	const uint8_t *data;
	size_t left;
};

static ssize_t pull(void *data, void *bytes, size_t len)
{
	struct memory *memory = data;
	size_t part = memory->left < len ? memory->left : len;

	memcpy(bytes, memory->data, part);
	memory->data += part;
	memory->left -= part;
	return (ssize_t)part;
}

static void check_path(const char *path)
{
	size_t len = strlen(path);

	if (*path == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
	    strstr(path, "/../") || strstr(path, "//") ||
	    (len > 2 && strcmp(path + len - 3, "/..") == 0))
		abort();
}

static void check(const struct rf_tar_entry *entry)
{
	uint64_t end = 0, sum = 0;

	check_path(entry->path);
	if (entry->type == RF_TAR_HARD_LINK)
		check_path(entry->target);
	if (entry->mode & ~0777U || entry->mtime_ns >= 1000000000)
		abort();
	for (size_t i = 0; i < entry->attributes.count; i++)
		if (!rf_attributes_count(entry->attributes.items[i].name))
			abort();
	for (size_t i = 0; i < entry->piece_count; i++) {
		if (entry->pieces[i].offset < end)
			abort();
		end = entry->pieces[i].offset + entry->pieces[i].len;
		sum += entry->pieces[i].len;
	}
	if (end > entry->size || (entry->pieces && sum != entry->stored))
		abort();
}

/* Writes the entry, reads that, and finds the same. */
static void write_and_read(const struct rf_tar_entry *entry)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_tar_reader reader;
	struct rf_tar_entry again;
	struct rf_err err = RF_ERR_INIT;
	struct memory memory;

	rf_buf_init(&out, 1 << 24);
	rf_tar_put_entry(entry, &out);
	memory = (struct memory){ (const uint8_t *)out.data, out.len };
	reader = (struct rf_tar_reader){ .pull = pull, .data = &memory };
	if (rf_tar_next(&reader, &again, &err) != 1)
		abort();
	if (again.type != entry->type || strcmp(again.path, entry->path) != 0 ||
	    (entry->target && strcmp(again.target, entry->target) != 0) ||
	    again.mode != entry->mode || again.size != entry->size ||
	    again.stored != entry->stored || again.mtime != entry->mtime ||
	    again.mtime_ns != entry->mtime_ns || again.piece_count != entry->piece_count ||
	    again.attributes.count != entry->attributes.count)
		abort();
	for (size_t i = 0; i < again.attributes.count; i++)
		if (!rf_attributes_are_same(&again.attributes.items[i],
					    &entry->attributes.items[i]))
			abort();
	rf_tar_entry_done(&again);
}

RF_FUZZ(data, size)
{
	struct memory memory = { data, size };
	struct rf_tar_reader reader = { .pull = pull, .data = &memory };
	struct rf_err err = RF_ERR_INIT;
	int more;

	do {
		struct rf_tar_entry entry;
		char bytes[777];

		more = rf_tar_next(&reader, &entry, &err);
		if (more > 0) {
			check(&entry);
			if (*entry.path) /* the top itself is nothing that we write */
				write_and_read(&entry);
			while (rf_tar_read(&reader, bytes, sizeof(bytes), &err) > 0)
				;
		}
		rf_tar_entry_done(&entry);
	} while (more > 0);
	return 0;
}
