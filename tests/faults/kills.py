"""SIGKILL at every call of a run, and at random instants: nothing of it is left.

At a call, by inject: exact, and the same each time.  At an instant, without it: as it happens.  The victims are the
launcher; its janitor, which cleans up after a launcher that was killed; both of them; pid 1 of the box.  Within two
seconds, or after the next start, there is no process, mount, control group, record, lock or file left.
"""
import collections
import os
import random
import signal
import time

from judge import Verdict
from stage import GRACE_S

VICTIMS = ["launcher", "janitor", "launcher,janitor", "init"]
SOON_S, LONG_S = 0.006, 0.09  # the start of a box; all of a run that has a janitor

Kill = collections.namedtuple("Kill", "at victims verdict was_there")


def judge_kill(run, victims):
    """What is wrong with a run in which these were killed, as far as it can tell itself."""
    if run.late:
        return "; ".join(run.late)
    if run.crashes:
        return "crash of " + ", ".join(run.crashes)
    if not run.killed or "launcher" in victims:
        return ""
    if victims == "janitor" and run.code != 0:
        return f"without its janitor the run failed: exit code {run.code}, {run.error!r}"
    if victims == "init" and run.code == 0 and "all tried" not in run.inside:
        return "pid 1 was killed, and the run says that all went well"
    return ""


def at_call(sweep, call, victims):
    """Kills when the call `call` of the sweep's variant is entered."""
    run = sweep.stage.run(sweep.variant, ["-n", call.at, "-k", victims])
    story = judge_kill(run, victims)
    left = sweep.clean_up()
    sweep.stage.before |= left
    if left:
        story = f"left behind: {sorted(left)} {story}"
    return Kill(call.at, victims, Verdict("FAILED" if story else "clean", story), bool(run.killed))


def janitor_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read() == "ringfort-clean\n":
                    return int(child)
    except OSError:
        pass
    return None


def at_instant(sweep, source):
    """Kills at a moment that `source`, a random.Random, chooses."""
    victims = source.choice(["launcher", "launcher", "janitor", "launcher,janitor"])
    wait_s = source.uniform(0, SOON_S if source.random() < 0.5 and victims == "launcher" else LONG_S)
    process = sweep.stage.start(sweep.variant)
    time.sleep(wait_s)
    janitor = janitor_of(process.pid) if "janitor" in victims else None
    was_there = process.poll() is None
    for pid in ([process.pid] if "launcher" in victims else []) + ([janitor] if janitor else []):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    story, end = "", time.monotonic() + GRACE_S
    while (alive := sweep.stage.processes()) and time.monotonic() < end:
        time.sleep(0.002)
    if alive:
        story = f"processes {alive} live on"
    left = sweep.clean_up()
    sweep.stage.before |= left
    if left:
        story = f"left behind: {sorted(left)} {story}"
    return Kill(f"{wait_s * 1000:.2f} ms", victims, Verdict("FAILED" if story else "clean", story), was_there)


def instants(sweep, count, seed):
    source = random.Random(seed)
    for _ in range(count):
        yield at_instant(sweep, source)


def every_call(sweep, victims):
    for call in sweep.reference_calls:
        yield at_call(sweep, call, victims)
