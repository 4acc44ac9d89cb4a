"""What the checks inside the guest stand on: groups laid out as systemd lays them out, and runs.

    /init.scope                                             these checks
    /system.slice/NAME.service                              root's launchers
    /user.slice/user-1000.slice/session-1.scope             a user without delegation
    /user.slice/user-1000.slice/user@1000.service           the user's own from here on
                                  app.slice/run-1.scope     a user with delegation
"""
import contextlib
import json
import os
import subprocess
import time

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
