"""What is left behind: processes, mounts, control groups and files of ours that were not there before."""
import os
import pathlib
import time

from commands import BUILD
from results import Case


def left_processes():
    """Processes that run a program of ours: from this build folder, or by name."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            start = (folder / "stat").read_text().rpartition(")")[2].split()[19]
            program = os.readlink(folder / "exe")
        except OSError:  # gone, a kernel thread, or not ours to see
            continue
        if name.startswith("ringfort") or program.startswith(f"{BUILD}/"):
            found.add(f"process {folder.name} ({name}, {program}, started at {start})")
    return found


def left_mounts():
    lines = pathlib.Path("/proc/self/mountinfo").read_text().split("\n")
    return {f"mount {line}" for line in lines if "ringfort" in line}


def is_empty(group):
    """Without a process, as far as can be seen: one with some is told as a process that was left, if it is ours, or is another checkout's."""
    try:
        return not pathlib.Path(group, "cgroup.procs").read_text().strip()
    except OSError:
        return False


def left_cgroups():
    """Groups of boxes, wherever they lie, in which nothing runs."""
    return {f"cgroup {path}/{name}" for path, folders, _ in os.walk("/sys/fs/cgroup")
            for name in folders if name.startswith("ringfort-") and is_empty(f"{path}/{name}")}


def left_files():
    places = [("/tmp", "ringfort*"), ("/dev/shm", "ringfort*"), ("/run/ringfort/boxes", "*")]
    return {f"file {path}" for folder, pattern in places
            for path in pathlib.Path(folder).glob(pattern)}


TRACES = {
    "no process is left behind": left_processes,
    "no mount is left behind": left_mounts,
    "no cgroup is left behind": left_cgroups,
    "no file is left behind": left_files,
}


def look():
    return {name: find() for name, find in TRACES.items()}


def left_since(before):
    """What there is now and was not before; the kernel has a moment to finish taking down."""
    cases = []
    for name, find in TRACES.items():
        deadline = time.monotonic() + 10  # others' boxes come and go on the same machine
        while (found := find() - before[name]) and time.monotonic() < deadline:
            time.sleep(0.1)
        cases.append(Case(name, "failed" if found else "passed", "\n".join(sorted(found))))
    return cases
