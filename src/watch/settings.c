/* What a watcher was started with: see settings.h. */
#include "watch/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define FILE_NAME "settings"
#define FILE_NEW  "settings.new"

/* Takes a line apart; false at the end.  What has no value is no setting. */
static bool next(const char **at, char name[RF_SETTINGS_LINE], char value[RF_SETTINGS_LINE])
{
	while (**at) {
		size_t line = strcspn(*at, "\n"), len = strcspn(*at, " \n");
		const char *rest = *at + len + 1;
		bool is_one = len > 0 && len < line && len < RF_SETTINGS_LINE;

		if (is_one) {
			snprintf(name, RF_SETTINGS_LINE, "%.*s", (int)len, *at);
			snprintf(value, RF_SETTINGS_LINE, "%.*s", (int)(line - len - 1), rest);
		}
		*at += line + ((*at)[line] == '\n');
		if (is_one)
			return true;
	}
	return false;
}

/* The value of a setting, or "". */
static void find(const char *text, const char *wanted, char value[RF_SETTINGS_LINE])
{
	char name[RF_SETTINGS_LINE];

	while (next(&text, name, value))
		if (strcmp(name, wanted) == 0)
			return;
	value[0] = '\0';
}

static void clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void tell(const char *name, char *from, char *to, rf_settings_fn *fn, void *data)
{
	char shown[RF_SETTINGS_LINE];

	snprintf(shown, sizeof(shown), "%s", name);
	clean(shown);
	clean(from);
	clean(to);
	fn(data, shown, from, to);
}

void rf_settings_compare(const char *before, const char *now, rf_settings_fn *fn, void *data)
{
	char name[RF_SETTINGS_LINE], from[RF_SETTINGS_LINE], to[RF_SETTINGS_LINE];
	const char *at = now;

	while (next(&at, name, to)) {
		find(before, name, from);
		if (strcmp(from, to) != 0)
			tell(name, from, to, fn, data);
	}
	at = before;
	while (next(&at, name, from)) {
		find(now, name, to);
		if (!to[0] && from[0])
			tell(name, from, to, fn, data);
	}
}

int rf_settings_note(int dir, const char *now, rf_settings_fn *fn, void *data)
{
	RF_AUTO_FD int file = -1;
	char before[RF_SETTINGS_TEXT];
	int code;

	if (rf_fd_read_text(dir, FILE_NAME, before, sizeof(before)) >= 0)
		rf_settings_compare(before, now, fn, data);
	file = openat(dir, FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	code = file < 0 ? -errno : rf_fd_write(file, now, strlen(now));
	if (code == 0 && renameat(dir, FILE_NEW, dir, FILE_NAME) < 0)
		code = -errno;
	return code;
}
