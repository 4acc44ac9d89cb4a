/* The list of users: see passwd.h. */
#include "base/passwd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* The home in a line, if it is `uid`'s.  Points into the line, which is cut into its fields. */
static const char *home_in(char *line, uid_t uid)
{
	char *at = line, *fields[7] = { 0 };

	for (size_t i = 0; i < RF_LEN(fields) && at; i++)
		fields[i] = strsep(&at, ":");
	return fields[5] && fields[5][0] == '/' && strtoul(fields[2], NULL, 10) == uid ? fields[5]
										       : NULL;
}

/* Root and its like stand at the beginning, and most files are not longer than this: no stdio for them. */
static char *find_near_the_beginning(uid_t uid)
{
	char text[4096];
	ssize_t len = rf_fd_read_text(AT_FDCWD, "/etc/passwd", text, sizeof(text));
	char *at = len > 0 ? text : NULL;

	for (char *end; at && (end = strchr(at, '\n')); at = end + 1) {
		const char *home;

		*end = '\0';
		home = home_in(at, uid);
		if (home)
			return strdup(home);
	}
	return NULL;
}

char *rf_passwd_home(uid_t uid)
{
	char *near = find_near_the_beginning(uid);
	FILE *passwd = near ? NULL : fopen("/etc/passwd", "re");
	char *line = NULL, *home = NULL;
	size_t size = 0;

	if (near)
		return near;
	while (passwd && !home && getline(&line, &size, passwd) > 0) {
		const char *found = home_in(line, uid);

		if (found)
			home = strdup(found);
	}
	free(line);
	if (passwd)
		fclose(passwd);
	return home ? home : strdup("/");
}
