/* Errors that carry their story: see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void tell(struct rf_err *err, int code,
						       const char *fmt, va_list args)
{
	*err = (struct rf_err){ .code = code };
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
}

/* For what musl has no words. */
static const char *words_of(int code)
{
	return code == -ETOOMANYREFS ? "too many descriptors of this user are on their way already"
				     : strerror(-code);
}

int rf_fail(struct rf_err *err, int code, const char *fmt, ...)
{
	va_list args;
	size_t len;

	va_start(args, fmt);
	tell(err, code, fmt, args);
	va_end(args);

	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", words_of(code));
	return code;
}

int rf_fail_say(struct rf_err *err, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(err, code, fmt, args);
	va_end(args);
	return code;
}

int rf_fail_at(struct rf_err *err, int line, int column, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(err, -EINVAL, fmt, args);
	va_end(args);
	err->line = line;
	err->column = column;
	return err->code;
}

int rf_fail_in(struct rf_err *err, const char *fmt, ...)
{
	char story[sizeof(err->msg)];
	va_list args;
	size_t len;

	memcpy(story, err->msg, sizeof(story));
	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);

	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", story);
	return err->code;
}

int rf_fail_hint(struct rf_err *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, args);
	va_end(args);
	return err->code;
}

const char *rf_err_name(int code)
{
#define NAME(symbol)                                                                               \
	{                                                                                          \
		symbol, #symbol                                                                    \
	}
	/* clang-format off */
	static const struct { int code; const char *name; } names[] = {
		NAME(EPERM), NAME(ENOENT), NAME(EINTR), NAME(EIO), NAME(E2BIG), NAME(ENOEXEC),
		NAME(EBADF), NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES), NAME(EFAULT), NAME(EBUSY),
		NAME(EEXIST), NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR), NAME(EISDIR), NAME(EINVAL),
		NAME(ENFILE), NAME(EMFILE), NAME(ETXTBSY), NAME(EFBIG), NAME(ENOSPC), NAME(EROFS),
		NAME(EPIPE), NAME(ERANGE), NAME(ENAMETOOLONG), NAME(ENOSYS), NAME(ELOOP),
		NAME(EOVERFLOW), NAME(EILSEQ), NAME(EUSERS), NAME(EOPNOTSUPP), NAME(ETIMEDOUT),
		NAME(EDQUOT), NAME(EBADMSG), NAME(ECANCELED),
	};
	/* clang-format on */
#undef NAME

	if (code < 0)
		code = -code;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return names[i].name;
	return "EOTHER";
}
