"""The examples do what their pages say, as root and as an ordinary user, from a fresh copy."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
USER_ID = 12345


@pytest.fixture(autouse=True, scope="module")
def state_of_root():
    """Root's workspaces lie where they always do; what is left empty is nobody's."""
    yield
    for folder in ("layers/all", "layers", "workspaces", "agents", "."):
        try:
            os.rmdir(os.path.normpath(os.path.join("/var/lib/ringfort", folder)))
        except OSError:
            pass  # never made, or somebody's


@pytest.fixture
def example(workdir, command, ringfort, who):
    """Copies an example for whoever runs, and runs a command in the copy; gives the Popen's end."""
    before = command()[:-1]

    def run_it(name, *words, env=None):
        copy = workdir / "examples" / name
        if not copy.exists():
            shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("out", "__pycache__"))
            if os.geteuid() == 0 and who == "user":
                subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", workdir / "examples"], check=True)
        return subprocess.run([*before, *words], cwd=copy, capture_output=True, text=True, timeout=120,
                              check=False, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(workdir),
                                                "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                                                "RINGFORT": ringfort, **(env or {})})

    return run_it


@pytest.fixture
def no_box(public):
    """A `ringfort` that walls nothing off: with it, what an example judges must come out badly."""
    path = public / "no-box"
    path.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_every_example_has_a_page_that_is_linked_and_says_how_to_run_it():
    folders = [path for path in EXAMPLES.iterdir() if path.is_dir()]
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(folders) >= 4
    for folder in folders:
        page = (folder / "README.md").read_text(encoding="utf-8")
        assert f"]({folder.name})" in listed
        commands = re.findall(r"^\$ (?:python3 )?(examples/\S+)", page, re.M)
        assert commands and (ROOT / commands[0]).exists(), folder.name
        assert os.access(ROOT / commands[0], os.X_OK), commands[0]


def test_the_agent_learns_from_statuses_and_solves_its_tasks(example):
    done = example("agent", "/usr/bin/python3", "agent.py")
    assert done.returncode == 0, done
    statuses = re.findall(r"turn \d: (\w+)", done.stdout)
    assert statuses == ["timeout", "memory", "ok", "failed", "output", "ok"]
    assert "17984" in done.stdout and "unreachable" in done.stdout
    assert done.stdout.endswith("solved: 2 of 2\n") and done.stderr == ""


def test_the_agent_says_what_to_do_when_ringfort_fails(example):
    done = example("agent", "/usr/bin/python3", "-c",
                   "import agent; agent.LIMITS += ['--memory', 'much']; agent.main()")
    assert done.returncode == 1 and "hint: " in done.stderr and "--memory" in done.stderr


def test_the_analysis_writes_its_results_and_not_its_data(example, workdir):
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy, pandas"], capture_output=True,
                      check=False).returncode:
        pytest.skip("no python3-pandas on this machine")
    done = example("data-analysis", "./run")
    assert done.returncode == 0, done
    assert "120 orders from 05 January" in done.stdout and "2 odd" in done.stdout
    assert "Read-only file system: 'data/orders.csv'" in done.stdout
    copy = workdir / "examples/data-analysis"
    assert (copy / "out/by-region.csv").read_text().startswith("region,count,sum,mean\neast,26,")
    assert len((copy / "out/odd.csv").read_text().splitlines()) == 3
    assert (copy / "data/orders.csv").read_bytes() == \
        (EXAMPLES / "data-analysis/data/orders.csv").read_bytes()


def test_the_hostile_package_is_installed_and_gets_nothing(example, need):
    need("npm")
    done = example("npm-package", "./run")
    assert done.returncode == 0, done
    attempts = dict(re.findall(r"^  (\S.*?)  +(.*)$", done.stdout.split("\nUsing it")[0], re.M))
    assert attempts["read SSH keys"] == attempts["read the token in the environment"] == "nothing there"
    assert attempts["plant a git hook"] == attempts["change the project's own code"] == "EROFS"
    assert attempts["send what it found to a server"] == "ENETUNREACH"
    assert "      ship    4000\n" in done.stdout  # and it works
    assert done.stdout.count("  held  ") == 3 and "ESCAPED" not in done.stdout


def test_the_hostile_package_succeeds_where_there_is_no_box(example, need, no_box):
    need("npm")
    done = example("npm-package", "./run", env={"RINGFORT": no_box})
    assert done.returncode == 1, done
    assert done.stdout.count("  ESCAPED  ") == 3 and "GOT canary-key" in done.stdout


def test_the_judge_tells_all_verdicts(example, need):
    need("gcc")
    done = example("judge", "/usr/bin/python3", "judge.py")
    assert done.returncode == 0 and done.stderr == "", done
    verdicts = dict(line.split()[:2] for line in done.stdout.splitlines())
    assert verdicts == {"good.c": "AC", "good.py": "AC", "overflow.c": "WA", "slow.c": "TLE",
                        "hungry.py": "MLE", "chatty.py": "OLE", "crash.c": "RE", "broken.c": "CE",
                        "broken.py": "CE", "cheat.py": "RE"}
    assert re.search(r"^cheat.py .*no answers on this machine$", done.stdout, re.M)


def test_a_wrecked_repository_is_brought_back(example, need):
    need("git")
    done = example("wrecked-repository", "./run")
    assert done.returncode == 0 and done.stdout.endswith("brought back\n"), done
    assert "post-checkout  (git hook)" in done.stdout and "deleted  .git/refs" in done.stdout


def test_without_a_box_the_repository_is_not_brought_back(example, need, no_box):
    need("git")
    assert example("wrecked-repository", "./run", env={"RINGFORT": no_box}).returncode != 0


def test_the_agent_reads_with_a_token_that_it_never_has(example, need):
    need("openssl")
    done = example("way-out", "./run")
    assert done.returncode == 0 and done.stdout.count("  held  ") == 3, done
    assert "read a ticket: #7" in done.stdout and done.stdout.count("refused (403)") == 4


def test_without_a_box_it_has_the_token(example, need, no_box):
    need("openssl")
    done = example("way-out", "./run", env={"RINGFORT": no_box})
    assert done.returncode == 1 and "ESCAPED  the agent did not" in done.stdout, done
