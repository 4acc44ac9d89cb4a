"""Each way in which others fell has a test, and the page says which."""
import pathlib

import pytest

from cves import CVES, table
from lesser import WHOLE

TESTS = pathlib.Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs/attacks.md"
NAMES = {attack.name for attack in WHOLE}


@pytest.mark.parametrize("test", sorted({test for row in CVES for test in row[2].split()}))
def test_the_test_is_there(test):
    file, _, function = test.partition("::")
    if not function:
        assert test in NAMES
        return
    found = list(TESTS.glob(f"*/{file}"))
    assert len(found) == 1 and f"def {function}(" in found[0].read_text()


def test_lint_counts_the_ways_to_execute():
    """scripts/lint has the check; here it only must not be taken away."""
    assert "single_choke_point)," in (TESTS.parent / "scripts/lint").read_text()


def test_the_documentation_has_the_table():
    assert table() in DOCS.read_text(), "run tests/attack/cves.py and put its table there"
