"""Packages from npm and PyPI that tests use: fetched once, also where many processes of pytest want them at the same time.

What can't be had skips the test, and says so.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

FETCH_TIMEOUT_S = 280


def once(folder, fetch):
    """Calls fetch() where nobody has done so with success, one process at a time; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            fetch()
            (folder / "done").touch()
    return folder


def run(*words, what, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False, **options)
    if done.returncode:
        pytest.skip(f"{what} can't be had: {done.stderr[-200:]}")


def npm(name, *packages):
    """A folder of the user's cache with these packages of npm; gives its node_modules."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("node and npm are not there")
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = caches / "ringfort-tests" / name
    once(folder, lambda: run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--no-package-lock", "--omit=dev",
                             "--fetch-retries=1", *packages, what=f"{' and '.join(packages)} from npm", cwd=folder))
    return folder / "node_modules"


def venv(folder, *packages):
    """A virtual environment of Debian's Python with these packages of PyPI; gives its folder of programs."""
    def fetch():
        run("/usr/bin/python3", "-m", "venv", folder, what="a venv")
        run(folder / "bin/pip", "-q", "install", "--no-input", "--retries", "1", *packages, what=f"{' and '.join(packages)} from PyPI")

    return once(folder, fetch) / "bin"
