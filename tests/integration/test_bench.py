"""The benchmarks measure what they say: a box that lacks a wall is not measured, a run that failed is
not counted, and what people wrote in docs/benchmarks.md stays."""
import importlib.util
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def engine():
    done = subprocess.run(["ninja", "-C", ROOT / "build", "--quiet", "bench-start"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

    def measure(*words):
        done = subprocess.run([ROOT / "build/bench-start", *words], check=True, text=True,
                              stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return measure


def test_rounds_are_spread_and_failures_are_not_counted(engine):
    found = engine("-q", "0", ":::", "rounds=20", "/bin/true", ":::", "rounds=4", "/bin/true", ":::",
                   "rounds=10", "/bin/false")
    assert [(row["rounds"], row["failed"]) for row in found] == [(20, 0), (4, 0), (0, 10)]
    assert 0 < found[0]["least"] <= found[0]["median"] <= found[0]["p99"]


def test_a_rate_is_that_of_all_workers(engine):
    found = engine("-s", "0.5", "-w", "2", ":::", "/bin/sh", "-c", "sleep 0.1; test {n} = 1")[0]
    assert 3 <= found["runs"] <= 5 and 3 <= found["failed"] <= 5  # the first worker's fail
    assert found["per_second"] == pytest.approx(found["runs"] / found["seconds"], rel=0.05)


@pytest.mark.parametrize("wall", ["seccomp", "landlock", "network"])
def test_a_box_that_lacks_a_wall_is_not_measured(public, wall):
    """The launcher of the tests leaves a wall out, and does not refuse to."""
    launcher = public / f"lacks-{wall}"
    launcher.write_text(f"#!/bin/sh\nshift\nRINGFORT_TEST_WITHOUT={wall} RINGFORT_TEST_UNPROVEN=1 "
                        f'exec {ROOT}/build/ringfort-unwalled run --weaker allow "$@"\n')
    launcher.chmod(0o755)
    done = subprocess.run([ROOT / "bench/run", "walls"], capture_output=True, text=True,
                          env={**os.environ, "RINGFORT": str(launcher), "ROUNDS": "3"},
                          check=False)
    assert done.returncode == 1 and "lacks a wall or a proof" in done.stderr, done.stderr
    assert "µs" not in done.stdout


def test_what_people_wrote_around_a_table_stays(tmp_path):
    spec = importlib.util.spec_from_file_location("page", ROOT / "bench/page.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- bench one -->\nold\n<!-- end -->\nbetween\n"
                    "<!-- bench two -->\nkept\n<!-- end -->\nafter\n")
    assert page.write(path, {"one": page.table(["a"], [["1"]]), "three": "lost"}) == ["three"]
    assert path.read_text() == ("before\n<!-- bench one -->\n| a |\n|---|\n| 1 |\n<!-- end -->\nbetween\n"
                                "<!-- bench two -->\nkept\n<!-- end -->\nafter\n")
