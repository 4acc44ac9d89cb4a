/*
 * Makes a filter shorter: see tighten.h.
 *
 * Two instructions are alike if they do the same and whatever comes after them is alike; jumps of BPF
 * only lead forward, so one pass from the end to the beginning finds for each instruction the next one
 * that is like it.  A second pass, from the beginning, follows the ways that calls can take, leads each
 * jump as far ahead as it can to the like of its target, and so leaves earlier copies without visitors.
 * A third one closes the gaps.  Distances only ever shrink by that, so that every jump still reaches.
 */
#include "jail/tighten.h"

#include <string.h>

#include "base/fd.h"

#define NONE UINT16_MAX

_Static_assert(RF_FILTER_MAX < NONE, "an instruction's place fits");

/* What is known of one instruction. */
struct note {
	uint16_t kind;  /* the place of the last one that is like it */
	uint16_t next;  /* of the next one that is, or NONE */
	uint16_t moved; /* where it lies in the end */
	bool is_live;
};

/* Side by side, because most programs are short and a page that is touched costs more than they do. */
struct notes {
	struct note of[RF_FILTER_MAX];
	uint16_t first[RF_FILTER_MAX * 2]; /* the first one seen of each kind, by its hash */
};

static bool is_jump(const struct sock_filter *at)
{
	return BPF_CLASS(at->code) == BPF_JMP;
}

static bool is_plain_jump(const struct sock_filter *at)
{
	return at->code == (BPF_JMP | BPF_JA);
}

static bool is_return(const struct sock_filter *at)
{
	return BPF_CLASS(at->code) == BPF_RET;
}

/* What an instruction does and what comes after it, as numbers. */
struct likeness {
	uint32_t k;
	uint16_t code, if_true, if_false;
};

static struct likeness likeness_of(const struct notes *notes, const struct sock_filter *at,
				   size_t i)
{
	struct likeness is = { at->k, at->code, NONE, NONE };

	if (is_jump(at)) {
		is.if_true = notes->of[i + 1 + at->jt].kind;
		is.if_false = notes->of[i + 1 + at->jf].kind;
	} else if (!is_return(at)) {
		is.if_true = notes->of[i + 1].kind;
	}
	return is;
}

static size_t hash_of(const struct likeness *is)
{
	uint64_t h = is->k * 0x9e3779b97f4a7c15ull;

	h ^= ((uint64_t)is->code << 32 | (uint64_t)is->if_true << 16 | is->if_false) *
	     0xc2b2ae3d27d4eb4full;
	return (size_t)(h >> 40);
}

static bool is_like(const struct likeness *a, const struct likeness *b)
{
	return a->k == b->k && a->code == b->code && a->if_true == b->if_true &&
	       a->if_false == b->if_false;
}

/* From the end to the beginning: what is like what. */
static void find_kinds(struct notes *notes, const struct rf_filter *filter)
{
	size_t slots = 16;

	while (slots < filter->len * 2)
		slots *= 2;
	memset(notes->first, 0xff, slots * sizeof(notes->first[0]));
	for (size_t i = filter->len; i-- > 0;) {
		const struct sock_filter *at = &filter->code[i];
		struct likeness is = likeness_of(notes, at, i);
		struct note *note = &notes->of[i];
		size_t slot;

		*note = (struct note){ .next = NONE };
		if (is_plain_jump(at)) { /* does nothing by itself */
			note->kind = notes->of[i + 1 + at->k].kind;
			continue;
		}
		for (slot = hash_of(&is) & (slots - 1); notes->first[slot] != NONE;
		     slot = (slot + 1) & (slots - 1)) {
			size_t other = notes->first[slot];
			struct likeness it = likeness_of(notes, &filter->code[other], other);

			if (is_like(&is, &it)) {
				note->next = (uint16_t)other;
				break;
			}
		}
		notes->first[slot] = (uint16_t)i;
		note->kind = note->next == NONE ? (uint16_t)i : notes->of[note->next].kind;
	}
}

/* The last instruction like `target` that a conditional jump at `from` can reach. */
static size_t lead(const struct notes *notes, const struct rf_filter *filter, size_t from,
		   size_t target)
{
	size_t found = target;

	while (is_plain_jump(&filter->code[target]) &&
	       target + 1 + filter->code[target].k <= from + 1 + UINT8_MAX)
		found = target = target + 1 + filter->code[target].k;
	while (notes->of[target].next != NONE && notes->of[target].next <= from + 1 + UINT8_MAX)
		found = target = notes->of[target].next;
	return found;
}

/* From the beginning to the end: where calls come by, once jumps lead as far as they can. */
static void follow(struct notes *notes, struct rf_filter *filter)
{
	notes->of[0].is_live = true;
	for (size_t i = 0; i < filter->len; i++) {
		struct sock_filter *at = &filter->code[i];

		if (!notes->of[i].is_live || is_return(at))
			continue;
		if (is_plain_jump(at)) {
			notes->of[i + 1 + at->k].is_live = true;
		} else if (is_jump(at)) {
			at->jt = (uint8_t)(lead(notes, filter, i, i + 1 + at->jt) - i - 1);
			at->jf = (uint8_t)(lead(notes, filter, i, i + 1 + at->jf) - i - 1);
			notes->of[i + 1 + at->jt].is_live = true;
			notes->of[i + 1 + at->jf].is_live = true;
		} else {
			notes->of[i + 1].is_live = true;
		}
	}
}

static void close_gaps(struct notes *notes, struct rf_filter *filter)
{
	size_t len = 0;

	for (size_t i = 0; i < filter->len; i++) {
		notes->of[i].moved = (uint16_t)len;
		len += notes->of[i].is_live;
	}
	for (size_t i = 0; i < filter->len; i++) {
		struct sock_filter at = filter->code[i];
		size_t to = notes->of[i].moved;

		if (!notes->of[i].is_live)
			continue;
		if (is_plain_jump(&at)) {
			at.k = (uint32_t)(notes->of[i + 1 + at.k].moved - to - 1);
		} else if (is_jump(&at)) {
			at.jt = (uint8_t)(notes->of[i + 1 + at.jt].moved - to - 1);
			at.jf = (uint8_t)(notes->of[i + 1 + at.jf].moved - to - 1);
		}
		filter->code[to] = at;
	}
	filter->len = len;
}

void rf_tighten_filter(struct rf_filter *filter)
{
	struct notes notes;

	find_kinds(&notes, filter);
	follow(&notes, filter);
	close_gaps(&notes, filter);
}
