"""Where namespaces are forbidden: every attack bounces off a lesser box, but for what it says it lacks."""
import json
import pathlib
import platform

import pytest

from catalogue import KNOWN, X86_ONLY, Nobody, Without
from craft import control_tags
from lesser import (ALONE, NOT_PROMISED, NOT_PROMISED_TO_ROOT, WHOLE, exceptions, promise_of, table)

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/lesser-box.md"
LACKING = {"refused ENOSYS", "refused EOPNOTSUPP", "refused ENOTSUP", "refused ENOTTY"}
HERE = [attack for attack in WHOLE
        if platform.machine() == "x86_64" or attack.name not in X86_ONLY]


def each(attacks):
    return pytest.mark.parametrize("attack", attacks, ids=[attack.name for attack in attacks])


def missing(scene):
    """What a lesser box of this scene says that it lacks."""
    said = scene.launch([*scene.box_command("--json"), "true"])
    return json.loads(said.out)["isolation"]["missing"]


@pytest.mark.matrix(tags=lambda parameters: {parameters["attack"].name})
@each(HERE)
def test_bounces(attack, lesser_scene, as_who):
    scene = lesser_scene
    said = scene.in_box(attack.run, *attack.args(scene), options=attack.options)
    is_done = attack.judge(scene, said)
    excuse = NOT_PROMISED.get(attack.name)
    if as_who == "root":
        excuse = excuse or NOT_PROMISED_TO_ROOT.get(attack.name)
    if attack.name in KNOWN and promise_of(attack).startswith("no"):
        pytest.skip(KNOWN[attack.name])
    if excuse:
        assert is_done, f"a gap that is closed must be taken off the list: {said}"
        assert any(words.startswith(excuse) for words in missing(scene)), "and the result says so"
        return
    assert not is_done, f"the deed was done: {said}"
    assert scene.secret not in said.out or scene.stdout_file, said
    if said.code == 126:
        assert said.word == "nothing", said  # the policy asks for what it can't give
    else:
        assert said.word.startswith(("refused ", "killed ")) or said.word == attack.expect, said


@pytest.mark.matrix(tags=control_tags)
@each(ALONE)
def test_succeeds_without_what_stops_it(attack, scene, forbid):
    if isinstance(attack.control, Nobody):
        pytest.skip(f"{attack.name} has no control: {attack.control.why}")
    if isinstance(attack.control, Without):  # a wall, of a lesser box
        scene.be_lesser(forbid)
    said = attack.control.run(scene, attack.run, attack.args(scene), attack.options)
    if said.word in LACKING:
        pytest.skip(f"this machine lacks what {attack.name} needs ({said.word.split()[1]})")
    assert said.word == "escaped", said
    assert attack.judge(scene, said), f"it says that it escaped, but nothing is to be seen: {said}"


# The walls of a lesser box, and what the refusal may name.
WALLS = {
    "limits": "limits",
    "identity": "identity|capabilities|no_new_privs|enforce the ruleset",
    "landlock": "landlock",
    "seccomp": "seccomp",
}


@pytest.mark.parametrize("wall", WALLS)
def test_nothing_starts_without_a_wall(wall, lesser_scene, as_who):
    scene = lesser_scene
    if wall == "identity" and as_who == "user":
        pytest.skip("what forbids the namespaces here has taken the user's privileges already")
    said = scene.launch([*scene.box_command("--json", build="ringfort-unwalled"), "touch", "marker"],
                        {"RINGFORT_TEST_WITHOUT": wall})
    result = json.loads(said.out)
    assert said.code == 125 and result["status"] == "error", said
    assert not (scene.workdir / "marker").exists()
    assert any(fact in result["error"]["message"] for fact in WALLS[wall].split("|")), said


def test_the_documentation_has_the_tables():
    text = DOCS.read_text()
    for part in (table(), exceptions()):
        assert part in text, "run tests/attack/lesser.py and put its tables there"
