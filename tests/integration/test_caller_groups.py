"""Root's box stays within the limits of the control group that its caller is in, also through a warden in another group.

Live with version 1, where each controller is a hierarchy of its own.  With version 2 a box may have to lie above its
caller's group: test-cgroup.c and tests/vm/limits.py look at that.
"""
import contextlib
import json
import os
import pathlib
import sys
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

ROOT = pathlib.Path("/sys/fs/cgroup")
LIMITS = {"memory": ("memory.limit_in_bytes", "134217728"), "pids": ("pids.max", "50"),
          "cpu": ("cpu.cfs_quota_us", "50000")}


def own(controller):
    """Our own group in a hierarchy of version 1."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return ROOT / names / path.strip("/")
    return None


@contextlib.contextmanager
def limited(*controllers, long=False):
    """Groups with a limit each; gives what moves a command into them.  A long path leaves no room for a group beneath it."""
    made = []
    try:
        for controller in controllers:
            group = own(controller)
            if not group:
                pytest.skip(f"there is no hierarchy of version 1 for {controller}")
            group /= f"rf-caller-{time.monotonic_ns()}"
            if long:
                group = group.with_name(group.name + "x" * (250 - len(str(group))))
            try:
                group.mkdir()
            except OSError:
                pytest.skip("no group can be made here")
            made.append(group)
            file, text = LIMITS[controller]
            (group / file).write_text(text)
        join = "; ".join(f"echo $$ > {group}/cgroup.procs" for group in made)
        yield made, ["sh", "-c", f'{join}; exec "$@"', "sh"]
    finally:
        for group in made:
            for _ in range(100):
                for inner in group.glob("ringfort-*"):
                    with contextlib.suppress(OSError):
                        inner.rmdir()
                with contextlib.suppress(OSError):
                    group.rmdir()
                if not group.exists():
                    break
                time.sleep(0.05)


def sleepers(word):
    """The program itself, and not who asked for it."""
    found = []
    for pid in processes_with(word):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith("sleep\0"):
                found.append(pid)
    return found


@pytest.fixture
def warden(ringfort, as_who, public):
    if as_who != "root" or os.geteuid() != 0:
        pytest.skip("root's boxes have groups with version 1")
    with Warden(ringfort, as_who, public / f"groups-{time.monotonic_ns()}") as there:
        yield there


@pytest.mark.parametrize("how", [["--no-warden"], []], ids=["by itself", "from a warden"])
def test_every_limit_of_the_callers_group_holds_for_its_box(how, warden):
    word = f"4321{time.monotonic_ns()}"
    warden.run("run", "--", "true")  # and a box stands ready in the warden's groups, which is no good for this client
    with limited(*LIMITS) as (groups, wrap):
        client = warden.start("run", *how, "--memory", "1G", "--", "sleep", word, wrap=wrap)
        try:
            assert eventually(lambda: sleepers(word)), client.stderr
            inside = pathlib.Path(f"/proc/{sleepers(word)[0]}/cgroup").read_text()
        finally:
            client.kill()
            client.communicate()
        for group in groups:
            assert f"/{group.name}/ringfort-" in inside, inside
        assert eventually(lambda: not processes_with(word))


def test_a_box_that_can_not_lie_beneath_the_callers_group_is_refused(warden):
    """The warden would have it in its own, beyond what the caller may have."""
    for controller in LIMITS:
        with limited(controller, long=True) as (_, wrap):
            done = warden.run("run", "--", "true", wrap=wrap)
            assert done.returncode == 126 and b"of the caller's control group" in done.stderr, (controller, done)
            weaker = warden.run("run", "--json", "--weaker", "allow", "--", "true", wrap=wrap)
            assert weaker.returncode == 0, weaker
            assert "limits of the caller's control group" in json.loads(weaker.stdout)["isolation"]["missing"]
            alone = warden.run("run", "--no-warden", "--", "true", wrap=wrap)
            assert alone.returncode == 0, "its launcher is in the group, and so is the box"
    with limited("memory", long=True) as (groups, wrap):
        (groups[0] / LIMITS["memory"][0]).write_text("-1")
        assert warden.run("run", "--", "true", wrap=wrap).returncode == 0, "a group without a limit is none"


def test_the_memory_of_the_callers_group_is_all_that_its_box_gets(warden, need):
    need("/usr/bin/python3")
    eat = ["/usr/bin/python3", "-c", "b = bytearray(400 << 20); b[::4096] = b'x' * (100 << 10); print('ate')"]
    with limited("memory") as (_, wrap):
        for how in ([], ["--no-warden"]):
            done = warden.run("run", *how, "--memory", "2G", "--", *eat, wrap=wrap)
            assert b"ate" not in done.stdout and done.returncode != 0, done
    assert warden.run("run", "--memory", "2G", "--", *eat).stdout == b"ate\n"
