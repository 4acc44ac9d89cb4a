/* MCP on standard input and output: see mcp-pipe.h. */
#include "server/mcp-pipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/limits.h"
#include "http/call.h"
#include "server/landlord.h"
#include "server/mcp-message.h"

#define LINE_MOST RF_MAX_JSON_READ
#define OUT_MOST  (256u << 20)
#define PIECE     4096 /* that a pipe which can be written to takes without waiting (PIPE_BUF) */
#define LAST_NS   5000000000ull
#define ASKED     256 /* requests that are under way; more wait in the input */

struct asked {
	struct asked *next;
	struct pipe *pipe;
	struct rf_call *call;
	struct rf_mcp_message message;
	struct rf_buf in; /* of the answer: a line of events, or all of it */
	bool is_stream, is_first, is_cancelled, has_answered;
};

struct pipe {
	const char *folder;
	struct landlord *landlord;
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_call_host host;
	struct rf_authority authority;
	struct rf_event *input, *output, *last;
	struct rf_buf in, out;
	size_t out_at;
	struct asked *asked;
	size_t count;
	char session[80], version[40]; /* of the older era; or "" */
	bool is_skipping;              /* the rest of a line that is too long */
	bool is_over;                  /* the input */
};

static void read_lines(struct pipe *p);

/* ------------------------------------------------------------- output */

static void on_writable(void *data, int what)
{
	struct pipe *p = data;
	size_t len = p->out.len - p->out_at;
	ssize_t n = write(STDOUT_FILENO, p->out.data + p->out_at, len < PIECE ? len : PIECE);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* nobody reads it */
		rf_loop_stop(p->loop);
		return;
	}
	p->out_at += (size_t)n;
	if (p->out_at < p->out.len)
		return;
	rf_buf_clear(&p->out);
	p->out_at = 0;
	rf_event_want(p->output, 0);
	if (p->is_over && !p->asked)
		rf_loop_stop(p->loop);
}

/* One message, which is to be one line; its own line breaks are none of its strings'. */
static void put_line(struct pipe *p, const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	for (size_t i = 0; i < len; i++) {
		size_t run = i;

		while (run < len && text[run] != '\n' && text[run] != '\r')
			run++;
		rf_buf_add(&p->out, text + i, run - i);
		i = run;
	}
	rf_buf_puts(&p->out, "\n");
	if (p->out.has_failed)
		rf_loop_stop(p->loop);
	else
		rf_event_want(p->output, RF_LOOP_WRITE);
}

static void refuse(struct pipe *p, const struct rf_jsonread_value *id, enum rf_mcp_code code,
		   const char *words)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	rf_mcp_message_refuse(&out, id, code, words, NULL);
	put_line(p, out.data, out.len);
}

/* ------------------------------------------------------------- answers */

static void forget(struct asked *asked)
{
	struct pipe *p = asked->pipe;
	struct asked **at = &p->asked;

	while (*at && *at != asked)
		at = &(*at)->next;
	if (*at) {
		*at = asked->next;
		p->count--;
	}
	rf_mcp_message_done(&asked->message);
	rf_buf_done(&asked->in);
	free(asked);
}

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head)
{
	struct asked *asked = own;
	const struct rf_field *type = rf_field_find(head->fields, RF_SPAN("Content-Type"));
	const struct rf_field *session = rf_field_find(head->fields, RF_SPAN("Mcp-Session-Id"));
	const struct rf_jsonread_value *params = asked->message.params;

	(void)call;
	asked->is_stream = type && rf_span_is(type->value, RF_SPAN("text/event-stream"));
	asked->has_answered = head->start.status == 202;
	if (asked->is_first && session && session->value.len < sizeof(asked->pipe->session)) {
		const char *version = rf_mcp_message_text(params, "protocolVersion");

		memcpy(asked->pipe->session, session->value.at, session->value.len);
		asked->pipe->session[session->value.len] = '\0';
		snprintf(asked->pipe->version, sizeof(asked->pipe->version), "%s",
			 version ? version : "");
	}
}

/* Of events, what stands behind "data: " is a message. */
static void take_events(struct asked *asked)
{
	size_t at = 0;

	for (;;) {
		const char *line = asked->in.data + at;
		const char *end =
			at < asked->in.len ? memchr(line, '\n', asked->in.len - at) : NULL;

		if (!end)
			break;
		if (end - line > 6 && strncmp(line, "data: ", 6) == 0 && !asked->is_cancelled) {
			put_line(asked->pipe, line + 6, (size_t)(end - line) - 6);
			asked->has_answered = true;
		}
		at = (size_t)(end - asked->in.data) + 1;
	}
	if (at > 0) {
		memmove(asked->in.data, asked->in.data + at, asked->in.len - at);
		asked->in.len -= at;
	}
}

static void on_body(void *own, struct rf_call *call, struct rf_span bytes)
{
	struct asked *asked = own;

	(void)call;
	rf_buf_add(&asked->in, bytes.at, bytes.len);
	if (asked->is_stream)
		take_events(asked);
}

/* An answer of the server's that is none of MCP's has words all the same. */
static void put_whole(struct asked *asked)
{
	struct rf_mcp_message message;
	struct rf_mcp_fault fault;
	const struct rf_jsonread_value *root, *error;
	const char *words = NULL;

	if (rf_mcp_message_read(asked->in.data, asked->in.len, &message, &fault) == 0 ||
	    asked->in.len > LINE_MOST) {
		put_line(asked->pipe, asked->in.data, asked->in.len);
	} else {
		root = message.json ? rf_jsonread_root(message.json) : NULL;
		error = root && root->type == RF_JSONREAD_OBJECT ? rf_jsonread_member(root, "error")
								 : NULL;
		words = rf_mcp_message_text(error, "message");
		refuse(asked->pipe, asked->message.id, RF_MCP_INTERNAL,
		       words ? words : "the server gave no answer");
	}
	rf_mcp_message_done(&message);
}

static void on_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct asked *asked = own;
	struct pipe *p = asked->pipe;
	bool wants = asked->message.kind == RF_MCP_REQUEST && !asked->is_cancelled &&
		     !asked->has_answered;

	(void)call;
	if (wants && err)
		refuse(p, asked->message.id, RF_MCP_INTERNAL, err->msg);
	else if (wants && asked->in.len)
		put_whole(asked);
	else if (wants)
		refuse(p, asked->message.id, RF_MCP_INTERNAL, "the server gave no answer");
	forget(asked);
	if (p->is_over && !p->asked && p->out.len == 0)
		rf_loop_stop(p->loop);
	else
		read_lines(p); /* which may have waited for it */
}

static const struct rf_call_ops call_ops = {
	.on_answer = on_answer,
	.on_body = on_body,
	.on_end = on_end,
};

/* ------------------------------------------------------------- requests */

static bool is_plain(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at < 0x21 || *at > 0x7e)
			return false;
	return *text && strncmp(text, "=?", 2) != 0;
}

/* What a field of the head can carry of a name. */
static void put_name(const char *name, struct rf_buf *out)
{
	if (is_plain(name)) {
		rf_buf_puts(out, name);
		return;
	}
	rf_buf_puts(out, "=?base64?");
	rf_base64_encode(name, strlen(name), out);
	rf_buf_puts(out, "?=");
}

static const char *name_of(const struct rf_mcp_message *message)
{
	const char *method = message->method ? message->method : "";

	if (strcmp(method, "resources/read") == 0)
		return rf_mcp_message_text(message->params, "uri");
	if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0)
		return rf_mcp_message_text(message->params, "name");
	return NULL;
}

static size_t put_fields(const struct pipe *p, const struct rf_mcp_message *message,
			 struct rf_buf *name, struct rf_field *fields)
{
	size_t n = 0;

	fields[n++] = (struct rf_field){ RF_SPAN("Content-Type"), RF_SPAN("application/json") };
	fields[n++] = (struct rf_field){ RF_SPAN("Accept"),
					 RF_SPAN("application/json, text/event-stream") };
	if (message->version) { /* the newer era: all that the head must say of the body */
		const char *text = name_of(message);

		if (is_plain(message->version))
			fields[n++] = (struct rf_field){ RF_SPAN("MCP-Protocol-Version"),
							 rf_span_of(message->version) };
		if (message->method && is_plain(message->method))
			fields[n++] = (struct rf_field){ RF_SPAN("Mcp-Method"),
							 rf_span_of(message->method) };
		if (text && *text) {
			put_name(text, name);
			fields[n++] =
				(struct rf_field){ RF_SPAN("Mcp-Name"), { name->data, name->len } };
		}
	} else if (p->session[0]) {
		fields[n++] =
			(struct rf_field){ RF_SPAN("Mcp-Session-Id"), rf_span_of(p->session) };
	}
	return n;
}

static int send_on(struct pipe *p, struct asked *asked, const char *line, size_t len,
		   struct rf_err *err)
{
	static const struct rf_call_origin origin;
	struct rf_field fields[8];
	struct rf_call_request request = { .method = RF_SPAN("POST"),
					   .target = RF_SPAN("/mcp"),
					   .authority = &p->authority,
					   .body = RF_BODY_LENGTH,
					   .length = len };
	RF_AUTO_BUF struct rf_buf name;
	int fd, code;

	rf_buf_init(&name, 16 * 1024);
	request.fields =
		(struct rf_fields){ fields, put_fields(p, &asked->message, &name, fields) };
	if (name.has_failed)
		return rf_fail_say(err, -E2BIG, "the name is too long");
	if (rf_landlord_invite(p->landlord, &fd, err) < 0 ||
	    rf_call_new_on(&p->host, &origin, rf_transport_plain(&fd), &asked->call, err) < 0)
		return err->code;
	code = rf_call_begin(asked->call, &request, &call_ops, asked, err);
	if (code < 0) {
		rf_call_close(asked->call);
		return code;
	}
	rf_call_send(asked->call, (struct rf_span){ line, len });
	rf_call_finish(asked->call, (struct rf_fields){ 0 });
	return 0;
}

static void cancel(struct pipe *p, const struct rf_mcp_message *message)
{
	const struct rf_jsonread_value *id =
		message->params ? rf_jsonread_member(message->params, "requestId") : NULL;

	for (struct asked *at = p->asked; at; at = at->next)
		if (rf_mcp_message_is_id(at->message.id, id) && !at->is_cancelled) {
			at->is_cancelled = true;
			rf_call_abort(at->call); /* its end comes by itself */
			return;
		}
}

static void take_line(struct pipe *p, const char *line, size_t len)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	struct rf_mcp_fault fault;
	struct rf_err err = RF_ERR_INIT;
	const char *method;

	if (!asked) {
		rf_loop_stop(p->loop);
		return;
	}
	asked->pipe = p;
	rf_buf_init(&asked->in, OUT_MOST);
	if (rf_mcp_message_read(line, len, &asked->message, &fault) < 0) {
		refuse(p, asked->message.id, fault.code, fault.message);
		forget(asked);
		return;
	}
	method = asked->message.method ? asked->message.method : "";
	if (asked->message.kind == RF_MCP_NOTIFICATION &&
	    strcmp(method, "notifications/cancelled") == 0) {
		cancel(p, &asked->message);
		forget(asked);
		return;
	}
	asked->is_first = strcmp(method, "initialize") == 0 && !asked->message.version;
	if (send_on(p, asked, line, len, &err) < 0) {
		if (asked->message.kind == RF_MCP_REQUEST)
			refuse(p, asked->message.id, RF_MCP_INTERNAL, err.msg);
		forget(asked);
		return;
	}
	asked->next = p->asked;
	p->asked = asked;
	p->count++;
}

/* ------------------------------------------------------------- input */

/* What follows `initialize` needs to know what it was answered with; and there is a most of what is under way. */
static bool must_wait(const struct pipe *p)
{
	for (const struct asked *at = p->asked; at; at = at->next)
		if (at->is_first)
			return true;
	return p->count >= ASKED;
}

static void read_lines(struct pipe *p)
{
	size_t at = 0;

	while (!must_wait(p)) {
		const char *line = p->in.data + at;
		const char *end = at < p->in.len ? memchr(line, '\n', p->in.len - at) : NULL;
		size_t len = end ? (size_t)(end - line) : 0;

		if (!end)
			break;
		at += len + 1;
		if (!p->is_skipping && strspn(line, " \t\r") < len)
			take_line(p, line, len);
		p->is_skipping = false;
	}
	if (at > 0) {
		memmove(p->in.data, p->in.data + at, p->in.len - at);
		p->in.len -= at;
	}
	if (p->in.len > LINE_MOST && !memchr(p->in.data, '\n', p->in.len)) {
		if (!p->is_skipping)
			refuse(p, NULL, RF_MCP_NO_REQUEST, "the line is longer than 4 MiB");
		p->is_skipping = true;
		rf_buf_clear(&p->in);
	}
	if (p->input)
		rf_event_want(p->input, p->in.len > LINE_MOST ? 0 : RF_LOOP_READ);
}

static void on_late(void *data, int what)
{
	struct pipe *p = data;

	(void)what;
	rf_loop_stop(p->loop);
}

/* What was asked may still be answered, for a while. */
static void end_input(struct pipe *p)
{
	struct rf_err err = RF_ERR_INIT;

	p->is_over = true;
	rf_event_cancel(p->input);
	p->input = NULL;
	if (p->in.len) {
		rf_buf_puts(&p->in, "\n");
		read_lines(p);
	}
	if ((!p->asked && p->out.len == 0) ||
	    rf_loop_timer(p->loop, rf_loop_now() + LAST_NS, on_late, p, &p->last, &err) < 0)
		rf_loop_stop(p->loop);
}

static void on_input(void *data, int what)
{
	struct pipe *p = data;
	char *room = rf_buf_reserve(&p->in, 64 * 1024);
	ssize_t n = room ? read(STDIN_FILENO, room, 64 * 1024) : 0;

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_input(p);
		return;
	}
	rf_buf_grew(&p->in, (size_t)n);
	read_lines(p);
}

/* ------------------------------------------------------------- the whole */

static bool on_idle(struct rf_call_host *host, struct rf_call *call)
{
	(void)host;
	(void)call;
	return false; /* each request has a connection of its own */
}

static void on_ready(void *data, struct landlord *landlord, struct rf_loop *loop)
{
	/* A run takes its time, and so may its answer; the server is one of ours. */
	static const struct rf_call_limits limits = {
		.http = {
			.head = { .first_bytes = 16384, .line_bytes = 16384, .all_bytes = 65536 },
			.trailer = { .first_bytes = 4096, .line_bytes = 4096, .all_bytes = 8192 },
			.body = { .line_bytes = 256, .extension_bytes = 4096, .body_bytes = OUT_MOST },
		},
		.out_bytes = LINE_MOST + 65536,
	};
	struct pipe *p = data;
	struct rf_err err = RF_ERR_INIT;

	p->landlord = landlord;
	p->loop = loop;
	if (rf_deadlines_new(loop, &p->deadlines, &err) < 0 ||
	    rf_loop_watch(loop, STDIN_FILENO, RF_LOOP_READ, on_input, p, &p->input, &err) < 0 ||
	    rf_loop_watch(loop, STDOUT_FILENO, 0, on_writable, p, &p->output, &err) < 0) {
		fprintf(stderr, "ringfort mcp: %s\n", err.msg);
		rf_loop_stop(loop);
		return;
	}
	p->host = (struct rf_call_host){
		.loop = loop, .deadlines = p->deadlines, .limits = &limits, .on_idle = on_idle
	};
}

/*
 * Who calls the tools is a model, and whoever has its ear: so its boxes have no network, where the
 * user's own processes on api.sock may have the public one.
 */
static const char usual_ceiling[] =
	"version: 1\n"
	"files: { current: none, credentials: hide }\n"
	"network: none\n"
	"limits: { time: 24h, cpu_time: 24h, memory: 16G, cpu: 1600%, pids: 8192, open_files: "
	"65536,\n"
	"  file_size: 64G, disk: 64G, inodes: 4000000, output: 128M }\n";

int rf_mcp_pipe_serve(const char *folder, const char *ceiling, struct rf_err *err)
{
	struct pipe p = { .folder = folder };
	const struct rf_landlord_options options = { .folder = folder,
						     .ceiling = ceiling ? ceiling : usual_ceiling,
						     .on_ready = on_ready,
						     .data = &p };
	int code;

	rf_buf_init(&p.in, LINE_MOST + 256 * 1024);
	rf_buf_init(&p.out, OUT_MOST);
	if (rf_host_parse(RF_SPAN("localhost"), &p.authority.host))
		return rf_fail_say(err, -EINVAL, "localhost");
	code = rf_landlord_serve(&options, err);
	for (struct asked *asked = p.asked, *next; asked; asked = next) {
		next = asked->next;
		forget(asked);
	}
	rf_buf_done(&p.in);
	rf_buf_done(&p.out);
	return code;
}
