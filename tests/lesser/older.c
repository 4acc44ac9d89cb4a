/*
 * Runs a command as if the kernel were older, or built with less:
 *
 *     older WORD[,WORD...] COMMAND...
 *
 *     openat2 clone3 close_range pidfd mount_api mount_setattr keyctl memfd seccomp
 *                    these calls are unknown (ENOSYS; the filter's own: EINVAL, as a kernel without it says)
 *     landlock=0     Landlock is unknown
 *     landlock=off   it is built in and switched off (EOPNOTSUPP)
 *     landlock=1..6  Landlock is there, with this ABI: what came later is refused as that kernel would
 *     idmap          mounts can't be mapped to other ids (EINVAL), as on a file system that does not know how
 *
 * What is unknown is refused by a filter, so that nothing of the machine itself changes.  A number can't be
 * given back by a filter, nor memory be looked at: for the last two the command and all its children are
 * traced, and only the calls in question stop.  (Not by a listener: a tree of filters has only one, and a lesser box needs it.)
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT(field) ((unsigned)offsetof(struct seccomp_data, field))

#define CREATE   444
#define ADD_RULE 445
#define RESTRICT 446
#define SET_ATTR 442
#define IDMAP    0x100000

/* clang-format off */
static const struct { const char *word; int error; int calls[8]; } absent[] = {
	{ "openat2",       ENOSYS,     { 437 } },
	{ "clone3",        ENOSYS,     { 435 } },
	{ "close_range",   ENOSYS,     { 436 } },
	{ "pidfd",         ENOSYS,     { 424, 434, 438 } },
	{ "mount_api",     ENOSYS,     { 428, 429, 430, 431, 432, 433, 442 } },
	{ "mount_setattr", ENOSYS,     { 442 } },
	{ "keyctl",        ENOSYS,     { SYS_keyctl, SYS_add_key, SYS_request_key } },
	{ "memfd",         ENOSYS,     { SYS_memfd_create } },
	{ "seccomp",       EINVAL,     { SYS_seccomp } },
	{ "landlock=0",    ENOSYS,     { CREATE, ADD_RULE, RESTRICT } },
	{ "landlock=off",  EOPNOTSUPP, { CREATE, ADD_RULE, RESTRICT } },
};
/* clang-format on */

static struct sock_filter code[256];
static unsigned short count;
static int abi; /* 0: as it is */
static int is_traced;

static void put(unsigned short op, unsigned char jt, unsigned char jf, unsigned k)
{
	code[count++] = (struct sock_filter){ op, jt, jf, k };
}

static void answer(int call, unsigned action)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)call);
	put(BPF_RET | BPF_K, 0, 0, action);
}

/* prctl(2) is the older way to a filter. */
static void refuse_prctl(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_prctl);
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(args));
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_SECCOMP);
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EINVAL);
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
}

static int take(const char *word)
{
	if (strncmp(word, "landlock=", 9) == 0 && word[9] >= '1' && word[9] <= '6') {
		abi = word[9] - '0';
		is_traced = 1;
		for (int call = CREATE; call <= RESTRICT; call++)
			answer(call, SECCOMP_RET_TRACE);
		return 0;
	}
	if (strcmp(word, "idmap") == 0) {
		is_traced = 1;
		answer(SET_ATTR, SECCOMP_RET_TRACE);
		return 0;
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (strcmp(absent[i].word, word) == 0) {
			for (int n = 0; n < 8 && absent[i].calls[n]; n++)
				answer(absent[i].calls[n],
				       SECCOMP_RET_ERRNO | (unsigned)absent[i].error);
			if (strcmp(word, "seccomp") == 0)
				refuse_prctl();
			return 0;
		}
	return -1;
}

static void raise_filter(void)
{
	struct sock_fprog program = { .len = count, .filter = code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)) {
		perror("older: seccomp");
		exit(1);
	}
}

/* --- an older ABI --- */

/* What that kernel knows: rights on files, on the network, scopes, and how long their structure is. */
static void known(uint64_t mask[3], uint64_t *size)
{
	static const int rights[] = { 0, 13, 14, 15, 15, 16, 16 };

	mask[0] = (1ull << rights[abi]) - 1;
	mask[1] = abi >= 4 ? 3 : 0;
	mask[2] = abi >= 6 ? 3 : 0;
	*size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

/* The errno with which that kernel refuses a ruleset, or 0 if it takes it. */
static int judge_ruleset(pid_t pid, uint64_t at, uint64_t size, uint64_t flags)
{
	uint64_t mask[3], length;

	if (flags || size < 8)
		return EINVAL;
	known(mask, &length);
	for (uint64_t i = 0; i * 8 < size; i++) {
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, pid, at + i * 8, NULL);
		/* Memory that we may not see is the kernel's to judge; what is too long is not. */
		if (errno && i * 8 >= length)
			return E2BIG;
		if (errno)
			continue;
		if (i * 8 >= length && word)
			return E2BIG;
		if (i < 3 && (uint64_t)word & ~mask[i])
			return EINVAL;
	}
	return 0;
}

/* What the call gives back instead of being made; *ret_is_made if it is to be made after all. */
static long stand_in(pid_t pid, const struct __ptrace_syscall_info *info, int *ret_is_made)
{
	const uint64_t *args = info->seccomp.args;
	int error = 0;

	if (info->seccomp.nr == CREATE && args[2] == 1 && !args[0] && !args[1])
		return abi;
	if (info->seccomp.nr == CREATE)
		error = judge_ruleset(pid, args[0], args[1], args[2]);
	else if (info->seccomp.nr == ADD_RULE)
		error = args[1] == 2 && abi < 4 ? EINVAL : 0;
	else if (info->seccomp.nr == SET_ATTR)
		error = ptrace(PTRACE_PEEKDATA, pid, args[3], NULL) & IDMAP ? EINVAL : 0;
	else if (info->seccomp.nr == RESTRICT)
		error = args[1] ? EINVAL : 0;
	*ret_is_made = error == 0;
	return -error;
}

static void on_call(pid_t pid)
{
	struct __ptrace_syscall_info info;
	struct user_regs_struct regs;
	int is_made = 0;
	long value;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return;
	value = stand_in(pid, &info, &is_made);
	if (is_made || ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return;
#ifdef __x86_64__
	regs.orig_rax = ~0ull; /* no call at all */
	regs.rax = (unsigned long long)value;
#else
#error "an older ABI is not written for this architecture"
#endif
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

static void on_stop(pid_t pid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* stopped, and stays so */
		return;
	}
	if (event == PTRACE_EVENT_SECCOMP)
		on_call(pid);
	ptrace(PTRACE_CONT, pid, NULL, event ? 0 : signal);
}

/* Follows `first` and all that it starts.  Returns how it ended. */
static int follow(pid_t first)
{
	int status, end = 1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status))
			on_stop(pid, status);
		if (pid == first && WIFEXITED(status))
			return WEXITSTATUS(status);
		if (pid == first && WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
	}
	return end;
}

static int trace(char **argv)
{
	const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			_exit(1);
		close(ready[0]);
		raise_filter();
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, options) < 0) {
		perror("older: trace");
		return 1;
	}
	/* What is meant for the command comes to it by its group; we only wait. */
	for (int i = 1; i < NSIG; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	if (write(ready[1], "", 1) != 1)
		return 1;
	close(ready[0]);
	close(ready[1]);
	return follow(pid);
}

int main(int argc, char **argv)
{
	const char *word;

	if (argc < 3)
		return fprintf(stderr, "usage: older WORD[,WORD...] COMMAND...\n"), 2;
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT(nr));
	while ((word = strsep(&argv[1], ",")))
		if (take(word) < 0)
			return fprintf(stderr, "older: what is %s?\n", word), 2;
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	if (is_traced)
		return trace(argv + 2);
	raise_filter();
	execvp(argv[2], argv + 2);
	return perror(argv[2]), 127;
}
