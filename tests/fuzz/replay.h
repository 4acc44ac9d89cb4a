/*
 * What a fuzz harness defines: RF_FUZZ(data, size) { ... return 0; }
 *
 * It must not keep state from one input to the next, must free what it took, and may abort() when a
 * property does not hold (what was formatted must parse back, a meet must not allow more than either
 * side ...).  Crashes and hangs are found by themselves.
 *
 * libFuzzer calls it in the program fuzz-NAME.  A test program, which is built with RF_CORPUS, calls
 * it with each file of RF_CORPUS/NAME: see replay.c.  NAME is the file's: fuzz-NAME.c.
 */
#ifndef RF_FUZZ_REPLAY_H
#define RF_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input of `size` bytes (borrows).  Always returns 0. */
typedef int rf_replay_harness(const uint8_t *data, size_t size);

/* Adds a test for each file of a harness's corpus.  `file` is the harness's fuzz-NAME.c. */
void rf_replay_add(const char *file, rf_replay_harness *harness);

/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names of parameters */
#ifdef RF_CORPUS
#define RF_FUZZ(data, size)                                                                        \
	static rf_replay_harness feed_one;                                                         \
	__attribute__((constructor)) static void add_corpus(void)                                  \
	{                                                                                          \
		rf_replay_add(__FILE__, feed_one);                                                 \
	}                                                                                          \
	static int feed_one(const uint8_t *data, size_t size)
#else
#define RF_FUZZ(data, size)                                                                        \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                              \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#endif
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
