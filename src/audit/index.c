/*
 * An index of the audit log: see index.h.
 *
 * One table of tiles in a SQLite file, all of which is read when it is opened: a million records are a thousand rows.  A file
 * that is no database, of another version or chain, or with rows that do not add up is made anew.
 */
#include "audit/index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/segment.h"
#include "audit/tile.h"
#include "base/fd.h"

#define VERSION   1
#define TILES_MAX (1u << 22) /* four thousand million records */
#define WORDS_MAX 8192       /* bytes of a filter */

struct rf_index {
	int dir;         /* of the log; borrowed */
	uint64_t *files; /* of the log, by number */
	size_t file_count;
	char path[PATH_MAX];
	uint8_t chain[RF_AUDIT_HASH];
	struct rf_digest *digest;
	sqlite3 *db;
	struct rf_index_tile *tiles;
	size_t count, room;
};

/* ------------------------------------------------------------- tiles in memory */

size_t rf_index_count(const struct rf_index *index)
{
	return index->count;
}

const struct rf_index_tile *rf_index_tile(const struct rf_index *index, size_t i)
{
	return &index->tiles[i];
}

void rf_index_end(const struct rf_index *index, uint64_t *ret_segment, uint64_t *ret_offset)
{
	const struct rf_index_tile *last = index->count ? &index->tiles[index->count - 1] : NULL;

	*ret_segment = last ? last->segment : 0;
	*ret_offset = last ? last->end : 0;
}

static bool may_have(const struct rf_index_tile *tile, enum rf_audit_field field, const char *text)
{
	return !text || rf_tile_has(tile, rf_tile_word(field, text, strlen(text)));
}

bool rf_index_may_have(const struct rf_index_tile *tile, const struct rf_pick *filter)
{
	return tile->kinds != 0 && tile->until_ns >= filter->since_ns &&
	       (!filter->until_ns || tile->since_ns < filter->until_ns) &&
	       (!filter->kinds || filter->kinds & tile->kinds) &&
	       may_have(tile, RF_AUDIT_AGENT, filter->agent) &&
	       may_have(tile, RF_AUDIT_BOX, filter->box) &&
	       may_have(tile, RF_AUDIT_VERDICT, filter->verdict);
}

static void forget(struct rf_index *index)
{
	for (size_t i = 0; i < index->count; i++)
		free(index->tiles[i].words);
	index->count = 0;
}

/* Takes its filter with it. */
static int keep(struct rf_index *index, const struct rf_index_tile *tile)
{
	struct rf_index_tile *more = index->tiles;

	if (index->count == index->room) {
		size_t room = index->room ? 2 * index->room : 256;

		more = room > TILES_MAX ? NULL : realloc(more, room * sizeof(*more));
		if (!more) {
			free(tile->words);
			return -ENOMEM;
		}
		index->tiles = more;
		index->room = room;
	}
	more[index->count++] = *tile;
	return 0;
}

void rf_index_free(struct rf_index *index)
{
	if (!index)
		return;
	forget(index);
	free(index->tiles);
	free(index->files);
	rf_digest_free(index->digest);
	sqlite3_close(index->db);
	free(index);
}

/* ------------------------------------------------------------- the database */

static int fail_db(const struct rf_index *index, const char *what, struct rf_err *err)
{
	return rf_fail_say(err, -EIO, "the index: %s: %s", what,
			   index->db ? sqlite3_errmsg(index->db) : "no memory");
}

static int run(const struct rf_index *index, const char *sql, struct rf_err *err)
{
	return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : fail_db(index, sql, err);
}

/* What a file says of itself in one number; -1 if it says nothing. */
static int64_t ask(const struct rf_index *index, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t number = -1;

	if (sqlite3_prepare_v2(index->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return number;
}

static int open_db(struct rf_index *index, bool may_make, struct rf_err *err)
{
	int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
		    (may_make ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);

	if (sqlite3_open_v2(index->path, &index->db, flags, NULL) != SQLITE_OK)
		return fail_db(index, "open", err);
	/* What it holds may be anybody's: nothing in it is run, and nothing is believed of its pages. */
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(index->db, SQLITE_LIMIT_LENGTH, 1 << 20);
	return run(index, "PRAGMA cell_size_check = ON", err);
}

static int make_table(const struct rf_index *index, struct rf_err *err)
{
	return run(index,
		   "PRAGMA synchronous = OFF;" /* what a crash leaves of it is made anew */
		   "BEGIN IMMEDIATE;"
		   "CREATE TABLE tile (segment INTEGER, begin INTEGER, \"end\" INTEGER,"
		   " first_seq INTEGER, last_seq INTEGER, since INTEGER, until INTEGER,"
		   " kinds INTEGER, prev BLOB, head BLOB, words BLOB, sum BLOB,"
		   " PRIMARY KEY (segment, begin)) WITHOUT ROWID;"
		   "PRAGMA user_version = 1;"
		   "COMMIT;",
		   err);
}

static bool take_hash(sqlite3_stmt *stmt, int column, uint8_t hash[RF_AUDIT_HASH])
{
	const void *bytes = sqlite3_column_blob(stmt, column);

	if (!bytes || sqlite3_column_bytes(stmt, column) != RF_AUDIT_HASH)
		return false;
	memcpy(hash, bytes, RF_AUDIT_HASH);
	return true;
}

/* A row, if it says what it did when it was written. */
static int take_row(struct rf_index *index, sqlite3_stmt *stmt, struct rf_index_tile *tile)
{
	uint64_t *const figures[] = { &tile->segment,   &tile->begin,    &tile->end,
				      &tile->first_seq, &tile->last_seq, &tile->since_ns,
				      &tile->until_ns,  &tile->kinds };
	uint8_t sum[RF_AUDIT_HASH], again[RF_AUDIT_HASH];
	const void *words;
	int len, column = 0;

	for (; column < (int)RF_LEN(figures); column++)
		*figures[column] = (uint64_t)sqlite3_column_int64(stmt, column);
	words = sqlite3_column_blob(stmt, column + 2);
	len = sqlite3_column_bytes(stmt, column + 2);
	if (!take_hash(stmt, column, tile->prev) || !take_hash(stmt, column + 1, tile->head) ||
	    !take_hash(stmt, column + 3, sum) || !words || len <= 0 || len > WORDS_MAX)
		return -EBADMSG;
	tile->words = malloc((size_t)len);
	if (!tile->words)
		return -ENOMEM;
	memcpy(tile->words, words, (size_t)len);
	tile->words_len = (size_t)len;
	if (rf_tile_sum(index->digest, tile, again) == 0 && memcmp(sum, again, sizeof(sum)) == 0)
		return 0;
	free(tile->words);
	return -EBADMSG;
}

static bool is_file(const struct rf_index *index, uint64_t number)
{
	for (size_t i = 0; i < index->file_count; i++)
		if (index->files[i] == number)
			return true;
	return false;
}

/* True if nothing lies between the last tile and this one. */
static bool follows(const struct rf_index *index, const struct rf_index_tile *tile)
{
	const struct rf_index_tile *last = index->count ? &index->tiles[index->count - 1] : NULL;
	char name[RF_SEGMENT_NAME];
	struct stat st;

	if (tile->end <= tile->begin || tile->last_seq < tile->first_seq)
		return false;
	if (!last)
		return tile->begin == 0 && tile->segment == index->files[0];
	if (tile->first_seq != last->last_seq + 1 ||
	    memcmp(tile->prev, last->head, RF_AUDIT_HASH) != 0)
		return false;
	if (tile->segment == last->segment)
		return tile->begin == last->end;
	rf_segment_name(last->segment, name);
	return tile->segment == last->segment + 1 && tile->begin == 0 &&
	       fstatat(index->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_size == last->end;
}

/* Reads all rows.  -EBADMSG: it is no index of this log. */
static int load(struct rf_index *index, struct rf_err *err)
{
	static const char sql[] =
		"SELECT segment, begin, \"end\", first_seq, last_seq, since, until,"
		" kinds, prev, head, words, sum FROM tile ORDER BY segment, begin";
	sqlite3_stmt *stmt = NULL;
	int code = 0, step = SQLITE_DONE;

	forget(index);
	if (ask(index, "PRAGMA user_version") != VERSION ||
	    sqlite3_prepare_v2(index->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return rf_fail_say(err, -EBADMSG, "the index is none");
	while (code == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct rf_index_tile tile = { 0 };

		if ((uint64_t)sqlite3_column_int64(stmt, 0) < index->files[0])
			continue; /* of a file that went by the rules */
		code = take_row(index, stmt, &tile);
		if (code == 0 && (!follows(index, &tile) || !is_file(index, tile.segment))) {
			free(tile.words);
			code = -EBADMSG;
		}
		if (code == 0)
			code = keep(index, &tile);
	}
	sqlite3_finalize(stmt);
	if (code == 0 && step != SQLITE_DONE)
		code = -EBADMSG;
	if (code < 0) {
		forget(index);
		return rf_fail_say(err, code, "the index is not what was written");
	}
	return 0;
}

/* ------------------------------------------------------------- opening */

static int name_chain(struct rf_index *index, struct rf_err *err)
{
	struct rf_frame_segment says = { 0 };
	struct rf_segment segment = { 0 };
	struct rf_frame frame;
	int code = -EBADMSG;

	if (rf_segment_list(index->dir, &index->files, &index->file_count, err) < 0)
		return err->code;
	if (index->file_count == 0)
		return rf_fail_say(err, -ENOENT, "the log is empty");
	if (rf_segment_map(index->dir, index->files[0], &segment, err) < 0)
		return err->code;
	if (segment.len > 0 && rf_frame_parse(segment.data, segment.len, &frame) == RF_FRAME_WHOLE)
		code = rf_frame_segment(&frame, &says);
	rf_segment_done(&segment);
	memcpy(index->chain, says.chain, sizeof(index->chain));
	return code < 0 ? rf_fail_say(err, code, "the log does not say which chain it is") : 0;
}

/* The real path of the folder: SQLite opens by name, and no part of the name may be a link. */
static int name_file(struct rf_index *index, int folder, struct rf_err *err)
{
	char link[32], hex[33], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return rf_fail(err, -errno, "find the index");
	path[len] = '\0';
	rf_digest_hex(index->chain, 16, hex);
	if (snprintf(index->path, sizeof(index->path), "%s/%s.db", path, hex) >=
	    (int)sizeof(index->path))
		return rf_fail_say(err, -ENAMETOOLONG, "the index has too long a name");
	return 0;
}

/* Away with what is no index; only names that are ours. */
static void remove_files(const struct rf_index *index)
{
	char path[PATH_MAX + 16];

	unlink(index->path);
	snprintf(path, sizeof(path), "%s-journal", index->path);
	unlink(path);
}

static int open_or_make(struct rf_index *index, bool may_make, struct rf_err *err)
{
	int code;

	for (int i = 0; i < 2; i++) {
		if (i > 0) {
			sqlite3_close(index->db);
			index->db = NULL;
			remove_files(index);
		}
		code = open_db(index, may_make, err);
		if (code == 0 && may_make && ask(index, "PRAGMA user_version") == 0 &&
		    ask(index, "SELECT count(*) FROM sqlite_master") == 0)
			code = make_table(index, err);
		if (code == 0)
			code = load(index, err);
		if (code == 0 || !may_make)
			return code;
	}
	return code;
}

int rf_index_open(int dir, int folder, bool may_make, struct rf_index **ret_index,
		  struct rf_err *err)
{
	struct rf_index *index = calloc(1, sizeof(*index));

	if (!index)
		return rf_fail(err, -ENOMEM, "an index");
	index->dir = dir;
	if (rf_digest_new(&index->digest, err) < 0 || name_chain(index, err) < 0 ||
	    name_file(index, folder, err) < 0 || open_or_make(index, may_make, err) < 0) {
		rf_index_free(index);
		return err->code;
	}
	*ret_index = index;
	return 0;
}

int rf_index_remove(int dir, int folder, struct rf_err *err)
{
	struct rf_index index = { .dir = dir };
	int code = name_chain(&index, err);

	if (code == 0)
		code = name_file(&index, folder, err);
	if (code == 0)
		remove_files(&index);
	free(index.files);
	return code;
}

/* ------------------------------------------------------------- what the log has by now */

static int put_row(struct rf_index *index, sqlite3_stmt *stmt, const struct rf_index_tile *tile)
{
	const uint64_t figures[] = { tile->segment,   tile->begin,    tile->end,
				     tile->first_seq, tile->last_seq, tile->since_ns,
				     tile->until_ns,  tile->kinds };
	uint8_t sum[RF_AUDIT_HASH];
	int column = 0;

	if (rf_tile_sum(index->digest, tile, sum) < 0)
		return -EIO;
	sqlite3_reset(stmt);
	for (; column < (int)RF_LEN(figures); column++)
		sqlite3_bind_int64(stmt, column + 1, (int64_t)figures[column]);
	sqlite3_bind_blob(stmt, column + 1, tile->prev, RF_AUDIT_HASH, SQLITE_TRANSIENT);
	sqlite3_bind_blob(stmt, column + 2, tile->head, RF_AUDIT_HASH, SQLITE_TRANSIENT);
	sqlite3_bind_blob(stmt, column + 3, tile->words, (int)tile->words_len, SQLITE_TRANSIENT);
	sqlite3_bind_blob(stmt, column + 4, sum, RF_AUDIT_HASH, SQLITE_TRANSIENT);
	return sqlite3_step(stmt) == SQLITE_DONE ? 0 : -EIO;
}

/* Goes on in one file.  1: all of it is taken in; 0: what is left is less than a tile, or not as it should be. */
static int take_file(struct rf_index *index, sqlite3_stmt *stmt, uint64_t number, bool is_last,
		     uint64_t *records, struct rf_err *err)
{
	struct rf_segment segment = { 0 };
	uint64_t at = 0, last = 0;
	int code = 0, got;

	rf_index_end(index, &last, &at);
	at = last == number ? at : 0;
	if (rf_segment_map(index->dir, number, &segment, err) < 0)
		return err->code;
	while (code == 0 && at < segment.len) {
		uint8_t prev[RF_AUDIT_HASH];
		struct rf_index_tile tile;
		struct rf_frame frame;

		if (index->tiles && index->count > 0)
			memcpy(prev, index->tiles[index->count - 1].head, sizeof(prev));
		else if (rf_frame_parse(segment.data, segment.len, &frame) == RF_FRAME_WHOLE)
			memcpy(prev, frame.prev, sizeof(prev)); /* the first one there is */
		else
			break;
		got = rf_tile_read(index->digest, segment.data, segment.len, at, prev, &tile);
		if (got <= 0) {
			code = got;
			break;
		}
		tile.segment = number;
		if (got < RF_INDEX_RECORDS && (is_last || tile.end < segment.len)) {
			free(tile.words); /* it will grow, or something is wrong behind it */
			break;
		}
		at = tile.end;
		*records += (uint64_t)got;
		code = put_row(index, stmt, &tile);
		if (code == 0)
			code = keep(index, &tile);
		else
			free(tile.words);
	}
	if (code == 0)
		code = at == segment.len && !is_last;
	rf_segment_done(&segment);
	return code < 0 ? rf_fail_say(err, code, "the index can't be written") : code;
}

static int take_all(struct rf_index *index, uint64_t *records, struct rf_err *err)
{
	static const char sql[] = "INSERT INTO tile VALUES (?,?,?,?,?,?,?,?,?,?,?,?)";
	sqlite3_stmt *stmt = NULL;
	uint64_t last, at;
	int code = 1;

	if (sqlite3_prepare_v2(index->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return fail_db(index, "write", err);
	rf_index_end(index, &last, &at);
	for (size_t i = 0; code > 0 && i < index->file_count; i++)
		if (index->files[i] >= last)
			code = take_file(index, stmt, index->files[i], i + 1 == index->file_count,
					 records, err);
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

int rf_index_update(struct rf_index *index, uint64_t *ret_records, struct rf_err *err)
{
	struct rf_err ignored = RF_ERR_INIT;
	uint64_t *files = NULL, records = 0;
	char old[96];
	size_t count = 0;

	if (rf_segment_list(index->dir, &files, &count, err) < 0)
		return err->code;
	free(index->files);
	index->files = files;
	index->file_count = count;
	if (count == 0)
		return rf_fail_say(err, -ENOENT, "the log is empty");
	snprintf(old, sizeof(old), "DELETE FROM tile WHERE segment < %" PRIu64, files[0]);
	/* Another reader may be at it: what it wrote is loaded, and this goes on from there. */
	if (run(index, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE", err) < 0)
		return err->code;
	if (run(index, old, err) < 0 || load(index, err) < 0 ||
	    take_all(index, &records, err) < 0 || run(index, "COMMIT", err) < 0) {
		run(index, "ROLLBACK", &ignored);
		forget(index);
		return err->code;
	}
	*ret_records = records;
	return 0;
}
