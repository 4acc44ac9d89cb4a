/*
 * The forms in which a value can appear in an answer.
 *
 * Pure.  Each form is told once or more often; the first is the value itself.
 */
#ifndef RF_FILTER_FORMS_H
#define RF_FILTER_FORMS_H

#include <stddef.h>

typedef void rf_forms_told(void *context, const char *bytes, size_t len);

/* Returns 0, or -ENOMEM. */
int rf_forms_of(const char *value, size_t len, rf_forms_told *told, void *context);

#endif
