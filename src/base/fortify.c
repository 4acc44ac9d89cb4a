/*
 * What a library that was built for glibc asks of it, for a program that has musl.
 *
 * libyaml comes from the distribution, compiled against glibc with _FORTIFY_SOURCE.  It calls plain
 * C functions, which musl has, and this checked one, which musl has not.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int __sprintf_chk(char *text, int flag, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

int __sprintf_chk(char *text, int flag, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	(void)flag;
	va_start(args, fmt);
	len = vsnprintf(text, size, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= size)
		abort();
	return len;
}
