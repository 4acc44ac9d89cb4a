/* Has others told what happened: see crier.h. */
#include "server/crier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/reader.h"
#include "base/fd.h"
#include "base/statedir.h"
#include "server/charter.h"
#include "server/herald-word.h"
#include "server/household.h"
#include "server/notary.h"
#include "wire/client.h"

#define MS       1000000ull
#define LOOK_MS  200
#define AGAIN_MS 2000 /* before another herald is started */
#define MOST     512  /* events that are passed on at a time */

struct rf_crier {
	struct rf_loop *loop;
	const struct rf_charter *charter;
	const char *folder;
	struct rf_notary *notary;
	int herald; /* or -1 */
	struct rf_event *event, *timer;
	struct rf_buf in;
	struct rf_reader reader;
	int log; /* its folder, or -1: there is none yet */
	uint64_t figures_ns, again_ns;
	size_t lost; /* that the herald had no room for */
};

bool rf_crier_is_wanted(const struct rf_charter *charter)
{
	return charter && (charter->webhook_count > 0 || charter->collector);
}

/* ------------------------------------------------------------- secrets */

/* One line of a file that only its owner can read, or a variable. */
static int read_secret(const char *where, char *secret, size_t size, struct rf_err *err)
{
	struct stat st;
	ssize_t len;

	if (strncmp(where, "env:", 4) == 0) {
		const char *value = getenv(where + 4);

		if (!value || !*value || strlen(value) >= size)
			return rf_fail_say(err, -EINVAL, "%.100s: it is not set, or too long",
					   where);
		snprintf(secret, size, "%s", value);
		return 0;
	}
	if (stat(where + 5, &st) < 0)
		return rf_fail(err, -errno, "%.100s", where);
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		rf_fail_say(err, -EPERM, "%.100s: others may read it", where);
		return rf_fail_hint(err, "chmod 600 %.100s", where + 5);
	}
	len = rf_fd_read_text(AT_FDCWD, where + 5, secret, size);
	if (len < 0)
		return rf_fail(err, (int)len, "%.100s", where);
	secret[strcspn(secret, "\r\n")] = '\0';
	return secret[0] ? 0 : rf_fail_say(err, -EINVAL, "%.100s: it is empty", where);
}

static int read_roots(const char *path, char **ret_text, struct rf_err *err)
{
	char *text = calloc(1, RF_HERALD_ROOTS);
	ssize_t len = 0;

	if (!text)
		return rf_fail(err, -ENOMEM, "roots");
	if (path)
		len = rf_fd_read_text(AT_FDCWD, path, text, RF_HERALD_ROOTS);
	*ret_text = text;
	return len < 0 ? rf_fail(err, (int)len, "%.200s", path) : 0;
}

/* Writes what the herald is told first. */
static int write_rules(const struct rf_charter *charter, struct rf_buf *out, struct rf_err *err)
{
	struct rf_herald_rules rules = { .has_collector = charter->collector != NULL };
	char secrets[RF_CHARTER_WEBHOOKS][RF_HERALD_SECRET];
	char *roots[RF_HERALD_TARGETS] = { NULL };
	int code = 0;

	for (size_t i = 0; i < charter->webhook_count && code == 0; i++) {
		const struct rf_charter_webhook *hook = &charter->webhooks[i];

		code = read_secret(hook->secret, secrets[i], sizeof(secrets[i]), err);
		if (code == 0)
			code = read_roots(hook->ca, &roots[i], err);
		rules.targets[rules.count++] =
			(struct rf_herald_target){ hook->url, secrets[i], roots[i], hook->topics,
						   hook->tries };
	}
	if (charter->collector && code == 0) {
		code = read_roots(charter->collector_ca, &roots[rules.count], err);
		rules.targets[rules.count] = (struct rf_herald_target){ charter->collector, "",
									roots[rules.count], 0, 5 };
		rules.count++;
	}
	if (code == 0)
		rf_herald_word_put_rules(&rules, out);
	explicit_bzero(secrets, sizeof(secrets));
	for (size_t i = 0; i < RF_HERALD_TARGETS; i++)
		free(roots[i]);
	return code;
}

int rf_crier_check(const struct rf_charter *charter, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, RF_WIRE_ROOM);
	code = write_rules(charter, &out, err);
	if (out.data)
		explicit_bzero(out.data, out.len);
	return code;
}

/* ------------------------------------------------------------- the herald */

static int start(struct rf_crier *crier, struct rf_err *err);

static void hang_up(struct rf_crier *crier)
{
	rf_event_cancel(crier->event);
	crier->event = NULL;
	rf_fd_done(&crier->herald);
	crier->again_ns = rf_loop_now() + AGAIN_MS * MS;
}

/* Nothing comes but what was given up, which is recorded as nothing else than that. */
static void on_herald(void *data, int what)
{
	struct rf_crier *crier = data;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_audit_event event;
	int got = rf_wire_receive(crier->herald, RF_WIRE_FRONT, &crier->in, &message, &err);

	(void)what;
	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		rf_household_say("ringfort-herald has ended, and is started anew", "");
		hang_up(crier);
	} else if (message.type == RF_WIRE_HERALD_TELL &&
		   rf_audit_event_decode(message.body, message.len, &event, &err) == 0 &&
		   event.kind == RF_AUDIT_HOOK) {
		rf_notary_note(crier->notary, &event);
	}
}

static int start(struct rf_crier *crier, struct rf_err *err)
{
	char path[4096];
	const char *const argv[] = { path, NULL };
	RF_AUTO_BUF struct rf_buf body;
	int code;

	rf_buf_init(&body, RF_WIRE_ROOM);
	snprintf(path, sizeof(path), "%s/ringfort-herald", crier->folder);
	if (write_rules(crier->charter, &body, err) < 0 ||
	    rf_client_start(path, argv, "herald", &crier->herald, err) < 0)
		return err->code;
	code = rf_wire_send(crier->herald, RF_WIRE_HERALD_BEGIN, 0, body.data, body.len, NULL, 0,
			    err);
	explicit_bzero(body.data, body.len);
	fcntl(crier->herald, F_SETFL, O_NONBLOCK); /* nobody waits for it */
	if (code < 0)
		return code;
	return rf_loop_watch(crier->loop, crier->herald, RF_LOOP_READ, on_herald, crier,
			     &crier->event, err);
}

static void pass(struct rf_crier *crier, enum rf_wire_type type, const void *body, size_t len)
{
	struct rf_err ignored = RF_ERR_INIT;

	if (crier->herald < 0 ||
	    rf_wire_send(crier->herald, type, 0, body, len, NULL, 0, &ignored) < 0)
		crier->lost++;
}

void rf_crier_pass_span(struct rf_crier *crier, const struct rf_wire_message *message)
{
	struct rf_herald_span span;
	struct rf_err ignored = RF_ERR_INIT;

	if (crier && rf_herald_word_take_span(message->body, message->len, &span, &ignored) == 0)
		pass(crier, RF_WIRE_HERALD_SPAN, message->body, message->len);
}

/* ------------------------------------------------------------- the log */

static bool is_told(const struct rf_audit_event *event)
{
	return event->kind == RF_AUDIT_ALARM || event->kind == RF_AUDIT_BREAKER_CHANGE ||
	       event->kind == RF_AUDIT_APPROVAL ||
	       (event->kind == RF_AUDIT_RUN_ENDED && rf_audit_event_has(event, RF_AUDIT_TRACE));
}

static void pass_event(struct rf_crier *crier, const struct rf_audit_event *event)
{
	const struct rf_frame *frame = &crier->reader.frame;
	const uint64_t where[2] = { event->seq, event->time_ns };
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, sizeof(where) + RF_AUDIT_EVENT_MAX);
	rf_buf_add(&body, where, sizeof(where));
	rf_buf_add(&body, frame->payload, frame->payload_len);
	pass(crier, RF_WIRE_HERALD_TELL, body.data, body.len);
}

/* What there was before us is nobody's news: from the last file's end on. */
static int open_log(struct rf_crier *crier, struct rf_err *err)
{
	struct rf_audit_event event;
	uint64_t *numbers = NULL;
	size_t count = 0;
	int code;

	crier->log = rf_statedir_open_in(RF_SEGMENT_FOLDER, false);
	if (crier->log < 0)
		return rf_fail(err, crier->log, "open the audit log");
	rf_reader_init(&crier->reader, crier->log);
	if (rf_segment_list(crier->log, &numbers, &count, err) < 0)
		return err->code;
	code = count ? rf_reader_seek(&crier->reader, numbers[count - 1], 0, err) : 0;
	free(numbers);
	while (code >= 0 && (code = rf_reader_next(&crier->reader, &event, err)) > 0)
		continue;
	return code;
}

static void follow(struct rf_crier *crier)
{
	struct rf_audit_event event;
	struct rf_err ignored = RF_ERR_INIT;

	for (int i = 0; i < MOST && rf_reader_next(&crier->reader, &event, &ignored) > 0; i++)
		if (is_told(&event))
			pass_event(crier, &event);
}

/* ------------------------------------------------------------- time passes */

static void on_time(void *data, int what)
{
	struct rf_crier *crier = data;
	struct rf_err err = RF_ERR_INIT;
	uint64_t now = rf_loop_now();

	(void)what;
	if (crier->herald < 0 && now >= crier->again_ns && start(crier, &err) < 0) {
		rf_household_say(err.msg, "");
		hang_up(crier);
	}
	follow(crier);
	if (crier->charter->collector && now >= crier->figures_ns) {
		RF_AUTO_BUF struct rf_buf text;

		rf_buf_init(&text, 1u << 20);
		crier->figures_ns = now + crier->charter->every_s * 1000 * MS;
		if (rf_notary_ask_figures(crier->notary, &text, &err) == 0)
			pass(crier, RF_WIRE_HERALD_FIGURES, text.data, text.len);
	}
	rf_event_again(crier->timer, rf_loop_now() + LOOK_MS * MS);
}

int rf_crier_new(struct rf_loop *loop, const struct rf_charter *charter, const char *folder,
		 struct rf_notary *notary, struct rf_crier **ret_crier, struct rf_err *err)
{
	struct rf_crier *crier;

	*ret_crier = NULL;
	if (!rf_crier_is_wanted(charter))
		return 0;
	crier = calloc(1, sizeof(*crier));
	if (!crier)
		return rf_fail(err, -ENOMEM, "a crier");
	*crier = (struct rf_crier){ .loop = loop,
				    .charter = charter,
				    .folder = folder,
				    .notary = notary,
				    .herald = -1,
				    .log = -1 };
	rf_buf_init(&crier->in, RF_WIRE_ROOM);
	*ret_crier = crier;
	if (open_log(crier, err) < 0 || start(crier, err) < 0)
		return err->code;
	return rf_loop_timer(loop, rf_loop_now() + LOOK_MS * MS, on_time, crier, &crier->timer,
			     err);
}

void rf_crier_free(struct rf_crier *crier)
{
	if (!crier)
		return;
	rf_event_cancel(crier->event);
	rf_event_cancel(crier->timer);
	rf_fd_done(&crier->herald);
	rf_reader_done(&crier->reader);
	rf_fd_done(&crier->log);
	rf_buf_done(&crier->in);
	free(crier);
}
