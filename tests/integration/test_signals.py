"""Signals reach the program, and no end of ringfort leaves anything of its box alive."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from helpers import (children_of, empty_cgroups, eventually, left_cgroups, left_records, mounts,
                     processes_with)

pytestmark = pytest.mark.usefixtures("as_who")

STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def wait_for(process, line=b"ready\n"):
    assert process.stdout.readline() == line, process.stderr.read()


@pytest.mark.parametrize("number", [*STOPS, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_is_passed_on_and_the_program_may_end_as_it_likes(start, number):
    process = start("--", "python3", "-c", f"""
import os, signal, time
signal.signal({int(number)}, lambda *_: (os.write(1, b"got\\n"), os._exit(7)))
os.write(1, b"ready\\n")
while True: time.sleep(0.1)""")  # pause() would miss one that comes as it is called
    wait_for(process)
    process.send_signal(number)
    assert process.wait(5) == 7 and process.stdout.read() == b"got\n"


@pytest.mark.parametrize("number", STOPS)
def test_a_program_that_does_not_care_dies_of_the_signal(start, number):
    process = start("--", "sh", "-c", "echo ready; exec sleep 30")
    wait_for(process)
    process.send_signal(number)
    assert process.wait(5) == 128 + number


@pytest.mark.parametrize("number", STOPS)
def test_a_program_that_ignores_the_first_signal_dies_at_the_second(start, number):
    process = start("--", "sh", "-c", "trap '' INT TERM HUP; echo ready; while :; do sleep 0.05; done")
    wait_for(process)
    process.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.4)
    process.send_signal(number)
    assert process.wait(5) == 137


def test_a_run_that_was_asked_to_stop_has_the_status_killed(start):
    token = str(random.randrange(10**8, 10**9))
    process = start("--json", "--", "sh", "-c", f"echo ready; exec sleep {token}")
    assert eventually(lambda: processes_with(f"sleep\0{token}"))
    process.terminate()
    result = json.loads(process.communicate(timeout=10)[0])
    assert (result["status"], result["signal"], result["stdout"]) == ("killed", 15, "ready\n")
    assert process.returncode == 128 + 15


def test_a_run_that_was_stopped_the_hard_way_has_the_status_killed(start):
    token = str(random.randrange(10**8, 10**9))
    process = start("--json", "--", "sh", "-c", f"trap '' TERM; sleep {token} & while :; do sleep 0.05; done")
    assert eventually(lambda: processes_with(f"sleep\0{token}"))
    process.terminate()
    time.sleep(0.2)
    process.terminate()
    result = json.loads(process.communicate(timeout=10)[0])
    assert (result["status"], result["signal"], process.returncode) == ("killed", 9, 137)


def test_a_signal_at_the_very_start_is_not_lost(start):
    """Whatever instant it comes at: the run ends soon, and with an answer."""
    for delay in range(10):
        process = start("--", "sleep", "30")
        time.sleep(delay / 1000)
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pytest.fail(f"SIGTERM {delay} ms after the start was lost")
        assert process.returncode in (-15, 128 + 15, 137)


def test_programs_inside_cannot_end_pid_1_or_be_mistaken_for_ringfort(run_json):
    result = run_json("--", "sh", "-c", "kill -TERM 1; kill -KILL 1; kill -INT 1; sleep 0.1; echo alive")
    assert (result["status"], result["stdout"]) == ("ok", "alive\n")


def test_a_child_that_became_a_daemon_dies_with_the_box(start):
    token = f"7654{random.randrange(10**6)}"
    process = start("--", "python3", "-c", f"""
import os, signal
for _ in range(2):
    if os.fork(): os._exit(0) if _ else os.wait(); break
    os.setsid()
else:
    for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)
    os.closerange(0, 100)
    os.execvp("sleep", ["sleep", "{token}"])
os.read(0, 1)
""", stdin=subprocess.PIPE)
    assert eventually(lambda: processes_with(f"sleep\0{token}"))
    process.stdin.close()
    assert process.wait(10) == 0
    assert eventually(lambda: not processes_with(token), 2)


def test_a_stopped_ringfort_goes_on(start):
    process = start("--", "sh", "-c", "echo ready; sleep 0.3; echo done; exit 5")
    wait_for(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.6)
    assert process.poll() is None
    process.send_signal(signal.SIGCONT)
    assert process.wait(5) == 5 and process.stdout.read() == b"done\n"


def test_a_time_limit_that_passed_while_ringfort_was_stopped_still_counts(start):
    process = start("--time", "300ms", "--", "sh", "-c", "echo ready; sleep 30")
    wait_for(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGCONT)
    assert process.wait(5) == 124


def test_a_caller_that_ignores_signals_does_not_make_the_box_deaf(command, environment, workdir):
    words = command("run", "--", "sh", "-c", "echo ready; exec sleep 30")
    process = subprocess.Popen(["sh", "-c", "trap '' TERM; exec \"$@\"", "sh", *words], cwd=workdir,
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with process:
        wait_for(process)
        process.terminate()
        try:
            assert process.wait(3) == 128 + 15
        finally:
            process.kill()


SEED = int(os.environ.get("RINGFORT_TEST_SEED", time.time_ns() % 10**6))


@pytest.mark.parametrize("kills, within_ms", [(30, 60), (60, 4)])
def test_a_ringfort_killed_at_any_instant_leaves_nothing(start, boxes, as_who, kills, within_ms):
    print(f"RINGFORT_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    before, groups_before = mounts(), empty_cgroups()
    for _ in range(kills):
        token = f"{os.getpid()}{len(as_who)}{within_ms}{chance.randrange(10**9)}"
        process = start("--", "sh", "-c", f"sleep {token} & setsid sleep {token} & sleep {token}",
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        delay = chance.uniform(0, within_ms / 1000)
        time.sleep(delay)
        process.kill()
        process.wait()
        if not eventually(lambda: not processes_with(token), 2):
            left = processes_with(token)
            names = [pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in left]
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # of ours: no other command line has the token
            start("--", "true").wait(10)  # cleans up, for the tests that follow
            pytest.fail(f"killed after {delay * 1000:.1f} ms, these live on: {names}")
    assert start("--", "true").wait(10) == 0, "the next run cleans up what is left"
    assert left_cgroups() - groups_before == set()
    assert left_records(boxes) == set()
    assert mounts() - before == set()


def test_a_killed_ringforts_box_ends_while_the_program_resists(start):
    token = f"9876{random.randrange(10**6)}"
    process = start("--", "sh", "-c",
                    f"trap '' INT TERM HUP QUIT; echo ready; while :; do sleep {token}; done")
    wait_for(process)
    assert children_of(process.pid) or os.environ.get("RF_TEST_WARDEN")  # whose children its boxes are
    process.kill()
    assert eventually(lambda: not processes_with(token), 2)


def test_a_killed_ringfort_lets_go_of_its_callers_pipe(start):
    process = start("--", "sleep", "30")
    time.sleep(0.2)
    process.kill()
    began = time.monotonic()
    assert process.stdout.read() == b"" and time.monotonic() - began < 2
