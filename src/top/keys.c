/* Keys: see keys.h. */
#include "top/keys.h"

#include <string.h>

#include "base/fd.h"
#include "base/rune.h"

#define WAIT_MS       50   /* a sequence comes at once, also over a slow line */
#define WAIT_PASTE_MS 1000 /* its end mark may be late, and must not be missed */

/* What stands between Escape [ or Escape O and the end. */
/* clang-format off */
static const struct {
	const char *text;
	uint32_t code;
} sequences[] = {
	{ "A",  RF_KEYS_UP },      { "B",  RF_KEYS_DOWN },
	{ "C",  RF_KEYS_RIGHT },   { "D",  RF_KEYS_LEFT },
	{ "H",  RF_KEYS_HOME },    { "F",  RF_KEYS_END },
	{ "1~", RF_KEYS_HOME },    { "4~", RF_KEYS_END },
	{ "7~", RF_KEYS_HOME },    { "8~", RF_KEYS_END },
	{ "5~", RF_KEYS_PAGE_UP }, { "6~", RF_KEYS_PAGE_DOWN },
	{ "3~", RF_KEYS_DELETE },
};
/* clang-format on */

static void hold(struct rf_keys *keys, unsigned char byte)
{
	if (keys->count < sizeof(keys->held))
		keys->held[keys->count] = (char)byte;
	keys->count++;
}

static void begin(struct rf_keys *keys, enum rf_keys_state state)
{
	keys->state = state;
	keys->count = 0;
}

static bool is_held(const struct rf_keys *keys, const char *text)
{
	return keys->count == strlen(text) && memcmp(keys->held, text, keys->count) == 0;
}

/* A sequence is whole. */
static bool end_sequence(struct rf_keys *keys, struct rf_key *ret_key)
{
	keys->state = RF_KEYS_GROUND;
	if (is_held(keys, "200~"))
		keys->is_pasting = true;
	else if (is_held(keys, "201~"))
		keys->is_pasting = false;
	else if (!keys->is_pasting)
		for (size_t i = 0; i < RF_LEN(sequences); i++)
			if (is_held(keys, sequences[i].text)) {
				*ret_key = (struct rf_key){ .code = sequences[i].code };
				return true;
			}
	return false;
}

static bool is_printable(uint32_t code)
{
	return code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0);
}

/* A character; of what is pasted, only one that can be seen. */
static bool give(const struct rf_keys *keys, uint32_t code, struct rf_key *ret_key)
{
	if (keys->is_pasting && !is_printable(code))
		return false;
	if (code == '\n')
		code = RF_KEYS_ENTER;
	else if (code == '\b')
		code = RF_KEYS_BACKSPACE;
	*ret_key = (struct rf_key){ .code = code, .is_pasted = keys->is_pasting };
	return code != 0;
}

static bool take_plain(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key)
{
	begin(keys, RF_KEYS_GROUND);
	if (byte == 0x1b) {
		begin(keys, RF_KEYS_ESCAPED);
		return false;
	}
	if (byte < 0x80)
		return give(keys, byte, ret_key);
	if (byte >= 0xc2 && byte <= 0xf4) {
		begin(keys, RF_KEYS_RUNE);
		hold(keys, byte);
	}
	return false; /* other bytes begin nothing */
}

static bool take_rune(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key)
{
	static const unsigned char lead[] = { 0xc2, 0xe0, 0xf0 }; /* of two bytes, three, four */
	unsigned char first = (unsigned char)keys->held[0];
	uint32_t rune = 0;
	size_t want = 2;

	if ((byte & 0xc0) != 0x80) /* it was cut off: this one is another's */
		return take_plain(keys, byte, ret_key);
	hold(keys, byte);
	for (size_t i = 1; i < RF_LEN(lead); i++)
		want += first >= lead[i];
	if (keys->count < want)
		return false;
	keys->state = RF_KEYS_GROUND;
	return rf_rune_take(keys->held, keys->count, &rune) == want && give(keys, rune, ret_key);
}

/* After Escape: what kind of sequence it is.  Alt and a key mean nothing here. */
static bool take_escaped(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key)
{
	switch (byte) {
	case '[':
		begin(keys, RF_KEYS_SEQUENCE);
		return false;
	case 'O':
		begin(keys, RF_KEYS_SINGLE);
		return false;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		begin(keys, RF_KEYS_STRING);
		return false;
	case 0x1b: /* the first was the key, the second begins anew */
		begin(keys, RF_KEYS_ESCAPED);
		return give(keys, RF_KEYS_ESCAPE, ret_key);
	default:
		begin(keys, RF_KEYS_GROUND);
		return false;
	}
}

static bool take_in_sequence(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key)
{
	if (byte == 0x1b) { /* it was cut off */
		begin(keys, RF_KEYS_ESCAPED);
		return false;
	}
	if (byte < 0x20 || byte > 0x7e) {
		begin(keys, RF_KEYS_GROUND);
		return false;
	}
	hold(keys, byte);
	return (byte >= 0x40 || keys->state == RF_KEYS_SINGLE) && end_sequence(keys, ret_key);
}

static bool take_in_string(struct rf_keys *keys, unsigned char byte)
{
	if (byte == 0x07 || byte == 0x18 || byte == 0x1a)
		begin(keys, RF_KEYS_GROUND);
	else if (byte == 0x1b) /* the backslash behind it is nothing */
		begin(keys, RF_KEYS_ESCAPED);
	return false;
}

bool rf_keys_take(struct rf_keys *keys, unsigned char byte, struct rf_key *ret_key)
{
	switch (keys->state) {
	case RF_KEYS_RUNE:
		return take_rune(keys, byte, ret_key);
	case RF_KEYS_ESCAPED:
		return take_escaped(keys, byte, ret_key);
	case RF_KEYS_SEQUENCE:
	case RF_KEYS_SINGLE:
		return take_in_sequence(keys, byte, ret_key);
	case RF_KEYS_STRING:
		return take_in_string(keys, byte);
	case RF_KEYS_GROUND:
		break;
	}
	return take_plain(keys, byte, ret_key);
}

int rf_keys_wait_ms(const struct rf_keys *keys)
{
	if (keys->is_pasting)
		return WAIT_PASTE_MS;
	return keys->state == RF_KEYS_GROUND ? 0 : WAIT_MS;
}

bool rf_keys_give_up(struct rf_keys *keys, struct rf_key *ret_key)
{
	bool is_escape = keys->state == RF_KEYS_ESCAPED && !keys->is_pasting;

	*keys = (struct rf_keys){ 0 };
	return is_escape && give(keys, RF_KEYS_ESCAPE, ret_key);
}
