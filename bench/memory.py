"""What a box that does nothing holds: the memory of its processes and the kernel's for it.

Counted for many at once and divided: the proportional set size (PSS) of every process that came with
them, and by how much the kernel's own memory grew.  The bench is the reaper of all that it starts, so
whatever a contender leaves in the background counts, too.
"""
import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
QUIET_S = 5  # how long one measurement waits for a quiet machine
KERNEL = ("Slab", "KernelStack", "PageTables", "Percpu")


def wait_quiet(limit_s):
    """Waits for a tenth of a second in which the processors were nearly idle."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        before = ticks()
        time.sleep(0.1)
        busy, every = (new - old for new, old in zip(ticks(), before))
        if busy * 10 <= every:
            return


def ticks():
    """Busy and all ticks of the processors."""
    words = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    idle = int(words[3]) + int(words[4])
    return sum(map(int, words)) - idle, sum(map(int, words))


def become_reaper():
    """Orphans of ours come to us and not to the machine's init: see descendants()."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def zombies():
    return {pid for pid in descendants() if state_of(pid) == "Z"}


def reap():
    """Ends the zombies among the orphans.  Children that somebody waits for are not touched."""
    for pid in children_of(os.getpid()):
        if pid not in KNOWN and state_of(pid) == "Z":
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


KNOWN = set()  # children that have a Popen


def status_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return "", "", 0
    head, _, rest = text.rpartition(")")
    words = rest.split()
    return head.partition("(")[2], words[0], int(words[1])


def state_of(pid):
    return status_of(pid)[1]


def tree():
    """Every process's children."""
    below = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            below.setdefault(status_of(name)[2], []).append(int(name))
    return below


def children_of(pid):
    return tree().get(pid, [])


def descendants(pid=None):
    """All processes below one, by default below us."""
    below, found = tree(), []
    todo = [pid or os.getpid()]
    while todo:
        children = below.get(todo.pop(), [])
        found += children
        todo += children
    return found


def pss_kib(pids):
    total = 0
    for pid in pids:
        try:
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n"):
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            pass  # a zombie, or gone
    return total


def kernel_kib():
    rows = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return sum(int(rows[key].split()[0]) for key in KERNEL if key in rows)


def end(processes, before):
    """Ends the sleepers, and what is still there afterwards, in three steps.

    A runtime whose program ended cleans up by itself; one that keeps the program in a kernel of its
    own must be told.
    """
    for step in ("sleep", signal.SIGTERM, signal.SIGKILL):
        for pid in set(descendants()) - before:
            try:
                if step == "sleep" and status_of(pid)[0] == "sleep":
                    os.kill(pid, signal.SIGKILL)
                elif step != "sleep":
                    os.kill(pid, step)
            except ProcessLookupError:
                pass
        until = time.monotonic() + 3
        while time.monotonic() < until and set(descendants()) - before - zombies():
            for process in processes:
                process.poll()
            time.sleep(0.1)
    for process in processes:
        process.wait()
        KNOWN.discard(process.pid)
    reap()


def measure(commands, env, cwd, settle_s, wrap=()):
    """KiB for each of these commands, all running at once: (processes', kernel's).

    The kernel's memory is read before anybody looks into /proc, which fills caches of its own.
    """
    wait_quiet(QUIET_S)
    before = set(descendants())
    user = pss_kib(before)
    time.sleep(settle_s / 2)
    kernel = kernel_kib()
    processes = []
    try:
        for command in commands:
            process = subprocess.Popen([*wrap, *command], env=env, cwd=cwd,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            KNOWN.add(process.pid)
            processes.append(process)
        time.sleep(settle_s)
        kernel = kernel_kib() - kernel
        now = set(descendants())
        user = pss_kib(now) - user
        # A command that goes into the background has ended well.
        failed = sum(process.poll() not in (None, 0) for process in processes)
        if failed or len(now - before) < len(commands):
            raise OSError(f"{failed} of {len(commands)} did not stay")
        return user / len(commands), kernel / len(commands)
    finally:
        end(processes, before)
