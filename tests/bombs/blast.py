"""Sets off one bomb, in a box or without one, and looks at it from outside."""
import contextlib
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import IS_ROOT, USER_ID, Warden  # noqa: E402
from catalogue import SLOW  # noqa: E402

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
STAMP = ("began_ns", "amount", "last_ns", "crossed_ns", "refused", "refused_at", "beyond_ns", "settled",
         "workers", "lost_ns")
MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
TIMEOUT_S = 40 * SLOW


class Shot:
    """What was seen of one bomb.

    end          the word for how it ended: see catalogue.py
    amount       what it took, in its own unit
    death_ms     from the moment at which the limit was reached until the last of it was dead
    drop         bytes by which the host's available memory fell at most
    kernel       bytes by which the kernel's own memory grew at most
    tasks        most tasks of it at once
    crowd        how many others wanted each processor when it began, at least 1
    left         what was still there afterwards
    """

    def __init__(self):
        self.end, self.result, self.left = "", None, []
        self.death_ms, self.crowd = None, 1
        self.amount = self.drop = self.kernel = self.unreturned = self.tasks = 0

    def __repr__(self):
        kind = {key: value for key, value in vars(self).items() if key != "result"}
        return f"{kind} {json.dumps(self.result)[:1500] if self.result else ''}"


class Range:
    """Where bombs are set off: the programs, and a folder for each shot."""

    def __init__(self, ringfort, bomb, watch, forbid, public):
        self.ringfort, self.bomb, self.watch, self.forbid = ringfort, bomb, watch, forbid
        self.public = public
        self.program = os.stat(bomb)
        self.first = []  # goes before a launcher: see ahead_of_others()
        self.wardens = {}

    # --- how to run ---

    def warden(self, mode):
        """The warden of a mode, which stands until done()."""
        if mode not in self.wardens:
            who = "root" if mode == "warden" else "user"
            self.wardens[mode] = Warden(self.ringfort, who, self.public / f"run-{mode}")
        return self.wardens[mode]

    def done(self):
        for warden in self.wardens.values():
            warden.close()

    @staticmethod
    def prefix(mode):
        if not IS_ROOT or mode in ("root", "lesser-root"):
            return []
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]

    def launch(self, mode, options, words):
        """The words that run something in a box."""
        forbidden = {"lesser": [self.forbid, "eperm"],
                     "lesser-root": ["setpriv", "--bounding-set", "-sys_admin", "--"]}.get(mode, [])
        weaker = ["--weaker", "allow"] if forbidden else []
        if mode.startswith("warden"):
            return [*self.warden(mode).before_in(self.public), self.ringfort, "run", "--json", *options,
                    "--", *words]
        return [*self.first, *self.prefix(mode), *forbidden, self.ringfort, "run", "--json",
                "--no-warden", *weaker, *options, "--", *words]

    @contextlib.contextmanager
    def folder(self, mode):
        """A folder with what a shot needs: `shown` is for the box to write, `scratch` for a control."""
        path = pathlib.Path(tempfile.mkdtemp(prefix="bomb-", dir=self.public))
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="rf-bomb-", dir="/dev/shm"))
        path.chmod(0o755)
        (path / "scratch").symlink_to(scratch)
        (path / "shown").mkdir(mode=0o755)
        (path / "shown/stamp").write_bytes(bytes(4096))
        if IS_ROOT and mode not in ("root", "warden"):
            for place in (scratch, path / "shown", path / "shown/stamp"):
                os.chown(place, USER_ID, USER_ID)
        yield path
        # Some of it lies deeper than Python can climb.
        subprocess.run(["rm", "-rf", str(path), str(scratch)], check=True)

    def words(self, bomb, path, factor=1):
        stamp = str(path / "shown/stamp")
        return [self.bomb, bomb.name, stamp, str(bomb.limit), str(bomb.cap * factor)]

    def environment(self, path, mode="user"):
        if mode in self.wardens:
            return self.wardens[mode].env
        return {"PATH": PATH, "HOME": str(path), "LANG": "C.UTF-8", "TERM": "dumb"}

    # --- shots ---

    def in_box(self, bomb, mode, options=()):
        with self.folder(mode) as path:
            show = ["--write", str(path / "shown"), "--read", os.path.dirname(self.bomb)]
            command = self.launch(mode, [*bomb.options, *options, *show], self.words(bomb, path))
            shot = self.shoot(command, path, self.environment(path, mode), self.time_of(bomb), bomb.is_exact)
            self.judge_box(shot)
        return shot

    def outside(self, bomb):
        """The control: no box around it, only namespaces that take down what is left of it."""
        with self.folder("user") as path:
            unshare = ["unshare", "--ipc", "--pid", "--fork", "--kill-child"]
            own = [] if IS_ROOT else ["--user", "--map-current-user"]
            command = [*unshare, *own, "prlimit", f"--nofile={MOST_FILES}", *self.prefix("user"),
                       *self.words(bomb, path)]
            environment = {**self.environment(path), "TMPDIR": str(path / "scratch")}
            return self.shoot(command, path, environment)

    @staticmethod
    def time_of(bomb):
        """The time limit that ends it, in seconds, where no other limit does."""
        if bomb.ends["root"] != {"timeout"}:
            return None
        return float(bomb.options[bomb.options.index("--time") + 1].rstrip("s"))

    def shoot(self, command, path, environment, time_limit=None, is_exact=True):
        shot, counts = Shot(), []
        shot.crowd = self.crowd()
        watch = subprocess.Popen([self.watch, str(path / "shown/stamp")], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        assert watch.stdout.readline() == b"ready\n", "watch did not start"
        with open(path / "out", "w+b") as out, open(path / "err", "w+b") as err:
            began = time.monotonic_ns()
            process = subprocess.Popen(command, cwd=path, env=environment, stdout=out,
                                       stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
            over = threading.Event()
            counter = threading.Thread(target=self.count_tasks, args=(over, counts))
            counter.start()
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                shot.end = "never"
            finally:
                over.set()
                counter.join()
            self.read_host(shot, watch)
            self.read_stamp(shot, path, began, time_limit, is_exact)
            out.seek(0)
            self.read_output(shot, process.returncode, out.read())
        shot.tasks = max(counts, default=0)
        return shot

    @staticmethod
    def crowd():
        """How many others want each processor: dying needs some of its time, too."""
        running = pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[3].partition("/")[0]
        return max(1, (int(running) - 1) / os.cpu_count())

    @staticmethod
    def read_host(shot, watch):
        """The host's memory; it has a moment to take back what the kernel frees late."""
        time.sleep(0.03)
        said, _ = watch.communicate(b"")
        seen = json.loads(said)
        rest, peak, end = seen["rest"], seen["peak"], seen["end"]
        shot.dead_ns = seen["dead_ns"]
        # Others come and go on this machine; what was free before or is free after was not theirs.
        shot.drop = max(0, max(rest[0], end[0]) - peak[0]) * 1024
        shot.kernel = max(0, peak[2] - max(rest[2], 1)) * 1024
        shot.unreturned = max(0, rest[0] - end[0]) * 1024

    @staticmethod
    def read_stamp(shot, path, began, time_limit, is_exact):
        raw = struct.unpack(f"{len(STAMP)}Q", (path / "shown/stamp").read_bytes()[:8 * len(STAMP)])
        stamp = dict(zip(STAMP, raw))
        shot.stamp, shot.amount = stamp, stamp["amount"]
        shot.is_beyond = stamp["beyond_ns"] != 0
        reached = [ns for ns in (stamp["crossed_ns"] * is_exact, stamp["lost_ns"]) if ns]
        moment = min(reached) if reached else stamp["last_ns"]
        if time_limit:
            moment = began + int(time_limit * 1e9)
        shot.death_ms = (shot.dead_ns - moment) / 1e6 if shot.dead_ns else None

    @staticmethod
    def read_output(shot, code, out):
        with contextlib.suppress(ValueError):
            shot.result = json.loads(out)
        result = shot.result
        if result is None:
            words = out.decode(errors="replace").split()
            if shot.end == "":
                shot.end = "beyond" if shot.is_beyond else " ".join(words[:2]) or f"exit code {code}"
            return
        said = result["stdout"].split() if result["status"] in ("ok", "failed", "pids", "disk", "memory") \
            else []
        if shot.is_beyond and result["status"] in ("ok", "timeout"):
            shot.end = "beyond"
        elif said[:1] == ["refused"]:
            shot.end = " ".join(said[:2])
        elif result["signal"] == 25:
            shot.end = "failed by SIGXFSZ"
        else:
            shot.end = result["status"]

    def slowly_read(self, mode, seconds):
        """Output without a limit, to a reader that takes a page every 50 ms."""
        shot = Shot()
        command = self.launch(mode, ["--output", "none", "--time", f"{seconds}s"], ["/usr/bin/yes"])
        command.remove("--json")
        began = time.monotonic()
        with self.folder(mode) as path, \
             subprocess.Popen(command, cwd=path, env=self.environment(path, mode), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            shot.launcher_peak = 0
            while process.poll() is None and time.monotonic() < began + TIMEOUT_S:
                with contextlib.suppress(OSError, StopIteration):
                    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
                    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
                    if os.readlink(f"/proc/{process.pid}/exe") == self.ringfort:  # and not what starts it
                        shot.launcher_peak = max(shot.launcher_peak, int(peak.split()[1]) * 1024)
                # What is left in the pipe when the box is dead is taken at once.
                os.read(process.stdout.fileno(), 4096 if time.monotonic() < began + seconds else 2**20)
                time.sleep(0.05 if time.monotonic() < began + seconds else 0)
            shot.result_code = process.wait(TIMEOUT_S)
        shot.seconds = time.monotonic() - began
        return shot

    # --- what is there ---

    def tasks(self):
        """How many tasks run the bomb's program, anywhere."""
        count = 0
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError):
                program = os.stat(f"/proc/{name}/exe")
                if (program.st_dev, program.st_ino) == (self.program.st_dev, self.program.st_ino):
                    count += os.stat(f"/proc/{name}/task").st_nlink - 2
        return count

    def count_tasks(self, over, counts):
        while not over.wait(0.05):
            counts.append(self.tasks())

    def judge_box(self, shot):
        """Whether anything of the box is left: the kernel has a moment to finish taking down."""
        box = (shot.result or {}).get("id", "")
        deadline = time.monotonic() + 2
        while (left := self.traces(box)) and time.monotonic() < deadline:
            time.sleep(0.05)
        shot.left = left

    def traces(self, box):
        found = [f"{self.tasks()} tasks"] if self.tasks() else []
        if not box:
            return found
        found += [str(path) for path in pathlib.Path("/tmp").glob(f"ringfort-{box}*")]
        found += [path for path, _, _ in os.walk("/sys/fs/cgroup") if path.endswith(f"/ringfort-{box}")]
        mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        return found + ["a mount"] * (box in mounts)

    # --- neighbours ---

    @contextlib.contextmanager
    def ahead_of_others(self):
        """Bombs and neighbours share the processors among themselves; other programs get what is left.

        By a group with a great weight, in which launchers make those of their boxes.  Where there is
        no such hierarchy, everybody is equal.
        """
        own = [line.split(":") for line in
               pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
        path = next((path for _, names, path in own if "cpu" in names.split(",")), None)
        group = pathlib.Path(f"/sys/fs/cgroup/cpu{path}/rf-bombs-{os.getpid()}")
        try:
            group.mkdir()
            (group / "cpu.shares").write_text("100000")
            self.first = ["sh", "-c", 'echo 0 >"$0/tasks"; exec "$@"', str(group)]
        except OSError:
            self.first = []
        try:
            yield
        finally:
            is_made = bool(self.first)
            self.first = []
            for _ in range(100 if is_made else 0):
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.02)

    def neighbour(self, ms, mode):
        """Starts steady work in a box of its own; .speed() waits for its end."""
        words = self.launch(mode, ["--cpu", "none", "--time", "30s", "--read",
                                   os.path.dirname(self.bomb)], [self.bomb, "neighbour", str(ms)])
        return Neighbour(words, self.environment(self.public), self.public)

    def beside(self, bomb, mode, share, ms=600):
        """The neighbour's speed beside one bomb after another, as a part of its speed alone.

        Gives (speed, slow): what it did in a second, and how long its slowest hundredth took.
        """
        with self.ahead_of_others():
            return self.compare(bomb, mode, share, ms)

    def compare(self, bomb, mode, share, ms):
        alone = [self.neighbour(ms // 2, mode).speed()]
        with self.folder(mode) as path:
            show = ["--write", str(path / "shown"), "--read", os.path.dirname(self.bomb)]
            options = [word for word in bomb.options] + ["--cpu", share, *show]
            command = self.launch(mode, options, self.words(bomb, path, 1000))
            over = threading.Event()
            loop = threading.Thread(target=self.keep_going, args=(command, path, over))
            loop.start()
            time.sleep(0.1)
            try:
                with_bomb = self.neighbour(ms, mode).speed()
            finally:
                over.set()
                loop.join()
        alone.append(self.neighbour(ms // 2, mode).speed())
        best = max(rate for rate, _ in alone)
        return with_bomb[0] / best, with_bomb[1] / min(slow for _, slow in alone)

    def keep_going(self, command, path, over):
        while not over.is_set():
            (path / "shown/stamp").write_bytes(bytes(4096))
            process = subprocess.Popen(command, cwd=path, env=self.environment(path),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            while process.poll() is None:
                if over.wait(0.01):
                    process.send_signal(signal.SIGTERM)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(0.2)
                    process.send_signal(signal.SIGTERM)
                    process.wait(TIMEOUT_S)


class Neighbour:
    def __init__(self, words, environment, cwd):
        self.process = subprocess.Popen(words, env=environment, cwd=cwd, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def speed(self):
        out, _ = self.process.communicate(timeout=TIMEOUT_S)
        result = json.loads(out)
        rate, _, slow = map(float, result["stdout"].split())
        return rate, slow
