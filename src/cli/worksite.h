/*
 * What the commands of workspaces have in common: the line that they are given, and which workspace and which point of
 * it are meant.
 */
#ifndef RF_CLI_WORKSITE_H
#define RF_CLI_WORKSITE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/moves.h"
#include "base/err.h"
#include "cli/command.h"
#include "workspace/apply.h"
#include "workspace/workspace.h"

#define RF_WORKSITE_WORDS INT_MAX /* as many as there are */

/* How something is shown. */
enum rf_worksite_form {
	RF_WORKSITE_LIST,
	RF_WORKSITE_STAT,
	RF_WORKSITE_PATCH,
	RF_WORKSITE_JSON,
};

/* What the line says. */
struct rf_worksite {
	bool wants_help, is_json, is_durable, is_recursive, is_long;
	bool is_live;               /* copies what runs in it, which goes on */
	bool stops;                 /* ends what runs in the workspace first */
	enum rf_worksite_form form; /* JSON as well where is_json */
	enum rf_apply_conflict on_conflict;
	const char *workspace;         /* -w, or NULL */
	const char *name;              /* --name, or NULL */
	uint32_t times;                /* -n, or 0 */
	const char *at;                /* --at, a point, or NULL */
	const char *content;           /* --content, or NULL */
	uint64_t max_bytes, max_files; /* of an archive; 0: not said */
	const char **words;            /* what is no option */
	int count;
	const char **only; /* --only, as often as it was said, NULL-ended */
	int only_count;
};

typedef int rf_worksite_fn(const struct rf_worksite *site, struct rf_err *err);

/* Reads the line of command `id`, which may have so many words, carries it out, and gives the exit code. */
int rf_worksite_run(enum rf_cmd_id id, int words, rf_worksite_fn *fn, int argc, char **argv);

/* Opens the workspace that is meant: by name, or the one that lies over the current directory. */
int rf_worksite_open(const struct rf_worksite *site, struct rf_workspace *workspace,
		     struct rf_err *err);

/* The name of the workspace that is meant, the same way. */
int rf_worksite_name(const struct rf_worksite *site, char ret_name[RF_LEDGER_NAME],
		     struct rf_err *err);

/* Tells the watcher, if one stands, what was done; says so where it can't be. */
void rf_worksite_tell(const struct rf_move *moves, size_t count);

/* The same of an apply, or of one that is taken back; `was_broken`: it had been interrupted; `why`: it failed. */
void rf_worksite_tell_apply(const struct rf_workspace *workspace, const struct rf_apply *apply,
			    enum rf_audit_kind kind, bool was_broken, const struct rf_err *why);

/* Says that not all of the directory `path` was looked at, where that is so. */
void rf_worksite_tell_scan(const struct rf_base_scan *scan, const char *path);

/* Where `directory` is, absolute and normal; `path` has room for RF_FILES_PATH bytes. */
int rf_worksite_directory(const char *directory, char *path, struct rf_err *err);

#endif
