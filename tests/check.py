#!/usr/bin/python3
"""Runs every test there is and counts them: what `make check` does.

The suites run one after another, because some of them measure time; each prints one line.  Two
languages are understood, TAP (unit tests, corpus replays, lint) and JUnit's XML (pytest).  Logs lie
in build/check/.  The last line is always "N passed, N failed, N skipped", and the exit code is 1
when anything failed or nothing ran.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
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
PROGRAM_TIMEOUT_S = 300

# One tested promise.  `verdict` is "passed", "failed" or "skipped"; `story` is why.
Case = collections.namedtuple("Case", "name verdict story")


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
        try:
            code = process.wait(timeout_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(reason, KeyboardInterrupt):
                raise
            code = -signal.SIGKILL
            output.write(f"\ncheck: ended after {timeout_s} s\n".encode())
    return code, path.read_text(errors="replace")


def one(name, code, output):
    """A suite that is a single case."""
    return Case(name, "failed" if code else "passed", output if code else "")


# --- builds ---

def build(folder, compiler, *options, target=()):
    """Configures a build folder where needed and builds; gives the exit code and the output."""
    said = ""
    if not (ROOT / folder / "build.ninja").exists():
        code, said = run(["meson", "setup", folder, *options], f"{folder}-setup",
                         env={"CC": compiler})
        if code:
            return code, said
    code, output = run(["ninja", "-C", folder, *target], folder, SUITE_TIMEOUT_S)
    return code, said + output


def product_compiler():
    """As the Makefile chooses it."""
    return next((name for name in ("musl-gcc", "gcc") if shutil.which(name)), "cc")


def gcc_build():
    return [one("gcc builds everything without a warning",
                *build("build", product_compiler(), "-Dwerror=true")),
            one("the system's compiler builds the library without a warning",
                *build("build-lib", "gcc" if shutil.which("gcc") else "cc", "-Dprograms=false",
                       "-Dwerror=true"))]


def clang_build():
    name = "clang builds everything without a warning"
    if not shutil.which("clang"):
        return [Case(name, "skipped", "no clang on this machine")]
    return [one(name, *build("build-clang", "clang", "-Dwerror=true"))]


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


def sanitized():
    """The same logic under sanitizers: only what needs no wall, see tests/unit/meson.build.

    Warnings are the other builds' business: with sanitizers in it gcc sees ghosts.
    """
    code, output = build("build-asan", "gcc" if shutil.which("gcc") else "cc",
                         "-Db_sanitize=address,undefined", "-Db_lundef=false",
                         "-Dbuildtype=debugoptimized", "-Dwerror=false", target=["logic"])
    if code:
        return [one("the sanitized build", code, output)]
    return meson_tests("build-asan", {"unit", "fuzz"}, {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    })


def lint():
    return read_tap("", *run(["scripts/lint", "--tap"], "lint", SUITE_TIMEOUT_S))


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


def pytest(folder):
    if subprocess.run([PYTHON, "-c", "import pytest"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return [Case(f"tests/{folder}", "skipped", "no python3-pytest on this machine")]
    report = LOGS / f"{folder}.xml"
    report.unlink(missing_ok=True)
    code, output = run([PYTHON, "-m", "pytest", "-q", f"--junitxml={report}", f"tests/{folder}"],
                       folder, SUITE_TIMEOUT_S, {"PYTHONDONTWRITEBYTECODE": "1"})
    cases = list(read_junit(report)) if report.exists() else []
    if code not in (0, 1) or (code == 1 and not any(c.verdict == "failed" for c in cases)):
        cases.append(Case(f"tests/{folder}: runs to its end", "failed",
                          f"pytest's exit code {code}\n{output}"))
    return cases


def integration():
    return pytest("integration")


def attack():
    return pytest("attack")


def bombs():
    return pytest("bombs")


def faults():
    return pytest("faults")


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


def left_cgroups():
    """Groups of boxes, wherever they lie."""
    return {f"cgroup {path}/{name}" for path, folders, _ in os.walk("/sys/fs/cgroup")
            for name in folders if name.startswith("ringfort-")}


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
        deadline = time.monotonic() + 3
        while (found := look() - before[name]) and time.monotonic() < deadline:
            time.sleep(0.1)
        cases.append(Case(name, "failed" if found else "passed", "\n".join(sorted(found))))
    return cases


# --- all of it ---

def show(title, cases, seconds):
    count = collections.Counter(case.verdict for case in cases)
    print(f"{count['passed']:5} passed {count['failed']:4} failed {count['skipped']:4} skipped "
          f"{seconds:7.1f} s", flush=True)
    for case in cases:
        if case.verdict == "failed":
            print(f"\nFAILED  {title}: {case.name}")
            print("    " + case.story.rstrip("\n").replace("\n", "\n    ") + "\n", flush=True)


def write_results(results):
    """What the page of promises is made from: see tests/promises.py."""
    rows = []
    for title in dict.fromkeys(title for title, _ in results):
        count = collections.Counter(case.verdict for of, case in results if of == title)
        rows.append({"promise": title, "test": "make check", "mode": "all", "ok": not count["failed"],
                     "figure": f"{title}: {count['passed']} passed, {count['failed']} failed"})
    kept = [row for row in rows if row["promise"] in ("unit", "sanitizers", "bombs", "faults", "left behind")]
    (BUILD / "results").mkdir(parents=True, exist_ok=True)
    (BUILD / "results/check.json").write_text(json.dumps(kept, indent=1) + "\n")


def main():
    before = {name: look() for name, look in TRACES.items()}
    # A suite and what has to be there for it: one that is still to be written does not count.
    suites = [
        ("gcc build", gcc_build, "meson.build"),
        ("clang build", clang_build, "meson.build"),
        ("unit", unit, "tests/unit/test-*.c"),
        ("sanitizers", sanitized, "tests/unit/test-*.c"),
        ("lint", lint, "scripts/lint"),
        ("integration", integration, "tests/integration/test_*.py"),
        ("attack", attack, "tests/attack/test_*.py"),
        ("bombs", bombs, "tests/bombs/test_*.py"),
        ("faults", faults, "tests/faults/test_*.py"),
        ("left behind", lambda: left_behind(before), "tests/check.py"),
    ]
    needs_build = {"unit", "integration", "attack", "bombs", "faults"}
    results, is_built, start = [], True, time.monotonic()

    LOGS.mkdir(parents=True, exist_ok=True)
    for title, suite, pattern in suites:
        if not any(ROOT.glob(pattern)):
            continue
        print(f"{title:12}", end=" ", flush=True)
        if title in needs_build and not is_built:
            print("  not run: there is nothing to run before the build is mended", flush=True)
            continue
        began = time.monotonic()
        try:
            cases = suite()
        except Exception as problem:  # a suite that can't even start has failed
            cases = [Case("starts", "failed", repr(problem))]
        cases = cases or [Case("has a test", "failed", "the suite is there, but nothing ran")]
        show(title, cases, time.monotonic() - began)
        results += [(title, case) for case in cases]
        is_built = is_built and not (title == "gcc build" and cases[0].verdict == "failed")

    print(f"\n{time.monotonic() - start:.0f} s; logs in {LOGS.relative_to(ROOT)}/")
    for word in ("skipped", "failed"):
        for title, case in results:
            if case.verdict == word:
                reason = f": {case.story.strip()}" if word == "skipped" else ""
                print(f"{word}  {title}: {case.name}{reason}")
    write_results(results)
    count = collections.Counter(case.verdict for _, case in results)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
