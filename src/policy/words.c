/* Values as text: see words.h. */
#include "policy/words.h"

#include <string.h>

void rf_words_scalar(const struct rf_policy *policy, enum rf_key key, struct rf_buf *out)
{
	const struct rf_key_value *value = &policy->values[key];
	char text[64];

	if (!(policy->set & RF_KEY_BIT(key)))
		return;
	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_CHOICE:
		rf_buf_puts(out, rf_key_choice_name(key, value->number));
		break;
	case RF_KEY_TYPE_LIMIT:
	case RF_KEY_TYPE_QUOTA:
		rf_limit_write(rf_key_figure(key), value->number, text, sizeof(text));
		rf_buf_puts(out, text);
		break;
	default:
		rf_buf_puts(out, value->text ? value->text : "");
	}
}

bool rf_words_is_name(enum rf_key key, const struct rf_list_item *item)
{
	return rf_key_table[key].type != RF_KEY_TYPE_FILES || strcmp(item->name, item->value) == 0;
}

void rf_words_element(enum rf_key key, const struct rf_list_item *item, struct rf_buf *out)
{
	rf_buf_puts(out, item->name);
	if (!rf_words_is_name(key, item))
		rf_buf_printf(out, ":%s", item->value);
}

const char *rf_words_help(enum rf_key key)
{
	const struct rf_limit_info *figure = rf_key_figure(key);

	return figure ? figure->help : rf_key_table[key].help;
}

bool rf_words_is_list(enum rf_key key)
{
	return rf_key_table[key].strict == RF_KEY_STRICT_LISTS;
}
