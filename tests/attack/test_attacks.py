"""Every attack of the catalogue bounces off a box, and succeeds where its wall is down."""
import pathlib
import platform

import pytest

from catalogue import ATTACKS, KNOWN, X86_ONLY, Nobody, control_for, table
from craft import control_tags

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/attacks.md"
# What a kernel says to whoever asks for what it was built without.
LACKING = {"refused ENOSYS", "refused EAFNOSUPPORT", "refused EPROTONOSUPPORT",
           "refused ESOCKTNOSUPPORT", "refused ENOTSUP"}
HERE = [attack for attack in ATTACKS
        if platform.machine() == "x86_64" or attack.name not in X86_ONLY]
EACH = pytest.mark.parametrize("attack", HERE, ids=[attack.name for attack in HERE])


@pytest.mark.matrix(tags=lambda parameters: {parameters["attack"].name})
@EACH
def test_bounces(attack, scene, request):
    if attack.name in KNOWN:  # strict: a gap that closes must be taken off the list
        request.applymarker(pytest.mark.xfail(reason=KNOWN[attack.name], strict=True))
    args = attack.args(scene)
    said = scene.in_box(attack.run, *args, options=attack.options)
    assert not attack.judge(scene, said), f"the deed was done: {said}"
    if said.code == 126 and said.word == "nothing" and "this machine lacks" in said.err:
        pytest.skip(f"there is no such box on this machine: {said.err}")
    assert said.word in attack.expect.split("|"), said
    assert scene.secret not in said.out or scene.stdout_file, said


@pytest.mark.matrix(tags=control_tags)
@EACH
def test_succeeds_without_its_wall(attack, scene, as_who):
    control = control_for(attack, as_who)
    if isinstance(control, Nobody):
        pytest.skip(f"{attack.name} has no control here: {control.why}")
    args = attack.args(scene)
    said = control.run(scene, attack.run, args, attack.options)
    if said.word in LACKING:
        pytest.skip(f"this kernel lacks what {attack.name} needs ({said.word.split()[1]})")
    assert said.word == "escaped", said
    assert attack.judge(scene, said), f"it says that it escaped, but nothing is to be seen: {said}"


def test_names_are_unique():
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names))


def test_the_documentation_has_the_table():
    assert table() in DOCS.read_text(), "run tests/attack/catalogue.py and put its table there"
