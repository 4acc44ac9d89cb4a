/*
 * The system call wall.
 *
 * Takes away: every call outside the table (calls.c), every entry but the native one, and what the
 * plan's profiles (ruleset.h) refuse.  These are read outside, before the child is made.
 * Raised: last; the other walls need calls that it refuses.
 * Assumes: no_new_privs is set.
 * From inside: EPERM or ENOSYS; death for a 32-bit or x32 call.
 */
#include "jail/seccomp.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/deputy.h"
#include "jail/filter.h"
#include "jail/onlooker.h"
#include "jail/ration.h"
#include "jail/ruleset.h"

/* What the filter of this box depends on. */
struct rf_call_options rf_seccomp_options(const struct rf_box *box)
{
	const struct rf_plan *plan = box->plan;
	const struct rf_room *room = rf_ration_room(plan);
	struct rf_call_options options = rf_call_options_of(plan);

	/* Without a network namespace there is no loopback but the host's. */
	if (box->is_lesser)
		options.has_inet = plan->link == RF_LINK_HOST;
	options.is_sampled = !box->cgroup.has_memory;
	options.is_lesser = options.has_deputy = box->is_lesser;
	/*
	 * What is written to a copy is counted as in a tree of the host; a layer on disk is only looked at, and one
	 * call could fill the disk between two looks.  Attributes stay: overlayfs's own are taken off a copy.
	 */
	if (room && (room->kind == RF_ROOM_COPY || room->kind == RF_ROOM_DISK))
		options.lacks_allocation = true;
	options.lacks_holding = room && room->kind == RF_ROOM_DISK;
	return options;
}

static int build(const struct rf_box *box, const struct rf_call_options *options,
		 struct rf_filter *filter, struct rf_err *err)
{
	return rf_filter_build(options, (const struct rf_ruleset *const *)box->profiles,
			       box->profile_count, filter, err);
}

static int read_profiles(struct rf_box *box, struct rf_err *err)
{
	const struct rf_call_options options = rf_seccomp_options(box);
	char *const *paths = box->plan->seccomp;
	struct rf_filter filter;
	size_t count = 0;

	while (paths && paths[count])
		count++;
	if (count == 0)
		return 0;
	box->profiles = calloc(count, sizeof(struct rf_ruleset *));
	if (!box->profiles)
		return rf_fail(err, -ENOMEM, "read the profiles");
	for (; box->profile_count < count; box->profile_count++)
		if (rf_ruleset_load(paths[box->profile_count], &box->profiles[box->profile_count],
				    err) < 0)
			return err->code;
	for (size_t i = 0; i < count; i++)
		if (rf_ruleset_check(box->profiles[i], box->is_lesser, box->plan->has_terminal,
				     err) < 0)
			return err->code;
	/* Whether it fits is said before anything is started. */
	return build(box, &options, &filter, err);
}

/* Two sets of options that make the same filter. */
static bool is_same(const struct rf_call_options *a, const struct rf_call_options *b)
{
	return a->syscalls == b->syscalls && a->has_inet == b->has_inet &&
	       a->has_unix == b->has_unix && a->is_sampled == b->is_sampled &&
	       a->is_lesser == b->is_lesser && a->has_deputy == b->has_deputy &&
	       a->lacks_attributes == b->lacks_attributes &&
	       a->lacks_allocation == b->lacks_allocation && a->lacks_holding == b->lacks_holding;
}

/*
 * Who builds boxes ahead mostly needs the filter that it had last: that one is kept.  Made here and not by the
 * child, which could be killed while it writes into our memory.
 */
static int take_kept(struct rf_box *box, struct rf_err *err)
{
	static struct rf_filter kept;
	static struct rf_call_options made_for;
	const struct rf_call_options options = rf_seccomp_options(box);

	if (kept.len == 0 || !is_same(&options, &made_for)) {
		if (build(box, &options, &kept, err) < 0) {
			kept.len = 0;
			return err->code;
		}
		made_for = options;
	}
	box->filter = &kept;
	return 0;
}

int rf_seccomp_prepare(struct rf_box *box, struct rf_err *err)
{
	if (read_profiles(box, err) == 0)
		return box->is_ahead && !box->profile_count ? take_kept(box, err) : 0;
	err->code = -EBADMSG; /* the profile is what is wrong, and not this machine */
	return err->code;
}

void rf_seccomp_done(struct rf_box *box)
{
	for (size_t i = 0; i < box->profile_count; i++)
		rf_ruleset_free(box->profiles[i]);
	free((void *)box->profiles);
	box->profiles = NULL;
	box->profile_count = 0;
}

/* Returns a listener if one was asked for, 0, or a negative errno. */
static int load(const struct rf_box *box, const struct rf_call_options *options, unsigned flags,
		struct rf_err *err)
{
	struct rf_filter *filter = box->filter;
	struct rf_filter own;
	struct sock_fprog program;
	long got;

	if (!filter) {
		if (build(box, options, &own, err) < 0)
			return err->code;
		filter = &own;
	}
	for (size_t i = 0; i < box->profile_count; i++)
		if (box->profiles[i]->wants_log)
			flags |= SECCOMP_FILTER_FLAG_LOG;
	program = (struct sock_fprog){ .len = (unsigned short)filter->len, .filter = filter->code };
	got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return got < 0 ? rf_fail(err, -errno, "load the system call filter") : (int)got;
}

/* A memfd lies beyond Landlock and every mount: it must be made so that it can't be executed. */
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#define MFD_EXEC        0x0010u

/*
 * Where the kernel does not see to it by itself (box->seals_memfds), a second, small filter refuses
 * every memfd but sealed ones.  Of its own, so that it stands whatever the other one allows.
 */
static int seal_memfds(struct rf_err *err)
{
	const uint32_t flags = offsetof(struct seccomp_data, args) + sizeof(uint64_t);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MFD_EXEC, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MFD_NOEXEC_SEAL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES), /* as the kernel would */
	};
	struct sock_fprog program = { .len = RF_LEN(code), .filter = code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return rf_fail(err, -errno, "load the filter of memfds");
	return 0;
}

int rf_seccomp_raise(struct rf_box *box, struct rf_err *err)
{
	struct rf_call_options options = rf_seccomp_options(box);

	if (box->programs && !box->seals_memfds && seal_memfds(err) < 0)
		return err->code;
	if (rf_onlooker_is_wanted(box) && rf_onlooker_raise(box, err) < 0)
		return err->code;
	if (box->is_lesser) {
		/* Only one filter around a process may have a listener: another one's stands in the way. */
		int listener = load(box, &options, SECCOMP_FILTER_FLAG_NEW_LISTENER, err);

		if (listener >= 0) {
			box->shared->has_deputy = true;
			return rf_deputy_send(box, listener, err);
		}
		options.has_deputy = false;
	}
	if (load(box, &options, box->is_heard ? SECCOMP_FILTER_FLAG_LOG : 0, err) < 0)
		return rf_fail_hint(err, "the kernel needs CONFIG_SECCOMP_FILTER");
	return 0;
}
