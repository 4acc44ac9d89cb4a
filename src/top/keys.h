/*
 * Keys: what somebody types, from the bytes that a terminal sends.
 *
 * A byte goes in, and at most one key comes out.  Sequences arrive in pieces, and Escape alone is the first byte of
 * all of them: rf_keys_wait_ms() says how long to wait for more, and rf_keys_give_up() what it was then.
 *
 * What is pasted is told apart (a terminal that was asked to brackets it), since no text that somebody
 * copied may kill a box.  Sequences that are not known mean nothing, whatever is in them.
 */
#ifndef RF_TOP_KEYS_H
#define RF_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key is a character of Unicode, or one of these. */
enum rf_keys_special {
	RF_KEYS_NONE = 0,
	RF_KEYS_TAB = 0x09,
	RF_KEYS_CTRL_L = 0x0c,
	RF_KEYS_ENTER = 0x0d,
	RF_KEYS_CTRL_U = 0x15,
	RF_KEYS_ESCAPE = 0x1b,
	RF_KEYS_BACKSPACE = 0x7f,
	RF_KEYS_UP = 0x110000, /* behind the last character */
	RF_KEYS_DOWN,
	RF_KEYS_LEFT,
	RF_KEYS_RIGHT,
	RF_KEYS_PAGE_UP,
	RF_KEYS_PAGE_DOWN,
	RF_KEYS_HOME,
	RF_KEYS_END,
	RF_KEYS_DELETE,
};

struct rf_key {
	uint32_t code;
	bool is_pasted; /* only ever a printable character */
};

enum rf_keys_state {
	RF_KEYS_GROUND,
	RF_KEYS_RUNE,     /* within a character of UTF-8 */
	RF_KEYS_ESCAPED,  /* after Escape */
	RF_KEYS_SEQUENCE, /* after Escape [ */
	RF_KEYS_SINGLE,   /* after Escape O: one more */
	RF_KEYS_STRING,   /* an answer of the terminal's, up to BEL or Escape \ */
};

struct rf_keys { /* begins as { 0 } */
	enum rf_keys_state state;
	char held[16];
	size_t count; /* may pass the size: what came behind is not held */
	bool is_pasting;
};

/* Takes one byte; true, and a key, if it completed one. */
bool rf_keys_take(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key);

/* How long to wait for more bytes; 0: nothing is begun. */
int rf_keys_wait_ms(const struct rf_keys *keys);

/* None came. */
bool rf_keys_give_up(struct rf_keys *keys, struct rf_key *ret_key);

#endif
