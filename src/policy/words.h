/* The values of a policy's keys as text, as it would stand in a policy.  Internal to src/policy. */
#ifndef RF_POLICY_WORDS_H
#define RF_POLICY_WORDS_H

#include "base/buf.h"
#include "policy/key.h"

/* A choice's name, a limit as a person writes it, a text as it is.  "" for what is not set. */
void rf_words_scalar(const struct rf_policy *policy, enum rf_key key, struct rf_buf *out);

/* One element of a list: "SOURCE:PLACE" for a file that shows elsewhere, else its name. */
void rf_words_element(enum rf_key key, const struct rf_list_item *item, struct rf_buf *out);

/* True if that is its name. */
bool rf_words_is_name(enum rf_key key, const struct rf_list_item *item);

/* What a key is for: its row's help, or its limit's. */
const char *rf_words_help(enum rf_key key);

/* True if the value is a list of elements, or of names with content. */
bool rf_words_is_list(enum rf_key key);

#endif
