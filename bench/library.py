"""The library's benchmarks: boxes from a program that uses libringfort, with a warden of its own.

The program in the box is the smallest there is (true.c), so that what is measured is the box: every
wall, pid 1 and the proof, from the request until nothing of the box is left.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import memory
import page

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import footprint  # noqa: E402 # the tests' way to look for what is left

BOXES = int(os.environ.get("ROUNDS", 300)) * 5
STEADY = int(os.environ.get("STEADY", 60))
HELD = 200
HELD_TURNS = 3
IN_FLIGHT = 2 * os.cpu_count()  # one alone waits for its box while its warden waits for it
PAUSE_US = 10000
# What a box may have of the network: the name in the tables, and its policy.
KINDS = {
    "own network": "",
    "loopback off": "network: { loopback: off }\n",
}
FLOOR = "the kernel's steps alone"
OF_FLOOR = "the kernel's = 1"
TARGETS = {  # what the library is to reach on the machine that the figures are for
    "median paced": 0.9, "own network": 600, "loopback off": 600,
    "held own network": 350, "held loopback off": 350,
}


class Session:
    """A bench-library that has opened its forts and waits."""
    PROGRAM = "bench-library"

    def __init__(self, place, kind, *words):
        self.process = subprocess.Popen(
            [place.folder / "bin" / self.PROGRAM, *self.options(place, kind),
             *(str(word) for word in words)], cwd=place.folder / "bin",
            env=place.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        memory.KNOWN.add(self.process.pid)
        self.wardens = [int(word) for word in self.process.stdout.readline().split()]
        if not self.wardens:
            raise OSError(f"{self.PROGRAM} can make no boxes")

    @staticmethod
    def options(place, kind):
        return ["-d", place.folder / "bin/ringfort-warden",
                *(["-y", KINDS[kind]] if KINDS[kind] else [])]

    def go(self, quiet_s=memory.QUIET_S):
        memory.wait_quiet(quiet_s)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise OSError(f"{self.PROGRAM} failed")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *story):
        self.process.stdin.close()
        self.process.wait(60)
        memory.KNOWN.discard(self.process.pid)
        self.process.stdout.close()


class FloorSession(Session):
    """A bench-floor that waits; what makes its boxes is in the place of the wardens."""
    PROGRAM = "bench-floor"

    @staticmethod
    def options(place, kind):
        return [] if kind == "own network" else ["-l"]


def cpu_us(pid):
    """Processor time of a process and of all below it that has ended; boxes end below their warden."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * 1e6 / os.sysconf("SC_CLK_TCK")


def programs():
    """What must be there, in the build folder."""
    return [name for name in ("ringfort-warden", "bench-library", "bench-true",
                                   "bench-floor", "bench-floor-init")
            if not (ROOT / "build" / name).exists()]


def demand_every_wall(bench, facts):
    for kind in KINDS:
        with Session(bench.place, kind, "show", "./bench-true") as session:
            isolation = session.go()["isolation"]
        false = [fact for fact in facts if isolation["proof"].get(fact) is not True]
        if isolation["missing"] or false:
            sys.exit(f"bench: a box of the library's ({kind}) lacks a wall or a proof: "
                     f"{isolation['missing'] + false}")


# --- from request to result ---

def run_times(kind_of_session, bench, kind, *words):
    """What the session says, and the milliseconds of processor time for each box."""
    with kind_of_session(bench.place, kind, *words, "times", "./bench-true") as session:
        used = -cpu_us(session.wardens[0])
        found = session.go()
        used += cpu_us(session.wardens[0])
    return {**found, "used": used / 1e3 / found["rounds"]}


def both_halves(halves):
    return {"rounds": sum(half["rounds"] for half in halves),
            "least": min(half["least"] for half in halves),
            **{key: statistics.mean(half[key] for half in halves)
               for key in ("median", "p99", "used")}}


def time_row(name, found, floor):
    return [name, found["rounds"],
            *(page.figure(found[key]) for key in ("least", "median", "p99", "used")),
            page.figure(found["median"] / floor["median"])]


def times(bench):
    rows, steps = [], []
    for kind in KINDS:
        for name, pause, how in (("paced", PAUSE_US, ["-a"]), ("back to back", 0, [])):
            pace = ["-p", pause, "-n"]
            half = [FloorSession, bench, kind, *how, *pace, max(BOXES // 2, 1)]
            before = run_times(*half)
            found = run_times(Session, bench, kind, *pace, BOXES)
            floor = both_halves([before, run_times(*half)])
            rows += [time_row(f"{kind}, {name}", found, floor), time_row(FLOOR, floor, floor)]
            if name == "paced":
                bench.target("A ready box runs a program in less than a millisecond",
                              "bench/run library (times)", kind,
                              f"median {found['median']:.2f} ms; {FLOOR} {floor['median']:.2f}",
                              found["median"] <= TARGETS["median paced"])
            else:
                steps.append(before["steps_us"])
    bench.show("library-times", page.table(
        ["static `true` from the library, milliseconds", "boxes", "least", "median", "p99",
         "processor time", OF_FLOOR], rows))
    bench.show("floor-steps", page.table(
        [f"{FLOOR}, µs", *KINDS],
        [[step, *(page.figure(taken[step]) for taken in steps)] for step in steps[0]]))


# --- a minute at full speed, and what it leaves ---

def floor_rate(bench, kind):
    with FloorSession(bench.place, kind, "-w", IN_FLIGHT, "-s", max(STEADY // 6, 1), "rate",
                      "./bench-true") as session:
        return session.go()


def floor_rate_row(halves):
    seconds = [count for half in halves for count in half["by_second"]]
    return [FLOOR, f"{sum(seconds):,}", page.figure(statistics.mean(seconds)), None, None,
            f"{min(seconds)} to {max(seconds)}", "1"]


def rates(bench):
    rows, left = [], []
    for kind in KINDS:
        halves = [floor_rate(bench, kind)]
        with Session(bench.place, kind, "-w", IN_FLIGHT, "-s", STEADY, "rate",
                     "./bench-true") as session:
            before = [footprint.steady(pid) for pid in session.wardens]
            found = session.go()
            share = found["boxes"] / len(session.wardens)
            after = [footprint.settled(old, pid, share)
                     for old, pid in zip(before, session.wardens)]
        halves.append(floor_rate(bench, kind))
        floor = statistics.mean(half["per_second"] for half in halves)
        ten = max(STEADY // 6, 1)
        first, last = (sum(part) / ten for part in (found["by_second"][:ten],
                                                    found["by_second"][-ten:]))
        rows.append([kind, f"{found['boxes']:,}", page.figure(found["per_second"]),
                     page.figure(first), page.figure(last),
                     f"{min(found['by_second'])} to {max(found['by_second'])}",
                     page.figure(found["per_second"] / floor)])
        rows.append(floor_rate_row(halves))
        bench.target("Boxes at full speed for a minute, and no slower at its end",
                      "bench/run library (rate)", kind,
                      f"{found['per_second']:.0f} a second; first {ten} s {first:.0f}, "
                      f"last {last:.0f}; {FLOOR} {floor:.0f}",
                      found["per_second"] >= TARGETS[kind] and last >= 0.9 * first)
        left.append((kind, found["boxes"], before, after))
    bench.show("library-rate", page.table(
        [f"{STEADY} s on {os.cpu_count()} processors, {IN_FLIGHT} at a time", "boxes", "a second", "first sixth",
         "last sixth", "least and most in a second", OF_FLOOR], rows))
    show_left(bench, left)


def show_left(bench, left):
    """What the wardens and the machine held before and after."""
    rows = {}
    for kind, boxes, before, after in left:
        leaks = {}
        for old, new in zip(before, after):
            leaks.update(footprint.grown(old, new, boxes / len(before)))
        for name in before[0]:
            is_own = name.startswith("process")
            values = [sum(take[name] for take in takes) if is_own else takes[0][name]
                      for takes in (before, after)]
            rows.setdefault(name, [name.replace("process: ", "wardens: ")]).extend(
                f"{value:,}" for value in values)
        bench.promise("Boxes leave nothing behind", "bench/run library (rate)", kind,
                      f"{boxes:,} boxes; " + (", ".join(f"{name}: {old} to {new}" for name,
                                                        (old, new) in leaks.items())
                                              or "nothing grew"), not leaks)
    head = ["held"]
    for kind, boxes, _, _ in left:
        head += [f"before ({kind})", f"after {boxes:,}"]
    bench.show("library-left", page.table(head, rows.values()))


# --- boxes that do nothing ---

def wait_alone():
    """Until whatever earlier boxes left behind to be ended is gone: it would count as less than nothing."""
    until = time.monotonic() + 30
    while time.monotonic() < until and memory.descendants():
        memory.reap()
        time.sleep(0.1)
    time.sleep(1)  # the kernel is at it a little longer


def hold(kind_of_session, bench, kind):
    """KiB for each of many boxes: (processes', kernel's)."""
    wait_alone()
    with kind_of_session(bench.place, kind, "-n", HELD, "hold", "./bench-true",
                         "sleep") as session:
        user = memory.pss_kib(memory.descendants())
        memory.wait_quiet(memory.QUIET_S)
        kernel = memory.kernel_kib()
        session.go(0)
        time.sleep(4)
        kernel = (memory.kernel_kib() - kernel) / HELD
        user = (memory.pss_kib(memory.descendants()) - user) / HELD
    return user, kernel


def hold_in_turn(bench, kind):
    """The same of ours and of the floor's, turn by turn: what the first ones leave in the kernel's caches is not theirs alone."""
    turns = [[hold(session, bench, kind) for session in (Session, FloorSession)]
             for _ in range(HELD_TURNS + 1)][1:]
    return [[statistics.median(column) for column in zip(*found)] for found in zip(*turns)]


def held(bench):
    alone = memory.measure([[bench.place.folder / "bin/bench-true", "sleep"]] * HELD,
                           bench.place.environment(), bench.place.work, 1)
    rows = [["the program alone", *(f"{value:.0f}" for value in alone), None, None]]
    for kind in KINDS:
        found, floor = hold_in_turn(bench, kind)
        beyond, least = (sum(taken) - sum(alone) for taken in (found, floor))
        for name, taken, rest in ((f"a box, {kind}", found, beyond), (FLOOR, floor, least)):
            rows.append([name, *(f"{value:.0f}" for value in taken), f"{rest:.0f}",
                         page.figure(rest / least)])
        bench.target("A box that does nothing holds little", "bench/run library (held)", kind,
                      f"{beyond:.0f} KiB beyond its program; {FLOOR} {least:.0f}",
                      beyond <= TARGETS[f"held {kind}"])
    bench.show("library-held", page.table([f"KiB for each of {HELD}", "processes (PSS)", "kernel",
                                           "beyond the program", OF_FLOOR], rows))


def measure(bench, facts):
    demand_every_wall(bench, facts)
    times(bench)
    rates(bench)
    held(bench)
