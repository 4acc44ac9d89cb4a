"""The power goes out, from the host's side: machines that are ended at random instants, one after the other, on one disk.

The machine is ended as a whole (SIGKILL), so what the guest's kernel had not yet given to the disk is lost; what it had given, the disk has.
outage.py is what goes on inside, and says what was promised; here it is held against what the next boot finds.
"""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

DISK_BYTES = 512 << 20
BOOT_S, WORK_S = 240, (1.0, 6.0)
MOST_LOST_MS = 500  # of the guest's time: it syncs every 50 ms, and here a sync takes its time as well


class Outage:
    """What one boot found of those before it, and what it was promised until its end."""

    def __init__(self):
        self.log, self.points, self.events = None, None, {}
        self.acked, self.kept, self.said = [], [], []

    def hear(self, line):
        word, _, rest = line.partition(" ")
        if word == "acked":
            self.acked.append(tuple(map(int, rest.split())))
        elif word == "kept":
            self.kept.append(tuple(rest.split()))
        elif word == "log":
            self.log = json.loads(rest)
        elif word == "points":
            self.points = json.loads(rest)
        elif word == "events":
            told = json.loads(rest)
            self.events[told["boot"]] = told
        else:
            self.said.append(line)


def go(machine, work_s):
    """One boot; ended after so many seconds of work, or by itself where that is None."""
    outage, until = Outage(), time.monotonic() + BOOT_S
    try:
        for line in machine.lines(lambda: until):
            if line is None or line == "# down":
                break
            outage.hear(line)
            if len(outage.acked) + len(outage.kept) == 1 and line.startswith(("acked", "kept")) and work_s is not None:
                until = time.monotonic() + work_s
    finally:
        machine.end()
    return outage


def lost_ms(before, found):
    """Of what was acknowledged, for how long before the end it is missing."""
    late = [ms for number, ms in before.acked if number > found]
    return before.acked[-1][1] - late[0] if late else 0


def judge(tally, name, number, before, after):
    """Holds what a boot found against what the one before it was promised."""
    what = f"{name}: outage {number}"
    found = after.events.get(number, {"count": 0, "whole": True})
    lost = lost_ms(before, found["count"])
    tally.case(bool(after.log and after.log["good"]), f"{what}: the log verifies" +
               ("" if after.log and after.log["good"] else f" ({after.log} {after.said[-12:]})"))
    if before.acked:
        tally.case(found["whole"] and lost <= MOST_LOST_MS,
                   f"{what}: {before.acked[-1][0]} events acknowledged, {found['count']} there in their order, missing from the last "
                   f"{lost} ms")
    if before.kept:
        names = after.points["names"] if after.points else []
        missing = [kept for kept, _ in before.kept if kept not in names]
        last = after.points and after.points["last"]
        tally.case(not missing, f"{what}: {len(before.kept)} checkpoints made with --sync are there" + (f", but not {missing}" if missing else ""))
        tally.case(bool(last) and after.points["holds"] == last.partition("-")[2],
                   f"{what}: the last one holds what it held" + (f" ({after.points} {after.said[-12:]})" if not last else ""))


def run(name, count, qemu, boot, tally):
    """So many outages.  `qemu` makes a command of the kernel's words, `boot` a machine of a command."""
    with tempfile.TemporaryDirectory(prefix="rf-vm-") as folder:
        disk = pathlib.Path(folder) / "disk"
        with open(disk, "wb") as file:
            os.truncate(file.fileno(), DISK_BYTES)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", disk], check=True)
        drive = ["-drive", f"file={disk},if=none,id=disk,format=raw,cache=writeback", "-device", "nvme,drive=disk,serial=1"]
        before = None
        for number in range(count + 1):
            is_last = number == count
            words = f"rf.scene={name} rf.outage={number}" + (" rf.last" if is_last else "")
            outage = go(boot([*qemu(words), *drive]), None if is_last else random.uniform(*WORK_S))
            if not is_last and not outage.acked and not outage.kept:
                tally.case(False, f"{name}: boot {number} begins its work ({outage.said[-12:]})")
                break
            if before:
                judge(tally, name, number - 1, before, outage)
            before = outage
