/* What the commands share: see cmd.h. */
#include "cli/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/style.h"
#include "wire/peer.h"

#define MAX_COMPLAINT 8192

/* Writes what is for a person to standard error, at once, so that lines stay whole. */
static void tell(const struct rf_buf *out)
{
	static const char no_memory[] = "ringfort: no memory, not even to say what for\n";

	if (out->data)
		rf_fd_write(STDERR_FILENO, out->data, out->len);
	if (out->has_failed)
		rf_fd_write(STDERR_FILENO, no_memory, sizeof(no_memory) - 1);
}

void rf_cmd_complain(const char *file, const struct rf_err *err)
{
	const struct rf_style style = rf_style_of(STDERR_FILENO);
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, MAX_COMPLAINT);
	rf_style_put(style, RF_STYLE_ERROR, "ringfort:", 0, &out);
	rf_buf_puts(&out, " ");
	if (file && err->line)
		rf_style_printf(style, RF_STYLE_PLAIN, &out, "%s:%d:%d: ", file, err->line,
				err->column);
	else if (file)
		rf_style_printf(style, RF_STYLE_PLAIN, &out, "%s: ", file);
	rf_style_put(style, RF_STYLE_PLAIN, err->msg, 0, &out);
	rf_buf_puts(&out, "\n");
	if (err->hint[0]) {
		rf_style_printf(style, RF_STYLE_QUIET, &out, "  hint: %s", err->hint);
		rf_buf_puts(&out, "\n");
	}
	tell(&out);
}

void rf_cmd_remark(const char *fmt, ...)
{
	const struct rf_style style = rf_style_of(STDERR_FILENO);
	RF_AUTO_BUF struct rf_buf out;
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	rf_buf_init(&out, MAX_COMPLAINT);
	rf_style_put(style, RF_STYLE_WARNING, "ringfort:", 0, &out);
	rf_buf_puts(&out, " ");
	rf_style_put(style, RF_STYLE_PLAIN, text, 0, &out);
	rf_buf_puts(&out, "\n");
	tell(&out);
}

void rf_cmd_find(const char *program, char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		snprintf(slash + 1, size - (size_t)(slash + 1 - path), "%s", program);
		if (access(path, F_OK) == 0)
			return;
	}
	snprintf(path, size, RF_LIBEXECDIR "/%s", program);
}

const struct rf_peer *rf_cmd_self(void)
{
	static struct rf_peer self;
	static bool is_known;
	struct rf_err err = RF_ERR_INIT;

	is_known = is_known || rf_peer_note_self(&self, &err) == 0;
	return is_known ? &self : NULL;
}

int rf_cmd_print(const struct rf_buf *out)
{
	int code = out->has_failed ? -ENOMEM : rf_fd_write(STDOUT_FILENO, out->data, out->len);
	struct rf_err err;

	if (code == 0)
		return 0;
	rf_fail(&err, code, "write to standard output");
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}

int rf_cmd_print_page(const struct rf_buf *page)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, page->max * 2);
	if (page->has_failed || !page->data)
		return rf_cmd_print(page);
	rf_style_page(rf_style_of(STDOUT_FILENO), page->data, &out);
	return rf_cmd_print(&out);
}
