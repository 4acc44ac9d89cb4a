"""What runs on a second kernel found: as data for docs/promises.md, and on a page.

Each scene's last run is kept in build/results/vm-scenes.json, so that scenes can be run one at a time.
"""
import json
import pathlib
import re
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/second-kernel.md"
RESULTS = ROOT / "build/results/vm.json"
SAVED = ROOT / "build/results/vm-scenes.json"
BEGIN, END = "<!-- tests/vm/run --docs writes from here -->", "<!-- to here -->"
KNOWN = "# TO" "DO"  # as TAP marks what is expected to fail
CALLERS = ("root in the root group", "root", "a user with delegation", "a user without delegation")


def figures(cases):
    """ "7 passed, 1 known" of pairs of verdict and name."""
    verdicts = [verdict for verdict, _ in cases]
    return ", ".join(f"{verdicts.count(name)} {name}" for name in ("passed", "failed", "known", "skipped")
                     if verdicts.count(name)) or "nothing"


def is_suite(name):
    """True for the line of a suite of pytest, which ends with its figures."""
    return re.search(r": \d+ (passed|failed)", name) is not None


def caller_of(name):
    """Whose boxes a check is about: "plain: root: bomb ..." is root's."""
    told = name.partition(": ")[2]
    return next((caller for caller in CALLERS if told.startswith(caller + ": ")), "all callers")


def found_so_far():
    return json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.exists() else {}


def remember(kernel, scene, promise, cases, seconds):
    """Puts what a scene found in the place of what its last run did."""
    saved = found_so_far()
    saved[scene] = {"kernel": kernel.replace("vmlinuz-", ""), "day": time.strftime("%-d %b %Y", time.gmtime()),
                    "promise": promise, "cases": cases, "seconds": round(seconds)}
    SAVED.parent.mkdir(parents=True, exist_ok=True)
    SAVED.write_text(json.dumps(saved), encoding="utf-8")


def write_results():
    """Rows of promise, test, mode, figure and ok."""
    rows = []
    for scene, found in found_so_far().items():
        suites = [case for case in found["cases"] if is_suite(case[1])]
        for verdict, name in suites:
            title, _, figure = name.rpartition(": ")
            rows.append({"promise": found["promise"], "test": f"make check-vm: {title}", "figure": figure,
                         "mode": f"kernel {found['kernel']}, {scene}", "ok": verdict == "passed"})
        checks = [case for case in found["cases"] if case not in suites]
        for caller in sorted({caller_of(name) for _, name in checks}):
            theirs = [case for case in checks if caller_of(case[1]) == caller]
            rows.append({"promise": found["promise"], "test": f"make check-vm: {scene}", "figure": figures(theirs),
                         "mode": f"kernel {found['kernel']}, {caller}",
                         "ok": all(verdict != "failed" for verdict, _ in theirs)})
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def page(saved, order):
    cases = [case for found in saved.values() for case in found["cases"]]
    lines = [f"{len(cases)} checks: {figures(cases)}.", "",
             "| scene | checks | suites | seconds | kernel | run |", "|---|---|---|---|---|---|"]
    for scene in order:
        if scene not in saved:
            lines.append(f"| `{scene}` | not in these runs | | | | |")
            continue
        found = saved[scene]
        suites = "; ".join(name.partition(": ")[2] for _, name in found["cases"] if is_suite(name))
        lines.append(f"| `{scene}` | {figures(found['cases'])} | {suites} | {found['seconds']} | {found['kernel']} | "
                     f"{found['day']} |")
    for verdict, title in (("known", "Known, and not failures:"), ("failed", "Failed:")):
        some = [name.replace(f"{KNOWN} ", "(") + (")" if KNOWN in name else "")
                for other, name in cases if other == verdict and not is_suite(name)]
        lines += ["", title, "", *(f"- {name}" for name in some)] if some else []
    return "\n".join(lines)


def write_page(order):
    """Puts the page's summary between its markers."""
    text, whole = page(found_so_far(), order), PAGE.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", whole), encoding="utf-8")
