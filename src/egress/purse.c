/* The values of credentials, and what stands for them inside: see purse.h. */
#include "egress/purse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own-file.h"
#include "policy/plan.h"

#define LONGEST    (16 * 1024) /* as the gateway takes them */
#define ROOM       (512 * 1024)
#define PATIENCE_S 30 /* with a command */
#define WORDS      64 /* of one */

/* Beginnings by which programs know what kind of token they have; they are no part of the secret. */
static const char *const prefixes[] = {
	"github_pat_", "ghp_",     "gho_",  "ghu_",     "ghs_",     "ghr_",     "glpat-",
	"sk-ant-",     "sk-proj-", "sk-",   "sk_live_", "sk_test_", "pk_live_", "rk_live_",
	"xoxb-",       "xoxp-",    "xoxa-", "xapp-",    "AKIA",     "ASIA",     "AIza",
	"ya29.",       "hf_",      "npm_",  "pypi-",    "dop_v1_",  "shpat_",   "SG.",
};

/* --- Placeholders --- */

static size_t prefix_of(const char *value)
{
	for (size_t i = 0; i < RF_LEN(prefixes); i++)
		if (strncmp(value, prefixes[i], strlen(prefixes[i])) == 0)
			return strlen(prefixes[i]);
	return 0;
}

/* A letter for a letter, a digit for a digit; what divides a token stays. */
static char another(char c, uint8_t random)
{
	if (c >= '0' && c <= '9')
		return (char)('0' + random % 10);
	if (c >= 'a' && c <= 'z')
		return (char)('a' + random % 26);
	if (c >= 'A' && c <= 'Z')
		return (char)('A' + random % 26);
	return c;
}

static int fill_random(uint8_t *bytes, size_t len, struct rf_err *err)
{
	while (len > 0) {
		ssize_t n = getrandom(bytes, len < 256 ? len : 256, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rf_fail(err, -errno, "random bytes for a placeholder");
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * A short value gets a longer one, so that no other text is taken for it, and a value in which nothing could change gets one with letters
 * behind it.
 */
int rf_purse_placeholder(const char *value, char *text, struct rf_err *err)
{
	size_t len = strlen(value), kept = prefix_of(value), changed = 0, at;
	uint8_t random[RF_PURSE_SHORTEST];

	for (at = 0; at < len; at++) {
		if (at < kept) {
			text[at] = value[at];
			continue;
		}
		if (at % sizeof(random) == 0 || at == kept)
			if (fill_random(random, sizeof(random), err) < 0)
				return err->code;
		text[at] = another(value[at], random[at % sizeof(random)]);
		changed += text[at] != value[at];
	}
	if (len < RF_PURSE_SHORTEST || changed < RF_PURSE_SHORTEST / 2) {
		size_t more = len < RF_PURSE_SHORTEST ? RF_PURSE_SHORTEST - len : RF_PURSE_SHORTEST;

		if (fill_random(random, sizeof(random), err) < 0)
			return err->code;
		for (size_t i = 0; i < more; i++)
			text[at++] = another('a', random[i]);
	}
	text[at] = '\0';
	return 0;
}

/* --- Memory --- */

static int make_room(struct rf_purse *purse, struct rf_err *err)
{
	purse->memory =
		mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (purse->memory == MAP_FAILED) {
		purse->memory = NULL;
		return rf_fail(err, -errno, "memory for credentials");
	}
	purse->size = ROOM;
	madvise(purse->memory, purse->size, MADV_DONTDUMP);
	madvise(purse->memory, purse->size, MADV_WIPEONFORK);
	return 0;
}

/* Takes room for `size` bytes, and keeps it in memory as far as the caller's limit goes. */
static char *take(struct rf_purse *purse, size_t size)
{
	char *room = purse->memory + purse->used;

	if (size > purse->size - purse->used)
		return NULL;
	(void)mlock(room, size);
	purse->used += size;
	return room;
}

void rf_purse_done(struct rf_purse *purse)
{
	if (purse->memory) {
		explicit_bzero(purse->memory, purse->used);
		munmap(purse->memory, purse->size);
	}
	*purse = (struct rf_purse){ 0 };
}

/* --- Reading --- */

/* One line, and no byte more: what follows is the program's. */
static int read_line(struct rf_buf *text, struct rf_err *err)
{
	char c = 0;
	ssize_t n;

	while ((n = rf_fd_read(0, &c, 1)) == 1 && c != '\n' && !text->has_failed)
		rf_buf_add(text, &c, 1);
	if (n < 0)
		return rf_fail(err, (int)n, "read standard input");
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Divides a command at its spaces, in place.  There is no shell: no quotes, nothing that is replaced. */
static size_t split(char *command, const char *words[WORDS + 1])
{
	size_t count = 0;
	char *rest = NULL;

	for (char *word = strtok_r(command, " ", &rest); word && count < WORDS;
	     word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	words[count] = NULL;
	return count;
}

/* The child's side: its input is empty, its complaints are the caller's to read. */
static void become_command(const char *const *words, int out)
{
	int null = open("/dev/null", O_RDONLY);

	if (null >= 0)
		dup2(null, 0);
	dup2(out, 1);
	execvp(words[0], (char *const *)(uintptr_t)words);
	_exit(127);
}

static int listen_to(int fd, struct rf_buf *text, struct rf_err *err)
{
	int64_t end = now_ms() + PATIENCE_S * 1000;
	char part[512];

	for (;;) {
		struct pollfd pollfd = { .fd = fd, .events = POLLIN };
		int64_t left = end - now_ms();
		ssize_t n;

		if (left <= 0 || poll(&pollfd, 1, (int)left) == 0)
			return rf_fail_say(err, -ETIMEDOUT,
					   "it printed nothing to the end for %d seconds",
					   PATIENCE_S);
		n = rf_fd_read(fd, part, sizeof(part));
		if (n > 0)
			rf_buf_add(text, part, (size_t)n);
		explicit_bzero(part, sizeof(part));
		if (n < 0)
			return rf_fail(err, (int)n, "read what it prints");
		if (n == 0 || text->has_failed)
			return 0;
	}
}

static int tell_status(const char *program, int status, struct rf_err *err)
{
	bool has_exited = WIFEXITED(status);

	if (has_exited && WEXITSTATUS(status) == 0)
		return 0;
	if (has_exited && WEXITSTATUS(status) == 127)
		rf_fail_say(err, -ENOENT, "%s could not be run", program);
	else
		rf_fail_say(err, -EIO, "%s failed with %s %d", program,
			    has_exited ? "code" : "signal",
			    has_exited ? WEXITSTATUS(status) : WTERMSIG(status));
	return rf_fail_hint(err, "cmd: takes a program of PATH that prints the value, with its "
				 "arguments and without a shell");
}

static int run_command(const char *source, struct rf_buf *text, struct rf_err *err)
{
	const char *words[WORDS + 1];
	char command[4096];
	int ends[2], status = 0, code;
	pid_t child;

	if (strlen(source) >= sizeof(command))
		return rf_fail_say(err, -E2BIG, "a command that is too long");
	memcpy(command, source, strlen(source) + 1);
	if (split(command, words) == 0)
		return rf_fail_say(err, -EINVAL, "an empty command");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return rf_fail(err, -errno, "a pipe for a command");
	/* Without a signal at its end it is no child that anybody else in this process waits for. */
	child = (pid_t)syscall(SYS_clone, 0L, NULL, NULL, NULL, NULL);
	if (child == 0)
		become_command(words, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return rf_fail(err, -errno, "start %s", words[0]);
	}
	code = listen_to(ends[0], text, err);
	close(ends[0]);
	if (code < 0)
		kill(child, SIGKILL);
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	if (code < 0)
		return rf_fail_in(err, "%s", words[0]);
	return tell_status(words[0], status, err);
}

static int read_variable(const char *name, struct rf_buf *text, struct rf_err *err)
{
	const char *value = getenv(name);

	if (!value) {
		rf_fail_say(err, -ENOENT, "there is no variable %s", name);
		return rf_fail_hint(
			err, "set it, or name another source: file:PATH, cmd:COMMAND, stdin:");
	}
	rf_buf_puts(text, value);
	return 0;
}

static int read_value(const struct rf_net_credential *credential, struct rf_buf *text,
		      struct rf_err *err)
{
	int code;

	switch (credential->from) {
	case RF_NET_FROM_ENV:
		return read_variable(credential->source, text, err);
	case RF_NET_FROM_FILE:
		code = rf_own_file_read(credential->source, LONGEST + 1, text, err);
		if (code != -ENOENT)
			return code;
		rf_fail_say(err, code, "there is no file %s", credential->source);
		return rf_fail_hint(
			err,
			"write its value there, or name another source: env:NAME, cmd:COMMAND");
	case RF_NET_FROM_COMMAND:
		return run_command(credential->source, text, err);
	case RF_NET_FROM_STDIN:
		return read_line(text, err);
	}
	return 0;
}

/* One line feed at the end is how files and commands end, and no part of the value. */
static int check_value(const struct rf_net_credential *credential, struct rf_buf *text,
		       struct rf_err *err)
{
	static const char *const froms[] = {
		[RF_NET_FROM_ENV] = "the variable ",
		[RF_NET_FROM_FILE] = "the file ",
		[RF_NET_FROM_COMMAND] = "the output of ",
		[RF_NET_FROM_STDIN] = "the line of standard input",
	};
	bool has_lines = credential->how == RF_NET_CERTIFICATE;

	if (text->has_failed)
		return rf_fail_say(err, -EFBIG, "its value is longer than %d bytes", LONGEST);
	if (text->len > 0 && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
	if (text->len > 0 && text->data[text->len - 1] == '\r')
		text->data[--text->len] = '\0';
	if (text->len == 0) {
		rf_fail_say(err, -EINVAL, "its value is empty: %s%s", froms[credential->from],
			    credential->source);
		return rf_fail_hint(err, "nothing would be sent: put the value there first");
	}
	if (text->len > LONGEST)
		return rf_fail_say(err, -EFBIG, "its value is longer than %d bytes", LONGEST);
	for (size_t i = 0; i < text->len; i++)
		if (((unsigned char)text->data[i] < ' ' &&
		     !(has_lines && strchr("\r\n", text->data[i]))) ||
		    text->data[i] == 0x7f)
			return rf_fail_say(err, -EINVAL,
					   "its value has line feeds or other control characters");
	return 0;
}

static int keep(struct rf_purse *purse, const struct rf_net_credential *credential,
		const struct rf_buf *text, struct rf_err *err)
{
	char *value = take(purse, text->len + 1);
	char *placeholder = take(purse, RF_PURSE_ROOM(text->len));

	if (!value || !placeholder)
		return rf_fail_say(err, -E2BIG, "the credentials are too long together");
	memcpy(value, text->data, text->len + 1);
	placeholder[0] = '\0'; /* a certificate is no text of the program's */
	if (credential->how != RF_NET_CERTIFICATE &&
	    rf_purse_placeholder(value, placeholder, err) < 0)
		return err->code;
	purse->items[purse->count++] =
		(struct rf_purse_item){ credential->name, value, placeholder };
	return 0;
}

static int fill_one(struct rf_purse *purse, const struct rf_net_credential *credential,
		    struct rf_err *err)
{
	struct rf_buf text = { 0 };
	int code;

	rf_buf_init(&text, LONGEST + 2);
	code = read_value(credential, &text, err);
	if (code >= 0)
		code = check_value(credential, &text, err);
	if (code >= 0)
		code = keep(purse, credential, &text, err);
	if (text.data)
		explicit_bzero(text.data, text.len);
	rf_buf_done(&text);
	return code;
}

/* Takes the value out of our own environment, where /proc and every child would find it. */
static void forget(const char *name)
{
	char *value = getenv(name);

	if (!value)
		return;
	explicit_bzero(value, strlen(value));
	unsetenv(name);
}

int rf_purse_fill(struct rf_purse *purse, const struct rf_net *net, struct rf_err *err)
{
	*purse = (struct rf_purse){ .net = net };
	if (net->credential_count == 0)
		return 0;
	if (make_room(purse, err) < 0)
		return err->code;
	for (size_t i = 0; i < net->credential_count; i++)
		if (fill_one(purse, &net->credentials[i], err) < 0)
			return rf_fail_in(err, "credential %s", net->credentials[i].name);
	return 0;
}

int rf_purse_hide(const struct rf_purse *purse, struct rf_err *err)
{
	const struct rf_net *net = purse->net;

	for (size_t i = 0; i < purse->count; i++)
		if (net->credentials[i].from == RF_NET_FROM_ENV)
			forget(net->credentials[i].source);
	for (size_t i = 0; i < purse->count; i++) {
		char name[256];

		if (!net->credentials[i].variable)
			continue;
		snprintf(name, sizeof(name), "%s%s", RF_PLAN_STAND_IN,
			 net->credentials[i].variable);
		if (setenv(name, purse->items[i].placeholder, 1) < 0)
			return rf_fail(err, -errno, "keep a placeholder");
	}
	return 0;
}

/* True if "NAME=value" is a variable that a value was read from, or one of our own that somebody else has set. */
static bool is_hidden(const struct rf_net *net, const char *variable)
{
	if (strncmp(variable, RF_PLAN_STAND_IN, strlen(RF_PLAN_STAND_IN)) == 0)
		return true;
	for (size_t i = 0; i < net->credential_count; i++) {
		const char *name = net->credentials[i].source;
		size_t len;

		if (net->credentials[i].from != RF_NET_FROM_ENV || !name)
			continue;
		len = strlen(name);
		if (strncmp(variable, name, len) == 0 && variable[len] == '=')
			return true;
	}
	return false;
}

int rf_purse_environment(const struct rf_purse *purse, char *const *env, char ***ret_env,
			 struct rf_err *err)
{
	const struct rf_net *net = purse->net;
	size_t count = 0, used = 0;
	char **all;

	while (env && env[count])
		count++;
	all = calloc(count + purse->count + 1, sizeof(*all));
	if (!all)
		return rf_fail(err, -ENOMEM, "an environment");
	for (size_t i = 0; i < count; i++) {
		if (is_hidden(net, env[i]))
			continue;
		all[used] = strdup(env[i]);
		if (!all[used++])
			goto fail;
	}
	for (size_t i = 0; i < purse->count; i++)
		if (net->credentials[i].variable &&
		    asprintf(&all[used++], "%s%s=%s", RF_PLAN_STAND_IN,
			     net->credentials[i].variable, purse->items[i].placeholder) < 0) {
			all[--used] = NULL;
			goto fail;
		}
	*ret_env = all;
	return 0;
fail:
	rf_purse_free_environment(all);
	return rf_fail(err, -ENOMEM, "an environment");
}

void rf_purse_free_environment(char **env)
{
	for (char **at = env; at && *at; at++)
		free(*at);
	free(env);
}

int rf_purse_check(const struct rf_purse *purse, char *const *env, struct rf_err *err)
{
	for (size_t i = 0; i < purse->count; i++)
		for (char *const *at = env; at && *at; at++) {
			if (!strstr(*at, purse->items[i].value))
				continue;
			rf_fail_say(err, -EPERM,
				    "the variable %.*s goes into the box, and the value of "
				    "credential %s is in it",
				    (int)(strcspn(*at, "=") < 60 ? strcspn(*at, "=") : 60), *at,
				    purse->items[i].name);
			return rf_fail_hint(err, "take it out of env.pass or env.set; inside, the "
						 "credential's own variable holds a placeholder");
		}
	return 0;
}
