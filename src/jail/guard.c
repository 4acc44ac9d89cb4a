/*
 * A guard: see guard.h.
 *
 * What passes stands in tables; what does not stand there is dropped, known or not.  The grammar is
 * that of ECMA-48 as terminals read it: ESC begins a sequence anywhere, CAN and SUB end one, other
 * controls within one are not looked at.  Sequences that begin with a C1 control, in either form,
 * never pass: no program needs them, and terminals do not agree on them.
 */
#include "jail/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"

enum {
	BEL = 0x07,
	CAN = 0x18,
	SUB = 0x1a,
	ESC = 0x1b,
	DEL = 0x7f
};

/* What has been read so far; `held` keeps what may pass if it ends well. */
enum state {
	GROUND,    /* nothing */
	CHARACTER, /* a part of a character of UTF-8 */
	ESCAPE,    /* ESC, and what stands between it and a final byte */
	CONTROL,   /* ESC [ and parameters */
	COMMAND,   /* ESC ] and text: a title, or what we drop */
	STRING,    /* a string that is dropped to its end */
	COMMAND_END,
	STRING_END, /* the same, and then ESC: a backslash ends it */
};

#define SCREEN (1u << RF_GUARD_SCREEN)
#define DIALOG (1u << RF_GUARD_DIALOG)
#define BOTH   (SCREEN | DIALOG)

/* ------------------------------------------------------------- what passes */

/* What can be changed besides modes, as bits of `changed`; the modes follow. */
enum thing {
	THING_COLOUR,
	THING_CHARSET, /* the first of two, and which of them is in use */
	THING_SHIFT,
	THING_REGION,
	THING_STYLE, /* of the cursor */
	THING_INSERT,
	THING_KEYPAD,
	THING_TITLE,
	THING_COUNT
};

#define OTHER_SCREEN 1049
#define KEEP_TITLE   "\033[22;0t"
#define BRING_TITLE  "\033[23;0t"

/* clang-format off */
/* Private modes: CSI ? number h and l. */
static const struct {
	uint16_t number;
	bool is_usual;   /* on, unless switched off */
	bool is_talk;    /* makes the terminal send what nobody typed */
	uint8_t where;
} modes[] = {
	{ OTHER_SCREEN, false, false, BOTH }, /* the other screen; the first to be left at the end */
	{ 1047, false, false, BOTH },
	{ 47,   false, false, BOTH },
	{ 5,    false, false, BOTH },   /* reverse video */
	{ 6,    false, false, BOTH },   /* origin */
	{ 7,    true,  false, BOTH },   /* wrap */
	{ 12,   false, false, BOTH },   /* blinking cursor */
	{ 25,   true,  false, BOTH },   /* cursor */
	{ 69,   false, false, BOTH },   /* margins left and right */
	{ 2026, false, false, BOTH },   /* drawing held back */
	{ 1,    false, false, DIALOG }, /* what cursor keys send */
	{ 66,   false, false, DIALOG }, /* what the keypad sends */
	{ 9,    false, true,  DIALOG }, /* mouse */
	{ 1000, false, true,  DIALOG },
	{ 1002, false, true,  DIALOG },
	{ 1003, false, true,  DIALOG },
	{ 1004, false, true,  DIALOG }, /* focus */
	{ 1005, false, true,  DIALOG },
	{ 1006, false, true,  DIALOG },
	{ 1007, false, true,  DIALOG },
	{ 1015, false, true,  DIALOG },
	{ 2004, false, false, DIALOG }, /* pasted text is marked */
};

/* How the parameters of a control sequence are judged. */
enum rule {
	RULE_ANY,
	RULE_CURSOR, /* kept, and brought back */
	RULE_COLOUR,
	RULE_ERASE,  /* not what has scrolled away, unless in a dialogue */
	RULE_SCROLL, /* one parameter at most: five of them track the mouse */
	RULE_REGION,
	RULE_STYLE,
	RULE_INSERT, /* mode 4 only: others are about the keyboard */
	RULE_MODE,
	RULE_STATUS, /* the questions 5 and 6 */
	RULE_ASK,    /* a question without parameters, or with one */
	RULE_WINDOW, /* sizes asked for, titles kept and brought back */
};

/* Control sequences: CSI, a prefix, parameters, a byte between, and one of `finals`. */
static const struct {
	char prefix, between;
	const char *finals;
	uint8_t where;
	enum rule rule;
} controls[] = {
	{ 0,   0,   "@ABCDEFGHIKLMPSXZ`abdef", BOTH, RULE_ANY },
	{ 0,   0,   "su", BOTH,   RULE_CURSOR },
	{ 0,   0,   "m",  BOTH,   RULE_COLOUR },
	{ 0,   0,   "J",  BOTH,   RULE_ERASE },
	{ 0,   0,   "T",  BOTH,   RULE_SCROLL },
	{ 0,   0,   "r",  BOTH,   RULE_REGION },
	{ 0,   0,   "hl", BOTH,   RULE_INSERT },
	{ 0,   ' ', "q",  BOTH,   RULE_STYLE },
	{ 0,   '!', "p",  BOTH,   RULE_ANY },    /* soft reset */
	{ '?', 0,   "JK", BOTH,   RULE_ERASE },
	{ '?', 0,   "hl", BOTH,   RULE_MODE },
	{ 0,   0,   "n",  DIALOG, RULE_STATUS },
	{ '?', 0,   "n",  DIALOG, RULE_STATUS },
	{ 0,   0,   "c",  DIALOG, RULE_ASK },    /* what it is */
	{ '>', 0,   "c",  DIALOG, RULE_ASK },
	{ '?', '$', "p",  DIALOG, RULE_ASK },    /* a mode's state */
	{ 0,   0,   "t",  DIALOG, RULE_WINDOW },
};

/* Escape sequences: ESC, a byte between, and one of `finals`. */
static const struct {
	char between;
	const char *finals;
	uint8_t where;
	int thing;         /* that is changed, or -1 */
	char usual;        /* the final that changes it back */
} escapes[] = {
	{ 0,   "78DEM",  BOTH,   -1,            0 },   /* cursor kept and brought back, line up, down */
	{ 0,   "=>",     DIALOG, THING_KEYPAD,  '>' },
	{ 0,   "c",      DIALOG, -1,            0 },   /* reset */
	{ '#', "34568",  BOTH,   -1,            0 },   /* large letters */
	{ '(', "0AB",    BOTH,   THING_CHARSET, 'B' }, /* letters or lines */
	{ ')', "0AB",    BOTH,   -1,            0 },   /* the second, which nothing is drawn with */
};

/* What puts each thing back, in this order, after the modes. */
static const struct {
	enum thing thing;
	const char *bytes;
} ends[] = {
	{ THING_INSERT,  "\033[4l" },
	{ THING_KEYPAD,  "\033>" },
	{ THING_REGION,  "\0337\033[r\0338" }, /* which would send the cursor home */
	{ THING_SHIFT,   "\017" },
	{ THING_CHARSET, "\033(B" },
	{ THING_STYLE,   "\033[0 q" },
	{ THING_COLOUR,  "\033[m" },
	{ THING_TITLE,   BRING_TITLE },
};
/* clang-format on */

_Static_assert(RF_LEN(ends) == THING_COUNT, "everything can be put back");
_Static_assert(THING_COUNT + RF_LEN(modes) <= 64, "a bit for everything that can change");

#define MOST_KEPT 8 /* titles, of the box's own keeping; terminals forget the oldest of ten */

/* What is kept and brought back along with the cursor. */
#define WITH_CURSOR                                                                                \
	(UINT64_C(1) << THING_COLOUR | UINT64_C(1) << THING_CHARSET | UINT64_C(1) << THING_SHIFT)

static void note(struct rf_guard *guard, size_t thing, bool is_changed)
{
	uint64_t bit = UINT64_C(1) << thing;

	guard->changed = is_changed ? guard->changed | bit : guard->changed & ~bit;
}

/* Terminals differ in how many they keep: what was kept once may be brought back at any time. */
static void keep_cursor(struct rf_guard *guard)
{
	guard->kept |= guard->changed & WITH_CURSOR;
}

static void bring_cursor_back(struct rf_guard *guard)
{
	guard->changed |= guard->kept;
}

static void note_cursor(struct rf_guard *guard, bool is_kept)
{
	if (is_kept)
		keep_cursor(guard);
	else
		bring_cursor_back(guard);
}

/* ------------------------------------------------------------- writing */

struct sink {
	char *out;
	size_t len;
};

static void put(struct sink *sink, char c)
{
	sink->out[sink->len++] = c;
}

static void puts_to(struct sink *sink, const char *text)
{
	size_t len = strlen(text);

	memcpy(sink->out + sink->len, text, len);
	sink->len += len;
}

static void begin(struct rf_guard *guard, enum state state, bool is_doomed)
{
	guard->state = (uint8_t)(state);
	guard->is_doomed = is_doomed;
	guard->held_len = 0;
	guard->last = 0;
}

static void hold(struct rf_guard *guard, unsigned char c)
{
	if (guard->held_len == sizeof(guard->held))
		guard->is_doomed = true;
	else
		guard->held[guard->held_len++] = (char)c;
}

/* Lets what is held pass. */
static void release(struct rf_guard *guard, struct sink *sink)
{
	memcpy(sink->out + sink->len, guard->held, guard->held_len);
	sink->len += guard->held_len;
}

/* ------------------------------------------------------------- control sequences */

/* A control sequence taken apart. */
struct control {
	char prefix, between, final;
	uint32_t numbers[32];
	size_t count;   /* of numbers, at least 1 */
	bool has_parts; /* with colons, as colours have them */
};

/* Takes held bytes apart; false for what no terminal would expect. */
static bool take_apart(const struct rf_guard *guard, struct control *control)
{
	const char *at = guard->held + 2, *end = guard->held + guard->held_len - 1;
	size_t digits = 0;

	*control = (struct control){ .final = *end, .count = 1 };
	if (*at >= '<' && *at <= '?')
		control->prefix = *at++;
	for (; at < end && *at >= '0' && *at <= ';'; at++) {
		if (*at == ';' || *at == ':') {
			control->has_parts |= *at == ':';
			digits = 0;
			if (++control->count > RF_LEN(control->numbers))
				return false;
			continue;
		}
		if (++digits > 5) /* a row or column that no screen has */
			return false;
		control->numbers[control->count - 1] =
			control->numbers[control->count - 1] * 10 + (uint32_t)(*at - '0');
	}
	if (at < end)
		control->between = *at++;
	return at == end && (!control->has_parts || control->final == 'm');
}

/* Every mode of the sequence must be one of ours, or none of it passes. */
static bool switches(struct rf_guard *guard, const struct control *control)
{
	size_t rows[RF_LEN(control->numbers)];

	for (size_t i = 0; i < control->count; i++) {
		size_t row = 0;

		while (row < RF_LEN(modes) && modes[row].number != control->numbers[i])
			row++;
		if (row == RF_LEN(modes) || !(modes[row].where & 1u << guard->mode))
			return false;
		rows[i] = row;
	}
	for (size_t i = 0; i < control->count; i++) {
		note(guard, THING_COUNT + rows[i],
		     (control->final == 'h') != modes[rows[i]].is_usual);
		if (modes[rows[i]].number == OTHER_SCREEN)
			note_cursor(guard, control->final == 'h');
	}
	return true;
}

static bool asks_window(struct rf_guard *guard, const struct control *control)
{
	uint32_t what = control->numbers[0];

	if (what == 22 || what == 23) {
		bool is_kept = what == 22;

		if (control->count > 2 || control->numbers[1] > 2 ||
		    guard->title_count == (is_kept ? MOST_KEPT : 0))
			return false; /* or the caller's would be lost */
		guard->title_count = (uint8_t)(guard->title_count + (is_kept ? 1 : -1));
		return true;
	}
	guard->has_asked = true;
	return control->count == 1 && (what == 14 || what == 16 || what == 18);
}

static bool follows(struct rf_guard *guard, enum rule rule, const struct control *control)
{
	uint32_t first = control->numbers[0];
	bool is_single = control->count == 1;

	switch (rule) {
	case RULE_ANY:
		return true;
	case RULE_CURSOR:
		note_cursor(guard, control->final == 's');
		return true;
	case RULE_COLOUR:
		note(guard, THING_COLOUR, !is_single || first != 0);
		return true;
	case RULE_ERASE:
		return first != 3 || guard->mode == RF_GUARD_DIALOG;
	case RULE_SCROLL:
		return is_single;
	case RULE_REGION:
		note(guard, THING_REGION, !is_single || first != 0);
		return true;
	case RULE_STYLE:
		if (is_single)
			note(guard, THING_STYLE, first != 0);
		return is_single;
	case RULE_INSERT:
		if (!is_single || first != 4)
			return false;
		note(guard, THING_INSERT, control->final == 'h');
		return true;
	case RULE_MODE:
		return switches(guard, control);
	case RULE_STATUS:
		guard->has_asked = true;
		return is_single && (first == 6 || (first == 5 && !control->prefix));
	case RULE_ASK:
		guard->has_asked = true;
		return is_single;
	case RULE_WINDOW:
		return asks_window(guard, control);
	}
	return false;
}

static bool may_control(struct rf_guard *guard)
{
	struct control control;

	if (guard->is_doomed || guard->mode == RF_GUARD_TEXT || !take_apart(guard, &control))
		return false;
	for (size_t i = 0; i < RF_LEN(controls); i++)
		if (controls[i].prefix == control.prefix &&
		    controls[i].between == control.between &&
		    strchr(controls[i].finals, control.final) &&
		    controls[i].where & 1u << guard->mode)
			return follows(guard, controls[i].rule, &control);
	return false;
}

/* ------------------------------------------------------------- other sequences */

static bool may_escape(struct rf_guard *guard)
{
	char final = guard->held[guard->held_len - 1];
	char between = guard->held_len == 3 ? guard->held[1] : 0;

	if (guard->is_doomed || guard->mode == RF_GUARD_TEXT || guard->held_len > 3)
		return false;
	for (size_t i = 0; i < RF_LEN(escapes); i++) {
		if (escapes[i].between != between || !strchr(escapes[i].finals, final) ||
		    !(escapes[i].where & 1u << guard->mode))
			continue;
		if (escapes[i].thing >= 0)
			note(guard, (size_t)escapes[i].thing, final != escapes[i].usual);
		if (between == 0 && (final == '7' || final == '8'))
			note_cursor(guard, final == '7');
		return true;
	}
	return false;
}

/* Titles of a dialogue: "0;", "1;" or "2;" and text without a control in it. */
static bool may_title(const struct rf_guard *guard)
{
	const char *text = guard->held + 2;
	struct rf_guard reader;
	char copy[RF_GUARD_HELD + RF_GUARD_SLACK];
	size_t len = guard->held_len - 2, kept;

	if (guard->is_doomed || guard->mode != RF_GUARD_DIALOG || len < 2 || text[0] < '0' ||
	    text[0] > '2' || text[1] != ';' || memchr(text, '\n', len) || memchr(text, '\r', len) ||
	    memchr(text, '\t', len))
		return false;
	rf_guard_init(&reader, RF_GUARD_TEXT, guard->is_8bit);
	kept = rf_guard_pass(&reader, text, len, copy);
	return kept == len && memcmp(copy, text, len) == 0;
}

static void end_command(struct rf_guard *guard, struct sink *sink)
{
	const uint64_t kept = UINT64_C(1) << THING_TITLE;

	guard->state = GROUND;
	if (guard->held_len < 2 || guard->held_len == sizeof(guard->held) || !may_title(guard))
		return;
	if (!(guard->changed & kept))
		puts_to(sink, KEEP_TITLE);
	guard->changed |= kept;
	release(guard, sink);
	put(sink, BEL);
}

/* ------------------------------------------------------------- bytes */

static void start_escape(struct rf_guard *guard)
{
	begin(guard, ESCAPE, false);
	hold(guard, ESC);
}

/* C1 controls, 0x80 to 0x9f, none of which passes; those that begin a sequence take it along. */
static void on_c1(struct rf_guard *guard, uint32_t c)
{
	switch (c) {
	case 0x90: /* DCS */
	case 0x98: /* SOS */
	case 0x9d: /* OSC */
	case 0x9e: /* PM */
	case 0x9f: /* APC */
		begin(guard, STRING, true);
		break;
	case 0x9b: /* CSI */
		begin(guard, CONTROL, true);
		break;
	default:
		guard->state = GROUND;
	}
}

/* What may stand alone. */
static bool may_stand(const struct rf_guard *guard, unsigned char c)
{
	if (c == '\n' || c == '\r' || c == '\t')
		return true;
	return guard->mode != RF_GUARD_TEXT &&
	       (c == BEL || c == '\b' || c == '\v' || c == '\f' || c == 0x0e || c == 0x0f);
}

/* The first byte of a character: how many follow, and between what the next one lies. */
static bool begin_character(struct rf_guard *guard, unsigned char c)
{
	if (c < 0xc2 || c > 0xf4)
		return false;
	begin(guard, CHARACTER, false);
	hold(guard, c);
	guard->missing = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	guard->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	guard->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return true;
}

static void on_ground(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	if (c == ESC) {
		start_escape(guard);
	} else if (c < 0x20) {
		if (!may_stand(guard, c))
			return;
		if (c == 0x0e || c == 0x0f)
			note(guard, THING_SHIFT, c == 0x0e);
		put(sink, (char)c);
	} else if (c < DEL || (guard->is_8bit && c >= 0xa0)) {
		put(sink, (char)c);
	} else if (c >= 0x80 && c < 0xa0) {
		on_c1(guard, c);
	} else if (c != DEL && !begin_character(guard, c)) {
		put(sink, '?');
	}
}

/* Turns the order of characters around, or is not seen at all: text that lies about itself. */
static bool is_deceit(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static void on_character(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	static const unsigned char first_bits[] = { 0, 0, 0x1f, 0x0f, 0x07 };
	uint32_t rune;

	if (c < guard->low || c > guard->high) { /* cut short; what comes instead counts */
		guard->state = GROUND;
		put(sink, '?');
		on_ground(guard, c, sink);
		return;
	}
	hold(guard, c);
	guard->low = 0x80;
	guard->high = 0xbf;
	if (--guard->missing > 0)
		return;
	guard->state = GROUND;
	rune = (unsigned char)guard->held[0] & first_bits[guard->held_len % RF_LEN(first_bits)];
	for (size_t i = 1; i < guard->held_len; i++)
		rune = rune << 6 | ((unsigned char)guard->held[i] & 0x3f);
	if (rune < 0xa0)
		on_c1(guard, rune);
	else if (guard->mode != RF_GUARD_TEXT || !is_deceit(rune))
		release(guard, sink);
}

/* Holds the next byte of a sequence.  True if it is its last one: `least` or more. */
static bool ends_with(struct rf_guard *guard, unsigned char c, unsigned char least,
		      struct sink *sink)
{
	if (c < 0x20 || c == DEL)
		return false;
	if (c >= 0x80) {
		guard->state = GROUND;
		on_ground(guard, c, sink);
		return false;
	}
	hold(guard, c);
	return c >= least;
}

static void on_escape(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	if (!ends_with(guard, c, 0x30, sink))
		return;
	guard->state = GROUND;
	if (guard->held_len == 2 && c == '[')
		guard->state = CONTROL;
	else if (guard->held_len == 2 && c == ']')
		guard->state = COMMAND;
	else if (guard->held_len == 2 && strchr("PX^_k", c)) /* k: a title, to screen and tmux */
		begin(guard, STRING, true);
	else if (may_escape(guard))
		release(guard, sink);
}

static void on_control(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	if (!ends_with(guard, c, 0x40, sink))
		return;
	guard->state = GROUND;
	if (may_control(guard))
		release(guard, sink);
}

/* True where a string ends by its own byte: ST in one of its forms. */
static bool is_end(const struct rf_guard *guard, unsigned char c)
{
	return c == 0x9c && (guard->is_8bit || guard->last == 0xc2);
}

static void on_string(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	bool is_command = guard->state == COMMAND;

	if (c == ESC)
		guard->state = is_command ? COMMAND_END : STRING_END;
	else if (c == BEL && is_command)
		end_command(guard, sink);
	else if (c == BEL || is_end(guard, c))
		guard->state = GROUND;
	else if (is_command)
		hold(guard, c);
	guard->last = c;
}

static void on_string_end(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	if (c == '\\' && guard->state == COMMAND_END) {
		end_command(guard, sink);
	} else if (c == '\\') {
		guard->state = GROUND;
	} else {
		start_escape(guard);
		on_escape(guard, c, sink);
	}
}

static void on_byte(struct rf_guard *guard, unsigned char c, struct sink *sink)
{
	if (guard->state != GROUND && guard->state != CHARACTER) {
		if (c == CAN || c == SUB) {
			guard->state = GROUND;
			return;
		}
		if (c == ESC && guard->state != COMMAND && guard->state != STRING) {
			start_escape(guard);
			return;
		}
	}
	switch ((enum state)guard->state) {
	case GROUND:
		on_ground(guard, c, sink);
		break;
	case CHARACTER:
		on_character(guard, c, sink);
		break;
	case ESCAPE:
		on_escape(guard, c, sink);
		break;
	case CONTROL:
		on_control(guard, c, sink);
		break;
	case COMMAND:
	case STRING:
		on_string(guard, c, sink);
		break;
	case COMMAND_END:
	case STRING_END:
		on_string_end(guard, c, sink);
		break;
	}
}

/* ------------------------------------------------------------- the whole */

void rf_guard_init(struct rf_guard *guard, enum rf_guard_mode mode, bool is_8bit)
{
	*guard = (struct rf_guard){ .mode = mode, .is_8bit = is_8bit };
}

size_t rf_guard_pass(struct rf_guard *guard, const char *in, size_t len, char *out)
{
	struct sink sink = { .out = out };

	for (size_t at = 0; at < len; at++) {
		size_t from = at;

		/* Plain text is most of what programs write. */
		while (guard->state == GROUND && at < len && in[at] >= ' ' && in[at] < DEL)
			at++;
		memmove(sink.out + sink.len, in + from, at - from);
		sink.len += at - from;
		if (at < len)
			on_byte(guard, (unsigned char)in[at], &sink);
	}
	return sink.len;
}

size_t rf_guard_end(struct rf_guard *guard, char *out)
{
	struct sink sink = { .out = out };

	if (guard->state == CHARACTER)
		put(&sink, '?');
	guard->state = GROUND;
	for (size_t i = 0; i < RF_LEN(modes); i++) {
		if (!(guard->changed & UINT64_C(1) << (THING_COUNT + i)))
			continue;
		guard->was_talkative |= modes[i].is_talk;
		sink.len += (size_t)sprintf(sink.out + sink.len, "\033[?%u%c", modes[i].number,
					    modes[i].is_usual ? 'h' : 'l');
	}
	/* Leaving the other screen, and the end of a region, bring the cursor back. */
	if (guard->changed & (UINT64_C(1) << THING_COUNT | UINT64_C(1) << THING_REGION))
		bring_cursor_back(guard);
	for (; guard->title_count > 0; guard->title_count--)
		puts_to(&sink, BRING_TITLE);
	for (size_t i = 0; i < RF_LEN(ends); i++)
		if (guard->changed & UINT64_C(1) << ends[i].thing)
			puts_to(&sink, ends[i].bytes);
	guard->changed = guard->kept = 0;
	return sink.len;
}

bool rf_guard_is_8bit(const char *locale)
{
	static const char *const usual[] = { "C", "POSIX", "" };

	for (size_t i = 0; locale && i < RF_LEN(usual); i++)
		if (strcmp(locale, usual[i]) == 0)
			return false;
	return locale && !strcasestr(locale, "utf-8") && !strcasestr(locale, "utf8");
}
