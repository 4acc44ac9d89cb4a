/*
 * How the rules are found.
 *
 * In 64 bytes at a time it is seen which of them are letters or digits, and which may stand in a token at all.  A token begins with a letter or
 * digit that has none before it (but for the letter of an escape: "\nghp_..." and "%20ghp_..."), and goes on for twelve characters or more; in
 * ordinary text that is one place in fifty.  There the first bytes say if any rule begins so; only then is a shape compared.
 * So what costs is bytes, and not rules.
 *
 * Weighed and not taken: vectorscan.  It can't say whether a match is under way, so every answer would be held back by the longest token
 * there is, and an event stream would stall; and it costs a process that has 15 ms some of them (docs/internals/filter.md has figures).  Rules of the
 * policy's own are its work: see own.c.
 */
#include "filter/tokens.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filter/charmap.h"
#include "filter/tokens-table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RUN          12 /* characters that every shape begins with: see tokens-table.h */
#define PARTS        10
#define SHAPES       200
#define FOUR_BITS    15

static_assert(SHAPES < 256, "a shape's number is a byte");
static_assert(COUNT(rules) <= RF_TOKENS_MAX, "counts have room for every rule");

struct part {
	const char *text;         /* fixed characters, or NULL */
	uint16_t min, max;        /* length; both that of `text` */
	unsigned char class_[16]; /* a bit for each ASCII character */
};

struct shape {
	struct part parts[PARTS];
	unsigned count, secret; /* parts; the one with which the secret begins */
	unsigned rule;
};

/* The first four characters of a shape, as far as they are fixed: what is compared first, and lies together. */
struct key {
	uint32_t mask, value;
	uint32_t shape;
};

/* Built once, from the table; a few microseconds. */
static struct {
	bool is_ready;
	struct shape shapes[SHAPES];
	unsigned count;
	struct key keys[SHAPES]; /* by their first character */
	uint8_t first_key[257];  /* of those with this first character, or a later one */
	struct rf_charmap_anchors anchors;
	uint8_t fours[1 << (FOUR_BITS - 3)]; /* first four characters, by their hash */
} book;

unsigned rf_tokens_count(void)
{
	return COUNT(rules);
}

const char *rf_tokens_name(unsigned rule)
{
	return rules[rule].name;
}

const char *rf_tokens_what(unsigned rule)
{
	return rules[rule].what;
}

unsigned rf_tokens_key_rule(void)
{
	return COUNT(rules) - 1;
}

/* --- the table, read --- */

static bool is_in(const unsigned char *class_, char c)
{
	unsigned char u = (unsigned char)c;

	return u < 128 && class_[u >> 3] >> (u & 7) & 1;
}

static void set_range(unsigned char *class_, char first, char last)
{
	for (int c = (unsigned char)first; c <= (unsigned char)last; c++)
		class_[c >> 3] = (unsigned char)(class_[c >> 3] | 1 << (c & 7));
}

static void set_all(unsigned char *class_, const char *text)
{
	for (; *text; text++)
		set_range(class_, *text, *text);
}

static void read_class(unsigned char *class_, char name)
{
	/* clang-format off */
	static const struct { char name; const char *ranges, *marks; } classes[] = {
		{ 'd', "09",     "" },
		{ 'h', "09af",   "" },
		{ 'x', "09afAF", "" },
		{ 'u', "09AZ",   "" },
		{ 'r', "AZ27",   "" },
		{ 'n', "09AZaz", "" },
		{ 'w', "09AZaz", "_" },
		{ 'b', "09AZaz", "_-" },
		{ 'v', "09AZaz", "_-." },
		{ 'B', "09AZaz", "+/" },
		{ 'e', "09AZaz", "+/%=-_" },
		{ 's', "",       " \t=:\"'>\\" },
		{ 'y', "09AZaz", "-._~%!$&*+,;=" },
		{ 'p', "09AZaz", "-._~%!$&*+,;=#?^()[]|" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT(classes); i++) {
		if (classes[i].name != name)
			continue;
		for (const char *range = classes[i].ranges; *range; range += 2)
			set_range(class_, range[0], range[1]);
		set_all(class_, classes[i].marks);
		return;
	}
	abort(); /* the table is ours, and a test reads all of it */
}

/* Reads `<X10-20>`, of which `at` is the X; returns what follows. */
static const char *read_run(struct part *part, const char *at)
{
	char *end;

	read_class(part->class_, *at);
	part->min = part->max = (uint16_t)strtoul(at + 1, &end, 10);
	if (*end == '-')
		part->max = (uint16_t)strtoul(end + 1, &end, 10);
	if (*end != '>')
		abort();
	return end + 1;
}

static void read_shape(struct shape *shape, const char *text)
{
	bool is_told = false;

	for (const char *at = text; *at;) {
		struct part *part = &shape->parts[shape->count];

		if (*at == '{') {
			shape->secret = shape->count;
			is_told = true;
			at++;
			continue;
		}
		if (shape->count == PARTS)
			abort();
		if (*at == '<') {
			if (!is_told && at[1] != 's')
				shape->secret = shape->count, is_told = true;
			at = read_run(part, at + 1);
		} else {
			part->text = at;
			part->min = part->max = (uint16_t)strcspn(at, "<{");
			at += part->min;
		}
		shape->count++;
	}
}

static uint32_t load(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static int by_anchor(const void *left, const void *right)
{
	const unsigned *a = left, *b = right;

	return strcmp(book.shapes[*a].parts[0].text, book.shapes[*b].parts[0].text);
}

static struct key key_of(const struct shape *shape)
{
	size_t fixed = shape->parts[0].max < 4 ? shape->parts[0].max : 4;
	char first[4] = { 0 }, mask[4] = { 0 };

	memcpy(first, shape->parts[0].text, fixed);
	memset(mask, 0xff, fixed);
	return (struct key){ load(mask), load(first), (uint32_t)(shape - book.shapes) };
}

/* Of the first four characters. */
static uint32_t hash(const char *at)
{
	return (load(at) * 0x9e3779b1U) >> (32 - FOUR_BITS);
}

/* May a shape have this character at this place?  A short anchor's next ones are a run's. */
static bool may_have(const struct shape *shape, size_t place, int c)
{
	return place < shape->parts[0].max ? c == shape->parts[0].text[place]
					   : is_in(shape->parts[1].class_, (char)c);
}

/* Has the first characters looked for that a shape can begin with. */
static void enter(const struct shape *shape, unsigned group)
{
	char four[4];

	memcpy(four, shape->parts[0].text, 2);
	for (int third = 0; third < 128; third++)
		for (int fourth = 0; may_have(shape, 2, third) && fourth < 128; fourth++) {
			if (!may_have(shape, 3, fourth))
				continue;
			four[2] = (char)third;
			four[3] = (char)fourth;
			rf_charmap_enter(&book.anchors, group, four);
			book.fours[hash(four) >> 3] |= (uint8_t)(1 << (hash(four) & 7));
		}
}

/* Anchors that begin alike make a group, so that a group has few bytes at each place. */
static void sort(void)
{
	unsigned sorted[SHAPES] = { 0 };
	unsigned place = 0;

	for (unsigned i = 0; i < book.count; i++)
		sorted[i] = i;
	qsort(sorted, book.count, sizeof(sorted[0]), by_anchor);
	for (unsigned i = 0; i < book.count; i++) {
		const struct shape *shape = &book.shapes[sorted[i]];

		enter(shape, i * RF_CHARMAP_GROUPS / book.count);
		while (place <= (unsigned char)shape->parts[0].text[0])
			book.first_key[place++] = (uint8_t)i;
		book.keys[i] = key_of(shape);
	}
	while (place < COUNT(book.first_key))
		book.first_key[place++] = (uint8_t)book.count;
}

static void get_ready(void)
{
	for (unsigned rule = 0; rule < COUNT(rules); rule++)
		for (size_t i = 0; i < RF_TOKENS_SHAPES && rules[rule].shapes[i]; i++) {
			struct shape *shape = &book.shapes[book.count++];

			if (book.count == SHAPES)
				abort();
			read_shape(shape, rules[rule].shapes[i]);
			shape->rule = rule;
		}
	sort();
	book.is_ready = true;
}

/* --- does it look real? --- */

/*
 * As random text looks: many characters, not in order, seldom the same, and more so where there are no digits among them.  How
 * often two of its characters are the same is what is counted (Renyi's entropy of order two, without logarithms).
 */
static bool looks_random(const char *text, size_t len)
{
	size_t seen[128] = { 0 }, distinct = 0, steps = 0, digits = 0, upper = 0, lower = 0,
	       same = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i] & 127;

		distinct += seen[c]++ == 0;
		digits += c >= '0' && c <= '9';
		upper += c >= 'A' && c <= 'Z';
		lower += c >= 'a' && c <= 'z';
		steps += i && (text[i] == text[i - 1] || text[i] == text[i - 1] + 1);
	}
	for (size_t i = 0; i < COUNT(seen); i++)
		same += seen[i] * seen[i];
	if (memmem(text, len, "EXAMPLE", 7) || memmem(text, len, "example", 7) ||
	    memmem(text, len, "xxxxxx", 6) || memmem(text, len, "XXXXXX", 6))
		return false;
	if (distinct < 7 || steps * 3 > len)
		return false;
	if (!digits && len >= 24 && (!upper || !lower)) /* words with hyphens */
		return false;
	return same * (digits ? 5 : 8) <= len * len;
}

/* The value of a character of base64url, or -1. */
static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* The first part, read, is a JSON object that names its algorithm. */
static bool looks_like_jwt(const char *text, size_t len)
{
	char head[2048];
	size_t size = 0;
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < len && text[i] != '.' && size < sizeof(head); i++) {
		bits = bits << 6 | ((uint32_t)base64_value(text[i]) & 63);
		have += 6;
		if (have >= 8) {
			have -= 8;
			head[size++] = (char)(bits >> have & 255);
		}
	}
	return size > 2 && head[0] == '{' && memmem(head, size, "\"alg\"", 5);
}

/* Not a place for a password: a variable, stars, a word that says what belongs there. */
static bool looks_like_password(const char *text, size_t len)
{
	static const char *const words[] = { "password", "passwd",  "pass", "pwd",
					     "secret",   "example", "user", "changeme",
					     "PASSWORD", "PASS",    "token" };
	size_t other = 0;

	for (size_t i = 0; i < COUNT(words); i++)
		if (len == strlen(words[i]) && !memcmp(text, words[i], len))
			return false;
	if (text[0] == '$' || text[0] == '%' || text[0] == '[' || text[0] == '(')
		return len > 1 && text[0] == '%' && !memchr(text + 1, '%', len - 1) && len > 6;
	for (size_t i = 1; i < len; i++)
		other += text[i] != text[0];
	return other > 0 && !memmem(text, len, "...", 3);
}

static bool looks_real(enum token_look look, const char *text, size_t len)
{
	switch (look) {
	case LOOK_NONE:
		return true;
	case LOOK_RANDOM:
		return looks_random(text, len);
	case LOOK_JWT:
		return looks_like_jwt(text, len);
	case LOOK_PASS:
		return looks_like_password(text, len);
	}
	return true;
}

/* --- one place --- */

enum outcome {
	NO,
	YES,
	MORE
};

/* Compares what begins at `data` with a shape. */
static enum outcome compare(const struct shape *shape, const char *data, size_t len, bool is_end,
			    size_t *ret_at, size_t *ret_len)
{
	const struct part *part = shape->parts;
	size_t at = 0, secret = 0, end = 0;

	for (unsigned i = 0; i < shape->count; i++, part++) {
		size_t left = len - at, run = 0;

		if (i == shape->secret)
			secret = at;
		if (part->text) {
			size_t size = part->max < left ? part->max : left;

			if (memcmp(data + at, part->text, size) != 0)
				return NO;
			if (size < part->max)
				return is_end ? NO : MORE;
			run = size;
		} else {
			while (run < left && run < part->max && is_in(part->class_, data[at + run]))
				run++;
			if (run == left && run < part->max && !is_end)
				return MORE;
			if (run < part->min)
				return NO;
			end = at + run;
		}
		at += run;
	}
	if (!part[-1].text && at == len && !is_end)
		return MORE;
	if (!part[-1].text && at < len && is_in(part[-1].class_, data[at]))
		return NO;
	if (!looks_real(rules[shape->rule].look, data + secret, end - secret))
		return NO;
	*ret_at = secret;
	*ret_len = end - secret;
	return YES;
}

/* What begins at `data`, of all shapes: the longest, once every one of them is decided. */
static enum outcome judge(const char *data, size_t len, bool is_end, size_t *ret_at,
			  size_t *ret_len, unsigned *ret_rule)
{
	enum outcome outcome = NO;
	unsigned char first = (unsigned char)data[0];
	size_t best = 0;

	const struct key *key = &book.keys[book.first_key[first]];
	const struct key *end = &book.keys[book.first_key[first + 1]];

	for (; key < end; key++) {
		const struct shape *shape = &book.shapes[key->shape];
		size_t at = 0, size = 0;
		enum outcome one;

		if (len >= 4 && (load(data) & key->mask) != key->value)
			continue;
		one = compare(shape, data, len, is_end, &at, &size);
		if (one == MORE)
			return MORE;
		if (one == YES && at + size > best) {
			best = at + size;
			*ret_at = at;
			*ret_len = size;
			*ret_rule = shape->rule;
			outcome = YES;
		}
	}
	return outcome;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* May a token begin here?  The same question that rf_charmap_starts() answers for 64 places. */
static bool is_start(const char *data, size_t place)
{
	if (!is_alnum(data[place]))
		return false;
	return place == 0 || !is_alnum(data[place - 1]) ||
	       (place >= 2 && data[place - 2] == '\\') || (place >= 3 && data[place - 3] == '%');
}

/* Can what begins here be an anchor?  There are four bytes or more. */
static bool is_anchor(const char *at)
{
	uint32_t place = hash(at);

	return book.fours[place >> 3] >> (place & 7) & 1;
}

/* The first place in the last bytes that may begin a token of which the rest is to come. */
static size_t open_in_tail(const char *data, size_t len, size_t from)
{
	for (size_t place = len > RUN && len - RUN > from ? len - RUN : from; place < len;
	     place++) {
		size_t at, size;
		unsigned rule;

		if (is_start(data, place) &&
		    judge(data + place, len - place, false, &at, &size, &rule) == MORE)
			return place;
	}
	return len;
}

/* Tells of what begins at `place`, and moves `*skip` behind it.  False if more has to be seen. */
static bool decide(const char *data, size_t len, size_t place, bool is_end, size_t *skip,
		   rf_tokens_found *found, void *context)
{
	size_t at = 0, size = 0;
	unsigned rule = 0;

	switch (judge(data + place, len - place, is_end, &at, &size, &rule)) {
	case NO:
		break;
	case MORE:
		return false;
	case YES:
		found(context, place + at, size, rule);
		*skip = place + at + size;
		break;
	}
	return true;
}

size_t rf_tokens_scan(const char *data, size_t len, size_t from, bool is_end,
		      rf_tokens_found *found, void *context)
{
	struct rf_charmap map;
	size_t skip = from;

	if (!book.is_ready)
		get_ready();
	rf_charmap_init(&map, &book.anchors, data, len, from);
	while (rf_charmap_next(&map))
		for (size_t i = 0; i < map.count; i++)
			for (uint64_t starts = map.starts[i]; starts; starts &= starts - 1) {
				size_t place = map.at + i * RF_CHARMAP_WIDE +
					       (size_t)__builtin_ctzll(starts);

				if (place >= skip && is_anchor(data + place) &&
				    !decide(data, len, place, is_end, &skip, found, context))
					return place;
			}
	if (is_end)
		return len;
	return open_in_tail(data, len, skip);
}

/* --- private keys --- */

static bool is_base64(char c)
{
	return is_alnum(c) || c == '+' || c == '/' || c == '=';
}

enum rf_tokens_part rf_tokens_key_part(char c, char before)
{
	if (before == '\\' && (c == 'n' || c == 'r' || c == 't'))
		return RF_TOKENS_BREAK;
	if (is_base64(c))
		return RF_TOKENS_SECRET;
	return c && strchr(" \t\r\n\\\"',:", c) ? RF_TOKENS_BREAK : RF_TOKENS_OVER;
}

/* Passes over what stands between the lines of a key, also in a string of a program. */
static size_t skip_break(const char *data, size_t len, size_t at)
{
	while (at < len && rf_tokens_key_part(data[at], data[at - 1]) == RF_TOKENS_BREAK)
		at++;
	return at;
}

int rf_tokens_key(const char *data, size_t len, bool is_end, size_t *ret_text)
{
	static const char *const ends[] = { "PRIVATE KEY-----", "PRIVATE KEY BLOCK-----" };
	const size_t mark = sizeof(RF_TOKENS_KEY_MARK) - 1;
	size_t size = mark, run = 0, need = 0;

	while (size < len && size < 64 && data[size] != '-')
		size++;
	if (size == 64)
		return 0;
	if (len < size + 5)
		return is_end ? 0 : -1;
	for (size_t i = 0; i < COUNT(ends); i++)
		if (size + 5 - mark >= strlen(ends[i]) &&
		    !memcmp(data + size + 5 - strlen(ends[i]), ends[i], strlen(ends[i])))
			need = 16;
	if (!need)
		return 0;
	size = skip_break(data, len, size + 5);
	if (size > 128)
		return 0;
	while (size + run < len && run < need && is_base64(data[size + run]))
		run++;
	/* The heads of an encrypted key or of PGP's armour ("Proc-Type: 4,ENCRYPTED") stand for text too. */
	if (run < need && size + run == len && !is_end)
		return -1;
	if (run < need &&
	    !(size + run < len && (data[size + run] == ':' || data[size + run] == '-') && run >= 4))
		return 0;
	*ret_text = size;
	return 1;
}
