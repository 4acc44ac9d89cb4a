"""Every bomb stops at its limit, dies at once, and leaves the host and its neighbours alone.

    RINGFORT_BOMBS=all    all of them, in every kind of box, several times; else one of each sort
    RINGFORT_SLOW=40      a machine is so much slower than ours, where it is emulated: dying takes so much longer

Judged from outside: see blast.py.  Other programs run on the host meanwhile, and what they do can
look like the bomb's doing, but never undo it: a bomb has some tries, and must be held in one of them.
One that is not held goes beyond in the first of them.  A hundred milliseconds are those of a machine at rest.
"""
import os
import statistics
import time

import pytest

from blast import IS_ROOT
from catalogue import BOMBS, BY_NAME, DEATH_MS, FEW, FEWER, HARD, MIB, MODES, SLACK, SLOW, NotHeld

IS_WHOLE = os.environ.get("RINGFORT_BOMBS") == "all"
TRIES = 6
APART_S = 0 if IS_WHOLE else 2  # more before each: what others do on this machine takes seconds, and six tries in a row would all meet it
ENOUGH = 3 if IS_WHOLE else 1  # that went well, to tell the usual from the exceptional
KILLED = {"memory", "cpu", "timeout", "output"}
# How much of its speed a neighbour keeps, by the bomb's share of the two processors.
SPEED = {"50%": 0.8, "100%": 0.6}
BESIDE = ["forks", "spin", "spin-threads", "spin-nice", "spin-realtime", "spin-yield", "spin-membarrier",
          "spin-mappings", "churn", "anonymous-many", "huge-pages-many", "page-tables", "mappings", "pipes",
          "unix-streams", "tcp", "file-memory", "missing-names", "output"]
BESIDE_FEW = ["forks", "spin", "huge-pages-many"]


def picked():
    for mode in MODES:
        if mode in HARD and not IS_ROOT:
            continue
        names = [bomb.name for bomb in BOMBS] if IS_WHOLE else \
            FEW if mode in ("root", "user") else FEWER
        for name in names:
            if BY_NAME[name].ends[mode] is not None:
                yield pytest.param(mode, name, id=f"{mode}-{name}")


def size(text):
    return int(text[:-1]) * {"M": MIB, "G": 1024 * MIB}[text[-1]]


def memory_limit(bomb):
    options = bomb.options
    return size(options[options.index("--memory") + 1]) if "--memory" in options else 512 * MIB


def task_limit(bomb):
    options = bomb.options
    return int(options[options.index("--pids") + 1]) if "--pids" in options else 256


def faults(bomb, mode, shot, ends):
    """What was not as promised: an empty list if it was held."""
    found = []
    end = "kept" if shot.end == "beyond" and "kept" in ends else shot.end
    most = memory_limit(bomb) + SLACK
    if end not in ends:
        found.append(f"it ended by {shot.end!r}, not by {ends}")
    if end in KILLED and (shot.death_ms is None or shot.death_ms > DEATH_MS * shot.crowd):
        found.append(f"the last of it was dead after {shot.death_ms} ms")
    if shot.tasks > task_limit(bomb):
        found.append(f"it had {shot.tasks} tasks")
    if mode in HARD and shot.drop > most:
        found.append(f"the host had {shot.drop / MIB:.0f} MiB less, the limit is {memory_limit(bomb) / MIB:.0f}")
    if mode in HARD and shot.kernel > most:
        found.append(f"the kernel had {shot.kernel / MIB:.0f} MiB more")
    if shot.left:
        found.append(f"left behind: {shot.left}")
    return found


def figures(bomb, shots):
    deaths = [shot.death_ms for shot in shots if shot.death_ms is not None]
    return {
        "end": shots[-1].end,
        "death_ms": round(statistics.median(deaths), 1) if deaths and shots[-1].end in KILLED else None,
        "drop": min(shot.drop for shot in shots),
        "kernel": min(shot.kernel for shot in shots),
        "tasks": max(shot.tasks for shot in shots),
        "amount": max(shot.amount for shot in shots) / bomb.limit,
        "tries": len(shots),
        "crowd": statistics.median(shot.crowd for shot in shots),
    }


def enter(book, bomb, mode, ok, seen, test="held"):
    book.append({"test": f"{bomb.name} {test}", "mode": mode, "ok": ok, "bomb": bomb.name, "seen": seen})


@pytest.mark.matrix(tags=lambda parameters: {parameters["mode"], parameters["name"]})
@pytest.mark.parametrize("mode, name", picked())
def test_a_bomb_is_held(field, book, mode, name):
    bomb = BY_NAME[name]
    ends = bomb.ends[mode]
    is_held = not isinstance(ends, NotHeld)
    good, bad, found = [], [], []
    for _ in range(TRIES):
        shot = field.in_box(bomb, mode)
        found = faults(bomb, mode, shot, ends if is_held else KILLED)
        (bad if found else good).append(shot)
        if len(good) == ENOUGH or (not is_held and bad):
            break
    enter(book, bomb, mode, bool(good), figures(bomb, good or bad))
    if not is_held and not good:
        pytest.xfail(ends.why)
    assert is_held, f"it is held now, and the catalogue says that it is not: {good}"
    assert good, f"{'; '.join(found)}\n{bad[-1]}"


@pytest.mark.parametrize("name", [bomb.name for bomb in BOMBS] if IS_WHOLE else FEW)
def test_without_a_box_it_goes_beyond_the_limit(field, book, name):
    bomb = BY_NAME[name]
    shot = field.outside(bomb)
    enter(book, bomb, "none", shot.end == "beyond", figures(bomb, [shot]), test="without a box")
    assert shot.end == "beyond" and shot.amount >= bomb.cap > bomb.limit, shot


@pytest.mark.skipif(not IS_ROOT, reason="only a cgroup limits a box's share of the processors")
@pytest.mark.parametrize("share", ["50%", "100%"] if IS_WHOLE else ["50%"])
@pytest.mark.parametrize("name", BESIDE if IS_WHOLE else BESIDE_FEW)
def test_a_neighbour_keeps_its_speed(field, book, name, share):
    bomb = BY_NAME[name]
    seen = []
    for i in range(TRIES):
        time.sleep(i * APART_S)
        seen.append(field.beside(bomb, "root", share))
        if sum(speed >= SPEED[share] for speed, _ in seen) >= ENOUGH:
            break
    best = sorted(seen)[-ENOUGH:]
    speed = statistics.median(speed for speed, _ in best)
    slow = statistics.median(slow for _, slow in best)
    enter(book, bomb, "root", speed >= SPEED[share],
          f"{speed:.2f} of its speed beside a box with {share}, slowest hundredth {slow:.1f} times as slow",
          test=f"neighbour {share}")
    book[-1]["speed"] = {share: [round(speed, 2), round(slow, 1)]}
    assert speed >= SPEED[share], seen


@pytest.mark.parametrize("mode", [mode for mode in MODES if IS_ROOT or mode not in HARD])
def test_output_that_nobody_takes_costs_no_memory_and_ends_in_time(field, book, mode):
    """A reader that takes a little now and then, while the box writes as fast as it can."""
    shot = field.slowly_read(mode, seconds=1)
    ok = shot.result_code == 124 and shot.launcher_peak < 16 * MIB
    enter(book, BY_NAME["output"], mode, ok, f"ended by time after {shot.seconds:.2f} s, launcher had "
          f"{shot.launcher_peak / MIB:.1f} MiB", test="slow reader")
    assert ok and shot.seconds < 2 + SLOW, shot
