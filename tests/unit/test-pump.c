/* A pump moves bytes as a loop's events allow: src/jail/pump.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/pump.h"

#define MS  1000000ull
#define BIG (10u * 1024 * 1024)

/* A pump with its loop, its pipes and what became of it. */
struct scene {
	struct rf_loop *loop;
	struct rf_pump pump;
	int in[2], out[2];
	int calls, ends; /* of on_bytes and on_done */
	size_t keep;     /* on_bytes lets this much through in all, then stops */
	struct rf_event *timer;
};

static bool on_bytes(void *data, struct rf_pump *pump, size_t *len)
{
	struct scene *scene = data;

	scene->calls++;
	RF_CHECK(pump == &scene->pump, "another pump");
	if (*len <= scene->keep) {
		scene->keep -= *len;
		return true;
	}
	*len = scene->keep;
	scene->keep = 0;
	return false;
}

static void on_done(void *data, struct rf_pump *pump)
{
	struct scene *scene = data;

	RF_CHECK(pump->is_done, "not done");
	scene->ends++;
	rf_loop_stop(scene->loop);
}

static struct scene *make_scene(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(scene && rf_loop_new(&scene->loop, &err) == 0, "no loop: %s", err.msg);
	RF_REQUIRE(pipe2(scene->in, O_CLOEXEC) == 0 && pipe2(scene->out, O_CLOEXEC) == 0, "pipe");
	signal(SIGPIPE, SIG_IGN);
	scene->pump.from = scene->in[0];
	scene->pump.to = scene->out[1];
	scene->pump.on_done = on_done;
	scene->pump.data = scene;
	return scene;
}

static void end_scene(struct scene *scene)
{
	rf_pump_done(&scene->pump);
	rf_pump_done(&scene->pump);
	RF_CHECK(scene->pump.own_to == -1, "a descriptor is left");
	rf_loop_free(scene->loop);
	for (int i = 0; i < 2; i++) {
		rf_fd_done(&scene->in[i]);
		rf_fd_done(&scene->out[i]);
	}
	free(scene);
}

static void start(struct scene *scene)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_pump_start(&scene->pump, scene->loop, &err) == 0, "%s", err.msg);
}

static void run(struct scene *scene)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_loop_run(scene->loop, &err) == 0, "%s", err.msg);
}

static void on_timer(void *data, int what)
{
	struct scene *scene = data;

	(void)what;
	rf_loop_stop(scene->loop);
}

/* Runs for a while, with nobody at the other end. */
static void run_for(struct scene *scene, uint64_t ns)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_loop_timer(scene->loop, rf_loop_now() + ns, on_timer, scene, &scene->timer,
				 &err) == 0,
		   "%s", err.msg);
	run(scene);
	rf_event_cancel(scene->timer);
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

/* Byte number `i` of all streams here: no period that a buffer's size divides. */
static char byte_at(size_t i)
{
	return (char)((i * 2654435761u >> 13) % 251);
}

/* In a child: writes `len` bytes in pieces of all sizes, then ends. */
static pid_t fork_writer(struct scene *scene, size_t len)
{
	pid_t pid = fork();

	if (pid == 0) {
		static char piece[70000];

		for (size_t at = 0, size = 1; at < len; at += size) {
			size = (at * 31 + 7) % sizeof(piece) + 1;
			size = size < len - at ? size : len - at;
			for (size_t i = 0; i < size; i++)
				piece[i] = byte_at(at + i);
			if (rf_fd_write(scene->in[1], piece, size) < 0)
				_exit(1);
		}
		_exit(0);
	}
	RF_REQUIRE(pid > 0, "fork: %s", strerror(errno));
	rf_fd_done(&scene->in[1]);
	return pid;
}

/* In a child: reads to the end, slowly if asked to.  Ends with 0 if all `len` bytes were right. */
static pid_t fork_reader(struct scene *scene, size_t len, bool is_slow)
{
	pid_t pid = fork();

	if (pid == 0) {
		static char piece[32768];
		size_t at = 0;
		ssize_t n;

		rf_fd_done(&scene->out[1]);
		rf_fd_done(&scene->in[0]);
		rf_fd_done(&scene->in[1]);
		while ((n = read(scene->out[0], piece, sizeof(piece))) > 0) {
			for (ssize_t i = 0; i < n; i++)
				if (piece[i] != byte_at(at + (size_t)i))
					_exit(2);
			at += (size_t)n;
			if (is_slow)
				nanosleep(&(struct timespec){ .tv_nsec = MS }, NULL);
		}
		_exit(at == len ? 0 : 3);
	}
	RF_REQUIRE(pid > 0, "fork: %s", strerror(errno));
	rf_fd_done(&scene->out[0]);
	return pid;
}

static int code_of(pid_t pid)
{
	int status = -1;

	RF_REQUIRE(waitpid(pid, &status, 0) == pid, "wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

RF_TEST(a_pipe_is_poured_into_a_buffer_to_its_end)
{
	struct scene *scene = make_scene();
	RF_AUTO_BUF struct rf_buf into;
	size_t wrong = 0;
	pid_t writer;

	rf_buf_init(&into, BIG);
	scene->pump.into = &into;
	writer = fork_writer(scene, BIG);
	start(scene);
	run(scene);
	RF_CHECK(code_of(writer) == 0, "the writer failed");
	RF_CHECK(scene->ends == 1 && scene->pump.total == BIG, "%llu bytes, %d ends",
		 (unsigned long long)scene->pump.total, scene->ends);
	RF_REQUIRE(into.len == BIG && !into.has_failed, "%zu bytes", into.len);
	for (size_t i = 0; i < BIG; i++)
		wrong += into.data[i] != byte_at(i);
	RF_CHECK(wrong == 0, "%zu bytes are wrong", wrong);
	end_scene(scene);
}

RF_TEST(an_empty_source_ends_at_once)
{
	for (int is_buffer = 0; is_buffer < 2; is_buffer++) {
		struct scene *scene = make_scene();
		RF_AUTO_BUF struct rf_buf into;

		rf_buf_init(&into, 10);
		scene->pump.into = is_buffer ? &into : NULL;
		rf_fd_done(&scene->in[1]);
		start(scene);
		run(scene);
		RF_CHECK(scene->ends == 1 && scene->pump.total == 0 && into.len == 0, "%d ends",
			 scene->ends);
		end_scene(scene);
	}
}

/* The kinds of targets, by how the pump must write to them without blocking. */
enum kind {
	PIPE,        /* opened anew */
	NONBLOCKING, /* already as it should be */
	SOCKET,      /* can't be opened anew */
	SEALED,      /* nor can this, as where /proc is hidden */
	KIND_COUNT
};

static void make_target(struct scene *scene, enum kind kind)
{
	if (kind == NONBLOCKING)
		fcntl(scene->out[1], F_SETFL, O_NONBLOCK);
	if (kind != SOCKET)
		return;
	rf_fd_done(&scene->out[0]);
	rf_fd_done(&scene->out[1]);
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scene->out) == 0,
		   "socketpair");
	scene->pump.to = scene->out[1];
}

/* What rf_pump_start() would find where the target can't be opened anew. */
static void seal_target(struct scene *scene)
{
	rf_fd_done(&scene->pump.own_to);
	scene->pump.is_small = true;
}

RF_TEST(ten_megabytes_arrive_whole_whatever_the_reader_and_the_target_are)
{
	for (int n = 0; n < KIND_COUNT * 2; n++) {
		struct scene *scene = make_scene();
		enum kind kind = (enum kind)(n / 2);
		bool is_slow = n % 2;
		size_t len = is_slow ? BIG / 8 : BIG;
		pid_t reader, writer;

		make_target(scene, kind);
		reader = fork_reader(scene, len, is_slow);
		writer = fork_writer(scene, len);
		start(scene);
		if (kind == SEALED)
			seal_target(scene);
		run(scene);
		RF_CHECK(scene->ends == 1 && scene->pump.total == len, "kind %d: %llu bytes", kind,
			 (unsigned long long)scene->pump.total);
		RF_CHECK(scene->pump.write_errno == 0, "kind %d: %s", kind,
			 strerror(scene->pump.write_errno));
		rf_pump_done(&scene->pump);
		rf_fd_done(&scene->out[1]);
		RF_CHECK(code_of(writer) == 0, "kind %d: the writer failed", kind);
		RF_CHECK(code_of(reader) == 0, "kind %d, %s: not all arrived", kind,
			 is_slow ? "slow" : "fast");
		end_scene(scene);
	}
}

RF_TEST(a_target_of_the_callers_keeps_its_own_flags)
{
	struct scene *scene = make_scene();
	int before = fcntl(scene->out[1], F_GETFL);

	start(scene);
	RF_CHECK(scene->pump.own_to >= 0, "not opened anew");
	RF_CHECK(fcntl(scene->pump.own_to, F_GETFL) & O_NONBLOCK, "ours may block");
	RF_CHECK(fcntl(scene->pump.own_to, F_GETFD) & FD_CLOEXEC, "ours survives exec");
	RF_CHECK(fcntl(scene->out[1], F_GETFL) == before, "the caller's was changed");
	end_scene(scene);
}

/* Fills the source with all it takes and ends it. */
static size_t fill_and_end(struct scene *scene)
{
	static char bytes[4096];
	size_t len = 0;

	fcntl(scene->in[1], F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = write(scene->in[1], bytes, sizeof(bytes))) > 0;)
		len += (size_t)n;
	rf_fd_done(&scene->in[1]);
	return len;
}

/* Fills the target, so that not one byte more fits.  Gives how much that took. */
static size_t block_target(struct scene *scene)
{
	static char bytes[4096];
	int flags = fcntl(scene->out[1], F_GETFL);
	size_t len = 0;

	fcntl(scene->out[1], F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = write(scene->out[1], bytes, sizeof(bytes))) > 0;)
		len += (size_t)n;
	fcntl(scene->out[1], F_SETFL, flags);
	return len;
}

RF_TEST(a_source_that_ends_while_the_target_is_blocked_costs_no_time_and_no_bytes)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct scene *scene = make_scene();
		static char bytes[65536];
		size_t blocked, len, got = 0;
		uint64_t began;

		make_target(scene, (enum kind)kind);
		blocked = block_target(scene);
		len = fill_and_end(scene);
		start(scene);
		if (kind == SEALED)
			seal_target(scene);
		began = cpu_ns();
		run_for(scene, 100 * MS);
		RF_CHECK(cpu_ns() - began < 50 * MS, "kind %d: the loop span for %llu ms", kind,
			 (unsigned long long)((cpu_ns() - began) / MS));
		RF_CHECK(scene->ends == 0, "kind %d: ended with bytes in hand", kind);
		fcntl(scene->out[0], F_SETFL, O_NONBLOCK);
		/* A page at a time: a pump that wrote more than fits would block for good. */
		for (int rounds = 0; rounds < 1000; rounds++) {
			for (ssize_t n; (n = read(scene->out[0], bytes, 4096)) > 0;) {
				got += (size_t)n;
				if (scene->ends == 0)
					break;
			}
			if (scene->ends == 0)
				run_for(scene, 0);
		}
		RF_CHECK(scene->ends == 1, "kind %d: never ended", kind);
		RF_CHECK(got - blocked == len, "kind %d: %zu of %zu bytes", kind, got - blocked,
			 len);
		end_scene(scene);
	}
}

RF_TEST(a_reader_that_goes_away_ends_the_pump)
{
	for (int n = 0; n < KIND_COUNT * 3; n++) {
		struct scene *scene = make_scene();
		enum kind kind = (enum kind)(n / 3);
		int when = n % 3; /* before the start, after it, or while the pump waits for room */

		make_target(scene, kind);
		if (when == 2)
			block_target(scene);
		if (when == 0)
			rf_fd_done(&scene->out[0]);
		RF_REQUIRE(write(scene->in[1], "hello", 5) == 5, "write");
		start(scene);
		if (kind == SEALED)
			seal_target(scene);
		if (when == 2)
			run_for(scene, MS);
		RF_CHECK(scene->ends == 0, "kind %d.%d ended early", kind, when);
		rf_fd_done(&scene->out[0]);
		run(scene); /* else it never comes back, and the harness says so */
		RF_CHECK(scene->ends == 1 && scene->pump.is_done, "kind %d.%d: %d ends", kind, when,
			 scene->ends);
		RF_CHECK(scene->pump.write_errno == EPIPE, "kind %d.%d: %s", kind, when,
			 strerror(scene->pump.write_errno));
		RF_CHECK(!scene->pump.read_event && !scene->pump.write_event, "events are left");
		end_scene(scene);
	}
}

RF_TEST(bytes_can_be_counted_cut_and_stopped)
{
	static const char text[] = "0123456789";
	/* clang-format off */
	static const struct { size_t keep; bool is_cut; } cases[] = {
		{ 0, true }, { 1, true }, { 9, true }, { 10, false }, { 11, false },
	};
	/* clang-format on */

	for (size_t n = 0; n < RF_LEN(cases) * 2; n++) {
		struct scene *scene = make_scene();
		size_t i = n / 2, want = cases[i].keep < 10 ? cases[i].keep : 10;
		RF_AUTO_BUF struct rf_buf into;
		char got[32] = "";

		rf_buf_init(&into, 100);
		scene->pump.into = n % 2 ? &into : NULL;
		scene->pump.on_bytes = on_bytes;
		scene->keep = cases[i].keep;
		RF_REQUIRE(write(scene->in[1], text, 10) == 10, "write");
		if (!cases[i].is_cut) /* a cut must end it by itself: the source stays open */
			rf_fd_done(&scene->in[1]);
		start(scene);
		run(scene);
		RF_CHECK(scene->ends == 1 && scene->calls == 1, "case %zu: %d ends, %d calls", n,
			 scene->ends, scene->calls);
		RF_CHECK(scene->pump.total == 10, "case %zu: what was cut counts, too", n);
		rf_fd_done(&scene->out[1]);
		if (n % 2 && into.len > 0)
			memcpy(got, into.data, into.len);
		else if (n % 2 == 0)
			RF_CHECK(rf_fd_read(scene->out[0], got, sizeof(got) - 1) == (ssize_t)want,
				 "case %zu", n);
		RF_CHECK(strlen(got) == want && strncmp(got, text, want) == 0, "case %zu: '%s'", n,
			 got);
		end_scene(scene);
	}
}

RF_TEST(an_ended_source_still_delivers_what_was_read)
{
	struct scene *scene = make_scene();
	static char bytes[65536];
	size_t got = 0, blocked;

	block_target(scene);
	RF_REQUIRE(write(scene->in[1], "last words", 10) == 10, "write");
	start(scene);
	run_for(scene, MS); /* has read, and waits for room */
	rf_pump_end_source(&scene->pump);
	RF_CHECK(write(scene->in[1], "more", 4) == 4, "write");
	fcntl(scene->out[0], F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = read(scene->out[0], bytes, sizeof(bytes))) > 0;)
		got += (size_t)n;
	blocked = got;
	run(scene);
	RF_CHECK(blocked > 0 && scene->ends == 1, "%d ends", scene->ends);
	RF_CHECK(read(scene->out[0], bytes, sizeof(bytes)) == 10 &&
			 memcmp(bytes, "last words", 10) == 0,
		 "'%.14s'", bytes);
	end_scene(scene);
}

RF_TEST(a_regular_file_can_be_the_source)
{
	struct scene *scene = make_scene();
	RF_AUTO_FD int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	RF_AUTO_BUF struct rf_buf into;
	off_t size = lseek(file, 0, SEEK_END);

	lseek(file, 0, SEEK_SET);
	rf_buf_init(&into, (size_t)size);
	scene->pump.from = file;
	scene->pump.into = &into;
	start(scene);
	run(scene);
	RF_CHECK(scene->ends == 1 && into.len == (size_t)size && !into.has_failed,
		 "%zu of %lld bytes", into.len, (long long)size);
	end_scene(scene);
}

/* The source's other end stays open in both: somebody else may hold it for ever. */
RF_TEST(a_last_call_takes_what_is_there_and_waits_for_nobody)
{
	struct scene *scene = make_scene();
	char got[16] = "";

	start(scene);
	RF_REQUIRE(write(scene->in[1], "words", 5) == 5, "write");
	rf_pump_last_call(&scene->pump);
	RF_CHECK(scene->ends == 1 && scene->pump.total == 5, "%d ends", scene->ends);
	RF_CHECK(read(scene->out[0], got, sizeof(got)) == 5 && strcmp(got, "words") == 0, "%s",
		 got);
	end_scene(scene);
}

RF_TEST(a_last_call_ends_behind_a_slow_reader_too)
{
	struct scene *scene = make_scene();
	size_t before = block_target(scene);
	pid_t reader;

	start(scene);
	RF_REQUIRE(write(scene->in[1], "words", 5) == 5, "write");
	run_for(scene, 20 * MS); /* read, and stuck before a full pipe */
	RF_REQUIRE(scene->pump.total == 5 && scene->ends == 0, "not stuck");
	rf_pump_last_call(&scene->pump);
	reader = fork();
	if (reader == 0) {
		char part[4096];

		for (size_t seen = 0; seen < before + 5;) {
			ssize_t n = read(scene->out[0], part, sizeof(part));

			if (n <= 0)
				_exit(1);
			seen += (size_t)n;
		}
		_exit(0);
	}
	run_for(scene, 2000 * MS);
	RF_CHECK(scene->ends == 1, "%d ends", scene->ends);
	RF_CHECK(code_of(reader) == 0, "bytes are missing");
	end_scene(scene);
}

RF_TEST(a_guard_filters_what_is_moved_and_puts_the_terminal_back_at_the_end)
{
	struct scene *scene = make_scene();
	RF_AUTO_BUF struct rf_buf into;
	struct rf_guard guard;

	rf_buf_init(&into, 100);
	rf_guard_init(&guard, RF_GUARD_SCREEN, false);
	scene->pump.into = &into;
	scene->pump.guard = &guard;
	RF_REQUIRE(write(scene->in[1], "\033[31mred\033[6n", 12) == 12, "write");
	rf_fd_done(&scene->in[1]);
	start(scene);
	run(scene);
	RF_CHECK(scene->ends == 1 && scene->pump.total == 12, "%d ends", scene->ends);
	RF_CHECK(into.len == 11 && memcmp(into.data, "\033[31mred\033[m", 11) == 0, "%s",
		 into.data);
	end_scene(scene);
}

RF_TEST(a_pump_waits_while_another_is_half_way_into_the_same_terminal)
{
	struct scene *scene = make_scene();
	struct rf_pump *other = calloc(1, sizeof(*other));
	char got[16] = "";

	RF_REQUIRE(other, "memory");
	other->at = 1;
	other->len = 2;
	scene->pump.other = other;
	start(scene);
	RF_REQUIRE(write(scene->in[1], "words", 5) == 5, "write");
	run_for(scene, 20 * MS);
	RF_CHECK(scene->pump.total == 5 && scene->pump.at == 0, "it did not wait");
	other->at = other->len = 0;
	run_for(scene, 20 * MS);
	RF_CHECK(read(scene->out[0], got, sizeof(got)) == 5 && strcmp(got, "words") == 0, "%s",
		 got);
	end_scene(scene);
	free(other);
}
