#!/usr/bin/env python3
"""An agent that runs what a model writes, each snippet in a box of its own.

The model here is a stand-in with a script (model.py), so that this runs anywhere; a real one has
the same shape.  What matters is the loop: the code goes in, one JSON object comes out, its status
says what happened, and the next prompt tells the model what it needs to do better.  Nothing that the
model writes can reach your files, variables, processes or network.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import model

HERE = pathlib.Path(__file__).resolve().parent
MAX_TURNS = 6
LIMITS = ["--time", "2s", "--memory", "128M", "--output", "10K"]

# What the model should know about an end that was not its own program's; `status` is the truth,
# an exit code of 124 might be the program's own.
ADVICE = {
    "timeout": "It was stopped after 2 s. Find a faster way.",
    "cpu": "It used too much processor time. Find a faster way.",
    "memory": "It was stopped at 128 MiB of memory. Keep less of it at a time.",
    "output": "It printed more than 10 KiB. Print only the answer.",
    "pids": "It started too many processes. One is enough.",
    "disk": "It ran out of scratch space. Write less.",
    "denied": "The policy does not allow this.",
}


def find_ringfort():
    built = HERE.parent.parent / "build" / "ringfort"
    found = os.environ.get("RINGFORT") or (str(built) if built.exists() else shutil.which("ringfort"))
    return found or sys.exit("no ringfort here: run `make build` first, or set RINGFORT")


RINGFORT = find_ringfort()


def run_snippet(code):
    """Runs Python code in a box that sees no file of ours; gives the result object."""
    command = [RINGFORT, "run", "--json", "--current", "none", *LIMITS, "--", "python3", "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def observe(result):
    """What the model is told about a run."""
    if result["status"] == "error":  # no run at all: nothing that a model could mend
        sys.exit(f"ringfort: {result['error']['message']}\n  hint: {result['error']['remedy']}")
    said = [f"status: {result['status']}"]
    if result["status"] in ADVICE:
        said.append(ADVICE[result["status"]])
    for limit in result["limits_hit"]:
        said.append(f"limit reached: {limit}")
    said += result["warnings"]
    if result["stdout"]:
        said.append(f"stdout: {result['stdout'][:2000].strip()}")
    if result["status"] == "failed" and result["stderr"]:
        said.append(f"stderr: {result['stderr'].strip().splitlines()[-1]}")
    return "\n".join(said)


def solve(task):
    """Asks, runs and tells, until a program ends well; gives what it printed, or None."""
    messages = [{"role": "user", "content": task}]
    print(f"task: {task}")
    for turn in range(1, MAX_TURNS + 1):
        code = model.reply(messages)
        result = run_snippet(code)
        told = observe(result)
        usage = result["usage"]
        print(f"  turn {turn}: {result['status']:8} {usage['wall_ms']:7.0f} ms  "
              f"{told.splitlines()[1]}")
        if result["status"] == "ok":
            return result["stdout"].strip()
        messages += [{"role": "assistant", "content": code}, {"role": "user", "content": told}]
    return None


def main():
    answers = [solve(task) for task in model.TASKS]
    print(f"solved: {sum(answer is not None for answer in answers)} of {len(answers)}")
    return 0 if None not in answers else 1


if __name__ == "__main__":
    sys.exit(main())
