"""What a run or a kept box names beyond the ceiling of a standing warden is told: `ringfort warden --ceiling`."""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import IS_ROOT, USER_ID, Warden  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def folder(public):
    path = pathlib.Path(tempfile.mkdtemp(prefix="ceiling-", dir=public))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def here(folder):
    path = folder / "here"
    path.mkdir(mode=0o755)
    if IS_ROOT:
        os.chown(path, USER_ID, USER_ID)
    return path


@pytest.fixture
def stand(ringfort, as_who, folder):
    wardens = []

    def stand_up(*options):
        wardens.append(Warden(ringfort, as_who, folder / f"run{len(wardens)}", *options))
        return wardens[-1]

    yield stand_up
    for warden in wardens:
        warden.close()


def test_what_a_run_names_beyond_the_ceiling_is_told(stand, here):
    (here / "ceiling.yaml").write_text("limits: {memory: 64M}\nfiles: {current: none}\nenv: {pass: [RF_A]}\n")
    bounded = stand("--ceiling", here / "ceiling.yaml")
    words = "beyond the warden's ceiling, and not given: "
    for _ in range(2):  # also where the policy is remembered
        done = bounded.run("run", "--memory", "1G", "--read", here, "--env", "RF_B=c", "--", "true", cwd=here)
        assert done.returncode == 0 and f"{words}limits.memory: 1G, files.read: {here}" in done.stderr.decode(), done
    result = json.loads(bounded.run("run", "--json", "--env", "RF_B=c", "--", "true", cwd=here).stdout)
    assert result["warnings"] == [words + "env.set: RF_B"], result
    many = [word for i in range(40) for word in ("--env", f"RF_{i}=c")]
    result = json.loads(bounded.run("run", "--json", *many, "--", "true", cwd=here).stdout)
    assert len(result["warnings"]) == 1 and re.search(r" and \d+ more$", result["warnings"][0]), result
    for plain in ([], ["--memory", "32M"], ["--env", "RF_A=b"]):
        done = bounded.run("run", *plain, "--", "true", cwd=here)
        assert done.returncode == 0 and b"ceiling" not in done.stderr, (plain, done)


def test_a_run_whose_network_is_beyond_the_ceiling_is_told_so(stand, here):
    (here / "ceiling.yaml").write_text("network: none\n")
    done = stand("--ceiling", here / "ceiling.yaml").run("run", "--net", "a.test", "--", "true", cwd=here)
    assert done.returncode == 125 and b"the warden's ceiling leaves no network to this box" in done.stderr, done
