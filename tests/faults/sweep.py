"""Faults at every system call of a run: which there are, what becomes of each, and how to see one again."""
import collections
import errno
import random
import time

from judge import KINDS, Verdict, judge
from stage import GRACE_S, VARIANTS, Stage, call_names

# Why these: a security module or a container refuses; the kernel has no memory; it is too old to know a flag; a
# table of its own, a disk or a number of namespaces is full; a signal came.
ERRNOS = ["EPERM", "ENOMEM", "EINVAL", "ENOSPC", "EINTR"]
# For a machine that never has a call: an old kernel, and a filter around everything.
ERRNOS_ALWAYS = ["ENOSYS", "EPERM"]
# These always succeed, the manual says; inject lets them.
NEVER_FAIL = {"exit", "exit_group", "rt_sigreturn", "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid",
              "getegid", "umask", "set_tid_address"}

# Without these nothing can be said, awaited or ended.
NEEDED = {"write", "wait4", "poll", "kill"}

Call = collections.namedtuple("Call", "at name phase text")
Case = collections.namedtuple("Case", "call errno verdict left")


class Sweep:
    """All faults of one variant, as one user."""

    def __init__(self, who, variant, stage=None):
        self.who, self.variant = who, variant
        self.stage = stage or Stage(who)
        self.names = call_names()
        self.cases, self.swept = [], 0
        self.stage.run(variant)  # the first run makes folders that stay
        self.reference = self.stage.run(variant, ["-l"])
        if self.reference.code != VARIANTS[variant].get("code", 0) or "all tried" not in self.reference.inside:
            raise RuntimeError(f"{variant} as {who} does not run: {self.reference.out} {self.reference.err}")
        self.reference_calls = [self.call(line) for line in self.reference.calls]
        self.calls = [call for call in self.reference_calls if call.name not in NEVER_FAIL]

    def call(self, line):
        at, number, phase, text = (line.split(" ", 3) + [""])[:4]
        return Call(at, self.names.get(int(number), number), phase, text)

    def done(self):
        self.stage.done()

    def command(self, call, name, always=False):
        """The command that does it again."""
        return (f"tests/faults/run --who {self.who} --variant {self.variant} --at {call.at} --errno {name}"
                + (" --always" if always else ""))

    def try_one(self, call, name, always=False):
        options = ["-n", call.at, "-e", str(getattr(errno, name))] + (["-a"] if always else [])
        for _ in range(3):
            run = self.stage.run(self.variant, options)
            verdict = judge(self.reference, run)
            left = self.clean_up()
            self.stage.before |= left  # told of once
            if left:
                verdict = Verdict("FAILED", f"left behind: {sorted(left)} ({verdict.kind}: {verdict.story})")
            # What hangs on a machine that did something else for ten seconds does not hang again.
            if verdict.kind != "unreached" and not run.late:
                break
        hit = self.call(run.hit) if run.hit else call
        self.cases.append(Case(hit, name, verdict, left))
        return self.cases[-1], run

    def clean_up(self):
        """What is left after the run, and after the next start if there is anything."""
        if not self.stage.leftovers():
            return set()
        if self.stage.settle(0.01):
            self.swept += 1
            self.stage.start_next()
        return self.stage.settle(GRACE_S)

    def some(self, seconds, seed):
        """Faults in a random order, until the time is over."""
        end, source = time.monotonic() + seconds, random.Random(seed)
        cases = [(call, name) for call in self.calls for name in ERRNOS]
        source.shuffle(cases)
        for call, name in cases:
            if time.monotonic() > end:
                break
            yield self.try_one(call, name)[0]

    def every(self):
        for name in ERRNOS:
            for call in self.calls:
                yield self.try_one(call, name)[0]

    def in_turn(self):
        """Every call, with one error each: a fifth of all."""
        for number, call in enumerate(self.calls):
            yield self.try_one(call, ERRNOS[number % len(ERRNOS)])[0]

    def always(self):
        """The first call of each name, and all that follow: a machine that does not have it."""
        first = {}
        for call in self.calls:
            first.setdefault(call.name, call)
        for name in NEEDED:
            first.pop(name, None)
        for name in ERRNOS_ALWAYS:
            for call in first.values():
                case = self.try_one(call, name, always=True)[0]
                # Calls have other numbers where the launcher does what its second pair of hands did before.
                if case.call.name in NEEDED:
                    self.cases.remove(case)
                else:
                    yield case

    def score(self, phase=None):
        count = collections.Counter(case.verdict.kind for case in self.cases
                                    if phase in (None, case.call.phase))
        return {kind: count[kind] for kind in KINDS}

    def tell(self, case, always=False):
        """A failed case, and how to see it again."""
        return (f"{case.call.at} {case.call.name} {case.call.text} {case.errno}: {case.verdict.story}\n"
                f"    {self.command(case.call, case.errno, always)}")
