#!/usr/bin/python3
"""Writes docs/promises.md: what Ringfort promises, the tests behind each line, and the last figure.

    promises.py             what `make promises` does
    promises.py --draft     the same, but a promise without a result says so, and is no error
    promises.py --check     only looks at the page that is there

Suites leave what they found in build/results/*.json, each a list of

    { "promise": 8, "test": "make bombs", "mode": "root", "figure": "…", "ok": true }

where the promise is one of a line's `keys` below, or a sentence that is a promise by itself.
A promise whose suite has left nothing this time keeps the figure that the page has; one that has neither, or
whose test has failed, is an error, and the page stays as it is.  What is measured is another thing than what is
promised: its line says how much holds, and the page that it points to says what does not.
"""
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/promises.md"
RESULTS = ROOT / "build/results"
NONE_YET = "no full run yet"
FEW = 6  # figures are shown one by one up to here, and counted beyond

# `keys` are the values of "promise" in the results that speak of it; `tests` are what to run, or a file of tests
# and a function in it; `is_measured` if the line gives a figure and not a yes.
Promise = collections.namedtuple("Promise", "name text keys tests is_measured", defaults=[False])

PROMISES = [
    Promise("Nothing gets out",
            "No attack of [the catalogue](attacks.md) leaves a box, judged from inside and outside, as root and as an "
            "ordinary user, and each is seen to succeed where what stops it is taken away",
            {1, "escape", "escape-score", "controls"},
            ["make attack", "tests/attack/test_attacks.py::test_bounces",
             "tests/attack/test_attacks.py::test_succeeds_without_its_wall"]),
    Promise("How others fell stays shut",
            "Every class of hole of the last years that touches a box has its permanent test",
            {"cves"}, ["tests/attack/test_cves.py::test_the_test_is_there"]),
    Promise("Never silently weaker",
            "On a machine that gives less, a box is refused with the remedy, or runs where the caller said `--weaker "
            "allow` and lists what it lacks; everything else it holds ([by mode](#by-mode))",
            {"modes"}, ["make attack", "tests/attack/test_modes.py::test_a_box_starts_or_not_as_the_table_says",
                        "tests/attack/test_modes.py::test_bounces"]),
    Promise("Proven before exec",
            "The process that becomes the program has asked the kernel for every wall; one less, and nothing starts",
            {"proof"}, ["tests/attack/test_proof.py::test_nothing_starts_without_a_wall"]),
    Promise("Fails closed",
            "A call of the launcher or of pid 1 that fails, whichever it is, ends in a box with every wall or in none",
            {3, "a box fails closed", "faults"}, ["make faults"]),
    Promise("Nothing is left behind",
            "Killed at any instant, a launcher leaves no process, mount, cgroup, namespace or file",
            {4, "kill -9 leaves nothing", "left behind"}, ["make faults", "tests/integration/test_leftovers.py::test_fifty_runs_one_after_the_other_leave_nothing"]),
    Promise("Time means it",
            "When time is up everything in the box is dead, whatever it ignores: stopped, forking, waiting, in sessions "
            "of its own",
            {7, "time"}, ["tests/attack/test_boxes.py::test_time_out_ends_what_ignores_signals"]),
    Promise("Memory, processes, disk and output stay inside",
            "Bombs of every kind, set off in every kind of box and looked at from outside: what ends at its limit, and "
            "what neighbours notice. Where a limit's grade is less than `hard` some do not, and [the page](bombs.md) "
            "names each",
            {8, "bombs"}, ["make bombs", "tests/integration/test_quota.py::test_parallel_writers_share_one_limit"], True),
    Promise("Goes only where it may",
            "With a network, a box reaches what its policy names and nothing else, however a host is written, whatever it resolves to, and "
            "whether or not the program knows of a gateway; no request hides another",
            {9, 10, "egress"}, ["make check", "tests/integration/test_gateway.py::test_no_request_is_smuggled",
                                "tests/integration/test_gateway_rebinding.py::test_a_name_that_flips_never_leads_inside"]),
    Promise("Credentials stay outside",
            "A credential is in the server's log and nowhere in the box: not in its variables, files or memory, nor in an answer; and it is sent to "
            "nobody else, and never in clear",
            {"credentials"}, ["make check", "tests/integration/test_tls_gateway.py::test_the_credential_is_added_outside_and_never_inside",
                              "tests/integration/test_tls_gateway.py::test_a_placeholder_for_somebody_else_is_refused_and_told"]),
    Promise("Small enough to read",
            "The kernel calls that a program may make, and what real programs need of them",
            {19}, ["make calls"]),
    Promise("Recorded means recorded",
            "What was acknowledged is in the log, once, whoever is killed; each run that was begun has one end; and an edit, a "
            "deletion, a new order or another file in its place is found, with the first record that is wrong",
            {"record"}, ["make reliability", "tests/integration/test_audit.py::test_every_kind_of_change_is_found_and_the_first_record_named"]),
    Promise("Every change can be taken back",
            "Nothing that runs in a workspace changes the directory; what is applied is whole or can be finished or taken back, "
            "whenever it was killed",
            {"workspaces"}, ["make reliability", "tests/integration/test_apply.py::test_an_apply_that_is_killed_goes_on_or_back"]),
    Promise("Bad input can't hurt",
            "Every parser of text that others wrote has a fuzzer, and what it ever found is replayed",
            {14, "unit", "sanitizers"}, ["make check", "make fuzz"]),
]
# What the suites leave.  (Others there are their own notes.)
FILES = ["attack.json", "bombs.json", "faults.json", "calls.json", "check.json", "reliability.json", "vm.json", "bench.json"]
# Sentences of results that are promises by themselves, by the file that they come from.
OTHERS = [("bench.json", "make bench"), ("vm.json", "make check-vm")]


class Problem(Exception):
    """Why there is no page."""


def read_results():
    """All rows there are, each with the name of its file."""
    rows = []
    for name in FILES:
        path = RESULTS / name
        if not path.exists():
            continue
        try:
            found = json.loads(path.read_text())
        except ValueError as problem:
            raise Problem(f"{path.name}: {problem}") from problem
        for row in found:
            if not {"promise", "test", "mode", "figure", "ok"} <= set(row):
                raise Problem(f"{path.name}: a row without promise, test, mode, figure and ok: {row}")
            rows.append({**row, "file": path.name})
    return rows


def group_of(row):
    """"make calls: perl" and "make calls: socat" are parts of one; "make calls" speaks for itself."""
    head, colon, _ = row["test"].partition(":")
    return head + colon


def figure_of(rows):
    """The figures of a promise in a few words."""
    if len(rows) <= FEW:
        return "; ".join(dict.fromkeys(
            ("" if row["ok"] else "not kept: ") + row["figure"] + (f" ({row['mode']})" if row["mode"] not in ("", "all") else "")
            for row in rows))
    parts = []
    for test in dict.fromkeys(group_of(row) for row in rows):
        mine = [row for row in rows if group_of(row) == test]
        counts = [re.match(r"(\d+) ([a-z]+)", row["figure"]) for row in mine]
        kept = f"{sum(1 for row in mine if row['ok'])} of {len(mine)} hold"
        if all(counts) and {count[2] for count in counts} in ({"faults"}, {"kills"}):
            kept = f"{sum(int(count[1]) for count in counts)} {counts[0][2]}; {kept}"
        if len(mine) > FEW:
            parts.append(f"{test}{' ' if test.endswith(':') else ': '}{kept}")
        else:
            parts += [f"{row['figure']} ({row['mode']})" if row["mode"] != "all" else row["figure"] for row in mine]
    return "; ".join(parts)


def published():
    """The figures that the page has, by the promise's name."""
    figures = {}
    if PAGE.exists():
        for line in PAGE.read_text().split("\n"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if len(cells) == 5 and cells[0].isdigit():
                figures[cells[1].strip("*")] = cells[4]
    return {name: figure for name, figure in figures.items() if figure != NONE_YET}


def escape(text):
    return text.replace("|", "\\|").replace("\n", " ")


def promise_rows(rows, is_draft):
    """The lines of the table: (name, text, tests, figure)."""
    lines, failed, old = [], [], published()
    failed += [f"{row['test']} ({row['mode']}): {row['figure']}" for row in rows if not row["ok"] and is_strict(row)]
    if failed:
        raise Problem("a promise is broken: " + "; ".join(failed))
    for promise in PROMISES:
        mine = [row for row in rows if row["promise"] in promise.keys]
        figure = figure_of(mine) if mine else old.get(promise.name, NONE_YET if is_draft else "")
        if not figure:
            raise Problem(f"{promise.name}: no result; run {promise.tests[0]}")
        tests = ", ".join(f"`{test.rpartition('::')[2] or test}`" for test in promise.tests)
        lines.append((promise.name, promise.text, tests, escape(figure)))
    for file, test in OTHERS:
        sentences = dict.fromkeys(row["promise"] for row in rows if row["file"] == file and is_sentence(row))
        for sentence in sentences:
            mine = [row for row in rows if row["promise"] == sentence]
            lines.append((sentence, "", f"`{test}`", escape(figure_of(mine))))
        if not sentences:
            lines += [(name, "", f"`{test}`", figure) for name, figure in old.items() if f"`{test}`" in tests_of(name)
                      and name not in {promise.name for promise in PROMISES}]
    unknown = {str(row["promise"]) for row in rows
               if not is_sentence(row) and not is_known(row) and not is_detail(row)}
    if unknown:
        raise Problem("results of no promise: " + ", ".join(sorted(unknown)))
    return lines


def is_strict(row):
    """False for what is measured: limits that are sampled, and times, which depend on the machine."""
    return row["file"] != "bench.json" and not any(
        promise.is_measured and row["promise"] in promise.keys for promise in PROMISES)


def is_known(row):
    return any(row["promise"] in promise.keys for promise in PROMISES)


def is_detail(row):
    return str(row["promise"]).startswith(("mode-", "class-"))


def is_sentence(row):
    return isinstance(row["promise"], str) and " " in row["promise"] and not is_known(row) and not is_detail(row)


def tests_of(name):
    for line in PAGE.read_text().split("\n") if PAGE.exists() else []:
        if f"| **{name}** |" in line:
            return line
    return ""


def mode_lines(rows):
    mine = [row for row in rows if str(row["promise"]).startswith("mode-") or row["promise"] == "escape"]
    if not mine:
        old = PAGE.read_text() if PAGE.exists() else ""
        return [line for line in old.split("\n") if re.match(r"\| [a-z0-9-]+, (root|user) \|", line)]
    return [f"| {row['mode']} | {row['figure']} |" for row in mine]


def class_lines(rows):
    """One for each class of attacks; those of the page where the attacks were not tried this time."""
    mine = [f"| {row['promise'].partition('-')[2]} | {row['figure']} |" for row in rows
            if str(row["promise"]).startswith("class-")]
    if mine or not PAGE.exists():
        return mine
    return re.findall(r"(?m)^\| .* \|$", PAGE.read_text().partition(CLASSES)[2])


HEAD = """# Promises

What Ringfort promises, the test behind each line, and the figure of its last full run. `make promises` writes this page from
what the suites found (`build/results/`); a result that failed is an error, and a promise whose suite has not been run in full yet
says so, so nothing here is hoped for. What each wall promises and leaves to the others is in the [threat model](threat-model.md), and so is
[what is not promised](threat-model.md#what-remains).

| # | promise | what it means | tests | last figure |
|---|---|---|---|---|
"""

CLASSES = """
## By class

The attacks against a full box, root's and an ordinary user's together.

| class | last figure |
|---|---|
"""

MODES = """
## By mode

The whole catalogue on machines that give less, each made by taking system calls away ([what each lacks](attacks.md#modes)).
"Contained" counts what bounced, and what was refused before anything started.

| mode | last figure |
|---|---|
"""


def page(rows, is_draft=False):
    lines = [f"| {number} | **{name}** | {text} | {tests} | {figure} |"
             for number, (name, text, tests, figure) in enumerate(promise_rows(rows, is_draft), 1)]
    text = HEAD + "\n".join(lines) + "\n" + MODES + "\n".join(mode_lines(rows)) + "\n"
    return text + CLASSES + "\n".join(class_lines(rows)) + "\n"


def check():
    """What is wrong with the page that is there: its shape, and the tests that it names."""
    wrong, text = [], PAGE.read_text()
    if not text.startswith(HEAD) or MODES not in text or CLASSES not in text:
        wrong.append("the page does not have the generator's shape: run make promises")
    figures = published()
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    for promise in PROMISES:
        if not figures.get(promise.name) and f"**{promise.name}**" not in text:
            wrong.append(f"{promise.name}: is not on the page")
        for test in promise.tests:
            file, _, function = test.partition("::")
            if test.startswith("make "):
                if test.split()[1] not in targets:
                    wrong.append(f"{promise.name}: there is no `{test}`")
            elif f"def {function}(" not in (ROOT / file).read_text():
                wrong.append(f"{promise.name}: there is no {test}")
    return wrong


def main():
    try:
        if "--check" in sys.argv[1:]:
            wrong = check()
            print("\n".join(wrong) or "ok")
            return 1 if wrong else 0
        text = page(read_results(), "--draft" in sys.argv[1:])
    except Problem as problem:
        print(f"promises: {problem}", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
