"""Runs commands whose output is read when they have ended, and ends all of them when the check is given up."""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "check"
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
PROGRAM_TIMEOUT_S = 900
SUITE_TIMEOUT_S = 1800
# Before a command that has what others leave of the processors.  Where the scheduler groups processes by session, as it
# does on most machines, niceness counts in a session alone, and it is the session that must be nice to others.
IN_RESERVE = ["sh", "-c", "{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 \"$@\"", "sh"]
RUNNING = set()  # commands, each the head of a process group
USED = collections.Counter()  # seconds of processor time, by thread
AT_END = []      # what is called when the check is given up


def run(command, log, timeout_s=PROGRAM_TIMEOUT_S, env=None):
    """Runs a command in a process group of its own; gives its exit code and its whole output.

    The output goes through a file, so that it can be read there while the command runs, and so
    that a process that was left behind can't keep us waiting at a pipe.
    """
    path = LOGS / f"{log}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as output:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **(env or {})}, start_new_session=True)
        RUNNING.add(process)
        late = threading.Timer(timeout_s, end, (process, output, timeout_s))
        late.start()
        _, status, used = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        RUNNING.discard(process)
    USED[threading.get_ident()] += used.ru_utime + used.ru_stime
    return process.returncode, path.read_text(errors="replace")


def end(process, output, timeout_s):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
        output.write(f"\ncheck: ended after {timeout_s} s\n".encode())


def give_up(number, _):
    """Ctrl-C and the like: ends everything at once."""
    for process in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for clean_up in AT_END:
        clean_up()
    os._exit(128 + number)


def has(program):
    return shutil.which(program) is not None


def processor_time_s():
    """Of all commands that this thread has run until now, those included that they waited for."""
    return USED[threading.get_ident()]
