/*
 * The window between what came and what may go.
 *
 * It holds a few bytes that have gone (rules look at what stands before a place), those that are held back, and those that just came.  Three
 * searchers look at it, each with its own place up to which it has decided; the earliest of these is how far bytes may go.  Searchers
 * see bytes as they came: masks are kept as ranges, and put on when the bytes leave, so that no find hides another one and the cuts of
 * the stream change nothing.
 */
#include "filter/sieve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "filter/own.h"

#define MASK   '*'
#define KEY_ID UINT32_MAX /* of the first line of a private key, among the exact ones */

struct range {
	size_t at, end; /* in the window */
};

struct hit {
	size_t at, len;
	unsigned id;
};

struct rf_sieve {
	const struct rf_sieve_set *set;
	struct rf_own_stream *own;
	struct rf_buf window;
	size_t gone;          /* bytes at its start that have left already */
	uint64_t start;       /* of the window, since the stream began */
	size_t exact, tokens; /* decided up to here, in the window */
	size_t firm; /* and no further without more bytes: a find that waits, or a key's first line */
	size_t fed;          /* seen by the policy's own rules up to here */
	uint64_t secret_end; /* of the last secret that was counted, since the stream began */
	uint64_t own_at;     /* of the last match of an own rule that was counted, plus one */
	bool is_in_key;      /* in the text of a private key */
	size_t key;          /* which is looked at up to here, in the window */
	uint64_t key_end;    /* and has no more bytes than to here */
	struct range *ranges;
	size_t range_count, range_room;
	struct hit *hits;
	size_t hit_count, hit_room;
	bool has_failed; /* no memory for a range or a hit */
	struct rf_sieve_counts counts;
};

/* --- what is looked for --- */

int rf_sieve_set_new(const struct rf_sieve_config *config, struct rf_sieve_set **ret_set,
		     unsigned *ret_skipped, struct rf_err *err)
{
	struct rf_sieve_set *set = calloc(1, sizeof(*set));
	unsigned skipped = 0;
	int code = -ENOMEM;

	if (!set)
		return rf_fail(err, -ENOMEM, "make a filter");
	set->has_rules = config->has_rules;
	set->exact = rf_exact_new();
	if (!set->exact) {
		rf_fail(err, -ENOMEM, "make a filter");
		goto fail;
	}
	if (config->secret_count > RF_SIEVE_IDS) {
		code = rf_fail_say(err, -E2BIG, "more than %d secrets to look for", RF_SIEVE_IDS);
		goto fail;
	}
	for (unsigned i = 0; i < config->secret_count; i++) {
		code = rf_exact_add(set->exact, config->secrets[i].value, config->secrets[i].len, i,
				    err);
		if (code < 0)
			goto fail;
		skipped += code == 0;
	}
	if (config->has_rules) {
		code = rf_exact_add_bytes(set->exact, RF_TOKENS_KEY_MARK,
					  sizeof(RF_TOKENS_KEY_MARK) - 1, KEY_ID, err);
		if (code < 0)
			goto fail;
	}
	code = rf_exact_seal(set->exact, err);
	if (code < 0)
		goto fail;
	if (config->own_count) {
		code = rf_own_new(config->own_rules, config->own_count, &set->own, err);
		if (code < 0)
			goto fail;
	}
	*ret_set = set;
	*ret_skipped = skipped;
	return 0;

fail:
	rf_sieve_set_free(set);
	return code;
}

void rf_sieve_set_free(struct rf_sieve_set *set)
{
	if (!set)
		return;
	rf_exact_free(set->exact);
	rf_own_free(set->own);
	free(set);
}

/* --- a stream --- */

int rf_sieve_new(const struct rf_sieve_set *set, struct rf_sieve **ret_sieve, struct rf_err *err)
{
	struct rf_sieve *sieve = calloc(1, sizeof(*sieve));

	if (!sieve)
		return rf_fail(err, -ENOMEM, "filter an answer");
	sieve->set = set;
	/* A form has at most six bytes for one of a secret; the rest is a piece, and what rules hold. */
	rf_buf_init(&sieve->window, RF_EXACT_MAX * 6 + 4 * RF_SIEVE_PIECE);
	if (set->own && rf_own_stream_new(set->own, &sieve->own, err) < 0) {
		rf_sieve_free(sieve);
		return err->code;
	}
	*ret_sieve = sieve;
	return 0;
}

void rf_sieve_free(struct rf_sieve *sieve)
{
	if (!sieve)
		return;
	if (sieve->window.data)
		explicit_bzero(sieve->window.data, sieve->window.room);
	rf_buf_done(&sieve->window);
	rf_own_stream_free(sieve->own);
	free(sieve->ranges);
	free(sieve->hits);
	free(sieve);
}

size_t rf_sieve_held(const struct rf_sieve *sieve)
{
	return sieve->window.len - sieve->gone;
}

const struct rf_sieve_counts *rf_sieve_counted(const struct rf_sieve *sieve)
{
	return &sieve->counts;
}

/* A list with room for one more than `count`, which is the old one or in its place; NULL without memory. */
static void *make_room(void *list, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room * 2 : 16;
	void *more;

	if (count < *room)
		return list;
	more = reallocarray(list, wanted, size);
	if (more)
		*room = wanted;
	return more;
}

static void mask(struct rf_sieve *sieve, size_t at, size_t end)
{
	struct range *ranges = sieve->ranges;
	struct range *last = sieve->range_count ? &ranges[sieve->range_count - 1] : NULL;

	if (last && at >= last->at && at <= last->end) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	ranges = make_room(ranges, &sieve->range_room, sieve->range_count, sizeof(*ranges));
	if (!ranges) {
		sieve->has_failed = true;
		return;
	}
	sieve->ranges = ranges;
	ranges[sieve->range_count++] = (struct range){ at, end };
}

/* --- known secrets, and where private keys begin --- */

static void on_exact(void *context, size_t at, size_t len, unsigned id)
{
	struct rf_sieve *sieve = context;

	struct hit *hits =
		make_room(sieve->hits, &sieve->hit_room, sieve->hit_count, sizeof(*hits));

	if (!hits) {
		sieve->has_failed = true;
		return;
	}
	sieve->hits = hits;
	hits[sieve->hit_count++] = (struct hit){ at, len, id };
}

static int by_place(const void *left, const void *right)
{
	const struct hit *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->len == b->len ? 0 : a->len > b->len ? -1 : 1;
}

/* Looks at a first line; returns false if more has to be seen of it. */
static bool begin_key(struct rf_sieve *sieve, size_t at, bool is_end)
{
	size_t text = 0;
	int found = rf_tokens_key(sieve->window.data + at, sieve->window.len - at, is_end, &text);

	if (found < 0)
		return false;
	if (found == 0 || (sieve->is_in_key && at + text < sieve->key))
		return true;
	sieve->counts.rules[rf_tokens_key_rule()]++;
	sieve->is_in_key = true;
	sieve->key = at + text;
	sieve->key_end = sieve->start + sieve->key + RF_TOKENS_KEY;
	return true;
}

/* Goes on in the text of a private key, which needs no holding back: it is masked as it comes. */
static void follow_key(struct rf_sieve *sieve, size_t end)
{
	const char *data = sieve->window.data;

	for (; sieve->is_in_key && sieve->key < end; sieve->key++) {
		enum rf_tokens_part part = RF_TOKENS_OVER;

		if (sieve->start + sieve->key < sieve->key_end)
			part = rf_tokens_key_part(data[sieve->key], data[sieve->key - 1]);
		if (part == RF_TOKENS_SECRET)
			mask(sieve, sieve->key, sieve->key + 1);
		else if (part == RF_TOKENS_OVER)
			sieve->is_in_key = false;
	}
}

static void look_for_exact(struct rf_sieve *sieve, bool is_end)
{
	const char *data = sieve->window.data;
	size_t len = sieve->window.len;
	size_t open = is_end ? len : rf_exact_open(sieve->set->exact, data, len, sieve->exact);

	sieve->firm = len;
	sieve->hit_count = 0;
	rf_exact_scan(sieve->set->exact, data, len, sieve->exact, on_exact, sieve);
	if (sieve->hit_count > 1)
		qsort(sieve->hits, sieve->hit_count, sizeof(*sieve->hits), by_place);
	for (size_t i = 0; i < sieve->hit_count; i++) {
		struct hit hit = sieve->hits[i];

		/* What begins behind an open place is found again when that is decided. */
		if (hit.at >= open) {
			sieve->firm = hit.at;
			break;
		}
		if (hit.id == KEY_ID) {
			follow_key(sieve, hit.at);
			if (!begin_key(sieve, hit.at, is_end)) {
				sieve->firm = open = hit.at;
				break;
			}
			continue;
		}
		mask(sieve, hit.at, hit.at + hit.len);
		if (sieve->start + hit.at >= sieve->secret_end) {
			sieve->counts.secrets++;
			sieve->secret_end = sieve->start + hit.at + hit.len;
		}
	}
	follow_key(sieve, open);
	sieve->exact = open;
}

/* --- rules --- */

static void on_token(void *context, size_t at, size_t len, unsigned rule)
{
	struct rf_sieve *sieve = context;

	mask(sieve, at, at + len);
	sieve->counts.rules[rule]++;
}

static void on_own(void *context, unsigned long long at, unsigned long long end, unsigned rule)
{
	struct rf_sieve *sieve = context;
	size_t from = at > sieve->start ? (size_t)(at - sieve->start) : 0;

	mask(sieve, from, (size_t)(end - sieve->start));
	if (at + 1 > sieve->own_at) {
		sieve->counts.own++;
		sieve->own_at = at + 1;
	}
}

/* Looks at what is new; returns up to where everything is decided, or a negative errno. */
static ssize_t look(struct rf_sieve *sieve, bool is_end)
{
	size_t len = sieve->window.len, open;

	look_for_exact(sieve, is_end);
	open = sieve->exact;
	if (sieve->set->has_rules) {
		sieve->tokens = rf_tokens_scan(sieve->window.data, len, sieve->tokens, is_end,
					       on_token, sieve);
		open = sieve->tokens < open ? sieve->tokens : open;
	} else {
		sieve->tokens = len;
	}
	if (sieve->own) {
		int code = rf_own_stream_feed(sieve->own, sieve->window.data + sieve->fed,
					      len - sieve->fed, on_own, sieve);

		if (code >= 0 && is_end)
			code = rf_own_stream_end(sieve->own, on_own, sieve);
		if (code < 0)
			return code;
		unsigned long long own_open = rf_own_stream_open(sieve->own);

		size_t place = own_open > sieve->start ? (size_t)(own_open - sieve->start) : 0;

		if (!is_end && place < open)
			open = place;
	}
	sieve->fed = len;
	return sieve->has_failed ? -ENOMEM : (ssize_t)open;
}

/* --- out --- */

static void put_masks_on(struct rf_sieve *sieve, char *bytes, size_t from, size_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < sieve->range_count; i++) {
		struct range range = sieve->ranges[i];
		size_t at = range.at > from ? range.at : from;
		size_t end = range.end < to ? range.end : to;

		if (at < end) {
			for (size_t c = at; c < end; c++)
				sieve->counts.bytes += bytes[c - from] != MASK;
			memset(bytes + (at - from), MASK, end - at);
		}
		if (range.end > to)
			sieve->ranges[kept++] = range;
	}
	sieve->range_count = kept;
}

static size_t less(size_t value, size_t by)
{
	return value > by ? value - by : 0;
}

/* Forgets the first bytes of the window. */
static void forget(struct rf_sieve *sieve, size_t count)
{
	memmove(sieve->window.data, sieve->window.data + count, sieve->window.len - count);
	sieve->window.len -= count;
	sieve->start += count;
	sieve->gone -= count;
	sieve->exact -= count;
	sieve->firm -= count;
	sieve->tokens -= count;
	sieve->fed -= count;
	sieve->key = less(sieve->key, count);
	for (size_t i = 0; i < sieve->range_count; i++) {
		sieve->ranges[i].at = less(sieve->ranges[i].at, count);
		sieve->ranges[i].end -= count;
	}
}

/* Lets go what is decided, and keeps the little that rules look back at. */
static int let_go(struct rf_sieve *sieve, size_t to, struct rf_buf *out)
{
	size_t count = to > sieve->gone ? to - sieve->gone : 0;
	char *place;

	if (count) {
		place = rf_buf_reserve(out, count);
		if (!place)
			return -ENOBUFS;
		memcpy(place, sieve->window.data + sieve->gone, count);
		if (sieve->range_count)
			put_masks_on(sieve, place, sieve->gone, to);
		rf_buf_grew(out, count);
		sieve->gone = to;
	}
	if (sieve->gone > RF_TOKENS_BEHIND) {
		count = sieve->gone - RF_TOKENS_BEHIND;
		/* What may be a secret is looked at again from its beginning, though some of it has gone. */
		forget(sieve, count < sieve->exact ? count : sieve->exact);
	}
	return 0;
}

int rf_sieve_feed(struct rf_sieve *sieve, const char *data, size_t len, struct rf_buf *out)
{
	while (len) {
		size_t size = len < RF_SIEVE_PIECE ? len : RF_SIEVE_PIECE;
		ssize_t open;
		int code;

		rf_buf_add(&sieve->window, data, size);
		if (sieve->window.has_failed)
			return -ENOMEM;
		open = look(sieve, false);
		if (open < 0)
			return (int)open;
		code = let_go(sieve, (size_t)open, out);
		if (code < 0)
			return code;
		data += size;
		len -= size;
	}
	return 0;
}

/*
 * How far known secrets let bytes go when no more come.  Whoever waits for them may be waited for: a stream whose one side answers the other would stand still
 * for a letter that might begin a secret.  So a few first bytes of one pass, where there are no more of it; they are remembered, and if it goes on, the rest is masked.
 */
static size_t let_loose(const struct rf_sieve *sieve)
{
	size_t loose = rf_exact_loose(sieve->set->exact, sieve->window.data, sieve->window.len,
				      sieve->exact, KEY_ID);

	if (sieve->is_in_key) /* whose text is masked up to there */
		return sieve->exact;
	return loose < sieve->firm ? loose : sieve->firm;
}

int rf_sieve_flush(struct rf_sieve *sieve, struct rf_buf *out)
{
	if (!rf_sieve_held(sieve))
		return 0;
	/* As if it were the end, for the rules alone. */
	if (sieve->set->has_rules)
		sieve->tokens = rf_tokens_scan(sieve->window.data, sieve->window.len, sieve->tokens,
					       true, on_token, sieve);
	if (sieve->has_failed)
		return -ENOMEM;
	return let_go(sieve, let_loose(sieve), out);
}

int rf_sieve_finish(struct rf_sieve *sieve, struct rf_buf *out)
{
	ssize_t open = look(sieve, true);

	if (open < 0)
		return (int)open;
	return let_go(sieve, sieve->window.len, out);
}
