"""The page of promises: every line names a test that is there and has a figure, and no figure is hoped for."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import promises  # noqa: E402

ALL = [{"promise": sorted(promise.keys, key=str)[0], "test": promise.tests[0], "mode": "root", "figure": "12 of 12",
        "ok": True} for promise in promises.PROMISES]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(promises, "PAGE", tmp_path / "promises.md")
    monkeypatch.setattr(promises, "RESULTS", tmp_path)
    return tmp_path


def give(place, rows):
    (place / "attack.json").write_text(json.dumps(rows))


def test_the_page_is_the_generators_and_names_tests_that_are_there():
    assert promises.check() == []


def test_every_promise_has_its_figure_and_its_test(place):
    give(place, ALL)
    page = promises.page(promises.read_results())
    for promise in promises.PROMISES:
        line = next(line for line in page.split("\n") if f"**{promise.name}**" in line)
        assert "12 of 12 (root)" in line and promise.tests[0].rpartition("::")[2] in line


def test_a_promise_without_a_result_is_an_error(place):
    give(place, ALL[1:])
    with pytest.raises(promises.Problem, match=promises.PROMISES[0].name):
        promises.page(promises.read_results())


def test_a_draft_says_what_has_no_result_and_is_not_taken_for_one(place):
    give(place, ALL[1:])
    promises.PAGE.write_text(promises.page(promises.read_results(), is_draft=True))
    assert f"| {promises.NONE_YET} |" in promises.PAGE.read_text()
    with pytest.raises(promises.Problem, match=promises.PROMISES[0].name):
        promises.page(promises.read_results())


def test_a_promise_whose_suite_did_not_run_keeps_its_last_figure(place):
    give(place, ALL)
    promises.PAGE.write_text(promises.page(promises.read_results()))
    give(place, ALL[1:])
    assert promises.PAGE.read_text() == promises.page(promises.read_results())


def test_a_test_that_failed_is_an_error_and_leaves_the_page_alone(place):
    give(place, ALL)
    promises.PAGE.write_text(promises.page(promises.read_results()))
    give(place, [{**ALL[0], "ok": False}, *ALL[1:]])
    with pytest.raises(promises.Problem, match="broken"):
        promises.page(promises.read_results())


@pytest.mark.parametrize("rows, words", [
    ([{**ALL[0], "promise": "nobodys"}], "no promise"),
    ([{"promise": 1, "ok": True}], "a row without"),
])
def test_results_that_say_nothing_are_errors(place, rows, words):
    give(place, ALL + rows)
    with pytest.raises(promises.Problem, match=words):
        promises.page(promises.read_results())


def test_a_sentence_is_a_promise_by_itself(place):
    (place / "bench.json").write_text(json.dumps([{**ALL[0], "promise": "A box starts at once"}]))
    give(place, ALL)
    assert "**A box starts at once**" in promises.page(promises.read_results())
