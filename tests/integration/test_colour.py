"""Colour is for terminals: never in a pipe, never against the user's word, and never a stranger's."""
import os
import pty
import re
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def on_terminal(command, environment, workdir):
    """Runs `ringfort *args` with a terminal as its outputs; gives all that it wrote there."""
    def run_it(*args, **variables):
        ours, its = pty.openpty()
        env = {**environment, "TERM": "xterm", **variables}
        process = subprocess.Popen(command(*args), stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                                   cwd=workdir, env=env)
        os.close(its)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the last one closed it
            pass
        os.close(ours)
        process.wait(30)
        return text.decode().replace("\r\n", "\n")

    return run_it


PAGES = [("help",), ("--help",), ("run", "--help"), ("policy", "--help"), ("doctor", "--help"),
         ("policy", "explain"), ("policy", "explain", "--profile", "strict")]


@pytest.mark.parametrize("args", PAGES)
def test_a_page_has_colour_on_a_terminal_and_is_the_same_without(on_terminal, call, args):
    plain = call(*args)
    coloured = on_terminal(*args)
    assert b"\x1b" not in plain.out + plain.err and plain.code == 0
    assert ESCAPE.search(coloured)
    assert ESCAPE.sub("", coloured) == plain.out.decode()


def test_doctor_and_stats_have_colour_on_a_terminal_only(on_terminal, call):
    assert "\x1b[32mok\x1b[0m    " in on_terminal("doctor")
    assert b"\x1b" not in call("doctor").out
    assert "ringfort: \x1b[32mok\x1b[0m, exit code 0\n" in on_terminal("run", "--stats", "--", "true")
    done = call("run", "--stats", "--", "true")
    assert done.err.startswith(b"ringfort: ok, exit code 0\n  time     ") and b"\x1b" not in done.err


@pytest.mark.parametrize("args", [("rnu",), ("run", "--memroy", "1G"), ("run", "--time", "soon", "true"),
                                  ("policy", "chekc"), ("doctor", "--jsn")])
def test_errors_are_red_on_a_terminal_and_plain_in_a_pipe(on_terminal, call, args):
    said = on_terminal(*args)
    assert said.startswith("\x1b[1;31mringfort:\x1b[0m ") and "\x1b[2m  hint: " in said
    plain = call(*args)
    assert plain.code == 125 and b"\x1b" not in plain.err
    assert ESCAPE.sub("", said) == plain.err.decode()


def test_remarks_are_yellow_on_a_terminal_and_plain_in_a_pipe(on_terminal, call):
    args = ("run", "--time", "100ms", "--", "sleep", "5")
    assert "\x1b[33mringfort:\x1b[0m stopped at the limit" in on_terminal(*args)
    assert call(*args).err == b"ringfort: stopped at the limit: timeout (see --time)\n"


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""},
                                       {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}])
def test_a_terminal_whose_user_wants_none_gets_no_colour(on_terminal, variables):
    for args in (("doctor",), ("policy", "explain"), ("run", "--help"), ("rnu",)):
        assert "\x1b" not in on_terminal(*args, **variables)


def test_colour_can_be_forced_into_a_pipe(call):
    assert b"\x1b[1m" in call("policy", "explain", env={"CLICOLOR_FORCE": "1"}).out
    assert b"\x1b[1;31m" in call("rnu", env={"CLICOLOR_FORCE": "1"}).err
    assert b"\x1b" not in call("policy", "explain", env={"CLICOLOR_FORCE": "0"}).out


def test_json_never_has_colour(call, on_terminal):
    for args in (("doctor", "--json"), ("policy", "explain", "--json"), ("run", "--json", "--", "true"),
                 ("help", "--json")):
        assert b"\x1b" not in call(*args, env={"CLICOLOR_FORCE": "1"}).out
        assert "\x1b" not in on_terminal(*args)


EVIL = "\x1b]0;owned\x07\x1b[2Jx\nringfort: all is well"


@pytest.mark.parametrize("args", [("run", "--", EVIL), ("run", "--policy", EVIL, "--", "true"),
                                  ("run", "--memory", EVIL, "--", "true"), (EVIL,), ("run", "--" + EVIL),
                                  ("policy", "check", EVIL), ("policy", EVIL), ("doctor", EVIL),
                                  ("run", "--read", EVIL, "--", "true"), ("help", EVIL)])
def test_names_can_not_steer_the_terminal_or_forge_a_line(on_terminal, call, args):
    for said in (on_terminal(*args), call(*args).err.decode()):
        assert "\x1b]" not in said and "\x07" not in said and "\x1b[2J" not in said, said
        assert "\nringfort: all is well" not in said


def test_why_says_yes_in_green_and_no_in_red(on_terminal, call):
    assert on_terminal("policy", "why", "exec", "sh").startswith("\x1b[32myes\x1b[0m: ")
    assert on_terminal("policy", "why", "read", "/root").startswith("\x1b[31mno\x1b[0m: ")
    assert call("policy", "why", "exec", "sh").out.startswith(b"yes: sh ")
    assert "\x1b[2J" not in on_terminal("policy", "why", "read", "/x\x1b[2J")


def test_explain_shows_odd_variables_without_obeying_them(on_terminal):
    said = on_terminal("policy", "explain", "--env", "X=\x1b[2J")
    assert "\x1b[2J" not in said and "X=\\x1b[2J" in said
