"""The checks that run inside the guest, as TAP.  See docs/second-kernel.md.

The groups are laid out as systemd lays them out:

    /init.scope                                             these checks
    /system.slice/NAME.service                              root's launchers
    /user.slice/user-1000.slice/session-1.scope             a user without delegation
    /user.slice/user-1000.slice/user@1000.service           the user's own from here on
                                  app.slice/run-1.scope     a user with delegation
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import traceback

RINGFORT = "/opt/ringfort/build/ringfort"
ROOT_GROUP = "/sys/fs/cgroup"
UID = 1000
SERVICE = "system.slice/test.service"
SLICE = "user.slice/user-1000.slice"
SESSION = SLICE + "/session-1.scope"
MANAGER = SLICE + "/user@1000.service"
SCOPE = MANAGER + "/app.slice/run-1.scope"
RUNTIME = "/run/user/1000"
GROUPED = ("memory", "cpu", "cpu_time", "pids")  # limits that need a group to be hard

CASES = []


class Skip(Exception):
    """This scene has nothing to check here."""


def case(name, *scenes, todo=None):
    """Registers a check for some scenes; `todo` says why it is known to fail."""
    def add(fn):
        CASES.append((name, scenes or ("plain",), todo, fn))
        return fn
    return add


# ------------------------------------------------------------- files and groups

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(text))


def group(path):
    return f"{ROOT_GROUP}/{path}".rstrip("/")


def make_group(path, controllers=(), owner=None):
    """Makes a group and those above it; children of it get `controllers`, `owner` gets all of it."""
    os.makedirs(group(path), exist_ok=True)
    for controller in controllers:
        write(group(path) + "/cgroup.subtree_control", "+" + controller)
    if owner:
        for name in ("", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"):
            os.chown(group(path) + name, owner, owner)


def lay_out():
    available = read(group("") + "/cgroup.controllers").split()
    wanted = [name for name in ("cpu", "memory", "pids") if name in available]
    make_group("init.scope")
    for pid in read(group("") + "/cgroup.procs").split():
        with contextlib.suppress(OSError):  # a kernel thread stays
            write(group("init.scope") + "/cgroup.procs", pid)
    make_group("system.slice", wanted)
    make_group(SERVICE)
    make_group("user.slice", wanted)
    make_group(SLICE, wanted)
    make_group(SESSION)
    make_group(MANAGER, owner=UID)
    make_group(MANAGER, wanted, owner=UID)
    make_group(MANAGER + "/init.scope", owner=UID)
    make_group(MANAGER + "/app.slice", wanted, owner=UID)
    make_group(SCOPE, owner=UID)
    os.makedirs(RUNTIME, exist_ok=True)
    os.chown(RUNTIME, UID, UID)
    os.chmod(RUNTIME, 0o700)
    os.makedirs("/home/user", exist_ok=True)
    os.chown("/home/user", UID, UID)


def left_groups():
    return sorted(os.path.join(place, name) for place, below, _ in os.walk(ROOT_GROUP)
                  for name in below if name.startswith("ringfort-"))


def eventually(is_so, seconds=2.0):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


@contextlib.contextmanager
def sysctl(name, value):
    path = "/proc/sys/" + name.replace(".", "/")
    before = read(path)
    write(path, value)
    try:
        yield
    finally:
        write(path, before)


# ------------------------------------------------------------- runs

def start(*args, who="root", where=None, env=None, cwd="/home", **options):
    """`ringfort *args`, started by `who` in the group `where`."""
    where = where if where is not None else (SERVICE if who == "root" else SESSION)

    def before():
        write(group(where) + "/cgroup.procs", 0)
        os.umask(0o022)
        if who == "user":
            os.setgroups([])
            os.setresgid(UID, UID, UID)
            os.setresuid(UID, UID, UID)

    clean = {"PATH": "/usr/bin:/bin", "HOME": "/root" if who == "root" else "/home/user",
             "LANG": "C.UTF-8"}
    if who == "user":
        clean["XDG_RUNTIME_DIR"] = RUNTIME
    clean.update(env or {})
    clean = {key: value for key, value in clean.items() if value is not None}
    return subprocess.Popen([RINGFORT, *args], preexec_fn=before, env=clean, cwd=cwd,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            **options)


def call(*args, **options):
    process = start(*args, **options)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{args} took longer than 60 s: {out!r} {err!r}") from None
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def box(*args, **options):
    """The result of a run."""
    code, out, err = call("run", "--json", *args, **options)
    assert out.startswith("{"), f"exit code {code}, no result: {out!r} {err!r}"
    return json.loads(out)


def doctor(**options):
    code, out, err = call("doctor", "--json", **options)
    assert out.startswith("{"), f"exit code {code}: {out!r} {err!r}"
    report = json.loads(out)
    report["code"] = code
    report["by_id"] = {check["id"]: check for check in report["checks"]}
    return report


def python(text):
    return ("--", "python3", "-c", text)


def grades(result):
    return {name: result["isolation"]["limits"].get(name) for name in GROUPED}


def story(result):
    error = result["error"] or {}
    return (f"status {result['status']}, exit code {result['exit_code']}, signal {result['signal']}, "
            f"hit {result['limits_hit']}, grades {grades(result)}, missing {result['isolation']['missing']}, "
            f"error {error.get('message')!r}, remedy {error.get('remedy')!r}, "
            f"stdout {result['stdout'][-200:]!r}, stderr {result['stderr'][-400:]!r}")


def expect(is_so, result):
    assert is_so, story(result)


ALL_HARD = dict.fromkeys(GROUPED, "hard")
WITHOUT_GROUPS = {"memory": "sampled", "cpu": "none", "cpu_time": "sampled", "pids": "rlimit"}
EAT = python("bytearray(10**9)")
COUNT = """
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        n += 1
except OSError as error:
    print(n, error.errno, flush=True)
os._exit(3)
"""

# Who can have hard limits: root in a service, root in the root group, a user with delegation.
HARD = [("root", {}), ("root in the root group", {"where": ""}),
        ("a user with delegation", {"who": "user", "where": SCOPE})]
EVERYBODY = [*HARD, ("a user without delegation", {"who": "user"})]


def for_each(name, people, todo=None):
    """Registers one check for each of `people`."""
    def add(fn):
        for title, options in people:
            case(f"{title}: {name}", todo=todo)(lambda options=options: fn(**options))
        return fn
    return add


# ------------------------------------------------------------- the machine

@case("the kernel has cgroup v2 only, with memory, pids and cpu")
def _():
    assert read("/proc/self/cgroup").count("\n") == 0 and read("/proc/self/cgroup").startswith("0::")
    assert {"memory", "pids", "cpu"} <= set(read(group("") + "/cgroup.controllers").split())


@for_each("doctor finds every wall", EVERYBODY)
def doctor_finds_every_wall(**who):
    report = doctor(**who)
    wrong = [(check["id"], check["detail"]) for check in report["checks"]
             if check["need"] == "required" and check["state"] == "absent"]
    assert report["ok"] and report["code"] == 0 and not wrong, wrong


@for_each("doctor reports cgroup v2 with everything", HARD)
def doctor_reports_groups(**who):
    report = doctor(**who)
    ids = ["cgroup", "cgroup_memory", "cgroup_pids", "cgroup_cpu", "cgroup_cputime", "cgroup_swap",
           "clone_into_cgroup", "cgroup_kill"]
    states = {name: report["by_id"][name]["state"] for name in ids}
    assert set(states.values()) <= {"present", "unneeded"}, states
    assert "version 2" in report["by_id"]["cgroup"]["detail"]
    assert {name: report["limits"][name] for name in GROUPED} == ALL_HARD, report["limits"]


@case("a user without delegation: doctor says how to get hard limits")
def _():
    report = doctor(who="user")
    assert {name: report["limits"][name] for name in GROUPED} == WITHOUT_GROUPS, report["limits"]
    check = report["by_id"]["cgroup"]
    assert check["state"] == "absent" and "Delegate=yes" in check["remedy"], check
    assert check["detail"], check


@for_each("doctor's grades are those of a run", EVERYBODY)
def doctor_agrees(**who):
    assert {name: doctor(**who)["limits"][name] for name in GROUPED} == grades(box("--", "true", **who))


@case("doctor leaves no group behind")
def _():
    assert left_groups() == []


@case("doctor's remedies fit this kernel: idmapped tmpfs is not promised before Linux 6.3")
def _():
    remedy = doctor()["by_id"]["idmap"]["remedy"] or ""
    assert "tmpfs" not in remedy or "6.3" in remedy, remedy


@case("doctor's remedies fit this kernel: overlayfs on tmpfs is not promised from Linux 5.11 on")
def _():
    check = doctor()["by_id"]["overlay"]
    assert check["state"] == "present" or "5.11" not in check["remedy"], check


# ------------------------------------------------------------- grades and limits

@for_each("runs /bin/true", EVERYBODY)
def runs_true(**who):
    result = box("--", "/bin/true", **who)
    expect(result["status"] == "ok" and not result["isolation"]["missing"], result)
    proof = result["isolation"]["proof"]
    assert all(held for fact, held in proof.items() if isinstance(held, bool)
               and fact not in ("cgroup", "group", "groups")), proof


@for_each("every limit is hard", HARD)
def every_limit_is_hard(**who):
    result = box("--", "true", **who)
    expect(grades(result) == ALL_HARD, result)
    expect(box("--require", "hard", "--", "true", **who)["status"] == "ok", result)


@case("a user without delegation: limits are sampled, and hard ones refused")
def _():
    result = box("--", "true", who="user")
    expect(grades(result) == WITHOUT_GROUPS, result)
    result = box("--require", "hard", "--", "true", who="user")
    expect(result["status"] == "denied" and result["error"]["remedy"], result)


@for_each("memory beyond the limit says memory", EVERYBODY)
def memory_bomb(**who):
    result = box("--memory", "64M", *EAT, **who)
    expect((result["status"], result["signal"], result["limits_hit"]) == ("memory", 9, ["memory"]), result)
    assert result["usage"]["memory_peak"] <= (66 if who.get("who") != "user" or who.get("where") else 160) << 20, \
        result["usage"]


@for_each("memory within the limit is given", EVERYBODY)
def memory_given(**who):
    result = box("--memory", "120M", *python("print(len(bytearray(80 << 20)))"), **who)
    expect(result["status"] == "ok", result)


@for_each("the least memory is enough for a small program", EVERYBODY)
def least_memory(**who):
    result = box("--memory", "4M", "--", "true", **who)
    expect(result["status"] == "ok", result)


@for_each("files in memory count: /tmp, /dev/shm, memfd", EVERYBODY)
def memory_files(**who):
    for how in ("open('/tmp/f', 'wb')", "open('/dev/shm/f', 'wb')",
                "__import__('os').fdopen(__import__('os').memfd_create('f'), 'wb')"):
        result = box("--memory", "48M", "--disk", "1G", *python(
            f"f = {how}\nfor i in range(300): f.write(bytes(2**20))\nprint('all of it')"), **who)
        expect(result["status"] == "memory" and "all of it" not in result["stdout"], result)


@for_each("the OOM killer takes the box as a whole (memory.oom.group)", HARD)
def oom_group(**who):
    result = box("--memory", "64M", "--", "sh", "-c", "python3 -c 'bytearray(10**9)'; echo survived", **who)
    expect(result["status"] == "memory" and "survived" not in result["stdout"], result)


@for_each("many small memory bombs at once end soon and leave the launcher alone", HARD)
def memory_bombs(**who):
    many = [start("run", "--json", "--memory", "32M", *EAT, **who) for _ in range(4)]
    for process in many:
        out, err = process.communicate(timeout=60)
        assert out.startswith(b"{"), (process.returncode, out, err)
        expect(json.loads(out)["status"] == "memory", json.loads(out))


@for_each("processes beyond the limit are refused", EVERYBODY)
def pids_bomb(**who):
    result = box("--pids", "20", *python(COUNT), **who)
    made, error = map(int, result["stdout"].split())
    assert 18 <= made <= 19 and error == 11, story(result)
    if grades(result)["pids"] == "hard":
        expect((result["status"], result["limits_hit"]) == ("pids", ["pids"]), result)
        assert result["usage"]["pids_peak"] in (20, None), result["usage"]


@for_each("a fork bomb stays within its limit and ends in time", EVERYBODY)
def fork_bomb(**who):
    result = box("--pids", "30", "--time", "3s", "--", "bash", "-c", "b() { b | b & }; b; sleep 20", **who)
    expect(result["status"] in ("timeout", "pids"), result)


@for_each("a share of 20 % of a processor is kept", HARD)
def cpu_share(**who):
    result = box("--cpu", "20%", "--time", "4s", *python("while True: pass"), **who)
    expect(result["status"] == "timeout", result)
    share = result["usage"]["cpu_ms"] / result["usage"]["wall_ms"]
    assert 0.12 < share < 0.28, result["usage"]


@for_each("processor time ends the run", EVERYBODY)
def cpu_time(**who):
    result = box("--cpu-time", "1s", "--time", "20s", *python("while True: pass"), **who)
    expect((result["status"], result["limits_hit"]) == ("cpu", ["cpu_time"]), result)
    assert 950 < result["usage"]["cpu_ms"] < 1600, result["usage"]


@for_each("a time-out ends everything", EVERYBODY)
def time_out(**who):
    result = box("--time", "1s", "--", "sh", "-c", "trap '' TERM; (setsid sleep 77) & sleep 77", **who)
    expect((result["status"], result["limits_hit"]) == ("timeout", ["time"]), result)
    assert result["usage"]["wall_ms"] < 2500, result["usage"]


@for_each("usage has figures from the group", HARD)
def usage(**who):
    figures = box(*python("bytearray(40 << 20); import time; time.sleep(0.1)"), **who)["usage"]
    assert figures["memory_peak"] and 40 << 20 < figures["memory_peak"] < 90 << 20, figures
    assert figures["cpu_ms"] and figures["cpu_ms"] > 10, figures


# ------------------------------------------------------------- the group itself

def living_box(*args, **who):
    """Starts a box that sleeps; gives the launcher and the box's group."""
    process = start("run", *args, "--", "sh", "-c", "echo up; sleep 76 & sleep 76", **who)
    assert process.stdout.readline() == b"up\n", process.communicate()
    groups = left_groups()
    assert len(groups) == 1, groups
    return process, groups[0]


@for_each("the box's group holds the limits and all of its processes", HARD)
def group_holds(**who):
    process, path = living_box("--memory", "64M", "--pids", "9", "--cpu", "50%", **who)
    try:
        seen = {name: read(f"{path}/{name}") for name in
                ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")
                if os.path.exists(f"{path}/{name}")}

        def names():
            return sorted(read(f"/proc/{pid}/comm") for pid in read(path + "/cgroup.procs").split())

        wanted = ["ringfort-init", "sh", "sleep", "sleep"]
        assert eventually(lambda: names() == wanted, 5), names()
    finally:
        process.terminate()
        process.communicate()
    assert seen == {"memory.max": str(64 << 20), "memory.swap.max": "0", "memory.oom.group": "1",
                    "pids.max": "10", "cpu.max": "50000 100000"}, seen


@for_each("the box can't see where its group lies, nor write to it", HARD)
def group_hidden(**who):
    result = box("--", "sh", "-c", "cat /proc/self/cgroup; ls /sys/fs/cgroup 2>&1", **who)
    assert result["stdout"].startswith("0::/\n") and "memory.max" not in result["stdout"], story(result)


@for_each("the launcher is never moved", HARD)
def launcher_stays(**who):
    process, path = living_box(**who)
    try:
        own = read(f"/proc/{process.pid}/cgroup")
    finally:
        process.terminate()
        process.communicate()
    where = who.get("where", SERVICE)
    assert own == "0::/" + where, (own, path)


@case("root in a service that has processes: the group is made beside it")
def _():
    process, path = living_box()
    process.terminate()
    process.communicate()
    assert path.startswith(group("system.slice/ringfort-")), path


@case("a user with delegation: the group is made in the user's own slice")
def _():
    process, path = living_box(who="user", where=SCOPE)
    process.terminate()
    process.communicate()
    assert path.startswith(group(MANAGER + "/app.slice/ringfort-")), path


@case("a group with processes stays as it is: no controllers for its children, not threaded")
def _():
    for path, who in (("system.slice/quiet.service", {}), ("system.slice/quiet-user.service", {"who": "user"})):
        make_group(path, owner=UID if who else None)
        box("--", "true", where=path, **who)
        doctor(where=path, **who)
        after = read(group(path) + "/cgroup.subtree_control"), read(group(path) + "/cgroup.type")
        assert after == ("", "domain"), (path, *after)


@case("a service that makes groups of its own still can after a run of ringfort in it")
def _():
    make_group("system.slice/pods.service", owner=UID)
    box("--", "true", who="user", where="system.slice/pods.service")
    make_group("system.slice/pods.service/leaf", owner=UID)
    result = box("--", "true", who="user", where="system.slice/pods.service/leaf")
    expect(grades(result) == ALL_HARD, result)


@case("controllers that are only missing below are switched on: cpu beside memory and pids")
def _():
    make_group("few.slice", ["memory", "pids"])
    make_group("few.slice/test.service")
    result = box("--", "true", where="few.slice/test.service")
    expect(grades(result) == ALL_HARD, result)


@case("controllers that are only missing below are switched on: none at all")
def _():
    make_group("bare.slice")
    make_group("bare.slice/test.service")
    result = box("--", "true", where="bare.slice/test.service")
    expect(grades(result) == ALL_HARD, result)


@case("a user with pids alone delegated: processes are limited hard, the rest sampled")
def _():
    make_group("pids.slice", ["pids"])
    make_group("pids.slice/user", owner=UID)
    make_group("pids.slice/user", ["pids"], owner=UID)
    make_group("pids.slice/user/scope", owner=UID)
    result = box("--", "true", who="user", where="pids.slice/user/scope")
    expect(grades(result)["pids"] == "hard", result)
    expect(grades(result)["memory"] == "sampled", result)


@case("a user with memory and pids delegated: cpu alone is not kept")
def _():
    make_group("two.slice", ["memory", "pids"])
    make_group("two.slice/user", owner=UID)
    make_group("two.slice/user", ["memory", "pids"], owner=UID)
    make_group("two.slice/user/scope", owner=UID)
    result = box("--", "true", who="user", where="two.slice/user/scope")
    expect(grades(result) == {**ALL_HARD, "cpu": "none"}, result)
    result = box("--memory", "64M", *EAT, who="user", where="two.slice/user/scope")
    expect(result["status"] == "memory", result)


@case("a user's service with Delegate=yes, the launcher itself in it: it runs, and its grades are true")
def _():
    make_group("system.slice/own.service", owner=UID)
    result = box("--memory", "64M", *EAT, who="user", where="system.slice/own.service")
    expect(result["status"] == "memory", result)


@case("a user's service with Delegate=yes, the launcher itself in it: hard limits",
      todo="the launcher would have to move into a leaf of its own")
def _():
    make_group("system.slice/own.service", owner=UID)
    result = box("--", "true", who="user", where="system.slice/own.service")
    expect(grades(result) == ALL_HARD, result)


@case("a delegated group whose launcher comes from outside: it runs")
def _():
    # The common ancestor is not the user's, so nothing can be born in there.
    make_group("system.slice/theirs.slice", ["memory", "pids"], owner=UID)
    result = box("--", "true", who="user", where=SESSION)
    expect(result["status"] == "ok", result)


@case("a user's slice whose leaf is root's: refused by the kernel or not, the box runs")
def _():
    make_group("odd.slice", ["memory", "pids", "cpu"])
    make_group("odd.slice/user", ["memory", "pids", "cpu"])
    make_group("odd.slice/user/scope")
    os.chown(group("odd.slice/user"), UID, UID)  # the folder alone, as a careless admin does
    result = box("--", "true", who="user", where="odd.slice/user/scope")
    expect(result["status"] == "ok", result)
    os.chown(group("odd.slice/user/cgroup.procs"), UID, UID)  # subtree_control stays root's
    result = box("--", "true", who="user", where="odd.slice/user/scope")
    expect(result["status"] == "ok" and grades(result)["memory"] == "hard", result)


@case("a caller's own memory limit holds for its boxes", todo="the box's group lies beside the caller's")
def _():
    make_group("system.slice/small.service")
    write(group("system.slice/small.service/memory.max"), 80 << 20)
    result = box("--memory", "256M", *python("bytearray(160 << 20)"), where="system.slice/small.service")
    expect(result["status"] == "memory", result)


@case("a slice's memory limit holds for boxes in it")
def _():
    make_group("small.slice", ["memory", "pids", "cpu"])
    make_group("small.slice/test.service")
    write(group("small.slice/memory.max"), 80 << 20)
    process = start("run", "--json", "--memory", "256M", *python("bytearray(160 << 20)"),
                    where="small.slice/test.service")
    out, err = process.communicate(timeout=60)
    assert out.startswith(b"{"), f"the launcher died: {process.returncode} {out!r} {err!r}"
    result = json.loads(out)
    expect(result["status"] in ("memory", "failed", "killed") and result["signal"] == 9, result)


@case("a limit of a slice that kills a box is told as memory")
def _():
    make_group("small.slice", ["memory", "pids", "cpu"])
    make_group("small.slice/test.service")
    write(group("small.slice/memory.max"), 80 << 20)
    result = box("--memory", "256M", *python("bytearray(160 << 20)"), where="small.slice/test.service")
    expect(result["status"] == "memory", result)


IN_CONTAINER = """
import os, subprocess, sys
subprocess.run(["umount", "/sys/fs/cgroup"], check=True)
subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
if sys.argv[1]:
    os.makedirs("/sys/fs/cgroup/" + sys.argv[1], exist_ok=True)
    for pid in open("/sys/fs/cgroup/cgroup.procs").read().split():
        open(f"/sys/fs/cgroup/{sys.argv[1]}/cgroup.procs", "w").write(pid)
print(subprocess.run(sys.argv[2:], capture_output=True, text=True).stdout)
"""


def in_container(leaf, *args):
    """Runs ringfort in a cgroup namespace whose root holds it, or a `leaf` of that."""
    make_group("machine.slice", ["memory", "pids", "cpu"])
    make_group("machine.slice/one")
    # The group's processes are counted from unshare on, which must itself be in there.
    done = subprocess.run(
        ["unshare", "--cgroup", "--mount", "--propagation", "private", "python3", "-c", IN_CONTAINER,
         leaf, RINGFORT, *args], capture_output=True, text=True, timeout=60, check=False, cwd="/home",
        preexec_fn=lambda: write(group("machine.slice/one/cgroup.procs"), 0))
    assert done.stdout.startswith("{"), done
    return json.loads(done.stdout)


@case("root in a container's own group: it runs, and its grades are true")
def _():
    result = in_container("", "run", "--json", "--memory", "64M", *EAT)
    expect(result["status"] == "memory", result)


@case("root in a container's own group: doctor says that its processes are in the way")
def _():
    checks = {check["id"]: check for check in in_container("", "doctor", "--json")["checks"]}
    check = checks["cgroup"]
    assert "process" in check["detail"] or "leaf" in check["remedy"], (check["detail"], check["remedy"])


@case("root in a leaf of a container's group: every limit is hard")
def _():
    result = in_container("leaf", "run", "--json", "--", "true")
    expect(grades(result) == ALL_HARD, result)


# ------------------------------------------------------------- nothing is left

@for_each("nothing is left after runs of every kind", EVERYBODY)
def nothing_left(**who):
    for args in (["--", "true"], ["--", "false"], ["--", "no-such-program"], ["--read", "/no/such", "--", "true"],
                 ["--time", "200ms", "--", "sleep", "75"], ["--memory", "32M", *EAT],
                 ["--output", "10", "--", "yes"], ["--pids", "5", *python(COUNT)],
                 ["--", "sh", "-c", "setsid sleep 75 & exit 0"], ["--workdir", "/no/such", "--", "true"]):
        box(*args, **who)
        assert left_groups() == [], (args, left_groups())
    assert subprocess.run(["pgrep", "-x", "sleep"], capture_output=True, check=False).stdout == b""


@for_each("nothing is left after SIGTERM", EVERYBODY)
def nothing_after_term(**who):
    process = start("run", "--", "sleep", "75", **who)
    time.sleep(0.5)
    process.terminate()
    process.communicate(timeout=20)
    assert left_groups() == [], left_groups()


def records(**who):
    folder = "/run/ringfort/boxes" if who.get("who") != "user" else RUNTIME + "/ringfort/boxes"
    return os.listdir(folder) if os.path.isdir(folder) else []


@for_each("nothing is left after SIGKILL of the launcher, at once or after the next run", EVERYBODY)
def nothing_after_kill(**who):
    for delay_ms in (1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 300, 600):
        process = start("run", "--", "sh", "-c", "sleep 75 & sleep 75", **who)
        time.sleep(delay_ms / 1000)
        process.kill()
        process.communicate(timeout=20)
        if not eventually(lambda: not left_groups() and not records(**who)):
            box("--", "true", **who)
        assert eventually(lambda: not left_groups()), (delay_ms, left_groups())
        assert eventually(lambda: not records(**who)), (delay_ms, records(**who))
    alive = subprocess.run(["pgrep", "-ax", "sleep"], capture_output=True, check=False).stdout
    assert alive == b"", alive


@case("a user with delegation and without XDG_RUNTIME_DIR: nothing is left after SIGKILL")
def _():
    who = {"who": "user", "where": SCOPE, "env": {"XDG_RUNTIME_DIR": None}}
    left = {}
    for delay_ms in (1, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, 150, 300, 600):
        process = start("run", "--", "sleep", "75", **who)
        time.sleep(delay_ms / 1000)
        process.kill()
        process.communicate(timeout=20)
        if not eventually(lambda: not left_groups(), 1):
            box("--", "true", **who)
        if not eventually(lambda: not left_groups(), 1):
            left[delay_ms] = left_groups()
            for path in left_groups():
                os.rmdir(path)
    assert not left, {delay: len(paths) for delay, paths in left.items()}


@case("cgroup.kill of a box's group from outside ends the run and leaves nothing")
def _():
    process, path = living_box()
    write(path + "/cgroup.kill", 1)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 137, (process.returncode, err)
    assert left_groups() == []


# ------------------------------------------------------------- Landlock of this kernel

@case("Landlock: the old ABI is told, and its rights hold")
def _():
    result = box("--", "true")
    assert 1 <= result["isolation"]["proof"]["landlock_abi"] < 6, result["isolation"]["proof"]
    check = doctor()["by_id"]["landlock"]
    assert check["state"] == "partial" and "6.12" in check["remedy"], check


@for_each("Landlock: --net host is refused, and listed under --weaker allow", EVERYBODY)
def net_host(**who):
    result = box("--net", "host", "--", "true", **who)
    expect(result["status"] == "denied" and result["error"]["remedy"], result)
    result = box("--net", "host", "--weaker", "allow", "--", "true", **who)
    expect(result["status"] == "ok" and len(result["isolation"]["missing"]) == 1, result)


NAME_SERVERS = "/etc/resolv.conf"


@contextlib.contextmanager
def name_servers(kind):
    """/etc/resolv.conf as a file, as systemd-resolved's link, or not at all."""
    os.unlink(NAME_SERVERS)
    if kind == "link":
        os.makedirs("/run/systemd/resolve", exist_ok=True)
        write("/run/systemd/resolve/stub-resolv.conf", "nameserver 127.0.0.53\n")
        os.symlink("../run/systemd/resolve/stub-resolv.conf", NAME_SERVERS)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME_SERVERS)
        write(NAME_SERVERS, "nameserver 192.0.2.1\n")


@for_each("--net host on a host without /etc/resolv.conf runs", EVERYBODY)
def no_name_servers(**who):
    with name_servers("none"):
        result = box("--net", "host", "--weaker", "allow", "--", "true", **who)
    expect(result["status"] == "ok", result)


@for_each("--net host where /etc/resolv.conf is systemd-resolved's link shows its text", EVERYBODY)
def linked_name_servers(**who):
    with name_servers("link"):
        result = box("--net", "host", "--weaker", "allow", "--", "cat", NAME_SERVERS, **who)
    expect(result["stdout"] == "nameserver 127.0.0.53\n", result)


@for_each("Landlock: renames, truncation and terminals work in a box", EVERYBODY)
def old_rights(**who):
    result = box(*python(
        "import os, pty\n"
        "os.makedirs('/tmp/a'); os.makedirs('/tmp/b'); open('/tmp/a/f', 'w').write('12345')\n"
        "os.rename('/tmp/a/f', '/tmp/b/f'); os.truncate('/tmp/b/f', 2)\n"
        "assert open('/tmp/b/f').read() == '12'; os.close(pty.openpty()[0]); print('fine')"), **who)
    expect(result["stdout"] == "fine\n", result)


@case("without Landlock: refused with a remedy; --weaker allow runs and lists it", "no-landlock")
def _():
    for who in ({}, {"who": "user"}):
        result = box("--", "true", **who)
        expect(result["status"] == "denied" and "lsm=" in (result["error"]["remedy"] or ""), result)
        result = box("--weaker", "allow", "--", "true", **who)
        expect(result["status"] == "ok" and "Landlock" in result["isolation"]["missing"], result)
        assert left_groups() == []


@case("without Landlock: doctor names it, and that --weaker helps", "no-landlock")
def _():
    for who in ({}, {"who": "user"}):
        report = doctor(**who)
        assert not report["ok"] and report["code"] == 1 and report["weaker_helps"], report["missing"]
        assert report["missing"] and set(report["missing"]) <= {"landlock", "box"}, report["missing"]
        assert "lsm=" in report["by_id"]["landlock"]["remedy"], report["by_id"]["landlock"]


# ------------------------------------------------------------- no memory controller

@case("with 64 possible processors: the least memory is enough for a small program", "many-processors")
def _():
    for title, who in HARD:
        code, out, err = call("run", "--json", "--memory", "4M", "--", "true", **who)
        assert code == 0, (title, code, out, err)
        code, out, err = call("run", "--json", "--memory", "16M", "--", "sh", "-c", "echo x | cat", **who)
        assert code == 0, (title, code, out, err)


@case("with 64 possible processors: memory beyond the limit never takes the launcher along", "many-processors")
def _():
    for title, who in HARD:
        for memory in ("4M", "6M", "16M"):
            code, out, err = call("run", "--json", "--memory", memory, *EAT, **who)
            assert code == 137 and out.startswith("{"), (title, memory, code, out, err)


@case("without a memory controller: the other limits are hard, memory is sampled", "no-memory")
def _():
    for title, who in HARD:
        result = box("--", "true", **who)
        assert grades(result) == {**ALL_HARD, "memory": "sampled"}, (title, story(result))


@case("without a memory controller: memory beyond the limit still says memory", "no-memory")
def _():
    for _, who in EVERYBODY:
        result = box("--memory", "64M", *EAT, **who)
        expect(result["status"] == "memory", result)
        assert left_groups() == []


@case("without a memory controller: doctor agrees with a run", "no-memory")
def _():
    for title, who in EVERYBODY:
        report = doctor(**who)
        assert {name: report["limits"][name] for name in GROUPED} == grades(box("--", "true", **who)), title


# ------------------------------------------------------------- user namespaces forbidden

def assert_refused_without_userns(names):
    result = box("--", "echo", "ran", who="user")
    expect(result["status"] in ("error", "denied") and result["stdout"] == "", result)
    remedy = result["error"]["remedy"] or ""
    assert "doctor" in remedy or any(name in remedy for name in names), story(result)
    report = doctor(who="user")
    assert not report["ok"] and report["code"] == 1, report["missing"]
    assert any(name in (report["by_id"]["userns"]["remedy"] or "") for name in names), report["by_id"]["userns"]
    assert left_groups() == []


@case("kernel.unprivileged_userns_clone=0: a user is refused, and doctor names the sysctl")
def _():
    with sysctl("kernel.unprivileged_userns_clone", "0"):
        assert_refused_without_userns(["kernel.unprivileged_userns_clone"])
        expect(box("--", "true")["status"] == "ok", box("--", "true"))


@case("kernel.unprivileged_userns_clone=0: also with delegation, and no group is left")
def _():
    with sysctl("kernel.unprivileged_userns_clone", "0"):
        result = box("--", "true", who="user", where=SCOPE)
        expect(result["status"] in ("error", "denied"), result)
        assert left_groups() == []


@case("user.max_user_namespaces=0: everybody is refused, and doctor names the sysctl")
def _():
    with sysctl("user.max_user_namespaces", "0"):
        assert_refused_without_userns(["max_user_namespaces"])
        result = box("--", "true")
        expect(result["status"] in ("error", "denied") and result["error"]["remedy"], result)
        assert left_groups() == []


# ------------------------------------------------------------- files of root's boxes

def folder(path, owner, mode=0o755):
    os.makedirs(path, exist_ok=True)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def mount_ext4():
    if not os.path.ismount("/mnt"):
        subprocess.run(["truncate", "-s", "16M", "/ext4"], check=True)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "/ext4"], check=True)
        subprocess.run(["busybox", "mount", "-t", "ext4", "-o", "loop", "/ext4", "/mnt"], check=True)


TOUCH = ("--", "sh", "-c", "echo x >new && cat new")


@case("root writes to a user's directory on tmpfs (not idmapped here): files are the user's")
def _():
    path = folder("/srv/theirs", UID)
    result = box("--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "ok", result)
    assert os.stat(path + "/new").st_uid == UID


@case("root writes to root's directory on tmpfs: refused with a remedy, or run under --weaker allow")
def _():
    path = folder("/srv/roots", 0)
    result = box("--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "denied" and result["error"]["remedy"], result)
    assert os.listdir(path) == []
    result = box("--weaker", "allow", "--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "ok" and any("idmapped" in wall for wall in result["isolation"]["missing"]), result)
    assert os.stat(path + "/new").st_uid == 0


@case("the refusal on tmpfs does not advise tmpfs")
def _():
    result = box("--write", ".", *TOUCH, cwd=folder("/srv/roots2", 0))
    assert "tmpfs" not in result["error"]["remedy"] or "6.3" in result["error"]["remedy"], story(result)


@case("root reads a private directory of a user on tmpfs, as on a newer kernel")
def _():
    path = folder("/srv/private", UID, 0o700)
    write(path + "/file", "text")
    result = box("--", "cat", "file", cwd=path)
    expect(result["stdout"] == "text", result)


@case("a user's own private directory is read and written")
def _():
    path = folder("/home/user/mine", UID, 0o700)
    result = box("--write", ".", *TOUCH, who="user", cwd=path)
    expect(result["status"] == "ok", result)
    assert os.stat(path + "/new").st_uid == UID


@case("root writes to ext4 (idmapped): files belong to the directory's owner")
def _():
    mount_ext4()
    for owner in (0, UID):
        path = folder(f"/mnt/of-{owner}", owner, 0o700)
        result = box("--write", ".", *TOUCH, cwd=path)
        expect(result["status"] == "ok", result)
        assert os.stat(path + "/new").st_uid == owner


@case("root shows ext4 (idmapped) and writes to tmpfs (not idmapped) in one box")
def _():
    mount_ext4()
    mapped, plain = folder("/mnt/shown", UID, 0o700), folder("/srv/written", UID, 0o700)
    write(mapped + "/file", "text")
    os.chown(mapped + "/file", UID, UID)
    for first, second in ((["--read", mapped], ["--write", plain]), (["--write", plain], ["--read", mapped])):
        result = box("--current", "none", *first, *second, "--", "sh", "-c",
                     f"cat {mapped}/file && echo x >{plain}/new")
        expect(result["status"] == "ok" and result["stdout"] == "text", result)


@case("root writes to ext4 of root (idmapped) and to a user's tmpfs in one box: no file of the wrong owner")
def _():
    mount_ext4()
    mapped, plain = folder("/mnt/written", 0, 0o755), folder("/srv/written2", UID, 0o755)
    result = box("--current", "none", "--write", mapped, "--write", plain, "--", "sh", "-c",
                 f"echo x >{plain}/new && echo x >{mapped}/new")
    expect(result["status"] == "ok", result)
    assert os.stat(mapped + "/new").st_uid == 0 and os.stat(plain + "/new").st_uid == UID


# ------------------------------------------------------------- the whole

def say(text):
    print(text, flush=True)


def main():
    scene = (re.search(r"rf\.scene=(\S+)", read("/proc/cmdline")) or ["", "plain"])[1]
    only = read("/opt/vm/only")
    lay_out()
    say(f"# scene {scene}: {os.uname().release}, lsm {read('/sys/kernel/security/lsm')}, "
        f"controllers {read(group('') + '/cgroup.controllers')}")
    failed = 0
    for name, scenes, todo, fn in CASES:
        if scene not in scenes or only not in name:
            continue
        began = time.monotonic()
        wrong = ""
        try:
            fn()
        except Skip as why:
            say(f"ok - {scene}: {name} # SKIP {why}")
            continue
        except AssertionError as error:
            wrong = str(error) or traceback.format_exc()
        except Exception:  # a check that breaks is a check that fails
            wrong = traceback.format_exc()
        say(f"{'not ' if wrong else ''}ok - {scene}: {name}" + (f" # TODO {todo}" if todo else ""))
        for line in wrong.split("\n") if wrong else []:
            say(f"#   {line}")
        if time.monotonic() - began > 10:
            say(f"#   took {time.monotonic() - began:.0f} s")
        failed += bool(wrong) and not todo
        for path in left_groups():  # so that one failure is one failure
            with contextlib.suppress(OSError):
                write(path + "/cgroup.kill", 1)
                time.sleep(0.2)
                os.rmdir(path)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
