/*
 * ringfort-serve: boxes for others, over HTTP; `ringfort serve` becomes it.
 *
 *   --listen ADDRESS:PORT   a TCP port for who has a key; may be repeated
 *   --host NAME             a name that requests there may be for; may be repeated
 *   --origin URL            a page's origin whose scripts may ask; may be repeated
 *   --tls-cert FILE         ports speak TLS: their certificate, with what leads to a root behind it
 *   --tls-key FILE          and its key
 *   --tls-client-ca FILE    and clients need a certificate of this authority
 *   --keep-sandboxes        they outlive it for the grace, however it ends
 *   --memory-reserve 16M    memory that each box counts for at least, before another is begun
 *   --memory-margin 128M    memory that is left to this machine
 *   --disk-margin 64M       space that is left of the disk of workspaces
 *   --grace SECONDS         that they outlive a server that was killed (default 30)
 *   --config FILE           all of that, and more, from a file (charter.h)
 *   --check                 look whether it could be served like this
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/charter.h"
#include "server/landlord.h"

#define EXIT_FAILED 125

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort serve: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	return EXIT_FAILED;
}

/* A path on the command line counts from where its caller stands. */
static int set_path(struct rf_charter *charter, const char *name, const char *value,
		    struct rf_err *err)
{
	char whole[8192], *here = value[0] == '/' ? NULL : getcwd(NULL, 0);

	snprintf(whole, sizeof(whole), "%s%s%s", here ? here : "", here ? "/" : "", value);
	free(here);
	return rf_charter_set(charter, name, whole, err);
}

/* Options, and the keys of the file that are the same. */
static const struct {
	const char *option, *key;
	bool is_path;
} words[] = {
	{ "--listen", "listen", false },
	{ "--host", "hosts", false },
	{ "--origin", "origins", false },
	{ "--tls-cert", "tls.cert", true },
	{ "--tls-key", "tls.key", true },
	{ "--tls-client-ca", "tls.client_ca", true },
	{ "--grace", "grace", false },
	{ "--memory-reserve", "memory.reserve", false },
	{ "--memory-margin", "memory.margin", false },
	{ "--disk-margin", "disk.margin", false },
};

static int read_option(struct rf_charter *charter, const char *option, const char *value,
		       struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(words); i++)
		if (strcmp(option, words[i].option) == 0 && value)
			return words[i].is_path ? set_path(charter, words[i].key, value, err)
						: rf_charter_set(charter, words[i].key, value, err);
	rf_fail_say(err, -EINVAL, "what is %.64s?", option);
	return rf_fail_hint(err, "start it with `ringfort serve`");
}

/* One that others could change would be theirs to say: it is the caller's own, or root's. */
static int read_file(struct rf_charter *charter, const char *path, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	rf_buf_init(&text, RF_CHARTER_BYTES + 1);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rf_fail(err, -errno, "%.200s", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH)) {
		rf_fail_say(err, -EPERM, "%.200s could be changed by others", path);
		return rf_fail_hint(err, "it must be yours or root's, and writable by nobody else");
	}
	for (;;) {
		char bytes[4096];
		ssize_t got = read(fd, bytes, sizeof(bytes));

		if (got < 0)
			return rf_fail(err, -errno, "%.200s", path);
		if (got == 0)
			break;
		rf_buf_add(&text, bytes, (size_t)got);
	}
	if (text.has_failed)
		return rf_fail_say(err, -E2BIG, "%.200s is longer than %d bytes", path,
				   RF_CHARTER_BYTES);
	if (rf_charter_read(charter, text.data ? text.data : "", text.len, err) == 0)
		return 0;
	return err->line
		       ? rf_fail_in(err, "%.200s: line %d, column %d", path, err->line, err->column)
		       : rf_fail_in(err, "%.200s", path);
}

/* The file first: what the command line says is said later. */
static int read_line(int argc, char **argv, struct rf_charter *charter, bool *only_checks,
		     struct rf_err *err)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--config") == 0 && read_file(charter, argv[i + 1], err) < 0)
			return err->code;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--check") == 0 || strcmp(argv[i], "--keep-sandboxes") == 0) {
			*only_checks |= argv[i][2] == 'c';
			charter->keeps_sandboxes |= argv[i][2] == 'k';
			continue;
		}
		if (strcmp(argv[i], "--config") != 0 &&
		    read_option(charter, argv[i], argv[i + 1], err) < 0)
			return err->code;
		i++;
	}
	return rf_charter_check(charter, err);
}

static void fill(const struct rf_charter *charter, struct rf_landlord_options *options)
{
	for (size_t i = 0; charter->listen[i]; i++)
		options->listen[i] = charter->listen[i];
	memcpy(options->hosts, charter->hosts, sizeof(charter->hosts));
	memcpy(options->origins, charter->origins, sizeof(charter->origins));
	options->papers =
		(struct rf_papers_paths){ charter->certificate, charter->key, charter->clients };
	options->charter = charter;
	options->grace_s = charter->grace_s;
	options->reserve_bytes = charter->reserve_bytes;
	options->margin_bytes = charter->margin_bytes;
	options->disk_bytes = charter->disk_bytes;
	options->keeps_sandboxes = charter->keeps_sandboxes;
}

static void find_folder(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

/* It could be served like this: so it is said what that is. */
static void describe(const struct rf_charter *charter)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 2 * RF_CHARTER_BYTES);
	rf_charter_describe(charter, &out);
	fputs(out.has_failed || !out.data ? "" : out.data, stdout);
}

int main(int argc, char **argv)
{
	char folder[4096];
	struct rf_charter charter;
	struct rf_landlord_options options = { .folder = folder };
	struct rf_err err = RF_ERR_INIT;
	int code;

	find_folder(folder, sizeof(folder));
	rf_charter_init(&charter);
	code = read_line(argc, argv, &charter, &options.only_checks, &err);
	fill(&charter, &options);
	if (code == 0)
		code = rf_landlord_serve(&options, &err);
	if (code == 0 && options.only_checks)
		describe(&charter);
	rf_charter_done(&charter);
	return code < 0 ? complain(&err) : 0;
}
