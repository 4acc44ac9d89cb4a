/*
 * Runs a command on a machine that forbids user namespaces, in one of the ways in which machines do:
 *
 *     forbid eperm COMMAND...    clone and unshare refuse them, as Ubuntu's AppArmor rule does
 *     forbid docker COMMAND...   the same, no clone3, and no mounts and keyrings either, as Docker's filter
 *     forbid enospc COMMAND...   user.max_user_namespaces is 0 (here: the errno of it)
 *     forbid mounts COMMAND...   they are made, and then nothing may be mounted, as Ubuntu does it since 24.04
 *
 * By a filter, so that nothing of the machine itself changes.  A program under it needs no_new_privs,
 * unless root starts it.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field)  ((unsigned)offsetof(struct seccomp_data, field))

static struct sock_filter code[128];
static unsigned short count;

static void put(unsigned short op, unsigned char jt, unsigned char jf, unsigned k)
{
	code[count++] = (struct sock_filter){ op, jt, jf, k };
}

/* `nr` fails with `error`, if its first argument has a bit of `flags` or there are none. */
static void refuse(unsigned nr, unsigned flags, unsigned error)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, flags ? 4 : 1, nr);
	if (flags) {
		put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(args));
		put(BPF_JMP | BPF_JSET | BPF_K, 0, 1, flags);
	}
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error);
	if (flags)
		put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
}

static void refuse_mounts(void)
{
	static const unsigned calls[] = { SYS_mount, 428 /* open_tree */, 429, 430, 431, 432, 442 };

	for (size_t i = 0; i < LEN(calls); i++)
		refuse(calls[i], 0, EPERM);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };
	const char *how = argc > 2 ? argv[1] : "";
	int is_docker = strcmp(how, "docker") == 0, is_mounts = strcmp(how, "mounts") == 0;
	unsigned error = strcmp(how, "enospc") == 0 ? ENOSPC : EPERM;
	unsigned spaces = is_docker ? CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
					      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
				    : CLONE_NEWUSER;

	if (!is_docker && !is_mounts && strcmp(how, "eperm") != 0 && error != ENOSPC)
		return fprintf(stderr, "usage: forbid eperm|enospc|docker|mounts COMMAND...\n"), 2;
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
	if (is_mounts || is_docker)
		refuse_mounts();
	if (!is_mounts) {
		refuse(SYS_clone, spaces, error);
		refuse(SYS_unshare, spaces, error);
		/* Its flags lie in memory, where a filter does not look. */
		refuse(435 /* clone3 */, 0, is_docker ? ENOSYS : error);
	}
	if (is_docker)
		refuse(SYS_keyctl, 0, EPERM);
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	program.len = count;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0))
		return perror("seccomp"), 1;
	execvp(argv[2], argv + 2);
	return perror(argv[2]), 127;
}
