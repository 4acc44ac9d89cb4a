/* The caller's terminal: see terminal.h. */
#include "jail/terminal.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

#define SETTLE_MS     100 /* of silence, after which no answer is expected any more */
#define SETTLE_ROUNDS 10

void rf_terminal_init(struct rf_terminal *terminal)
{
	*terminal = (struct rf_terminal){ 0 };
	terminal->is_there = tcgetattr(STDIN_FILENO, &terminal->saved) == 0;
}

/* In the background, to change settings would stop us, or change them under another program. */
static bool is_ours(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group < 0 || group == getpgrp(); /* less than 0: not the one that controls us */
}

/* The one that is raw right now, for a signal that ends us on the spot. */
static const struct rf_terminal *taken;

static void on_fatal(int signal)
{
	const struct rf_terminal *terminal = taken;

	if (terminal && is_ours())
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal->saved);
	raise(signal); /* which does now what it would have done */
}

/* A fault of our own, or what somebody sends that is not passed on. */
static void expect_the_worst(void)
{
	static const int fatal[] = { SIGABRT, SIGBUS,  SIGFPE,  SIGILL,    SIGSEGV,
				     SIGSYS,  SIGTRAP, SIGALRM, SIGVTALRM, SIGPROF,
				     SIGXCPU, SIGXFSZ, SIGIO,   SIGPWR,    SIGSTKFLT };
	struct sigaction now,
		action = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < RF_LEN(fatal); i++)
		if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(fatal[i], &action, NULL);
}

void rf_terminal_enter(struct rf_terminal *terminal)
{
	struct termios raw = terminal->saved;

	if (!terminal->is_there || terminal->is_raw || !is_ours())
		return;
	raw.c_iflag &=
		~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	raw.c_cflag &= ~(tcflag_t)(CSIZE | PARENB);
	raw.c_cflag |= CS8;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	taken = terminal;
	expect_the_worst();
	terminal->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

/* Waits until the terminal is silent, and throws away what it says until then. */
static void settle(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	for (int i = 0; i < SETTLE_ROUNDS && poll(&p, 1, SETTLE_MS) == 1; i++)
		if (p.revents & (POLLHUP | POLLERR) || tcflush(STDIN_FILENO, TCIFLUSH) < 0)
			return;
}

void rf_terminal_leave(struct rf_terminal *terminal, bool is_noisy)
{
	if (!terminal->is_raw)
		return;
	terminal->is_raw = false;
	if (is_ours()) {
		if (is_noisy)
			settle();
		/* At once: to wait for output to drain would hang where nobody takes it. */
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal->saved);
	}
	taken = NULL;
}

void rf_terminal_dress(const struct rf_terminal *terminal, int master)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct termios settings;

	ioctl(master, TIOCSWINSZ, &size);
	rf_terminal_copy_size(master);
	if (!terminal->is_there || tcgetattr(master, &settings) < 0)
		return;
	/* The rest stays as the kernel makes it: the caller's may be half way into something. */
	memcpy(settings.c_cc, terminal->saved.c_cc, sizeof(settings.c_cc));
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	settings.c_iflag |= terminal->saved.c_iflag & IUTF8;
	tcsetattr(master, TCSANOW, &settings);
}

void rf_terminal_copy_size(int master)
{
	struct winsize size;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
			ioctl(master, TIOCSWINSZ, &size);
			return;
		}
}

void rf_terminal_end_input(const int pty[2], bool is_line_open)
{
	struct pollfd unread = { .fd = pty[1], .events = POLLIN };
	int master = pty[0];
	struct termios settings;
	char end[2] = { 4, 4 };
	size_t len = 1;

	if (!is_line_open && poll(&unread, 1, 0) > 0)
		return;
	if (tcgetattr(master, &settings) == 0) {
		end[0] = end[1] = (char)settings.c_cc[VEOF];
		/* The first one only ends the line. */
		len = is_line_open && settings.c_lflag & ICANON ? 2 : 1;
	}
	if (write(master, end, len) < 0)
		return; /* it is full, and whoever does not read does not see an end either */
}
