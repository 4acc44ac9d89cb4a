#!/usr/bin/env python3
"""Judges submissions to a programming contest: compiles and runs each in boxes of its own.

    judge.py [PROBLEM [SUBMISSION...]]      default: the problem beside this file and everything in submissions/

PROBLEM is a folder of pairs NAME.in and NAME.out.  Verdicts, the worst of all tests:

    AC accepted   WA wrong answer   TLE too slow   MLE too much memory   OLE too much output
    RE it failed  CE it does not compile

A submission is somebody else's program: it sees the machine's compilers and libraries, itself and its input.
The expected answers, the other submissions and this judge are not in the box.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# By ending: where the source is put in the box, how to compile it (or None), how to run it.
LANGUAGES = {
    ".c": ("/judge/main.c", ["gcc", "-O2", "-o", "/judge/out/main", "/judge/main.c", "-lm"],
           ["/judge/out/main"]),
    ".py": ("/judge/main.py", ["python3", "-m", "py_compile", "/judge/main.py"],
            ["python3", "/judge/main.py"]),
}
COMPILE_LIMITS = ["--time", "20s", "--memory", "512M"]
RUN_LIMITS = ["--time", "2s", "--memory", "64M", "--pids", "16", "--output", "64K"]
SMALL = ["--loopback", "off", "--disk", "16M"]

VERDICTS = {"timeout": "TLE", "cpu": "TLE", "memory": "MLE", "output": "OLE",
            "failed": "RE", "pids": "RE", "disk": "RE", "killed": "RE"}


def find_ringfort():
    built = HERE.parent.parent / "build" / "ringfort"
    found = os.environ.get("RINGFORT") or (str(built) if built.exists() else shutil.which("ringfort"))
    return found or sys.exit("no ringfort here: run `make build` first, or set RINGFORT")


RINGFORT = find_ringfort()


def run_box(options, command, stdin=b""):
    """The result of a command in a box that shows nothing but what the options name."""
    done = subprocess.run([RINGFORT, "run", "--json", "--current", "none", *options, "--", *command],
                          input=stdin, capture_output=True, check=False)
    result = json.loads(done.stdout)
    if result["status"] in ("error", "denied"):  # the judge's problem, not the submission's
        sys.exit(f"judge: {result['error']['message']}\n  hint: {result['error']['remedy']}")
    return result


def judge_one(source, problem, out):
    """The verdict on one submission, what is to be said about it, and its greatest time and memory."""
    place, compiling, running = LANGUAGES[source.suffix]
    shown = ["--read", f"{source}:{place}"]
    compiled = run_box([*COMPILE_LIMITS, *SMALL, *shown, "--write", f"{out}:/judge/out",
                        "--env", "PYTHONPYCACHEPREFIX=/judge/out"], compiling)
    if compiled["status"] != "ok":
        said = compiled["stderr"].strip().splitlines() or [compiled["status"]]
        return "CE", next((line for line in said if "rror" in line), said[0]), 0, 0
    slowest = largest = 0
    for given in sorted(problem.glob("*.in")):
        result = run_box([*RUN_LIMITS, *SMALL, *shown, "--read", f"{out}:/judge/out"], running,
                         given.read_bytes())
        slowest = max(slowest, result["usage"]["wall_ms"])
        largest = max(largest, result["usage"]["memory_peak"] or 0)
        expected = given.with_suffix(".out").read_text().split()
        if result["status"] != "ok":
            said = result["stderr"].strip().splitlines() or [f"signal {result['signal']}"]
            verdict = VERDICTS[result["status"]]
            said = said[-1] if verdict == "RE" else f"limit reached: {', '.join(result['limits_hit'])}"
            return verdict, f"{given.stem}: {said}", slowest, largest
        if result["stdout"].split() != expected:
            return "WA", given.stem, slowest, largest
    return "AC", "", slowest, largest


def main(arguments):
    problem = pathlib.Path(arguments[0] if arguments else HERE / "sum").resolve()
    sources = [pathlib.Path(name).resolve() for name in arguments[1:]]
    for source in sources or sorted((HERE / "submissions").iterdir()):
        if source.suffix not in LANGUAGES:
            sys.exit(f"judge: {source.name}: there is {', '.join(LANGUAGES)}")
        with tempfile.TemporaryDirectory(prefix="judge-") as out:
            verdict, why, slowest, largest = judge_one(source, problem, out)
        print(f"{source.name:12} {verdict:4} {slowest:6.0f} ms {largest / 2**20:6.1f} MiB  {why}".rstrip())


if __name__ == "__main__":
    main(sys.argv[1:])
