"""What a test program's output says: TAP (unit tests, corpus replays, lint) and JUnit's XML (pytest)."""
import collections
import re
import xml.etree.ElementTree

# One tested promise.  `verdict` is "passed", "failed", "skipped" or, for what failed at first and passed when
# it had the machine for itself, "unsteady"; `story` is why; `seconds` how long it took, where that is known.
Case = collections.namedtuple("Case", "name verdict story seconds", defaults=["", 0.0])


def one(name, code, output, seconds=0.0):
    """What is a single case: a command that went well or not."""
    return Case(name, "failed" if code else "passed", output if code else "", seconds)


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
            cases.append(Case(match[2], verdict, match[4] or ""))
        elif line.startswith("#") and cases and cases[-1].verdict == "failed":
            cases[-1] = cases[-1]._replace(story=cases[-1].story + line[2:] + "\n")
    ran = len(cases) if plan else 0
    has_failed = any(case.verdict == "failed" for case in cases)
    if plan is None or ran != plan or (code != 0 and not has_failed):
        cases.append(Case(f"{program}: runs to its end", "failed",
                          f"exit code {code}, {ran} of {plan} tests reported\n{output}"))
    return cases


def read_junit(path):
    """The cases in a report of pytest."""
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
        yield Case(name, verdict, story, float(case.get("time") or 0))


def test_of(case):
    """Where pytest finds a case of its own: (folder, file, test), or None for any other case."""
    match = re.fullmatch(r"(?:tests\.)?(\w+)\.(test_\w+): (test_.*)", case.name, re.DOTALL)
    return match and match.groups()


def count(cases):
    return collections.Counter(case.verdict for case in cases)
