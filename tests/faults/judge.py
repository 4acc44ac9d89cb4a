"""What became of a run with a fault in it: were all walls there, and did it say so?

A reference, the same run without a fault, says what the walls are.  `facts()` reduces what inject saw of the
program at its start, and what the program itself found, to what is the same in every run; `weaknesses()` are
the facts that differ, without those that the result owns up to.

    refused      nothing was started, and the error says why
    stood        it ran with all walls, as if nothing had been
    graded       it ran with all walls, and a limit has another keeper than a control group: the result says so
    said         it ran with a wall less, as its policy allows (weaker: allow), and the result says which
    ended        it was started with all walls, and then ended: the error says why
    unreached    the run went another way and did not make this call
    FAILED       anything else
"""
import collections
import os
import re

Verdict = collections.namedtuple("Verdict", "kind story")

KINDS = ["refused", "stood", "graded", "said", "ended", "unreached", "FAILED"]
STATUS = ["Umask", "Uid", "Gid", "Groups", "NSpid", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd",
          "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Threads"]
NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
FIRST_BOX_UID = 0x70000000

# Facts that a control group's absence changes, by the limit whose grade must then be less than hard.
OF_LIMIT = {
    "memory": re.compile(r"group memory|limits of memory\.|limit data size|inside call shmget"),
    "pids": re.compile(r"group pids|limits of pids\.|limit processes"),
    "cpu": re.compile(r"group cpu$|limits of cpu\."),
    "cpu_time": re.compile(r"group cpuacct"),
}


def plain(text):
    """A text without what is different in every run."""
    text = re.sub(r"ringfort-[0-9a-f]{16}", "ringfort-ID", text)
    return re.sub(r"\b(187904[89]\d{3}|18790[5-9]\d{4}|1879[1-9]\d{5}|18[89]\d{7}|19\d{8})\b", "BOX", text)


def facts(run):
    """What the program was like when it started, and what it found: a dict of texts."""
    found, parts = {}, {name: plain(text) for name, text in run.sections.items()}
    for line in parts.get("status", "").splitlines():
        name, _, value = line.partition(":")
        if name in STATUS:
            value = value.strip()
            found[f"status {name}"] = f"{len(value.split())} deep" if name == "NSpid" else value
    for line in parts.get("limits", "").splitlines()[1:]:
        match = re.match(r"Max (.*?)\s{2,}(\S+)\s+(\S+)", line)
        if match:
            found[f"limit {match[1]}"] = f"{match[2]} {match[3]}"
    for line in parts.get("mountinfo", "").splitlines():
        source, place, kind = re.sub(r"shared:\d+", "shared", line.split(" ", 3)[3]).split(" ", 2)
        # A tree that is only read may do without its map: its files are then nobody's.
        kind = re.sub(r"^(ro,\S*),idmapped ", r"\1 ", kind)
        found[f"mount {place} {found.get(f'mount {place}', '') and source}".strip()] = f"{source} {kind}"
    for line in parts.get("cgroup", "").splitlines():
        _, names, path = line.split(":", 2)
        found[f"group {names}"] = "the box's" if path.endswith("/ringfort-ID") else "the caller's"
    for line in parts.get("ns", "").splitlines():
        name, target = line.split(" ", 1)
        if name in NAMESPACES:
            found[f"namespace {name}"] = "the host's" if target == os.readlink(f"/proc/self/ns/{name}") else "its own"
    if found.get("namespace mnt") == "the host's":  # whose mounts come and go
        found = {name: value for name, value in found.items() if not name.startswith("mount ")}
    if found.get("namespace pid") == "the host's" and "limit processes" in found:
        found["limit processes"] = "those of the user and some more"  # how many these are changes all the time
    for line in parts.get("fd", "").splitlines():
        number, target = line.split(" ", 1)
        found[f"descriptor {number}"] = re.sub(r"\[\d+\]", "", target)
    for name in ("environ", "oom_score_adj", "uid_map", "gid_map", "setgroups", "cwd", "root", "cmdline"):
        found[name] = " ".join(parts.get(name, "").split())
    stat = parts.get("stat", "").rpartition(")")[2].split()
    if stat:
        pid = parts["stat"].split(" ", 1)[0]
        found["session"] = (f"leads its group: {stat[2] == pid}, its session: {stat[3] == pid}, "
                            f"terminal: {stat[4] != '0'}")
    for name, text in parts.items():
        if name.startswith("group-"):
            found[f"limits of {name[6:]}"] = text.strip()
    for line in run.inside:
        name, colon, value = plain(line).rpartition(": ")
        found[f"inside {name if colon else value}"] = value
    return found


def grades(run):
    return ((run.result or {}).get("isolation") or {}).get("limits") or {}


def missing(run):
    return ((run.result or {}).get("isolation") or {}).get("missing") or []


def is_link_bound(name, wanted, seen):
    """A link of the system's (/bin, /etc/localtime), bound as it is: as safe as one that was made again."""
    place = name.removeprefix("mount ")
    return (wanted is None and name.startswith("mount ") and os.path.islink(place)
            and seen.startswith(f"{place} ro,nosuid,nodev,"))


def weaknesses(reference, run):
    """The facts that are not as they should be; and the limits whose lesser keeper the result tells of."""
    wanted, seen = facts(reference), facts(run)
    is_whole = "all tried" in run.inside
    different, graded = [], set()
    for name in sorted(wanted.keys() | seen.keys()):
        if wanted.get(name) == seen.get(name) or (name.startswith("inside") and name not in seen and not is_whole):
            continue
        if is_link_bound(name, wanted.get(name), seen.get(name)):
            continue
        if name == "status Seccomp_filters" and int(seen.get(name) or 0) > int(wanted.get(name) or 0):
            continue  # one more, where the kernel does not seal memfds by itself
        if name.startswith("inside setuid") and seen.get(name) != "done":
            continue  # a deputy that could not change a mode says why
        for limit, pattern in OF_LIMIT.items():
            if pattern.match(name) and grades(run).get(limit) not in (None, "hard"):
                graded.add(limit)
                break
        else:
            different.append(f"{name}: {seen.get(name)!r} instead of {wanted.get(name)!r}")
    return different, graded


def judge_start(reference, run):
    """A run whose program was started."""
    if run.doomed and run.error and not run.inside:
        return Verdict("ended", run.error)  # killed before its first step
    different, graded = weaknesses(reference, run)
    said = set(missing(run)) - set(missing(reference))
    if run.code == 0 and run.result is None:
        return Verdict("FAILED", f"no result: {run.out!r} {run.err!r}")
    if different and not said:
        return Verdict("FAILED", "weaker: " + "; ".join(different[:3]))
    if run.code != reference.code:
        if run.error:
            return Verdict("ended", run.error)
        return Verdict("FAILED", f"exit code {run.code}, status {(run.result or {}).get('status')}, error {run.error!r}")
    if "all tried" not in run.inside and run.error:
        return Verdict("ended", run.error)
    if "all tried" not in run.inside:
        return Verdict("FAILED", f"exit code {run.code}, and the program's output is not whole: {run.inside[-1:]}")
    proof = run.result["isolation"]["proof"]
    unproven = [name for name, holds in proof.items() if holds is False
                and reference.result["isolation"]["proof"][name] is not False]
    if set(unproven) - ({"cgroup"} if graded else set()) and not said:
        return Verdict("FAILED", f"the result has a proof without {unproven}")
    if said:
        return Verdict("said", "; ".join(sorted(said)))
    return Verdict("graded", ", ".join(sorted(graded))) if graded else Verdict("stood", "")


def judge(reference, run):
    """The verdict on a run with one fault, compared with the same run without."""
    if run.late:
        return Verdict("FAILED", "; ".join(run.late))
    if run.crashes == ["0 11"] and (run.hit or "").startswith("0:1 158 setup") and not run.started:
        return Verdict("refused", "the C library gives up before main(): it has no thread pointer")
    if run.crashes:
        return Verdict("FAILED", "crash of " + ", ".join(run.crashes))
    if run.hit is None:
        return Verdict("unreached", "")
    if run.started:
        return judge_start(reference, run)
    if run.code not in (125, 126, 127):
        return Verdict("FAILED", f"nothing was started, and the exit code is {run.code}: {run.out[-300:]!r} {run.err!r}")
    if not run.error:
        return Verdict("FAILED", f"exit code {run.code}, and no error: {run.out[-300:]!r} {run.err!r}")
    return Verdict("refused", run.error)
