/*
 * The system calls without which no box comes to life: what the launcher's child does behind the
 * filter on its way to pid 1, and what pid 1 itself does.
 *
 * A profile that refuses one of them refuses every box, so that is said before anything is started.
 * CALL(name) is needed with whatever arguments, CALL_WITH(name, first) with this first one.  A test
 * compares the list with the calls in src/init, and runs a box that may do nothing else.  What pid 1 can do without is not in it: socket() and
 * connect(), by which it reaches a port inside for who asks.
 */
#ifndef RF_INIT_NEEDS_H
#define RF_INIT_NEEDS_H

/* The launcher's child: descriptors put in order, their limit, the directory, the exec of pid 1. */
#define RF_NEEDS_CHILD(CALL, CALL_WITH)                                                            \
	CALL(fcntl)                                                                                \
	RF_NEEDS_DUP(CALL)                                                                         \
	CALL(clock_gettime)                                                                        \
	CALL(close_range)                                                                          \
	CALL(prlimit64)                                                                            \
	CALL(chdir)                                                                                \
	CALL(execveat)

/* Pid 1, its proof, and the program's exec. */
#define RF_NEEDS_INIT(CALL, CALL_WITH)                                                             \
	CALL_WITH(prctl, PR_SET_DUMPABLE)                                                          \
	CALL_WITH(prctl, PR_SET_PDEATHSIG)                                                         \
	CALL_WITH(prctl, PR_CAPBSET_READ)                                                          \
	CALL_WITH(prctl, PR_GET_NO_NEW_PRIVS)                                                      \
	CALL_WITH(clone, RF_NEEDS_CLONE)                                                           \
	CALL_WITH(fcntl, RF_ORDERS_FD)                                                             \
	CALL_WITH(rt_sigprocmask, SIG_SETMASK)                                                     \
	CALL_WITH(recvfrom, RF_ORDERS_FD)                                                          \
	CALL_WITH(sendto, RF_ORDERS_FD)                                                            \
	CALL(setsid)                                                                               \
	CALL(rt_sigaction)                                                                         \
	CALL_WITH(sched_setaffinity, 0)                                                            \
	CALL(openat)                                                                               \
	CALL(getdents64)                                                                           \
	CALL(close)                                                                                \
	CALL(fstat)                                                                                \
	CALL(newfstatat)                                                                           \
	CALL(getcwd)                                                                               \
	CALL(getresuid)                                                                            \
	CALL(getresgid)                                                                            \
	CALL(capget)                                                                               \
	CALL_WITH(getsid, 0)                                                                       \
	CALL(getpid)                                                                               \
	CALL_WITH(prlimit64, 0)                                                                    \
	CALL(execve)                                                                               \
	CALL(statfs)                                                                               \
	CALL(ppoll)                                                                                \
	CALL(clock_gettime)                                                                        \
	CALL(rt_sigtimedwait)                                                                      \
	CALL(kill)                                                                                 \
	CALL(wait4)                                                                                \
	CALL(exit_group)

/* Besides, in a box with a terminal of its own: opened, handed out, and taken. */
#define RF_NEEDS_TERMINAL(CALL, CALL_WITH)                                                         \
	RF_NEEDS_OPEN(CALL)                                                                        \
	CALL(ioctl)                                                                                \
	CALL(sendmsg)

/* Besides, in a box that was built ahead of its program, or is kept for many.  None of those has a profile of its own. */
#define RF_NEEDS_AHEAD(CALL, CALL_WITH)                                                            \
	CALL_WITH(recvmsg, RF_ORDERS_FD)                                                           \
	CALL(futex)                                                                                \
	CALL(waitid)                                                                               \
	CALL(dup3)                                                                                 \
	CALL(umask)

/* Besides, in a lesser box, whose pid 1 raises the last wall itself. */
#define RF_NEEDS_LESSER(CALL, CALL_WITH)                                                           \
	CALL(read)                                                                                 \
	CALL(getppid)                                                                              \
	CALL(landlock_restrict_self)

/* Not needed by any box: by it pid 1 says that it was started as somebody's program. */
#define RF_NEEDS_STRAY(CALL, CALL_WITH) CALL(write)

#ifdef __x86_64__
#define RF_NEEDS_DUP(CALL)  CALL(dup2)
#define RF_NEEDS_OPEN(CALL) CALL(open) /* as the launcher's libc spells it */
#else
#define RF_NEEDS_DUP(CALL) CALL(dup3)
#define RF_NEEDS_OPEN(CALL)
#endif
#define RF_NEEDS_CLONE 0x4111 /* SYS_VFORK_FLAGS of sys.h */

#endif
