"""What the attack suite adds to tests/conftest.py: the compiled attacks and the scene of one."""
import pytest

from compiled import compile_static
from scene import HERE, Scene


@pytest.fixture(scope="session")
def program(public):
    """The attacks as one static program, in a folder of its own that a box can be shown."""
    return compile_static(sorted(HERE.glob("*.c")), public / "attacks/attack")


@pytest.fixture(scope="session")
def forbid(public):
    """The program that forbids user namespaces."""
    return compile_static([HERE.parent / "lesser/forbid.c"], public / "forbid/forbid")


@pytest.fixture(scope="session")
def older(public):
    """The program that makes the kernel seem older."""
    return compile_static([HERE.parent / "lesser/older.c"], public / "older/older")


@pytest.fixture
def scene(as_who, ringfort, program, public, workdir):
    scene = Scene(as_who, ringfort, program, public, workdir)
    yield scene
    scene.done()


@pytest.fixture
def lesser_scene(scene, forbid):
    """The same on a machine without namespaces: all that a box can be there is a lesser one."""
    scene.be_lesser(forbid)
    return scene
