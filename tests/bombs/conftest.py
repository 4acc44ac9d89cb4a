"""What the bombs' suite adds to tests/conftest.py: the compiled programs, and a record of what was seen."""
import json
import os
import pathlib

import pytest

from blast import Range
from compiled import compile_static

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "build/results"


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
