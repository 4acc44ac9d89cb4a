"""Boxes that are kept: programs start and end in them, and the box outlives who asked for it.

library/keeper.c holds most promises from C, one a mode; here they are run, and what only others can see is looked at.
"""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from helpers import empty_cgroups, eventually, left_cgroups, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEEPER = ROOT / "tests/integration/library/keeper.c"

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture(scope="session")
def program(public):
    """The keeper, with the library in it."""
    library = next((path for folder in ("build-lib", "build") for path in (ROOT / folder).glob("src/lib/libringfort.a")),
                   None)
    if not library:
        pytest.skip("there is no library here: run `make build`")
    path = public / "keeper"
    subprocess.run(["cc", "-g", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-o",
                    path, KEEPER, library, "-lyaml"], check=True)
    return path


@pytest.fixture
def keeper(program, command, environment, ringfort, workdir):
    """Starts it as whoever the test is about; it has a warden of its own."""
    before, env = command()[:-1], {**environment, "RINGFORT_WARDEN": ringfort.replace("/ringfort", "/ringfort-warden")}

    def start(*words):
        return subprocess.Popen([*before, program, *words], cwd=workdir, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def say(keeper):
    def run(*words):
        process = keeper(*words)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, (out, err)
        return out

    return run


@pytest.mark.parametrize("mode", ["programs", "apart", "together", "terminal", "background", "frozen", "stopped", "time", "limits"])
def test_a_kept_box_keeps_its_promises(mode, say):
    assert say(mode).endswith("done\n")


def test_a_ceiling_bounds_it_and_one_that_is_none_is_named(say):
    assert "the request's ceiling: " in say("ceiling")


@pytest.mark.parametrize("how", ["cp .env new && mv new .env", "rm .env && echo SECRET > .env", "mv .env old && cp old .env"])
def test_a_kept_box_that_lost_a_mask_starts_nothing_more(how, say, workdir, as_who):
    """Each of them is how an editor saves; the kernel takes the mask away, or along with the old file."""
    here = workdir / "kept-masks"
    here.mkdir()
    (here / ".env").write_text("SECRET\n")
    if as_who == "user" and os.geteuid() == 0:
        for path in (here, here / ".env"):
            os.chown(path, 12345, 12345)
    out = say("masks", str(here), f"cd {here} && {how}")
    assert "SECRET" not in out and "over" not in out, out
    assert f"|-1|{here}/.env was replaced" in out and "make another" in out, out


def test_it_outlives_a_client_that_is_killed_and_what_that_ran_does_not(program, ringfort, as_who, public):
    groups = empty_cgroups()  # others run boxes on this machine
    with Warden(ringfort, as_who, public / f"kept-{as_who}") as warden:
        def client(*words):
            return subprocess.run([*warden.before, program, "survivor", *words], env=warden.env, stdout=subprocess.PIPE,
                                  text=True, timeout=60, check=False)

        first = client()
        assert first.returncode == -signal.SIGKILL
        assert client(first.stdout.strip()).stdout == "done\n"
    assert not left_cgroups() - groups


def test_a_warden_that_is_killed_takes_its_boxes_along(keeper):
    process = keeper("stay")
    warden, first = map(int, process.stdout.readline().split())
    assert processes_with("sleep\x0062")
    os.kill(warden, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == "gone\ndone\n"
    assert eventually(lambda: not os.path.exists(f"/proc/{first}"))
    assert eventually(lambda: not processes_with("sleep\x0062"))


def test_nothing_of_an_ended_box_is_left(say):
    groups = empty_cgroups()
    say("programs")
    assert not left_cgroups() - groups


# --- what a program in it may not do ---

TRACE = """python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    return "refused" if libc.syscall(*words) < 0 else "done"
print(call(101, 16, 1, 0, 0))                      # ptrace: attach
handle = libc.syscall(434, 1, 0)                   # pidfd_open
print(call(438, handle, 3, 0))                     # pidfd_getfd
print(call(310, 1, 0, 0, 0, 0, 0))                 # process_vm_readv
'"""
ATTACKS = {
    # Whatever pid 1 is sent by who is inside, it lives on, keeps the box, and takes it for nothing else.
    "signals to pid 1": ("for s in HUP INT QUIT USR1 TERM CHLD CONT STOP IO 34 64; do kill -$s 1; done; "
                         "kill -KILL 1; echo sent", "sent\n"),
    "a flood of them": ("i=0; while [ $i -lt 2000 ]; do kill -IO 1; kill -CHLD 1; i=$((i+1)); done; echo sent", "sent\n"),
    "pid 1's descriptors": ("cat /proc/1/fd/3 /proc/1/fdinfo/3 /proc/1/mem 2>/dev/null || echo refused", "refused\n"),
    "pid 1's memory and channel": (TRACE, "refused\nrefused\nrefused\n"),
    "descriptors beyond the streams": ("for fd in /proc/self/fd/*; do readlink $fd; done | grep -vc ^pipe: ", "0\n"),
    "a socket among them": ("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c socket:", "0\n"),
    "orphans that fill pid 1's hands": ("for i in 1 2 3 4 5 6 7 8; do (setsid sh -c true &) ; done; echo left", "left\n"),
}


@pytest.mark.parametrize("line, said", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_on_it_from_inside_bounces(line, said, say):
    assert say("attack", line) == said + "done\n"
