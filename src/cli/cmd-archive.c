/* ringfort export, import: a workspace as an archive; the program ringfort-archive does the work. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/service.h"
#include "cli/worksite.h"

#define PROGRAM   "ringfort-archive"
#define MAX_BYTES ((uint64_t)16 << 30)
#define MAX_FILES 1000000

/* The workspace that is meant: by a word, by -w, or by where we are. */
static int find_name(const struct rf_worksite *site, char name[RF_LEDGER_NAME], struct rf_err *err)
{
	struct rf_worksite there = *site;

	if (site->count > 0)
		there.workspace = site->words[0];
	if (rf_worksite_name(&there, name, err) < 0)
		return err->code;
	if (rf_workspace_exists(name))
		return 0;
	rf_fail_say(err, -ENOENT, "there is no workspace `%.60s`",
		    there.workspace ? there.workspace : name);
	return rf_fail_hint(err, "`ringfort workspaces` lists those there are");
}

static int export_it(const struct rf_worksite *site, struct rf_err *err)
{
	char name[RF_LEDGER_NAME], at[16];
	const char *words[] = { PROGRAM, "export", name, NULL, at, NULL };
	struct rf_ledger ledger;
	uint32_t point = 0;
	int code = find_name(site, name, err);

	if (code < 0)
		return code;
	if (isatty(STDOUT_FILENO)) {
		rf_fail_say(err, -EINVAL, "an archive is nothing for a terminal");
		return rf_fail_hint(err, "ringfort export %s > %s.tar.zst", name, name);
	}
	if (site->at) {
		code = rf_workspace_peek(name, &ledger, err);
		if (code == 0)
			code = rf_ledger_find_point(&ledger, site->at, &point, err);
		rf_ledger_done(&ledger);
		if (code < 0)
			return code;
		snprintf(at, sizeof(at), "%u", point);
		words[3] = "--at";
	}
	return rf_service_become(PROGRAM, words, err);
}

static int import_it(const struct rf_worksite *site, struct rf_err *err)
{
	char name[RF_LEDGER_NAME], bytes[24], files[24];
	const char *const words[] = { PROGRAM, "import",      name,  "--max-bytes",
				      bytes,   "--max-files", files, NULL };

	if (find_name(site, name, err) < 0)
		return err->code;
	if (isatty(STDIN_FILENO)) {
		rf_fail_say(err, -EINVAL, "an archive is read from standard input");
		return rf_fail_hint(err, "ringfort import %s < %s.tar.zst", name, name);
	}
	snprintf(bytes, sizeof(bytes), "%llu",
		 (unsigned long long)(site->max_bytes ? site->max_bytes : MAX_BYTES));
	snprintf(files, sizeof(files), "%llu",
		 (unsigned long long)(site->max_files ? site->max_files : MAX_FILES));
	return rf_service_become(PROGRAM, words, err);
}

int rf_cmd_export(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_EXPORT, 1, export_it, argc, argv);
}

int rf_cmd_import(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_IMPORT, 1, import_it, argc, argv);
}
