"""Programs that tests compile, and copies that nobody changes.

Where many processes of pytest run side by side, in the folder RF_TEST_SHARED lies what all have in common, and each
program is compiled once.
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

SHARED = os.environ.get("RF_TEST_SHARED")


def link_or_copy(source, target):
    """A second name of a file that nobody changes, or a copy."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy(source, target)


def compile_static(sources, path):
    """Compiles a program of the tests, linked statically; once for all that run side by side.  Gives its path."""
    built = os.environ.get("RINGFORT_BUILT")  # by tests/vm/run, for a machine without a compiler
    if not built and not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    if built:
        shutil.copy(pathlib.Path(built) / path.name, path)
    elif SHARED and os.path.isdir(SHARED):  # a stage has another /tmp
        link_or_copy(compiled_once([str(source) for source in sources], path.name), path)
    else:
        compile_now(sources, path)
    return str(path)


def compile_now(sources, path):
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu17",
                    "-D_GNU_SOURCE", *map(str, sources), "-o", str(path)], check=True)


def compiled_once(sources, name):
    path = pathlib.Path(SHARED, f"{name}-{hashlib.sha256(' '.join(sources).encode()).hexdigest()[:12]}")
    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            compile_now(sources, f"{path}.new")
            os.rename(f"{path}.new", path)
    return path
