"""Real programs do their ordinary work in a box, and the filter allows no call without a reason.

The programs are those of tests/calls, which `make calls` measures.  Those that take long are run here
when RINGFORT_TEST_PROGRAMS=all.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

CALLS = pathlib.Path(__file__).resolve().parent.parent / "calls"
sys.path.insert(0, str(CALLS))

import kept  # noqa: E402
import programs  # noqa: E402
import trace as tracing  # noqa: E402

EVERYTHING = os.environ.get("RINGFORT_TEST_PROGRAMS") == "all"
CHOSEN = [program for program in programs.PROGRAMS if EVERYTHING or not program.is_big]
AT_ONCE = programs.DONE + "\n"


def by_name(some):
    return [pytest.param(program, id=program.name.replace(" ", "-")) for program in some]


def do(run_json, program, *options, **how):
    lacks = programs.lacking(program)
    if lacks:
        pytest.skip(f"no {', '.join(lacks)} on this machine")
    result = run_json(*options, "--", *programs.command(program), timeout=300, **how)
    assert (result["status"], result["exit_code"]) == ("ok", 0) and result["stdout"].endswith(AT_ONCE), result


@pytest.mark.parametrize("program", by_name(CHOSEN))
def test_a_real_program_does_its_work(run_json, program):
    do(run_json, program, *program.options)


@pytest.mark.parametrize("program", by_name(p for p in CHOSEN if not p.not_in_strict))
def test_a_real_program_does_its_work_under_the_strict_filter(run_json, program):
    if "--read" in program.options:
        pytest.skip("lies in a folder of root's")
    do(run_json, program, *program.options, "--syscalls", "strict", "--env", "ALONE=1", user="user")


def allowed(call, *options):
    plan = json.loads(call("policy", "explain", "--json", *options).out)
    return {one["name"] for one in plan["syscalls"]["calls"] if one["verdict"].startswith("allowed")}


def test_each_allowed_call_was_seen_at_work_or_has_a_reason(call):
    """A call that joins the table is measured with a program that needs it, or kept.py says why."""
    seen = {line.split()[0] for line in (CALLS / "measured.txt").read_text().splitlines()}
    reasons = set(kept.reasons())
    table = allowed(call)
    assert len(seen) > 150
    assert table - seen - reasons == set()
    assert reasons - table == set(), "a reason for what is not allowed"
    assert reasons & seen == set(), "a reason for what needs none"


@pytest.mark.parametrize("options, most", [((), 250), (("--syscalls", "strict"), 180)], ids=["default", "strict"])
def test_the_filter_stays_narrow(call, options, most):
    assert len(allowed(call, *options)) <= most


def test_the_page_has_the_figures_of_the_table(call):
    """docs/seccomp.md, written by `make calls`, and the threat model say what the table says."""
    docs = CALLS.parent.parent / "docs"
    by_default, strict = len(allowed(call)), len(allowed(call, "--syscalls", "strict"))
    page = (docs / "seccomp.md").read_text()
    assert f"| `syscalls: strict` | {strict} |" in page and f"| `syscalls: default` | {by_default} |" in page
    model = (docs / "threat-model.md").read_text()
    assert f"The default filter allows {by_default} calls" in model and f"`syscalls: strict` allows {strict};" in model


def test_a_trace_tells_the_program_from_the_launcher_and_pid_1(ringfort, workdir, need):
    need("strace")
    script = "import ctypes; c = ctypes.CDLL(None).syscall; [c(110) for _ in range(77)]; c(165, 0, 0, 0, 0, 0)"
    child = "import subprocess; subprocess.run(['/usr/bin/python3', '-c', 'import os; os.umask(0); os.umask(0)'])"
    command = [ringfort, "run", "--json", "--", "python3", "-c", f"{script}\n{child}"]
    if subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be traced here")
    result, seen = tracing.trace(command, 60, cwd=workdir)
    assert result["status"] == "ok", result
    assert seen.calls["getppid"] == 77 and seen.calls["umask"] == 2
    assert seen.calls["mount"] == 1 and seen.failed["mount"] == {"EPERM": 1}
    launchers = {"clone3", "move_mount", "mount_setattr", "pivot_root", "landlock_restrict_self", "seccomp"}
    assert not launchers & set(seen.calls), seen.calls
