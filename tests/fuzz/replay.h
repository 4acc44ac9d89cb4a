/*
 * What a fuzz harness defines and what calls it: libFuzzer in fuzz-NAME, replay.c in replay-NAME.
 *
 * The harness must not keep state from one input to the next, must free what it took, and may
 * abort() when a property does not hold (what was formatted must parse back, a meet must not allow
 * more than either side ...).  Crashes and hangs are found by themselves.
 */
#ifndef RF_FUZZ_REPLAY_H
#define RF_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input of `size` bytes (borrows).  Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
