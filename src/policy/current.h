/* Whether the current directory may be shown without having been named.  Internal to src/policy. */
#ifndef RF_POLICY_CURRENT_H
#define RF_POLICY_CURRENT_H

#include <stdbool.h>

/*
 * Why `cwd` is not shown by itself, as the end of a sentence ("is your home"), or NULL if it may be.
 * `home` is the caller's, "/" when unknown.
 */
const char *rf_current_refusal(const char *cwd, const char *home);

/* True if `path` is a folder of credentials or lies in one. */
bool rf_current_is_secret(const char *path);

#endif
