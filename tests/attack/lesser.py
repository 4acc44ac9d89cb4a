"""What a lesser box promises: the catalogue's attacks bounce off it too, and some that only it has to
fear, but for what it does not promise.

Run as a program, it prints the tables of docs/lesser-box.md.
"""
import contextlib
import os
import pathlib

from catalogue import (ATTACKS, HOST, KNOWN, Attack, Nobody, by_word, dead, shown_changed,
                       without)

# --- judges ---

LONG_AGO = 1000000


def mode_changed(scene, said):
    return scene.canary.stat().st_mode & 0o777 != 0o666


def times_changed(scene, said):
    return scene.canary.stat().st_mtime == LONG_AGO


def shown_times_changed(scene, said):
    return (scene.shown / "canary").stat().st_mtime == LONG_AGO


def attribute_made(path):
    return lambda scene, said: "user.planted" in os.listxattr(path(scene))


def emptied(scene, said):
    return (scene.shown / "canary").stat().st_size == 0


def looked(scene, said):
    return said.loot == str(len(scene.secret))


def listed(scene, said):
    return said.loot in {path.name for path in scene.outside.iterdir()}


def limited(scene, said):
    limits = pathlib.Path(f"/proc/{scene.prey.pid}/limits").read_text()
    return any(line.split()[3] == "3" for line in limits.split("\n") if "open files" in line)


def slowed(scene, said):
    return os.getpriority(os.PRIO_PROCESS, scene.prey.pid) != os.getpriority(os.PRIO_PROCESS, 0)


def bound(scene, said):
    return os.sched_getaffinity(scene.prey.pid) != os.sched_getaffinity(0)


def idled(scene, said):
    return os.sched_getscheduler(scene.prey.pid) == os.SCHED_IDLE


# --- the table ---

ALONE = []


def add(name, tries, stops, args, judge=by_word, run=None, control=HOST, options=()):
    ALONE.append(Attack("a lesser box alone", name, tries, stops, "", control, run or name, args, judge, list(options)))


def out(scene):
    return [str(scene.canary)]


def shown(scene):
    return [str(scene.read_only())]


def prey(scene):
    return [scene.victim()]


add("mode-outside", "change the mode of a file of the same user", "seccomp, deputy", out,
    mode_changed, "change-mode")
add("mode-shown", "change the mode of a file that is only read, by an open descriptor",
    "seccomp, deputy", shown, shown_changed, "mode-by-descriptor")
add("mode-by-name-only", "the same by a descriptor opened for its name only", "seccomp, deputy", out,
    mode_changed)
add("mode-by-link", "the same by a link in a writable directory", "seccomp, deputy", out, mode_changed)
add("mode-by-race", "the same by a file that becomes a link while the deputy looks",
    "the deputy looks once", out, mode_changed, control=Nobody("a race that nothing decides"))
add("times-outside", "change the times of a file of the same user", "seccomp, deputy", out,
    times_changed, "times-by-path")
add("times-shown", "the same of a file that is only read, by an open descriptor", "seccomp, deputy",
    shown, shown_times_changed, "times-by-descriptor")
add("owner-outside", "change the group of a file of the same user", "seccomp", out, by_word, "owner")
add("attribute-outside", "give a file of the same user an attribute", "seccomp", out,
    attribute_made(lambda s: s.canary), "attribute")
add("attribute-shown", "the same of a file that is only read, by an open descriptor", "seccomp", shown,
    attribute_made(lambda s: s.shown / "canary"), "attribute-by-descriptor")
add("flags-shown", "change the flags of a file that is only read, by an open descriptor", "seccomp",
    shown, by_word, "flags-by-descriptor")
add("empty-shown", "empty a file that is only read, by opening it for reading", "landlock (ABI 3)",
    shown, emptied, "empty-by-reading")
add("list-outside", "list a directory of the host", "landlock", lambda s: [str(s.outside)], listed,
    "list")
add("look-outside", "learn a file's size, mode and times by its path", "nothing", out, looked, "look")
add("watch-outside", "hear of what others do with the host's files", "seccomp",
    lambda s: [str(s.outside)], by_word, "watch")
add("limit-other", "lower the limits of another process of the same user", "seccomp", prey, limited)
add("nice-other", "lower the priority of another process of the same user", "seccomp", prey, slowed)
add("nice-user", "lower the priority of all processes of the same user", "seccomp",
    lambda s: [], by_word, control=Nobody("it would slow the tests for good"))
add("bind-other", "bind another process of the same user to one processor", "seccomp", prey, bound)
add("schedule-other", "let another process of the same user wait for all others", "seccomp", prey,
    idled)
add("signal-pidfd", "end another process of the same user by a pidfd", "landlock (scope)", prey, dead,
    "signal-by-pidfd")
add("signal-owner", "let the kernel end it, as the owner of a pipe of ours", "landlock (scope)", prey,
    dead, "signal-by-owner")
add("signal-pid-1", "reach pid 1 of the box, which ends all others at the end",
    "landlock (the program's domain lies within pid 1's)", lambda s: [], by_word, "signal-starter",
    without("landlock"))
for name in ("environ", "maps", "mem", "cmdline", "status", "root/etc/hostname", "cwd/canary"):
    add(f"proc-{name.partition('/')[0]}", f"read /proc/PID/{name} of another process", "landlock",
        lambda s, name=name: [f"/proc/{s.victim()}/{name}"], by_word, "read",
        HOST if name in ("environ", "maps", "cmdline", "status") else Nobody("it is not there"))

# What a lesser box does not promise: an attack gets through, and the words of `missing` that say so.
NOT_PROMISED = {
    "look-outside": "hidden names",
    "look-host": "hidden names",
    "space-host": "hidden names",
    "time-path": "hidden names",
    "read-hostname": "a host name of its own",
    "kernel-setting-host": "a host name of its own",
    "host-users": "a private /etc",
    "open-shown-device": "namespaces of its own",
    **{f"reach-{call}": "namespaces of its own" for call in ("pidfd", "getscheduler", "getpgid", "getsid",
                                                             "clock")},
    **{attack.name: "hidden credentials" for attack in ATTACKS if attack.name.startswith("credential-")},
}
# Where root's own directory is written, the program is root, without capabilities.
NOT_PROMISED_TO_ROOT = {
    "be-root": "a uid of its own",
    "run-setuid": "a uid of its own",
}

WHOLE = [*ATTACKS, *ALONE]


def promise_of(attack):
    if attack.name in KNOWN:
        return "no, nor does a full box"
    if attack.name in NOT_PROMISED:
        return f"no: it lacks {NOT_PROMISED[attack.name]}"
    if attack.name in NOT_PROMISED_TO_ROOT:
        return f"yes; as root, where it lacks {NOT_PROMISED_TO_ROOT[attack.name]}, no"
    return "yes"


def table():
    lines = ["| attack | what it tries | what stops it | control |", "|---|---|---|---|"]
    lines += [f"| {a.name} | {a.tries} | {a.walls} | {a.control} |" for a in ALONE]
    return "\n".join(lines)


def exceptions():
    lines = ["| attack | what it tries | bounces |", "|---|---|---|"]
    lines += [f"| {a.name} | {a.tries} | {promise_of(a)} |" for a in WHOLE if promise_of(a) != "yes"]
    return "\n".join(lines)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        print(table(), exceptions(), sep="\n\n")
