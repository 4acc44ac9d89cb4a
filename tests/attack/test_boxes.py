"""Attacks that take more than one run: on other boxes, on the launcher, on the next run."""
import contextlib
import os
import pathlib
import pwd
import signal
import subprocess
import time

import pytest

WAIT_S = 3


def until(condition):
    """True as soon as the condition holds; False if it does not in time."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@contextlib.contextmanager
def staying(scene, token, options=()):
    """A box whose programs never end by themselves; gives the launcher and their pids outside."""
    scene.token = token
    command = [*scene.as_user(), *scene.box_command(*options), scene.program, "outstay", token]
    process = subprocess.Popen(command, cwd=scene.workdir, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env={"PATH": os.environ["PATH"], "HOME": str(scene.workdir)})

    def inside():
        return [pid for pid in scene.survivors() if uid_map(pid) != uid_map("self")]

    try:
        assert until(lambda: len(inside()) >= 4), process.stderr.read()
        yield process, inside
    finally:
        process.kill()
        process.communicate()
        assert until(lambda: not inside()), "processes outlive their launcher"


def uid_map(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/uid_map").read_text()
    return None


def uids(pids):
    """The uids of processes, as the host sees them; some may be short-lived, such as a launcher's helper."""
    return {uid for pid in pids for uid in uid_of(pid)}


def uid_of(pid):
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return [int(line.split()[1]) for line in status.split("\n") if line.startswith("Uid:")]
    return []


def test_uid_outside_is_no_other_users(scene):
    with staying(scene, scene.token) as (_, inside):
        found = uids(inside())
    if scene.who == "user":
        assert found == {scene.uid}
        return
    assert len(found) == 1 and not found & {user.pw_uid for user in pwd.getpwall()}, found


def test_boxes_have_uids_of_their_own(scene):
    if scene.who == "user":
        pytest.skip("an ordinary user has one uid to give")
    with staying(scene, scene.token + "-1") as (_, first):
        one = uids(first())
        with staying(scene, scene.token + "-2") as (_, second):
            two = uids(second())
            assert one and two and not one & two


def test_a_box_can_not_signal_another(scene):
    with staying(scene, scene.token) as (_, inside):
        there = inside()
        for pid in there:
            assert scene.in_box("signal", str(pid)).word == "refused ESRCH"
        assert set(there) <= set(inside())  # the launcher may have got a janitor meanwhile


@pytest.mark.parametrize("how", ["outstay", "outstay-stopped", "outstay-forking"])
def test_time_out_ends_what_ignores_signals(scene, how):
    began = time.monotonic()
    said = scene.in_box(how, scene.token, options=["--time", "300ms"])
    assert said.code == 124, said
    assert not scene.survivors()
    assert time.monotonic() - began < 2


def test_killing_the_launcher_ends_the_box(scene):
    with staying(scene, scene.token) as (process, inside):
        process.kill()
        process.wait()
        assert until(lambda: not inside())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_asking_twice_ends_what_ignores_signals(scene, name):
    with staying(scene, scene.token) as (process, inside):
        for _ in range(2):
            os.kill(process.pid, getattr(signal, name))
            time.sleep(0.1)
        assert until(lambda: process.poll() is not None)
        assert not inside()


def test_a_planted_link_does_not_widen_the_next_run(scene):
    """Run 1 turns a directory into a link; run 2 names a place beneath it (CVE-2026-39861)."""
    said = scene.launch([*scene.box_command(), "ln", "-s", str(scene.outside), "data"])
    assert said.code == 0, said
    scene.box_options = ["--read", f"{scene.workdir}/data/canary:/mnt/canary"]
    said = scene.in_box("read", "/mnt/canary")
    assert scene.secret not in said.out, "the host's side followed the link"
    assert said.code in (125, 126), said


def test_a_link_that_comes_and_goes_does_not_widen_a_run(scene):
    """A directory that a box may write is swapped for a link while the launcher opens what lies beneath."""
    inner, link = scene.workdir / "data", scene.workdir / "link"
    inner.mkdir()
    scene.file(inner / "canary", "mine")
    os.chown(inner, scene.uid, -1)
    inner.chmod(0o777)
    link.symlink_to(scene.outside)
    os.lchown(link, scene.uid, -1)
    swapper = subprocess.Popen([*scene.as_user(), scene.program, "swap", str(inner), str(link)],
                               start_new_session=True)
    try:
        assert until(lambda: scene.secret in (inner / "canary").read_text()), "the race itself is none"
        assert until(lambda: "mine" in (inner / "canary").read_text())
        scene.box_options = ["--read", f"{inner}:/mnt/data"]
        command = scene.box_command()
        command = [word for i, word in enumerate(command) if "--write" not in command[max(0, i - 1):i + 1]]
        words = []
        # At least 40 times, and until it has come out both ways: on a busy machine it may take more.
        while len(words) < 40 or (len(words) < 600 and not ("mine" in words and {125, 126} & set(words))):
            said = scene.launch([*command, scene.program, "read", "/mnt/data/canary"])
            assert scene.secret not in said.out, "the host's side followed the link"
            words.append(said.loot or said.code)
        assert "mine" in words and {125, 126} & set(words), f"the race was never close: {words}"
    finally:
        os.killpg(swapper.pid, signal.SIGKILL)
        swapper.wait()


@pytest.mark.parametrize("place", ["/proc/sys/kernel", "/sys/kernel", "/dev/shm"])
def test_a_planted_link_does_not_lead_to_what_is_never_shown(scene, place):
    (scene.workdir / "link").symlink_to("/")
    scene.box_options = ["--read", f"{scene.workdir}/link{place}:/mnt/place"]
    said = scene.launch([*scene.box_command(), "ls", "/mnt/place"])
    assert said.code in (125, 126), said


def test_nothing_but_the_program_says_how_it_ended(scene):
    """The launcher's channel is out of reach: the result is the program's own."""
    said = scene.launch([*scene.box_command(), "sh", "-c",
                         "for fd in /proc/*/fd/*; do echo forged > $fd; done; exit 7"])
    assert said.code == 7, said


def test_the_filter_refuses_memfds_where_the_kernel_does_not_seal_them(scene, as_who):
    """Without a /proc of the box's own its setting can't be made; the second filter stands in."""
    scene.only()
    for attack in ("execute-memfd", "execute-open-memfd"):
        said = scene.without(("mounts", "landlock"), attack)
        assert said.word in ("refused EACCES", "refused ENOSYS"), said
