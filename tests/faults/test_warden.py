"""Boxes from a warden: whoever dies, and whatever is sent, nothing is left and nobody else is harmed."""
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from stage import HERE, IS_ROOT
from sweep import ERRNOS
from wardens import Warden, WardenSweep

SECONDS = float(os.environ.get("RF_FAULTS_SECONDS", 1.2))
WHO = ["root", "user"] if IS_ROOT else ["user"]
SAMPLE = 5


@pytest.fixture(scope="module")
def warden_sweeps(stages):
    made = {}

    def get(who):
        stage = stages(who)
        stage.end_neighbour()
        stage.before = stage.look()
        if who not in made:
            made[who] = WardenSweep(who, stage)
        return made[who]

    return get


@pytest.fixture
def stage(stages, request):
    stage = stages(request.getfixturevalue("who"))
    stage.end_neighbour()
    stage.before = stage.look()
    return stage


def start_client(stage, seconds):
    """A run that lasts; gives the Popen once the program is there."""
    process = subprocess.Popen([*stage.as_user, stage.ringfort, "run", "--", "sh", "-c",
                                f"echo up {stage.work}/inside; sleep {seconds}; echo over"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=stage.work, env=stage.env)
    assert process.stdout.readline().startswith(b"up"), process.stderr.read()
    return process


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except FileNotFoundError:  # it is dead, and not yet waited for
        return ""


@pytest.mark.parametrize("who", WHO)
def test_a_fault_in_any_call_of_a_warden_is_refused_or_all_walls_stand(warden_sweeps, seed, who):
    sweep, source = warden_sweeps(who), random.Random(seed)
    print(f"RF_FAULTS_SEED={seed}")
    end, failed = time.monotonic() + 3 * SECONDS, []
    while time.monotonic() < end:
        case, _ = sweep.try_one(source.choice(sweep.calls), source.choice(ERRNOS))
        failed += [sweep.tell(case)] if case.verdict.kind == "FAILED" else []
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("victims", ["launcher", "init"])
def test_a_kill_at_any_call_of_a_warden_leaves_nothing(warden_sweeps, seed, who, victims):
    sweep = warden_sweeps(who)
    print(f"RF_FAULTS_SEED={seed}")
    calls = random.Random(seed).sample(sweep.reference_calls, SAMPLE)
    assert not [story for call in calls if (story := sweep.kill(call, victims))]


@pytest.mark.parametrize("who", WHO)
def test_a_kill_at_any_call_of_a_client_leaves_nothing(warden_sweeps, seed, who):
    sweep = warden_sweeps(who)
    print(f"RF_FAULTS_SEED={seed}")
    numbers = random.Random(seed).sample(range(1, 150), 2 * SAMPLE)
    assert not [story for number in numbers if (story := sweep.kill_client(number))]


@pytest.mark.parametrize("who", WHO)
def test_bad_messages_silent_clients_and_crowds_harm_nobody(stage, seed, who):
    print(f"RF_FAULTS_SEED={seed}")
    shutil.copy(HERE / "strangers.py", stage.base)
    warden = Warden(stage)
    try:
        done = subprocess.run([*stage.as_user, "/usr/bin/python3", "-B", str(stage.base / "strangers.py"),
                               str(warden.path), str(warden.pid), str(seed)], env=stage.env, capture_output=True,
                              text=True, timeout=120, check=False)
        assert warden.process.poll() is None, "the warden is gone"
        assert stage.start_next() == 0, "it serves others as before"
    finally:
        said = warden.end()
        os.unlink(stage.base / "strangers.py")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 and lines[0].startswith("tried: "), (done.stdout, done.stderr, said)
    assert not stage.settle()


@pytest.mark.parametrize("who", WHO)
def test_the_end_of_a_warden_is_the_end_of_its_boxes(stage, who):
    for number in (signal.SIGKILL, signal.SIGTERM):
        warden = Warden(stage, ahead=2)
        clients = [start_client(stage, 60) for _ in range(3)]
        warden.end(number)
        for client in clients:
            out, err = client.communicate(timeout=5)
            assert client.returncode != 0 and b"over" not in out, (number, client.returncode, out, err)
            assert number != signal.SIGKILL or b"ringfort: " in err, "a client is told"
        end = time.monotonic() + 2
        while (alive := stage.processes()) and time.monotonic() < end:
            time.sleep(0.01)
        assert not alive, number
        assert not stage.settle(), number


@pytest.mark.parametrize("who", WHO)
def test_the_end_of_a_client_is_the_end_of_its_box_and_of_no_other(stage, who):
    warden = Warden(stage, ahead=2)
    try:
        doomed, other = start_client(stage, 60), start_client(stage, 0.5)
        boxes = len(stage.processes())
        doomed.kill()
        doomed.communicate()
        end = time.monotonic() + 2
        while len(stage.processes()) >= boxes - 1 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(stage.processes()) < boxes - 1, "the box of the client that was killed lives on"
        out, err = other.communicate(timeout=10)
        assert other.returncode == 0 and out == b"over\n", (other.returncode, out, err)
        assert stage.start_next() == 0
    finally:
        warden.end()
    assert not stage.settle()


@pytest.mark.parametrize("who", WHO)
def test_a_box_whose_pid_1_is_killed_ends_alone(stage, who):
    warden = Warden(stage)
    try:
        one, other = start_client(stage, 60), start_client(stage, 0.5)
        inits = [pid for pid in children_of(warden.pid) if program_of(pid).startswith("ringfort-init")]
        assert len(inits) == 2
        os.kill(min(inits), signal.SIGKILL)
        out, err = one.communicate(timeout=5)
        assert one.returncode == 137 and b"over" not in out, (one.returncode, out, err)
        out, err = other.communicate(timeout=10)
        assert other.returncode == 0 and out == b"over\n", (other.returncode, out, err)
    finally:
        warden.end()
    assert not stage.settle()
