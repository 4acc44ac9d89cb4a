#!/usr/bin/python3
"""The escape score: every attack, in every mode, as root and as a user.  What `make attack` does.

    score.py [--mode NAME]... [--attack WORD] [--rounds N] [--jobs N]

Each attack is first tried where what stops it is not there, and must escape; then in a box of every mode.
Prints for each mode how many were contained, of how many, by class; writes build/results/attack.json; ends
with 1 if a promise is broken, and with the names of those that broke it.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import pytest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS), str(TESTS / "integration")]

import standing  # noqa: E402

from catalogue import ATTACKS, KINDS  # noqa: E402
from modes import BY_NAME, MODES, Outcome, Tools, attacks_of, attempt, look_at_start, prove, start_of  # noqa: E402
from compiled import compile_static  # noqa: E402
from scene import HERE, Scene  # noqa: E402

ROOT = HERE.parents[1]
RESULTS = ROOT / "build/results"
USER_ID = 12345
BATCH = 40
SHOWN, LONG = 100, 300  # of what is broken

# One try: where, who, what, and what came of it.
Try = collections.namedtuple("Try", "mode who attack word story")


def prepare(public):
    """Copies of the built programs that everybody can run, and the attacks; gives their paths."""
    (public / "bin").mkdir()
    for program in (ROOT / "build").glob("ringfort*"):
        if program.is_file() and os.access(program, os.X_OK):
            shutil.copy(program, public / "bin")
    return {"ringfort": str(public / "bin/ringfort"),
            "program": compile_static(sorted(HERE.glob("*.c")), public / "attacks/attack"),
            "older": compile_static([HERE.parent / "lesser/older.c"], public / "older/older"),
            "forbid": compile_static([HERE.parent / "lesser/forbid.c"], public / "forbid/forbid")}


@contextlib.contextmanager
def scene_for(who, public, paths):
    workdir = pathlib.Path(tempfile.mkdtemp(prefix="work-", dir=public))
    if who == "user" and os.geteuid() == 0:
        os.chown(workdir, USER_ID, USER_ID)
    scene = Scene(who, paths["ringfort"], paths["program"], public, workdir)
    try:
        yield scene
    finally:
        scene.done()
        shutil.rmtree(workdir, ignore_errors=True)


def carefully(function):
    """A try that breaks down is a broken one, never a missing one."""
    try:
        return function()
    except pytest.skip.Exception as reason:
        return Outcome("skipped", str(reason))
    except Exception as problem:  # whatever it was
        return Outcome("broken", repr(problem))


def try_one(public, paths, mode_name, who, name):
    mode = BY_NAME.get(mode_name)
    if mode is None:
        attack = next(a for a in ATTACKS if a.name == name)
        with scene_for(who, public, paths) as scene:
            outcome = carefully(lambda: prove(attack, scene, who))
        return Try(mode_name, who, name, *outcome)
    attack = next(a for a in attacks_of(mode) if a.name == name)
    with scene_for(who, public, paths) as scene:
        def go():
            Tools(paths["older"], paths["forbid"], paths["wardens"]).enter(scene, mode)
            return attempt(mode, attack, scene, who)
        outcome = carefully(go)
    return Try(mode_name, who, name, *outcome)


def try_batch(public, paths, batch):
    return [try_one(pathlib.Path(public), paths, *one) for one in batch]


def starts(public, paths, mode, who):
    """What `ringfort run` does in this mode is what the table says."""
    with scene_for(who, public, paths) as scene:
        def go():
            Tools(paths["older"], paths["forbid"], paths["wardens"]).enter(scene, mode)
            return look_at_start(scene, mode)
        outcome = carefully(go)
    return Try(mode.name, who, "(its start)", *outcome)


def everything(options, users):
    """All tries: controls first."""
    tries = []
    for _ in range(options.rounds):
        for who in users:
            if not options.mode or "full" in options.mode:
                tries += [("control", who, attack.name) for attack in attacks_of(BY_NAME["full"])]
            for mode in MODES:
                if start_of(mode, who) != "refused" and (not options.mode or mode.name in options.mode):
                    tries += [(mode.name, who, attack.name) for attack in attacks_of(mode)]
    return [one for one in tries if options.attack in one[2]]


def stand(who, public, ringfort):
    """A warden of this user that nobody else on the machine meets."""
    runtime = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=public))
    prefix = []
    if who == "user" and os.geteuid() == 0:
        os.chown(runtime, USER_ID, USER_ID)
        prefix = ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]
    warden = standing.Standing(ringfort, prefix, runtime, public)
    warden.place = (str(runtime), warden.room.pid if warden.room else 0)
    return warden


def run(options, public, paths, users, wardens):
    wanted = [mode for mode in MODES if not options.mode or mode.name in options.mode]
    paths["wardens"] = {who: warden.place for who, warden in wardens.items()}
    done = [starts(public, paths, mode, who) for mode in wanted for who in users]
    tries = everything(options, users)
    batches = [tries[at:at + BATCH] for at in range(0, len(tries), BATCH)]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for got in pool.map(functools.partial(try_batch, str(public), paths), batches):
            done += got
            if sys.stderr.isatty():
                print(f"\r{len(done)} of {len(tries)} tries", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return done


# --- what came of it ---

def show(done):
    kinds = [*KINDS, "a lesser box alone"]
    kind_of = {attack.name: attack.kind for mode in MODES for attack in attacks_of(mode)}
    proven = {(one.who, one.attack) for one in done if one.mode == "control" and one.word == "proven"}
    for mode in MODES:
        for who in ("root", "user"):
            mine = [one for one in done if one.mode == mode.name and one.who == who and one.attack != "(its start)"]
            start = [one for one in done if one.mode == mode.name and one.who == who and one.attack == "(its start)"]
            if not start:
                continue
            count = collections.Counter(one.word for one in mine)
            ran = len(mine) - count["skipped"]
            line = f"{mode.name:22} {who:5}"
            if not mine or not ran:
                print(f"{line} {'refused, as promised' if start[0].word == 'contained' else start[0].word}")
                continue
            extra = "".join(f", {count[word]} {text}" for word, text in (
                ("gap", "not promised, and said"), ("refused", "refused to start"), ("known", "known gaps"),
                ("broken", "BROKEN"), ("skipped", "skipped")) if count[word])
            both = sum(1 for one in mine if one.word == "contained" and (who, one.attack) in proven)
            extra += f"; {both} proven by a control that escapes" if mode.name == "full" else ""
            print(f"{line} contained {count['contained']:4} of {ran}{extra}")
            if mode.name in ("full", "lesser"):
                for kind in kinds:
                    part = [one for one in mine if kind_of[one.attack] == kind and one.word != "skipped"]
                    held = sum(1 for one in part if one.word in ("contained", "refused"))
                    if part:
                        print(f"    {kind:26} {held:4} of {len(part)}")


# What takes more than one run, or none of an attack: suites of pytest, and the promise that each backs.
SUITES = [
    ("proof", "test_proof.py", "boxes with a wall left out, and the like"),
    ("time", "test_boxes.py", "trees that will not go, boxes against boxes, links planted for the next run"),
    ("cves", "test_cves.py", "tests named for a hole that others had"),
]


def run_suite(key, file, what):
    report = RESULTS / f"{key}.xml"
    subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
                    str(HERE / file)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    suite = next(xml.etree.ElementTree.parse(report).getroot().iter("testsuite"))
    report.unlink()
    count, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    return {"promise": key, "test": f"make attack: {file}", "mode": "all",
            "figure": f"{count - skipped - failed} of {count - skipped} pass: {what}", "ok": failed == 0}


def class_rows(done):
    """How each class of attacks fared against a full box, both users together."""
    kind_of = {attack.name: attack.kind for attack in ATTACKS}
    for kind in KINDS:
        part = [one for one in done if one.mode == "full" and kind_of.get(one.attack) == kind and one.word != "skipped"]
        if part:
            held = sum(1 for one in part if one.word == "contained")
            yield {"promise": f"class-{kind}", "test": "make attack", "mode": "all",
                   "figure": f"{held} of {len(part)} contained"
                             + (f", {len(part) - held} known gaps" if held < len(part) else ""),
                   "ok": not any(one.word == "broken" for one in part)}


def write(done, seconds):
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = [run_suite(*suite) for suite in SUITES]
    for mode in MODES:
        for who in ("root", "user"):
            mine = [one for one in done if one.mode == mode.name and one.who == who]
            if not mine:
                continue
            count = collections.Counter(one.word for one in mine if one.attack != "(its start)")
            ran = sum(count.values()) - count["skipped"]
            figure = (f"{count['contained'] + count['refused']} of {ran} contained"
                      + (f", {count['gap']} not promised there" if count["gap"] else "")
                      + (f", {count['known']} known gaps" if count["known"] else "")) if ran else "refused to start"
            rows.append({"promise": "escape" if mode.name == "full" else f"mode-{mode.name}", "test": "make attack",
                         "mode": f"{mode.name}, {who}", "figure": figure,
                         "ok": not any(one.word == "broken" for one in mine)})
    rows += class_rows(done)
    lesser = [one for one in done if one.mode != "full" and one.mode != "control"]
    count = collections.Counter(one.word for one in lesser if one.attack != "(its start)")
    rows.append({"promise": "modes", "test": "make attack", "mode": "all",
                 "figure": f"{len(MODES) - 1} kinds of machine that give less: "
                           f"{count['contained'] + count['refused']} attacks contained or refused to start, "
                           f"{count['gap']} that `missing` names, {count['broken']} unsaid",
                 "ok": not any(one.word == "broken" for one in lesser)})
    controls = [one for one in done if one.mode == "control"]
    count = collections.Counter(one.word for one in controls)
    rows.append({"promise": "controls", "test": "make attack", "mode": "all",
                 "figure": f"{count['proven']} of {len(controls) - count['absent']} controls escape, "
                           f"{count['absent']} have nothing to lift on this machine", "ok": not count["broken"]})
    tries = sum(1 for one in done if one.word != "skipped")
    rows.append({"promise": "escape-score", "test": "make attack", "mode": "all",
                 "figure": f"{sum(1 for one in done if one.word == 'broken')} escapes in {tries} tries of "
                           f"{len({one.attack for one in done}) - 1} attacks in {len(MODES)} modes", "ok": not any(
                               one.word == "broken" for one in done)})
    (RESULTS / "attack.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n{rows[-2]['figure']}\n{rows[-1]['figure']}, {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--mode", action="append", choices=[mode.name for mode in MODES])
    parser.add_argument("--attack", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    wardens = {}
    users = ["root", "user"] if os.geteuid() == 0 else ["user"]
    public = pathlib.Path(tempfile.mkdtemp(prefix="rf-tests-", dir="/tmp"))
    public.chmod(0o755)
    try:
        paths = prepare(public)
        wardens = {who: stand(who, public, paths["ringfort"]) for who in users}
        done = run(options, public, paths, users, wardens)
    finally:
        for warden in wardens.values():
            warden.close()
        shutil.rmtree(public, ignore_errors=True)
    show(done)
    if not options.mode and not options.attack:
        write(done, time.monotonic() - began)
    broken = [one for one in done if one.word == "broken"]
    for one in broken[:SHOWN]:
        print(f"broken: {one.mode} as {one.who}: {one.attack}: {one.story[:LONG]}")
    if len(broken) > SHOWN:
        print(f"and {len(broken) - SHOWN} more")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
