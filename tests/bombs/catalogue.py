"""Every bomb: what it takes, which limit it meets, and how it must end, in each kind of box.

The modes:

    root          root's boxes: cgroups keep memory, processes and processor share ("hard")
    user          an ordinary user's without a delegated group: memory is sampled
    warden        root's boxes, made by a warden that stands
    warden-user   an ordinary user's, made by a warden of theirs
    lesser-root   a lesser box of root's: no namespaces, but cgroups
    lesser        a lesser box of an ordinary user's

An ending is a set of words: "memory", "cpu", "timeout", "output" (killed for that limit, and all dead
soon after), "refused ENOSPC" (the kernel says no, and the bomb gives up), "kept" (it goes on, within
its limit: the kernel takes back what it can).  None: it is not tried there.  NotHeld says that the
limit does not hold, and why; the suite insists on that too, so that a limit that begins to hold is
noticed.
"""
import collections
import os

MIB = 2**20
MODES = ("root", "user", "warden", "warden-user", "lesser-root", "lesser")
HARD = ("root", "warden", "lesser-root")  # where a cgroup keeps memory

NotHeld = collections.namedtuple("NotHeld", "why")
Bomb = collections.namedtuple("Bomb", "name takes limit_name options limit cap ends is_exact")

# The most that a host's memory may fall by beyond the limit, where the limit is graded hard.
SLACK = 16 * MIB
# How much slower than ours a machine is: one that is emulated, and told so by tests/vm.
SLOW = int(os.environ.get("RINGFORT_SLOW", "1"))
# All of a bomb is dead so soon after its limit was reached.
DEATH_MS = 100 * SLOW
# What a bomb has to reach a limit other than time.
PATIENCE = f"{20 * SLOW}s"

# --- why a limit does not hold ---

UNSEEN = NotHeld("only a cgroup counts memory that the kernel holds for a program")
UNMAPPED = NotHeld("pages that no process has mapped any more belong to nobody whom the sampler could ask")
# Version 1 of cgroups counts sockets' buffers apart from memory, and not all of them.
IS_V1 = not os.path.exists("/sys/fs/cgroup/cgroup.controllers")
FIRST_PAGES = NotHeld("version 1 of cgroups lets every connection have its first pages, whatever the limit") \
    if IS_V1 else ("memory", "refused EMFILE")
JIT = NotHeld("no cgroup counts the machine code that the kernel makes of filters")
UNCOUNTED = NotHeld("no cgroup of this kernel counts locks, and no resource limit does")
NO_DISK = NotHeld("a lesser box has no file system of its own: it lacks limits on disk and inodes")
SHOWN = NotHeld("limits on disk and inodes are the scratch space's; a shown tree is the host's")

BOMBS = []


def add(name, takes, limit_name, options, limit, ends, cap=None, **others):
    """`ends` is for root; others (user, lesser, lesser_root) as they differ."""
    user = others.get("user", ends)
    is_exact = others.get("is_exact", True)
    BOMBS.append(Bomb(name, takes, limit_name, options, limit, cap or 3 * limit, {
        "root": ends, "user": user, "warden": ends, "warden-user": user, "lesser-root": others.get("lesser_root", ends),
        "lesser": others.get("lesser", user)}, is_exact))


def refused(*errors):
    return {f"refused {error}" for error in errors}


# --- memory ---

def memory(name, takes, ends=("memory",), **more):
    options = ["--memory", "32M", "--disk", "1G", "--inodes", "1000000", "--time", PATIENCE, "--cpu-time", "none"]
    ends = ends if isinstance(ends, NotHeld) else set(ends)
    add(name, takes, "memory 32M", options, 32 * MIB, ends, **more)


PERM, NOSYS, ACCES = refused("EPERM"), refused("ENOSYS"), refused("EACCES")
NO_FAMILY = refused("EAFNOSUPPORT")

memory("anonymous", "anonymous memory")
memory("anonymous-many", "anonymous memory, in eight processes, of which the dead are replaced")
memory("hopping", "the same, by a process that others have left in their place")
memory("huge-pages", "anonymous memory, two megabytes a fault")
memory("huge-pages-many", "the same in eight processes")
memory("heap", "the heap")
memory("private-file", "pages of a file, written to privately")
memory("copy-on-write", "pages of its parent's, written to in each child")
memory("shared", "shared anonymous memory")
memory("shared-unmapped", "the same, unmapped again but for a page", user=UNMAPPED)
memory("tmp-file", "a file in /tmp", lesser={"kept"}, lesser_root={"kept"})
memory("shm-file", "a file in /dev/shm", lesser=ACCES, lesser_root=ACCES)
memory("shm-allocated", "space of a file in /dev/shm that is claimed and never written", lesser=ACCES,
       lesser_root=ACCES)
memory("memfd", "a file without a name", user=NOSYS)
memory("sysv-attached", "System V shared memory", user=PERM, lesser_root=PERM)
memory("sysv-detached", "the same, detached again", user=PERM, lesser_root=PERM)

# --- buffers ---

memory("pipes", "bytes in pipes, in 24 processes", user=UNSEEN)
memory("unix-streams", "bytes in unix sockets, in eight processes", user=UNSEEN)
memory("unix-packets", "datagrams in unix sockets", user=UNSEEN)
memory("unix-crumbs", "messages of one byte in unix sockets", user=UNSEEN)
memory("tcp", "bytes in TCP connections of its own loopback", FIRST_PAGES, user=UNSEEN, lesser=NO_FAMILY,
       lesser_root=NO_FAMILY)
memory("udp", "datagrams on its own loopback", ("memory", "refused EMFILE"), user=UNSEEN, lesser=NO_FAMILY,
       lesser_root=NO_FAMILY)
memory("sysv-messages", "messages in System V queues", user=NOSYS, lesser=PERM, lesser_root=PERM)

# --- objects of the kernel's: what one costs is an estimate ---

def objects(name, takes, ends=("memory",), **more):
    memory(name, takes, ends, is_exact=False, **more)


objects("page-tables", "page tables of memory that is only read")
objects("mappings", "small mappings, in 16 processes", user=UNSEEN)
objects("seccomp-filters", "system call filters, in 200 processes", JIT, user=UNSEEN,
        cap=48 * MIB)
objects("eventfds", "eventfds, in 200 processes")
objects("timerfds", "timers by descriptor, in 200 processes")
objects("signalfds", "signals by descriptor, in 200 processes")
objects("sockets", "unix sockets with nothing in them, in 64 processes")
objects("pipes-empty", "pipes with nothing in them, in 200 processes")
objects("epoll-watches", "watches of epoll's, in eight processes", user=UNSEEN)
objects("file-locks", "locks on bytes of files, in eight processes", UNCOUNTED)
objects("sysv-semaphores", "System V semaphores", user=NOSYS, lesser=PERM, lesser_root=PERM)
objects("landlock-rules", "rules of Landlock's that are never put to use", user=UNSEEN)

# --- names ---

objects("file-memory", "empty files in scratch space: what the kernel keeps of each", lesser=None,
        lesser_root=None)
objects("long-names", "the same with names of 245 bytes", lesser=None, lesser_root=None)
objects("symlinks", "symbolic links whose target lies in the kernel's memory", lesser=None,
        lesser_root=None)
objects("attributes", "extended attributes of a file in scratch space", lesser=refused("EOPNOTSUPP"),
        lesser_root=refused("EOPNOTSUPP"))
objects("missing-names", "names that are not there, which the kernel remembers", ("kept",))

# --- what small fixed limits hold ---

add("fds-in-flight", "descriptors under way in sockets, which no process has open", "open files 1024",
    ["--open-files", "1024", "--time", PATIENCE], 8 * 1024 * 512, refused("ETOOMANYREFS"),
    cap=8 * MIB)
add("posix-timers", "POSIX timers", "4096 pending signals", ["--time", PATIENCE], 4200 * 448,
    refused("EAGAIN"))
add("signal-queue", "queued signals", "4096 pending signals", ["--time", PATIENCE], 4200 * 80,
    refused("EAGAIN"))
add("inotify", "inotify instances", "the kernel's own, by uid", ["--time", PATIENCE], 64 * 1024,
    refused("EMFILE"), cap=120 * 1024, lesser=NOSYS, lesser_root=NOSYS)
add("posix-queues", "POSIX message queues", "none are given", ["--time", PATIENCE], 100 * 1024,
    refused("EACCES", "ENOSYS"), cap=500 * 1024, lesser=refused("EPERM", "ENOSYS"),
    lesser_root=refused("EPERM", "ENOSYS"))

# --- disk ---

DISK = ["--disk", "8M", "--memory", "256M", "--time", PATIENCE]
INODES = ["--inodes", "500", "--memory", "256M", "--time", PATIENCE]
NOSPC = refused("ENOSPC")
LIMITLESS = {"lesser": NO_DISK, "lesser_root": NO_DISK}

add("space", "scratch space, in files of a megabyte", "disk 8M", DISK, 8 * MIB, NOSPC, **LIMITLESS)
add("scattered-bytes", "scratch space, a byte in every half megabyte of a file", "disk 8M", DISK, 8 * MIB,
    NOSPC, **LIMITLESS)
add("one-file", "one file that grows", "file size 4M", ["--file-size", "4M", *DISK], 4 * MIB,
    refused("EFBIG"))
add("sparse-file", "one file's size, with nothing in it", "file size 4M", ["--file-size", "4M", *DISK],
    4 * MIB, refused("EFBIG"))
add("files", "files in one folder", "inodes 500", INODES, 500, NOSPC, **LIMITLESS)
add("deep-folders", "folders within folders", "inodes 500", INODES, 500, NOSPC, cap=2500, **LIMITLESS)
add("hard-links", "names of one file", "inodes 500", INODES, 500, NOSPC, **LIMITLESS)
add("space-shown", "space of a tree that it may write", "disk 8M", DISK, 8 * MIB, SHOWN)
add("space-claimed", "space of a tree that it may write, claimed and never written", "disk 8M", DISK, 8 * MIB,
    refused("EOPNOTSUPP"))
add("files-shown", "files in a tree that it may write", "inodes 500", INODES, 500, SHOWN)

# --- tasks ---

PIDS = ["--pids", "40", "--time", "1s", "--memory", "256M"]

add("forks", "processes: each makes as many as it can, for ever", "pids 40, time 1s", PIDS, 40,
    {"timeout"}, cap=120)
add("orphans", "processes without a parent, in sessions of their own, deaf to signals",
    "pids 40, time 1s", PIDS, 40, {"timeout"}, cap=120)
add("zombies", "dead processes that nobody asks for", "pids 40", PIDS, 40, refused("EAGAIN"), cap=120)
add("threads", "threads", "pids 40", PIDS, 40, refused("EAGAIN"), cap=120)

# --- processor time ---

CPU = ["--cpu-time", "500ms", "--time", PATIENCE, "--memory", "256M"]


def burn(name, takes):
    add(name, takes, "cpu time 500ms", CPU, 500_000_000, {"cpu"})


burn("spin", "processor time, in 32 processes")
burn("spin-threads", "the same in 64 threads")
burn("spin-nice", "the same, at the highest priority it can get")
burn("spin-realtime", "the same, at a realtime priority if it can get one")
burn("spin-yield", "the same, giving way all the time")
burn("spin-membarrier", "the same, interrupting other processors")
burn("spin-mappings", "the same, changing mappings that threads share")
burn("churn", "processes that come and go, in 16 families")

# --- output ---

OUTPUT = ["--output", "1M", "--time", PATIENCE]

add("output", "standard output", "output 1M", OUTPUT, MIB, {"output"}, cap=4 * MIB)
add("errors", "standard error", "output 1M", OUTPUT, MIB, {"output"}, cap=4 * MIB)
add("both-outputs", "both, from four processes", "output 1M", OUTPUT, MIB, {"output"}, cap=4 * MIB)

BY_NAME = {bomb.name: bomb for bomb in BOMBS}

# What `make check` sets off: one of each sort.
FEW = ["anonymous-many", "huge-pages", "copy-on-write", "shm-file", "memfd", "pipes", "tcp", "mappings",
       "file-memory", "deep-folders", "space", "forks", "orphans", "threads", "spin", "output"]
FEWER = ["anonymous-many", "deep-folders", "forks", "spin", "output"]
