"""The command line teaches, corrects and stays quiet."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

ROOT = pathlib.Path(__file__).resolve().parents[2]


# ------------------------------------------------------------- help

@pytest.mark.parametrize("args", [("--help",), ("-h",), ("help",), ("run", "--help"), ("run", "-h"),
                                  ("policy", "--help"), ("policy", "explain", "--help")])
def test_help_has_usage_and_examples_and_ends_with_0(call, args):
    done = call(*args)
    assert done.code == 0 and done.err == b""
    assert done.out.startswith(b"usage: ringfort ") and b"\nexamples:\n" in done.out
    assert max(len(line) for line in done.out.decode().splitlines()) <= 100


def test_policy_check_has_help(call):
    done = call("policy", "check", "--help")
    assert done.code == 0 and done.out.startswith(b"usage: ringfort policy check")


def test_every_command_that_help_names_has_help(call):
    listed = call("--help").out.decode().split("commands:\n")[1].split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines()]
    assert {"run", "policy"} <= set(names)
    for name in names:
        done = call(name, "--help")
        assert done.code == 0 and done.out.startswith(b"usage:"), name


def test_the_examples_of_help_are_accepted(call, workdir):
    for name in ("script.py", "report.py"):
        (workdir / name).write_text("print(1)\n")
    examples = re.findall(r"^  ringfort (run .*?)$", call("run", "--help").out.decode(), re.M)
    assert examples
    for line in examples:
        if "~" in line or "make" in line:
            continue  # need a home with data, a Makefile
        done = subprocess.run(["sh", "-c", f'set -- {line}; for w; do printf "%s\\0" "$w"; done'],
                              capture_output=True, check=True)
        done = call(*done.stdout.split(b"\0")[:-1])
        assert done.code == 0, (line, done)


def test_every_exit_code_is_explained_by_help(call):
    text = call("run", "--help").out.decode()
    for code in ("124", "125", "126", "127", "137", "128"):
        assert code in text


@pytest.mark.parametrize("args", [("--version",), ("run", "--version")])
def test_version(call, args):
    done = call(*args)
    assert done.code == 0 and re.fullmatch(rb"ringfort \d+\.\d+\.\d+\n", done.out)


def test_nothing_at_all_teaches_on_standard_error(call):
    done = call()
    assert done.code == 125 and done.out == b"" and done.err.startswith(b"usage: ringfort")


def test_help_into_a_closed_pipe_or_a_full_device_does_no_harm(ringfort):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([ringfort, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=10, check=False)
    assert done.returncode in (0, 1, 125)


# ------------------------------------------------------------- mistakes

@pytest.mark.parametrize("word, near", [("rnu", "run"), ("ran", "run"), ("polciy", "policy"), ("polic", "policy")])
def test_an_unknown_command_gets_a_suggestion(call, word, near):
    done = call(word)
    assert done.code == 125 and f"did you mean `{near}`".encode() in done.err


def test_a_program_in_the_place_of_a_command_is_explained(call):
    done = call("python3", "script.py")
    assert done.code == 125 and b"ringfort run -- python3" in done.err


@pytest.mark.parametrize("word, near", [("--memroy", "--memory"), ("--reed", "--read"), ("--jsn", "--json"),
                                        ("--env_file", "--env-file"), ("--memroy=64M", "--memory"),
                                        ("--cpu_time", "--cpu-time")])
def test_an_unknown_option_gets_a_suggestion(run_box, word, near):
    done = run_box(word, "--", "true")
    assert done.code == 125 and f"did you mean `{near}`".encode() in done.err


@pytest.mark.parametrize("word", ["--frobnicate", "-Z", "---", "--=x", "-é"])
def test_an_unknown_option_without_a_neighbour_points_to_help(run_box, word):
    done = run_box(word, "--", "true")
    assert done.code == 125 and b"--help" in done.err


def test_policy_corrects_its_own_words(call):
    done = call("policy", "chekc", "x")
    assert done.code == 125 and b"check" in done.err
    assert call("policy").code == 125


# ------------------------------------------------------------- forms of options

@pytest.mark.parametrize("form", [["--memory=64M"], ["--memory", "64M"], ["-m", "64M"], ["-m64M"]])
def test_an_option_may_be_written_in_four_ways(call, form):
    done = call("policy", "explain", *form)
    assert done.code == 0 and re.search(rb"memory +64M ", done.out)


@pytest.mark.parametrize("args", [["--memory"], ["-m"], ["--read"], ["--policy"], ["--profile"], ["--env-file"]])
def test_a_missing_value_is_an_error_with_an_example(run_box, args):
    done = run_box(*args)
    assert done.code == 125 and b"needs a value" in done.err and b"for example" in done.err


def test_the_end_of_options_is_no_value(run_box):
    done = run_box("--memory", "--", "true")
    assert done.code == 125 and b"memory" in done.err


def test_a_switch_takes_no_value(run_box):
    done = run_box("--json=yes", "--", "true")
    assert done.code == 125 and b"takes no value" in (done.out + done.err)


def test_options_end_at_the_program_or_at_two_dashes(run_box):
    assert run_box("echo", "--json", "-m", "x").out == b"--json -m x\n"
    assert run_box("--", "echo", "--", "x").out == b"-- x\n"
    assert run_box("--env", "A=1", "sh", "-c", "echo $A").out == b"1\n"
    assert run_box("--", "--json").code == 127


def test_the_program_named_like_a_command_is_a_program(run_box):
    assert run_box("--", "run").code == 127


@pytest.mark.parametrize("args", [["--", ""], [""], ["--", "/"], ["--", "./"]])
def test_an_odd_program_name_is_an_error(run_box, args):
    assert run_box(*args).code in (125, 126, 127)


def test_the_last_of_two_limits_counts(run_box):
    assert run_box("--open-files", "50", "--open-files", "60", "--", "sh", "-c", "ulimit -n").out == b"60\n"


def test_json_errors_come_as_json_even_for_bad_options(call):
    import json
    for args in (["--json", "--frobnicate"], ["--frobnicate", "--json", "--", "true"], ["--json"]):
        done = call("run", *args)
        assert done.code == 125 and json.loads(done.out)["status"] == "error" and done.err == b""


def test_the_programs_own_json_flag_is_not_ringforts(run_box):
    done = run_box("--frobnicate", "--", "echo", "--json")
    assert done.code == 125 and done.out == b"" and b"frobnicate" in done.err
    done = run_box("echo", "--json")
    assert done == (0, b"--json\n", b"")


def test_a_bad_run_of_a_program_with_a_json_flag_speaks_to_people(run_box):
    done = run_box("--read", "/no/such/place", "echo", "--json")
    assert done.code == 125 and done.out == b"" and b"/no/such/place" in done.err


# ------------------------------------------------------------- where it lies

def test_it_works_from_any_directory_and_through_links(ringfort, workdir, run_box, as_who, command, environment):
    link = workdir / "rf"
    link.symlink_to(ringfort)
    second = workdir / "rf2"
    second.symlink_to(link)
    before = command("run")[:-2]
    for path, cwd in ((link, "/usr"), (second, "/"), (os.path.relpath(ringfort, workdir), workdir),
                      ("./rf", workdir)):
        done = subprocess.run([*before, str(path), "run", "--current", "none", "--", "echo", "ran"], cwd=cwd,
                              env=environment, capture_output=True, timeout=20, check=False)
        assert (done.returncode, done.stdout) == (0, b"ran\n"), (path, done)


def test_it_works_when_found_on_the_path(ringfort, workdir, command, environment):
    before = command("run")[:-2]
    path = f"{os.path.dirname(ringfort)}:{environment['PATH']}"
    done = subprocess.run([*before, "ringfort", "run", "--", "echo", "ran"], cwd=workdir,
                          env={**environment, "PATH": path}, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, b"ran\n"), done


def test_without_its_pid_1_it_says_what_is_missing(ringfort, workdir, command, environment):
    shutil.copy(ringfort, workdir / "ringfort")
    if os.path.exists("/usr/local/libexec/ringfort/ringfort-init"):
        pytest.skip("Ringfort is installed on this machine")
    done = subprocess.run([*command("run")[:-2], str(workdir / "ringfort"), "run", "--", "true"], cwd=workdir,
                          env=environment, capture_output=True, timeout=20, check=False)
    assert done.returncode == 125 and b"ringfort-init" in done.stderr and b"hint" in done.stderr


def test_it_works_with_an_empty_environment(ringfort, workdir, command):
    done = subprocess.run([*command("run")[:-2], ringfort, "run", "--", "echo", "ran"], cwd=workdir, env={},
                          capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")


def test_an_installation_works(public, as_who, workdir, command, environment):
    meson = shutil.which("meson")
    build = pathlib.Path(os.environ.get("RINGFORT", ROOT / "build/ringfort")).resolve().parent
    if not meson or not (build / "build.ninja").exists():
        pytest.skip("no Meson, or no build folder: nothing to install from")
    place = workdir / "image"
    done = subprocess.run([meson, "install", "-C", str(build), "--no-rebuild", "--destdir", str(place)],
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (ours,) = place.rglob("bin/ringfort")
    (init,) = place.rglob("libexec/ringfort/ringfort-init")
    assert not list(place.rglob("ringfort-unwalled")), "what tests use is never installed"
    os.chmod(workdir, 0o755)
    done = subprocess.run([*command("run")[:-2], str(ours), "--version"], capture_output=True, timeout=20,
                          env=environment, cwd=workdir, check=False)
    assert done.returncode == 0
    real = pathlib.Path("/") / init.relative_to(place)
    if real.exists():
        return  # another one is installed; it would be used
    # What DESTDIR holds runs where it was configured to lie: show it there in a mount namespace.
    if os.geteuid() != 0:
        pytest.skip("needs root to put the image in its place")
    if as_who == "user":
        return
    script = (f"mount --bind {place}/usr/local /usr/local && "
              f"exec {'/' / ours.relative_to(place)} run -- echo ran")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, timeout=20,
                          env=environment, cwd=workdir, check=False)
    assert (done.returncode, done.stdout) == (0, b"ran\n"), done


@pytest.mark.parametrize("args, hint", [
    (("run", "-v", "/a:/b", "true"), "--read SRC[:DEST]"), (("run", "--volume=/a:/b", "true"), "--write SRC[:DEST]"),
    (("run", "--network", "host", "true"), "--net host"), (("run", "--rm", "true"), "always gone"),
    (("run", "--timeout", "5", "true"), "--time 10s"), (("run", "--privileged", "true"), "step by step"),
    (("run", "echo hi; ls"), "sh -c"), (("version",), "ringfort --version"), (("--json",), "after a command"),
])
def test_words_from_other_tools_lead_to_ours(call, args, hint):
    done = call(*args)
    assert done.code in (125, 127) and done.err.count(b"\n") == 2
    assert hint.encode() in done.err.splitlines()[1], done
