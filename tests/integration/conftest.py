"""What the integration suites need besides tests/conftest.py: runs that are not waited for.

    start(*args)    `ringfort run *args`, started and not waited for; gives the Popen.  The process
                    is ringfort itself, also where another user runs it.  Takes Popen's options,
                    and user=.  Standard input is empty, both outputs are pipes, unless told.
    command(*args)  the words that `start` would start, for a test that has its own way to do it
    runtime         XDG_RUNTIME_DIR of every `start`; records of an ordinary user's boxes lie there
    boxes           the folder of the records of whoever runs
    post            a place where a watcher can stand (tests/watchers.py), for each of `as_who`
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # for helpers
sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
from watchers import Post  # noqa: E402

USER_ID = 12345
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def runtime(public, who):
    if os.environ.get("RF_TEST_WARDEN"):  # where the user's warden stands
        yield pathlib.Path(f"/run/user/{USER_ID}")
        return
    path = pathlib.Path(tempfile.mkdtemp(prefix="runtime-", dir=public))
    if IS_ROOT and who == "user":
        os.chown(path, USER_ID, USER_ID)
    yield path
    for _ in range(40):  # a janitor may be removing its record at this very moment
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break
        time.sleep(0.05)


@pytest.fixture
def boxes(runtime, who):
    return pathlib.Path("/run/ringfort/boxes") if who == "root" else runtime / "ringfort/boxes"


@pytest.fixture
def command(ringfort, who):
    def words(*args, user=None):
        user = user or who
        before = []
        if IS_ROOT and user == "user":
            before = ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]
        return [*before, ringfort, *args]

    return words


@pytest.fixture
def environment(runtime):
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
            "XDG_RUNTIME_DIR": str(runtime)}


@pytest.fixture
def start(command, environment, workdir):
    started = []

    def start_it(*args, user=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": workdir, **options,
                   "env": {**environment, **(options.get("env") or {})}}
        process = subprocess.Popen(command("run", *args, user=user), **options)
        started.append(process)
        return process

    yield start_it
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                if stream:
                    stream.close()
            except OSError:
                pass  # what could not be flushed to a program that is gone


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="post-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        yield there
    shutil.rmtree(top, ignore_errors=True)
