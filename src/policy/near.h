/* Words that are near to each other, for "did you mean". */
#ifndef RF_POLICY_NEAR_H
#define RF_POLICY_NEAR_H

#include <stddef.h>

/* The best name seen so far for a word that is none; begin with { NULL, the distance too far }. */
struct rf_near {
	const char *name; /* borrowed, or NULL */
	size_t distance;
};

/* How far a name may be from `word` and still be meant; short words are like too many others. */
struct rf_near rf_near_init(const char *word);

/* Takes `answer` if `name` is nearer to `word` than what was there, or abbreviates it. */
void rf_near_consider(struct rf_near *best, const char *word, const char *name, const char *answer);

#endif
