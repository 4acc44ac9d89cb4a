"""What the attack suite adds to tests/conftest.py: the compiled attacks and the scene of one."""
import pathlib
import shutil
import subprocess

import pytest

from scene import Scene

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def program(public):
    """The attacks as one static program, in a folder of its own that a box can be shown."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    folder = public / "attacks"
    folder.mkdir()
    folder.chmod(0o755)
    path = folder / "attack"
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu17",
                    "-D_GNU_SOURCE", *map(str, sorted(HERE.glob("*.c"))), "-o", str(path)],
                   check=True)
    return str(path)


@pytest.fixture
def scene(as_who, ringfort, program, public, workdir):
    scene = Scene(as_who, ringfort, program, public, workdir)
    yield scene
    scene.done()
