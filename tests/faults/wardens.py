"""Faults and kills where a warden builds the box: the client, the warden and pid 1, at every call of each.

A warden is started under inject, and one client, `ringfort run`, asks it for a box.  Its own calls and those of the
children that raise the walls count; what they are is listed by a run without a fault.
"""
import collections
import errno
import os
import signal
import socket
import subprocess
import time

from judge import KINDS, Verdict, facts, judge
from stage import GRACE_S, IS_ROOT, Run, call_names
from sweep import NEVER_FAIL, Call, Case

START_S, END_S = 5, 8


class Warden:
    """A standing warden, under inject where there are options for it."""

    def __init__(self, stage, options=None, ahead=0):
        self.stage = stage
        self.report = stage.base / "report"
        self.report.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)  # of one that was killed
        warden = str(stage.base / "bin/ringfort-warden")
        words = [warden, "--standing", "--ahead", str(ahead)]
        if options is not None:
            user = ["-u", str(stage.uid)] if IS_ROOT and stage.uid else []
            words = [stage.inject, *user, "-b", warden, "-p", str(stage.work / "inside"), "-t", "20", "-g",
                     str(GRACE_S), "-o", str(self.report), *options, "--", *words]
        else:
            words = [*stage.as_user, *words]
        self.is_traced = options is not None
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, cwd=stage.work, env=stage.env)
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None and not self.is_there():
            time.sleep(0.002)

    @property
    def path(self):
        return self.stage.records.parent / "warden.sock"

    @property
    def note(self):
        """It is written last, and no client asks before."""
        return self.path.with_name("warden.self")

    def is_there(self):
        if not self.note.exists():
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            try:
                one.connect(str(self.path))
                return True
            except OSError as problem:
                return problem.errno not in (errno.ENOENT, errno.ECONNREFUSED)

    @property
    def pid(self):
        """Of the warden itself."""
        if not self.is_traced:
            return self.process.pid
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        return int(children[0]) if children else None

    def end(self, number=signal.SIGTERM):
        """Ends it; gives what it said on standard error."""
        try:
            pid = self.pid
            if pid and self.process.poll() is None:
                os.kill(pid, number)
        except OSError:
            pass
        try:
            return self.process.communicate(timeout=END_S)[1].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return "did not end when it was asked to"


class WardenSweep:
    """One client's run by a warden, with faults and kills in the warden."""

    def __init__(self, who, stage):
        self.who, self.stage, self.variant = who, stage, "plain"
        self.names = call_names()
        self.cases, self.swept = [], 0
        self.ask(None)  # the first one makes files that stay
        self.stage.before = self.stage.look()
        self.reference, said = self.ask(["-l"])
        if self.reference.code != 0 or not self.reference.started:
            raise RuntimeError(f"no run by a warden: {self.reference.out} {self.reference.err} {said}")
        self.reference_calls = []
        for line in self.reference.calls:
            at, number, phase, text = (line.split(" ", 3) + [""])[:4]
            self.reference_calls.append(Call(at, self.names.get(int(number), number), phase, text))
        self.calls = [call for call in self.reference_calls if call.name not in NEVER_FAIL]

    def ask(self, options, client_options=None):
        """A run by a warden under inject; gives it, with what the warden said."""
        warden = Warden(self.stage, options)
        words = self.stage.words(self.variant)
        if client_options is None:
            words = [*self.stage.as_user, *words]
        else:
            user = ["-u", str(self.stage.uid)] if IS_ROOT and self.stage.uid else []
            words = [self.stage.inject, *user, "-b", self.stage.ringfort, "-t", "10", "-g", str(GRACE_S), "-o",
                     str(self.stage.base / "client-report"), *client_options, "--", *words]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.stage.work,
                                  env=self.stage.env, timeout=15, check=False)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, err = -1, b"", b"the client hangs"
        said = warden.end()
        report = warden.report.read_bytes() if warden.report.exists() else b""
        run = Run(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), report)
        if code == -1:
            run.late.append("hang of the client")
        return run, said

    def clean_up(self):
        if not self.stage.leftovers():
            return set()
        if self.stage.settle(0.01):
            self.swept += 1
            self.stage.start_next()
        return self.stage.settle(GRACE_S)

    def judge(self, run):
        """A client whose warden was not there, or refused, makes its box itself: that one is not looked at by inject."""
        if run.code == 0 and not run.started and not run.late and not run.crashes and run.hit is not None:
            wanted, seen = facts(self.reference), facts(run)
            different = [name for name in wanted if name.startswith("inside") and wanted[name] != seen.get(name)]
            return Verdict("FAILED" if different else "stood", f"the client's own box: {different}")
        return judge(self.reference, run)

    def command(self, call, name):
        return f"tests/faults/run --who {self.who} --warden --at {call.at} --errno {name}"

    def try_one(self, call, name):
        for _ in range(2):
            run, said = self.ask(["-n", call.at, "-e", str(getattr(errno, name))])
            verdict = self.judge(run)
            left = self.clean_up()
            self.stage.before |= left
            if left:
                verdict = Verdict("FAILED", f"left behind: {sorted(left)} ({verdict.kind}: {verdict.story})")
            if verdict.kind != "unreached" and not run.late:
                break
        self.cases.append(Case(call, name, verdict, left))
        return self.cases[-1], run

    def score(self):
        count = collections.Counter(case.verdict.kind for case in self.cases)
        return {kind: count[kind] for kind in KINDS}

    def tell(self, case):
        return (f"{case.call.at} {case.call.name} {case.call.text} {case.errno}: {case.verdict.story}\n"
                f"    {self.command(case.call, case.errno)}")

    def kill(self, call, victims):
        """Kills the warden, pid 1 or all at a call of the warden's; gives what is wrong, or ""."""
        run, _ = self.ask(["-n", call.at, "-k", victims])
        return self.wrong(run, f"tests/faults/run --who {self.who} --warden --at {call.at} --kill {victims}")

    def kill_client(self, number):
        """Kills the client at its call `number`."""
        run, _ = self.ask([], ["-n", f"0:{number}", "-k", "launcher"])
        return self.wrong(run, f"client at {number}")

    def wrong(self, run, what):
        story = "; ".join(run.late + [f"crash of {crash}" for crash in run.crashes])
        if run.code == 0 and "all tried" not in run.inside:
            story += " the client says that all went well, and the output is not whole"
        if run.code not in (0, 137) and not run.error:
            story += f" exit code {run.code} without an error: {run.err!r}"
        left = self.clean_up()
        self.stage.before |= left
        if left:
            story += f" left behind: {sorted(left)}"
        return f"{what}: {story}" if story else ""
