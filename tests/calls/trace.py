"""Which system calls the programs of one box make: strace from outside, read back.

A box refuses ptrace, so strace follows the launcher into it.  Of what it writes, the launcher's own
calls, pid 1's, and those of the program before it is executed are left out.
"""
import collections
import json
import re
import subprocess
import tempfile

LINE = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$")
# A call's result; strace adds what a pid of the box is outside.
RESULT = re.compile(r"= (-?\w+)(?: (E[A-Z0-9]+))?[^=]*?(?:/\* (\d+) in strace's PID NS \*/)?$")
BIRTHS = ("clone", "clone3", "fork", "vfork")

# calls: how often each was made; failed: {call: {errno: how often}}.
Trace = collections.namedtuple("Trace", "calls failed")


def read_trace(lines):
    """The calls of a box's programs, in the output of `strace -f` of its launcher."""
    launcher = init = program = None
    outside, made = set(), []  # pids; (pid, call, errno)
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        pid, call, rest = int(match[1]), match[2], match[3]
        launcher = launcher or pid
        result = RESULT.search(rest)
        errno = result and result[2]
        if call in BIRTHS and result and not errno and pid in (launcher, *outside) and pid != init:
            outside.add(int(result[3] or int(result[1], 0)))
        if call in BIRTHS and result and not errno and pid == init and not program:
            program = int(result[3] or -1)
        if call == "execveat" and init is None and "ringfort-init" in rest:
            init = pid
        if "resumed>" in line or "<unfinished" not in line:
            made.append((pid, call, errno, line))
    return launcher, init, program, outside, made


def count(lines):
    launcher, init, program, outside, made = read_trace(lines)
    calls, failed = collections.Counter(), collections.defaultdict(collections.Counter)
    has_begun = False
    for pid, call, errno, _ in made:
        if pid in (launcher, init) or pid in outside:
            continue
        if pid == program and not has_begun:
            has_begun = call == "execve" and not errno
            continue
        calls[call] += 1
        if errno:
            failed[call][errno] += 1
    return Trace(calls, failed)


def trace(command, timeout_s, **options):
    """Runs `command`, a launcher with `--json`; gives its result and the trace of the box."""
    with tempfile.NamedTemporaryFile("r", prefix="rf-trace-", errors="replace") as log:
        # Numbers are shown raw, which is fast; but for what tells the tree of processes.
        raw = "raw=!execve,execveat,clone,clone3,fork,vfork"
        done = subprocess.run(["strace", "-f", "-qq", "--pidns-translation", "-s", "16", "-e", raw, "-e",
                               "signal=none", "-o", log.name, *command], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout_s, check=False, **options)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"no result: {done.stdout[-300:]!r} {done.stderr[-600:]!r}") from None
        return result, count(log)
