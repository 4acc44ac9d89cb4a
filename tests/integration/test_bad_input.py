"""A wrong option of any command ends in one line and a hint, and nothing is run.

The table of options is the program's own, so an option that is added is tested here at once.
"""
import json
import os
import pathlib
import subprocess
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from sampling import some  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("RINGFORT", ROOT / "build/ringfort")


def read_table():
    if not os.path.exists(PROGRAM):
        return []
    done = subprocess.run([PROGRAM, "help", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["commands"]


COMMANDS = [command for command in read_table() if not command["holds_others"]]
EACH = pytest.mark.parametrize("command", COMMANDS, ids=[command["name"] for command in COMMANDS])
WORDS = ["--nonsense", "--nonsense=1", "-%", "--", "---", "-", "--m", "\xff", "-\n"]

WRONG = {
    "empty": "", "garbage": "garb age!", "negative": "-1", "huge": "9" * 400, "enormous": "x" * 70000,
    "not UTF-8": b"\xff\xfe", "control characters": "\x1b[2J", "only dashes": "--", "a comma": ",",
    "a percent sign": "%n%s%n",
}

# Each test is one case a command, which goes through its options: a case for each would spend its time on a home.
pytestmark = pytest.mark.whole


@pytest.fixture
def who(request):
    """A line is read in the same way for everybody: half of the cases are root's, the others an ordinary user's."""
    return "root" if os.geteuid() == 0 and zlib.crc32(request.node.name.encode()) % 2 else "user"


def options_of(command, has_value, is_plain_one=None):
    """(its words, an option), for each option of a command; `is_plain_one` narrows it to those, or to the others."""
    return [(command["name"].split(), option) for option in command["options"] if bool(option["arg"]) == has_value and
            is_plain_one in (None, has_value and is_plain(option))]


def values(command, option):
    """Wrong values for one option; each is met by some option in every run."""
    return some(WRONG.items(), f"{command} {option['name']}")


def is_plain(option):
    """Options whose value is a size, a number, a time, a choice or a switch: nothing else is right."""
    key = option["key"] or ""
    return key.startswith("limits.") or "|" in option["arg"]


def expect_refusal(done, workdir, what):
    lines = done.err.decode(errors="replace").splitlines()
    assert done.code == 125, (what, done)
    assert done.out == b"", (what, done)
    assert 1 <= len(lines) <= 2 and lines[0].startswith("ringfort: "), (what, lines)
    assert len(lines) == 2 and lines[1].startswith("  hint: "), (what, lines)
    assert not (workdir / "ran").exists(), what


@EACH
def test_wrong_values_are_refused(call, workdir, command):
    for words, option in options_of(command, True, True):
        for what, value in values(words, option):
            done = call(*words, f"--{option['name']}", value, "--write", ".", "--", "touch", "ran")
            expect_refusal(done, workdir, (what, option["name"]))
            done = call(*words, b"--%s=%s" % (option["name"].encode(), os.fsencode(value)), "--write", ".",
                        "--", "touch", "ran")
            expect_refusal(done, workdir, (what, option["name"], "="))


@EACH
def test_odd_values_never_crash_and_are_refused_with_125_or_accepted(call, workdir, command):
    for words, option in options_of(command, True, False):
        for what, value in values(words, option):
            done = call(*words, f"--{option['name']}", value, "--write", ".", "--", "true")
            assert done.code in (0, 1, 125, 126, 127), (option["name"], what, done)
            if done.code == 125:
                lines = done.err.decode(errors="replace").splitlines()
                assert lines[0].startswith("ringfort: ") and len(lines) <= 2, (option["name"], what, lines)
                if what != "huge":  # a name that no file can have says it all
                    assert lines[1:] and lines[1].startswith("  hint: "), (option["name"], what, lines)


@EACH
def test_a_missing_value_is_named(call, workdir, command):
    for words, option in options_of(command, True):
        done = call(*words, f"--{option['name']}")
        expect_refusal(done, workdir, option["name"])
        assert f"--{option['name']}".encode() in done.err
        if option["letter"]:
            expect_refusal(call(*words, f"-{option['letter']}"), workdir, option["letter"])


@EACH
def test_a_value_for_an_option_that_takes_none_is_refused(call, workdir, command):
    for words, option in options_of(command, False):
        done = call(*words, f"--{option['name']}=yes")
        if option["name"] != "json":  # told as JSON or as text; test_errors_come_in_the_form_asked_for has it
            expect_refusal(done, workdir, option["name"])


@EACH
def test_unknown_options_are_refused_by_every_command(call, workdir, command):
    for word in WORDS:
        done = call(*command["name"].split(), word, "--", "touch", "ran")
        assert done.code in (0, 1, 125, 126, 127) and not (workdir / "ran").exists(), (word, done)
        if word.startswith("--n") or word in ("-%", "---", "-\n"):
            expect_refusal(done, workdir, (command["name"], word))


def test_of_two_values_both_are_read_and_the_last_one_counts(call, workdir):
    for _, option in [pair for command in COMMANDS if command["name"] == "run" for pair in options_of(command, True, True)]:
        if option["name"] == "net":
            continue
        right = option["arg"].split("|")[0]
        name = f"--{option['name']}"
        expect_refusal(call("run", name, right, name, "garb age!", "--", "true"), workdir, option["name"])
        expect_refusal(call("run", name, "garb age!", name, right, "--", "true"), workdir, option["name"])
        assert call("policy", "explain", name, right, name, right).code == 0, option["name"]


def test_errors_come_in_the_form_asked_for(call):
    done = call("run", "--json", "--memory", "much", "--", "true")
    told = json.loads(done.out)
    assert done.code == 125 and done.err == b"" and told["status"] == "error"
    assert "--memory" in told["error"]["message"] and told["error"]["remedy"]


@pytest.mark.parametrize("args", [[""], ["", ""], ["run", ""], ["policy", ""], ["policy", "check", ""],
                                  ["help", ""], ["help", "run", "run", "run"], ["doctor", ""], ["-"], ["--"], ["=",],
                                  ["run", "--"], ["run"], ["policy"], ["policy", "check"], ["x" * 70000],
                                  ["run", "--", ""], ["run", "--", "/"], ["run", "--", "x" * 70000]])
def test_odd_lines_end_in_an_exit_code_of_ours_and_words(call, args):
    done = call(*args)
    assert done.code in (1, 125, 126, 127) and done.err and done.out == b"", done
