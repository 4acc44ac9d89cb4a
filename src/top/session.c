/* Somebody in front of a terminal: see session.h. */
#include "top/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "top/panel.h"

#define MOST_ANSWER (4u << 20)
#define PATIENCE_MS 2000  /* after which a watcher that does not answer is told of */
#define GIVE_UP_MS  10000 /* and is asked anew */
#define MS          1000000u

static const char *const ask_boxes[] = { "ps", "json", NULL };
static const char *const ask_breakers[] = { "breaker", "ls", "json", NULL };

/* ------------------------------------------------------------- what is drawn */

static void draw(struct rf_session *session)
{
	time_t now = time(NULL);
	struct tm parts;
	char clock[16] = "";
	struct rf_panel panel = {
		.columns = session->screen.columns,
		.rows = session->screen.rows,
		.style = session->style,
		.is_utf8 = session->is_utf8,
		.clock = clock,
		.trouble = session->trouble.code ? session->trouble.msg : NULL,
		.hint = session->trouble.hint[0] ? session->trouble.hint : NULL,
	};

	if (gmtime_r(&now, &parts))
		strftime(clock, sizeof(clock), "%H:%M:%S UTC", &parts);
	rf_desk_scroll(&session->desk, rf_panel_page(&panel));
	rf_buf_clear(&session->frame);
	rf_panel_draw(&panel, session->board, &session->desk, &session->frame);
	if (session->frame.has_failed ||
	    rf_screen_draw(&session->screen, session->frame.data, session->frame.len) < 0) {
		rf_fail(&session->fail, -EIO, "draw on the terminal");
		rf_loop_stop(session->loop);
	}
}

/* ------------------------------------------------------------- the watcher */

static void on_answer(void *data, int what);

static void hang_up(struct rf_session *session)
{
	rf_event_cancel(session->socket);
	session->socket = NULL;
	rf_inquiry_close(&session->inquiry);
	session->deed = RF_DESK_NOTHING; /* not when nobody expects it any more */
}

/* What is not known any more is not shown. */
static void lose(struct rf_session *session, const struct rf_err *err)
{
	hang_up(session);
	rf_board_free(session->board);
	session->board = NULL;
	session->trouble = *err;
}

/* Asks; without a connection, makes one first. */
static void ask(struct rf_session *session, enum rf_session_question question,
		const char *const *words)
{
	struct rf_err err = RF_ERR_INIT;
	int code = rf_inquiry_open(&session->inquiry, &err);

	if (code == 0 && !session->socket)
		code = rf_loop_watch(session->loop, session->inquiry.fd, RF_LOOP_READ, on_answer,
				     session, &session->socket, &err);
	if (code == 0)
		code = rf_inquiry_ask(&session->inquiry, words, &err);
	session->question = question;
	session->asked_ns = rf_loop_now();
	if (code < 0)
		lose(session, &err);
}

static void ask_next(struct rf_session *session)
{
	const char *verb = session->deed == RF_DESK_FREEZE ? "freeze"
			   : session->deed == RF_DESK_THAW ? "thaw"
							   : "kill";
	const char *const words[] = { verb, session->target, "ringfort top", NULL };

	if (session->deed == RF_DESK_NOTHING) {
		ask(session, RF_SESSION_BOXES, ask_boxes);
		return;
	}
	session->deed = RF_DESK_NOTHING;
	ask(session, RF_SESSION_DEED, words);
}

static void take_board(struct rf_session *session)
{
	struct rf_board *board = NULL;
	struct rf_err err = RF_ERR_INIT;

	if (rf_board_read(session->boxes.data, session->boxes.len, session->answer.data,
			  session->answer.len, &board, &err) < 0) {
		session->trouble = err;
	} else {
		rf_board_free(session->board);
		session->board = board;
		session->trouble = (struct rf_err)RF_ERR_INIT;
		rf_desk_arrange(&session->desk, board);
	}
}

static void take_refusal(struct rf_session *session, const struct rf_err *err)
{
	if (session->question != RF_SESSION_DEED || !rf_inquiry_is_open(&session->inquiry)) {
		lose(session, err);
		return;
	}
	rf_desk_say(&session->desk, true, "%.150s", err->msg);
	ask_next(session);
}

static void on_answer(void *data, int what)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_session *session = data;

	(void)what;
	rf_buf_clear(&session->answer);
	if (rf_inquiry_take(&session->inquiry, &session->answer, &err) < 0) {
		take_refusal(session, &err);
	} else if (session->question == RF_SESSION_BOXES) {
		rf_buf_clear(&session->boxes);
		rf_buf_add(&session->boxes, session->answer.data, session->answer.len);
		ask(session, RF_SESSION_BREAKERS, ask_breakers);
		return; /* it is drawn when both are there */
	} else if (session->question == RF_SESSION_BREAKERS) {
		take_board(session);
		if (session->deed != RF_DESK_NOTHING)
			ask_next(session);
	} else {
		rf_desk_say(&session->desk, false, "%.*s",
			    (int)strcspn(session->answer.data ? session->answer.data : "", "\n"),
			    session->answer.data ? session->answer.data : "");
		ask_next(session);
	}
	draw(session);
}

static void on_tick(void *data, int what)
{
	struct rf_session *session = data;
	uint64_t now = rf_loop_now(), waited_ms = (now - session->asked_ns) / MS;

	(void)what;
	rf_event_again(session->tick, now + session->interval_ns);
	if (!session->inquiry.is_asked) {
		ask_next(session);
	} else if (waited_ms >= GIVE_UP_MS) {
		hang_up(session);
		ask_next(session);
	} else if (waited_ms >= PATIENCE_MS) {
		rf_fail_say(&session->trouble, -ETIMEDOUT, "the watcher has not answered for %llus",
			    (unsigned long long)waited_ms / 1000);
	}
	draw(session);
}

/* ------------------------------------------------------------- keys */

static void do_wish(struct rf_session *session, enum rf_desk_wish wish)
{
	switch (wish) {
	case RF_DESK_QUIT:
		rf_loop_stop(session->loop);
		return;
	case RF_DESK_REPAINT:
		rf_screen_forget(&session->screen);
		return;
	case RF_DESK_FREEZE:
	case RF_DESK_THAW:
	case RF_DESK_KILL:
		if (session->deed != RF_DESK_NOTHING) {
			rf_desk_say(&session->desk, true,
				    "the watcher is still asked for the last one");
			return;
		}
		session->deed = wish;
		memcpy(session->target, session->desk.target, sizeof(session->target));
		break;
	case RF_DESK_LOOK:
		break;
	case RF_DESK_NOTHING:
		return;
	}
	if (!session->inquiry.is_asked) /* else it follows the answer */
		ask_next(session);
}

static void take_key(struct rf_session *session, struct rf_key key)
{
	static const struct rf_board empty;
	const struct rf_panel panel = { .columns = session->screen.columns,
					.rows = session->screen.rows };
	bool is_small = panel.columns < RF_PANEL_COLUMNS || panel.rows < RF_PANEL_ROWS;
	enum rf_desk_wish wish;

	/* Who does not see what is chosen should not act on it. */
	if ((is_small || !session->board) && key.code != 'q' && key.code != RF_KEYS_CTRL_L &&
	    key.code != ' ')
		return;
	wish = rf_desk_key(&session->desk, session->board ? session->board : &empty, key,
			   rf_panel_page(&panel));
	do_wish(session, wish);
}

static void on_silence(void *data, int what)
{
	struct rf_session *session = data;
	struct rf_key key;

	(void)what;
	if (rf_keys_give_up(&session->keys, &key)) {
		take_key(session, key);
		draw(session);
	}
}

static void on_input(void *data, int what)
{
	struct rf_session *session = data;
	unsigned char bytes[256];
	struct rf_key key;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	int wait_ms;

	(void)what;
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) { /* nobody is there any more */
		session->signal = SIGHUP;
		rf_loop_stop(session->loop);
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (rf_keys_take(&session->keys, bytes[i], &key))
			take_key(session, key);
	wait_ms = rf_keys_wait_ms(&session->keys);
	rf_event_again(session->key_timer,
		       wait_ms ? rf_loop_now() + (uint64_t)wait_ms * MS : UINT64_MAX);
	draw(session);
}

/* ------------------------------------------------------------- signals */

static void take_screen(struct rf_session *session)
{
	if (rf_screen_enter(&session->screen, &session->fail) < 0) {
		rf_loop_stop(session->loop);
		return;
	}
	rf_screen_measure(&session->screen);
	draw(session);
}

static void on_signal(void *data, int number)
{
	struct rf_session *session = data;

	switch (number) {
	case SIGWINCH:
		rf_screen_measure(&session->screen);
		draw(session);
		break;
	case SIGTSTP:
		rf_screen_leave(&session->screen);
		raise(SIGSTOP);
		take_screen(session); /* somebody let us go on */
		break;
	case SIGCONT: /* the terminal may have been another's meanwhile */
		take_screen(session);
		break;
	default:
		session->signal = number;
		rf_loop_stop(session->loop);
		break;
	}
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };

static int listen_to(struct rf_session *session, struct rf_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < RF_LEN(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return rf_fail(err, -errno, "block signals");
	if (rf_loop_new(&session->loop, err) < 0 ||
	    rf_loop_signals(session->loop, &set, on_signal, session, err) < 0 ||
	    rf_loop_watch(session->loop, STDIN_FILENO, RF_LOOP_READ, on_input, session,
			  &session->input, err) < 0 ||
	    rf_loop_timer(session->loop, UINT64_MAX, on_silence, session, &session->key_timer,
			  err) < 0)
		return err->code;
	return rf_loop_timer(session->loop, rf_loop_now() + session->interval_ns, on_tick, session,
			     &session->tick, err);
}

/* Ends as the signal would have ended us, so that whoever started us sees it. */
static void die_of(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int rf_session_look(struct rf_session *session, struct rf_err *err)
{
	if (rf_inquiry_wait(&session->inquiry, ask_boxes, PATIENCE_MS, &session->boxes, err) < 0 ||
	    rf_inquiry_wait(&session->inquiry, ask_breakers, PATIENCE_MS, &session->answer, err) <
		    0 ||
	    rf_board_read(session->boxes.data, session->boxes.len, session->answer.data,
			  session->answer.len, &session->board, err) < 0)
		return err->code;
	if (!rf_desk_arrange(&session->desk, session->board))
		return rf_fail(err, -ENOMEM, "what is shown");
	return 0;
}

int rf_session_stay(struct rf_session *session, struct rf_err *err)
{
	if (listen_to(session, err) < 0)
		return err->code;
	rf_screen_measure(&session->screen);
	if (rf_screen_enter(&session->screen, err) < 0)
		return err->code;
	draw(session);
	if (rf_loop_run(session->loop, err) < 0)
		return err->code;
	rf_screen_leave(&session->screen);
	if (session->signal)
		die_of(session->signal);
	*err = session->fail;
	return err->code;
}

void rf_session_init(struct rf_session *session)
{
	*session = (struct rf_session){ .trouble = RF_ERR_INIT, .fail = RF_ERR_INIT };
	rf_screen_init(&session->screen, STDIN_FILENO, STDOUT_FILENO);
	rf_inquiry_init(&session->inquiry);
	rf_buf_init(&session->boxes, MOST_ANSWER);
	rf_buf_init(&session->answer, MOST_ANSWER);
	rf_buf_init(&session->frame, MOST_ANSWER);
}

void rf_session_done(struct rf_session *session)
{
	rf_screen_done(&session->screen);
	rf_loop_free(session->loop);
	rf_inquiry_done(&session->inquiry);
	rf_board_free(session->board);
	rf_desk_done(&session->desk);
	rf_buf_done(&session->boxes);
	rf_buf_done(&session->answer);
	rf_buf_done(&session->frame);
}
