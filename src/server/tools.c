/* Which languages this machine has programs for: see tools.h. */
#include "server/tools.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST 64

/* What a box has, too. */
static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };

static struct {
	const char *name, *words;
} found[MOST];

/* By the first of its words. */
static bool is_there(const char *words)
{
	char path[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%.*s", folders[i], (int)strcspn(words, " "),
			 words);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static const char *program_of(const struct rf_lang *lang)
{
	for (const char *const *need = lang->needs; *need; need++)
		if (!is_there(*need))
			return NULL;
	for (const char *const *words = lang->programs; *words; words++)
		if (is_there(*words))
			return *words;
	return NULL;
}

void rf_tools_look(void)
{
	const struct rf_langs langs = { 0 };
	const struct rf_lang *lang;

	for (size_t i = 0; i < MOST && (lang = rf_lang_at(&langs, i)); i++) {
		found[i].name = lang->name;
		found[i].words = program_of(lang);
	}
}

const char *rf_tools_find(const struct rf_lang *lang)
{
	for (size_t i = 0; i < MOST && found[i].name; i++)
		if (strcmp(found[i].name, lang->name) == 0)
			return found[i].words;
	return NULL;
}
