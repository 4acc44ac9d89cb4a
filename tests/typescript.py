"""The compiler of TypeScript, and the SDK as it would be installed: for whoever tests it."""
import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SDK = ROOT / "sdk/typescript"
TYPESCRIPT = "7.0.2"  # which is a native program, and quick


def compiler():
    """The compiler, fetched once into a folder of the user's cache."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("node and npm are not there")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ringfort-tests"
    folder = cache / f"typescript-{TYPESCRIPT}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run side by side want it
        fetch(folder)
    return folder / "node_modules/typescript/bin/tsc"


def fetch(folder):
    if not (folder / "done").exists():
        done = subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1",
                               f"typescript@{TYPESCRIPT}"], capture_output=True, text=True, timeout=280, check=False, cwd=folder)
        if done.returncode:
            pytest.skip(f"typescript can't be had from npm: {done.stderr[-200:]}")
        (folder / "done").touch()


def compile_to(folder):
    """Its types are checked, strictly, when it is made."""
    done = subprocess.run(["node", compiler(), "-p", SDK, "--outDir", folder], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    return folder
