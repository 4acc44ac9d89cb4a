/* An errand: see errand.h. */
#include "wire/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pack.h"
#include "wire/tenancy.h"

#define PATH_ROOM 4096
#define WORD_ROOM 4096

_Static_assert(RF_ERRAND_RLIMITS >= RLIM_NLIMITS, "an errand has room for every limit");

/* ------------------------------------------------------------- the caller */

/* umask(2) can only be asked by changing it, for every thread of the process: so it is read. */
static uint32_t umask_of_this_process(void)
{
	static const char label[] = "\nUmask:\t";
	char text[1024]; /* it is among the first lines, since Linux 4.7 */
	ssize_t len = rf_fd_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text));
	const char *at = len > 0 ? strstr(text, label) : NULL;

	return at ? (uint32_t)strtoul(at + sizeof(label) - 1, NULL, 8) & 0777 : 022;
}

void rf_errand_note_caller(struct rf_errand *errand)
{
	errand->umask = umask_of_this_process();
	errno = 0;
	errand->nice = getpriority(PRIO_PROCESS, 0);
	if (errno)
		errand->nice = 0;
	for (int i = 0; i < RF_ERRAND_RLIMITS; i++) {
		struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

		if (i < (int)RLIM_NLIMITS)
			getrlimit(i, &limit);
		errand->rlimits[i].soft = limit.rlim_cur;
		errand->rlimits[i].hard = limit.rlim_max;
	}
}

/* ------------------------------------------------------------- what can be asked for */

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

static size_t measure(char *const *list, size_t *ret_count)
{
	size_t bytes = 0;

	for (*ret_count = 0; list && list[*ret_count]; ++*ret_count)
		bytes += strlen(list[*ret_count]) + 1;
	return bytes;
}

int rf_errand_check(const struct rf_errand *errand, struct rf_err *err)
{
	size_t args, variables, own;
	size_t bytes = measure(errand->argv, &args) + measure(errand->env, &variables) +
		       measure(errand->set, &own);

	if (args == 0)
		return rf_fail_say(err, -EINVAL, "there is no program to run");
	if (args > RF_ERRAND_ARGS || variables > RF_ERRAND_ARGS || own > RF_ERRAND_ARGS)
		return rf_fail_say(err, -E2BIG, "more than %d arguments or variables",
				   RF_ERRAND_ARGS);
	if (bytes > RF_ERRAND_BYTES)
		return rf_fail_say(err, -E2BIG,
				   "arguments and environment are longer than 2 MiB together");
	if (strlen(errand->policy) > RF_MAX_POLICY_BYTES ||
	    (errand->ceiling && strlen(errand->ceiling) > RF_MAX_POLICY_BYTES))
		return rf_fail_say(err, -E2BIG, "a policy of more than 1 MiB");
	if (errand->idle_ms > RF_ERRAND_IDLE_MS)
		return rf_fail_say(err, -EINVAL, "an idle time of more than 49 days");
	if (!is_absolute(errand->folder) || !is_absolute(errand->home) ||
	    (errand->cwd && !is_absolute(errand->cwd)))
		return rf_fail_say(err, -EINVAL, "a folder that is no absolute path");
	for (char *const *set = errand->set; set && *set; set++)
		if (**set == '=' || !strchr(*set, '='))
			return rf_fail_say(err, -EINVAL, "a variable that is not K=V: %.60s", *set);
	return 0;
}

/* ------------------------------------------------------------- writing */

void rf_errand_pack(const struct rf_errand *errand, struct rf_buf *out)
{
	rf_pack_u32(out, errand->command);
	rf_pack_string(out, errand->policy);
	rf_pack_string(out, errand->folder);
	rf_pack_string(out, errand->home);
	rf_pack_string(out, errand->cwd);
	rf_pack_strings(out, (const char *const *)errand->argv);
	rf_pack_strings(out, (const char *const *)errand->env);
	rf_pack_u32(out, (uint32_t)errand->extra_count);
	for (size_t i = 0; i < errand->extra_count; i++) {
		const struct rf_place *extra = &errand->extras[i];

		rf_pack_u32(out, extra->kind);
		rf_pack_string(out, extra->path);
		rf_pack_string(out, extra->source);
		rf_pack_u32(out, extra->rights);
		rf_pack_bool(out, extra->is_optional);
		rf_pack_string(out, extra->why);
		rf_pack_string(out, extra->rule);
	}
	rf_pack_string(out, errand->caller_path);
	rf_pack_bool(out, errand->wants_denials);
	rf_pack_u32(out, errand->umask);
	rf_pack_u32(out, (uint32_t)errand->nice);
	for (size_t i = 0; i < RF_ERRAND_RLIMITS; i++) {
		rf_pack_u64(out, errand->rlimits[i].soft);
		rf_pack_u64(out, errand->rlimits[i].hard);
	}
	rf_pack_string(out, errand->ceiling);
	rf_pack_strings(out, (const char *const *)errand->set);
	rf_pack_string(out, errand->note);
	rf_pack_u64(out, errand->idle_ms);
	rf_pack_string(out, errand->origin.request);
	rf_pack_string(out, errand->origin.trace);
	rf_pack_string(out, errand->workspace);
	rf_pack_bool(out, errand->is_whole);
	rf_pack_bool(out, errand->drops_beyond);
}

/* ------------------------------------------------------------- reading */

/* What may be brought along: files of the client's to read, and texts. */
static void read_extra(struct rf_pack_reader *in, struct rf_place *extra)
{
	extra->kind = (enum rf_place_kind)rf_pack_read_u32(in);
	extra->path = rf_pack_read_string(in, PATH_ROOM);
	extra->source =
		rf_pack_read_string(in, extra->kind == RF_PLACE_HOST ? PATH_ROOM : RF_MAX_CODE + 1);
	extra->rights = rf_pack_read_u32(in);
	extra->is_optional = rf_pack_read_bool(in);
	extra->why = rf_pack_read_string(in, WORD_ROOM);
	extra->rule = rf_pack_read_string(in, WORD_ROOM);
	if ((extra->kind != RF_PLACE_HOST && extra->kind != RF_PLACE_TEXT &&
	     extra->kind != RF_PLACE_DATA) ||
	    extra->rights & ~(unsigned)(RF_RIGHT_READ | RF_RIGHT_EXEC) ||
	    !is_absolute(extra->path) ||
	    (extra->kind == RF_PLACE_HOST && !is_absolute(extra->source)))
		in->has_failed = true;
}

static void read_extras(struct rf_pack_reader *in, struct rf_errand *errand)
{
	struct rf_place *extras;
	uint32_t count = rf_pack_read_below(in, RF_ERRAND_EXTRAS + 1);

	if (count == 0)
		return;
	extras = calloc(count, sizeof(*extras));
	errand->extras = extras;
	if (!extras)
		in->has_failed = true;
	for (; errand->extra_count < count && !in->has_failed; errand->extra_count++)
		read_extra(in, &extras[errand->extra_count]);
}

static void read_caller(struct rf_pack_reader *in, struct rf_errand *errand)
{
	errand->caller_path = rf_pack_read_maybe(in, RF_ERRAND_BYTES);
	errand->wants_denials = rf_pack_read_bool(in);
	errand->umask = rf_pack_read_below(in, 01000);
	errand->nice = (int32_t)rf_pack_read_u32(in);
	for (size_t i = 0; i < RF_ERRAND_RLIMITS; i++) {
		errand->rlimits[i].soft = rf_pack_read_u64(in);
		errand->rlimits[i].hard = rf_pack_read_u64(in);
		if (errand->rlimits[i].soft > errand->rlimits[i].hard)
			in->has_failed = true;
	}
	if (errand->nice < -20 || errand->nice > 19)
		in->has_failed = true;
}

/* What a client calls its request: it stands in a log, so it is plain. */
static const char *read_word(struct rf_pack_reader *in)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *word = rf_pack_read_maybe(in, RF_ERRAND_WORD);

	if (word && strspn(word, plain) != strlen(word))
		in->has_failed = true;
	return word && *word ? word : NULL;
}

int rf_errand_unpack(const void *data, size_t len, struct rf_errand *ret_errand, struct rf_err *err)
{
	struct rf_errand errand = { 0 };
	struct rf_pack_reader in;
	int code;

	rf_pack_read_init(&in, data, len);
	errand.command = (enum rf_command)rf_pack_read_below(&in, RF_COMMAND_COUNT);
	errand.policy = rf_pack_read_string(&in, RF_MAX_POLICY_BYTES + 1);
	errand.folder = rf_pack_read_string(&in, PATH_ROOM);
	errand.home = rf_pack_read_string(&in, PATH_ROOM);
	errand.cwd = rf_pack_read_maybe(&in, PATH_ROOM);
	errand.argv = rf_pack_read_strings(&in, RF_ERRAND_ARGS, RF_ERRAND_BYTES);
	errand.env = rf_pack_read_strings(&in, RF_ERRAND_ARGS, RF_ERRAND_BYTES);
	read_extras(&in, &errand);
	read_caller(&in, &errand);
	errand.ceiling = rf_pack_read_maybe(&in, RF_MAX_POLICY_BYTES + 1);
	errand.set = rf_pack_read_strings(&in, RF_ERRAND_ARGS, RF_ERRAND_BYTES);
	errand.note = rf_pack_read_maybe(&in, RF_ERRAND_NOTE);
	errand.idle_ms = rf_pack_read_u64(&in);
	errand.origin.request = read_word(&in);
	errand.origin.trace = read_word(&in);
	errand.workspace = rf_pack_read_maybe(&in, RF_TENANCY_NAME);
	errand.is_whole = rf_pack_read_bool(&in);
	errand.drops_beyond = rf_pack_read_bool(&in);
	if (!rf_pack_is_whole(&in))
		code = rf_fail_say(err, -EBADMSG, "an errand is malformed");
	else
		code = rf_errand_check(&errand, err);
	if (code < 0) {
		rf_errand_done(&errand);
		return code;
	}
	*ret_errand = errand;
	return 0;
}

void rf_errand_done(struct rf_errand *errand)
{
	free((void *)(uintptr_t)errand->argv);
	free((void *)(uintptr_t)errand->env);
	free((void *)(uintptr_t)errand->set);
	free((struct rf_place *)(uintptr_t)errand->extras);
	*errand = (struct rf_errand){ 0 };
}
