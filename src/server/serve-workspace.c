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

#define MOST "64" /* checkpoints of one workspace */

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

/* One is found by its number, or by its name.  Names are plain words, so they can be written into JSON as they are. */
#define FIND                                                                                       \
	"find_point() {\n"                                                                         \
	"	[ -e \"points/$1/created\" ] && { echo \"$1\"; return; }\n"                              \
	"	for p in points/*/name; do\n"                                                            \
	"		[ -e \"$p\" ] && [ \"$(cat \"$p\")\" = \"$1\" ] || continue\n"                          \
	"		p=${p#points/}; echo \"${p%/name}\"; return\n"                                          \
	"	done\n"                                                                                  \
	"	exit 44\n"                                                                               \
	"}\n"

/* Takes away what a program that was cut short has left, whatever it closed. */
#define WIPE "wipe() { [ ! -e \"$1\" ] || chmod -R u+rwX \"$1\"; rm -rf \"$1\"; }\n"

static const char make_script[] =
	"set -e\ncd /work\numask 077\n" FIND WIPE "[ \"$(ls points | wc -l)\" -lt " MOST
	" ] || exit 52\n"
	"[ -z \"$1\" ] || ! (find_point \"$1\") >/dev/null || exit 51\n"
	"n=$(( $(cat last 2>/dev/null || echo 0) + 1 ))\n"
	"wipe points/.new\nmkdir points/.new\n"
	"cp -a files points/.new/files\n"
	"printf %s \"$1\" >points/.new/name\nprintf %s \"$2\" >points/.new/created\n"
	"echo $n >last\nmv points/.new points/$n\n"
	"printf '{\"number\": %s, \"name\": \"%s\", \"created\": \"%s\"}\\n' \"$n\" \"$1\" "
	"\"$2\"\n";

static const char list_script[] =
	"set -e\ncd /work/points\ncomma=\nprintf '{\"checkpoints\": ['\n"
	"for n in $(ls | sort -n); do\n"
	"	[ -e $n/created ] && [ -e $n/files ] || continue\n"
	"	printf '%s{\"number\": %s, \"name\": \"%s\", \"created\": \"%s\"}' \"$comma\" $n "
	"\"$(cat $n/name)\" \"$(cat $n/created)\"\n"
	"	comma=', '\n"
	"done\necho ']}'\n";

/* The files come first, whole; what is in the way goes when nothing but renames can fail.  The folder itself stays: sandboxes have it. */
static const char undo_script[] =
	"set -e\ncd /work\numask 077\n" FIND WIPE "n=$(find_point \"$1\")\n"
	"wipe .old\nmkdir .old\n"
	"cp -a points/$n/files .old/files\n"
	"chmod -R u+rwX files\n"
	"find files -mindepth 1 -maxdepth 1 -exec rm -rf {} +\n"
	/* A folder that can't be written can't be moved either. */
	"find .old/files -mindepth 1 -maxdepth 1 -type d ! -perm -u+w -exec chmod u+w {} +\n"
	"find .old/files -mindepth 1 -maxdepth 1 -exec mv -t files {} +\n"
	"cd points/$n/files\n"
	"find . -mindepth 1 -maxdepth 1 -type d ! -perm -u+w -exec sh -c "
	"'for d; do chmod --reference=\"$d\" \"/work/files/$d\"; done' sh {} +\ncd /work\n"
	"chmod --reference=.old/files files\ntouch -r .old/files files\nrm -rf .old\n"
	"printf '{\"number\": %s, \"name\": \"%s\", \"created\": \"%s\"}\\n' $n "
	"\"$(cat points/$n/name)\" \"$(cat points/$n/created)\"\n";

static const char diff_script[] =
	"cd /work || exit\n" FIND "old=files new=files\n"
	"n=$(find_point \"$1\") || exit\nold=points/$n/files\n"
	"if [ -n \"$2\" ]; then n=$(find_point \"$2\") || exit; new=points/$n/files; fi\n"
	"cd /tmp || exit\nln -s /work/$old a\nln -s /work/$new b\n"
	"diff -ruN --no-dereference a/ b/\n[ $? -lt 2 ]\n";

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

static const struct rf_box_site_deed making = { make_script, true, answer_made },
				     listing = { list_script, false, pass_on },
				     undoing = { undo_script, true, pass_on },
				     comparing = { diff_script, true, answer_diff },
				     forking = { make_script, true, go_on_forking };

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
