/* The terminal while it is ours: see screen.h. */
#include "top/screen.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

#define MOST (4u << 20) /* bytes of a frame */

/*
 * The second screen; no cursor; what is pasted comes in brackets; a line that is too long is cut and not
 * broken.  And all that in reverse.  Terminals pass over what they do not know.
 */
static const char enter[] = "\033[?1049h\033[?25l\033[?2004h\033[?7l\033[2J";
static const char leave[] = "\033[0m\033[?7h\033[?2004l\033[?25h\033[?1049l";

/* For a signal that ends us on the spot: the terminal that is taken right now. */
static struct {
	volatile sig_atomic_t is_taken;
	int in, out;
	struct termios saved;
} taken;

/* In the background, to change settings would change them under another program. */
static bool is_ours(int in)
{
	pid_t group = tcgetpgrp(in);

	return group < 0 || group == getpgrp(); /* less than 0: not the one that controls us */
}

/* Safe in a handler. */
static void give_back(void)
{
	if (!taken.is_taken)
		return;
	taken.is_taken = 0;
	if (!is_ours(taken.in))
		return;
	(void)!write(taken.out, leave, sizeof(leave) - 1);
	tcsetattr(taken.in, TCSANOW, &taken.saved);
}

static void on_fatal(int signal)
{
	give_back();
	raise(signal); /* which does now what it would have done */
}

/* A fault of our own, or what somebody sends that the loop does not wait for. */
static void expect_the_worst(void)
{
	static const int fatal[] = { SIGABRT, SIGBUS,  SIGFPE,  SIGILL,  SIGSEGV,   SIGSYS,
				     SIGTRAP, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF,
				     SIGXCPU, SIGXFSZ, SIGIO,   SIGPWR,  SIGSTKFLT };
	struct sigaction now,
		action = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < RF_LEN(fatal); i++)
		if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(fatal[i], &action, NULL);
}

void rf_screen_init(struct rf_screen *screen, int in, int out)
{
	*screen = (struct rf_screen){ .in = in, .out = out, .columns = 80, .rows = 24 };
	rf_buf_init(&screen->shown, MOST);
}

void rf_screen_done(struct rf_screen *screen)
{
	rf_screen_leave(screen);
	rf_buf_done(&screen->shown);
}

void rf_screen_measure(struct rf_screen *screen)
{
	struct winsize size = { 0 };
	bool is_known = ioctl(screen->out, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
	int columns = is_known ? size.ws_col : 80, rows = is_known ? size.ws_row : 24;

	if (columns != screen->columns || rows != screen->rows)
		rf_screen_forget(screen);
	screen->columns = columns;
	screen->rows = rows;
}

int rf_screen_enter(struct rf_screen *screen, struct rf_err *err)
{
	struct termios raw;
	int code;

	if (!screen->is_taken && tcgetattr(screen->in, &taken.saved) < 0)
		return rf_fail(err, -errno, "the terminal");
	raw = taken.saved;
	raw.c_iflag &= ~(tcflag_t)(ISTRIP | INLCR | IGNCR | ICRNL | IXON);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN); /* ctrl-C and ctrl-Z stay */
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	taken.in = screen->in;
	taken.out = screen->out;
	taken.is_taken = 1;
	screen->is_taken = true;
	expect_the_worst();
	code = tcsetattr(screen->in, TCSADRAIN, &raw) < 0 ? -errno : 0;
	if (code == 0)
		code = rf_fd_write(screen->out, enter, sizeof(enter) - 1);
	rf_screen_forget(screen);
	if (code < 0) {
		rf_screen_leave(screen);
		return rf_fail(err, code, "take the terminal");
	}
	return 0;
}

void rf_screen_leave(struct rf_screen *screen)
{
	if (screen->is_taken)
		give_back();
	screen->is_taken = false;
}

void rf_screen_forget(struct rf_screen *screen)
{
	rf_buf_clear(&screen->shown);
}

/* The length of the line at `text`, and the line behind it. */
static size_t line_len(const char *text, size_t len, const char **ret_next)
{
	const char *end = len ? memchr(text, '\n', len) : NULL;

	*ret_next = end ? end + 1 : text + len;
	return end ? (size_t)(end - text) : len;
}

void rf_screen_compare(const char *before, size_t before_len, const char *frame, size_t len,
		       int rows, struct rf_buf *out)
{
	const char *before_end = before + before_len, *end = frame + len;
	bool is_whole = before_len == 0;

	if (is_whole)
		rf_buf_puts(out, "\033[0m\033[2J");
	for (int row = 1; row <= rows && frame < end; row++) {
		const char *next, *before_next;
		size_t new_len = line_len(frame, (size_t)(end - frame), &next);
		size_t old_len = line_len(before, (size_t)(before_end - before), &before_next);

		if (is_whole ? new_len > 0
			     : new_len != old_len || memcmp(frame, before, new_len) != 0) {
			rf_buf_printf(out, "\033[%d;1H", row);
			rf_buf_add(out, frame, new_len);
			rf_buf_puts(out, "\033[K");
		}
		frame = next;
		before = before_next;
	}
}

int rf_screen_draw(struct rf_screen *screen, const char *frame, size_t len)
{
	RF_AUTO_BUF struct rf_buf out;
	int code = 0;

	rf_buf_init(&out, MOST);
	rf_screen_compare(screen->shown.data, screen->shown.len, frame, len, screen->rows, &out);
	if (out.len > 0 && !out.has_failed)
		code = rf_fd_write(screen->out, out.data, out.len);
	rf_buf_clear(&screen->shown);
	rf_buf_add(&screen->shown, frame, len);
	return code < 0 ? -EIO : out.has_failed ? -ENOMEM : 0;
}
