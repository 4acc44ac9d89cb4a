/* Descriptors that close themselves: src/base/fd.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	RF_REQUIRE(fd >= 0, "/dev/null: %s", strerror(errno));
	return fd;
}

RF_TEST(done_closes_once_and_keeps_errno)
{
	int fd = open_null(), old = fd, closed = -1;

	errno = ENOTTY;
	rf_fd_done(&fd);
	RF_CHECK(fd == -1, "fd is %d", fd);
	RF_CHECK(errno == ENOTTY, "errno is %d", errno);
	RF_CHECK(!is_open(old), "still open");
	errno = ENOTTY;
	rf_fd_done(&closed);
	RF_CHECK(closed == -1 && errno == ENOTTY, "errno is %d", errno);
	old = 1000000;
	rf_fd_done(&old); /* close() fails with EBADF, which is nobody's business */
	RF_CHECK(errno == ENOTTY, "errno is %d", errno);
}

RF_TEST(an_auto_descriptor_closes_at_the_end_of_its_scope_unless_taken)
{
	int left, taken;

	{
		RF_AUTO_FD int auto_left = open_null();
		RF_AUTO_FD int auto_taken = open_null();

		left = auto_left;
		taken = rf_fd_take(&auto_taken);
		RF_CHECK(auto_taken == -1, "take left %d behind", auto_taken);
	}
	RF_CHECK(!is_open(left), "not closed");
	RF_CHECK(is_open(taken), "closed although it was taken");
	close(taken);
}

static void on_signal(int number)
{
}

/* The byte at place `i` of what goes through a pipe. */
static char byte_at(size_t i)
{
	return (char)(i % 251);
}

/*
 * The other side of a pipe.  It signals us while we are blocked and nothing has moved (EINTR, as
 * the handler has no SA_RESTART), and then at every few kilobytes (a call cut short).
 */
static void disturb(int fd, bool is_writer, size_t len)
{
	pid_t parent = getppid();
	char bytes[4096];

	for (int i = 0; i < 5; i++) {
		usleep(10000);
		kill(parent, SIGUSR1);
	}
	for (size_t at = 0; at < len;) {
		size_t part = len - at < sizeof(bytes) ? len - at : sizeof(bytes);
		ssize_t n;

		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(at + i);
		n = is_writer ? write(fd, bytes, part) : read(fd, bytes, part);
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(at + (size_t)i))
				_exit(2);
		if (n <= 0)
			_exit(1);
		at += (size_t)n;
		kill(parent, SIGUSR1);
	}
	_exit(0);
}

static void through_pipe(bool child_writes)
{
	static char bytes[1 << 20];
	struct sigaction action = { .sa_handler = on_signal };
	int ends[2], status;
	pid_t pid;

	RF_REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0 && pipe(ends) == 0, "set-up");
	pid = fork();
	if (pid == 0) {
		close(ends[!child_writes]);
		disturb(ends[child_writes], child_writes, sizeof(bytes));
	}
	close(ends[child_writes]);
	if (child_writes) {
		ssize_t n = rf_fd_read(ends[0], bytes, sizeof(bytes));

		RF_CHECK(n == sizeof(bytes), "read %zd", n);
		for (size_t i = 0; i < sizeof(bytes); i++)
			RF_REQUIRE(bytes[i] == byte_at(i), "byte %zu is wrong", i);
	} else {
		int r;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = byte_at(i);
		r = rf_fd_write(ends[1], bytes, sizeof(bytes));
		RF_CHECK(r == 0, "write returned %d", r);
	}
	close(ends[!child_writes]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	RF_CHECK(status == 0, "the other side ended with %#x", (unsigned)status);
}

RF_TEST(a_write_goes_through_whole_whatever_signals_come)
{
	through_pipe(false);
}

RF_TEST(a_read_comes_in_whole_whatever_signals_come)
{
	through_pipe(true);
}

RF_TEST(a_read_ends_at_the_end_of_the_file_or_of_the_room)
{
	/* clang-format off */
	static const struct { const char *sent; size_t room; const char *want; } cases[] = {
		{ "",      4, ""     },
		{ "ab",    4, "ab"   },
		{ "abcd",  4, "abcd" },
		{ "abcde", 4, "abcd" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char got[8] = "";
		int ends[2];
		ssize_t n;

		RF_REQUIRE(pipe(ends) == 0, "pipe");
		RF_REQUIRE(rf_fd_write(ends[1], cases[i].sent, strlen(cases[i].sent)) == 0, "send");
		close(ends[1]);
		n = rf_fd_read(ends[0], got, cases[i].room);
		RF_CHECK(n == (ssize_t)strlen(cases[i].want), "case %zu: %zd bytes", i, n);
		RF_CHECK(strcmp(got, cases[i].want) == 0, "case %zu: '%s'", i, got);
		close(ends[0]);
	}
}

RF_TEST(a_failed_call_returns_its_errno)
{
	RF_AUTO_FD int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	char text[8];

	signal(SIGPIPE, SIG_IGN);
	RF_CHECK(rf_fd_write(-1, "x", 1) == -EBADF, "write to nothing");
	RF_CHECK(rf_fd_read(-1, text, sizeof(text)) == -EBADF, "read from nothing");
	RF_CHECK(rf_fd_write(full, "x", 1) == -ENOSPC, "write to /dev/full");
	RF_CHECK(rf_fd_read_text(AT_FDCWD, "/nowhere", text, sizeof(text)) == -ENOENT, "read");
	RF_CHECK(rf_fd_write_text(AT_FDCWD, "/nowhere/x", "y") == -ENOENT, "write");
	RF_CHECK(rf_fd_write_text(AT_FDCWD, "/dev/full", "x") == -ENOSPC, "text to /dev/full");
	RF_CHECK(rf_fd_read_text(AT_FDCWD, "/", text, sizeof(text)) == -EISDIR, "a directory");
}

/* Makes an empty folder, to be removed with rmdir(path), and opens it. */
static int make_folder(char *path)
{
	int dir;

	RF_REQUIRE(mkdtemp(path), "mkdtemp: %s", strerror(errno));
	dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	RF_REQUIRE(dir >= 0, "%s: %s", path, strerror(errno));
	return dir;
}

RF_TEST(a_text_is_read_beneath_a_folder_cut_to_size_and_ended)
{
	/* clang-format off */
	static const struct { const char *content; size_t size; const char *want; } cases[] = {
		{ "",        8, ""        },
		{ "0123456", 8, "0123456" },
		{ "01234567", 8, "0123456" },
		{ "x",       1, ""        },
	};
	/* clang-format on */
	char path[] = "/tmp/rf-test-fd.XXXXXX";
	RF_AUTO_FD int dir = make_folder(path);

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		int fd = openat(dir, "f", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
		char text[8];
		ssize_t n;

		memset(text, 'G', sizeof(text));
		rf_fd_write(fd, cases[i].content, strlen(cases[i].content));
		close(fd);
		n = rf_fd_read_text(dir, "f", text, cases[i].size);
		RF_CHECK(n == (ssize_t)strlen(cases[i].want), "case %zu: length %zd", i, n);
		RF_CHECK(memchr(text, '\0', cases[i].size), "case %zu: not ended", i);
		RF_CHECK(memcmp(text, cases[i].want, strlen(cases[i].want)) == 0, "case %zu", i);
	}
	unlinkat(dir, "f", 0);
	rmdir(path);
}

RF_TEST(a_text_is_written_to_a_file_that_exists_and_none_is_made)
{
	char path[] = "/tmp/rf-test-fd.XXXXXX", text[8];
	RF_AUTO_FD int dir = make_folder(path);
	int fd;

	RF_CHECK(rf_fd_write_text(dir, "f", "x") == -ENOENT, "a file was made");
	RF_CHECK(faccessat(dir, "f", F_OK, 0) < 0, "a file was left");
	fd = openat(dir, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	RF_CHECK(rf_fd_write_text(dir, "f", "abc") == 0, "write");
	RF_CHECK(rf_fd_read_text(dir, "f", text, sizeof(text)) == 3, "read back");
	RF_CHECK(strcmp(text, "abc") == 0, "'%s'", text);
	unlinkat(dir, "f", 0);
	rmdir(path);
}

RF_TEST(files_are_closed_again_after_success_and_failure)
{
	char text[16];
	int before = open_null(), after;

	close(before);
	rf_fd_read_text(AT_FDCWD, "/proc/self/comm", text, sizeof(text));
	rf_fd_read_text(AT_FDCWD, "/", text, sizeof(text));
	rf_fd_write_text(AT_FDCWD, "/dev/null", "x");
	rf_fd_write_text(AT_FDCWD, "/dev/full", "x");
	after = open_null();
	RF_CHECK(after == before, "the lowest free descriptor was %d and is %d", before, after);
}
