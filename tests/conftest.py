"""What the integration and attack suites stand on: the built programs, driven from outside.

A test asks for what it needs by name:

    run_box(*args)     `ringfort run *args`; gives (code, out, err), the outputs as bytes
    run_json(*args)    `ringfort run --json *args`; gives the parsed result
    call(*args)        `ringfort *args`, any other command; like run_box
    as_who             runs the test twice, as root and as an ordinary user (or once, as the user
                       that runs the tests); run_box, run_json, call and workdir follow it
    workdir            a fresh directory of whoever runs: the current directory of every call
    need(program...)   skips the test when this machine lacks a program

With RF_TEST_WARDEN=1 in the environment every box of theirs comes from a standing warden, one for each
user: pytest then has a mount namespace of its own, with another /run/ringfort and /run/user (as root only).

tests/check sets two more, for files that are tested side by side.  With RF_TEST_OWN_RUN=1, root's pytest has a
/run/ringfort of its own, so that no test meets another's boxes.  In the folder RF_TEST_SHARED lies what all have in
common: the built programs, and what tests compile.  RF_SAMPLE and RF_SHARD pick cases: see sampling.py.

Each of the first three takes user=, stdin=, timeout= (seconds), env= (added to a small clean
environment) and cwd=.  A call that outlives its time-out fails the test.
"""
import collections
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from compiled import SHARED, link_or_copy
from sampling import pytest_collection_modifyitems  # noqa: F401 # a hook of pytest's

ROOT = pathlib.Path(__file__).resolve().parent.parent
IS_ROOT = os.geteuid() == 0
# An ordinary user that is in no passwd: nothing is created on the host for it.
USER_ID = 12345
PATH = "/usr/local/bin:/usr/bin:/bin"  # what a box has, too

Done = collections.namedtuple("Done", "code out err")


def remove(path, seconds=10):
    """Takes a folder away, also one in which somebody who is ending still writes."""
    end = time.monotonic() + seconds
    while True:
        try:
            shutil.rmtree(path)
            return
        except OSError:
            if not path.exists():
                return
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@pytest.fixture(scope="session")
def public():
    """A directory that every user can reach, unlike a checkout below /root or pytest's own."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="rf-tests-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    remove(path)


def own_run():
    """Enters a mount namespace with another /run/ringfort.

    What all boxes of root must agree upon, the uids that are taken, stays where it is.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not IS_ROOT or libc.unshare(0x20000):  # CLONE_NEWNS
        pytest.exit("a /run/ringfort of its own needs root, and a mount namespace", returncode=2)
    os.makedirs("/run/ringfort", 0o700, exist_ok=True)
    with open("/run/ringfort/uids", "a", encoding="ascii") as uids:
        subprocess.run("mount --make-rprivate / && mount -t tmpfs -o mode=0700 none /run/ringfort && "
                       f"touch /run/ringfort/uids && mount --bind /proc/self/fd/{uids.fileno()} /run/ringfort/uids",
                       shell=True, check=True, pass_fds=[uids.fileno()])


def pytest_sessionstart():
    if os.environ.get("RF_TEST_OWN_RUN") and IS_ROOT:
        own_run()


def pytest_sessionfinish(session, exitstatus):
    """Records and mounts of root's boxes that stay: nobody else sees them, and they vanish with this process."""
    if not os.environ.get("RF_TEST_OWN_RUN") or not IS_ROOT or exitstatus not in (0, 1):
        return
    end = time.monotonic() + 10
    while (left := left_in_own_run()) and time.monotonic() < end:
        time.sleep(0.1)
    if left:
        print("left behind:", *left)
        session.exitstatus = 3


def left_in_own_run():
    places = [line.split(" ")[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if "ringfort" in line]
    return [str(path) for path in pathlib.Path("/run/ringfort/boxes").glob("*")] + \
        [place for place in places if place not in ("/run/ringfort", "/run/ringfort/uids")]


@pytest.fixture(scope="session")
def ringfort(public):
    """The path of `ringfort`: the built programs, side by side, where all can execute them."""
    built = pathlib.Path(os.environ.get("RINGFORT", ROOT / "build/ringfort")).resolve()
    if not built.exists():
        pytest.exit(f"{built} is not there: run `make build` first, or set RINGFORT", returncode=2)
    (public / "bin").mkdir()
    is_shared = SHARED and "RINGFORT" not in os.environ
    for program in pathlib.Path(SHARED, "bin").iterdir() if is_shared else built.parent.glob("ringfort*"):
        if program.is_file() and os.access(program, os.X_OK):
            (link_or_copy if is_shared else shutil.copy)(program, public / "bin" / program.name)
    return str(public / "bin" / built.name)


@pytest.fixture(scope="session", autouse=bool(os.environ.get("RF_TEST_WARDEN")))
def standing_wardens(ringfort):
    """One for each user, in places where clients with a small clean environment find them."""
    own_run()
    private = f"/run/user/{USER_ID}"
    os.makedirs("/run/user", exist_ok=True)
    subprocess.run(f"mount -t tmpfs none /run/user && mkdir -m 700 {private} && chown {USER_ID}:{USER_ID} {private}",
                   shell=True, check=True)
    wardens = [subprocess.Popen([*prefix_for(who), ringfort, "warden"], stdin=subprocess.DEVNULL, cwd="/",
                                env={"PATH": PATH}, start_new_session=True) for who in ("root", "user")]
    for folder in ("/run/ringfort", f"{private}/ringfort"):
        while not os.path.exists(f"{folder}/warden.sock"):
            time.sleep(0.01)
    yield
    for warden in wardens:
        warden.terminate()
        warden.wait()


@pytest.fixture(params=["root", "user"] if IS_ROOT else ["user"])
def as_who(request):
    return request.param


@pytest.fixture
def who(request):
    """Who runs this test's calls: as_who where the test has it, else whoever runs the tests."""
    if "as_who" in request.fixturenames:
        return request.getfixturevalue("as_who")
    return "root" if IS_ROOT else "user"


def make_folder(parent, prefix, user):
    path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    if IS_ROOT and user == "user":
        os.chown(path, USER_ID, USER_ID)
    return path


@pytest.fixture
def workdir(public, who):
    path = make_folder(public, "work-", who)
    path.chmod(0o755)  # for a call with another user=
    yield path
    remove(path)


def prefix_for(user):
    """What to put before a command so that `user` runs it."""
    if user not in ("root", "user"):
        raise ValueError(f"user is 'root' or 'user', not {user!r}")
    if user == "root" and not IS_ROOT:
        pytest.skip("needs root")
    if user == "root" or not IS_ROOT:
        return []
    return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]


@pytest.fixture
def call(ringfort, public, who, workdir):
    homes = {}

    def call_it(*args, user=None, stdin=b"", timeout=30, env=None, cwd=None):
        user = user or who
        command = [*prefix_for(user), ringfort, *(os.fspath(arg) for arg in args)]
        if user not in homes:
            homes[user] = make_folder(public, "home-", user)
        clean = {"PATH": PATH, "HOME": str(homes[user]), "LANG": "C.UTF-8", "TERM": "dumb"}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=cwd or workdir,
                                   env={**clean, **(env or {})}, start_new_session=True)
        with process:
            try:
                out, err = process.communicate(stdin, timeout)
                return Done(process.returncode, out, err)
            except subprocess.TimeoutExpired as late:
                os.killpg(process.pid, signal.SIGKILL)
                story = f"stdout: {late.stdout!r}\nstderr: {late.stderr!r}"
        return pytest.fail(f"{' '.join(command)}\ntook longer than {timeout} s\n{story}")

    yield call_it
    for home in homes.values():
        remove(home)


@pytest.fixture
def run_box(call):
    return lambda *args, **options: call("run", *args, **options)


@pytest.fixture
def run_json(call):
    def run_it(*args, **options):
        done = call("run", "--json", *args, **options)
        try:
            return json.loads(done.out)
        except ValueError:
            pytest.fail(f"no JSON from {args}: exit code {done.code}\n"
                        f"stdout: {done.out!r}\nstderr: {done.err!r}")

    return run_it


@pytest.fixture
def need():
    def need_it(*programs):
        for program in programs:
            if not shutil.which(program, path=PATH + ":/usr/sbin:/sbin"):
                pytest.skip(f"no {program} on this machine")

    return need_it
