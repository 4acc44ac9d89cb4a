"""Help teaches: every command, every option, examples that run, at a width that fits."""
import json
import os
import pathlib
import re
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("RINGFORT", ROOT / "build/ringfort")
USER_ID = 12345


def read_table():
    if not os.path.exists(PROGRAM):
        return {"commands": [], "examples": []}
    return json.loads(subprocess.run([PROGRAM, "help", "--json"], capture_output=True, check=True).stdout)


TABLE = read_table()
NAMES = [command["name"] for command in TABLE["commands"]]


def codes_of(line):
    """The exit codes below 100 that the command of an example knows: `policy why` says no with 1."""
    return {code for command in TABLE["commands"] if f"ringfort {command['name']} " in f"{line} "
            for code in re.findall(r"\b\d\d?\b", command["exits"] or "")}


EXAMPLES = sorted({row["line"] for part in (TABLE, *TABLE["commands"]) for row in part["examples"]})


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_explained_in_the_same_words_everywhere(call, name):
    asked = call("help", *name.split())
    assert asked.code == 0 and asked.err == b""
    assert call(*name.split(), "--help") == asked == call(*name.split(), "-h")
    assert asked.out.startswith(f"usage: ringfort {name}".encode())


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_into_80_columns_and_has_no_loose_ends(call, name):
    for line in call("help", *name.split()).out.decode().splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip() and "\t" not in line, line


@pytest.mark.parametrize("command", TABLE["commands"], ids=NAMES)
def test_help_names_every_option_and_an_example(call, command):
    text = call("help", *command["name"].split()).out.decode()
    for option in command["options"] if not command["holds_others"] else []:
        assert f" --{option['name']}" in text
    assert "\nexamples:\n" in text and command["examples"]
    assert "\nexit codes:\n" in text or command["holds_others"]


def test_help_of_all_names_every_command_and_fits(call):
    text = call("help").out.decode()
    for name in NAMES:
        assert f"\n  {name.split()[0]} " in text
    assert all(len(line) <= 80 for line in text.splitlines())


# Words of an example, and the reason why it is not run here.
NOT_RUN = {
    "sudo": "this is not the place for passwords",
    "shell": "waits for somebody to type",
    " -t": "wants a terminal",
    "key create": "leaves a key: see test_server.py",
    "serve &": "stays: see test_server.py",
    "serve --listen": "stays: see test_server.py",
    "warden &": "stays: see test_warden.py",
    "warden --ceiling": "stays: see test_warden.py",
    "watch &": "stays: see test_watch.py",
    "gateway &": "stays: see test_standing_gateway.py",
    "watch --anchor": "stays: see test_watch.py",
    "watch --keep": "stays: see test_watch.py",
    "ringfort audit": "needs a log: see test_audit.py",
    "ringfort net": "needs a log: see test_net_log.py",
    "ringfort key": "leaves a key: see test_server.py",
    "policy learn": "reaches the network: see test_net_log.py",
    "ringfort credential ": "keeps what outlives it: see test_credential.py",
    "ringfort top ": "draws on a terminal: see test_top.py",
    **{f"ringfort {word}": "needs a workspace: see test_workspace.py" for word in (
        "create", "exec", "shadow", "workspaces", "checkpoint", "undo", "discard", "log", "diff", "apply", "fork", "rm", "gc", "file", "agent",
        "export", "import")},
}


@pytest.fixture
def stage(workdir, who):
    """A folder with what examples speak of."""
    home = workdir / "home"
    for folder in ("home/data", "home/models", "data", "work", "out", "policies"):
        (workdir / folder).mkdir(parents=True, exist_ok=True)
    for name, text in {"script.py": "print(1)\n", "report.py": "print(2)\n", "app.js": "console.log(3)\n",
                       "main.c": "int main(void) { return 0; }\n", "main.go": "package main\nfunc main() {}\n",
                       "Makefile": "all:\n\ttouch made\n", "agent.yaml": "limits: { memory: 1G }\n",
                       "old.yaml": "limits: { memory: 1G }\n", "new.yaml": "limits: { memory: 2G }\n",
                       "policies/one.yaml": "limits: { time: 5s }\n", "tests.sh": "true\n"}.items():
        (workdir / name).write_text(text)
    if os.geteuid() == 0 and who == "user":
        subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", workdir], check=True)
    return home


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_runs(line, stage, command, workdir, ringfort, need):
    for words, reason in NOT_RUN.items():
        if words in f" {line} ":
            pytest.skip(reason)
    for tool in ("jq", "node", "make", "gcc", "go", "git", "python3", "npm"):
        if f" {tool} " in f" {line} ":
            need(tool)
    env = {"PATH": f"{os.path.dirname(ringfort)}:/usr/bin:/bin", "HOME": str(stage), "LANG": "C.UTF-8"}
    done = subprocess.run([*command()[:-1], "sh", "-c", line], cwd=workdir, env=env, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 0 or str(done.returncode) in codes_of(line), done
