/* Agents: see agent.h. */
#include "workspace/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/statedir.h"
#include "workspace/ledger.h"
#include "workspace/roll.h"

#define FOLDER "agents"
#define NEW    ".new" /* one that is being written; a name with a dot in front is nobody's */

static int open_all(bool may_make, struct rf_err *err)
{
	int all = rf_statedir_open_in(FOLDER, may_make);

	return all < 0 ? rf_fail(err, all, "open the folder of agents") : all;
}

static int fail_unknown(const char *id, struct rf_err *err)
{
	rf_fail_say(err, -ENOENT, "there is no agent `%.60s`", id);
	return rf_fail_hint(err,
			    "`ringfort agent ls` lists those there are; `ringfort agent create "
			    "ID --policy FILE` makes one");
}

/* Written whole under another name, one maker at a time, and then linked: unless there is one of this name. */
static int write_whole(int all, const char *id, const struct rf_buf *policy)
{
	RF_AUTO_FD int file = -1;
	int code;

	if (flock(all, LOCK_EX) < 0)
		return -errno;
	unlinkat(all, NEW, 0); /* of somebody who was killed */
	file = openat(all, NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	code = rf_fd_write(file, policy->data, policy->len);
	if (code == 0 && (fsync(file) < 0 || linkat(all, NEW, all, id, 0) < 0))
		code = -errno;
	unlinkat(all, NEW, 0);
	return code;
}

int rf_agent_make(const char *id, const struct rf_buf *policy, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(true, err);
	int code;

	if (all < 0)
		return all;
	if (policy->has_failed || !policy->data)
		return rf_fail(err, -ENOMEM, "write the policy of agent %s", id);
	code = write_whole(all, id, policy);
	if (code == -EEXIST) {
		rf_fail_say(err, code, "there is an agent `%s` already", id);
		return rf_fail_hint(
			err, "`ringfort agent rm %s` removes it; or choose another name", id);
	}
	return code < 0 ? rf_fail(err, code, "write the policy of agent %s", id) : 0;
}

bool rf_agent_exists(const char *id)
{
	RF_AUTO_FD int all = rf_ledger_is_name(id) ? rf_statedir_open_in(FOLDER, false) : -1;

	return all >= 0 && faccessat(all, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int rf_agent_read(const char *id, struct rf_buf *policy, struct rf_err *err)
{
	RF_AUTO_FD int all = -1;
	char *text;
	ssize_t len;

	if (!rf_agent_exists(id))
		return fail_unknown(id, err);
	all = open_all(false, err);
	if (all < 0)
		return all;
	text = malloc(RF_MAX_POLICY_BYTES + 1);
	len = text ? rf_fd_read_text(all, id, text, RF_MAX_POLICY_BYTES + 1) : -ENOMEM;
	if (len >= 0)
		rf_buf_add(policy, text, (size_t)len);
	free(text);
	if (len < 0 || policy->has_failed)
		return rf_fail(err, len < 0 ? (int)len : -ENOMEM, "read the policy of agent %s",
			       id);
	return 0;
}

int rf_agent_remove(const char *id, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(false, err);

	if (all < 0)
		return all == -ENOENT ? fail_unknown(id, err) : all;
	if (!rf_ledger_is_name(id) || unlinkat(all, id, 0) < 0)
		return rf_ledger_is_name(id) && errno != ENOENT
			       ? rf_fail(err, -errno, "remove agent %s", id)
			       : fail_unknown(id, err);
	return 0;
}

int rf_agent_each(int (*fn)(void *data, const char *id), void *data, struct rf_err *err)
{
	RF_AUTO_FD int all = open_all(false, err);

	if (all == -ENOENT) {
		*err = RF_ERR_INIT;
		return 0;
	}
	return all < 0 ? all : rf_roll_each(all, "agents", fn, data, err);
}
