/*
 * What looking at answers costs.
 *
 *   bench-filter speed FILE...   gigabytes a second over the files' bytes, way by way, as JSON lines
 *   bench-filter start           what the first filter of a process costs, in microseconds
 *   bench-filter find FILE...    what the rules find in the files (names on standard input with "-"): for false alarms
 *
 * Processor time of this thread is counted, so other work on the machine makes it longer and not dearer.  vectorscan is
 * measured with the same rules, each as a regular expression: what was weighed and not taken.
 */
#include <brotli/encode.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hs/hs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "filter/filter-stream.h"
#include "filter/own.h"
#include "filter/tokens-table.h"

#define PIECE (16 * 1024) /* as a gateway reads */
#define WANT  (256UL * 1024 * 1024)

static double now_us(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench-filter: %s\n", what);
	exit(1);
}

static struct rf_sieve_set *make_set(bool has_secrets, bool has_rules, const char *const *own,
				     unsigned own_count)
{
	/* Two as they are, made here: a random one and one that every encoding writes in another way. */
	static const struct rf_sieve_secret secrets[] = {
		{ "p7Qx02mVbZ1kLr83NfYtWc65HsJdGaEu", 32 },
		{ "a/b+c=d&e \"f\" g<h>i", 19 },
	};
	const struct rf_sieve_config config = {
		.secrets = secrets,
		.secret_count = has_secrets ? 2 : 0,
		.has_rules = has_rules,
		.own_rules = own,
		.own_count = own_count,
	};
	struct rf_sieve_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped;

	if (rf_sieve_set_new(&config, &set, &skipped, &err) < 0)
		die(err.msg);
	return set;
}

/* --- the bytes --- */

static struct rf_buf corpus;

static void read_file(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat stat;
	ssize_t got = 1;

	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		while (got > 0 && corpus.len < WANT) {
			char *place = rf_buf_reserve(&corpus, 1 << 16);

			got = place ? read(fd, place, 1 << 16) : 0;
			rf_buf_grew(&corpus, got > 0 ? (size_t)got : 0);
		}
	close(fd);
}

/* --- speed --- */

static void tell(const char *what, double us, size_t bytes, uint64_t found)
{
	printf("{\"what\": \"%s\", \"gb_s\": %.3f, \"bytes\": %zu, \"found\": %lu}\n", what,
	       (double)bytes / us / 1e3, bytes, (unsigned long)found);
	fflush(stdout);
}

static uint64_t sum(const struct rf_sieve_counts *counts)
{
	uint64_t all = counts->secrets + counts->own;

	for (unsigned i = 0; i < rf_tokens_count(); i++)
		all += counts->rules[i];
	return all;
}

static void run(const char *what, const struct rf_sieve_set *set, enum rf_coding coding,
		const char *data, size_t len, size_t plain)
{
	double best = 1e18;
	uint64_t found = 0;

	for (int round = 0; round < 5; round++) {
		struct rf_filter_stream *stream = NULL;
		RF_AUTO_BUF struct rf_buf out = { 0 };
		struct rf_err err = RF_ERR_INIT;
		double began = now_us(CLOCK_THREAD_CPUTIME_ID), took;

		rf_buf_init(&out, 1 << 20);
		if (rf_filter_stream_new(set, coding, 0, false, &stream, &err) < 0)
			die(err.msg);
		for (size_t at = 0; at < len;) {
			size_t size = len - at < PIECE ? len - at : PIECE;
			ssize_t taken = rf_filter_stream_feed(stream, data + at, size, &out, 65536);

			if (taken < 0)
				die(strerror((int)-taken));
			at += (size_t)taken;
			rf_buf_clear(&out);
		}
		while (rf_filter_stream_feed(stream, data, 0, &out, 65536) == 0 && out.len)
			rf_buf_clear(&out);
		rf_filter_stream_finish(stream, &out);
		took = now_us(CLOCK_THREAD_CPUTIME_ID) - began;
		best = took < best ? took : best;
		found = sum(rf_filter_stream_counted(stream));
		rf_filter_stream_free(stream);
	}
	tell(what, best, plain, found);
}

static void run_copy(void)
{
	double best = 1e18;
	char *piece = malloc(PIECE);

	for (int round = 0; round < 5; round++) {
		double began = now_us(CLOCK_THREAD_CPUTIME_ID);

		for (size_t at = 0; at + PIECE <= corpus.len; at += PIECE) {
			memcpy(piece, corpus.data + at, PIECE);
			__asm__ volatile("" ::"r"(piece) : "memory");
		}
		double took = now_us(CLOCK_THREAD_CPUTIME_ID) - began;

		best = took < best ? took : best;
	}
	free(piece);
	tell("memcpy", best, corpus.len, 0);
}

/* --- vectorscan with the same rules --- */

static char *as_expression(const char *shape)
{
	/* clang-format off */
	static const struct { char name; const char *class_; } classes[] = {
		{ 'd', "[0-9]" },          { 'h', "[0-9a-f]" },       { 'x', "[0-9a-fA-F]" },
		{ 'u', "[0-9A-Z]" },       { 'r', "[A-Z2-7]" },       { 'n', "[0-9A-Za-z]" },
		{ 'w', "[0-9A-Za-z_]" },   { 'b', "[0-9A-Za-z_-]" },  { 'v', "[0-9A-Za-z_.-]" },
		{ 'B', "[0-9A-Za-z+/]" },  { 'e', "[0-9A-Za-z+/%=_-]" }, { 's', "[ \\t=:\"'>\\\\]" },
		{ 'y', "[0-9A-Za-z._~%!$&*+,;=-]" }, { 'p', "[0-9A-Za-z._~%!$&*+,;=#?^()\\[\\]|-]" },
	};
	/* clang-format on */
	char *out = calloc(1, 1024);
	size_t size = (size_t)sprintf(out, "\\b");

	for (const char *at = shape; *at; at++) {
		if (*at == '{')
			continue;
		if (*at != '<') {
			size += (size_t)sprintf(out + size, strchr(".+?/", *at) ? "\\%c" : "%c",
						*at);
			continue;
		}
		for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
			if (classes[i].name == at[1])
				size += (size_t)sprintf(out + size, "%s", classes[i].class_);
		char *end;
		unsigned long least = strtoul(at + 2, &end, 10);

		/* At least so many: how far it goes is looked at afterwards, in either way. */
		size += (size_t)sprintf(out + size,
					*end == '-' && end[1] != '>' ? "{%lu,}" : "{%lu}",
					least > 500 ? 500 : least);
		at = strchr(at, '>');
	}
	return out;
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
		    void *context)
{
	++*(uint64_t *)context;
	return 0;
}

struct scan {
	hs_database_t *database;
	hs_scratch_t *scratch;
};

static bool load_vectorscan(struct scan *scan, unsigned flag, double *ret_load_us,
			    double *ret_compile_us)
{
	static void *handle;
	const char *expressions[256];
	unsigned flags[256], ids[256], count = 0;
	hs_compile_error_t *why = NULL;
	double began = now_us(CLOCK_MONOTONIC);

	if (!handle)
		handle = dlopen("libhs.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
	*ret_load_us = now_us(CLOCK_MONOTONIC) - began;
	__typeof__(&hs_compile_multi) compile;
	__typeof__(&hs_alloc_scratch) alloc;

	*(void **)&compile = dlsym(handle, "hs_compile_multi");
	*(void **)&alloc = dlsym(handle, "hs_alloc_scratch");
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		for (size_t s = 0; s < RF_TOKENS_SHAPES && rules[i].shapes[s]; s++) {
			expressions[count] = as_expression(rules[i].shapes[s]);
			flags[count] = flag;
			ids[count] = count;
			count++;
		}
	began = now_us(CLOCK_MONOTONIC);
	if (compile(expressions, flags, ids, count, HS_MODE_STREAM | HS_MODE_SOM_HORIZON_LARGE,
		    NULL, &scan->database, &why) != HS_SUCCESS) {
		fprintf(stderr, "%s: %s\n", expressions[why->expression < 0 ? 0 : why->expression],
			why->message);
		return false;
	}
	*ret_compile_us = now_us(CLOCK_MONOTONIC) - began;
	alloc(scan->database, &scan->scratch);
	for (unsigned i = 0; i < count; i++)
		free((void *)(uintptr_t)expressions[i]);
	return true;
}

static void run_vectorscan(const char *what, unsigned flag)
{
	struct scan scan = { 0 };
	double load, compile, best = 1e18;
	uint64_t found = 0;
	void *handle;
	__typeof__(&hs_open_stream) open_;
	__typeof__(&hs_scan_stream) scan_;
	__typeof__(&hs_close_stream) close_;

	if (!load_vectorscan(&scan, flag, &load, &compile))
		return;
	handle = dlopen("libhs.so.5", RTLD_NOW | RTLD_LOCAL);
	*(void **)&open_ = dlsym(handle, "hs_open_stream");
	*(void **)&scan_ = dlsym(handle, "hs_scan_stream");
	*(void **)&close_ = dlsym(handle, "hs_close_stream");
	for (int round = 0; round < 3; round++) {
		hs_stream_t *stream;
		double began = now_us(CLOCK_THREAD_CPUTIME_ID), took;

		found = 0;
		open_(scan.database, 0, &stream);
		for (size_t at = 0; at < corpus.len; at += PIECE) {
			size_t size = corpus.len - at < PIECE ? corpus.len - at : PIECE;

			scan_(stream, corpus.data + at, (unsigned)size, 0, scan.scratch, on_match,
			      &found);
		}
		close_(stream, scan.scratch, on_match, &found);
		took = now_us(CLOCK_THREAD_CPUTIME_ID) - began;
		best = took < best ? took : best;
	}
	tell(what, best, corpus.len, found);
}

static void run_coded(const struct rf_sieve_set *set)
{
	size_t room = corpus.len + (1 << 20), size = room;
	char *coded = malloc(room);
	z_stream zlib = { 0 };

	if (!coded)
		die("no memory");
	deflateInit2(&zlib, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0);
	zlib.next_in = (Bytef *)corpus.data;
	zlib.avail_in = (uInt)corpus.len;
	zlib.next_out = (Bytef *)coded;
	zlib.avail_out = (uInt)room;
	deflate(&zlib, Z_FINISH);
	size = zlib.total_out;
	deflateEnd(&zlib);
	run("gzip", set, RF_CODING_GZIP, coded, size, corpus.len);
	size = ZSTD_compress(coded, room, corpus.data, corpus.len, 3);
	run("zstd", set, RF_CODING_ZSTD, coded, size, corpus.len);
	size = room;
	if (BrotliEncoderCompress(4, 22, BROTLI_MODE_TEXT, corpus.len, (const uint8_t *)corpus.data,
				  &size, (uint8_t *)coded))
		run("br", set, RF_CODING_BR, coded, size, corpus.len);
	free(coded);
}

static int speed(char **names)
{
	static const char *const own[] = { "ACME-[0-9]{8}", "internal\\.[a-z]{1,40}\\.corp" };
	struct rf_sieve_set *set;

	for (; *names; names++)
		read_file(*names);
	if (corpus.len < PIECE)
		die("no bytes to look at");
	run_copy();
	set = make_set(true, false, NULL, 0);
	run("known secrets", set, RF_CODING_IDENTITY, corpus.data, corpus.len, corpus.len);
	rf_sieve_set_free(set);
	set = make_set(false, true, NULL, 0);
	run("rules", set, RF_CODING_IDENTITY, corpus.data, corpus.len, corpus.len);
	rf_sieve_set_free(set);
	set = make_set(true, true, own, 2);
	run("known secrets, rules and two of the policy's own", set, RF_CODING_IDENTITY,
	    corpus.data, corpus.len, corpus.len);
	rf_sieve_set_free(set);
	set = make_set(true, true, NULL, 0);
	run("known secrets and rules", set, RF_CODING_IDENTITY, corpus.data, corpus.len,
	    corpus.len);
	run_coded(set);
	rf_sieve_set_free(set);
	run_vectorscan("vectorscan, where it ends", 0);
	run_vectorscan("vectorscan, where it begins and ends", HS_FLAG_SOM_LEFTMOST);
	return 0;
}

/* --- the start --- */

static long resident_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size = 0, resident = 0;

	if (file && fscanf(file, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int start(void)
{
	struct scan scan = { 0 };
	double load = 0, compile = 0, began = now_us(CLOCK_MONOTONIC), made, fed;
	struct rf_sieve_set *set = make_set(true, true, NULL, 0);
	struct rf_sieve *sieve = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out = { 0 };
	long before;

	made = now_us(CLOCK_MONOTONIC) - began;
	rf_buf_init(&out, 1 << 20);
	began = now_us(CLOCK_MONOTONIC);
	if (rf_sieve_new(set, &sieve, &err) < 0 ||
	    rf_sieve_feed(sieve, "an answer\n", 10, &out) < 0)
		die("no sieve");
	fed = now_us(CLOCK_MONOTONIC) - began;
	before = resident_kb();
	load_vectorscan(&scan, HS_FLAG_SOM_LEFTMOST, &load, &compile);
	printf("{\"set_us\": %.0f, \"first_answer_us\": %.0f, \"vectorscan_load_us\": %.0f, "
	       "\"vectorscan_compile_us\": %.0f, \"vectorscan_kb\": %ld}\n",
	       made, fed, load, compile, resident_kb() - before);
	rf_sieve_free(sieve);
	rf_sieve_set_free(set);
	return 0;
}

/* --- false alarms --- */

static uint64_t found_by[RF_TOKENS_MAX];

static void find_in(const char *name, const struct rf_sieve_set *set)
{
	struct rf_sieve *sieve = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out = { 0 };

	corpus.len = 0;
	read_file(name);
	rf_buf_init(&out, 2 * WANT);
	if (rf_sieve_new(set, &sieve, &err) < 0 ||
	    rf_sieve_feed(sieve, corpus.data, corpus.len, &out) < 0 ||
	    rf_sieve_finish(sieve, &out) < 0)
		die(name);
	for (unsigned rule = 0; rule < rf_tokens_count(); rule++) {
		uint64_t count = rf_sieve_counted(sieve)->rules[rule];

		found_by[rule] += count;
		if (count)
			fprintf(stderr, "%s: %s, %lu times\n", name, rf_tokens_name(rule),
				(unsigned long)count);
	}
	rf_sieve_free(sieve);
}

static int find(char **names)
{
	struct rf_sieve_set *set = make_set(false, true, NULL, 0);
	char line[8192];
	uint64_t bytes = 0, files = 0;

	for (; *names && strcmp(*names, "-") != 0; names++, files++) {
		find_in(*names, set);
		bytes += corpus.len;
	}
	while (*names && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		find_in(line, set);
		bytes += corpus.len;
		files++;
	}
	printf("{\"files\": %lu, \"bytes\": %lu", (unsigned long)files, (unsigned long)bytes);
	for (unsigned rule = 0; rule < rf_tokens_count(); rule++)
		if (found_by[rule])
			printf(", \"%s\": %lu", rf_tokens_name(rule),
			       (unsigned long)found_by[rule]);
	printf("}\n");
	rf_sieve_set_free(set);
	return 0;
}

int main(int argc, char **argv)
{
	rf_buf_init(&corpus, 2 * WANT);
	if (argc >= 3 && !strcmp(argv[1], "speed"))
		return speed(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "start"))
		return start();
	if (argc >= 3 && !strcmp(argv[1], "find"))
		return find(argv + 2);
	fprintf(stderr, "usage: bench-filter speed FILE... | start | find FILE...\n");
	return 2;
}
