"""A box that lacks a wall never starts its program: pid 1 proves each of them first.

The launcher is the tests' own build (-DRF_TEST_WALLS), told to leave one wall out.
"""
import json
import os
import pathlib
import re

import pytest

# Each wall, and what the refusal may name: the fact that pid 1 found missing.
WALLS = {
    "cgroup": r"proof failed: (cgroup|limits)",
    "namespaces": r"proof failed: namespaces|^(namespaces|identity|mounts)\b",
    "mounts": r"proof failed: (directory|landlock|mounts)|^(mounts|landlock|identity)\b",
    "network": r"proof failed: (network|namespaces)",
    "limits": r"proof failed: limits",
    "identity": r"proof failed: (identity|capabilities|no_new_privs)",
    "landlock": r"proof failed: landlock",
    "seccomp": r"proof failed: seccomp",
}


def traces(box):
    """What of this box is still on the host: its record, its groups, its mounts.

    Groups of others vanish meanwhile: a walk passes over them, where a glob would fail.
    """
    found = list(pathlib.Path("/run/ringfort/boxes").glob(f"{box}*"))
    found += [f"{folder}/{name}" for folder, below, _ in os.walk("/sys/fs/cgroup") for name in below if box in name]
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    return found + [line for line in mounts.split("\n") if box in line]


@pytest.mark.whole
@pytest.mark.parametrize("wall", WALLS)
def test_nothing_starts_without_a_wall(wall, scene, as_who):
    if wall == "cgroup" and as_who == "user" and not scene.has_cgroups():
        pytest.skip("this machine gives an ordinary user no cgroup to be left out of")
    command = scene.box_command("--weaker", "allow", "--json", build="ringfort-unwalled")
    said = scene.launch([*command, "touch", f"marker-{scene.token}"],
                        {"RINGFORT_TEST_WITHOUT": wall})
    assert not (scene.workdir / f"marker-{scene.token}").exists(), "the program ran"
    assert said.code == 125, said
    result = json.loads(said.out)
    assert result["status"] == "error"
    assert re.search(WALLS[wall], result["error"]["message"]), f"it does not say which: {said}"
    assert not scene.survivors()
    assert not traces(result["id"])


def test_with_all_walls_the_same_launcher_starts(scene):
    command = scene.box_command(build="ringfort-unwalled")
    said = scene.launch([*command, "touch", "marker"])
    assert said.code == 0, said
    assert (scene.workdir / "marker").exists()


@pytest.mark.parametrize("name", ["RINGFORT_TEST_WITHOUT", "RINGFORT_TEST_UNPROVEN"])
def test_the_product_has_no_such_switch(ringfort, name):
    assert name.encode() not in pathlib.Path(ringfort).read_bytes()


def test_the_product_raises_all_walls_whatever_the_environment_says(scene):
    scene.env = {"RINGFORT_TEST_WITHOUT": ",".join(WALLS), "RINGFORT_TEST_UNPROVEN": "1"}
    said = scene.in_box("read", str(scene.canary))
    assert said.word == "refused ENOENT", said
