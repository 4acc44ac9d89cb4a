"""A fault in any system call of a run: refused with a reason, or all walls stand; and nothing is left.

A random part of it, as much as fits into RF_FAULTS_SECONDS for each variant; `make faults` does all.
"""
import os

import pytest

import judge
import kills
from stage import IS_ROOT, units

SECONDS = float(os.environ.get("RF_FAULTS_SECONDS", 1.2))
KILLS = int(os.environ.get("RF_FAULTS_KILLS", 50))  # by each user
WHO = ["root", "user"] if IS_ROOT else ["user"]
WALLS = ["mounts", "network", "limits", "identity", "landlock", "seccomp"]


@pytest.mark.whole
@pytest.mark.parametrize("who, variant", units())
def test_a_fault_in_any_call_is_refused_or_all_walls_stand(sweeps, seed, who, variant):
    sweep = sweeps(who, variant)
    print(f"RF_FAULTS_SEED={seed}")
    failed = [sweep.tell(case) for case in sweep.some(SECONDS, seed) if case.verdict.kind == "FAILED"]
    assert not failed, "\n".join(failed)
    assert sweep.cases, "none was tried"


@pytest.mark.whole
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("wall", WALLS)
def test_a_wall_that_is_missing_is_noticed(sweeps, who, wall):
    """The control: a box of the tests' own launcher, without one wall and without the proof."""
    sweep = sweeps(who, "plain")
    run = sweep.stage.run("plain", ringfort=sweep.stage.ringfort + "-unwalled",
                          env={"RINGFORT_TEST_WITHOUT": wall, "RINGFORT_TEST_UNPROVEN": "1"})
    if not run.started:
        pytest.skip(f"without {wall} the program can't be started at all: {run.error}")
    different, _ = judge.weaknesses(sweep.reference, run)
    assert different, f"the judge sees all walls without {wall}"


@pytest.mark.parametrize("who", WHO)
def test_without_a_fault_all_walls_are_seen_to_stand(sweeps, who):
    """What the reference itself must be: else being like it would mean nothing."""
    facts = judge.facts(sweeps(who, "plain").reference)
    for name in judge.NAMESPACES:
        assert facts[f"namespace {name}"] == "its own"
    assert all(int(facts[f"status {name}"], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert facts["status NoNewPrivs"] == "1" and facts["status Seccomp"] == "2"
    assert [name for name in facts if name.startswith("descriptor")] == [f"descriptor {n}" for n in range(3)]
    assert facts["inside read /.ringfort/sentinel"] == "EACCES" and facts["inside read secret"] == "ENOENT"
    assert facts["inside call mount"] == "EPERM" and facts["inside write outside"] == "ENOENT"
    assert facts["mount /"].split()[1].startswith("ro,nosuid,nodev")


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("victims", kills.VICTIMS)
def test_a_kill_at_any_call_leaves_nothing(sweeps, seed, who, victims):
    sweep = sweeps(who, "stay")
    print(f"RF_FAULTS_SEED={seed}")
    calls = kills.random.Random(seed).sample(sweep.reference_calls, min(12, len(sweep.reference_calls)))
    failed = [kill for call in calls if (kill := kills.at_call(sweep, call, victims)).verdict.kind == "FAILED"]
    assert not failed, failed


@pytest.mark.parametrize("who", WHO)
def test_a_kill_at_any_instant_leaves_nothing(sweeps, seed, who):
    print(f"RF_FAULTS_SEED={seed}")
    made = list(kills.instants(sweeps(who, "stay"), KILLS, seed))
    failed = [kill for kill in made if kill.verdict.kind == "FAILED"]
    assert not failed, failed
    assert sum(kill.was_there for kill in made) > KILLS // 4, "most came when all was over"
