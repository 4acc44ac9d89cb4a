/* The agents of a server's tenants: see tenant-agent.h. */
#include "wire/tenant-agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

#define ALL    ".agents" /* no workspace has a name like that */
#define WAS    ".was"    /* and `.was-NAME` */
#define HEAD   "ringfort-agent 1\n"
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LINE   1024

void rf_tenant_agent_done(struct rf_tenant_agent *agent)
{
	free(agent->policy);
	*agent = (struct rf_tenant_agent){ 0 };
}

bool rf_tenant_agent_is_about(const char *text)
{
	size_t len = strlen(text), chars = 0;

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
		chars += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return chars <= RF_TENANT_AGENT_CHARS && rf_json_is_utf8(text, len);
}

/* ------------------------------------------------------------- as text */

void rf_tenant_agent_format(const struct rf_tenant_agent *agent, struct rf_buf *out)
{
	rf_buf_puts(out, HEAD);
	rf_buf_printf(out, "name %s\ncreated %lld\nworkspace %s%s\n", agent->name,
		      (long long)agent->created, agent->owns_workspace ? "own " : "",
		      agent->workspace);
	if (agent->about[0])
		rf_buf_printf(out, "description %s\n", agent->about);
	for (size_t i = 0; i < agent->label_count; i++)
		rf_buf_printf(out, "label %s=%s\n", agent->labels[i].name, agent->labels[i].value);
	rf_buf_puts(out, "\n");
	rf_buf_puts(out, agent->policy ? agent->policy : "");
}

/* Each line's reader is given what stands behind its word.  False: it is malformed. */
static bool take_name(struct rf_tenant_agent *agent, const char *text)
{
	snprintf(agent->name, sizeof(agent->name), "%s", text);
	return rf_tenancy_is_name(text);
}

static bool take_created(struct rf_tenant_agent *agent, const char *text)
{
	char again[32];

	agent->created = strtoll(text, NULL, 10);
	snprintf(again, sizeof(again), "%lld", (long long)agent->created);
	return agent->created >= 0 && strcmp(text, again) == 0;
}

static bool take_workspace(struct rf_tenant_agent *agent, const char *text)
{
	agent->owns_workspace = strncmp(text, "own ", 4) == 0;
	text += agent->owns_workspace ? 4 : 0;
	snprintf(agent->workspace, sizeof(agent->workspace), "%s", text);
	return rf_tenancy_is_name(text);
}

static bool take_about(struct rf_tenant_agent *agent, const char *text)
{
	snprintf(agent->about, sizeof(agent->about), "%s", text);
	return text[0] && rf_tenant_agent_is_about(text);
}

static bool take_label(struct rf_tenant_agent *agent, const char *text)
{
	const char *sign = strchr(text, '=');
	char name[LINE];

	if (!sign || agent->label_count == RF_TENANT_AGENT_LABELS)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(sign - text), text);
	if (!rf_tenancy_is_label(name) || (sign[1] && !rf_tenancy_is_label(sign + 1)))
		return false;
	snprintf(agent->labels[agent->label_count].name, RF_TENANCY_LABEL, "%s", name);
	snprintf(agent->labels[agent->label_count++].value, RF_TENANCY_LABEL, "%s", sign + 1);
	return true;
}

/* The lines there are, in their order; all but the last once. */
/* clang-format off */
static const struct line {
	const char *word;
	bool is_needed;
	bool (*take)(struct rf_tenant_agent *agent, const char *text);
} lines[] = {
	{ "name ",        true,  take_name },
	{ "created ",     true,  take_created },
	{ "workspace ",   true,  take_workspace },
	{ "description ", false, take_about },
	{ "label ",       false, take_label },
};
/* clang-format on */

/* Gives how many bytes of the line there were, or 0: it is none of this kind; or -EBADMSG. */
static ssize_t read_line(const struct line *kind, const char *at, struct rf_tenant_agent *agent)
{
	size_t word = strlen(kind->word);
	const char *end = strchr(at, '\n');
	char text[LINE];

	if (!end || strncmp(at, kind->word, word) != 0)
		return 0;
	if (end - at >= LINE)
		return -EBADMSG;
	snprintf(text, sizeof(text), "%.*s", (int)(end - at - (ssize_t)word), at + word);
	return kind->take(agent, text) ? end + 1 - at : -EBADMSG;
}

static const char *read_lines(const char *at, struct rf_tenant_agent *agent)
{
	for (size_t i = 0; i < RF_LEN(lines); i++) {
		bool is_last = i + 1 == RF_LEN(lines);
		ssize_t len = read_line(&lines[i], at, agent);

		if (len < 0 || (len == 0 && lines[i].is_needed))
			return NULL;
		at += len;
		while (is_last && len > 0) {
			len = read_line(&lines[i], at, agent);
			if (len < 0)
				return NULL;
			at += len;
		}
	}
	return *at == '\n' ? at + 1 : NULL;
}

int rf_tenant_agent_parse(const char *text, size_t len, struct rf_tenant_agent *ret_agent,
			  struct rf_err *err)
{
	struct rf_tenant_agent agent = { 0 };
	char *whole = text && len <= RF_TENANT_AGENT_BYTES ? malloc(len + 1) : NULL;
	const char *at = NULL;

	if (whole) {
		memcpy(whole, text, len);
		whole[len] = '\0';
	}
	if (whole && strlen(whole) == len && strncmp(whole, HEAD, strlen(HEAD)) == 0)
		at = read_lines(whole + strlen(HEAD), &agent);
	agent.policy = at && *at ? strdup(at) : NULL;
	free(whole);
	if (!agent.policy) {
		rf_fail_say(err, -EBADMSG, "it is no agent of this version's");
		return rf_fail_hint(err, "its file was changed by others: remove it, and make the "
					 "agent again");
	}
	*ret_agent = agent;
	return 0;
}

/* ------------------------------------------------------------- as a file */

int rf_tenant_agent_open_all(const char *tenant, bool may_make)
{
	RF_AUTO_FD int own = rf_tenancy_open_all(tenant, may_make);
	int fd;

	if (own < 0)
		return own;
	if (may_make && mkdirat(own, ALL, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(own, ALL, FOLDER);
	return fd < 0 ? -errno : fd;
}

static int read_file(int file, char **ret_text, size_t *ret_len, struct rf_err *err)
{
	struct stat status;
	char *text;
	ssize_t len;

	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & 077 || status.st_size > RF_TENANT_AGENT_BYTES) {
		rf_fail_say(err, -EPERM, "its file is not the server's alone");
		return rf_fail_hint(err, "remove it, and make the agent again");
	}
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return rf_fail(err, -ENOMEM, "an agent");
	len = rf_fd_read(file, text, (size_t)status.st_size);
	if (len < 0) {
		free(text);
		return rf_fail(err, (int)len, "read its file");
	}
	*ret_text = text;
	*ret_len = (size_t)len;
	return 0;
}

static int fail_unknown(const char *name, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "there is no agent `%.63s`", name);
	return rf_fail_hint(err, "GET /v1/agents lists them, POST makes one");
}

int rf_tenant_agent_read(const char *tenant, const char *name, struct rf_tenant_agent *ret_agent,
			 struct rf_err *err)
{
	RF_AUTO_FD int all =
		rf_tenancy_is_name(name) ? rf_tenant_agent_open_all(tenant, false) : -ENOENT;
	RF_AUTO_FD int file = -1;
	struct rf_tenant_agent agent = { 0 };
	char *text = NULL;
	size_t len = 0;
	int code;

	if (all >= 0)
		file = openat(all, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (all == -ENOENT || (all >= 0 && file < 0 && errno == ENOENT))
		return fail_unknown(name, err);
	if (file < 0)
		return rf_fail(err, all < 0 ? all : -errno, "agent `%s`", name);
	code = read_file(file, &text, &len, err);
	if (code == 0)
		code = rf_tenant_agent_parse(text, len, &agent, err);
	free(text);
	if (code == 0 && strcmp(agent.name, name) != 0) {
		rf_tenant_agent_done(&agent);
		code = rf_fail_say(err, -EBADMSG, "its file is another's");
	}
	if (code < 0)
		return rf_fail_in(err, "agent `%s`", name);
	*ret_agent = agent;
	return 0;
}

/* ------------------------------------------------------------- that there was one */

/* Also where that can't be known. */
static bool there_was(const char *tenant, const char *name)
{
	RF_AUTO_FD int all = rf_tenant_agent_open_all(tenant, false);
	char was[RF_TENANCY_NAME + sizeof(WAS)];

	if (all < 0)
		return all != -ENOENT;
	snprintf(was, sizeof(was), WAS "-%s", name);
	return faccessat(all, was, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT ||
	       faccessat(all, WAS, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static size_t count_known(int all)
{
	int listed = openat(all, ".", FOLDER);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += strncmp(entry->d_name, WAS "-", strlen(WAS "-")) == 0;
	if (dir)
		closedir(dir);
	else
		rf_fd_done(&listed);
	return count;
}

static int make_known(int all, const char *name)
{
	char was[RF_TENANCY_NAME + sizeof(WAS)];
	RF_AUTO_FD int file = -1;

	snprintf(was, sizeof(was), WAS "-%s", name);
	if (faccessat(all, was, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	file = openat(all, count_known(all) < RF_TENANT_AGENT_KNOWN ? was : WAS,
		      O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return file < 0 || fsync(all) < 0 ? -errno : 0;
}

int rf_tenant_agent_find(const char *tenant, const char *name, struct rf_tenant_agent *ret_agent,
			 struct rf_err *err)
{
	int code = rf_tenant_agent_read(tenant, name, ret_agent, err);

	if (code != -ENOENT)
		return code < 0 ? code : 1;
	*err = RF_ERR_INIT;
	if (!rf_tenancy_is_name(name) || !there_was(tenant, name))
		return 0;
	rf_fail_say(err, -EPERM, "agent `%.63s` was removed, and with it what it may do", name);
	return rf_fail_hint(err, "make it again (POST /v1/agents), or ask for another one, with a "
				 "key whose ceiling does not name it");
}

/* What was made before names were kept is known from here on. */
int rf_tenant_agent_remove(int all, const char *name)
{
	int code = make_known(all, name);

	if (code == 0 && (unlinkat(all, name, 0) < 0 || fsync(all) < 0))
		code = -errno;
	return code;
}

/* ------------------------------------------------------------- a new one */

/* Under a name that is nobody's first, and then linked: unless there is one; or `replaces` it.  Who makes one holds the folder's lock, so there is one at a time. */
static int write_whole(int all, const char *name, const struct rf_buf *text, bool replaces)
{
	static const char new[] = ".new";
	RF_AUTO_FD int file = -1;
	int code;

	unlinkat(all, new, 0); /* of somebody who was killed */
	file = openat(all, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	code = rf_fd_write(file, text->data, text->len);
	if (code == 0 && (fsync(file) < 0 || (replaces ? renameat(all, new, all, name)
						       : linkat(all, new, all, name, 0)) < 0))
		code = -errno;
	unlinkat(all, new, 0);
	if (code == 0)
		fsync(all);
	return code;
}

static int write_agent(int all, const struct rf_tenant_agent *agent, bool replaces,
		       struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, RF_TENANT_AGENT_BYTES);
	rf_tenant_agent_format(agent, &text);
	code = text.has_failed ? -E2BIG : make_known(all, agent->name);
	if (code == 0)
		code = write_whole(all, agent->name, &text, replaces);
	if (code == -EEXIST) {
		rf_fail_say(err, code, "there is an agent `%s` already", agent->name);
		return rf_fail_hint(err, "choose another name, or remove it first");
	}
	return code < 0 ? rf_fail(err, code, "write agent `%s`", agent->name) : 0;
}

int rf_tenant_agent_write(int all, const struct rf_tenant_agent *agent, struct rf_err *err)
{
	return write_agent(all, agent, false, err);
}

int rf_tenant_agent_replace(int all, const struct rf_tenant_agent *agent, struct rf_err *err)
{
	return write_agent(all, agent, true, err);
}
