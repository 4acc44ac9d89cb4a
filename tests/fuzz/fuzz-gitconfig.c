/* Git's settings: each value fits the text that it was in, ends, and the whole is walked once. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/gitconfig.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(const struct rf_gitconfig *config, size_t size)
{
	const char *command = config->value;
	char word[PATH_MAX];

	require(strlen(config->value) <= size);
	require(strlen(config->section) < sizeof(config->section));
	require(strlen(config->name) < sizeof(config->name));
	require(rf_gitconfig_role(config) == RF_GITCONFIG_OTHER || config->value[0]);
	while (rf_gitconfig_next_file(&command, word))
		require(word[0] && strlen(word) < sizeof(word));
}

RF_FUZZ(data, size)
{
	struct rf_gitconfig config;
	char path[PATH_MAX], *text = malloc(size + 1), *scratch = malloc(size + 1);
	size_t at = 0;
	int got;

	require(text && scratch);
	if (size > 0)
		memcpy(text, data, size);
	rf_gitconfig_init(&config, text, size, scratch);
	while ((got = rf_gitconfig_next(&config)) > 0) {
		require(config.at > at && config.at <= size);
		at = config.at;
		check(&config, size);
	}
	require(got < 0 || config.at == size);
	if (rf_gitconfig_read_link(text, size, path) || rf_gitconfig_read_path(text, size, path))
		require(path[0] && strlen(path) < size + 1);
	free(scratch);
	free(text);
	return 0;
}
