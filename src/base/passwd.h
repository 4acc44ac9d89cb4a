/* The list of users, read by hand: a static program has no name services. */
#ifndef RF_BASE_PASSWD_H
#define RF_BASE_PASSWD_H

#include <sys/types.h>

/* The home of `uid` in /etc/passwd, or "/" where it has none.  Gives; NULL when memory is gone. */
char *rf_passwd_home(uid_t uid);

#endif
