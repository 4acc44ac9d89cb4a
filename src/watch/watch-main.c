/*
 * ringfort-watch: the independent watcher.
 *
 * Serves $RUN/watch.sock and writes the log in $STATE/audit; `ringfort watch` starts it, in the foreground.
 * Options come from there, each as "--name value": --anchor WHERE (repeated), --hook PROGRAM, --segment BYTES, --keep BYTES,
 * --keep-days N.  With --owned it was started by a server, whose end of a pair is its descriptor 3: it ends with it, once all
 * who tell it something have.  With --status it asks the watcher that stands, and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "audit/segment.h"
#include "audit/teller.h"
#include "base/fd.h"
#include "base/jsonread.h"
#include "base/rundir.h"
#include "base/statedir.h"
#include "watch/hook.h"
#include "watch/keeper.h"
#include "watch/settings.h"
#include "watch/stance.h"
#include "watch/watcher.h"
#include "wire/door.h"

#define EXIT_NONE   1 /* --status: none stands */
#define EXIT_FAILED 125
#define LOCK_NAME   "watch.lock"
#define OWNER_FD    3
#define KEEP_MOST   (1ull << 50)

struct settings {
	struct rf_watcher_options options;
	size_t anchor_count;
	const char *hook; /* a program that is told of alarms, or NULL */
	bool wants_status, is_json;
};

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort-watch: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	return EXIT_FAILED;
}

/* ------------------------------------------------------------- options */

/* A number with K, M or G behind it, or none. */
static int read_size(const char *text, uint64_t *ret_size)
{
	static const char units[] = "KMGT";
	char *end = NULL;
	const char *unit;
	int shift = 0;

	errno = 0;
	*ret_size = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		end++;
	}
	if (*text < '0' || *text > '9' || *end || errno || *ret_size > KEEP_MOST >> shift)
		return -EINVAL;
	*ret_size <<= shift;
	return 0;
}

static int take_anchor(struct settings *settings, const char *value, struct rf_err *err)
{
	if (settings->anchor_count + 1 >= RF_WATCHER_ANCHORS)
		return rf_fail_say(err, -E2BIG, "more than %d anchors", RF_WATCHER_ANCHORS - 1);
	if (strcmp(value, RF_ANCHOR_SYSLOG) != 0 && value[0] != '/') {
		rf_fail_say(err, -EINVAL, "--anchor %.80s is no place for heads", value);
		return rf_fail_hint(err, "syslog, or a file by its whole path");
	}
	settings->options.anchors[settings->anchor_count++] = value;
	return 0;
}

static int take_number(const char *name, const char *value, uint64_t least, uint64_t unit,
		       uint64_t *ret_number, struct rf_err *err)
{
	uint64_t number;

	if (read_size(value, &number) < 0 || number < least)
		return rf_fail_say(err, -EINVAL, "%s %.40s: not a number that can be", name, value);
	*ret_number = number * unit;
	return 0;
}

static int take_option(struct settings *settings, const char *name, const char *value,
		       struct rf_err *err)
{
	struct rf_store_options *store = &settings->options.store;

	if (strcmp(name, "--anchor") == 0)
		return take_anchor(settings, value, err);
	if (strcmp(name, "--hook") == 0) {
		settings->hook = value;
		return rf_hook_check(value, err);
	}
	if (strcmp(name, "--segment") == 0)
		return take_number(name, value, 4096, 1, &store->segment_bytes, err);
	if (strcmp(name, "--keep") == 0)
		return take_number(name, value, 4096, 1, &store->keep_bytes, err);
	if (strcmp(name, "--keep-days") == 0)
		return take_number(name, value, 1, 86400, &store->keep_s, err);
	rf_fail_say(err, -EINVAL, "what is %.64s?", name);
	return rf_fail_hint(err, "start it with `ringfort watch`");
}

static int read_line(int argc, char **argv, struct settings *settings, struct rf_err *err)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--status") == 0)
			settings->wants_status = true;
		else if (strcmp(argv[i], "--owned") == 0)
			settings->options.owner = OWNER_FD;
		else if (strcmp(argv[i], "--json") == 0)
			settings->is_json = true;
		else if (take_option(settings, argv[i], i + 1 < argc ? argv[i + 1] : "", err) < 0)
			return err->code;
		else
			i++;
	}
	return 0;
}

/* ------------------------------------------------------------- --status */

static int print_status(const char *text, bool is_json)
{
	const struct rf_jsonread_value *root, *trouble, *pid, *last;
	struct rf_jsonread *json = NULL;
	struct rf_err err;

	if (is_json || rf_jsonread_parse(text, strlen(text), &json, &err) < 0) {
		fputs(text, stdout);
		return 0;
	}
	root = rf_jsonread_root(json);
	pid = rf_jsonread_member(root, "pid");
	last = rf_jsonread_member(root, "last_record");
	trouble = rf_jsonread_member(root, "trouble");
	printf("a watcher stands: pid %s, record %s%s%s\n", pid ? pid->text : "?",
	       last ? last->text : "?", trouble && trouble->text ? "; nothing can be kept: " : "",
	       trouble && trouble->text ? trouble->text : "");
	rf_jsonread_free(json);
	return 0;
}

static int ask(const struct settings *settings, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf answer;
	struct rf_teller teller;
	int code;

	rf_buf_init(&answer, (size_t)1 << 20);
	rf_teller_init(&teller);
	code = rf_teller_open(&teller, err);
	if (code == -ENOENT || code == -ECONNREFUSED) {
		puts(settings->is_json ? "{ \"stands\": false }"
				       : "no watcher stands; `ringfort watch` starts one");
		rf_teller_done(&teller);
		return EXIT_NONE;
	}
	if (code == 0)
		code = rf_teller_ask(&teller, "status", sizeof("status"), &answer, err);
	rf_teller_done(&teller);
	return code < 0 ? code : print_status(answer.data, settings->is_json);
}

/* ------------------------------------------------------------- the watcher */

static int take_lock(int run, struct rf_err *err)
{
	RF_AUTO_FD int fd = openat(run, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	char pid[16];

	if (fd < 0)
		return rf_fail(err, -errno, "open " LOCK_NAME);
	if (rf_door_lock(fd) < 0) {
		rf_fail_say(err, -EBUSY, "a watcher of this user's is there already");
		return rf_fail_hint(err,
				    "every `ringfort run` tells it; end it with SIGTERM to start "
				    "another");
	}
	/* Who it is, for `ringfort doctor`. */
	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || rf_fd_write(fd, pid, strlen(pid)) < 0)
		return rf_fail(err, -EIO, "write " LOCK_NAME);
	return rf_fd_take(&fd);
}

/* Holds nothing of who started it. */
static int settle(struct rf_err *err)
{
	RF_AUTO_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		return rf_fail(err, -errno, "open /dev/null");
	if (chdir("/") < 0)
		return rf_fail(err, -errno, "leave the working directory");
	umask(077);
	openlog("ringfort-watch", LOG_PID, LOG_AUTHPRIV);
	return 0;
}

/* As the log tells of it if the next one has something else. */
static void describe(const struct settings *settings, char text[RF_SETTINGS_TEXT])
{
	const struct rf_store_options *store = &settings->options.store;
	const char *const *anchors = settings->options.anchors;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_SETTINGS_TEXT - 1);
	for (size_t i = 0; i < settings->anchor_count; i++)
		rf_buf_printf(&out, "anchor%zu %.120s\n", i + 1, anchors[i]);
	rf_buf_printf(&out, "hook %.120s\n", settings->hook ? settings->hook : "none");
	rf_buf_printf(&out, "segment %llu\nkeep %llu\nkeep_seconds %llu\n",
		      (unsigned long long)store->segment_bytes,
		      (unsigned long long)store->keep_bytes, (unsigned long long)store->keep_s);
	snprintf(text, RF_SETTINGS_TEXT, "%s", out.has_failed ? "" : out.data);
}

static int serve(struct settings *settings, struct rf_err *err)
{
	struct rf_watcher_options *options = &settings->options;
	RF_AUTO_FD int run = -1, lock = -1, state = -1, counted = -1, listener = -1;
	struct rf_keeper *keeper = NULL;
	struct rf_stance *stance = NULL;
	char text[RF_SETTINGS_TEXT];
	int code;

	describe(settings, text);
	run = rf_rundir_open(true);
	if (run < 0) {
		rf_fail(err, run, "open the folder of the watcher's socket");
		return rf_fail_hint(err, "XDG_RUNTIME_DIR must name a folder of yours, mode 0700");
	}
	lock = take_lock(run, err);
	if (lock < 0)
		return lock;
	state = rf_statedir_open_in(RF_SEGMENT_FOLDER, true);
	if (state < 0) {
		rf_fail(err, state, "open the audit log's folder");
		return rf_fail_hint(err, "it is of your own, mode 0700, or it is not used");
	}
	counted = rf_statedir_open_in(RF_KEEPER_FOLDER, true);
	if (counted < 0)
		return rf_fail(err, counted, "open the folder of breakers and budgets");
	listener = rf_door_listen(run, RF_TELLER_SOCKET, err);
	if (listener < 0 || settle(err) < 0 || rf_stance_take(&stance, err) < 0 ||
	    rf_keeper_new(counted, settings->hook, text, &keeper, err) < 0) {
		rf_stance_leave(stance);
		return err->code;
	}
	options->listener = listener;
	options->store.dir = state;
	code = rf_watcher_serve(options, rf_keeper_guest(keeper), err);
	rf_keeper_free(keeper);
	unlinkat(run, RF_TELLER_SOCKET, 0);
	rf_stance_leave(stance);
	return code;
}

int main(int argc, char **argv)
{
	struct settings settings = { .options = { .owner = -1 } };
	struct rf_err err = RF_ERR_INIT;
	int code = read_line(argc, argv, &settings, &err);

	if (code == 0)
		code = settings.wants_status ? ask(&settings, &err) : serve(&settings, &err);
	return code < 0 ? complain(&err) : code;
}
