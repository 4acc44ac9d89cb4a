/* Where the caller is at home, and where settings of the caller's own lie. */
#ifndef RF_CLI_HOME_H
#define RF_CLI_HOME_H

#include <sys/types.h>

/* The home of `uid` in passwd, or "/" where it has none.  Gives; NULL when memory is gone. */
char *rf_home_find(uid_t uid);

/*
 * The path of a file or folder among the caller's settings: $XDG_CONFIG_HOME/ringfort/NAME, by
 * default within ~/.config.  Gives; NULL when memory is gone.
 */
char *rf_home_config(const char *home, const char *name);

#endif
