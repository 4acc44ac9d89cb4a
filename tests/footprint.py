"""What a process of ours and the machine hold, to be compared before and after many boxes.

    before = footprint.steady(pid)
    ...
    footprint.grown(before, footprint.settled(before, pid, boxes), boxes)    # {} when nothing was left by each box

Two kinds of figures: what belongs to Ringfort alone (descriptors and mounts of the process, groups,
records), which must be what it was; and what the whole machine counts (namespaces, kernel memory), of
which others may take some meanwhile, so that growth counts only where it is a share of every box.
"""
import os
import pathlib
import time

SLABS = ("net_namespace", "user_namespace", "pid_namespace", "uts_namespace", "mnt_cache",
         "mem_cgroup", "task_struct", "pid", "filp", "shmem_inode_cache")
KERNEL_KIB = ("SUnreclaim", "KernelStack", "PageTables", "Percpu")
# How much each may grow, once and with every box: a leak is a whole object for each of them.  What is
# not named here may not grow at all.
MAY_GROW = {
    **{f"machine: {name}": (100, 0.5) for name in SLABS},
    "machine: kernel KiB": (4096, 2.0),
    "machine: memory groups": (50, 0.2),
    "host: groups": (8, 0.02),    # others may run boxes at the same time
    "host: records": (8, 0.02),
    "process: KiB": (256, 0.01),  # buffers find their size
}

# Anybody's: a few boxes' share of these is lost in what others do.
COMMON = {f"machine: {name}" for name in ("kernel KiB", "filp", "pid", "task_struct", "mnt_cache",
                                          "shmem_inode_cache")}
FEW = 5000


def slabs():
    """Objects in use, by kind; root can tell."""
    try:
        lines = pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]
    except OSError:
        return {}
    return {name: int(used) for name, used, *_ in map(str.split, lines) if name in SLABS}


def kernel_kib():
    rows = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return sum(int(rows[key].split()[0]) for key in KERNEL_KIB if key in rows)


def groups():
    """Groups of boxes, in all hierarchies."""
    return sum(any(part.startswith("ringfort") for part in path.split("/"))
               for path, _, _ in os.walk("/sys/fs/cgroup"))


def memory_groups():
    """All that the machine has, those included that were removed and still hold pages."""
    for line in pathlib.Path("/proc/cgroups").read_text().splitlines():
        if line.startswith("memory\t"):
            return int(line.split()[2])
    return 0


def private_kib(pid):
    return sum(int(line.split()[1]) for line in
               pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
               if line.startswith("Private_"))


def descendants(pid):
    """Processes below one, and itself."""
    below = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        below.setdefault(int(parent), []).append(int(name))
    found, todo = [pid], [pid]
    while todo:
        children = below.get(todo.pop(), [])
        found += children
        todo += children
    return found


def take(pid, records="/run/ringfort/boxes"):
    """The footprint of a process with all below it, and of the machine."""
    found = {
        "process: descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "process: mounts": len(pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()),
        "process: processes": len(descendants(pid)),
        "process: KiB": private_kib(pid),
        "host: mounts": len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines()),
        "host: groups": groups(),
        "host: records": len(os.listdir(records)) if os.path.isdir(records) else 0,
        "machine: kernel KiB": kernel_kib(),
        "machine: memory groups": memory_groups(),
    }
    return {**found, **{f"machine: {name}": count for name, count in slabs().items()}}


def steady(pid, seconds=10, **more):
    """The footprint once the process has finished what it does ahead: boxes that stand ready."""
    until, last, since = time.monotonic() + seconds, None, time.monotonic()
    while time.monotonic() < until:
        now = (len(descendants(pid)), len(os.listdir(f"/proc/{pid}/fd")))
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 0.5:
            break
        time.sleep(0.05)
    return take(pid, **more)


def grown(before, after, boxes):
    """What grew more than it may: {name: (before, after)}."""
    found = {}
    for name, old in before.items():
        once, each = MAY_GROW.get(name, (0, 0))
        if boxes < FEW and name in COMMON:
            continue
        if after[name] - old > once + each * boxes:
            found[name] = (old, after[name])
    return found


def settled(before, pid, boxes, seconds=10, **more):
    """The footprint once the kernel has finished taking down, or after some seconds."""
    until = time.monotonic() + seconds
    while True:
        after = take(pid, **more)
        if not grown(before, after, boxes) or time.monotonic() > until:
            return after
        time.sleep(0.2)
