"""The manual and the reference say what the program says, and are well made."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = ROOT / "build/packaging/man"
PAGES = sorted(MADE.glob("man*/*"))


@pytest.fixture
def table(call):
    return json.loads(call("help", "--json").out)


def shown(path):
    """A page as a reader sees it, without the breaks of its lines."""
    text = subprocess.run(["man", "-l", "-E", "UTF-8", str(path)], capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "200", "MAN_KEEP_FORMATTING": ""})
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", text.stdout)


def page_of(command):
    return MADE / f"man1/ringfort-{command['name'].split()[0]}.1"


def test_every_command_and_every_format_has_a_page(table):
    names = {path.name for path in PAGES}
    assert {"ringfort.1", "ringfort-policy.5", "ringfort-result.5"} <= names
    for command in table["commands"]:
        assert page_of(command).exists() or command["name"] == "help"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_groff_and_mandoc_find_nothing_wrong(path, need):
    need("man")
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(path)], capture_output=True,
                          text=True, check=False, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "80"})
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.count("\n") > 20
    need("mandoc")
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(path)], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_every_option_is_in_its_commands_page_with_its_words(table, need):
    need("man")
    pages = {page: shown(page) for page in {page_of(c) for c in table["commands"] if c["name"] != "help"}}
    for command in table["commands"]:
        if command["name"] == "help":
            continue
        text = " ".join(pages[page_of(command)].split())
        assert command["holds_others"] or command["synopsis"].split("\n")[0] in text
        for option in command["options"]:
            spelled = f"--{option['name']}" + (f" {option['arg']}" if option["arg"] else "")
            assert spelled in text, (command["name"], spelled)
            words = re.sub(r"[`'’]", "", option["help"][1:])
            assert words in re.sub(r"[`'’]", "", text), (command["name"], option["help"])


def test_every_command_of_help_is_in_the_first_page(table, need):
    need("man")
    text = shown(MADE / "man1/ringfort.1")
    for command in table["commands"]:
        assert f"ringfort {command['name']}" in text


def test_the_page_of_the_policy_has_every_key(table, need):
    need("man")
    text = shown(MADE / "man5/ringfort-policy.5")
    keys = {option["key"] for command in table["commands"] for option in command["options"] if option["key"]}
    assert len(keys) > 15
    for key in keys:
        assert key in text or key.split(".")[-1] in text, key


def test_pages_refer_only_to_pages_that_there_are(need):
    need("man")
    names = {path.name for path in PAGES}
    for path in PAGES:
        for name, section in re.findall(r"^\.BR ([\w\\-]+) \((\d)\)", path.read_text(), re.M):
            assert f"{name.replace(chr(92), '')}.{section}" in names, (path.name, name)


def test_the_reference_is_as_the_program_would_make_it(call, tmp_path):
    dump = tmp_path / "help.json"
    dump.write_bytes(call("help", "--json").out)
    made = subprocess.run([sys.executable, "-B", ROOT / "packaging/reference.py", "--page", dump],
                          capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == made, 'run "make docs"'


def test_an_installation_has_pages_and_completions_where_shells_look(tmp_path, need):
    need("meson")
    env = {**os.environ, "DESTDIR": str(tmp_path)}
    done = subprocess.run(["meson", "install", "-C", ROOT / "build", "--no-rebuild", "--quiet"], env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    share = next(tmp_path.rglob("share"))
    for name in ("man/man1/ringfort.1", "man/man1/ringfort-run.1", "man/man5/ringfort-policy.5",
                 "bash-completion/completions/ringfort", "zsh/site-functions/_ringfort",
                 "fish/vendor_completions.d/ringfort.fish"):
        assert (share / name).is_file(), name
    assert (share.parent / "bin/ringfort").is_file()
