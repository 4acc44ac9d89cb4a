"""The calls that the default filter allows although no measured program made them, and why.

One reason a row.  `measure` prints them into docs/seccomp.md, and a test compares them with the table
of calls: a call that is allowed was seen at work, or stands here.
"""

KEPT = {
    "other libcs and older ones spell it so: musl's fork, raise and select, static binaries, Go before 1.21":
        "fork pipe select time tkill utime utimes lchown setrlimit faccessat",
    "the kernel's own code for the caller answers it as a rule, and makes the call where a clock or a processor can't be read so":
        "getcpu",
    "glibc from 2.39 on changes modes of links with it":
        "fchmodat2",
    "POSIX: the other half of a pair of which one was measured":
        "getitimer getsid munlock preadv semop",
    "timers as descriptors: event loops of C++, Rust and systemd's libraries, Python from 3.13 on":
        "timerfd_create timerfd_settime timerfd_gettime",
    "barriers among threads: .NET, liburcu, Java's collectors":
        "membarrier",
    "is a page there: Java looks at its first thread's stack so, libunwind before it follows a pointer":
        "mincore",
    "V8 guards its code pages with keys, on processors that have them":
        "pkey_mprotect pkey_free",
    "QUIC libraries receive with it, and not all fall back":
        "recvmmsg",
    "cp -a, rsync -X and tar --xattrs keep attributes with them":
        "lsetxattr removexattr lremovexattr fremovexattr",
    "a daemon gives up what it has before it works; here it has nothing, and the call says so":
        "setgroups setregid setreuid",
    "a program walls itself in: xz from 5.6 on, agents' own sandboxes":
        "landlock_add_rule landlock_restrict_self",
    "pid 1 of a box starts programs with it, and fexecve() does":
        "execveat",
    "a thread with files of its own (CLONE_FILES, CLONE_FS); a new namespace is refused":
        "unshare",
}


def reasons():
    """Each call's reason."""
    return {call: why for why, calls in KEPT.items() for call in calls.split()}
