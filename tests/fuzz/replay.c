/*
 * Replays a corpus: one test of the unit harness for each file, so that each has its own process
 * and time-out, and one that crashed once is a regression test for good.
 *
 * The corpus is the folder RF_CORPUS, fixed at build time; the environment's RF_CORPUS, if set,
 * takes its place (to try the findings of a fuzzer, say).
 */
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

#define MAX_FILE (16 * 1024 * 1024)

static void replay(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	uint8_t *data;
	size_t size;

	RF_REQUIRE(file && fstat(fileno(file), &st) == 0, "can't read %s", path);
	RF_REQUIRE(st.st_size <= MAX_FILE, "%s is too large for a corpus", path);
	size = (size_t)st.st_size;
	/* Exactly as large as the input, so that the sanitizer sees a read past its end. */
	data = malloc(size ? size : 1);
	RF_REQUIRE(data && fread(data, 1, size, file) == size, "can't read %s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Registers the corpus in the order of its names, so that numbers mean the same on each machine. */
__attribute__((constructor)) static void register_corpus(void)
{
	const char *folder = getenv("RF_CORPUS");
	struct dirent **entries;
	int count;

	if (!folder)
		folder = RF_CORPUS;
	count = scandir(folder, &entries, is_file, alphasort);
	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			abort();
		rf_harness_add(strrchr(path, '/') + 1, replay, path, 10);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}
