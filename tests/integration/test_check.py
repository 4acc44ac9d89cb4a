"""What `make check` runs: samples that leave no wall, caller or mode out, areas that know every file, jobs in their order."""
import os
import pathlib
import subprocess
import sys
import threading

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
CHECK = TESTS / "check"
sys.path.insert(0, str(CHECK))
import areas  # noqa: E402
import jobs  # noqa: E402
import results  # noqa: E402

MATRIX = """
import pytest

@pytest.fixture(params=["root", "user"])
def as_who(request):
    return request.param

@pytest.mark.parametrize("wall", range(7))
@pytest.mark.parametrize("mode", ["a", "b", "c"])
def test_matrix(as_who, mode, wall):
    pass

def test_caller(as_who):
    pass

@pytest.mark.whole
def test_whole(as_who):
    pass

@pytest.mark.others
@pytest.mark.parametrize("number", range(50))
def test_others(number):
    pass

@pytest.mark.matrix(tags=lambda parameters: {parameters["number"] % 4})
@pytest.mark.parametrize("number", range(100))
def test_tags(as_who, number):
    pass

def test_alone():
    pass
"""


@pytest.fixture
def matrix(tmp_path):
    """Collects that file as tests/ does; gives {function: [parameters]}."""
    (tmp_path / "test_matrix.py").write_text(MATRIX)
    (tmp_path / "conftest.py").write_text("from sampling import pytest_collection_modifyitems\n")
    (tmp_path / "pytest.ini").write_text((TESTS / "pytest.ini").read_text())

    def collect(**env):
        done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "--collect-only"], cwd=tmp_path, capture_output=True,
                              text=True, check=False, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS), **env})
        assert done.returncode == 0, done.stdout + done.stderr
        found = {}
        for line in done.stdout.splitlines():
            if "::" in line:
                name, _, words = line.partition("::")[2].rstrip("]").partition("[")
                found.setdefault(name, []).append(tuple(words.split("-")))
        return found

    return collect


def test_without_a_start_value_each_case_is_there(matrix):
    assert {name: len(cases) for name, cases in matrix().items()} == {
        "test_matrix": 42, "test_caller": 2, "test_whole": 2, "test_others": 50, "test_tags": 200, "test_alone": 1}


def test_a_sample_has_each_mode_and_both_callers_and_a_fifth_of_all(matrix):
    callers = set()
    for seed in range(6):
        found = matrix(RF_SAMPLE=str(seed))
        cases = found["test_matrix"]
        assert 9 <= len(cases) < 42 and [len(set(column)) for column in zip(*cases)][:2] == [2, 3]
        assert len(found["test_caller"]) == 1 and len(found["test_whole"]) == 2 and len(found["test_alone"]) == 1
        assert len(found["test_others"]) == 1
        assert 40 <= len(found["test_tags"]) < 50
        assert {int(number) % 4 for _, number in found["test_tags"]} == {0, 1, 2, 3}
        callers.update(found["test_caller"])
    assert len(callers) == 2, "chance picks the caller"


def test_a_start_value_picks_the_same_sample_again_and_another_one_another(matrix):
    assert matrix(RF_SAMPLE="7") == matrix(RF_SAMPLE="7") != matrix(RF_SAMPLE="8")


def test_shards_are_the_sample_without_a_gap_or_a_case_twice(matrix):
    def cases(found):
        return sorted((name, words) for name, rows in found.items() for words in rows)

    parts = [cases(matrix(RF_SAMPLE="7", RF_SHARD=f"{number}/3")) for number in (1, 2, 3)]
    assert sorted(sum(parts, [])) == cases(matrix(RF_SAMPLE="7"))
    assert min(map(len, parts)) > 0


def test_every_file_of_tests_and_every_folder_of_the_source_has_an_area():
    assert areas.unknown_files() == []
    assert {path.name for path in (TESTS.parent / "src").iterdir() if path.is_dir()} <= set(areas.names())
    for area in areas.names():
        has_files = any(area in areas.areas_of(folder, file) for folder in ("integration", "attack", "bombs", "faults")
                        for file in areas.files_of(folder))
        assert has_files or area in areas.ELSEWHERE or (TESTS.parent / "src" / area).is_dir() or area in ("unit", "fuzz"), area


def check(*words):
    return subprocess.run([sys.executable, "-B", CHECK, *words], capture_output=True, text=True, check=False, timeout=60)


def test_an_unknown_area_lists_those_that_there_are():
    done = check("--only", "nonsense")
    assert done.returncode == 1 and "'nonsense'" in done.stderr
    assert {"gateway", "jail", "audit", "policy"} <= set(done.stderr.split()), done.stderr


def test_what_failed_last_can_not_be_run_before_anything_was(tmp_path):
    code = f"import sys, pathlib; sys.path.insert(0, {str(CHECK)!r}); import commands; commands.LOGS = commands.ROOT / 'no-such'; " \
        "sys.argv = ['check', '--failed']; import runpy; runpy.run_path(" f"{str(CHECK / '__main__.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1 and "run `make check` first" in done.stderr, done.stderr


# --- jobs ---

def passed(name, seen=None):
    def work():
        if seen is not None:
            seen.append(name)
        return [results.Case(name, "passed")]
    return work


def run_jobs(*rows):
    told = []
    runner = jobs.Runner([jobs.Job(*row) for row in rows], lambda done, number, count: told.append((done.job.name, number, count)))
    runner.run()
    return runner, told


def test_a_job_begins_when_what_it_needs_has_ended_and_what_measures_comes_after_the_boxes():
    seen = []
    names = [("measure", "alone", ("build",), 9), ("long", "boxes", ("build",), 5), ("short", "boxes", ("build",), 1),
             ("build", "build", (), 1)]
    runner, told = run_jobs(*((name, "s", lane, passed(name, seen), needs, seconds) for name, lane, needs, seconds in names))
    assert seen[0] == "build" and set(seen[1:3]) == {"long", "short"} and seen[3] == "measure"
    assert [number for _, number, _ in told] == [1, 2, 3, 4] and runner.not_run == []


def test_the_longest_begins_first():
    seen, begun = [], threading.Event()
    rows = [(f"{seconds}", "s", "reserve", passed(seconds, seen), (), seconds) for seconds in (1, 3, 2)]
    run_jobs(*rows)
    begun.set()
    assert seen == [3, 2, 1]


def test_what_stands_on_something_that_failed_is_not_run_and_named():
    seen = []

    def broken():
        raise RuntimeError("no compiler")

    runner, _ = run_jobs(("build", "s", "build", broken, (), 1), ("boxes", "s", "boxes", passed("boxes", seen), ("build",), 1),
                         ("after", "s", "alone", passed("after", seen), ("boxes",), 1), ("other", "s", "reserve", passed("other", seen), (), 1))
    assert seen == ["other"] and sorted(job.name for job in runner.not_run) == ["after", "boxes"]
    case = next(done for done in runner.done if done.job.name == "build").cases[0]
    assert case.verdict == "failed" and "no compiler" in case.story


def test_a_job_that_finds_nothing_to_run_has_failed():
    runner, _ = run_jobs(("empty", "s", "boxes", list, (), 1))
    assert runner.done[0].cases[0].verdict == "failed"


# --- what programs say ---

TAP = """TAP version 13
1..4
ok 1 - test-x: a thing holds
not ok 2 - test-x: another does not
# test-x.c:12: 1 is not 2
ok 3 - test-x: a third # SKIP no such thing here
ok 4 - replay-y: input
"""


@pytest.mark.parametrize("text, code, verdicts", [
    (TAP, 1, ["passed", "failed", "skipped", "passed"]),
    (TAP.replace("not ok", "ok"), 0, ["passed", "passed", "skipped", "passed"]),
    (TAP.replace("not ok", "ok"), 1, ["passed", "passed", "skipped", "passed", "failed"]),
    (TAP.replace("1..4", "1..5"), 1, ["passed", "failed", "skipped", "passed", "failed"]),
    ("", 0, ["failed"]), ("1..0 # SKIP no walls\n", 0, ["skipped"]),
])
def test_each_line_of_tap_is_a_case_and_an_early_end_is_one_too(text, code, verdicts):
    cases = results.read_tap("test-folder", code, text)
    assert [case.verdict for case in cases] == verdicts
    if len(cases) > 3:
        assert cases[0].name == "test-x: a thing holds" and cases[2].story == "no such thing here"
