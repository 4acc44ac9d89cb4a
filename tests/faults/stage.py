"""The stage on which faults are injected: a corner of the machine where everything that a run leaves is seen.

A process that has entered a Stage (as root) has mounts of its own, with an empty /tmp and /run, and control
groups of its own: whatever is there after a run and was not before, the run has left.  The mounts are shared
in the way of systemd, so that one that leaked out of a box would be seen.  An ordinary user has no such corner
and looks for Ringfort's names in the machine's own folders.

    Stage(who).run(variant, options)   one run under inject, with what it said and what it was like: a Run
    Stage(who).leftovers()             what is there that was not there at first
"""
import contextlib
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from compiled import compile_static  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("RINGFORT", ROOT / "build/ringfort")).resolve().parent
IS_ROOT = os.geteuid() == 0
USER_ID = 12345 if IS_ROOT else os.geteuid()
HIERARCHIES = ["memory", "pids", "cpu", "cpuacct"]
GRACE_S = 2  # how long after the end of a launcher anything of it may still be there

MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED, CLONE_NEWNS = 0x1000, 0x4000, 0x40000, 0x100000, 0x20000

# What a box is asked to be.  WORK is a folder with shown files, a hidden one and a writable one.
# `before` goes before the launcher; `users` are those who can have it.
VARIANTS = {
    "plain": {"args": []},
    "files": {"args": ["--read", "WORK/shown", "--write", "WORK/own", "--deny", "**/hidden*"]},
    "lesser": {"args": ["--weaker", "allow"], "before": ["FORBID", "eperm"]},
    "weaker": {"args": ["--weaker", "allow"]},
    "commands": {"args": ["--command", "WORK/inside"]},
    "terminal": {"args": ["-t"]},
    "neighbour": {"args": [], "has_neighbour": True},
    "hard": {"args": ["--require", "hard"], "users": ["root"]},
    "limit": {"args": ["--output", "16K"], "words": ["more"], "code": 137},
    "strict": {"args": ["--syscalls", "strict", "--seccomp", "WORK/profile.json"]},
    "host-net": {"args": ["--net", "host"]},
    "lesser-docker": {"args": ["--weaker", "allow", "--write", "WORK/own"], "before": ["FORBID", "docker"]},
    "stay": {"args": [], "words": ["stay"]},
}
PROFILE = {"defaultAction": "SCMP_ACT_ALLOW",
           "syscalls": [{"names": ["ptrace", "kexec_load"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}


def units(who=None):
    """All pairs of a user and a variant, in the order in which they are run."""
    return [(user, name) for name, variant in VARIANTS.items()
            for user in (["root", "user"] if IS_ROOT else ["user"])
            if user in variant.get("users", ["root", "user"]) and who in (None, user)]


def call_names():
    """The names of system calls by their numbers."""
    done = subprocess.run(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True)
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", done.stdout)}


class Run:
    """What one run said and did, and what its program was like when it started."""

    def __init__(self, code, out, err, report):
        self.code, self.out, self.err = code, out, err
        self.calls, self.crashes, self.late, self.killed, self.sections = [], [], [], [], {}
        self.hit = self.started = self.doomed = self.end = None
        self.rest_s = 0.0
        self.read(report)
        try:
            self.result = json.loads(out) if out.strip() else None
        except ValueError:
            self.result = None

    def read(self, report):
        at = 0
        while at < len(report):
            end = report.find(b"\n", at)
            end = len(report) if end < 0 else end
            word, _, rest = report[at:end].decode("utf-8", "replace").partition(" ")
            at = end + 1
            if word == "==":
                name, size = rest.rsplit(" ", 1)
                self.sections[name] = report[at:at + int(size)].decode("utf-8", "replace")
                at += int(size) + 1
            elif word == "call":
                self.calls.append(rest)
            elif word == "crash":
                self.crashes.append(rest)
            elif word in ("hang", "left"):
                self.late.append(f"{word} {rest}")
            elif word == "killed":
                self.killed.append(rest)
            elif word == "rest":
                self.rest_s = float(rest)
            elif word in ("hit", "started", "doomed", "end"):
                setattr(self, word, rest)

    @property
    def error(self):
        """What a caller learns of a failure."""
        found = (self.result or {}).get("error") or {}
        return found.get("message") or "\n".join(line for line in self.err.split("\n")
                                                  if line.startswith("ringfort: "))

    @property
    def inside(self):
        """The lines that the program printed, as far as it came."""
        text = (self.result or {}).get("stdout") or ""
        lines = text.replace("\r", "").split("\n")
        return lines[:lines.index("all tried") + 1] if "all tried" in lines else lines[:-1]


class Corner:
    """Mounts and control groups of this process's own; one is enough for all stages of a process."""

    here = None

    def __init__(self):
        self.groups = []
        self.is_private = IS_ROOT
        if self.is_private:
            self.enter()

    @classmethod
    def get(cls):
        cls.here = cls.here or cls()
        return cls.here

    def enter(self):
        libc = ctypes.CDLL(None, use_errno=True)

        def mount(source, target, kind, flags, data=None):
            if libc.mount(source.encode(), str(target).encode(), kind.encode(), flags, data) < 0:
                raise OSError(ctypes.get_errno(), f"mount {target}")

        if libc.unshare(CLONE_NEWNS) < 0:
            raise OSError(ctypes.get_errno(), "unshare")
        mount("none", "/", "", MS_REC | MS_PRIVATE)
        mount("none", "/", "", MS_REC | MS_SHARED)
        tree = os.open(ROOT, os.O_PATH)
        built = os.open(BUILD, os.O_PATH)
        mount("none", "/tmp", "tmpfs", 0, b"mode=1777")
        mount("none", "/run", "tmpfs", 0, b"mode=755")
        for handle, path in ((tree, ROOT), (built, BUILD)):  # they may lie beneath what was just covered
            if not os.path.exists(path / "meson.build") and not os.path.exists(path / "build.ninja"):
                path.mkdir(parents=True, exist_ok=True)
                mount(f"/proc/self/fd/{handle}", path, "", MS_BIND)
            os.close(handle)
        os.chdir(ROOT)
        self.enter_groups()

    def enter_groups(self):
        """Groups of our own, beneath those that we are in."""
        own = {}
        for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
            _, names, path = line.split(":", 2)
            own[names] = path
        for names, path in own.items():
            if not set(names.split(",")) & set(HIERARCHIES):
                continue
            parent = pathlib.Path("/sys/fs/cgroup") / names / path.lstrip("/")
            group = parent / f"rf-faults-{os.getpid()}"
            try:
                group.mkdir()
                (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
                self.groups.append((group, parent))
            except OSError:
                pass  # no such hierarchy here, or not ours: then there is nothing to be left in it

    @classmethod
    def leave(cls):
        """The groups are removed; the mounts go with the process."""
        for group, parent in cls.here.groups if cls.here else []:
            (parent / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
            for _ in range(100):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.02)
        if cls.here:
            cls.here.groups = []


class Stage:
    def __init__(self, who):
        self.who = who
        self.uid = 0 if who == "root" else USER_ID
        self.corner = Corner.get()
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="rf-faults-", dir="/tmp"))
        self.base.chmod(0o755)
        self.furnish()
        self.neighbour = None
        self.before = self.look()

    def furnish(self):
        """Programs, and what boxes are shown."""
        programs = self.base / "bin"
        programs.mkdir()
        for name in ("ringfort", "ringfort-init", "ringfort-unwalled", "ringfort-warden"):
            shutil.copy(BUILD / name, programs)
        self.ringfort = str(programs / "ringfort")
        self.inject = str(programs / "inject")
        self.forbid = str(programs / "forbid")
        self.work = self.base / "work"
        for folder in (self.work, self.work / "shown", self.work / "own", self.base / "outside",
                       self.base / "home", self.base / "runtime"):
            folder.mkdir()
        compile_static([HERE / "inject.c"], programs / "inject")
        compile_static([HERE.parent / "lesser/forbid.c"], programs / "forbid")
        compile_static([HERE / "inside.c"], self.work / "inside")
        (self.work / "profile.json").write_text(json.dumps(PROFILE), encoding="ascii")
        for name in ("file", "hidden-file", ".env", "id_rsa"):
            (self.work / "shown" / name).write_text("a secret\n", encoding="ascii")
        (self.work / "shown/.aws").mkdir()
        (self.work / "shown/.aws/credentials").write_text("a secret\n", encoding="ascii")
        (self.work / "shown/.netrc").symlink_to("linked")
        (self.work / "shown/linked").write_text("a secret\n", encoding="ascii")
        (self.base / "outside/secret").write_text("a secret\n", encoding="ascii")
        (self.base / "runtime").chmod(0o700)
        if IS_ROOT:
            for folder in (self.base / "home", self.base / "runtime", self.work, self.work / "own"):
                os.chown(folder, self.uid, self.uid)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.take_calls, daemon=True).start()

    def take_calls(self):
        """A queue that nobody empties would be full after a hundred boxes that reach it, and the next would wait."""
        with contextlib.suppress(OSError):
            while True:
                self.listener.accept()[0].close()

    @property
    def env(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.base / "home"), "LANG": "C.UTF-8",
                "TERM": "dumb", "XDG_RUNTIME_DIR": str(self.base / "runtime")}

    @property
    def records(self):
        return pathlib.Path("/run/ringfort/boxes" if self.uid == 0 else self.base / "runtime/ringfort/boxes")

    def done(self):
        self.end_neighbour()
        self.listener.close()
        shutil.rmtree(self.base, ignore_errors=True)

    # --- runs ---

    def words(self, variant, program=None, ringfort=None):
        """The command line of a variant."""
        asked = VARIANTS[variant]
        places = {"WORK": str(self.work), "FORBID": self.forbid}
        fill = lambda words: [re.sub("WORK|FORBID", lambda m: places[m[0]], word) for word in words]
        program = program or [str(self.work / "inside"), str(self.base / "outside"), str(self.port),
                              *asked.get("words", [])]
        return [*fill(asked.get("before", [])), ringfort or self.ringfort, "run", "--json",
                *fill(asked["args"]), "--", *program]

    def run(self, variant, options=(), timeout_s=10, program=None, ringfort=None, env=None):
        """One run under inject, which takes `options`."""
        report = self.base / "report"
        user = ["-u", str(self.uid)] if IS_ROOT and self.uid else []
        if VARIANTS[variant].get("has_neighbour"):
            self.start_neighbour()
        done = subprocess.run(
            [self.inject, *user, "-b", ringfort or self.ringfort, "-p", str(self.work / "inside"), "-t", str(timeout_s),
             "-g", str(GRACE_S), "-o", str(report), *options, "--", *self.words(variant, program, ringfort)],
            stdin=subprocess.DEVNULL, capture_output=True, cwd=self.work, env={**self.env, **(env or {})},
            check=False)
        return Run(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"),
                   report.read_bytes())

    def start(self, variant):
        """The same without inject, not waited for; gives the Popen, whose process is the launcher."""
        return subprocess.Popen([*self.as_user, *self.words(variant)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.work, env=self.env)

    @property
    def as_user(self):
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--"] \
            if IS_ROOT and self.uid else []

    def processes(self):
        """The processes of this stage's runs: all of them have its name in their command lines."""
        found, name = [], str(self.work / "inside").encode()
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    if name in file.read():
                        found.append(int(path.split("/")[2]))
            except OSError:
                pass
        return found

    def start_next(self):
        """The next start, which cleans up after a launcher that was killed."""
        return subprocess.run([*self.as_user, self.ringfort, "run", "--", "true"],
                              stdin=subprocess.DEVNULL, capture_output=True, cwd=self.work, env=self.env,
                              timeout=60, check=False).returncode

    def start_neighbour(self):
        """Another box of the same owner, for as long as it is needed."""
        if self.neighbour and self.neighbour.poll() is None:
            return
        self.end_neighbour()
        self.neighbour = subprocess.Popen([*self.as_user, self.ringfort, "run", "--time",
                                           "none", "--", "sh", "-c", "echo up; sleep 100000"],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.work,
                                          env=self.env)
        self.neighbour.stdout.readline()
        time.sleep(0.05)  # until it has its janitor
        self.before = self.look()

    def end_neighbour(self):
        if not self.neighbour:
            return
        self.neighbour.send_signal(signal.SIGTERM)
        try:
            self.neighbour.wait(5)
        except subprocess.TimeoutExpired:
            self.neighbour.kill()
            self.neighbour.wait()
        self.neighbour.stdout.close()
        self.neighbour = None

    # --- what is there ---

    def look(self):
        """Everything that a run could leave, as a set of words."""
        found = set()
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            found |= {"mount " + line.split(" ", 4)[4].strip() for line in file}
        for group, _ in self.corner.groups:
            with os.scandir(group) as entries:
                found |= {f"cgroup {entry.path}" for entry in entries if entry.is_dir(follow_symlinks=False)}
        if self.corner.is_private:
            for place in ("/tmp", "/run", str(self.base), str(self.base / "runtime"), str(self.records.parent),
                          str(self.records), str(self.work), str(self.work / "own"), str(self.work / "shown"),
                          str(self.base / "outside"), str(self.base / "home")):
                try:
                    found |= {f"file {place}/{name}" for name in os.listdir(place)}
                except FileNotFoundError:
                    pass
            found |= {f"file {path}" for path in glob.glob("/dev/shm/ringfort*") + glob.glob("/var/tmp/ringfort*")}
        else:
            found |= {f"file {path}" for path in glob.glob("/tmp/ringfort-*") + glob.glob(f"{self.records}/*")}
        return found | self.locks()

    def locks(self):
        """Uids of boxes that are still taken."""
        try:
            st = os.stat("/run/ringfort/uids")
        except OSError:
            return set()
        if self.uid:
            return set()
        name = f" {os.major(st.st_dev):02x}:{os.minor(st.st_dev):02x}:{st.st_ino} "
        with open("/proc/locks", encoding="ascii") as file:
            return {"lock " + " ".join(line.split()[1:]) for line in file if name in line}

    # What stays once the first box has run, and is no box's.
    # A warden that was killed leaves its socket, which the next one takes away.
    STAYS = re.compile(r"file (/run/ringfort|.*/runtime/ringfort)(/(boxes|uids|warden\.(lock|sock|self|self\.new)))?$"
                       r"|file .*/(client-)?report$")

    def leftovers(self):
        return {word for word in self.look() - self.before if not self.STAYS.match(word)}

    def settle(self, seconds=GRACE_S):
        """The leftovers, once there was time enough for them to go away."""
        end = time.monotonic() + seconds
        while (left := self.leftovers()) and time.monotonic() < end:
            time.sleep(0.02)
        return left
