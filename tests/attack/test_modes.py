"""On a machine that gives less, a box is refused with a remedy, or runs and says what it lacks, and holds the rest.

Of the catalogue a sample is tried in each mode, another one in each; `make attack` tries all of it.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from modes import MODES, Tools, attacks_of, attempt, look_at_start, start_of, table
from score import stand

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/attacks.md"
STRIDE = int(os.environ.get("ATTACK_STRIDE", "32"))
OTHERS = [mode for mode in MODES if mode.name not in ("full", "lesser")]  # which have tests of their own


def sample(index, mode):
    """Every thirty-second attack, and all those that get through."""
    return [attack for i, attack in enumerate(attacks_of(mode))
            if (i + index) % STRIDE == 0 or attack.name in mode.gaps and not mode.lesser]


SAMPLE = [(mode, attack) for index, mode in enumerate(OTHERS) for attack in sample(index, mode)]


@pytest.fixture(scope="module")
def standing(ringfort, public):
    """A warden of each user that nobody else on the machine meets."""
    standing = {who: stand(who, public, ringfort) for who in (("root", "user") if os.geteuid() == 0 else ("user",))}
    yield standing
    for warden in standing.values():
        warden.close()


@pytest.fixture(scope="module")
def wardens(standing):
    return {who: warden.place for who, warden in standing.items()}


@pytest.fixture(scope="module")
def standing_pids(standing):
    return {who: warden.pid() for who, warden in standing.items()}


@pytest.fixture
def tools(older, forbid, wardens):
    return Tools(older, forbid, wardens)


@pytest.mark.matrix(tags=lambda parameters: {parameters["mode"].name})
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
def test_a_box_starts_or_not_as_the_table_says(mode, scene, tools):
    tools.enter(scene, mode)
    outcome = look_at_start(scene, mode)
    assert outcome.word == "contained", outcome.story


@pytest.mark.matrix(tags=lambda parameters: {parameters["mode"].name})
@pytest.mark.parametrize("mode, attack", SAMPLE, ids=[f"{mode.name}-{attack.name}" for mode, attack in SAMPLE])
def test_bounces(mode, attack, scene, tools, as_who):
    if start_of(mode, as_who) == "refused":
        pytest.skip("nothing starts there")
    tools.enter(scene, mode)
    outcome = attempt(mode, attack, scene, as_who)
    if outcome.word in ("skipped", "known"):
        pytest.skip(outcome.story)
    assert outcome.word != "broken", outcome.story


def test_time_means_it_where_signals_by_descriptor_are_hidden(scene, older):
    scene.forbidden = [older, "pidfd"]
    began = time.monotonic()
    said = scene.in_box("outstay", scene.token, options=["--time", "300ms"])
    assert said.code == 124, said
    assert not scene.survivors()
    assert time.monotonic() - began < 5


def ancestors(pid):
    """The processes above one, as the host sees them."""
    found = []
    while pid > 1:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def test_boxes_come_from_the_warden_where_one_stands(scene, tools, wardens, standing_pids):
    """Or the mode would try nothing but what the full one does."""
    tools.enter(scene, next(mode for mode in MODES if mode.name == "warden"))
    command = [*scene.as_user(), *scene.box_command("--time", "10s"), scene.program, "outstay", scene.token]
    process = subprocess.Popen(command, cwd=scene.workdir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               env={"PATH": os.environ["PATH"], **scene.env}, start_new_session=True)
    try:
        deadline = time.monotonic() + 5
        found = set()
        while standing_pids[scene.who] not in found and time.monotonic() < deadline:
            for pid in scene.survivors():
                with contextlib.suppress(OSError):
                    found.update(ancestors(pid))
            time.sleep(0.02)
        assert standing_pids[scene.who] in found
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 5
    while scene.survivors() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not scene.survivors(), "the box outlives whoever asked for it"


def test_without_groups_limits_have_lesser_grades_and_hard_ones_are_refused(scene, tools):
    tools.enter(scene, next(mode for mode in MODES if mode.words == "cgroup"))
    said = scene.launch([*scene.box_command("--json"), "true"])
    assert json.loads(said.out)["isolation"]["limits"]["memory"] == "sampled", said
    said = scene.launch([*scene.box_command("--require", "hard"), "touch", "marker"])
    assert said.code == 126 and "hint:" in said.err, said
    assert not (scene.workdir / "marker").exists()


def test_the_documentation_has_the_table():
    assert table() in DOCS.read_text(), "run tests/attack/modes.py and put its table there"
