/* Workspaces, and their checkpoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/pack.h"
#include "server/ask-clerk.h"
#include "server/box-site.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/site-script.h"

/* ------------------------------------------------------------- workspaces */

static int read_body(struct rf_api_call *call, enum rf_order_kind kind)
{
	struct rf_api_error error;

	if (rf_order_read(kind, call->body.len ? call->body.data : "{}",
			  call->body.len ? call->body.len : 2, true, &call->front->tools,
			  &call->order, &error) == 0)
		return 0;
	rf_api_call_fail(call, &error);
	return -1;
}

static void ask_about(struct rf_api_call *call, enum rf_clerk_question question)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, call->parts.part[0]);
	rf_ask_clerk_json(call, question, &body, false);
}

void rf_serve_workspace_create(struct rf_api_call *call)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	if (read_body(call, RF_ORDER_WORKSPACE) < 0)
		return;
	rf_pack_string(&body, call->order.path);
	rf_pack_string(&body, "");
	rf_pack_u32(&body, 0);
	if (rf_api_call_is_paced(call))
		rf_ask_clerk_json(call, RF_CLERK_WORKSPACE_MAKE, &body, true);
}

void rf_serve_workspace_list(struct rf_api_call *call)
{
	rf_ask_clerk_json(call, RF_CLERK_WORKSPACE_LIST, NULL, false);
}

void rf_serve_workspace_get(struct rf_api_call *call)
{
	ask_about(call, RF_CLERK_WORKSPACE_GET);
}

void rf_serve_workspace_delete(struct rf_api_call *call)
{
	ask_about(call, RF_CLERK_WORKSPACE_REMOVE);
}

/* ------------------------------------------------------------- checkpoints */

static void pass_on(struct rf_api_call *call, const struct rf_buf *output)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, output->len + 1);
	rf_buf_add(&out, output->data, output->len);
	rf_api_call_answer(call, 200, &out);
}

static void answer_made(struct rf_api_call *call, const struct rf_buf *output)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, output->len + 1);
	rf_buf_add(&out, output->data, output->len);
	rf_api_call_answer(call, 201, &out);
}

static void answer_gone(struct rf_api_call *call, const struct rf_buf *output)
{
	RF_AUTO_BUF struct rf_buf out;

	(void)output;
	rf_buf_init(&out, 1);
	rf_api_call_answer(call, 204, &out);
}

static void answer_diff(struct rf_api_call *call, const struct rf_buf *output)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;

	rf_buf_init(&out, 64u << 20);
	rf_json_init(&json, &out, false);
	rf_json_open_object(&json, NULL);
	rf_json_bytes(&json, "unified", output->data ? output->data : "", output->len);
	rf_json_close_object(&json);
	rf_buf_puts(&out, "\n");
	rf_api_call_answer(call, 200, &out);
}

/* A checkpoint of its own was made, and becomes the new workspace. */
static void go_on_forking(struct rf_api_call *call, const struct rf_buf *output)
{
	const struct rf_box_site *site = call->extra;
	const char *number = output->data ? strchr(output->data, ':') : NULL;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, site->words[2]);
	rf_pack_string(&body, site->workspace);
	rf_pack_u32(&body, number ? (uint32_t)strtoul(number + 1, NULL, 10) : 0);
	rf_ask_clerk_json(call, RF_CLERK_WORKSPACE_MAKE, &body, true);
}

/* clang-format off */
static const struct rf_box_site_deed
	making    = { rf_site_script_make, RF_BOX_SITE_STILL, true,  answer_made, true },
	listing   = { rf_site_script_list, RF_BOX_SITE_MOVES, false, pass_on },
	removing  = { rf_site_script_forget, RF_BOX_SITE_MOVES, true, answer_gone },
	undoing   = { rf_site_script_undo, RF_BOX_SITE_STILL, true,  pass_on },
	comparing = { rf_site_script_diff, RF_BOX_SITE_STILL, false, answer_diff },
	forking   = { rf_site_script_fork, RF_BOX_SITE_STILL, true,  go_on_forking, true };
/* clang-format on */

static void put_now(char text[RF_TENANCY_NAME])
{
	time_t at = time(NULL);
	struct tm tm;

	strftime(text, RF_TENANCY_NAME, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
}

static void begin(struct rf_api_call *call, const struct rf_box_site_deed *deed, const char *first,
		  const char *second, const char *third)
{
	const char *const words[RF_BOX_SITE_WORDS] = { first, second, third };
	struct rf_box_site *site = rf_box_site_new(call, deed);

	for (size_t i = 0; site && i < RF_BOX_SITE_WORDS; i++)
		snprintf(site->words[i], sizeof(site->words[i]), "%s", words[i] ? words[i] : "");
	if (site)
		rf_box_site_go(call);
}

void rf_serve_checkpoint_create(struct rf_api_call *call)
{
	char now[RF_TENANCY_NAME];

	put_now(now);
	if (read_body(call, RF_ORDER_CHECKPOINT) == 0)
		begin(call, &making, call->order.path, now, NULL);
}

void rf_serve_checkpoint_list(struct rf_api_call *call)
{
	begin(call, &listing, NULL, NULL, NULL);
}

void rf_serve_checkpoint_delete(struct rf_api_call *call)
{
	begin(call, &removing, call->parts.part[1], NULL, NULL);
}

void rf_serve_undo(struct rf_api_call *call)
{
	if (read_body(call, RF_ORDER_UNDO) == 0)
		begin(call, &undoing, call->order.to, NULL, NULL);
}

void rf_serve_fork(struct rf_api_call *call)
{
	char now[RF_TENANCY_NAME];

	put_now(now);
	if (read_body(call, RF_ORDER_WORKSPACE) == 0)
		begin(call, &forking, NULL, now, call->order.path);
}

void rf_serve_diff(struct rf_api_call *call)
{
	char from[RF_TENANCY_NAME] = "", to[RF_TENANCY_NAME] = "";
	struct rf_api_error error;

	if (rf_api_call_parameter(call, "from", from, sizeof(from), &error) < 0 ||
	    rf_api_call_parameter(call, "to", to, sizeof(to), &error) < 0) {
		rf_api_call_fail(call, &error);
	} else if (!rf_tenancy_is_name(from) || (to[0] && !rf_tenancy_is_name(to))) {
		rf_api_error_say(&error, RF_API_INVALID, "from", "from: it is no checkpoint");
		rf_api_error_hint(&error, "a number or a name: ?from=1");
		rf_api_call_fail(call, &error);
	} else {
		begin(call, &comparing, from, to, NULL);
	}
}
