/* Words that are near to each other: see near.h. */
#include "policy/near.h"

#include <string.h>

#define LONGEST 40 /* no name is longer; a longer word is like none of them */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters to add, drop, replace or swap with a neighbour to get from `a` to `b`. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[LONGEST + 1][LONGEST + 1], m = strlen(a), n = strlen(b);

	if (m > LONGEST || n > LONGEST)
		return LONGEST;
	for (size_t i = 0; i <= m; i++)
		rows[i][0] = i;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= m; i++)
		for (size_t j = 1; j <= n; j++) {
			size_t cost = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			cost = least(cost, least(rows[i - 1][j], rows[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = least(cost, rows[i - 2][j - 2] + 1);
			rows[i][j] = cost;
		}
	return rows[m][n];
}

struct rf_near rf_near_init(const char *word)
{
	return (struct rf_near){ NULL, strlen(word) < 3 ? 2 : 3 };
}

void rf_near_consider(struct rf_near *best, const char *word, const char *name, const char *answer)
{
	size_t len = least(strlen(word), strlen(name)), d = distance(word, name);

	if (len >= 3 && strncmp(name, word, len) == 0)
		d = least(d, 2); /* one abbreviates the other; a mere slip is nearer */
	if (d < best->distance)
		*best = (struct rf_near){ answer, d };
}
