/* The register of a server: see register.h. */
#include "server/register.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"

#define FILE_NAME "server.db"

enum {
	UNDER_WAY,
	ANSWERED,
	UNSURE,
	TOO_LONG
};

/* clang-format off */
static const char tables[] =
	"CREATE TABLE IF NOT EXISTS sandbox (id TEXT PRIMARY KEY, tenant TEXT, key TEXT, note TEXT, made INTEGER,"
	" deadline INTEGER, ended INTEGER, why TEXT, round INTEGER) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS once (tenant TEXT, name TEXT, key TEXT, hash TEXT, state INTEGER, status INTEGER,"
	" answer TEXT, made INTEGER, PRIMARY KEY (tenant, name)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS once_made ON once (made);"
	"CREATE INDEX IF NOT EXISTS sandbox_old ON sandbox (ended) WHERE ended IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS sandbox_ended ON sandbox (tenant, ended) WHERE ended IS NOT NULL;"
	"PRAGMA user_version = 1;";

enum statement {
	BEGAN, CAME_TO_END, OTHERS, FATE, LOOK, COUNT, INSERT, STORE, DROP, LOSE, MADE, LAST, OLD_ONCE, OLD_BOXES, MANY_BOXES,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[BEGAN] = "INSERT INTO sandbox VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL, ?7) ON CONFLICT (id) DO UPDATE SET deadline = ?6, round = ?7, ended = NULL, why = NULL",
	[CAME_TO_END] = "UPDATE sandbox SET ended = ?2, why = ?3, note = NULL WHERE id = ?1",
	[OTHERS] = "UPDATE sandbox SET ended = ?1, why = ?2 WHERE ended IS NULL AND round < ?3",
	[FATE] = "SELECT why FROM sandbox WHERE id = ?1 AND tenant = ?2 AND ended IS NOT NULL",
	[LOOK] = "SELECT hash, state, status, answer FROM once WHERE tenant = ?1 AND name = ?2 AND made > ?3",
	[COUNT] = "SELECT count(*), total(length(answer)) FROM once WHERE tenant = ?1",
	[INSERT] = "INSERT OR REPLACE INTO once VALUES (?1, ?2, ?3, ?4, ?5, 0, NULL, ?6)",
	[STORE] = "UPDATE once SET state = ?3, status = ?4, answer = ?5 WHERE key = ?1 AND name = ?2 AND state = 0",
	[DROP] = "DELETE FROM once WHERE key = ?1 AND name = ?2 AND state = 0",
	[LOSE] = "UPDATE once SET state = ?1 WHERE state = 0",
	[MADE] = "SELECT id FROM sandbox WHERE tenant = ?1 AND ended IS NULL AND json_valid(note) AND json_extract(note, '$.once') = ?2",
	[LAST] = "SELECT coalesce(max(round), 0) FROM sandbox",
	[OLD_ONCE] = "DELETE FROM once WHERE made <= ?1 AND state != 0",
	[OLD_BOXES] = "DELETE FROM sandbox WHERE ended <= ?1",
	[MANY_BOXES] = "DELETE FROM sandbox WHERE id IN (SELECT id FROM sandbox WHERE tenant = ?1 AND ended IS NOT NULL ORDER BY ended DESC LIMIT -1 OFFSET ?2)",
};
/* clang-format on */

struct rf_register {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	int64_t round;
};

static int fail_db(const struct rf_register *reg, const char *what, struct rf_err *err)
{
	rf_fail_say(err, -EIO, "%s " FILE_NAME ": %s", what,
		    reg->db ? sqlite3_errmsg(reg->db) : "no memory");
	return rf_fail_hint(err, "it lies in the state folder; without it, it is made anew");
}

static int prepare(struct rf_register *reg, struct rf_err *err)
{
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(reg->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &reg->statements[i], NULL) != SQLITE_OK)
			return fail_db(reg, "read", err);
	return 0;
}

int rf_register_open(struct rf_register **ret_register, struct rf_err *err)
{
	struct rf_register *reg = calloc(1, sizeof(*reg));
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_NOFOLLOW;
	char folder[4096], path[4200];
	RF_AUTO_FD int state = rf_statedir_open(true);
	mode_t mask;
	int code;

	if (!reg)
		return rf_fail(err, -ENOMEM, "the register");
	if (state < 0 || !rf_statedir_path(folder, sizeof(folder))) {
		free(reg);
		return rf_fail(err, state < 0 ? state : -ENOENT, "the state folder");
	}
	snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
	mask = umask(0177);
	code = sqlite3_open_v2(path, &reg->db, flags, NULL);
	if (code == SQLITE_OK) {
		sqlite3_db_config(reg->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(reg->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_busy_timeout(reg->db, 2000);
		code = sqlite3_exec(reg->db,
				    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL,
				    NULL, NULL);
	}
	if (code == SQLITE_OK)
		code = sqlite3_exec(reg->db, tables, NULL, NULL, NULL);
	umask(mask);
	if (code != SQLITE_OK || prepare(reg, err) < 0) {
		if (!err->code)
			fail_db(reg, "open", err);
		rf_register_close(reg);
		return err->code;
	}
	if (sqlite3_step(reg->statements[LAST]) == SQLITE_ROW)
		reg->round = sqlite3_column_int64(reg->statements[LAST], 0);
	sqlite3_reset(reg->statements[LAST]);
	*ret_register = reg;
	return 0;
}

void rf_register_close(struct rf_register *reg)
{
	if (!reg)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(reg->statements[i]);
	sqlite3_close(reg->db);
	free(reg);
}

/* ------------------------------------------------------------- statements */

static sqlite3_stmt *use(struct rf_register *reg, enum statement which)
{
	sqlite3_stmt *stmt = reg->statements[which];

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return stmt;
}

/* As bytes: of those the length is known without reading them. */
static void put_bytes(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_blob(stmt, at, text, (int)strlen(text), SQLITE_TRANSIENT);
}

static void put_text(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
}

/* 1: a row is there; 0: none; -1: it failed. */
static int step(sqlite3_stmt *stmt)
{
	int code = sqlite3_step(stmt);

	return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : -1;
}

/* One that gives no row. */
static bool run(sqlite3_stmt *stmt)
{
	bool is_done = step(stmt) == 0;

	sqlite3_reset(stmt);
	return is_done;
}

/* ------------------------------------------------------------- sandboxes */

/* That one began need not be on the disk before anybody hears of it: the warden knows it, too. */
void rf_register_begin(struct rf_register *reg)
{
	reg->round++;
	sqlite3_exec(reg->db, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", NULL, NULL, NULL);
}

void rf_register_end(struct rf_register *reg)
{
	sqlite3_exec(reg->db, "COMMIT; PRAGMA synchronous = FULL", NULL, NULL, NULL);
}

void rf_register_note(struct rf_register *reg, const struct rf_news *news)
{
	int64_t now = time(NULL);
	sqlite3_stmt *stmt = use(reg, news->why[0] ? CAME_TO_END : BEGAN);

	put_text(stmt, 1, news->id);
	if (news->why[0]) {
		sqlite3_bind_int64(stmt, 2, now);
		put_text(stmt, 3, news->why);
	} else {
		put_text(stmt, 2, news->tenant);
		put_text(stmt, 3, news->key);
		put_text(stmt, 4, news->note);
		sqlite3_bind_int64(stmt, 5, now);
		if (news->left_ms != UINT64_MAX)
			sqlite3_bind_int64(stmt, 6, now + (int64_t)(news->left_ms / 1000));
		sqlite3_bind_int64(stmt, 7, reg->round);
	}
	run(stmt);
	if (!news->why[0])
		return;
	stmt = use(reg, MANY_BOXES); /* one index, read to where there is nothing to do */
	put_text(stmt, 1, news->tenant);
	sqlite3_bind_int64(stmt, 2, RF_REGISTER_ENDS);
	run(stmt);
}

void rf_register_tidy(struct rf_register *reg)
{
	static const enum statement old[] = { OLD_BOXES, OLD_ONCE };

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		sqlite3_stmt *stmt = use(reg, old[i]);

		sqlite3_bind_int64(stmt, 1, time(NULL) - RF_REGISTER_KEEP_S);
		run(stmt);
	}
}

void rf_register_end_others(struct rf_register *reg, const char *why)
{
	sqlite3_stmt *stmt = use(reg, OTHERS);

	sqlite3_bind_int64(stmt, 1, time(NULL));
	put_text(stmt, 2, why);
	sqlite3_bind_int64(stmt, 3, reg->round);
	run(stmt);
	rf_register_tidy(reg);
}

void rf_register_fate(struct rf_register *reg, const char *tenant, const char *id, char *why,
		      size_t size)
{
	sqlite3_stmt *stmt = use(reg, FATE);

	why[0] = '\0';
	put_text(stmt, 1, id);
	put_text(stmt, 2, tenant);
	if (step(stmt) == 1)
		snprintf(why, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_reset(stmt);
}

/* ------------------------------------------------------------- what is done once */

static struct rf_pass_told tell(enum rf_pass_verdict verdict)
{
	return (struct rf_pass_told){ .verdict = verdict, .text = "" };
}

/* A sandbox that was made for it is there, though nobody was told. */
static bool find_made(struct rf_register *reg, const char *tenant, const char *name,
		      struct rf_buf *text)
{
	sqlite3_stmt *stmt = use(reg, MADE);
	bool is_there;

	put_text(stmt, 1, tenant);
	put_text(stmt, 2, name);
	is_there = step(stmt) == 1;
	if (is_there)
		rf_buf_puts(text, (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_reset(stmt);
	return is_there;
}

static struct rf_pass_told recall(struct rf_register *reg, sqlite3_stmt *stmt, const char *tenant,
				  const char *name, const char *hash, struct rf_buf *text)
{
	struct rf_pass_told told = tell(RF_PASS_FAILED);
	const char *before = (const char *)sqlite3_column_text(stmt, 0);
	const char *answer = (const char *)sqlite3_column_text(stmt, 3);

	if (!before || strcmp(before, hash) != 0)
		return tell(RF_PASS_OTHER);
	switch (sqlite3_column_int(stmt, 1)) {
	case UNDER_WAY:
		return tell(RF_PASS_BUSY);
	case TOO_LONG:
		return tell(RF_PASS_LONG);
	case ANSWERED:
		rf_buf_puts(text, answer ? answer : "");
		told.verdict = RF_PASS_AGAIN;
		told.status = (uint32_t)sqlite3_column_int(stmt, 2);
		break;
	default:
		told.verdict = find_made(reg, tenant, name, text) ? RF_PASS_MADE : RF_PASS_UNSURE;
		break;
	}
	if (text->has_failed)
		return tell(RF_PASS_FAILED);
	told.text = text->len ? text->data : "";
	return told;
}

/* Refused, and not forgotten early: who was promised a day has one. */
static bool is_full(struct rf_register *reg, const char *tenant)
{
	sqlite3_stmt *stmt = use(reg, COUNT);
	bool is_so;

	put_text(stmt, 1, tenant);
	is_so = step(stmt) == 1 && (sqlite3_column_int64(stmt, 0) >= RF_REGISTER_NAMES ||
				    sqlite3_column_double(stmt, 1) >= RF_REGISTER_BYTES);
	sqlite3_reset(stmt);
	return is_so;
}

struct rf_pass_told rf_register_once(struct rf_register *reg, const char *key, const char *tenant,
				     const char *name, const char *hash, struct rf_buf *text)
{
	int64_t now = time(NULL);
	sqlite3_stmt *stmt = use(reg, LOOK);
	struct rf_pass_told told = tell(RF_PASS_FAILED);
	int got;

	rf_buf_clear(text);
	put_text(stmt, 1, tenant);
	put_text(stmt, 2, name);
	sqlite3_bind_int64(stmt, 3, now - RF_REGISTER_KEEP_S);
	got = step(stmt);
	if (got == 1)
		told = recall(reg, stmt, tenant, name, hash, text);
	sqlite3_reset(stmt);
	if (got != 0)
		return told;
	stmt = use(reg, OLD_ONCE);
	sqlite3_bind_int64(stmt, 1, now - RF_REGISTER_KEEP_S);
	run(stmt);
	if (is_full(reg, tenant))
		return tell(RF_PASS_FULL);
	stmt = use(reg, INSERT);
	put_text(stmt, 1, tenant);
	put_text(stmt, 2, name);
	put_text(stmt, 3, key);
	put_text(stmt, 4, hash);
	sqlite3_bind_int(stmt, 5, UNDER_WAY);
	sqlite3_bind_int64(stmt, 6, now);
	return tell(run(stmt) ? RF_PASS_GO : RF_PASS_FAILED);
}

enum rf_pass_verdict rf_register_store(struct rf_register *reg, const char *key, const char *name,
				       uint32_t status, const char *text)
{
	sqlite3_stmt *stmt = use(reg, status == 0 ? DROP : STORE);
	bool is_long = status >= 100 && !text[0] && status != 204;

	put_text(stmt, 1, key);
	put_text(stmt, 2, name);
	if (status != 0) {
		sqlite3_bind_int(stmt, 3, status == 1 ? UNSURE : is_long ? TOO_LONG : ANSWERED);
		sqlite3_bind_int(stmt, 4, (int)status);
		put_bytes(stmt, 5, text);
	}
	return run(stmt) && sqlite3_changes(reg->db) > 0 ? RF_PASS_STORED : RF_PASS_FAILED;
}

void rf_register_lose(struct rf_register *reg)
{
	sqlite3_stmt *stmt = use(reg, LOSE);

	sqlite3_bind_int(stmt, 1, UNSURE);
	run(stmt);
}
