"""Limits on cgroup v2: grades, what holds, where groups are made, and that none is left."""
import json
import os
import subprocess
import time

from stage import (ALL_HARD, COUNT, EAT, EVERYBODY, GROUPED, HARD, MANAGER, RINGFORT, RUNTIME,
                   SCOPE, SERVICE, SESSION, UID, WITHOUT_GROUPS, box, call, case, doctor,
                   eventually, expect, for_each, grades, group, left_groups, make_group, python,
                   read, start, story, write)

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
        if "memfd" in how and grades(result)["memory"] == "sampled":
            expect("Errno 38" in result["stderr"], result)  # there is none where a sampler counts
            continue
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


@case("a caller's own memory limit holds for its boxes")
def _():
    make_group("system.slice/small.service")
    write(group("system.slice/small.service/memory.max"), 80 << 20)
    result = box("--memory", "256M", *python("bytearray(160 << 20)"), where="system.slice/small.service")
    expect(result["status"] == "memory", result)
    expect(any("limits.memory is" in warning for warning in result["warnings"]), result)


@case("the group of a box that lies beside the caller's has the lower of all limits on the way")
def _():
    make_group("system.slice/bound.service")
    for name, text in (("memory.max", 80 << 20), ("memory.high", 72 << 20), ("pids.max", 20), ("cpu.max", "25000 50000")):
        write(group(f"system.slice/bound.service/{name}"), text)
    for words, wanted in ((("--memory", "256M", "--pids", "100"), (str(80 << 20), "20", "50000 100000")),
                          (("--memory", "64M", "--pids", "9", "--cpu", "20%"), (str(64 << 20), "10", "20000 100000"))):
        process, path = living_box(*words, where="system.slice/bound.service")
        try:
            seen = tuple(read(f"{path}/{name}") for name in ("memory.max", "pids.max", "cpu.max"))
            high = read(f"{path}/memory.high")
        finally:
            process.terminate()
            process.communicate()
        assert seen == wanted and high == str(72 << 20), (seen, high)


@case("a warden's box has the limits of its client's group, and not of the warden's")
def _():
    make_group("system.slice/bound.service")
    write(group("system.slice/bound.service/pids.max"), 20)
    warden = start("warden")
    try:
        assert eventually(lambda: call("warden", "--status")[0] == 0, 10)
        process, path = living_box("--pids", "100", where="system.slice/bound.service")
        try:
            assert read(f"{path}/pids.max") == "20", path
        finally:
            process.terminate()
            process.communicate()
    finally:
        warden.terminate()
        warden.communicate()


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
        with open(f"/sys/fs/cgroup/{sys.argv[1]}/cgroup.procs", "w") as file:
            file.write(pid)
print(subprocess.run(sys.argv[2:], capture_output=True, text=True).stdout)
"""


def in_container(leaf, *args):
    """Runs ringfort in a cgroup namespace whose root holds it, or a `leaf` of that."""
    make_group("machine.slice", ["memory", "pids", "cpu"])
    make_group("machine.slice/one")
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
