/*
 * Runs a command, and lets one system call of it or of a descendant fail, or kills at that call:
 *
 *     inject [OPTIONS] -o REPORT -- COMMAND...
 *         -b FILE        calls are counted once this program has been executed
 *         -p FILE        and no more in a process that has executed this one: it is looked at instead
 *         -n ROLE:N      the call that is meant: the Nth (from 1) of the process ROLE
 *         -e ERRNO       it is not made, and fails with this number
 *         -a             and so does every later call of the same name, in every process
 *         -k WHO[,WHO]   at its entry these are killed: launcher, init, janitor, program, or a ROLE
 *         -l             lists every call that was counted
 *         -u UID         the command's uid and gid
 *         -t SECONDS     how long all of it may take
 *         -g SECONDS     how long others may live on once the command has ended
 *
 * A process's role is its place in the tree, which is the same in every run, as pids are not: the
 * command is "0", its second child "0/2", that one's first child "0/2/1".  Each process counts its own
 * calls, so that a number means the same call however two processes are scheduled.
 *
 * By ptrace and not by a seccomp filter, which would be one of the walls that are looked at.  Only the
 * process that is meant stops at its calls, and none does any more once it was hit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define TASKS      512

struct task {
	pid_t pid;
	char role[48];
	unsigned children;   /* it has had */
	unsigned long calls; /* counted */
	bool is_placed;      /* its role is known */
	bool is_waiting;     /* stopped until it is */
	bool is_counted;     /* its calls are: the launcher has been executed */
	bool is_program;     /* and they are no more */
	bool is_init;        /* it has executed ringfort-init */
	bool is_failing;     /* in the call that is to fail */
};

static struct task tasks[TASKS];
static size_t task_count;

/* What is asked for. */
static struct stat begin_at, program_at;
static bool has_begin, has_program, is_list, is_always;
static char target_role[48];
static unsigned long target_call;
static int target_errno;
static const char *victims;
static FILE *report;

/* How far it is. */
static bool has_hit, has_started, is_late;
static long hit_nr = -1;
static volatile sig_atomic_t has_alarm;

static void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void on_alarm(int number)
{
	(void)number;
	has_alarm = 1;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct task *find(pid_t pid)
{
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i].pid == pid)
			return &tasks[i];
	return NULL;
}

static struct task *add(pid_t pid)
{
	if (task_count == TASKS) {
		errno = E2BIG;
		die("processes");
	}
	tasks[task_count] = (struct task){ .pid = pid };
	return &tasks[task_count++];
}

static void forget(struct task *task)
{
	*task = tasks[--task_count];
}

/* ------------------------------------------------------------- registers */

#if defined(__x86_64__)
#define HARMLESS                                                                                   \
	SYS_getpid /* which every filter lets through; -1 would be one more thing to filter */

static void skip_call(pid_t pid)
{
	ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), HARMLESS);
}

static void set_result(pid_t pid, long value)
{
	ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), value);
}
#elif defined(__aarch64__)
#include <elf.h>

static void skip_call(pid_t pid)
{
	int nr = SYS_getpid;
	struct iovec io = { &nr, sizeof(nr) };

	ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &io);
}

static void set_result(pid_t pid, long value)
{
	struct user_regs_struct regs;
	struct iovec io = { &regs, sizeof(regs) };

	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io);
	regs.regs[0] = (unsigned long long)value;
	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io);
}
#else
#error "inject does not know this architecture"
#endif

/* ------------------------------------------------------------- what a started program is like */

static void put(const char *name, const char *bytes, size_t len)
{
	fprintf(report, "== %s %zu\n", name, len);
	fwrite(bytes, 1, len, report);
	fputc('\n', report);
}

static void put_file(const char *name, const char *path)
{
	static char bytes[1 << 17];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0) {
		put(name, strerror(errno), strlen(strerror(errno)));
		return;
	}
	while (len < sizeof(bytes) && (n = read(fd, bytes + len, sizeof(bytes) - len)) > 0)
		len += (size_t)n;
	close(fd);
	put(name, bytes, len);
}

/* The links in a folder, as "NAME TARGET" lines. */
static void put_links(const char *name, const char *path)
{
	static char bytes[1 << 16];
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t len = 0;

	while (dir && (entry = readdir(dir))) {
		char target[512];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n >= 0 && len + (size_t)n + 300 < sizeof(bytes))
			len += (size_t)snprintf(bytes + len, sizeof(bytes) - len, "%s %.*s\n",
						entry->d_name, (int)n, target);
	}
	if (dir)
		closedir(dir);
	put(name, bytes, len);
}

static void put_link(const char *name, const char *path)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target));

	put(name, target, n < 0 ? 0 : (size_t)n);
}

/* The program has been executed and has not run yet: what the kernel says it is. */
static void look(pid_t pid)
{
	static const char *const files[] = { "status",  "limits",        "cgroup", "mountinfo",
					     "environ", "oom_score_adj", "stat",   "uid_map",
					     "gid_map", "setgroups",     "cmdline" };
	char path[64];

	for (size_t i = 0; i < LEN(files); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		put_file(files[i], path);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns", pid);
	put_links("ns", path);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	put_links("fd", path);
	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	put_link("cwd", path);
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	put_link("root", path);
}

/* The limits of the groups that it is in, by hierarchy. */
static void look_at_groups(pid_t pid)
{
	static const char *const files[] = {
		"memory.limit_in_bytes",
		"memory.kmem.tcp.limit_in_bytes",
		"memory.memsw.limit_in_bytes",
		"memory.max",
		"memory.swap.max",
		"pids.max",
		"cpu.cfs_quota_us",
		"cpu.max",
	};
	char path[64], line[4096];
	FILE *list;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	list = fopen(path, "re");
	while (list && fgets(line, sizeof(line), list)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		for (size_t i = 0; i < LEN(files); i++) {
			char file[8192], name[128];

			snprintf(file, sizeof(file), "/sys/fs/cgroup/%s%s/%s",
				 names[1] ? names + 1 : "unified", group, files[i]);
			snprintf(name, sizeof(name), "group-%s", files[i]);
			if (access(file, R_OK) == 0)
				put_file(name, file);
		}
	}
	if (list)
		fclose(list);
}

/* ------------------------------------------------------------- calls */

/* The first of its arguments that is a text, for whoever reads the report. */
static void find_text(pid_t pid, const struct __ptrace_syscall_info *info, char *text, size_t size)
{
	text[0] = '\0';
	for (int i = 0; i < 3; i++) {
		struct iovec here = { text, size - 1 };
		struct iovec there = { (void *)(uintptr_t)info->entry.args[i], size - 1 };
		ssize_t n = info->entry.args[i] > 65536
				    ? process_vm_readv(pid, &here, 1, &there, 1, 0)
				    : -1;

		text[n < 0 ? 0 : n] = '\0';
		if (strlen(text) > 1 && strspn(text, "/._-+abcdefghijklmnopqrstuvwxyz0123456789 "
						     "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(text))
			return;
		text[0] = '\0';
	}
}

static bool is_named(const struct task *task, const char *name, size_t len)
{
	char path[64], comm[32] = "";
	FILE *file;

	if (strlen(task->role) == len && strncmp(task->role, name, len) == 0)
		return true;
	if (len == 8 && strncmp(name, "launcher", len) == 0)
		return strcmp(task->role, "0") == 0;
	if (len == 4 && strncmp(name, "init", len) == 0)
		return task->is_init;
	if (len == 7 && strncmp(name, "program", len) == 0)
		return task->is_program;
	if (len != 7 || strncmp(name, "janitor", len) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", task->pid);
	file = fopen(path, "re");
	if (file) {
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		fclose(file);
	}
	return strcmp(comm, "ringfort-clean\n") == 0;
}

static void kill_victims(void)
{
	for (const char *at = victims; *at; at += strcspn(at, ","), at += *at == ',')
		for (size_t i = 0; i < task_count; i++)
			if (is_named(&tasks[i], at, strcspn(at, ","))) {
				fprintf(report, "killed %s\n", tasks[i].role);
				kill(tasks[i].pid, SIGKILL);
			}
}

static bool is_target(const struct task *task, long nr)
{
	if (!has_hit)
		return task->calls == target_call && strcmp(task->role, target_role) == 0;
	return is_always && nr == hit_nr;
}

/* What the manual says of these: they always succeed. */
static bool cannot_fail(long nr)
{
	static const long calls[] = { SYS_exit,    SYS_exit_group, SYS_rt_sigreturn,
				      SYS_getpid,  SYS_gettid,     SYS_getppid,
				      SYS_getuid,  SYS_geteuid,    SYS_getgid,
				      SYS_getegid, SYS_umask,      SYS_set_tid_address };

	for (size_t i = 0; i < LEN(calls) && !victims; i++)
		if (nr == calls[i])
			return true;
	return false;
}

static void on_entry(struct task *task, const struct __ptrace_syscall_info *info)
{
	long nr = (long)info->entry.nr;
	char text[128];

	task->calls++;
	if (is_list) {
		find_text(task->pid, info, text, sizeof(text));
		fprintf(report, "call %s:%lu %ld %s %s\n", task->role, task->calls, nr,
			has_started ? "after" : "setup", text);
	}
	if (!is_target(task, nr) || cannot_fail(nr))
		return;
	if (!has_hit) {
		find_text(task->pid, info, text, sizeof(text));
		fprintf(report, "hit %s:%lu %ld %s %s\n", task->role, task->calls, nr,
			has_started ? "after" : "setup", text);
	}
	has_hit = true;
	hit_nr = nr;
	if (victims) {
		kill_victims();
	} else {
		skip_call(task->pid);
		task->is_failing = true;
	}
}

static void on_call(struct task *task)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_entry(task, &info);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && task->is_failing) {
		set_result(task->pid, -target_errno);
		task->is_failing = false;
	}
}

/* ------------------------------------------------------------- processes */

static bool needs_calls(const struct task *task)
{
	if (task->is_failing)
		return true;
	if (!task->is_counted || task->is_program)
		return false;
	return is_list || (has_hit ? is_always : strcmp(task->role, target_role) == 0);
}

static void go_on(const struct task *task, int number)
{
	ptrace(needs_calls(task) ? PTRACE_SYSCALL : PTRACE_CONT, task->pid, NULL,
	       (void *)(long)number);
}

static void on_child(struct task *parent)
{
	unsigned long pid = 0;
	struct task *child;
	bool is_counted = parent->is_counted, is_program = parent->is_program;
	char role[sizeof(parent->role)];

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0)
		return;
	snprintf(role, sizeof(role), "%.36s/%u", parent->role, ++parent->children);
	child = find((pid_t)pid);
	if (!child)
		child = add((pid_t)pid);
	memcpy(child->role, role, sizeof(role));
	child->is_counted = is_counted;
	child->is_program = is_program;
	child->is_placed = true;
	if (child->is_waiting)
		go_on(child, 0);
	child->is_waiting = false;
}

/* One whose parent was killed before it could tell of its child waits for nobody. */
static void place_orphans(void)
{
	for (size_t i = 0; i < task_count; i++) {
		struct task *task = &tasks[i];
		char path[64], line[256] = "", *at;
		FILE *file;

		if (!task->is_waiting)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", task->pid);
		file = fopen(path, "re");
		if (file) {
			if (!fgets(line, sizeof(line), file))
				line[0] = '\0';
			fclose(file);
		}
		at = strrchr(line, ')');
		if (at && find((pid_t)strtol(at + 3, NULL, 10))) /* ") S PARENT" */
			continue;
		strcpy(task->role, "orphan");
		task->is_placed = true;
		task->is_waiting = false;
		go_on(task, 0);
	}
}

static void on_exec(struct task *task)
{
	char path[64], name[512] = "";
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", task->pid);
	n = readlink(path, name, sizeof(name) - 1);
	name[n < 0 ? 0 : n] = '\0';
	if (stat(path, &st) < 0)
		return;
	if (has_begin && st.st_dev == begin_at.st_dev && st.st_ino == begin_at.st_ino)
		task->is_counted = true;
	if (strstr(name, "ringfort-init"))
		task->is_init = true;
	if (has_program && st.st_dev == program_at.st_dev && st.st_ino == program_at.st_ino &&
	    task->is_counted && !task->is_program) {
		task->is_program = true;
		has_started = true;
		fprintf(report, "started %s\n", task->role);
		look(task->pid);
		look_at_groups(task->pid);
		/* Who was killed meanwhile has lost a part of it, and will not take a step. */
		if (readlink(path, name, sizeof(name)) < 0)
			fprintf(report, "doomed %s\n", task->role);
	}
}

/* A process that its own mistake has ended. */
static void note_crash(const struct task *task, int number)
{
	static const int crashes[] = { SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGSYS, SIGTRAP };

	for (size_t i = 0; i < LEN(crashes) && !task->is_program; i++)
		if (number == crashes[i])
			fprintf(report, "crash %s %d\n", task->role, number);
}

static void on_stop(struct task *task, int status)
{
	int event = status >> 16, number = WSTOPSIG(status);

	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE: {
		pid_t pid = task->pid;

		on_child(task);
		go_on(find(pid), 0);
		return;
	}
	case PTRACE_EVENT_EXEC:
		on_exec(task);
		go_on(task, 0);
		return;
	case PTRACE_EVENT_STOP:
		if (number != SIGTRAP) {
			ptrace(PTRACE_LISTEN, task->pid, NULL, NULL);
			return;
		}
		if (task->is_placed)
			go_on(task, 0);
		else
			task->is_waiting = true;
		place_orphans();
		return;
	case 0:
		break;
	default:
		go_on(task, 0);
		return;
	}
	if (number == (SIGTRAP | 0x80)) {
		on_call(task);
		number = 0;
	}
	go_on(task, number);
}

static void name_rest(const char *word)
{
	for (size_t i = 0; i < task_count; i++) {
		char path[64], comm[32] = "?", call[128] = "?";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", tasks[i].pid);
		if ((file = fopen(path, "re"))) {
			if (fgets(comm, sizeof(comm), file))
				comm[strcspn(comm, "\n")] = '\0';
			fclose(file);
		}
		snprintf(path, sizeof(path), "/proc/%d/syscall", tasks[i].pid);
		if ((file = fopen(path, "re"))) {
			if (fgets(call, sizeof(call), file))
				call[strcspn(call, " \n")] = '\0';
			fclose(file);
		}
		fprintf(report, "%s %s %s in call %s\n", word, tasks[i].role, comm, call);
		kill(tasks[i].pid, SIGKILL);
	}
}

static void set_alarm(double seconds)
{
	struct itimerval timer = { .it_value = { (time_t)seconds,
						 (suseconds_t)((seconds - (double)(time_t)seconds) *
							       1e6) },
				   .it_interval = { 0, 200000 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Until everybody is gone.  Returns the command's wait status. */
static int follow(pid_t command, double grace)
{
	double ended = 0;
	int status, result = -1;

	while (task_count > 0) {
		pid_t pid = waitpid(-1, &status, __WALL);
		struct task *task;

		if (has_alarm) {
			name_rest(ended > 0 ? "left" : "hang");
			is_late = true;
			has_alarm = 0;
		}
		if (pid < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		task = find(pid);
		if (!task && WIFSTOPPED(status))
			task = add(pid);
		if (!task)
			continue;
		if (WIFSTOPPED(status)) {
			on_stop(task, status);
			continue;
		}
		if (WIFSIGNALED(status))
			note_crash(task, WTERMSIG(status));
		if (pid == command) {
			result = status;
			ended = now();
			if (!is_late)
				set_alarm(grace);
		}
		forget(task);
		place_orphans();
	}
	if (ended > 0)
		fprintf(report, "rest %.3f\n", now() - ended);
	return result;
}

/* ------------------------------------------------------------- the start */

static pid_t start(char **argv, long uid)
{
	const unsigned options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int gate[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		char go;

		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(99);
		if (uid >= 0 &&
		    (setgroups(0, NULL) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 ||
		     setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0))
			die("setresuid");
		execvp(argv[0], argv);
		die(argv[0]);
	}
	close(gate[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)options) < 0)
		die("ptrace");
	if (write(gate[1], "", 1) != 1)
		die("write");
	close(gate[1]);
	return pid;
}

static void take_target(const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(target_role)) {
		errno = EINVAL;
		die(text);
	}
	memcpy(target_role, text, (size_t)(colon - text));
	target_call = strtoul(colon + 1, NULL, 10);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	double limit = 10, grace = 2;
	struct task *first;
	long uid = -1;
	int option, status;

	while ((option = getopt(argc, argv, "+b:p:n:e:ak:lu:t:g:o:")) != -1) {
		switch (option) {
		case 'b':
			if (stat(optarg, &begin_at) < 0)
				die(optarg);
			has_begin = true;
			break;
		case 'p':
			if (stat(optarg, &program_at) < 0)
				die(optarg);
			has_program = true;
			break;
		case 'n':
			take_target(optarg);
			break;
		case 'e':
			target_errno = atoi(optarg);
			break;
		case 'a':
			is_always = true;
			break;
		case 'k':
			victims = optarg;
			break;
		case 'l':
			is_list = true;
			break;
		case 'u':
			uid = atol(optarg);
			break;
		case 't':
			limit = atof(optarg);
			break;
		case 'g':
			grace = atof(optarg);
			break;
		case 'o':
			report = fopen(optarg, "we");
			break;
		default:
			return 99;
		}
	}
	if (!report || optind == argc)
		return fprintf(stderr, "usage: inject [OPTIONS] -o REPORT -- COMMAND...\n"), 99;
	sigaction(SIGALRM, &action, NULL);
	first = add(start(argv + optind, uid));
	strcpy(first->role, "0");
	first->is_placed = true;
	first->is_counted = !has_begin;
	set_alarm(limit);
	status = follow(first->pid, grace);
	fprintf(report, "end %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fclose(report);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
