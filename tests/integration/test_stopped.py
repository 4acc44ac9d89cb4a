"""A launcher or a warden that is stopped keeps no time: pid 1 of the box does then, a little later."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

LIMIT_S, GRACE_S = 1.0, 0.2  # RF_GRACE_MS of src/init/orders.h
LATE_S = 2.0  # more than that no machine is late

# One who waits, and one who never lets pid 1 wait: signals, and orphans that it must reap.
PROGRAMS = {
    "idle": "echo ready; exec sleep 987654",
    "busy": "echo ready; for i in 1 2; do (while :; do kill -USR1 $PPID; (true &); done) & done; exec sleep 987654",
}


@pytest.fixture(params=["full", "lesser"])
def words(request, command, public):
    """What starts a run in a box of either kind."""
    if request.param == "full":
        return command("run")
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    path = public / "forbid-namespaces"
    source = pathlib.Path(__file__).resolve().parents[1] / "lesser/forbid.c"
    subprocess.run(["gcc", "-static", "-O1", "-D_GNU_SOURCE", str(source), "-o", str(path)], check=True)
    return [str(path), "eperm", *command("run", "--weaker", "allow")]


def sleepers():
    """The pids of all processes that sleep as only ours do."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\000987654\0":
                found.add(int(path.parent.name))
        except OSError:
            pass
    return found


def stop_and_see(process, keeper, others, kill=os.kill):
    """Stops `keeper` while the box of `process` runs, and sees it die in time; gives the result."""
    began = time.monotonic()
    assert eventually(lambda: sleepers() - others), "the program did not start"
    ours = sleepers() - others
    kill(keeper, signal.SIGSTOP)
    try:
        assert eventually(lambda: not sleepers() & ours, LIMIT_S + GRACE_S + LATE_S), "the box lives on"
        lived = time.monotonic() - began
    finally:
        kill(keeper, signal.SIGCONT)
    out, err = process.communicate(timeout=10)
    assert LIMIT_S <= lived + 0.5, "it ended before its time"
    assert process.returncode == 124, err
    return json.loads(out)


def judge(result):
    assert (result["status"], result["signal"], result["limits_hit"]) == ("timeout", 9, ["time"]), result
    assert result["stdout"] == "ready\n"


@pytest.mark.parametrize("program, kill", [("idle", os.kill), ("busy", os.kill), ("idle", os.killpg)],
                         ids=["idle", "busy", "its whole job"])
def test_the_box_of_a_stopped_launcher_ends_in_time_and_is_told_as_timed_out(words, environment, workdir, program,
                                                                             kill):
    others = sleepers()
    with subprocess.Popen([*words, "--json", "--time", f"{LIMIT_S:.0f}s", "--", "sh", "-c", PROGRAMS[program]],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment, cwd=workdir, start_new_session=True) as process:
        judge(stop_and_see(process, process.pid, others, kill))


def test_the_box_of_a_stopped_warden_ends_in_time_and_is_told_as_timed_out(ringfort, as_who, public):
    folder = public / f"stopped-{as_who}"
    try:
        with Warden(ringfort, as_who, folder) as warden:
            others = sleepers()
            with warden.start("run", "--json", "--time", f"{LIMIT_S:.0f}s", "--", "sh", "-c",
                              PROGRAMS["idle"]) as process:
                judge(stop_and_see(process, warden.pid, others))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_warden_that_does_not_start_anything_is_given_up(ringfort, as_who, public):
    """RF_FAR_START_MS of src/jail/far.h."""
    if as_who == "root":
        pytest.skip("half a minute for one user is enough")
    folder = public / f"late-{as_who}"
    try:
        with Warden(ringfort, as_who, folder) as warden:
            os.kill(warden.pid, signal.SIGSTOP)
            began = time.monotonic()
            try:
                with warden.start("run", "--", "echo", "ran") as process:
                    out, err = process.communicate(timeout=40)
            finally:
                os.kill(warden.pid, signal.SIGCONT)
            assert (process.returncode, out) == (125, b"") and b"the warden does not answer" in err, err
            assert 15 < time.monotonic() - began < 30
            with warden.start("run", "--", "echo", "ran") as process:
                assert process.communicate(timeout=20)[0] == b"ran\n"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_warden_whose_socket_is_full_learns_of_every_end_all_the_same(ringfort, as_who, public):
    """What fills it is signals that are passed on; then the box says more than it may."""
    folder = public / f"full-{as_who}"
    try:
        with Warden(ringfort, as_who, folder) as warden, \
                warden.start("run", "--output", "64k", "--time", "30s", "--", "sh", "-c", "echo ready; read go; exec yes",
                             stdin=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            os.kill(warden.pid, signal.SIGSTOP)
            try:
                for _ in range(1000):
                    process.send_signal(signal.SIGWINCH)
                    time.sleep(0.001)  # one that is still held would swallow the next
                process.stdin.write(b"go\n")
                process.stdin.flush()
                assert len(process.stdout.read(65530)) == 65530
                time.sleep(0.3)
            finally:
                os.kill(warden.pid, signal.SIGCONT)
            began = time.monotonic()
            err = process.communicate(timeout=40)[1]
            assert (process.returncode, time.monotonic() - began < 10) == (137, True), err
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_launcher_that_goes_on_in_time_is_the_one_that_ends_it(words, environment, workdir):
    """Who was stopped for a moment only tells the program's own end."""
    with subprocess.Popen([*words, "--json", "--time", "10s", "--", "sh", "-c", "echo ready; sleep 0.5; exit 3"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment, cwd=workdir) as process:
        time.sleep(0.2)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)
        process.send_signal(signal.SIGCONT)
        result = json.loads(process.communicate(timeout=10)[0])
    assert (result["status"], result["exit_code"]) == ("failed", 3), result


def test_a_program_that_ended_in_time_did_so_whoever_was_stopped_meanwhile(words, environment, workdir):
    """Its launcher wakes up after the time limit, with the program's own end still unread."""
    with subprocess.Popen([*words, "--json", "--time", "1500ms", "--", "sh", "-c", "sleep 0.6; exit 3"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment, cwd=workdir) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        process.send_signal(signal.SIGCONT)
        result = json.loads(process.communicate(timeout=10)[0])
    assert (result["status"], result["exit_code"]) == ("failed", 3), result
