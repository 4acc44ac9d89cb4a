#!/usr/bin/python3
"""Runs every test there is and counts them: what `make check` does.

    tests/check                 all suites; of parametrised matrices a random sample (tests/sampling.py)
    tests/check --all           everything whole: what `make check-all` does
    tests/check --only AREA     the tests of one area, about a minute: AREA is a folder's name
    tests/check --failed        what failed in the last run, whole
    tests/check --seed NUMBER   with the start value of an earlier run: the same sample
    tests/check --write-times   writes times.json anew, from which the next runs plan

Each job prints a line when it has ended, each suite one at the end.  Two languages are understood, TAP (unit tests,
corpus replays, lint) and JUnit's XML (pytest).  Logs lie in build/check/.  A few failed tests get a second look,
alone on a quiet machine; what passes then is told as unsteady.  The last line is always "N passed, N failed,
N skipped", and the exit code is 1 when anything failed or nothing ran.
"""
import argparse
import collections
import json
import re
import secrets
import signal
import sys
import time

import areas
import leftovers
import suites
from commands import BUILD, LOGS, PROGRAM_TIMEOUT_S, ROOT, give_up, run
from jobs import Done, Job, Runner
from results import count, test_of

FAILED = LOGS / "failed.json"
SLOWEST = 10
SECOND_LOOKS = 16  # more failures than this are no accident
# Once is enough: what an attack says that came through, and what sanitizers say.
NO_ACCIDENT = re.compile(r"the deed was done|Sanitizer|runtime error:")


def say(text):
    print(text, flush=True)


def tell(done, number, jobs):
    """Says how a job ended, all at once: jobs that run side by side do not mix."""
    counted = count(done.cases)
    say(f"{number:4}/{jobs} {done.job.name:60} {counted['passed']:5} passed {counted['failed']:4} failed "
        f"{counted['skipped']:4} skipped {done.seconds:7.1f} s, {done.processor_s:.0f} of processor")
    for case in done.cases:
        if case.verdict == "failed":
            story = case.story.rstrip("\n").replace("\n", "\n    ")
            say(f"\nFAILED  {done.job.suite}: {case.name}\n    {story}\n")


# --- a second look ---

def look_again(pytest, results):
    """Tests share a machine with a build, and a few are about time: those that failed run once more, alone.

    What passes then is unsteady: it does not fail the check, but is told at its end, with how it failed.
    """
    failed = [case for _, case in results if case.verdict == "failed"]
    if not failed or len(failed) > SECOND_LOOKS:
        return results
    return [(suite, second_look(pytest, suite, case) if case.verdict == "failed" else case) for suite, case in results]


def second_look(pytest, suite, case):
    if NO_ACCIDENT.search(case.story):
        return case
    again = run_again(pytest, suite, case)
    if again is None:
        return case
    say(f"second look at {suite}: {case.name}: {'passed' if again else 'failed'}")
    return case._replace(verdict="unsteady") if again else case


def run_again(pytest, suite, case):
    """Whether a failed case passes when it is run once more; None for what has nothing to do with who else was running."""
    log = f"second/{len(list(LOGS.glob('second/*')))}"
    if test_of(case):
        folder, file, test = test_of(case)
        cases = pytest.run(log, [f"tests/{folder}/{file}.py::{test}"])
        return bool(cases) and not count(cases)["failed"]
    folder, env = {"unit": ("build", {}), "sanitizers": ("build-asan", suites.SANITIZED)}.get(suite, (None, {}))
    if not folder or ": " not in case.name:
        return None
    for name, command in suites.test_programs(folder, suites.rows_of("")):
        code, output = run([*command, case.name], log, PROGRAM_TIMEOUT_S, env)
        if "no test has such a name" not in output:
            return code == 0
    return None


# --- what failed last ---

def remember(results):
    """What --failed runs the next time."""
    LOGS.mkdir(parents=True, exist_ok=True)
    FAILED.write_text(json.dumps([{"suite": suite, "name": case.name} for suite, case in results
                                  if case.verdict == "failed"], indent=1) + "\n")


def jobs_of_failed(pytest, wish):
    """The builds, and what failed in the last run; an empty list if nothing did."""
    if not FAILED.exists():
        sys.exit(f"check: no earlier run has left {FAILED.relative_to(ROOT)}: run `make check` first")
    failed = json.loads(FAILED.read_text())
    if not failed:
        return []
    every = suites.all_jobs(pytest, wish)
    found = {row["suite"] for row in failed}
    jobs = [job for job in every if job.lane == "build" or job.suite in found - set(suites.BOXES)]
    if "sanitizers" in found:
        jobs += [job for job in every if job.name == "build with sanitizers" and job not in jobs]
    tests = collections.defaultdict(list)
    for row in failed:
        match = test_of(suites.Case(row["name"], "failed"))
        if match:
            folder, file, test = match
            tests[folder, file].append(f"tests/{folder}/{file}.py::{test}")
        elif row["suite"] in suites.BOXES and (file := re.search(r"test_\w+", row["name"])):
            tests[row["suite"], file[0]].append(f"tests/{row['suite']}/{file[0]}.py")
    built = tuple(job.name for job in jobs if job.lane == "build" and job.suite == "builds")
    for (folder, file), names in tests.items():
        lane = "alone" if folder in suites.MEASURING else "boxes"
        log = f"{folder}/failed-{file}"
        jobs.append(Job(f"{folder}/{file}, what failed", folder, lane,
                        lambda names=names, log=log: pytest.run(log, names), built))
    return jobs


# --- the page of promises ---

# Promises that files of tests keep, by words in their names.
KEPT_BY = {"egress": ("test_gateway", "test_capture", "test_egress"), "credentials": ("test_tls_gateway", "test_gateway_filter", "test_purse")}
COUNTED = ("unit", "sanitizers", "bombs", "faults", "left behind")


def count_files(results, words):
    return count(case for _, case in results if any(f".{word}" in case.name.split(":")[0] for word in words))


def write_results(results):
    """What the page of promises is made from: see tests/promises.py."""
    rows = []
    for title in dict.fromkeys(title for title, _ in results if title in COUNTED):
        counted = count(case for of, case in results if of == title)
        rows.append({"promise": title, "test": "make check", "mode": "all", "ok": not counted["failed"],
                     "figure": f"{title}: {counted['passed']} passed, {counted['failed']} failed"})
    for promise, words in KEPT_BY.items():
        counted = count_files(results, words)
        if counted["passed"]:
            rows.append({"promise": promise, "test": "make check", "mode": "all", "ok": not counted["failed"],
                         "figure": f"{counted['passed']} tests passed, {counted['failed']} failed"})
    (BUILD / "results").mkdir(parents=True, exist_ok=True)
    (BUILD / "results/check.json").write_text(json.dumps(rows, indent=1) + "\n")


# --- the end ---

def summarise(ended, results, seconds):
    """Each suite in a line, then the slowest tests."""
    say("")
    for suite in dict.fromkeys(done.job.suite for done in ended):
        counted = count(case for of, case in results if of == suite)
        jobs = [done for done in ended if done.job.suite == suite]
        say(f"{suite:12} {counted['passed']:5} passed {counted['failed']:4} failed {counted['skipped']:4} skipped "
            f"{counted['unsteady']:4} unsteady {sum(done.seconds for done in jobs):7.1f} s, "
            f"{sum(done.processor_s for done in jobs):.0f} of processor")
    slow = sorted((case for _, case in results), key=lambda case: -case.seconds)[:SLOWEST]
    if any(case.seconds for case in slow):
        say(f"\nthe slowest {SLOWEST}:")
    for case in slow:
        if case.seconds:
            say(f"{case.seconds:7.1f} s  {case.name}")
    say(f"\n{seconds:.0f} s, {sum(done.processor_s for done in ended):.0f} s of processor time; logs in {LOGS.relative_to(ROOT)}/")


def tell_cases(results):
    for word in ("skipped", "unsteady", "failed"):
        for suite, case in results:
            if case.verdict == word:
                reason = "" if word == "failed" else f": {case.story.strip()}"
                say(f"{word}  {suite}: {case.name}{reason}")


def read_arguments():
    parser = argparse.ArgumentParser(prog="tests/check", description=__doc__.split("\n", maxsplit=1)[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="everything whole")
    which.add_argument("--only", metavar="AREA", default="", help="the tests of one area: a folder's name")
    which.add_argument("--failed", action="store_true", help="what failed in the last run")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="the start value of all that is random")
    parser.add_argument("--write-times", action="store_true", help="write times.json anew")
    given = parser.parse_args()
    if given.only and given.only not in areas.names():
        sys.exit(f"check: there is no area {given.only!r}; the areas are:\n  {' '.join(areas.names())}")
    return given


def main():
    given = read_arguments()
    before = leftovers.look()
    start = time.monotonic()
    wish = suites.Wish(given.only, given.all, given.seed)
    pytest = suites.Pytest(wish)
    try:
        jobs = jobs_of_failed(pytest, wish) if given.failed else suites.all_jobs(pytest, wish)
        if not jobs:
            say("nothing failed in the last run")
            return 0
        say(f"start value {wish.seed}: `make check SEED={wish.seed}` picks the same sample")
        runner = Runner(jobs, tell)
        ended = runner.run()
        results = [(done.job.suite, case) for done in ended for case in done.cases]
        results = look_again(pytest, results)
    finally:
        pytest.done()
    rest = Done(Job("left behind", "left behind", "", None), leftovers.left_since(before), 0.0)
    tell(rest, len(ended), len(jobs))
    ended.append(rest)
    results += [("left behind", case) for case in rest.cases]
    summarise(ended, results, time.monotonic() - start)
    tell_cases(results)
    if pytest.left_out:
        say(f"{pytest.left_out} cases of matrices were left to `make check-all`; this sample's start value is {wish.seed}")
    for job in runner.not_run:
        say(f"not run  {job.name}: {' or '.join(job.needs)} failed")
    remember(results)
    if not given.only and not given.failed:
        write_results(results)
    if given.write_times:
        suites.write_times(case for _, case in results)
    counted = count(case for _, case in results)
    say(f"unsteady: {counted['unsteady']}")
    say(f"{counted['passed'] + counted['unsteady']} passed, {counted['failed']} failed, {counted['skipped']} skipped")
    return 1 if counted["failed"] or not counted["passed"] else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, give_up)
    signal.signal(signal.SIGTERM, give_up)
    sys.exit(main())
