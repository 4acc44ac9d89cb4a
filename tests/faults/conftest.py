"""What the fault suite needs: a stage for each user, and sweeps that know the run without faults."""
import os
import shutil
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from stage import BUILD, Corner, Stage  # noqa: E402
from sweep import Sweep  # noqa: E402


def pytest_sessionstart(session):
    if not (BUILD / "ringfort").exists():
        pytest.exit(f"{BUILD}/ringfort is not there: run `make build` first, or set RINGFORT", returncode=2)


@pytest.fixture(scope="session")
def seed():
    """Of everything random here; RF_FAULTS_SEED chooses the one of an earlier run."""
    return int(os.environ.get("RF_FAULTS_SEED", int(time.time())))


@pytest.fixture(scope="session")
def stages():
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    made = {}

    def get(who):
        if who not in made:
            made[who] = Stage(who)
        return made[who]

    yield get
    for stage in made.values():
        stage.done()
    Corner.leave()


@pytest.fixture(scope="session")
def sweeps(stages):
    made = {}

    def get(who, variant):
        stage = stages(who)
        stage.end_neighbour()
        stage.before = stage.look()
        if (who, variant) not in made:
            made[who, variant] = Sweep(who, variant, stage)
        return made[who, variant]

    return get
