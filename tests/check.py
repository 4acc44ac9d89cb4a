#!/usr/bin/python3
"""Runs every test there is and counts them: what `make check` does.

Boxes are tested at full priority: suites whose tests mostly wait file by file, one more at a time than
there are processors, and suites that measure one after another.  What only computes (another
build, analysis) goes on beside them, at the lowest priority, and has what they leave.  Each
suite prints a line when it has ended.  Two languages are understood, TAP (unit tests, corpus replays,
lint) and JUnit's XML (pytest).  Logs lie in build/check/.  A few failed tests get a second look,
alone on a quiet machine; what passes then is told as unsteady.  The last line is always "N passed, N failed,
N skipped", and the exit code is 1 when anything failed or nothing ran.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "check"
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
SUITE_TIMEOUT_S = 1800
IN_RESERVE = ["nice", "-n", "19"]  # before a command that is to have what others leave
PROGRAM_TIMEOUT_S = 300

# One tested promise.  `verdict` is "passed", "failed", "skipped" or, for what failed at first and passed when
# it had the machine for itself, "unsteady"; `story` is why.
Case = collections.namedtuple("Case", "name verdict story")
RUNNING = set()  # commands, each the head of a process group


def run(command, log, timeout_s=PROGRAM_TIMEOUT_S, env=None):
    """Runs a command in a process group of its own; gives its exit code and its whole output.

    The output goes through a file, so that it can be read there while the command runs, and so
    that a process that was left behind can't keep us waiting at a pipe.
    """
    path = LOGS / f"{log}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as output:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **(env or {})}, start_new_session=True)
        RUNNING.add(process)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = -signal.SIGKILL
            output.write(f"\ncheck: ended after {timeout_s} s\n".encode())
        RUNNING.discard(process)
    return code, path.read_text(errors="replace")


def one(name, code, output):
    """A suite that is a single case."""
    return Case(name, "failed" if code else "passed", output if code else "")


# --- builds ---

def build(folder, compiler, *options, target=(), before=()):
    """Configures a build folder where needed and builds; gives the exit code and the output.

    `before` comes before every command.
    """
    said = ""
    if not (ROOT / folder / "build.ninja").exists():
        code, said = run([*before, "meson", "setup", folder, *options], f"{folder}-setup",
                         env={"CC": compiler})
        if code:
            return code, said
    code, output = run([*before, "ninja", "-C", folder, *target], folder, SUITE_TIMEOUT_S)
    return code, said + output


def product_compiler():
    """As the Makefile chooses it."""
    return next((name for name in ("musl-gcc", "gcc") if shutil.which(name)), "cc")


def gcc_build():
    cases = [one("gcc builds everything without a warning",
                 *build("build", product_compiler(), "-Dwerror=true",
                        target=["all", "bench-start", "bench-true", "bench-floor",
                                "bench-floor-init"])),  # which tests would build side by side
             one("the system's compiler builds the library without a warning",
                 *build("build-lib", "gcc" if shutil.which("gcc") else "cc", "-Dprograms=false",
                        "-Dwerror=true")),
             one("it builds the logic with sanitizers", *sanitized_build())]
    if product_compiler() == "musl-gcc":
        cases.append(one("the programs of both builds lie beside each other",
                         *run([ROOT / "scripts/beside", "build-lib", "build"], "beside")))
    return cases


def sanitized_build():
    """Only what needs no wall: see tests/unit/meson.build.  A suite of boxes has a program of it, too.

    Warnings are the other builds' business: with sanitizers in it gcc sees ghosts.
    """
    return build("build-asan", "gcc" if shutil.which("gcc") else "cc", "-Db_sanitize=address,undefined",
                 "-Db_lundef=false", "-Dbuildtype=debugoptimized", "-Dwerror=false", target=["logic"])


def clang_build():
    name = "clang builds everything without a warning"
    if not shutil.which("clang"):
        return [Case(name, "skipped", "no clang on this machine")]
    code, output = build("build-clang", "clang", "-Dwerror=true", before=IN_RESERVE)
    # What sanitizers would be in the way of, of programs with the system's libc.
    return [one(name, code, output), *([] if code else meson_tests("build-clang", {"plain"}))]


# --- TAP ---

TAP_LINE = re.compile(r"(not )?ok\b *\d*(?: *- *)?(.*?)(?: *# *(?i:(SKIP))\b *(.*))?$")


def read_tap(program, code, output):
    """The cases in the output of a TAP program, and one more if it did not end as it should."""
    cases, plan = [], None
    for line in output.split("\n"):
        match = TAP_LINE.match(line)
        if re.match(r"1\.\.\d+", line):
            plan = int(re.match(r"1\.\.(\d+)", line)[1])
            if plan == 0:
                cases.append(Case(program, "skipped", line.partition("SKIP ")[2] or "no tests"))
        elif match:
            verdict = "failed" if match[1] else "skipped" if match[3] else "passed"
            cases.append(Case(f"{program}: {match[2]}".lstrip(": "), verdict, match[4] or ""))
        elif line.startswith("#") and cases and cases[-1].verdict == "failed":
            cases[-1] = cases[-1]._replace(story=cases[-1].story + line[2:] + "\n")
    ran = len(cases) if plan else 0
    has_failed = any(case.verdict == "failed" for case in cases)
    if plan is None or ran != plan or (code != 0 and not has_failed):
        cases.append(Case(f"{program}: runs to its end".lstrip(": "), "failed",
                          f"exit code {code}, {ran} of {plan} tests reported\n{output}"))
    return cases


def meson_tests(folder, suites, env=None):
    """Runs the TAP programs that a build folder declares in these suites, two at a time or so."""
    tests = [test for test in json.loads((ROOT / folder / "meson-info/intro-tests.json")
                                         .read_text())
             if suites & {suite.split(":")[-1] for suite in test["suite"]}]

    def run_test(test):
        name = pathlib.Path(test["cmd"][0]).name
        return read_tap(name, *run(test["cmd"], f"{folder}-{name}", env=env))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [case for cases in pool.map(run_test, tests) for case in cases]


def unit():
    return meson_tests("build", {"unit", "plain", "fuzz"})


SANITIZED = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def sanitized():
    """The same logic under sanitizers."""
    return meson_tests("build-asan", {"unit", "fuzz"}, SANITIZED)


def lint():
    return read_tap("", *run([*IN_RESERVE, "scripts/lint", "--tap"], "lint", 2 * SUITE_TIMEOUT_S))


# --- pytest ---

def read_junit(path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}: {case.get('name')}".lstrip(": ")
        story, verdict = "", "passed"
        for part in case:
            if part.tag in ("failure", "error"):
                verdict = "failed"
                story += f"{part.text or part.get('message')}\n"
            elif part.tag == "skipped" and verdict == "passed":
                verdict, story = "skipped", part.get("message", "")
            elif part.tag.startswith("system-") and verdict == "failed":
                said = re.sub(r"(?m)^-+ Captured \w+ -+\n", "", part.text or "").strip()
                story += f"--- std{part.tag[7:]}\n{said}\n" if said else ""
        yield Case(name, verdict, story)


def pytest(folder, file=""):
    """Runs the tests of a folder, or of one file in it."""
    name = f"{folder}/{file.removesuffix('.py')}".rstrip("/")
    report = LOGS / f"{name}.xml"
    report.unlink(missing_ok=True)
    code, output = run([PYTHON, "-m", "pytest", "-q", f"--junitxml={report}", f"tests/{folder}/{file}".rstrip("/")],
                       name, SUITE_TIMEOUT_S, {"PYTHONDONTWRITEBYTECODE": "1"})
    cases = list(read_junit(report)) if report.exists() else []
    if code not in (0, 1) or (code == 1 and not any(c.verdict == "failed" for c in cases)):
        cases.append(Case(f"tests/{name}: runs to its end", "failed",
                          f"pytest's exit code {code}\n{output}"))
    return cases


def has_pytest():
    return not subprocess.run([PYTHON, "-c", "import pytest"], stderr=subprocess.DEVNULL,
                              check=False).returncode


def time_of(folder, file):
    """How long a file's tests took the last time; of one that is new, all that is known is how long the file is."""
    report = LOGS / folder / f"{file.removesuffix('.py')}.xml"
    try:
        return float(xml.etree.ElementTree.parse(report).getroot().find("testsuite").get("time"))
    except (OSError, AttributeError, ValueError, xml.etree.ElementTree.ParseError):
        return SUITE_TIMEOUT_S + (ROOT / "tests" / folder / file).stat().st_size


ALONE = ["test_leftovers.py"]  # takes a new box with the number of a dead one's namespace for what was left


def file_by_file(folder):
    """Runs each file of a folder by itself, the longest first, and one more at a time than there are processors:
    two thirds of their time is waiting."""
    files = sorted((path.name for path in (ROOT / "tests" / folder).glob("test_*.py")),
                   key=lambda name: -time_of(folder, name))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        found = list(pool.map(lambda name: pytest(folder, name), [name for name in files if name not in ALONE]))
    found += [pytest(folder, name) for name in files if name in ALONE]
    return [case for cases in found for case in cases]


# --- a second look ---

SECOND_LOOKS = 16  # more failures than this are no accident
# Once is enough: what an attack says that came through, and what sanitizers say.
NO_ACCIDENT = re.compile(r"the deed was done|Sanitizer|runtime error:")


def second_look(results):
    """Tests share a machine with a build, and a few are about time: those that failed run once more, alone.

    What passes then is unsteady: it does not fail the check, but is told at its end, with how it failed.
    """
    failed = [(title, case) for title, case in results if case.verdict == "failed"]
    if not failed or len(failed) > SECOND_LOOKS:
        return results
    return [(title, look_again(title, case)) for title, case in results]


def look_again(title, case):
    command = again(title, case)
    if case.verdict != "failed" or not command or NO_ACCIDENT.search(case.story):
        return case
    code, _ = run(command, f"second/{len(list(LOGS.glob('second/*')))}", PROGRAM_TIMEOUT_S,
                  {"PYTHONDONTWRITEBYTECODE": "1", **(SANITIZED if title == "sanitizers" else {})})
    print(f"second look at {title}: {case.name}: {'failed' if code else 'passed'}", flush=True)
    return case if code else case._replace(verdict="unsteady")


def again(title, case):
    """The command that runs a failed case once more; None for what has nothing to do with who else was running."""
    test = re.fullmatch(r"(?:tests\.)?(\w+)\.(test_\w+): (test_.*)", case.name)
    if test:
        return [PYTHON, "-m", "pytest", "-q", f"tests/{test[1]}/{test[2]}.py::{test[3]}"]
    folder = {"unit": BUILD, "sanitizers": ROOT / "build-asan"}.get(title)
    program = folder and folder / "tests/unit" / case.name.partition(":")[0]
    return [program] if program and program.is_file() else None


# --- what is left behind ---

def left_processes():
    """Processes that run a program of ours: from this build folder, or by name."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            start = (folder / "stat").read_text().rpartition(")")[2].split()[19]
            program = os.readlink(folder / "exe")
        except OSError:  # gone, a kernel thread, or not ours to see
            continue
        if name.startswith("ringfort") or program.startswith(f"{BUILD}/"):
            found.add(f"process {folder.name} ({name}, {program}, started at {start})")
    return found


def left_mounts():
    lines = pathlib.Path("/proc/self/mountinfo").read_text().split("\n")
    return {f"mount {line}" for line in lines if "ringfort" in line}


def is_empty(group):
    """Without a process, as far as can be seen: one with some is told as a process that was left, if it is ours, or is another checkout's."""
    try:
        return not pathlib.Path(group, "cgroup.procs").read_text().strip()
    except OSError:
        return False


def left_cgroups():
    """Groups of boxes, wherever they lie, in which nothing runs."""
    return {f"cgroup {path}/{name}" for path, folders, _ in os.walk("/sys/fs/cgroup")
            for name in folders if name.startswith("ringfort-") and is_empty(f"{path}/{name}")}


def left_files():
    places = [("/tmp", "ringfort*"), ("/dev/shm", "ringfort*"), ("/run/ringfort/boxes", "*")]
    return {f"file {path}" for folder, pattern in places
            for path in pathlib.Path(folder).glob(pattern)}


TRACES = {
    "no process is left behind": left_processes,
    "no mount is left behind": left_mounts,
    "no cgroup is left behind": left_cgroups,
    "no file is left behind": left_files,
}


def left_behind(before):
    """What there is now and was not before; the kernel has a moment to finish taking down."""
    cases = []
    for name, look in TRACES.items():
        deadline = time.monotonic() + 10  # others' boxes come and go on the same machine
        while (found := look() - before[name]) and time.monotonic() < deadline:
            time.sleep(0.1)
        cases.append(Case(name, "failed" if found else "passed", "\n".join(sorted(found))))
    return cases


# --- all of it ---

def show(title, cases, seconds):
    """Says it all at once: suites that run side by side do not mix."""
    count = collections.Counter(case.verdict for case in cases)
    lines = [f"{title:12} {count['passed']:5} passed {count['failed']:4} failed {count['skipped']:4} skipped "
             f"{seconds:7.1f} s"]
    for case in cases:
        if case.verdict == "failed":
            story = case.story.rstrip("\n").replace("\n", "\n    ")
            lines.append(f"\nFAILED  {title}: {case.name}\n    {story}\n")
    print("\n".join(lines), flush=True)


def run_suite(title, suite, pattern):
    """Runs one suite and shows it; gives its cases.  `pattern` is what has to be there: a suite that is still to
    be written does not count."""
    if not any(ROOT.glob(pattern)):
        return []
    began = time.monotonic()
    try:
        cases = suite()
    except Exception as problem:  # a suite that can't even start has failed
        cases = [Case("starts", "failed", repr(problem))]
    cases = cases or [Case("has a test", "failed", "the suite is there, but nothing ran")]
    show(title, cases, time.monotonic() - began)
    return [(title, case) for case in cases]


def in_turn(suites):
    return [result for suite in suites for result in run_suite(*suite)]


# Promises that files of tests keep, by words in their names.
KEPT_BY = {"egress": ("test_gateway", "test_capture", "test_egress"), "credentials": ("test_tls_gateway", "test_gateway_filter", "test_purse")}


def count_files(results, words):
    return collections.Counter(case.verdict for _, case in results if any(f".{word}" in case.name.split(":")[0] for word in words))


def write_results(results):
    """What the page of promises is made from: see tests/promises.py."""
    rows = []
    for title in dict.fromkeys(title for title, _ in results):
        count = collections.Counter(case.verdict for of, case in results if of == title)
        rows.append({"promise": title, "test": "make check", "mode": "all", "ok": not count["failed"],
                     "figure": f"{title}: {count['passed']} passed, {count['failed']} failed"})
    for promise, words in KEPT_BY.items():
        count = count_files(results, words)
        if count["passed"]:
            rows.append({"promise": promise, "test": "make check", "mode": "all", "ok": not count["failed"],
                         "figure": f"{count['passed']} tests passed, {count['failed']} failed"})
    kept = [row for row in rows if row["promise"] in KEPT_BY or row["promise"] in ("unit", "sanitizers", "bombs", "faults", "left behind")]
    (BUILD / "results").mkdir(parents=True, exist_ok=True)
    (BUILD / "results/check.json").write_text(json.dumps(kept, indent=1) + "\n")


def give_up(number, _):
    """Ctrl-C and the like: ends everything at once."""
    for process in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    os._exit(128 + number)


# In this order: analysis reads how clang was told to build.
BESIDE = [
    ("clang build", clang_build, "meson.build"),
    ("lint", lint, "scripts/lint"),
]
# Before all that, because each of their tests has some seconds and no more.
ON_LOGIC = [
    ("unit", unit, "tests/unit/test-*.c"),
    ("sanitizers", sanitized, "tests/unit/test-*.c"),
]
ON_BOXES = [
    ("integration", lambda: file_by_file("integration"), "tests/integration/test_*.py"),
    ("attack", lambda: file_by_file("attack"), "tests/attack/test_*.py"),
    ("bombs", lambda: pytest("bombs"), "tests/bombs/test_*.py"),
    ("faults", lambda: pytest("faults"), "tests/faults/test_*.py"),
]


def main():
    before = {name: look() for name, look in TRACES.items()}
    start = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    results = in_turn([("gcc build", gcc_build, "meson.build")])
    is_built = results[0][1].verdict == "passed"
    results += in_turn(ON_LOGIC) if is_built else []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        beside = pool.submit(in_turn, BESIDE)
        if not is_built:
            print("the other suites are not run: there is nothing to run before the build is mended", flush=True)
        elif has_pytest():
            results += in_turn(ON_BOXES)
        else:
            results.append(("boxes", Case("tests of boxes", "skipped", "no python3-pytest on this machine")))
        results += beside.result()
    results = second_look(results)
    results += in_turn([("left behind", lambda: left_behind(before), "tests/check.py")])

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time; "
          f"logs in {LOGS.relative_to(ROOT)}/")
    for word in ("skipped", "unsteady", "failed"):
        for title, case in results:
            if case.verdict == word:
                reason = "" if word == "failed" else f": {case.story.strip()}"
                print(f"{word}  {title}: {case.name}{reason}")
    write_results(results)
    count = collections.Counter(case.verdict for _, case in results)
    count["passed"] += count["unsteady"]
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, give_up)
    signal.signal(signal.SIGTERM, give_up)
    sys.exit(main())
