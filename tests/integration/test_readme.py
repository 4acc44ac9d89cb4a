"""What the front page shows is what a new user gets: its commands are run, and its output compared."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USER_ID = 12345

# A command that is not run here, by a word in it, and why.
NOT_RUN = {
    "make ": "a target of the Makefile", "sudo": "needs a password", "curl": "speaks of a program that may not be there",
    "shell": "waits for somebody to type", "git clone": "needs a network", "examples/": "test_examples.py runs them",
    "PREFIX": "installs", "fix": "one after the other, in a test of their own", "shadow --workspace": "the same",
}


def blocks():
    """Each console block as a list of (command, [lines of output])."""
    for text in re.findall(r"^```console\n(.*?)^```", README, re.M | re.S):
        steps = []
        for line in text.splitlines():
            if line.startswith("$ "):
                steps.append((re.sub(r"\s{2,}# .*", "", line[2:]), []))
            elif steps:
                steps[-1][1].append(line)
        yield steps


STEPS = [step for steps in blocks() for step in steps]


def shape(line):
    """A line without what differs from run to run and from machine to machine."""
    return re.sub(r"\d+(\.\d+)?", "N", " ".join(line.split())).replace("as this user", "as root")


@pytest.fixture
def stage(workdir, who):
    for folder in ("data", "work", "out", "home/models"):
        (workdir / folder).mkdir(parents=True)
    (workdir / "report.py").write_text("print('a report')\n")
    (workdir / "script.py").write_text("print('a script')\n")
    (workdir / "agent.yaml").write_text("limits: { memory: 1G, time: 2m }\nfiles:  { read: [./data], write: [./work] }\n")
    (workdir / "bad.yaml").write_text("limits:\n  memroy: 1G\n")
    if os.geteuid() == 0 and who == "user":
        subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", workdir], check=True)
    return workdir


@pytest.mark.parametrize("line, shown", STEPS, ids=[step[0] for step in STEPS])
def test_a_command_of_the_front_page_does_what_it_shows(line, shown, stage, command, ringfort, as_who):
    for word, reason in NOT_RUN.items():
        if word in line:
            pytest.skip(reason)
    env = {"PATH": f"{os.path.dirname(ringfort)}:/usr/bin:/bin", "HOME": str(stage / "home"), "LANG": "C.UTF-8"}
    done = subprocess.run([*command()[:-1], "sh", "-c", line], cwd=stage, env=env, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    said = {shape(part) for part in (done.stdout + done.stderr).splitlines()}
    for part in shown:
        if not part.strip() or part == "..." or part.startswith(("{", "}", "  ")) and "json" in line:
            continue  # JSON is shown with lines joined
        if part.startswith(("uid=", "/bin ", "Limits:")) or re.match(r"  (ok|no|part|-)  ", part):
            continue  # another machine, another line
        assert shape(part) in said, (part, done)
    if not shown:
        assert done.returncode == 0, done


def test_the_front_page_does_not_boast():
    """Numbers of tests may only have grown since they were written down."""
    attacks = int(re.search(r"(\d+) attacks, with controls", README)[1])
    text = (ROOT / "docs/attacks.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| ", text, re.M)) >= attacks


def test_links_of_the_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    assert len(pages) > 20
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not target.startswith(("http:", "https:")):
                assert (page.parent / target).exists(), (page.name, target)


def test_the_workspace_of_the_front_page_does_what_it_shows(post):
    tree = post.top / "project"
    (tree / "src").mkdir(parents=True)
    (tree / "README").write_text("read me\n")
    (tree / "src/parser.c").write_text("int broken;\n")
    (tree / "Makefile").write_text("test:\n\tgrep -q mended src/parser.c\n")
    (tree / "agent").write_text("#!/bin/sh\necho mended > src/parser.c\n")
    (tree / "agent").chmod(0o755)
    if os.geteuid() == 0 and post.who == "user":
        subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", tree], check=True)
    steps = [step for steps in blocks() for step in steps if "fix" in step[0] or "shadow --workspace" in step[0]]
    assert len(steps) == 4
    for line, shown in steps:
        done = post.run("-c", f"cd {tree} && {line.replace('ringfort', post.ringfort, 1)}", program="/bin/sh")
        said = {shape(part.replace(str(tree), "/home/me/project")) for part in (done.stdout + done.stderr).splitlines()}
        assert done.returncode == 0 and all(shape(part) in said for part in shown), (line, done)
    assert (tree / "README").read_text() == "read me\n" and (tree / "src/parser.c").read_text() == "mended\n"
