/*
 * Replays corpora: one test of the unit harness for each file, so that each has its own process
 * and time-out, and one that crashed once is a regression test for good.
 *
 * A harness's corpus is the folder of its name in RF_CORPUS, fixed at build time; the environment's
 * RF_CORPUS, if set, takes its place (to try the findings of a fuzzer, say).
 */
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

#define MAX_FILE (16 * 1024 * 1024)

struct input {
	rf_replay_harness *harness;
	char path[];
};

static void replay(const void *arg)
{
	const struct input *input = arg;
	FILE *file = fopen(input->path, "re");
	struct stat st;
	uint8_t *data;
	size_t size;

	RF_REQUIRE(file && fstat(fileno(file), &st) == 0, "can't read %s", input->path);
	RF_REQUIRE(st.st_size <= MAX_FILE, "%s is too large for a corpus", input->path);
	size = (size_t)st.st_size;
	/* Exactly as large as the input, so that the sanitizer sees a read past its end. */
	data = malloc(size ? size : 1);
	RF_REQUIRE(data && fread(data, 1, size, file) == size, "can't read %s", input->path);
	fclose(file);
	input->harness(data, size);
	free(data);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_file(const char *label, const char *folder, const char *name,
		     rf_replay_harness *harness)
{
	size_t size = strlen(folder) + 1 + strlen(name) + 1;
	struct input *input = malloc(sizeof(*input) + size);

	if (!input)
		abort();
	input->harness = harness;
	snprintf(input->path, size, "%s/%s", folder, name);
	rf_harness_add(label, strrchr(input->path, '/') + 1, replay, input, 10);
}

/* In the order of the files' names, so that numbers mean the same on each machine. */
void rf_replay_add(const char *file, rf_replay_harness *harness)
{
	const char *top = getenv("RF_CORPUS") ? getenv("RF_CORPUS") : RF_CORPUS;
	const char *slash = strrchr(file, '/');
	const char *name = (slash ? slash + 1 : file) + strlen("fuzz-");
	struct dirent **entries;
	char *folder, *label;
	int length = (int)strcspn(name, "."), count;

	if (asprintf(&folder, "%s/%.*s", top, length, name) < 0 ||
	    asprintf(&label, "replay-%.*s", length, name) < 0)
		abort();
	count = scandir(folder, &entries, is_file, alphasort);
	for (int i = 0; i < count; i++) {
		add_file(label, folder, entries[i]->d_name, harness);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	free(folder);
	free(label);
}
