/*
 * A box of libringfort: one connection to the warden, three pipes, and an epoll descriptor that tells when
 * any of them has something.  Everything is moved in ringfort_wait(), in the caller's thread.
 *
 * The limit on output is kept here, as `ringfort run` does: what passes it is cut off, and the warden is
 * asked to end the box for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <ringfort/ringfort.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "lib/escort.h"
#include "lib/flow.h"
#include "lib/fort.h"
#include "lib/guest.h"
#include "result/result.h"
#include "wire/client.h"

#define RUN_LEAST    (offsetof(struct ringfort_run, wants_denials) + sizeof(int))
#define RESULT_LEAST (offsetof(struct ringfort_result, remedy) + sizeof(char *))

/* ------------------------------------------------------------- its end */

static void watch_connection(const struct ringfort_box *box, bool is_watched)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	epoll_ctl(box->poll, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, box->fd, &event);
}

/* Nothing more comes from the box: what is in the pipes is the rest. */
static void end(struct ringfort_box *box)
{
	if (box->has_ended)
		return;
	box->has_ended = true;
	watch_connection(box, false);
	rf_flow_done(&box->flows[0]);
	for (int i = 1; i < 3; i++) {
		box->flows[i].is_last = true;
		if (!box->flows[i].is_over)
			rf_flow_step(&box->flows[i]);
	}
}

/* As an error of ringfort run before there was a box. */
static void fail(struct ringfort_box *box, const struct rf_err *err)
{
	rf_result_fail(&box->result, RF_STATUS_ERROR, 125, err);
	end(box);
}

static bool is_over(const struct ringfort_box *box)
{
	return box->has_ended && box->flows[1].is_over && box->flows[2].is_over;
}

/* What only we know of it. */
static void complete(struct ringfort_box *box)
{
	static const char *const names[] = { "output", "error" };
	struct rf_result *result = &box->result;

	for (int i = 0; i < 2; i++) {
		int code = box->flows[i + 1].write_errno;

		result->is_truncated[i] = box->is_truncated[i];
		if (!code || code == EPIPE || result->error.code)
			continue;
		rf_fail(&result->error, -code, "write standard %s", names[i]);
		rf_fail_hint(&result->error, "the program ran, but what it wrote was lost");
		if (result->status == RF_STATUS_OK)
			rf_result_fail(result, RF_STATUS_ERROR, 125, &result->error);
	}
}

/* What goes in and what comes out is one descriptor, which ends when nobody inside has the other end. */
static int take_terminal(struct ringfort_box *box, int master, struct rf_err *err)
{
	struct rf_flow *in = &box->flows[0], *out = &box->flows[1];

	rf_fd_done(&box->terminal);
	box->terminal = master;
	if (box->size.ws_row)
		ioctl(master, TIOCSWINSZ, &box->size);
	out->from = fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (out->from < 0)
		return rf_fail(err, -errno, "a terminal");
	out->is_over = false;
	if (rf_flow_start(out, box->poll, err) < 0)
		return err->code;
	if (!in->bytes && in->from < 0)
		return 0;
	in->to = fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (in->to < 0)
		return rf_fail(err, -errno, "a terminal");
	in->is_over = false;
	return rf_flow_start(in, box->poll, err);
}

static void take_message(struct ringfort_box *box, struct rf_wire_message *message)
{
	struct rf_wire_started started;
	struct rf_err err = RF_ERR_INIT;

	switch (message->type) {
	case RF_WIRE_STARTED:
		if (rf_wire_started(message, &started, &err) < 0)
			break;
		box->number = started.number;
		memcpy(box->id, started.id, sizeof(box->id));
		break;
	case RF_WIRE_TERMINAL:
		if (take_terminal(box, rf_fd_take(&message->fds[0]), &err) < 0)
			fail(box, &err);
		break;
	case RF_WIRE_ENDED:
		if (rf_result_unpack(&box->result, message->body, message->len, &err) < 0)
			fail(box, &err);
		else
			end(box);
		break;
	case RF_WIRE_REFUSED:
		box->is_refused = true;
		rf_wire_refused(message, &err);
		fail(box, &err);
		break;
	default:
		break;
	}
}

static void listen_to_warden(struct ringfort_box *box)
{
	struct rf_wire_message message;
	struct rf_err err = RF_ERR_INIT;
	int got = rf_wire_receive(box->fd, RF_WIRE_WARDEN, &box->in, &message, &err);

	if (got == -EAGAIN)
		return;
	if (got == 0) {
		rf_fail_say(&err, -ECONNRESET, "the warden has ended, and the box with it");
		rf_fail_hint(&err, "open a new fort");
	}
	if (got <= 0) {
		fail(box, &err);
		return;
	}
	take_message(box, &message);
	rf_wire_done(&message);
}

/* ------------------------------------------------------------- streams */

static int ask_end(struct ringfort_box *box, uint32_t limit, struct rf_err *err)
{
	int code = rf_wire_send(box->fd, RF_WIRE_END, RF_GUEST_ID, &limit, sizeof(limit), NULL, 0,
				err);

	/* Whoever has gone has taken the box along. */
	return code == -EPIPE || code == -ECONNRESET ? 0 : code;
}

/* What is kept for the result must fit into one JSON document, whatever the policy allows. */
static uint64_t limit_of(const struct ringfort_box *box)
{
	bool is_kept = !box->on_output && (box->flows[1].to < 0 || box->flows[2].to < 0);

	return is_kept && box->output_limit > RF_MAX_CAPTURE ? RF_MAX_CAPTURE : box->output_limit;
}

/* False if what has come is too much: the rest of it is nobody's. */
static bool is_within(struct ringfort_box *box, int stream, size_t *len)
{
	uint64_t total = box->flows[1].total + box->flows[2].total, limit = limit_of(box);
	uint64_t over = total > limit ? total - limit : 0;
	struct rf_err ignored;

	if (over == 0)
		return true;
	*len = over >= *len ? 0 : *len - (size_t)over;
	box->is_truncated[stream - 1] = true;
	ask_end(box, RF_LIMIT_OUTPUT, &ignored);
	return false;
}

static bool on_output(void *data, struct rf_flow *flow, const char *bytes, size_t *len)
{
	struct ringfort_box *box = data;
	int stream = (int)(flow - box->flows);
	bool goes_on = is_within(box, stream, len);

	if (flow->to < 0 && *len > 0) {
		if (box->on_output)
			box->on_output(box->data, stream, bytes, *len);
		else
			rf_buf_add(&box->result.output[stream - 1], bytes, *len);
	}
	return goes_on;
}

int rf_guest_take_end(struct ringfort_box *box, int stream)
{
	struct rf_flow *flow = &box->flows[stream];

	return rf_fd_take(stream == 0 ? &flow->to : &flow->from);
}

uint64_t rf_guest_room(const struct ringfort_box *box)
{
	uint64_t total = box->flows[1].total + box->flows[2].total, limit = limit_of(box);

	return total < limit ? limit - total : 0;
}

void rf_guest_count(struct ringfort_box *box, int stream, size_t len)
{
	box->flows[stream].total += len;
	is_within(box, stream, &len);
}

/* Copies of the caller's: one may be given twice, and be closed meanwhile. */
static int copy_fd(int fd, int *ret_fd, const char *what, struct rf_err *err)
{
	*ret_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && *ret_fd < 0)
		return rf_fail(err, -errno, "%s", what);
	return 0;
}

/* Pipes of ours alone: the box never holds a descriptor of the caller's.  A terminal comes later: its ends, too. */
int rf_guest_lay_pipes(struct ringfort_box *box, const struct ringfort_run *run, int theirs[3],
		       struct rf_err *err)
{
	for (int i = 0; i < 3; i++) {
		struct rf_flow *flow = &box->flows[i];
		int pair[2];

		flow->on_bytes = i == 0 ? NULL : on_output;
		flow->data = box;
		flow->is_over = box->has_terminal;
		if (box->has_terminal)
			continue;
		if (pipe2(pair, O_CLOEXEC) < 0)
			return rf_fail(err, -errno, "a pipe");
		theirs[i] = pair[i == 0 ? 0 : 1];
		if (i == 0)
			flow->to = pair[1];
		else
			flow->from = pair[0];
		if (fcntl(i == 0 ? flow->to : flow->from, F_SETFL, O_NONBLOCK) < 0)
			return rf_fail(err, -errno, "a pipe");
	}
	if (run->input)
		box->flows[0].bytes = run->input;
	box->flows[0].left = run->input_len;
	if (copy_fd(run->input_fd, &box->flows[0].from, "input_fd", err) < 0 ||
	    copy_fd(run->output_fd[0], &box->flows[1].to, "output_fd[0]", err) < 0)
		return err->code;
	return copy_fd(run->output_fd[1], &box->flows[2].to, "output_fd[1]", err);
}

int rf_guest_start_flows(struct ringfort_box *box, struct rf_err *err)
{
	struct rf_flow *input = &box->flows[0];

	input->is_over |= box->leaves_input;
	box->flows[1].is_over |= box->leaves_output;
	if (!input->is_over && !input->bytes && input->from < 0)
		rf_flow_done(input); /* an end of input at once */
	for (int i = 0; i < 3; i++)
		if (!box->flows[i].is_over && rf_flow_start(&box->flows[i], box->poll, err) < 0)
			return err->code;
	return 0;
}

/* ------------------------------------------------------------- its start */

/* Adds what is set for this run alone. */
static int add_variables(struct rf_policy *whole, const char *const *env, struct rf_err *err)
{
	struct rf_policy *more = rf_policy_new_empty();
	int code = more ? 0 : rf_fail(err, -ENOMEM, "a policy");

	for (; code == 0 && env && *env; env++)
		code = rf_policy_set(more, "env.set", *env, "/", "/", err);
	if (code == 0)
		code = rf_policy_merge(whole, more, err);
	rf_policy_free(more);
	return code < 0 ? rf_fail_in(err, "env") : 0;
}

/* The policy with all that this run alone has, as text.  Gives `*ret_text`, or NULL for `policy`'s own. */
static int complete_policy(const struct ringfort_box *box, const struct ringfort_policy *policy,
			   const struct ringfort_run *run, const struct rf_escort *escort,
			   const char *cwd, char **ret_text, struct rf_err *err)
{
	bool has_variables = run->env && run->env[0];
	struct rf_policy *whole;
	RF_AUTO_BUF struct rf_buf out;
	int code = 0;

	*ret_text = NULL;
	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	if (!has_variables && !escort->trust && escort->purse.count == 0)
		return 0;
	whole = rf_policy_new_empty();
	if (!whole)
		return rf_fail(err, -ENOMEM, "a policy");
	if (policy)
		code = rf_policy_merge(whole, policy->policy, err);
	if (code == 0 && has_variables)
		code = add_variables(whole, run->env, err);
	if (code == 0 && escort->trust)
		code = rf_trust_set(escort->trust, whole, err);
	if (code == 0 && escort->purse.count > 0)
		code = rf_escort_check(escort, whole, cwd, box->fort->home, err);
	if (code == 0) {
		rf_policy_format(whole, &out);
		*ret_text = rf_buf_take(&out);
		if (!*ret_text)
			code = rf_fail(err, -E2BIG, "env");
	}
	rf_policy_free(whole);
	return code;
}

/* Some twenty calls, of which a process that runs hundreds of boxes a second makes none but the first time. */
static void note_caller(struct ringfort *fort, struct rf_errand *errand)
{
	if (fort->is_steady && !fort->caller) {
		fort->caller = calloc(1, sizeof(*fort->caller));
		if (fort->caller)
			rf_errand_note_caller(fort->caller);
	}
	if (!fort->is_steady || !fort->caller) {
		rf_errand_note_caller(errand);
		return;
	}
	errand->umask = fort->caller->umask;
	errand->nice = fort->caller->nice;
	memcpy(errand->rlimits, fort->caller->rlimits, sizeof(errand->rlimits));
}

static int ask_for_it(struct ringfort_box *box, const struct ringfort_policy *policy,
		      const struct ringfort_run *run, const struct rf_escort *escort,
		      const int theirs[3], struct rf_err *err)
{
	char *text = NULL, *cwd = run->cwd ? strdup(run->cwd) : getcwd(NULL, 0);
	struct rf_errand errand = {
		.command = RF_COMMAND_RUN,
		.folder = "/",
		.home = box->fort->home,
		.cwd = cwd,
		.argv = (char *const *)(uintptr_t)run->argv,
		.env = escort->env ? escort->env : environ,
		.caller_path = getenv("PATH"),
		.wants_denials = run->wants_denials,
		.ceiling = box->ceiling,
		.set = box->set,
		.note = box->note,
		.idle_ms = box->idle_ms,
		.origin = { .request = box->request, .trace = box->trace },
		.workspace = box->workspace,
		.is_whole = box->has_whole,
		.drops_beyond = box->drops_beyond,
		.extras = box->extras,
		.extra_count = box->extra_count,
	};
	int code = complete_policy(box, policy, run, escort, cwd, &text, err);

	errand.policy = text ? text : policy ? policy->request : "";
	if (escort->trust)
		errand.extras = rf_trust_places(escort->trust, &errand.extra_count);
	note_caller(box->fort, &errand);
	if (code == 0)
		code = rf_client_run(box->fd, RF_GUEST_ID, &errand, box->is_kept ? NULL : theirs,
				     escort->fd, err);
	free(text);
	free(cwd);
	return code;
}

int rf_guest_connect(struct ringfort_box *box, struct rf_err *err)
{
	box->poll = epoll_create1(EPOLL_CLOEXEC);
	if (box->poll < 0)
		return rf_fail(err, -errno, "a box");
	if (rf_fort_connect(box->fort, &box->fd, err) < 0)
		return err->code;
	watch_connection(box, true);
	return 0;
}

int rf_guest_check(const struct ringfort_run *run, struct rf_err *err)
{
	if (!run->argv || !run->argv[0])
		return rf_fail_say(err, -EINVAL, "there is no program to run");
	if (run->input && run->input_fd >= 0)
		return rf_fail_say(err, -EINVAL, "both input and input_fd are given");
	return 0;
}

int rf_guest_begin(struct ringfort_box *box, const struct ringfort_policy *policy,
		   const struct ringfort_run *run, struct rf_err *err)
{
	int theirs[3] = { -1, -1, -1 }, code;
	struct rf_escort escort;

	if (rf_guest_check(run, err) < 0 || rf_guest_connect(box, err) < 0)
		return err->code;
	rf_escort_init(&escort);
	escort.fd = rf_fd_take(&box->gateway);
	code = escort.fd >= 0 ? 0 : rf_escort_begin(&escort, box->fort, policy, err);
	if (code == 0 && !box->is_kept)
		code = rf_guest_lay_pipes(box, run, theirs, err);
	if (code == 0)
		code = ask_for_it(box, policy, run, &escort, theirs, err);
	rf_escort_done(&escort);
	for (int i = 0; i < 3; i++)
		rf_fd_done(&theirs[i]);
	return code == 0 && !box->is_kept ? rf_guest_start_flows(box, err) : code;
}

int rf_guest_new(struct ringfort *fort, const struct ringfort_run *run,
		 struct ringfort_run *ret_run, struct ringfort_box **ret_box, struct rf_err *err)
{
	struct ringfort_box *box;
	int code = rf_fort_take_struct(ret_run, sizeof(*ret_run), RUN_LEAST, run, err);

	if (code < 0)
		return code;
	box = calloc(1, sizeof(*box));
	if (!box)
		return rf_fail(err, -ENOMEM, "a box");
	box->fort = rf_fort_ref(fort);
	box->fd = box->poll = box->terminal = box->gateway = -1;
	box->on_output = ret_run->on_output;
	box->data = ret_run->data;
	box->output_limit = rf_limit_table[RF_LIMIT_OUTPUT].for_run;
	for (int i = 0; i < 3; i++)
		box->flows[i].from = box->flows[i].to = box->flows[i].poll = -1;
	rf_result_init(&box->result, NULL);
	rf_buf_init(&box->in, RF_WIRE_ROOM);
	rf_buf_init(&box->json, RF_MAX_JSON);
	*ret_box = box;
	return 0;
}

int ringfort_start(struct ringfort *fort, const struct ringfort_policy *policy,
		   const struct ringfort_run *run, struct ringfort_box **ret_box,
		   struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct ringfort_box *box = NULL;
	struct ringfort_run own;

	if (rf_guest_new(fort, run, &own, &box, &err) < 0)
		return rf_fort_tell(error, &err);
	if (policy)
		box->output_limit = policy->output_limit;
	if (rf_guest_begin(box, policy, &own, &err) < 0) {
		ringfort_free(box);
		return rf_fort_tell(error, &err);
	}
	*ret_box = box;
	return 0;
}

void ringfort_free(struct ringfort_box *box)
{
	if (!box)
		return;
	for (int i = 0; i < 3; i++)
		rf_flow_done(&box->flows[i]);
	rf_fd_done(&box->terminal);
	rf_fd_done(&box->gateway);
	rf_fd_done(&box->fd);
	rf_fd_done(&box->poll);
	rf_result_done(&box->result);
	rf_buf_done(&box->in);
	rf_buf_done(&box->json);
	rf_fort_unref(box->fort);
	free(box);
}

/* ------------------------------------------------------------- while it runs */

int ringfort_fd(const struct ringfort_box *box)
{
	return box->poll;
}

int ringfort_signal(struct ringfort_box *box, int signal, struct ringfort_error *error)
{
	uint32_t number = (uint32_t)signal;
	struct rf_err err = RF_ERR_INIT;
	int code;

	if (signal < 1 || signal > 64) {
		rf_fail_say(&err, -EINVAL, "there is no signal %d", signal);
		return rf_fort_tell(error, &err);
	}
	code = rf_wire_send(box->fd, RF_WIRE_SIGNAL, RF_GUEST_ID, &number, sizeof(number), NULL, 0,
			    &err);
	return code < 0 && code != -EPIPE && code != -ECONNRESET ? rf_fort_tell(error, &err) : 0;
}

int ringfort_kill(struct ringfort_box *box, struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;

	return ask_end(box, RF_LIMIT_COUNT, &err) < 0 ? rf_fort_tell(error, &err) : 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Serves what is ready.  The connection comes last: what was written before the end is read before. */
static void serve(struct ringfort_box *box, struct epoll_event *events, int count)
{
	bool is_called = false;

	for (int i = 0; i < count; i++) {
		struct rf_flow *flow = events[i].data.ptr;

		if (!flow)
			is_called = true;
		else if (!flow->is_over)
			rf_flow_step(flow);
	}
	if (is_called && !box->has_ended)
		listen_to_warden(box);
}

int ringfort_wait(struct ringfort_box *box, int timeout_ms, struct ringfort_error *error)
{
	int64_t until = timeout_ms > 0 ? now_ms() + timeout_ms : 0;
	struct epoll_event events[8];
	struct rf_err err = RF_ERR_INIT;

	for (bool is_first = true; !is_over(box); is_first = false) {
		int64_t left = timeout_ms < 0 ? -1 : timeout_ms == 0 ? 0 : until - now_ms();
		int count;

		if (timeout_ms >= 0 && left <= 0 && !is_first)
			return 0;
		count = epoll_wait(box->poll, events, RF_LEN(events),
				   timeout_ms >= 0 && left <= 0 ? 0 : (int)left);
		if (count < 0 && errno != EINTR) {
			rf_fail(&err, -errno, "wait for a box");
			return rf_fort_tell(error, &err);
		}
		if (count > 0)
			serve(box, events, count);
	}
	if (!box->is_complete)
		complete(box);
	box->is_complete = true;
	return 1;
}

/* ------------------------------------------------------------- what it came to */

const char *ringfort_status_name(enum ringfort_status status)
{
	return (unsigned)status < RF_STATUS_COUNT ? rf_result_status((enum rf_status)status) : "?";
}

_Static_assert(RINGFORT_ERROR == (enum ringfort_status)RF_STATUS_ERROR &&
		       RINGFORT_KILLED == (enum ringfort_status)RF_STATUS_KILLED &&
		       RF_STATUS_ERROR + 1 == RF_STATUS_COUNT,
	       "both lists of statuses are the same");

int ringfort_result(const struct ringfort_box *box, struct ringfort_result *ret_result)
{
	const struct rf_result *result = &box->result;
	struct ringfort_result told = RINGFORT_RESULT_INIT;
	size_t size = ret_result->size;

	if (size < RESULT_LEAST)
		return -EINVAL;
	if (!box->is_complete)
		return -EBUSY;
	told.status = (enum ringfort_status)result->status;
	told.exit_code = result->exit_code;
	told.signal = result->signal;
	told.shell_code = result->code;
	told.wall_ns = result->usage.wall_ns;
	told.cpu_ns = result->usage.cpu_ns;
	told.start_ns = result->usage.start_ns;
	told.memory_peak = result->usage.memory_peak;
	told.pids_peak = result->usage.pids_peak;
	told.disk_bytes = result->usage.disk_bytes;
	told.id = result->id;
	for (int i = 0; i < 2; i++) {
		told.output[i] = result->output[i].data ? result->output[i].data : "";
		told.output_len[i] = result->output[i].len;
		told.is_truncated[i] = result->is_truncated[i];
	}
	told.is_lesser = result->walls.is_lesser;
	told.message = result->error.msg;
	told.remedy = result->error.hint;
	told.size = size;
	memcpy(ret_result, &told, size < sizeof(told) ? size : sizeof(told));
	return 0;
}

const char *ringfort_json(struct ringfort_box *box, size_t *ret_len)
{
	if (!box->is_complete)
		return NULL;
	if (box->json.len == 0)
		rf_result_json(&box->result, true, &box->json);
	if (box->json.has_failed)
		return NULL;
	if (ret_len)
		*ret_len = box->json.len;
	return box->json.data;
}
