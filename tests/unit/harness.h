/*
 * The unit test harness: tests register themselves, each runs in a child process of its own, and
 * the outcome is TAP version 13 on standard output.
 *
 * A test is a function whose name is a sentence about behaviour: RF_TEST(a_full_buffer_keeps_all)
 * is reported as "a full buffer keeps all".  Because it has a process to itself it may change
 * directories, limits and signals, crash, or hang: the harness names the signal, ends what is left
 * of its process group, and goes on.  A test passes when its function returned, no
 * check failed, and the process then ended with 0 (so a leak that the sanitizer finds counts); a
 * test that calls exit() by itself has failed.
 *
 * harness.c holds main().  A test program is this library, the test-x.c of a folder, and that folder
 * (see ../meson.build).  A test's whole name begins with its file: "test-x: a full buffer keeps all".
 *
 *   test-folder               run everything
 *   test-folder WORDS...      run the tests whose whole name contains one of the WORDS
 *   test-folder --list        print the names
 */
#ifndef RF_TEST_HARNESS_H
#define RF_TEST_HARNESS_H

/* A test's body gets `arg`: NULL under RF_TEST, else what rf_harness_add() was given. */
typedef void rf_harness_body(const void *arg);

/* Defines and registers a test.  Tests run in the order in which they stand in the file. */
#define RF_TEST(test)                                                                              \
	static rf_harness_body test_##test;                                                        \
	__attribute__((constructor)) static void register_##test(void)                             \
	{                                                                                          \
		rf_harness_add(__FILE__, #test, test_##test, (void *)0, 30);                       \
	}                                                                                          \
	static void test_##test(const void *arg)

/* Fails the test unless `cond` holds, with the place and a message, and goes on. */
#define RF_CHECK(cond, ...)                                                                        \
	((cond) ? (void)0 : rf_harness_fail(__FILE__, __LINE__, #cond, __VA_ARGS__))

/* The same, for what the rest of the test stands on: ends the test. */
#define RF_REQUIRE(cond, ...)                                                                      \
	((cond) ? (void)0                                                                          \
		: (rf_harness_fail(__FILE__, __LINE__, #cond, __VA_ARGS__), rf_harness_end()))

/* Ends the test as skipped.  The reason names what this machine lacks. */
#define RF_SKIP(...) rf_harness_skip(__VA_ARGS__)

/*
 * Registers a test (borrows `arg`, for good) that is ended after `timeout_s` seconds.
 * `file` is its source, or a path of which the last part stands before its name.
 * To be called from a constructor, as RF_TEST does.
 */
void rf_harness_add(const char *file, const char *name, rf_harness_body *body, const void *arg,
		    unsigned timeout_s);

/* What the macros stand on; called in the test's own process only. */
void rf_harness_fail(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void rf_harness_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void rf_harness_end(void) __attribute__((noreturn));

#endif
