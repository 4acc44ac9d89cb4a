"""A short campaign of kills; `make reliability` has the long one, and docs/reliability.md its figures."""
import pathlib
import shutil
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reliability"))
from campaign import IS_ROOT, PARTS, run_part  # noqa: E402

TIMES = {"watchers": 6, "launchers": 20, "wardens": 5, "both": 4, "damaged": 2, "many_at_once": 2, "workspaces": 12, "hosts": 6, "soak": 80}


@pytest.mark.parametrize("part", PARTS)
def test_kills_and_faults_break_no_promise(part, ringfort, as_who):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    if part == "clock_jumps" and not shutil.which("gcc"):
        pytest.skip("needs gcc, for a clock that jumps")
    seed = f"{int(time.time())} {part} {as_who}"
    found = run_part(part, ringfort, as_who, TIMES.get(part, 1), seed)
    if found is None:
        pytest.skip("needs root, to make a disk")
    assert found["failed"] == [], f"seed {seed}: {found}"
