"""Further routes out: to files, to processes, into the kernel, and to what is only to be learnt."""
import os
import pathlib
import socket


import pytest

from craft import (HOST, KERNEL, VIEW, Nobody, Open, add, beneath, by_word, dead, heard, begin, launcher_changed,
                   made_device, out, outside_changed, stolen, survives, unshare, without)

# --- files by more routes ---

begin("further routes to files")

for name, path in (("root-dotdot", lambda s: "/../../.." + str(s.canary)),
                   ("self-root", lambda s: "/proc/self/root/../.." + str(s.canary)),
                   ("thread-cwd", lambda s: "/proc/thread-self/cwd/" + beneath(s)),
                   ("slashes", lambda s: "//" + str(s.canary).replace("/", "///./"))):
    add(f"read-{name}", f"read a host file by the way of {name.replace('-', ' ')}", "mounts, landlock",
        "refused ENOENT", VIEW, "read", lambda s, path=path: [path(s)], stolen)
add("read-proc-fd", "read beneath a directory that any process in sight holds open",
    "descriptors closed, pid namespace, hidepid", "refused ENOENT|refused ENOTDIR", HOST, None,
    lambda s: [s.leaked_directory()], stolen)
add("open-mapped", "open a file that any process has mapped, through /proc/PID/map_files", "capabilities",
    "refused EPERM|refused ENOENT", (HOST, KERNEL))
add("read-race", "read through a name that is now a directory, now a link out of the tree", "mounts, landlock",
    "refused ENOENT", VIEW, None, lambda s: [str(s.outside)], stolen)


def moved(scene):
    """A tree that is shown twice: as it is, and only its inner part."""
    outer = scene.outside / "outer"
    (outer / "inner").mkdir(parents=True)
    for path in (outer, outer / "inner"):
        os.chown(path, scene.uid, -1)
        path.chmod(0o777)
    scene.box_options += ["--write", f"{outer}:/mnt/outer", "--write", f"{outer}/inner:/mnt/inner"]
    return ["/mnt/inner", "/mnt/outer", "../../canary"]


class Plain(Nobody):
    """On the host there is one name for each of the two."""

    def run(self, scene, attack, args, options):
        outer = scene.outside / "outer"
        return scene.on_host(attack, str(outer / "inner"), str(outer), "../../canary")

    def __str__(self):
        return "on the host"


add("read-moved", "go up from a directory that was moved out of the shown tree (CVE-2015-2925)", "mounts",
    "refused ENOENT", Plain(""), None, moved, stolen)
for name, what, run, args in (
        ("create", "make a file in a directory of the host", "create", lambda s: [str(s.outside / "planted")]),
        ("overwrite", "overwrite a file of the host", "overwrite", out),
        ("truncate", "truncate a file of the host", "truncate", out),
        ("unlink", "remove a file of the host", "unlink", out),
        ("replace", "put another file in the place of one of the host", "replace", out),
        ("link", "give a file of the host a second name in a writable tree", "hard-link", out)):
    add(f"{name}-outside", what, "mounts, landlock", "refused ENOENT", VIEW, run, args, outside_changed)
add("launcher", "put another program in the launcher's place (CVE-2019-5736)", "mounts, landlock",
    "refused ENOENT", HOST, "replace", lambda s: [s.own_launcher()], launcher_changed)
add("pid-1-program", "put another program in the place of pid 1's", "mounts, landlock", "refused ENOENT", HOST,
    "replace", lambda s: [str(pathlib.Path(s.own_launcher()).parent / "ringfort-init")],
    lambda s, said: (pathlib.Path(s.ringfort).parent / "ringfort-init").read_bytes()[:4] != b"\x7fELF")
add("device-block", "make a node of a disk in a writable host directory", "seccomp, capabilities, landlock, nodev",
    "refused EPERM", (HOST, KERNEL), "block-node", lambda s: ["."], made_device)
add("device-scratch", "make a node of a disk in /tmp", "seccomp, capabilities, landlock, nodev", "refused EPERM",
    Nobody("on the host it would stay in /tmp"), "block-node", lambda s: ["/tmp"])
add("open-shown-device", "open a device node that lies in a shown tree", "nodev", "refused EACCES", HOST,
    "open-devices", lambda s: [s.shown_device()])
DEVICES = ["mem", "kmem", "port", "kmsg", "fuse", "kvm", "net/tun", "vhost-net", "vhost-vsock", "userfaultfd",
           "loop-control", "loop0", "sda", "vda", "nvme0n1", "mapper/control", "uinput", "hpet", "rtc0", "vcs",
           "console", "tty0", "tty1", "autofs", "cuse", "snapshot", "watchdog"]
add("open-devices", "open one of the host's devices: " + ", ".join(DEVICES), "mounts, landlock", "refused ENOENT",
    (HOST, KERNEL), None, lambda s: [f"/dev/{name}" for name in DEVICES])
add("run-setuid", "run a setuid program of root's in a shown tree", "nosuid, no_new_privs", "refused EPERM",
    (Nobody("root has nothing to gain"), HOST), "run-privileged", lambda s: [s.privileged("setuid")])
add("run-capable", "run a program with file capabilities in a shown tree", "nosuid, no_new_privs", "refused EPERM",
    (Nobody("root has nothing to gain"), HOST), "run-privileged", lambda s: [s.privileged("capability")])
add("send-leaked", "speak by a socket that the caller left open", "descriptors closed", "refused EBADF", HOST,
    None, lambda s: s.leaked_socket(), heard)


def errors(scene):
    scene.regular_errors()
    return []


add("read-errors", "read what was in the caller's error file before", "pipes of our own",
    "refused ESPIPE|refused EACCES", HOST, None, errors, stolen)

# --- processes by every call ---

begin("processes by number")

VICTIM = "pid namespace"
for call, what, judge in (
        ("tkill", "end a process of the host by tkill", dead), ("tgkill", "the same by tgkill", dead),
        ("sigqueue", "the same by rt_sigqueueinfo", dead), ("ptrace", "trace a process of the host", by_word),
        ("vm-readv", "read its memory", by_word), ("vm-writev", "write its memory", by_word),
        ("pidfd", "have a descriptor of it", by_word), ("pidfd-getfd", "take a descriptor out of it", by_word),
        ("prlimit", "read its limits", by_word), ("setpriority", "lower its priority", by_word),
        ("setaffinity", "bind it to one processor", by_word), ("getscheduler", "learn how it is scheduled", by_word),
        ("getpgid", "learn its group", by_word), ("getsid", "learn its session", by_word),
        ("ioprio", "let its disk wait", by_word), ("robust-list", "learn an address in it", by_word),
        ("kcmp", "compare it with oneself", by_word), ("move-pages", "move its pages", by_word),
        ("perf", "count its time", by_word), ("clock", "read its processor clock", by_word)):
    add(f"reach-{call}", what, VICTIM, "refused ESRCH|refused EPERM|refused EINVAL", HOST, None,
        lambda s: [s.victim()], judge)
for call, what in (("zombies", "a process with twenty dead children that nobody asks for"),
                   ("vfork", "a process that waits in vfork for a child that stays")):
    add(f"leave-{call}", f"leave {what} behind", "pid namespace", "escaped", HOST, None, lambda s: [s.token],
        survives)
add("hold-capability", "hold a capability in any set, the inheritable one too (CVE-2022-29162, CVE-2022-27650)",
    "identity", "refused ENODATA", (without("identity"), unshare()))
add("oom-shield", "be the last that the kernel ends when memory is short", "capabilities",
    "refused EACCES|refused EPERM",
    Nobody("it takes CAP_SYS_RESOURCE over the machine, which not every root has"), "write-setting", lambda s: ["/proc/self/oom_score_adj", "-999"])

# --- sockets, queues and keys ---

begin("sockets and queues")

for number in range(46):
    if number not in (1, 2, 9, 10, 15, 16, 17, 21, 29, 30, 31, 38, 39, 40, 41, 42, 43, 44):
        add(f"family-{number}", f"have a socket of family {number}", "seccomp", "refused EAFNOSUPPORT",
            without("seccomp"), "socket", lambda s, n=number: [str(n), "2", "0"])
for number in range(1, 23):
    if number not in (4, 6, 9, 12, 15, 16, 21):
        add(f"netlink-{number}", f"have a netlink socket of kind {number}", "seccomp", "refused EAFNOSUPPORT",
            without("seccomp"), "socket", lambda s, n=number: ["16", "3", str(n)])
add("sweep-sockets", "have any socket but TCP, UDP and routes: 64 families, 12 types, 264 protocols, high bits",
    "seccomp", "refused EAFNOSUPPORT|refused EPERM", without("seccomp"))
add("add-interface", "make a network interface", "capabilities", "refused EPERM|refused EAFNOSUPPORT",
    unshare("--net"))


def inet6(scene):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.bind(("::1", 0))
    except OSError:
        sock.close()
        pytest.skip("this machine has no IPv6 loopback")
    scene.serve(sock)
    return ["tcp", "::1", str(sock.getsockname()[1])]


def address(scene):
    """A port on an address of the host that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address")
        found = probe.getsockname()[0]
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.bind((found, 0))
    scene.serve(sock)
    return ["tcp", found, str(sock.getsockname()[1])]


NET_HOST = Open(["--net", "host"])
UNREACHED = "refused ECONNREFUSED|refused ENETUNREACH|refused EADDRNOTAVAIL|refused EPERM"
add("tcp-ipv6", "talk to a TCP port of the host's loopback over IPv6", "network namespace", UNREACHED, NET_HOST,
    "talk", inet6, heard)
add("tcp-address", "talk to a TCP port on another address of the host", "network namespace", UNREACHED, NET_HOST,
    "talk", address, heard)
add("unix-datagram", "send a datagram to a unix socket of the host in a shown tree", "seccomp",
    "refused EAFNOSUPPORT", HOST, None, lambda s: [s.datagrams(s.read_only().parent / "socket")], heard)
add("scm-rights", "be given a directory by a process of the host, over a socket in a shown tree", "seccomp",
    "refused EAFNOSUPPORT", HOST, "receive-directory", lambda s: s.giver(s.read_only().parent / "socket"), stolen)


def shared_file(scene):
    path = pathlib.Path("/dev/shm") / scene.token
    scene.stack.callback(path.unlink)
    return [str(scene.file(path, scene.secret))]


add("posix-memory", "read the host's POSIX shared memory", "mounts, landlock", "refused ENOENT", VIEW, "read",
    shared_file, stolen)
add("sysv-list", "list the host's System V shared memory", "ipc namespace", "refused ENODATA", HOST,
    "search-file", lambda s: ["/proc/sysvipc/shm", f" {s.sysv_memory()} "])
add("unix-list", "list the host's unix sockets", "network namespace", "refused ENODATA", HOST, "search-file",
    lambda s: ["/proc/net/unix", s.unix("\0" + s.token)])
add("tcp-list", "list the host's TCP ports", "network namespace", "refused ENODATA", HOST, "search-file",
    lambda s: ["/proc/net/tcp", f":{int(s.inet(socket.SOCK_STREAM)[2]):04X} "])
add("request-key", "have the kernel ask a program of the host for a key", "seccomp", "refused ENOSYS",
    without("seccomp"))

# --- the kernel, once more ---

begin("further kernel surface")

ROOT_ONLY = (without("seccomp", "identity"), KERNEL)
for call, what, expect, control in (
        ("finit-module", "load a module from a file (that is none)", "refused EPERM", ROOT_ONLY),
        ("delete-module", "unload a module (that is none)", "refused EPERM", ROOT_ONLY),
        ("kexec-file", "load another kernel from a file (that is none)", "refused EPERM", ROOT_ONLY),
        ("swapoff", "swap off (a file that is not there)", "refused EPERM", ROOT_ONLY),
        ("quotactl-fd", "talk to disk quotas by a descriptor", "refused EPERM", without("seccomp")),
        ("clock-adjtime", "open a clock's adjustment", "refused EPERM", without("seccomp")),
        ("vhangup", "hang up the terminal", "refused EPERM", (unshare(), KERNEL)),
        ("memfd-secret", "have memory that the kernel can't look at", "refused EPERM", without("seccomp")),
        ("fanotify-mark", "mark a file system to be watched (by no descriptor)", "refused EPERM", without("seccomp")),
        ("io-uring-enter", "enter an io_uring (that is none)", "refused ENOSYS", without("seccomp")),
        ("io-uring-register", "register with an io_uring (that is none)", "refused ENOSYS", without("seccomp")),
        ("run-32-bit", "run a program for the 32-bit machine", "killed SIGSYS", without("seccomp"))):
    add(call, what, "seccomp", expect, control)
add("setdomainname", "rename the host's domain", "seccomp, capabilities, uts namespace", "refused EPERM",
    unshare("--uts"), None, lambda s: [s.token])
BARE = unshare("--mount")
add("mount-overlay", "lay a writable view over a tree (CVE-2023-0386)", "seccomp, capabilities, landlock",
    "refused EPERM", BARE, None, lambda s: ["/usr"])
add("mount-cgroup-v1", "mount a cgroup tree of version 1, whose release agent runs on the host (CVE-2022-0492)",
    "seccomp, capabilities, landlock", "refused EPERM", (unshare("--mount", "--cgroup"), KERNEL), "mount",
    lambda s: ["cgroup", "memory"])
for kind_of, control in (("binfmt_misc", BARE), ("devpts", BARE), ("mqueue", unshare("--mount", "--ipc")),
                         ("sysfs", unshare("--mount", "--net")), ("ramfs", BARE),
                         ("debugfs", (BARE, KERNEL)), ("securityfs", (BARE, KERNEL)), ("bpf", (BARE, KERNEL))):
    add(f"mount-{kind_of.replace('_', '-')}", f"mount {kind_of}", "seccomp, capabilities, landlock", "refused EPERM",
        control, "mount", lambda s, kind_of=kind_of: [kind_of])
for call, what in (("fsconfig", "configure a file system by the new mount API"),
                   ("fsmount", "mount it"), ("open-tree-attr", "copy a mount with other attributes"),
                   ("listmount", "list mounts by number")):
    add(call, what, "seccomp, capabilities", "refused EPERM", BARE, None, lambda s: ["/"])
for name, path in (("uevent-helper", "/sys/kernel/uevent_helper"), ("modprobe", "/proc/sys/kernel/modprobe"),
                   ("binfmt", "/proc/sys/fs/binfmt_misc/register"), ("hotplug", "/proc/sys/kernel/hotplug"),
                   ("helper-rights", "/proc/sys/kernel/usermodehelper/bset"),
                   ("suid-dumpable", "/proc/sys/fs/suid_dumpable"), ("drop-caches", "/proc/sys/vm/drop_caches"),
                   ("panic", "/proc/sys/kernel/panic"), ("sysrq", "/proc/sys/kernel/sysrq"),
                   ("kptr", "/proc/sys/kernel/kptr_restrict"), ("mtrr", "/proc/mtrr")):
    add(f"setting-{name}", f"open {path} for writing", "mounts, capabilities",
        "refused EROFS|refused EACCES|refused EPERM|refused ENXIO|refused ENOENT", (HOST, KERNEL), "open-setting",
        lambda s, path=path: [s.need(path)])


def terminal(scene):
    scene.tty()
    return []


add("tioclinux-high", "paste into the caller's console, with a high bit in the request",
    "pipes of our own, own session, seccomp", "refused EPERM", HOST, None, terminal)

# --- what is only to be learnt ---

begin("facts of the host")

PASS = Open(["--pass", "RF_CANARY"])
add("search-memory", "find a secret of the caller's environment in one's own memory", "clean environment",
    "refused ENODATA", PASS, None, lambda s: s.raised())
add("search-environments", "find it in the environment of any process", "clean environment, hidepid",
    "refused ENODATA", PASS, None, lambda s: s.raised())
add("time-path", "tell by the time an answer takes whether a deep path of the host is there", "mounts",
    "refused ENODATA", HOST, None, lambda s: s.deep())
add("watch-host", "hear of what others do with the host's files", "mounts, landlock", "refused ENOENT", VIEW, "watch",
    lambda s: [str(s.outside)])
add("space-host", "learn how full the host's file system is", "mounts", "refused ENOENT", VIEW, "ask-space",
    lambda s: [str(s.outside)])
add("look-host", "learn a host file's size, mode and times", "mounts", "refused ENOENT", VIEW, "look", out)
add("list-host", "list a directory of the host", "mounts, landlock", "refused ENOENT", VIEW, "list",
    lambda s: [str(s.outside)])
add("page-frame", "learn where in the machine's memory a page lies", "capabilities", "refused ENODATA|refused EPERM",
    (HOST, KERNEL))
add("host-mounts", "learn that the host has mounted its cgroups", "mounts", "refused ENODATA", HOST, "search-file",
    lambda s: ["/proc/self/mountinfo", " /sys/fs/cgroup"])


def own_group(scene):
    groups = [line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
    deep = [group for group in groups if group != "/"]
    if not deep:
        pytest.skip("the suite runs in the topmost groups, whose name says nothing")
    return ["/proc/self/cgroup", deep[0]]


add("group-path", "learn in which groups of the host it runs", "cgroup namespace", "refused ENODATA", HOST,
    "search-file", own_group)
for name, path in (("machine-id", "/etc/machine-id"), ("shadow", "/etc/shadow"),
                   ("fstab", "/etc/fstab"), ("authorized-keys", "/root/.ssh/authorized_keys")):
    add(f"read-{name}", f"read {path}", "mounts, landlock", "refused ENOENT",
        HOST if path in ("/etc/machine-id", "/etc/fstab") else (HOST, KERNEL), "read",
        lambda s, path=path: [s.need(path)])
add("host-users", "learn the host's users", "an /etc of the box's own", "refused ENODATA", HOST, "search-file",
    lambda s: ["/etc/passwd", "daemon:"])
add("kernel-command-line", "learn how the kernel was started", "mounts (masks)", "refused ENODATA", HOST, "read",
    lambda s: ["/proc/cmdline"])
add("kernel-setting-host", "learn the host's name in /proc/sys", "uts namespace", "refused ENODATA", HOST,
    "search-file", lambda s: ["/proc/sys/kernel/hostname", socket.gethostname()])
