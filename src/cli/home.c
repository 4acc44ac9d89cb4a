/* The caller's home: see home.h. */
#include "cli/home.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Read by hand, because a static program has no name services. */
char *rf_home_find(uid_t uid)
{
	FILE *passwd = fopen("/etc/passwd", "re");
	char *line = NULL, *home = NULL;
	size_t size = 0;

	while (passwd && !home && getline(&line, &size, passwd) > 0) {
		char *at = line, *fields[7] = { 0 };

		for (size_t i = 0; i < RF_LEN(fields) && at; i++)
			fields[i] = strsep(&at, ":");
		if (fields[5] && fields[5][0] == '/' && strtoul(fields[2], NULL, 10) == uid)
			home = strdup(fields[5]);
	}
	free(line);
	if (passwd)
		fclose(passwd);
	return home ? home : strdup("/");
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
