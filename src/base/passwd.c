/* The list of users: see passwd.h. */
#include "base/passwd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

char *rf_passwd_home(uid_t uid)
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
