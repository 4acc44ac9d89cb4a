/* The caller's home: see home.h. */
#include "cli/home.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/passwd.h"

char *rf_home_find(uid_t uid)
{
	return rf_passwd_home(uid);
}

char *rf_home_config(const char *home, const char *name)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char *path = NULL;
	int len;

	if (xdg && xdg[0] == '/') /* others are to be ignored, says the specification */
		len = asprintf(&path, "%s/ringfort/%s", xdg, name);
	else
		len = asprintf(&path, "%s/.config/ringfort/%s", strcmp(home, "/") ? home : "",
			       name);
	return len < 0 ? NULL : path;
}
