"""What the bombs' suite adds to tests/conftest.py: the compiled programs, and a record of what was seen."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from blast import Range

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "build/results"


def compile_static(sources, path):
    built = os.environ.get("RINGFORT_BUILT")  # by tests/vm/run, for a machine without a compiler
    if not built and not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    if built:
        return shutil.copy(pathlib.Path(built) / path.name, path) and str(path)
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu17",
                    "-D_GNU_SOURCE", *map(str, sources), "-o", str(path)], check=True)
    return str(path)


@pytest.fixture(scope="session")
def field(public, ringfort):
    """Where bombs are set off."""
    bombs = [path for path in sorted(HERE.glob("*.c")) if path.name != "watch.c"]
    field = Range(ringfort, compile_static(bombs, public / "bombs/bomb"),
                 compile_static([HERE / "watch.c"], public / "tools/watch"),
                 compile_static([HERE.parent / "lesser/forbid.c"], public / "tools/forbid"), public)
    yield field
    field.done()


@pytest.fixture(scope="session")
def book():
    """What was seen, for report.py."""
    rows = []
    yield rows
    RESULTS.mkdir(parents=True, exist_ok=True)
    is_whole = os.environ.get("RINGFORT_BOMBS") == "all"
    shots = RESULTS / ("bombs-all.json" if is_whole else "bombs-few.json")
    known = json.loads(shots.read_text()) if shots.exists() else []
    newest = {(row["test"], row["mode"]): row for row in known + rows}  # a part may be run again
    shots.write_text(json.dumps(list(newest.values()), indent=1) + "\n")
