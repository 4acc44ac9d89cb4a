"""Boxes while they live: the watcher lists them, freezes, thaws and kills them, and nobody else's.

Each test has a watcher of its own, as root and as an ordinary user.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

BUSY = "(while :; do :; done) & (while :; do :; done) & wait"


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="live-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        there.stand()
        yield there
    shutil.rmtree(top, ignore_errors=True)


def roster(post):
    done = post.run("ps", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def boxes(post):
    return roster(post)["boxes"]


def seen(post, count=1):
    """The boxes, once so many of them have figures."""
    assert eventually(lambda: sum(box["used"] is not None for box in boxes(post)) == count), boxes(post)
    return boxes(post)


class Running:
    """A run in the background; ends with the block."""
    def __init__(self, post, *words):
        self.run = post.start("run", "--json", *words)

    def result(self):
        out, self.stderr = self.run.communicate(timeout=20)
        return json.loads(out)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.run.poll() is None:
            self.run.kill()
        self.run.communicate(timeout=20)


# --- who lives ---

def test_a_box_is_listed_with_what_it_may_use_and_what_it_uses(post):
    assert boxes(post) == [] and post.run("ps").stdout == "no box lives\n"
    script = "dd if=/dev/zero of=/tmp/x bs=1M count=8 2>/dev/null; for i in 1 2 3 4 5; do /bin/true; done; sleep 60"
    with Running(post, "--agent", "bot", "--memory", "64M", "--pids", "20", "--", "sh", "-c", script) as run:
        assert eventually(lambda: boxes(post) and (boxes(post)[0]["used"] or {}).get("begun", 0) >= 6)
        box, = boxes(post)
        assert (box["agent"], box["program"], box["state"]) == ("bot", "sh", "running")
        assert box["launcher"] == run.run.pid and len(box["id"]) == 16
        assert box["limits"]["memory"] == 64 << 20 and box["limits"]["pids"] == 20
        assert box["used"]["written"] >= 8 << 20 and box["used"]["disk"] >= 8 << 20
        assert 8 << 20 <= box["used"]["memory"] < 64 << 20 and 1 <= box["used"]["pids"] <= 3
        assert box["breaker"] == {"state": "closed", "reason": None}
        assert len(box["policy"]) == 64 and box["policy"] == post.events("--kind", "run.started")[0]["policy"]
        text = post.run("ps").stdout
        assert box["id"] in text and "/64M" in text and "bot" in text and "60s" in text
    assert eventually(lambda: boxes(post) == [])


def test_processor_time_is_counted_while_it_is_spent(post):
    with Running(post, "--", "sh", "-c", BUSY):
        assert eventually(lambda: [box for box in seen(post) if box["used"]["cpu_time"] > 200
                                   and box["used"]["cpu"] > 5])


def test_a_short_run_costs_the_watcher_no_look(post):
    for _ in range(20):
        assert post.run("run", "--", "true").returncode == 0
    assert boxes(post) == []
    assert len(post.events("--kind", "run.ended")) == 20


def test_boxes_of_a_warden_are_listed_and_killed_as_well(post):
    warden = post.start("warden")
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        with Running(post, "--", "sleep", "60") as one, Running(post, "--", "sleep", "60"):
            found = seen(post, 2)
            assert {box["launcher"] for box in found} == {warden.pid}
            assert post.run("kill", "--reason", "first", found[0]["id"]).returncode == 0
            assert eventually(lambda: len(boxes(post)) == 1)
            if one.run.poll() is not None:
                result = one.result()
                assert result["status"] == "killed" and "first" in result["error"]["message"]
            ended, = post.events("--kind", "run.ended")
            assert ended["verdict"] == "killed" and "first" in ended["reason"]
    finally:
        warden.terminate()
        warden.communicate(timeout=20)


# --- a hand on each ---

def test_a_killed_box_ends_and_says_who_wanted_it(post):
    with Running(post, "--agent", "bot", "--", "sh", "-c", BUSY) as run:
        box, = seen(post)
        began = time.monotonic()
        done = post.run("kill", box["id"][:6], "--reason", "enough of it")
        assert (done.returncode, done.stdout) == (0, f"killed: {box['id']}\n")
        result = run.result()
        assert time.monotonic() - began < 2 and run.run.returncode == 137
    assert (result["status"], result["signal"], result["error"]["code"]) == ("killed", 9, "ECANCELED")
    who = 0 if post.is_room else USER_ID if IS_ROOT else os.geteuid()
    assert result["error"]["message"] == f"killed by hand, by user {who}: enough of it"
    kill, = post.events("--kind", "kill")
    assert (kill["box"], kill["agent"], kill["by"], kill["user"]) == (box["id"], "bot", "hand", who)
    assert kill["reason"] == "enough of it"
    ended, = post.events("--kind", "run.ended")
    assert ended["verdict"] == "killed" and ended["reason"] == result["error"]["message"]
    assert ended["cpu_us"] > 0 and post.verify()["good"]


def test_what_a_killed_box_used_is_counted(post):
    with Running(post, "--", "sh", "-c", BUSY) as run:
        assert eventually(lambda: seen(post)[0]["used"]["cpu_time"] > 300)
        assert post.run("kill", boxes(post)[0]["id"]).returncode == 0
        run.result()
    assert post.events("--kind", "run.ended")[0]["cpu_us"] >= 300000


def when_it_rests(post):
    """What the only box has used when it uses no more: soon, and on a machine that is emulated, where the watcher looks less often, in a while."""
    def rest():
        before = boxes(post)[0]["used"]
        time.sleep(0.5)
        after = boxes(post)[0]["used"]
        return after if after["begun"] == before["begun"] and after["cpu_time"] <= before["cpu_time"] + 10 else None

    time.sleep(0.15)
    used = eventually(rest, 10 if "RINGFORT_SLOW" in os.environ else 0)
    assert used, "it works on"
    return used


def test_a_frozen_box_does_nothing_until_it_is_thawed(post):
    with Running(post, "--", "sh", "-c", BUSY) as run:
        box, = seen(post)
        assert post.run("freeze", "--reason", "look at it", box["id"]).stdout == f"frozen: {box['id']}\n"
        assert eventually(lambda: boxes(post)[0]["state"] == "frozen")
        before = when_it_rests(post)["cpu_time"]
        assert run.run.poll() is None
        assert post.run("thaw", box["id"]).stdout == f"running: {box['id']}\n"
        assert eventually(lambda: boxes(post)[0]["used"]["cpu_time"] > before + 50)
        assert [event["to"] for event in post.events("--kind", "freeze")] == ["frozen", "running"]
        # What is so already is no event.
        assert post.run("thaw", box["id"]).returncode == 0
        assert len(post.events("--kind", "freeze")) == 2


def test_a_storm_of_forks_is_frozen_as_a_whole(post):
    script = "while :; do (sleep 0.001) & (: ; :) & wait; done"
    with Running(post, "--pids", "64", "--", "sh", "-c", f"({script}) & ({script}) & ({script}) & wait"):
        box, = seen(post)
        assert post.run("freeze", box["id"]).returncode == 0
        before = when_it_rests(post)
        assert post.run("thaw", box["id"]).returncode == 0
        assert eventually(lambda: boxes(post)[0]["used"]["begun"] > before["begun"])


# Two ways to go on: a process whose first thread has ended, which looks like a zombie; and a timer that sends SIGCONT.
LEADERLESS = """
import ctypes, threading
def count():
    i = 0
    while True:
        i += 1
threading.Thread(target=count).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[__import__("os").uname().machine], 0)
"""
TIMER = """
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGCONT, lambda *_: None)
event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0)
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
while True:  # put off for as long as it runs
    assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 150000000), None) == 0
"""
VFORK = """
import ctypes
if ctypes.CDLL(None).vfork() == 0:
    while True:
        pass
"""


def busy_with(post):
    """How many ticks the watcher has worked."""
    return sum(map(int, pathlib.Path(f"/proc/{post.watcher.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def test_a_process_without_its_first_thread_is_frozen_too(post):
    with Running(post, "--", "python3", "-c", LEADERLESS):
        box, = seen(post)
        assert eventually(lambda: boxes(post)[0]["used"]["cpu_time"] > 100)
        assert post.run("freeze", box["id"]).returncode == 0
        before = when_it_rests(post)["cpu_time"]
        assert post.run("thaw", box["id"]).returncode == 0
        assert eventually(lambda: boxes(post)[0]["used"]["cpu_time"] > before + 50)


def test_a_box_that_does_not_stay_frozen_is_killed(post):
    with Running(post, "--", "python3", "-c", TIMER) as run:
        box, = seen(post)
        assert eventually(lambda: boxes(post)[0]["used"]["cpu_time"] > 100)
        assert post.run("freeze", box["id"]).returncode == 0
        if pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists() and boxes(post)[0]["state"] == "frozen" and \
                not eventually(lambda: not boxes(post), 5):
            return  # the kernel's freezer holds it
        result = run.result()
        assert result["status"] == "killed" and "it went on although it was frozen" in result["error"]["message"]
    assert post.events("--kind", "kill")[0]["by"] == "watcher"


def test_who_waits_for_a_stopped_child_is_frozen_and_keeps_nobody_busy(post):
    with Running(post, "--", "python3", "-c", VFORK):
        box, = seen(post)
        assert eventually(lambda: boxes(post)[0]["used"]["cpu_time"] > 100)
        assert post.run("freeze", box["id"]).returncode == 0
        before, worked = when_it_rests(post)["cpu_time"], busy_with(post)
        time.sleep(3)
        assert boxes(post)[0]["state"] == "frozen" and boxes(post)[0]["used"]["cpu_time"] <= before + 10
        assert busy_with(post) - worked < os.sysconf("SC_CLK_TCK")


def test_time_goes_on_for_a_frozen_box(post):
    with Running(post, "--time", "1500ms", "--", "sleep", "60") as run:
        box, = seen(post)
        assert post.run("freeze", box["id"]).returncode == 0
        assert run.result()["status"] == "timeout"


def test_a_frozen_box_can_be_killed_and_ends_with_its_launcher(post):
    with Running(post, "--", "sleep", "60") as run:
        box, = seen(post)
        assert post.run("freeze", box["id"]).returncode == 0
        assert post.run("kill", box["id"]).returncode == 0
        assert run.result()["status"] == "killed"
    with Running(post, "--", "sleep", "60") as run:
        box, = seen(post)
        assert post.run("freeze", box["id"]).returncode == 0
        run.run.kill()
        run.run.communicate(timeout=20)
    assert eventually(lambda: not pathlib.Path(f"/proc/{box['pid']}").exists())


# --- who is told no ---

def test_what_can_not_be_done_is_said_with_what_to_do(post):
    for command in ("freeze", "thaw", "kill"):
        done = post.run(command, "feedbeef")
        assert done.returncode == 1 and "no box feedbeef lives" in done.stderr and "audit show --box" in done.stderr
        assert post.run(command).returncode == 125 and "which box?" in post.run(command).stderr
        assert post.run(command, "a", "b").returncode == 125
        assert post.run(command, "a", "--reason", "two\nlines").returncode == 125
    with Running(post, "--", "sleep", "60"):
        box, = seen(post)
        wrong = ("0" if box["id"][0] != "0" else "1") + box["id"][1:]
        done = post.run("kill", wrong)
        assert done.returncode == 1 and f"did you mean {box['id']}?" in done.stderr
        assert "these do: " + box["id"] in post.run("kill", "zzzzzzzz").stderr
        assert len(boxes(post)) == 1
    post.end()
    for words in (["ps"], ["kill", "abcd"]):
        done = post.run(*words)
        assert done.returncode == 1 and "no watcher stands" in done.stderr and "ringfort watch" in done.stderr


def test_a_begin_that_two_have_is_refused(post):
    with Running(post, "--", "sleep", "60"), Running(post, "--", "sleep", "60"):
        found = seen(post, 2)
        done = post.run("kill", os.path.commonprefix([box["id"] for box in found]) or "")
        assert done.returncode != 0 and len(seen(post, 2)) == 2


def test_a_box_that_just_starts_can_be_killed(post):
    with Running(post, "--", "sleep", "60") as run:
        assert eventually(lambda: boxes(post), 10)
        assert post.run("kill", boxes(post)[0]["id"]).returncode == 0
        assert run.result()["status"] == "killed"


def test_nobody_shows_a_process_that_is_no_box_of_his(post):
    """A client that lies: it tells of a box, and shows another process than a box's pid 1."""
    victim = subprocess.Popen([*post.before, "sleep", "60"], stdin=subprocess.DEVNULL)
    try:
        out = post.python("""
            import array
            def show(sock, box, pid, number):
                limits = struct.pack("=10Q", *[1] * 10)
                body = struct.pack("=I", len(box)) + box.encode() + b"\\0" + struct.pack("=I", 0) + limits
                body += struct.pack("=QIQII", 9, 0, 9, 0, 0)
                fds = array.array("i", [os.pidfd_open(pid)])
                sock.sendmsg([message(LIVE, body, number)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                return receive(sock)
            sock = connect()
            assert tell(sock, event(RUN_STARTED, BOX="0123456789abcdef", PROGRAM="x", USER=0))[0] == KEPT
            child = subprocess.Popen(["sleep", "60"])
            for pid in (int(sys.argv[2]), 1, os.getpid(), child.pid):
                try:
                    kind, number, body = show(sock, "0123456789abcdef", pid, 7)
                    print(kind, b"no box of who" in body or b"no process that lives" in body)
                except PermissionError:
                    print(LOST, True)
            print(show(sock, "fedcba9876543210", child.pid, 8)[0])
            sock.send(message(ASK, b"kill\\x000123456789abcdef\\0\\0", 9))
            kind, number, body = receive(sock)
            print(kind, b"just starting" in body)
            child.kill()
            child.wait()
            """, victim.pid)
        assert out.split("\n")[:6] == ["15 True"] * 4 + ["15", "15 True"], out
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_a_box_can_not_reach_what_acts_on_boxes(post):
    with Running(post, "--", "sleep", "60") as run:
        box, = seen(post)
        done = post.run("run", "--write", post.top / "run", "--unix", "on", "--", post.ringfort, "kill", box["id"])
        assert done.returncode != 0 and run.run.poll() is None
        assert [one["id"] for one in boxes(post) if one["id"] == box["id"]] == [box["id"]]
    assert post.events("--kind", "kill") == []


def test_another_user_can_not_act(post):
    if not IS_ROOT:
        pytest.skip("needs root, to be another")
    with Running(post, "--", "sleep", "60") as run:
        box, = seen(post)
        other = ["setpriv", "--reuid=12346", "--regid=12346", "--clear-groups", "--"]
        before = post.before if post.is_room else []
        done = subprocess.run([*before, *other, post.ringfort, "kill", box["id"]], env=post.env, cwd="/",
                              capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode != 0 and run.run.poll() is None
        assert post.run("ps").returncode == 0 and len(boxes(post)) == 1


def test_a_watcher_that_stands_anew_knows_how_it_ended(post):
    with Running(post, "--time", "3s", "--", "sleep", "60") as run:
        seen(post)
        post.end()
        post.stand()
        assert run.result()["status"] == "timeout"
    assert eventually(lambda: post.events("--kind", "run.ended"))
    assert boxes(post) == []


# --- another watcher ---

@pytest.mark.parametrize("way", ["launcher", "warden"])
def test_the_next_watcher_is_shown_what_lives(post, way):
    warden = post.start("warden") if way == "warden" else None
    try:
        if warden:
            assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        words = ["--agent", "bot", "--memory", "64M", "--time", "60s", "--", "sh", "-c", "sleep 50"]
        with Running(post, *words) as still, Running(post, *words) as running:
            one, two = seen(post, 2)
            assert post.run("freeze", one["id"]).returncode == 0
            post.watcher.kill()
            post.watcher.wait(20)
            post.stand()
            known = {box["id"]: box for box in seen(post, 2)}
            assert {key: (box["state"], box["agent"], box["program"]) for key, box in known.items()} == \
                {one["id"]: ("frozen", "bot", "sh"), two["id"]: ("running", "bot", "sh")}
            assert known[one["id"]]["limits"]["memory"] == 64 << 20
            assert post.run("thaw", one["id"]).returncode == 0
            for box in (one, two):
                assert post.run("kill", box["id"]).returncode == 0
            for run in (still, running):
                result = run.result()
                assert result["status"] == "killed" and "by hand" in result["error"]["message"]
        assert eventually(lambda: len(post.events("--kind", "run.ended")) == 2)
        assert all(one["verdict"] == "killed" for one in post.events("--kind", "run.ended"))
        assert post.verify()["good"]
    finally:
        if warden:
            warden.terminate()
            warden.communicate(timeout=20)


def test_what_was_done_before_raises_no_alarm_with_the_next_watcher(post):
    policy = post.top / "policy.yaml"
    policy.write_text("alarms: {writes: 20M, on_writes: kill}\n")
    policy.chmod(0o644)
    script = "for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1M count=15 2>/dev/null; sleep 1.2; done; sleep 8; echo done"
    with Running(post, "--policy", policy, "--", "sh", "-c", script) as run:
        assert eventually(lambda: (boxes(post) or [{"used": None}])[0]["used"])
        time.sleep(4)
        post.watcher.kill()
        post.watcher.wait(20)
        post.stand()
        seen(post)
        time.sleep(1)
        result = run.result()
        assert (result["status"], result["stdout"]) == ("ok", "done\n") and post.events("--kind", "alarm") == []
