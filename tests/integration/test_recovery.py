"""After kill -9 of any Ringfort process the next start finds what was left, ends or adopts it, and records that it did."""
import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

from helpers import eventually

pytestmark = pytest.mark.usefixtures("as_who")


def begin(post, *words, expect=1):
    """Starts a run that goes on, and waits until it is recorded and has a janitor.  Gives it, and its box."""
    run = post.start("run", "--no-warden", *words, "--", "sleep", "60")
    assert eventually(lambda: len(post.events("--kind", "run.started")) == expect)
    assert eventually(lambda: janitors(run.pid))
    return run, post.events("--kind", "run.started")[-1]["box"]


def children(pid):
    with contextlib.suppress(OSError):
        return [int(one) for one in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def janitors(pid):
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "ringfort-clean\n":
                found.append(child)
    return found


def kill_all_of(run):
    """The launcher and its janitor, so that nobody cleans up; their box dies with the launcher."""
    for pid in janitors(run.pid):
        os.kill(pid, signal.SIGKILL)
    run.kill()
    run.communicate(timeout=20)


def records(post):
    where = pathlib.Path(f"/proc/self/fd/{post.root}/run/ringfort/boxes") if post.is_room \
        else post.top / "run/ringfort/boxes"
    return {path.name for path in where.iterdir()}


def groups_of(box):
    return subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "6", "-name", f"*{box}*"], capture_output=True,
                          text=True, check=False).stdout.split()


def recoveries(post):
    return [(one.get("box"), one["what"], one["verdict"]) for one in post.events("--kind", "recovery")]


def assert_swept(post, boxes):
    """Nothing of them is left, and who took it away has said so.  Root's boxes are the whole machine's: another run of
    root's, outside of this place, may have been first."""
    swept = {one for one, what, done in recoveries(post) if done == "removed"}
    assert swept <= boxes and (swept == boxes or post.is_room), recoveries(post)
    assert not boxes & records(post) and not any(groups_of(box) for box in boxes)


def one_end_each(post):
    started = sorted(one["box"] for one in post.events("--kind", "run.started"))
    return started == sorted(one["box"] for one in post.events("--kind", "run.ended"))


def test_a_run_whose_launcher_and_watcher_were_killed_is_ended_by_the_next_watcher(post):
    post.stand()
    run, box = begin(post, "--agent", "a")
    killed = post.watcher.pid
    post.end(signal.SIGKILL)
    kill_all_of(run)
    post.stand()
    ended, = post.events("--kind", "run.ended")
    assert (ended["box"], ended["agent"], ended["verdict"]) == (box, "a", "lost")
    watcher, of_run = post.events("--kind", "recovery")
    assert watcher["pid"] == killed and watcher["verdict"] == "taken over"
    assert (of_run["box"], of_run["verdict"]) == (box, "ended")
    # What it left is found by the next run, which records that it did.
    assert post.is_room or box in records(post)
    assert post.run("run", "--no-warden", "--", "true").returncode == 0
    assert_swept(post, {box})
    assert one_end_each(post) and post.verify()["good"]
    # And nothing is found twice.
    before = len(recoveries(post))
    post.end()
    post.stand()
    assert post.run("run", "--no-warden", "--", "true").returncode == 0
    assert len(recoveries(post)) == before and one_end_each(post)


def test_a_run_that_goes_on_is_adopted_however_often_its_watcher_is_killed(post):
    post.stand()
    run = post.start("run", "--no-warden", "--", "sleep", "3")
    assert eventually(lambda: post.events("--kind", "run.started"))
    box = post.events("--kind", "run.started")[0]["box"]
    for turn in range(1, 3):
        post.end(signal.SIGKILL)
        post.stand()
        adopted = [one for one in recoveries(post) if one[2] == "adopted"]
        assert adopted == [(box, "a run that goes on", "adopted")] * turn
        assert post.events("--kind", "run.ended") == []
    run.communicate(timeout=20)
    ended, = post.events("--kind", "run.ended")
    assert (ended["box"], ended["verdict"]) == (box, "ok")
    assert post.verify()["good"]


def test_a_launcher_that_is_killed_after_its_run_was_adopted_is_missed(post):
    post.stand()
    run, box = begin(post)
    post.end(signal.SIGKILL)
    post.stand()
    run.kill()
    run.communicate(timeout=20)
    assert eventually(lambda: post.events("--kind", "run.ended"))
    ended, = post.events("--kind", "run.ended")
    assert (ended["box"], ended["verdict"]) == (box, "lost")
    assert eventually(lambda: box not in records(post))  # its janitor was there


def test_a_warden_that_was_killed_is_followed_by_one_that_says_so(post):
    post.stand()
    warden = post.start("warden")
    assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
    run = post.start("run", "--", "sleep", "60")
    assert eventually(lambda: post.events("--kind", "run.started"))
    box = post.events("--kind", "run.started")[0]["box"]
    for pid in janitors(warden.pid):
        os.kill(pid, signal.SIGKILL)
    warden.kill()
    warden.communicate(timeout=20)
    run.communicate(timeout=20)
    assert eventually(lambda: post.events("--kind", "run.ended"))
    assert post.events("--kind", "run.ended")[0]["verdict"] == "lost"
    warden = post.start("warden")
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        assert eventually(lambda: (None, "a warden that did not end in order", "taken over") in recoveries(post))
        assert eventually(lambda: post.is_room or recoveries(post)[-1][2] == "removed" or len(recoveries(post)) == 2)
        assert_swept(post, {box})
    finally:
        warden.terminate()
        warden.communicate(timeout=20)
    assert post.verify()["good"]


def test_all_killed_at_once_leave_nothing_that_the_next_start_does_not_find(post):
    post.stand()
    warden = post.start("warden")
    assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
    far = post.start("run", "--", "sleep", "60")
    near = post.start("run", "--no-warden", "--", "sleep", "60")
    assert eventually(lambda: len(post.events("--kind", "run.started")) == 2 and janitors(near.pid))
    boxes = {one["box"] for one in post.events("--kind", "run.started")}
    for pid in janitors(warden.pid) + janitors(near.pid):
        os.kill(pid, signal.SIGKILL)
    for process in (post.watcher, warden, far, near):
        process.kill()
    for process in (warden, far, near):
        process.communicate(timeout=20)
    post.end()
    post.stand()
    assert {one["box"] for one in post.events("--kind", "run.ended")} == boxes and one_end_each(post)
    assert post.run("run", "--no-warden", "--", "true").returncode == 0
    assert_swept(post, boxes)
    assert post.verify()["good"]
