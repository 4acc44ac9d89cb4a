/*
 * The limits of a box, and their values as people write them.
 *
 * A value is read strictly: the whole text must match, a time needs its unit ("60" could be seconds
 * or minutes), and a share needs its percent sign.  Every refusal says what would have been right.
 * "MB" is refused because it means 1000 x 1000 to some and 1024 x 1024 to others.
 */
#include "policy/limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define KIB  1024ULL
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)
#define TIB  (1024 * GIB)
#define SEC  1000ULL
#define HOUR (3600 * SEC)
#define YEAR (365 * 24 * HOUR)

#define MILLION 1000000ULL

/* The two defaults are those of `run` and `shell`. */
/* clang-format off */
const struct rf_limit_info rf_limit_table[RF_LIMIT_COUNT] = {
	[RF_LIMIT_MEMORY] =
		{ "memory",     "memory",  RF_UNIT_BYTES,   false, 4 * MIB,  16 * TIB,
		  512 * MIB, 512 * MIB,
		  "memory of all processes together, swap off" },
	[RF_LIMIT_CPU] =
		{ "cpu",        "cpu",     RF_UNIT_PERCENT, true,  1,        102400,
		  100, 100,
		  "share of the processors; 100% is one core" },
	[RF_LIMIT_CPU_TIME] =
		{ "cpu_time",   "cpu",     RF_UNIT_MS,      true,  1,        YEAR,
		  60 * SEC, RF_LIMIT_NONE,
		  "processor time of all processes together" },
	[RF_LIMIT_TIME] =
		{ "time",       "timeout", RF_UNIT_MS,      true,  1,        YEAR,
		  60 * SEC, RF_LIMIT_NONE,
		  "time on the clock" },
	[RF_LIMIT_PIDS] =
		{ "pids",       "pids",    RF_UNIT_COUNT,   false, 1,        4194304,
		  256, 256,
		  "processes and threads at one time" },
	[RF_LIMIT_OPEN_FILES] =
		{ "open_files", "failed",  RF_UNIT_COUNT,   false, 16,       1048576,
		  1024, 1024,
		  "open files in each process" },
	[RF_LIMIT_FILE_SIZE] =
		{ "file_size",  "disk",    RF_UNIT_BYTES,   true,  4 * KIB,  16 * TIB,
		  GIB, GIB,
		  "size of one file" },
	[RF_LIMIT_DISK] =
		{ "disk",       "disk",    RF_UNIT_BYTES,   false, 64 * KIB, 16 * TIB,
		  256 * MIB, 256 * MIB,
		  "bytes on the box's own scratch file system, and as many written to its workspace" },
	[RF_LIMIT_INODES] =
		{ "inodes",     "disk",    RF_UNIT_COUNT,   false, 64,       1 << 30,
		  65536, 65536,
		  "files on the box's own scratch file system, and as many made in its workspace" },
	[RF_LIMIT_OUTPUT] =
		{ "output",     "output",  RF_UNIT_BYTES,   true,  1,        TIB,
		  16 * MIB, RF_LIMIT_NONE,
		  "bytes on standard output and standard error together" },
};

#define DECIMAL "[0-9]+(\\.[0-9]{1,6})?"

/*
 * What each unit is called in a refusal, with an example to write instead, and the regular
 * expression (of ECMA 262) that its values match; the parsers below are stricter only about range
 * and about fractions of what can't be divided.
 */
static const struct {
	const char *noun, *example, *pattern;
} units[] = {
	[RF_UNIT_BYTES]   = { "a size",    "64M",   "^" DECIMAL "([KMGT](iB)?|[kmgt]|B)?$" },
	[RF_UNIT_MS]      = { "a time",    "1m30s", "^(?=[0-9])(" DECIMAL "h)?(" DECIMAL "m)?("
						    DECIMAL "s)?(" DECIMAL "ms)?$" },
	[RF_UNIT_PERCENT] = { "a share",   "50%",   "^[0-9]+%$" },
	[RF_UNIT_COUNT]   = { "a number",  "64",    "^[0-9]+$" },
	[RF_UNIT_RATE]    = { "a rate",    "100/min", "^[0-9]+/(s|min|h|day)( burst [0-9]+)?$" },
	[RF_UNIT_MONEY]   = { "an amount of money", "2.50", "^" DECIMAL "$" },
};

/* A suffix and what it multiplies by; in the order in which a value is taken apart again. */
struct scale {
	const char *suffix;
	uint64_t factor;
};

static const struct scale sizes[] = {
	{ "T", TIB }, { "G", GIB }, { "M", MIB }, { "K", KIB }, { "", 1 },
	{ "t", TIB }, { "g", GIB }, { "m", MIB }, { "k", KIB }, { "B", 1 },
	{ "TiB", TIB }, { "GiB", GIB }, { "MiB", MIB }, { "KiB", KIB },
};

/* Longest first: a part of a time is never greater than the one before it. */
static const struct scale times[] = {
	{ "h", HOUR }, { "m", 60 * SEC }, { "s", SEC }, { "ms", 1 },
};

/* How many of it are in a day; the shortest first. */
static const struct scale spans[] = {
	{ "/s", 86400 }, { "/min", 1440 }, { "/h", 24 }, { "/day", 1 },
};
/* clang-format on */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number as it stands in the text: whole + fraction / parts.  Too big a whole saturates. */
struct number {
	uint64_t whole, fraction, parts;
};

/* Takes digits, and a point with at most six more.  False, with `*text` anywhere, if none are there. */
static bool take_number(const char **text, struct number *n)
{
	const char *p = *text;

	*n = (struct number){ .parts = 1 };
	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(n->whole, 10, &n->whole) ||
		    __builtin_add_overflow(n->whole, (uint64_t)(*p - '0'), &n->whole))
			n->whole = UINT64_MAX / 10;
	if (*p == '.') {
		p++;
		if (!is_digit(*p))
			return false;
		for (; is_digit(*p); p++) {
			if (n->parts >= 1000000)
				return false;
			n->fraction = n->fraction * 10 + (uint64_t)(*p - '0');
			n->parts *= 10;
		}
	}
	*text = p;
	return true;
}

/* Adds n * factor to `*sum`, saturating below "none".  False if that is not a whole number. */
static bool add_scaled(uint64_t *sum, const struct number *n, uint64_t factor)
{
	uint64_t value, part = n->fraction * factor; /* < 10^6 * 2^40: fits */

	if (part % n->parts != 0)
		return false;
	if (__builtin_mul_overflow(n->whole, factor, &value) ||
	    __builtin_add_overflow(value, part / n->parts, &value) ||
	    __builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX - 1;
	return true;
}

static bool parse_bytes(const char *text, uint64_t *value)
{
	struct number n;

	if (!take_number(&text, &n))
		return false;
	for (size_t i = 0; i < RF_LEN(sizes); i++)
		if (strcmp(text, sizes[i].suffix) == 0)
			return add_scaled(value, &n, sizes[i].factor);
	return false;
}

static bool parse_ms(const char *text, uint64_t *value)
{
	size_t from = 0;
	struct number n;

	while (*text) {
		size_t len, i;

		if (!take_number(&text, &n))
			return false;
		len = strspn(text, "hms");
		for (i = from; i < RF_LEN(times); i++)
			if (strlen(times[i].suffix) == len &&
			    memcmp(text, times[i].suffix, len) == 0)
				break;
		if (i == RF_LEN(times) || !add_scaled(value, &n, times[i].factor))
			return false;
		text += len;
		from = i + 1;
	}
	return from > 0;
}

/* A whole number and then `suffix`, nothing else. */
static bool parse_whole(const char *text, const char *suffix, uint64_t *value)
{
	struct number n;

	return take_number(&text, &n) && n.parts == 1 && strcmp(text, suffix) == 0 &&
	       add_scaled(value, &n, 1);
}

/* "2.50": to the millionth. */
static bool parse_money(const char *text, uint64_t *value)
{
	struct number n;

	return take_number(&text, &n) && !*text && add_scaled(value, &n, MILLION);
}

/* "100/min", or "100/min burst 20".  What is too much becomes more than any row allows. */
static bool parse_rate(const char *text, uint64_t *value)
{
	const uint64_t most = (UINT64_C(1) << RF_LIMIT_BURST_BITS) - 1;
	struct number n, at_once;
	size_t len, i = 0;

	if (!take_number(&text, &n) || n.parts != 1)
		return false;
	len = strcspn(text, " ");
	while (i < RF_LEN(spans) &&
	       (strlen(spans[i].suffix) != len || memcmp(spans[i].suffix, text, len) != 0))
		i++;
	if (i == RF_LEN(spans))
		return false;
	text += len;
	at_once = n;
	if (*text && (strncmp(text, " burst ", 7) != 0 ||
		      (text += 7, !take_number(&text, &at_once)) || at_once.parts != 1 || *text))
		return false;
	if (n.whole > most || at_once.whole > most)
		*value = UINT64_MAX - 1;
	else if (at_once.whole > 0)
		*value = rf_limit_rate(n.whole * spans[i].factor, at_once.whole);
	return true;
}

static bool parse_unit(enum rf_unit unit, const char *text, uint64_t *value)
{
	*value = 0;
	switch (unit) {
	case RF_UNIT_BYTES:
		return parse_bytes(text, value);
	case RF_UNIT_MS:
		return parse_ms(text, value);
	case RF_UNIT_PERCENT:
		return parse_whole(text, "%", value);
	case RF_UNIT_COUNT:
		return parse_whole(text, "", value);
	case RF_UNIT_RATE:
		return parse_rate(text, value);
	case RF_UNIT_MONEY:
		return parse_money(text, value);
	}
	return false;
}

/* Refuses, and says which values would be right. */
static int refuse(const struct rf_limit_info *info, const char *text, const char *what,
		  struct rf_err *err)
{
	char min[32], max[32];

	rf_limit_write(info, info->min, min, sizeof(min));
	rf_limit_write(info, info->max, max, sizeof(max));
	rf_fail_say(err, -EINVAL, "\"%.40s\" %s", text, what);
	return rf_fail_hint(err, "write %s such as %s, from %s to %s%s", units[info->unit].noun,
			    units[info->unit].example, min, max,
			    info->may_be_none ? ", or none" : "");
}

int rf_limit_parse(enum rf_limit limit, const char *text, uint64_t *ret_value, struct rf_err *err)
{
	return rf_limit_read(&rf_limit_table[limit], text, ret_value, err);
}

int rf_limit_read(const struct rf_limit_info *info, const char *text, uint64_t *ret_value,
		  struct rf_err *err)
{
	uint64_t value;
	char what[64];

	if (strcmp(text, "none") == 0) {
		if (!info->may_be_none)
			return refuse(info, text, "is not possible here", err);
		*ret_value = RF_LIMIT_NONE;
		return 0;
	}
	if (info->unit == RF_UNIT_MS && parse_whole(text, "", &(uint64_t){ 0 })) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" has no unit", text);
		return rf_fail_hint(err, "write %.20ss for %.20s seconds", text, text);
	}
	if (info->unit == RF_UNIT_PERCENT && parse_whole(text, "", &(uint64_t){ 0 })) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" has no unit", text);
		return rf_fail_hint(err, "write %.20s%%%s", text,
				    info == &rf_limit_table[RF_LIMIT_CPU] ? "; 100% is one core"
									  : "");
	}
	if (!parse_unit(info->unit, text, &value)) {
		snprintf(what, sizeof(what), "is not %s", units[info->unit].noun);
		return refuse(info, text, what, err);
	}
	if (value < info->min || value > info->max)
		return refuse(info, text, "is out of range", err);

	*ret_value = value;
	return 0;
}

const char *rf_limit_pattern(enum rf_unit unit)
{
	return units[unit].pattern;
}

/* A number and its suffix, as far as there is room; gives how long it is.  Without printf: each run that is recorded writes some twenty. */
static size_t put_number(uint64_t value, const char *suffix, char *text, size_t size)
{
	char digits[20];
	size_t count = 0, len = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	if (count + strlen(suffix) >= size)
		return 0;
	while (count > 0)
		text[len++] = digits[--count];
	while (*suffix)
		text[len++] = *suffix++;
	text[len] = '\0';
	return len;
}

static void format_ms(uint64_t value, char *text, size_t size)
{
	size_t len = 0;

	put_number(0, "s", text, size);
	for (size_t i = 0; i < RF_LEN(times); i++) {
		if (value >= times[i].factor)
			len += put_number(value / times[i].factor, times[i].suffix, text + len,
					  size - len);
		value %= times[i].factor;
	}
}

/* By the span in which as many come as at once, if there is one; else by the shortest that divides. */
static void format_rate(uint64_t value, char *text, size_t size)
{
	uint64_t per_day = rf_limit_rate_per_day(value), burst = rf_limit_rate_burst(value);
	size_t i = 0;

	while (i < RF_LEN(spans) && per_day != burst * spans[i].factor)
		i++;
	if (i < RF_LEN(spans)) {
		snprintf(text, size, "%llu%s", (unsigned long long)burst, spans[i].suffix);
		return;
	}
	for (i = 0; per_day % spans[i].factor != 0;) /* ends at the factor 1 */
		i++;
	snprintf(text, size, "%llu%s burst %llu", (unsigned long long)(per_day / spans[i].factor),
		 spans[i].suffix, (unsigned long long)burst);
}

static void format_money(uint64_t value, char *text, size_t size)
{
	int len = snprintf(text, size, "%llu.%06llu", (unsigned long long)(value / MILLION),
			   (unsigned long long)(value % MILLION));

	if (len < 0 || (size_t)len >= size)
		return;
	while (text[len - 1] == '0')
		text[--len] = '\0';
	if (text[len - 1] == '.')
		text[--len] = '\0';
}

void rf_limit_format(enum rf_limit limit, uint64_t value, char *text, size_t size)
{
	rf_limit_write(&rf_limit_table[limit], value, text, size);
}

void rf_limit_write(const struct rf_limit_info *info, uint64_t value, char *text, size_t size)
{
	size_t i = 0;

	if (value == RF_LIMIT_NONE) {
		snprintf(text, size, "none");
		return;
	}
	switch (info->unit) {
	case RF_UNIT_BYTES:
		while (value % sizes[i].factor != 0) /* ends at the factor 1 */
			i++;
		put_number(value / sizes[i].factor, value ? sizes[i].suffix : "", text, size);
		break;
	case RF_UNIT_MS:
		format_ms(value, text, size);
		break;
	case RF_UNIT_PERCENT:
		put_number(value, "%", text, size);
		break;
	case RF_UNIT_COUNT:
		put_number(value, "", text, size);
		break;
	case RF_UNIT_RATE:
		format_rate(value, text, size);
		break;
	case RF_UNIT_MONEY:
		format_money(value, text, size);
		break;
	}
}

uint64_t rf_limit_lesser(const struct rf_limit_info *info, uint64_t a, uint64_t b)
{
	uint64_t days, bursts;

	if (info->unit != RF_UNIT_RATE || a == RF_LIMIT_NONE || b == RF_LIMIT_NONE)
		return a < b ? a : b;
	days = rf_limit_rate_per_day(a < b ? a : b);
	bursts = rf_limit_rate_burst(a);
	if (bursts > rf_limit_rate_burst(b))
		bursts = rf_limit_rate_burst(b);
	return rf_limit_rate(days, bursts);
}

bool rf_limit_is_within(const struct rf_limit_info *info, uint64_t a, uint64_t b)
{
	return rf_limit_lesser(info, a, b) == a;
}
