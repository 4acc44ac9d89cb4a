"""The configuration: where it is looked for, whose it may be, and what it changes."""
import json
import os

import pytest

from helpers import USER_ID

pytestmark = pytest.mark.usefixtures("as_who")


def put(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def settings(workdir, as_who):
    """Writes the usual file into a fresh XDG_CONFIG_HOME of whoever runs; gives its environment."""
    def write(text, mode=0o644):
        file = put(workdir / "xdg/ringfort/config.yaml", text, mode)
        if os.geteuid() == 0 and as_who == "user":
            for path in (file, file.parent, file.parent.parent):
                os.chown(path, USER_ID, USER_ID)
        return {"XDG_CONFIG_HOME": str(workdir / "xdg")}

    return write


def memory_of(call, *args, **options):
    done = call("policy", "explain", "--json", *args, **options)
    assert done.code == 0, done.err
    return json.loads(done.out)["limits"]["memory"]["text"]


def test_profiles_are_those_of_the_file_unless_the_line_names_some(call, settings):
    env = settings("version: 1\nprofile: [strict]\n")
    assert memory_of(call, env=env) == "256M"
    assert memory_of(call, "--profile", "python", env=env) == "2G"
    assert memory_of(call, "--no-config", env=env) == "512M"
    assert memory_of(call) == "512M"


def test_the_policy_is_that_of_the_file_unless_the_line_names_one(call, settings, workdir):
    put(workdir / "xdg/ringfort/base.yaml", "limits: { memory: 300M }\n")
    put(workdir / "other.yaml", "limits: { time: 9s }\n")
    env = settings("policy: ./base.yaml\n")
    assert memory_of(call, env=env) == "300M"
    assert memory_of(call, "--policy", "other.yaml", env=env) == "512M"
    assert memory_of(call, "--memory", "77M", env=env) == "77M"


def test_a_policy_that_others_can_write_is_refused_unless_the_line_names_it(call, run_box, settings, workdir):
    file = put(workdir / "shared.yaml", "limits: { memory: 300M }\n", 0o666)
    env = settings(f"policy: {file}\n")
    done = run_box("--", "true", env=env)
    assert done.code == 125 and b"can be written by others" in done.err and str(file).encode() in done.err
    assert memory_of(call, "--policy", file, env=env) == "300M"


def test_a_policy_that_is_missing_is_named(run_box, settings, workdir):
    done = run_box("--", "true", env=settings("policy: ./gone.yaml\n"))
    assert done.code == 125 and f"{workdir}/xdg/ringfort/gone.yaml".encode() in done.err


def test_a_profile_that_is_unknown_is_named_with_its_source(run_box, settings):
    done = run_box("--", "true", env=settings("profile: [no-such]\n"))
    assert done.code == 125 and b"configuration" in done.err and b"no-such" in done.err


def test_another_file_by_option_and_by_variable(call, settings, workdir):
    env = settings("profile: [strict]\n")
    put(workdir / "mine.yaml", "profile: [python]\n")
    assert memory_of(call, "--config", "mine.yaml", env=env) == "2G"
    assert memory_of(call, env={**env, "RINGFORT_CONFIG": str(workdir / "mine.yaml")}) == "2G"
    assert memory_of(call, env={**env, "RINGFORT_CONFIG": ""}) == "256M"
    assert memory_of(call, env={"XDG_CONFIG_HOME": "xdg"}) == "512M"  # not absolute: does not count


def test_a_file_that_was_named_must_be_there(run_box, workdir):
    done = run_box("--config", "gone.yaml", "--", "true")
    assert done.code == 125 and b"gone.yaml" in done.err and done.out == b""


@pytest.mark.parametrize("mode, story", [(0o664, b"written by others"), (0o646, b"written by others")])
def test_a_file_that_others_can_write_is_refused(run_box, settings, mode, story):
    done = run_box("--", "echo", "ran", env=settings("profile: []\n", mode))
    assert (done.code, done.out) == (125, b"") and story in done.err and b"chmod go-w" in done.err


def test_a_file_of_another_user_is_refused(run_box, settings, workdir):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a file of another user")
    env = settings("profile: []\n")
    os.chown(workdir / "xdg/ringfort/config.yaml", USER_ID + 1, USER_ID + 1)
    done = run_box("--", "echo", "ran", env=env)
    assert (done.code, done.out) == (125, b"") and b"belongs to uid" in done.err and b"chown" in done.err
    done = run_box("--no-config", "--", "echo", "ran", env=env)
    assert done == (0, b"ran\n", b"")


def test_a_slip_has_its_place_and_the_nearest_name(run_box, settings, workdir):
    env = settings("version: 1\ncoluor: never\n")
    done = run_box("--", "true", env=env)
    assert done.code == 125
    assert done.err.decode() == (f"ringfort: {workdir}/xdg/ringfort/config.yaml:2:1: coluor: unknown key\n"
                                 '  hint: did you mean "colour"?\n')
    done = run_box("--json", "--", "true", env=env)
    result = json.loads(done.out)
    assert result["status"] == "error" and "coluor" in result["error"]["message"]


def test_nothing_is_read_from_the_working_directory(run_box, workdir):
    for name in ("config.yaml", ".config/ringfort/config.yaml", "ringfort/config.yaml"):
        put(workdir / name, "profile: [no-such-profile]\n")
    assert run_box("--", "echo", "ran") == (0, b"ran\n", b"")


def test_colour_is_as_the_file_says(call, settings):
    done = call("doctor", env=settings("colour: always\n"))
    assert b"\x1b[" in done.out
    done = call("run", "--time", "x", "--", "true", env=settings("colour: always\n"))
    assert b"\x1b[" in done.err
    done = call("run", "--memory", "1M", "--", "true", env={**settings("colour: never\n"), "CLICOLOR_FORCE": "1"})
    assert b"\x1b[" not in done.err


def test_a_language_of_ones_own(run_box, settings):
    env = settings("languages:\n  upper:\n    program: [sed s/.*/\\U&/]\n    extensions: [txt]\n"
                   "    aliases: [up]\n    env: { GREETING: hello }\n")
    assert run_box("--lang", "up", "-c", "quiet\n", env=env) == (0, b"QUIET\n", b"")


def test_a_language_with_a_build_of_its_own(run_box, settings):
    env = settings("languages:\n  twice:\n    program: [cat]\n    extensions: [t]\n"
                   "    build: '\"$program\" \"$source\" \"$source\" >\"$out/text\"'\n"
                   "    run: 'cat \"$out/text\"; echo \"$GREETING $1\"'\n"
                   "    env: { GREETING: hello }\n")
    assert run_box("--lang", "twice", "-c", "a\n", "x y", env=env) == (0, b"a\na\nhello x y\n", b"")
    assert run_box("--lang", "twice", "--env", "GREETING=bye", "-c", "a\n", env=env).out == b"a\na\nbye \n"
