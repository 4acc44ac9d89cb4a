"""Boxes leave nothing behind in the warden that made them, or in the machine.

Four wardens make some two thousand boxes; RINGFORT_LEAK_BOXES sets another number for each (bench/run
makes a hundred thousand).  What they and the kernel hold afterwards is what they held before.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from helpers import eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import footprint  # noqa: E402

BOXES = int(os.environ.get("RINGFORT_LEAK_BOXES", 500))


@pytest.fixture(scope="module")
def programs(ringfort):
    """The folder with ringfort's programs, and the one that asks for boxes."""
    done = subprocess.run([ROOT / "bench/build"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("bench-library", "bench-true"):
        shutil.copy(ROOT / "build" / name, pathlib.Path(ringfort).parent)
    return pathlib.Path(ringfort).parent


@pytest.mark.parametrize("policy", ["", "network: { loopback: off }"], ids=["own network", "no sockets"])
def test_a_warden_and_the_machine_hold_afterwards_what_they_held_before(programs, command, environment,
                                                                        boxes, as_who, policy):
    options = ["-y", policy] if policy else []
    words = [*command()[:-1], programs / "bench-library", "-d", programs / "ringfort-warden", *options,
             "-n", str(BOXES), "times", "./bench-true"]
    with subprocess.Popen(words, cwd=programs, env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        warden = int(process.stdout.readline())
        before = footprint.steady(warden, records=boxes)
        process.stdin.write("\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["rounds"] == BOXES
        after = footprint.settled(before, warden, BOXES, records=boxes)
        process.stdin.close()
    assert process.returncode == 0
    assert footprint.grown(before, after, BOXES) == {}
    assert eventually(lambda: not os.path.exists(f"/proc/{warden}")), "it ends with its owner"


def test_a_footprint_shows_what_is_left():
    """The control: a descriptor, a process and pages that stay are seen."""
    before = footprint.take(os.getpid())
    assert footprint.grown(before, footprint.take(os.getpid()), 10) == {}
    with open("/dev/null", "rb"), subprocess.Popen(["sleep", "60"]) as child:
        pages = bytearray(b"x" * 2**24)
        grown = footprint.grown(before, footprint.take(os.getpid()), 10)
        child.kill()
    assert {"process: descriptors", "process: processes", "process: KiB"} <= set(grown), len(pages)
