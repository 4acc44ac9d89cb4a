"""What is run: the builds, and the suites that stand on them, as jobs."""
import collections
import functools
import json
import math
import os
import pathlib
import re
import shutil
import tempfile

import areas
from commands import AT_END, BUILD, IN_RESERVE, LOGS, PROGRAM_TIMEOUT_S, PYTHON, ROOT, SUITE_TIMEOUT_S, has, run
from jobs import Job
from results import Case, one, read_junit, read_tap, test_of

TIMES = pathlib.Path(__file__).with_name("times.json")
LONG_TIMEOUT_S = 3 * 3600
MANY_PAIRS = 1_000_000  # of policies, for check-all
FEW_PAIRS = 2_000       # for one area; and under sanitizers, where each takes four times as long
SHARD_S = 60   # a file that takes longer is tested in parts, side by side
BATCH_S = 15   # files that take less share a process of pytest until it has so much to do
SANITIZED = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
PLAIN = {"gateway-lockdown", "server-confine"}  # raise walls, which a sanitizer's runtime does not stand
ALONE = {"test_leftovers.py"}  # takes a new box with the number of a dead one's namespace for what was left
WANTS_SANITIZED = {"test_http.py", "test_http2.py", "test_http_client.py", "test_library.py"}  # have programs of that build
MEASURING = ("bombs", "faults")
BOXES = ["integration", "attack", *MEASURING]

# What was asked for: `only` one area, or ""; `is_whole` for check-all; `seed`, the start value of all that is random.
Wish = collections.namedtuple("Wish", "only is_whole seed")


# --- builds ---

def configured(folder, compiler, *options, before=()):
    """Configures a build folder where needed; gives the exit code and the output."""
    if (ROOT / folder / "build.ninja").exists():
        return 0, ""
    return run([*before, "meson", "setup", folder, *options], f"{folder}-setup", env={"CC": compiler})


def build(folder, compiler, *options, target=(), before=()):
    """Configures a build folder where needed and builds; gives the exit code and the output.

    `before` comes before every command.
    """
    code, said = configured(folder, compiler, *options, before=before)
    if code:
        return code, said
    code, output = run([*before, "ninja", "-C", folder, *target], folder, SUITE_TIMEOUT_S)
    return code, said + output


def product_compiler():
    """As the Makefile chooses it."""
    return next((name for name in ("musl-gcc", "gcc") if has(name)), "cc")


def gcc():
    return "gcc" if has("gcc") else "cc"


def build_product():
    return [one("gcc builds everything without a warning",
                *build("build", product_compiler(), "-Dwerror=true",
                       target=["all", "bench-start", "bench-true", "bench-floor",
                               "bench-floor-init"]))]  # which tests would build side by side


def build_library():
    cases = [one("the system's compiler builds the library without a warning",
                 *build("build-lib", gcc(), "-Dprograms=false", "-Dwerror=true"))]
    if product_compiler() == "musl-gcc":
        cases.append(one("the programs of both builds lie beside each other",
                         *run([ROOT / "scripts/beside", "build-lib", "build"], "beside")))
    return cases


def build_sanitized(targets=("logic",)):
    """Only what needs no wall: see tests/meson.build.  A suite of boxes has a program of it, too.

    Warnings are the other builds' business: with sanitizers in it gcc sees ghosts.  Little is optimised: compiling
    would take four times as long, and what is optimised away is not looked at.
    """
    return [one("it builds the logic with sanitizers",
                *build("build-asan", gcc(), "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=plain",
                       "-Doptimization=g", "-Dc_args=-g1", "-Dwerror=false", target=targets, before=IN_RESERVE))]


def build_with_clang():
    return [one("clang builds everything without a warning",
                *build("build-clang", "clang", "-Dwerror=true", before=IN_RESERVE))]


# --- programs that speak TAP ---

def rows_of(area):
    """The rows of tests/meson.build that belong to an area: each is a program."""
    names = re.findall(r"(?m)^ +'([\w-]+)': \{$|^ *test\('([\w-]+)'", (ROOT / "tests/meson.build").read_text())
    return [name for name in map("".join, names) if area in ("", "unit", "fuzz") or f"{name}-".startswith(f"{area}-")]


def test_programs(folder, rows):
    """The programs of these rows that a build folder has: (name, command)."""
    tests = json.loads((ROOT / folder / "meson-info/intro-tests.json").read_text())
    return [(pathlib.Path(test["cmd"][0]).name, test["cmd"]) for test in tests if test["name"] in rows]


def run_programs(folder, rows, env, number, count):
    """Runs every `count`th program that a build folder has."""
    cases = []
    for name, command in test_programs(folder, rows)[number::count]:
        cases += read_tap(name, *run(command, f"{folder}-{name}", LONG_TIMEOUT_S if env.get("RF_PAIRS") == str(MANY_PAIRS) else PROGRAM_TIMEOUT_S, env))
    return cases or [Case(f"no program for part {number + 1} of {folder}", "skipped")]


def program_jobs(folder, suite, rows, needs, env):
    """As many jobs as there are processors: one would be long, and one for each program no list to look at."""
    count = min(os.cpu_count() or 1, len(rows))
    return [Job(f"{suite} of {folder} {number + 1}/{count}", suite, "boxes",
                functools.partial(run_programs, folder, rows, env, number, count), needs, 1000) for number in range(count)]


# --- pytest ---

def has_pytest():
    return run([PYTHON, "-c", "import pytest"], "has-pytest")[0] == 0


class Pytest:
    """How tests that drive the built programs are run: the programs are copied once, and all find the copies."""

    def __init__(self, wish):
        self.shared = pathlib.Path(tempfile.mkdtemp(prefix="rf-check-", dir="/tmp"))
        self.shared.chmod(0o755)
        AT_END.append(self.done)
        self.env = {"PYTHONDONTWRITEBYTECODE": "1", "RF_TEST_SHARED": str(self.shared), "RF_TEST_OWN_RUN": "1",
                    "RF_FAULTS_SEED": str(wish.seed)}
        self.sample = {} if wish.is_whole else {"RF_SAMPLE": str(wish.seed)}
        self.left_out = 0

    def copy_programs(self):
        """To be called when they are built."""
        shutil.rmtree(self.shared / "bin", ignore_errors=True)
        (self.shared / "bin").mkdir()
        for program in BUILD.glob("ringfort*"):
            if program.is_file() and os.access(program, os.X_OK):
                shutil.copy(program, self.shared / "bin")
        return [one("the programs are copied to where every user finds them", 0, "")]

    def done(self):
        shutil.rmtree(self.shared, ignore_errors=True)

    def run(self, name, tests, **env):
        """Runs tests, by the names that pytest has for them; gives their cases."""
        report = LOGS / f"{name}.xml"
        report.unlink(missing_ok=True)
        code, output = run([PYTHON, "-m", "pytest", "-q", f"--junitxml={report}", *tests], name, SUITE_TIMEOUT_S,
                           {**self.env, **env})
        cases = list(read_junit(report)) if report.exists() else []
        if code not in (0, 1, 5) or (code == 1 and not any(c.verdict == "failed" for c in cases)):
            cases.append(Case(f"tests/{name}: runs to its end", "failed", f"pytest's exit code {code}\n{output}"))
        left = re.search(r"(\d+) deselected", output)
        self.left_out += int(left[1]) if left and "RF_SHARD" not in env else 0
        return cases or [Case(f"tests/{name}: nothing of it is in this sample", "skipped", "")]

    def job(self, folder, files, needs, seconds, shard=""):
        """A job that runs files of tests, or a shard of one."""
        name = f"{folder}/{'+'.join(pathlib.Path(file).stem.removeprefix('test_') for file in files)}"[:100]
        env = {**self.sample, **({"RF_SHARD": shard} if shard else {})}
        name += f" {shard}" if shard else ""
        lane = "alone" if folder in MEASURING or ALONE & set(files) else "boxes"
        log = name.replace(" ", "-").replace("/", "-").replace("-", "/", 1)
        return Job(name, folder, lane, lambda: self.run(log, [f"tests/{folder}/{file}" for file in files], **env), needs, seconds)


def known_times():
    return json.loads(TIMES.read_text()) if TIMES.exists() else {}


def box_jobs(pytest, wish, needs):
    """The files of tests: a long one in parts, short ones together, the longest first."""
    times, jobs = known_times(), []
    for folder in BOXES:
        short, filled = [], 0.0
        for file in areas.files_of(folder):
            needed = (*needs, "build with sanitizers") if file in WANTS_SANITIZED else needs
            if wish.only and wish.only not in areas.areas_of(folder, file):
                continue
            seconds = times.get(f"{folder}/{file}", SHARD_S)
            if wish.is_whole:
                seconds *= 2
            parts = 1 if folder in MEASURING else math.ceil(seconds / SHARD_S)
            if parts > 1:
                jobs += [pytest.job(folder, [file], needed, seconds / parts, f"{number}/{parts}")
                         for number in range(1, parts + 1)]
            elif seconds >= BATCH_S or file in ALONE | WANTS_SANITIZED or folder in MEASURING:
                jobs.append(pytest.job(folder, [file], needed, seconds))
            else:
                short, filled = [*short, file], filled + seconds
                if filled >= BATCH_S:
                    jobs.append(pytest.job(folder, short, needs, filled))
                    short, filled = [], 0.0
        if short:
            jobs.append(pytest.job(folder, short, needs, filled))
    return jobs


def write_times(cases):
    """What a later run plans with: the seconds of each file's tests, as they were in a sample."""
    times = collections.Counter()
    for case in cases:
        if test_of(case):
            folder, file, _ = test_of(case)
            times[f"{folder}/{file}.py"] += case.seconds
    rows = {name: round(seconds, 1) for name, seconds in sorted(times.items())}
    TIMES.write_text(json.dumps(rows, indent=0) + "\n")


# --- all of it ---

def lint(wish):
    before = [] if wish.only else IN_RESERVE
    options = ["--all"] if wish.is_whole else []
    return read_tap("lint", *run([*before, "scripts/lint", "--tap", *options], "lint", 2 * SUITE_TIMEOUT_S))


def table_of_areas():
    unknown = areas.unknown_files()
    return [Case("every file of tests belongs to an area", "failed" if unknown else "passed", "\n".join(unknown))]


def logic_jobs(wish, built):
    """Tests of what needs no box, in each build that has some."""
    rows = set(rows_of(wish.only))
    if not rows:
        return []
    env, walled = {"RF_SEED": str(wish.seed)}, rows & PLAIN
    few_pairs = {} if wish.is_whole else {"RF_PAIRS": str(FEW_PAIRS)}
    pairs = {"RF_PAIRS": str(MANY_PAIRS)} if wish.is_whole else few_pairs if wish.only else {}
    targets = ["logic"]
    if wish.only and not any(wish.only in areas.areas_of("integration", file) for file in WANTS_SANITIZED):
        targets = [f"tests/test-{name}" for name in sorted(rows - PLAIN)]
    return [
        Job("build with sanitizers", "builds", "reserve", lambda: build_sanitized(targets), ("build library",), 3),
        *program_jobs("build", "unit", rows, built, {**env, **pairs}),
        *program_jobs("build-lib", "unit", walled, built, env),
        *program_jobs("build-asan", "sanitizers", rows - PLAIN, ("build with sanitizers",), {**env, **SANITIZED, **few_pairs}),
    ]


def all_jobs(pytest, wish):
    built = ("build product", "build library", "copy programs")
    jobs = [
        Job("build product", "builds", "build", build_product, (), 2),
        Job("build library", "builds", "build", build_library, ("build product",), 1),
        Job("copy programs", "builds", "build", pytest.copy_programs, ("build library",)),
        *logic_jobs(wish, built),
    ]
    if not wish.only:
        jobs.append(Job("areas", "lint", "build", table_of_areas))
    if not wish.only and wish.is_whole and has("clang"):
        jobs.append(Job("build with clang", "builds", "reserve", build_with_clang, ("build library",), 2))
    if wish.only in ("", *areas.ELSEWHERE):
        jobs.append(Job("lint", "lint", "reserve", lambda: lint(wish), ("build library",), 1))
    if has_pytest():
        return jobs + box_jobs(pytest, wish, built)
    missing = Case("tests of boxes", "skipped", "no python3-pytest on this machine")
    return [*jobs, Job("tests of boxes", "boxes", "build", lambda: [missing])]
