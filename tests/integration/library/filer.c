/*
 * A program that reads and writes the files of a workspace by libringfort, for test_library_files.py:
 *
 *     filer WORKSPACE POINT [VERB WORD...]
 *
 * POINT is "" for where the workspace is.  It prints what it is told, a line each, and ends with 0; or prints the error's code
 * and words and ends with 1.  Without a verb it looks at itself instead: many calls in many threads leave no trace.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ringfort_error error = RINGFORT_ERROR_INIT;
static const char *workspace, *at;

static int print(void *data, const struct ringfort_file *file)
{
	static const char *const types[] = { "file", "folder", "link", "other" };

	(void)data;
	printf("%s %s %04o %llu", types[file->type], file->path, file->mode,
	       file->type == RINGFORT_FOLDER ? 0 : (unsigned long long)file->bytes);
	if (file->line)
		printf(" %llu:%.*s", (unsigned long long)file->line, (int)file->text_len,
		       file->text ? file->text : "");
	printf("%s%s\n", file->target[0] ? " -> " : "", file->target);
	return 0;
}

static int stop(void *data, const struct ringfort_file *file)
{
	(void)file;
	++*(int *)data;
	return 77;
}

static int copy_out(const char *path)
{
	int file = ringfort_file_open(workspace, at, path, &error);
	char piece[4096];
	ssize_t n;

	while (file >= 0 && (n = read(file, piece, sizeof(piece))) > 0)
		fwrite(piece, 1, (size_t)n, stdout);
	if (file >= 0)
		close(file);
	return file < 0 ? file : 0;
}

static int act(const char *verb, char **words, int count)
{
	struct ringfort_file file = RINGFORT_FILE_INIT;
	const char *path = count > 0 ? words[0] : NULL, *more = count > 1 ? words[1] : NULL;
	int code;

	if (strcmp(verb, "cat") == 0)
		return copy_out(path);
	if (strcmp(verb, "ls") == 0)
		return ringfort_file_list(workspace, at, path, print, NULL, &error);
	if (strcmp(verb, "find") == 0)
		return ringfort_file_search(workspace, at, path, more && *more ? more : NULL,
					    count > 2 ? words[2] : NULL, print, NULL, &error);
	if (strcmp(verb, "write") == 0)
		return ringfort_file_write(workspace, path, more, strlen(more), 0640, &error);
	if (strcmp(verb, "put") == 0)
		return ringfort_file_put(workspace, path, STDIN_FILENO,
					 more ? strtoull(more, NULL, 10) : 0, 0644, &error);
	if (strcmp(verb, "rm") == 0)
		return ringfort_file_remove(workspace, path, more != NULL, &error);
	code = ringfort_file_stat(workspace, at, path, &file, &error);
	if (code == 0)
		print(NULL, &file);
	return code;
}

/* ------------------------------------------------------------- itself */

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s (%s)\n", what, error.message);
	exit(1);
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void *look_often(void *data)
{
	struct ringfort_file file = RINGFORT_FILE_INIT;
	int stopped = 0;

	(void)data;
	for (int i = 0; i < 20; i++) {
		require(ringfort_file_stat(workspace, NULL, "src/main.c", &file, NULL) == 0 &&
				file.bytes == 21,
			"it is there");
		require(ringfort_file_list(workspace, NULL, ".", stop, &stopped, NULL) == 77 &&
				stopped == i + 1,
			"a list ends where it is told to");
	}
	return NULL;
}

static void look_at_itself(void)
{
	struct ringfort_file small = { .size = 8 };
	int before = open_files();
	pthread_t threads[8];

	for (size_t i = 0; i < 8; i++)
		require(pthread_create(&threads[i], NULL, look_often, NULL) == 0,
			"a thread starts");
	for (size_t i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++) {
		ringfort_file_stat(workspace, NULL, "../x", &small, NULL);
		ringfort_file_write(workspace, "way/through", "x", 1, 0644, NULL);
	}
	require(ringfort_file_stat(workspace, NULL, "src", &small, NULL) == -EINVAL,
		"a size that never was");
	require(ringfort_file_open(NULL, NULL, NULL, NULL) == -EINVAL, "nothing is asked for");
	require(ringfort_file_list(workspace, NULL, ".", NULL, NULL, NULL) == -EINVAL,
		"no function");
	require(geteuid() == 0 || ringfort_file_open(workspace, NULL, "dark/deep", NULL) == -EACCES,
		"closed stays closed");
	require(open_files() == before, "no descriptor is left");
	require(waitpid(-1, NULL, 0) < 0 && errno == ECHILD, "no child was made");
	puts("no trace");
}

int main(int argc, char **argv)
{
	int code;

	if (argc < 3)
		return 2;
	workspace = argv[1];
	at = *argv[2] ? argv[2] : NULL;
	if (argc == 3) {
		look_at_itself();
		return 0;
	}
	code = act(argv[3], argv + 4, argc - 4);
	if (code < 0)
		printf("%d %s\n  %s\n", error.code, error.message, error.remedy);
	return code < 0;
}
