"""Nothing of one box is visible to the next, whatever it left behind.

A program leaves traces wherever a program can (traces.py): ports, counters, files, memory, shared
memory, processes that ignore every signal.  What a program finds in a box afterwards is what one found
before, and what should be different in every box is.  Boxes that stood ready in a warden before they
were asked for are no exception.
"""
import collections
import json
import pathlib
import subprocess
import sys

import pytest
import standing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

TRACES = (pathlib.Path(__file__).parent / "traces.py").read_text()
Done = collections.namedtuple("Done", "code out err")
LIMITS = ("--memory", "200M", "--pids", "64")


@pytest.fixture(params=["by itself", "from a warden"])
def run_box(request, ringfort, command, runtime, workdir):
    """Like the one of all suites, and the same through a standing warden."""
    if request.param == "by itself":
        call = request.getfixturevalue("call")
        yield lambda *args, **more: call("run", "--no-warden", *args, **more)
        return
    warden = standing.Standing(ringfort, command()[:-1], runtime, workdir)

    def run_it(*args, **more):
        done = warden.run("run", *args, **more)
        return Done(done.returncode, done.stdout, done.stderr)

    try:
        yield run_it
    finally:
        warden.close()


@pytest.fixture
def python(need):
    need("/usr/bin/python3")
    return ["--", "/usr/bin/python3", "-c", TRACES]


def find(run_box, python, *options):
    code, out, err = run_box(*options, *python, "look", stdin=b"this box's own")
    assert code == 0, err
    return json.loads(out)


def leave(run_box, python, *options):
    """A box that ends in disorder, with input that it never read."""
    code, out, err = run_box(*options, *python, "leave", stdin=b"the box before's" * 100000)
    assert code == 137 and out == b"16 64\n", (code, out, err)


def differences(one, other):
    return {key: (one[key], other[key]) for key in one if one[key] != other[key]}


def test_a_box_finds_nothing_of_those_before_it(run_box, as_who, python):
    find(run_box, python, *LIMITS)  # a warden has nothing ready for the first one, and makes it another way
    first = find(run_box, python, *LIMITS)
    assert first["same"]["held ports"] == [] and first["same"]["new memory"] == 0
    assert first["same"]["shared memory"][0] == -1 and first["same"]["standard input"] == (
        "this box's own")
    for _ in range(3):
        leave(run_box, python, *LIMITS)
        later = find(run_box, python, *LIMITS)
        assert differences(first["same"], later["same"]) == {}


def test_what_should_be_of_one_box_alone_is(run_box, as_who, python):
    found = [find(run_box, python)["unlike"] for _ in range(5)]
    for key in found[0]:
        values = {each[key] for each in found}
        assert len(values) == len(found), f"{key}: {values}"


def test_what_one_box_used_is_not_counted_for_the_next(run_box, as_who, python):
    used = json.loads(run_box("--json", *LIMITS, *python, "leave").out)["usage"]
    assert used["memory_peak"] > 64 * 2**20
    usage = json.loads(run_box("--json", *LIMITS, "--", "/bin/true").out)["usage"]
    assert usage["memory_peak"] < 16 * 2**20 and usage["disk"] == 0 and (usage["pids_peak"] or 0) <= 3


def test_the_probe_sees_traces_where_they_are_handed_on(run_box, as_who, python):
    """The control: boxes that share a network, the host's, do find each other's traces there."""
    shared = ("--net", "host", *LIMITS)
    first = find(run_box, python, *shared)
    assert run_box(*shared, *python, "leave").code == 137
    assert {"interfaces", "network"} <= set(
        differences(first["same"], find(run_box, python, *shared)["same"]))


# An end of a socket pair is bound to an abstract name, and the whole table of unix sockets is shown a while later.
ABSTRACT = """
import socket, sys, time
ends = socket.socketpair()
ends[0].bind(chr(0) + sys.argv[1])
print("bound", flush=True)
sys.stdin.readline()
print(open("/proc/net/unix").read())
"""


def test_boxes_without_loopback_see_no_name_of_each_others(ringfort, as_who, public, need):
    need("/usr/bin/python3")
    words = ["run", "--loopback", "off", "--", "/usr/bin/python3", "-c", ABSTRACT]
    with Warden(ringfort, as_who, public / f"names-{as_who}") as warden:
        for _ in range(3):  # from the second on some stood ready
            boxes = [warden.start(*words, name, stdin=subprocess.PIPE) for name in ("one-tenants", "anothers")]
            for box in boxes:
                assert box.stdout.readline() == b"bound\n", box.stderr.read()
            one, other = (box.communicate(b"\n", timeout=20)[0] for box in boxes)
            assert b"@one-tenants" in one and b"@anothers" not in one
            assert b"@anothers" in other and b"@one-tenants" not in other
            assert len(one.splitlines()) == len(other.splitlines()) == 4, "nor how many there are"
