"""A run by a warden is the same run: what it comes to, what it sees, what it may have."""
import base64
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import IS_ROOT, USER_ID, Warden  # noqa: E402

PROFILE = (pathlib.Path(__file__).parent / "seccomp/every-feature.json").read_text()


@pytest.fixture(scope="module", params=["root", "user"] if IS_ROOT else ["user"])
def warden(request, public, ringfort):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warden-", dir=public))
    folder.chmod(0o755)
    with Warden(ringfort, request.param, folder / "run") as standing:
        yield standing


@pytest.fixture
def here(warden, public):
    """A current directory of whoever runs."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="here-", dir=public))
    path.chmod(0o755)
    own(path, warden)
    yield path
    shutil.rmtree(path)


def own(path, warden):
    if IS_ROOT and warden.who == "user":
        os.chown(path, USER_ID, USER_ID)
    return path


FIGURES = re.compile(r"\d[\d.]* ?(ms|µs|us|s|KiB|MiB|B|K|M|G)?\b")


def stripped(document):
    """A result without what is another in every run."""
    document = json.loads(json.dumps(document))
    document["id"] = bool(document["id"])
    for key, value in document["usage"].items():
        document["usage"][key] = value is not None
    document["usage"].pop("pids_peak")  # not known of a run that was too short to be looked at
    if document["status"] == "output":
        document["usage"].pop("disk")  # known if the program's own end came before its death
    document["walls_us"] = sorted(document["walls_us"])
    if document["status"] in ("error", "denied"):
        document.pop("usage")  # of a box that had nothing to run
    spaces = document["isolation"]["proof"].get("namespace_ids")
    if spaces:
        document["isolation"]["proof"]["namespace_ids"] = {key: bool(value) for key, value in spaces.items()}
    return document


def both(warden, *args, **options):
    """The same run with the warden, twice, so that one of them finds a box that stood ready; and without."""
    with_it = [warden.run("run", *args, **options) for _ in range(2)]
    return with_it, warden.run("run", "--no-warden", *args, **options)


LOST = "the kernel refused more than could be read: denials lists a part of it"


def is_told_whole(document):
    """Whether all refusals of the run were heard: the kernel has so much room for those of the whole machine."""
    return document["denials_seen"] and LOST not in document["warnings"]


def without_denials(document):
    return {**document, "denials": [], "denials_seen": False, "warnings": [word for word in document["warnings"] if word != LOST]}


def assert_same(warden, *args, **options):
    """Compares exit code and result, field by field; gives the result of the run without."""
    with_it, alone = both(warden, "--json", *args, **options)
    expected = json.loads(alone.stdout)
    for done in with_it:
        assert done.returncode == alone.returncode, (done, alone)
        got, wanted = json.loads(done.stdout), expected
        if not (is_told_whole(got) and is_told_whole(wanted)):
            got, wanted = without_denials(got), without_denials(wanted)
        assert stripped(got) == stripped(wanted), done.stderr
        assert (done.stderr == b"") == (alone.stderr == b""), (done.stderr, alone.stderr)
    return expected


PYTHON = "/usr/bin/python3"
RUNS = {
    "ok": ["--", "echo", "hello"],
    "nothing": ["--", "true"],
    "failure": ["--", "sh", "-c", "echo bad >&2; exit 3"],
    "signal": ["--", "sh", "-c", "kill -SEGV $$"],
    "time-out": ["--time", "150ms", "--", "sleep", "60"],
    "processor time": ["--cpu-time", "100ms", "--", "sh", "-c", "while :; do :; done"],
    "memory": ["--memory", "64M", "--", PYTHON, "-c", "bytearray(10**9)"],
    "pids": ["--pids", "4", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait; exit 1"],
    "disk": ["--disk", "1M", "--", "sh", "-c", "head -c 3000000 /dev/zero > /tmp/full"],
    "output limit": ["--output", "1000", "--", "yes"],
    "not found": ["--", "no-such-program-anywhere"],
    "found outside only": ["--", "rf-only-outside"],
    "not executable": ["--", "/etc/passwd"],
    "no such folder to read": ["--read", "/no/such/folder", "--", "true"],
    "no such working directory": ["--workdir", "/no/such/folder", "--", "true"],
    "working directory": ["--workdir", "/tmp", "--", "pwd"],
    "variable": ["--env", "COLOUR=blue", "--", "sh", "-c", "env | sort"],
    "weaker": ["--weaker", "allow", "--", "true"],
    "strict system calls": ["--syscalls", "strict", "--", "echo", "strict"],
    "hard limits": ["--require", "hard", "--", "true"],
    "python by its language": ["--lang", "python", "-c", "import sys; print(sys.stdin.read().upper())"],
    "shell by its language": ["--lang", "sh", "-c", "echo $0; pwd"],
    "only some programs": ["--command", "sh,echo", "--", "sh", "-c", "echo yes; ls"],
    "a program that is not among them": ["--command", "sh", "--", "ls"],
    "plain": ["--plain", "--", "printf", "a\\033[31mred\\007\\n"],
    "binary output": ["--", PYTHON, "-c", "import os; os.write(1, bytes(range(256)) * 8)"],
    "host network": ["--net", "host", "--", "sh", "-c", "cut -d: -f1 /proc/net/dev"],
    "no loopback": ["--loopback", "off", "--", "true"],
    "strict profile": ["--profile", "strict", "--", "echo", "x"],
    "ids": ["--", "sh", "-c", "id; hostname; cat /etc/passwd /etc/group"],
    "places": ["--", "sh", "-c", "ls -laR / 2>/dev/null | awk '/^\\/proc/ {exit} {print $1, $9, $10, $11}' | head -300"],
    # What is on top: beneath /proc a warden's box has its scratch, out of everybody's reach.
    "mounts": ["--", "sh", "-c", "awk '{ top[$5] = $6 \" \" $9 } END { for (at in top) print at, top[at] }' "
                                 "/proc/self/mountinfo | sort"],
    "inodes": ["--inodes", "100", "--", "sh", "-c",
               "i=0; while (: > /tmp/$i) 2>/dev/null; do i=$((i+1)); done; echo $i files"],
    "limits": ["--", "sh", "-c", "cat /proc/self/limits; cat /proc/self/status | grep -E 'Cap|Seccomp|NoNew|Umask'"],
    "descriptors": ["--", "sh", "-c", "ls /proc/self/fd | wc -l; tty"],
    "what pid 1 tells": ["--", "sh", "-c", "cat /proc/1/comm; ls /proc/1/fd; cat /proc/1/environ"],
}


@pytest.mark.parametrize("args", RUNS.values(), ids=RUNS)
def test_the_result_is_the_same(args, warden, here):
    options = [word for word in args if word.startswith("--")]
    known = warden.run("run", "--help").stdout.decode()
    if any(option not in known for option in options if option != "--"):
        pytest.skip(f"one of {options} is no option")
    (here / "rf-only-outside").write_text("#!/bin/sh\n")
    (here / "rf-only-outside").chmod(0o755)
    assert_same(warden, *args, cwd=here, stdin=b"words\n", env={"PATH": f"/usr/bin:/bin:{here}"})


def test_an_ordinary_run_is_the_warden_s_and_a_box_stood_ready(warden, here):
    """The control of all the others: without it, both sides might be runs of their own."""
    before = set(warden.waiting)
    assert warden.run("run", "--", "true", cwd=here).returncode == 0
    ready = warden.wait_for_ready(lambda pids: set(pids) - before)
    client = warden.start("run", "--", "sleep", "5", cwd=here)
    for _ in range(200):
        asleep = [pid for pid in warden.waiting for child in children(pid) if comm(child) == "sleep"]
        if asleep:
            break
        time.sleep(0.02)
    assert asleep and asleep[0] in ready, (before, ready, asleep)
    client.kill()
    client.communicate()


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_a_trees_files_are_the_same(warden, here):
    for name in ("shown", "own"):
        own(here / name, warden) if (here / name).mkdir() else own(here / name, warden)
    own(here / "shown/text", warden) if (here / "shown/text").write_text("text\n") else None
    (here / "shown/.env").write_text("SECRET=1\n")
    (here / "shown/denied.key").write_text("key\n")
    script = "cat text; cat .env denied.key; ls -la . | wc -l; echo new > ../own/new; ls ../own; stat -c %a ../own/new"
    result = assert_same(warden, "--read", here / "shown", "--write", here / "own", "--deny", here / "shown/*.key",
                         "--workdir", here / "shown", "--", "sh", "-c", script, cwd=here)
    assert result["masked"] and result["exit_code"] == 0, result
    assert os.stat(here / "own/new").st_uid == os.stat(here).st_uid


def test_what_a_run_planted_is_told(warden, here):
    script = "mkdir -p .git/hooks; rm -f .git/hooks/*; date +%N > .git/hooks/pre-commit"
    (here / ".git/hooks").mkdir(parents=True)
    (here / ".git/hooks/pre-commit").write_text("")
    for path in (here / ".git", here / ".git/hooks", here / ".git/hooks/pre-commit"):
        own(path, warden)
    result = assert_same(warden, "--write", here, "--", "sh", "-c", script, cwd=here)
    assert [item["what"] for item in result["planted"]] == ["git hook"]


def test_a_seccomp_profile_holds(warden, here):
    (here / "profile.json").write_text(PROFILE)
    result = assert_same(warden, "--seccomp", here / "profile.json", "--", "grep", "Seccomp", "/proc/self/status",
                         cwd=here)
    assert result["exit_code"] == 0


def test_code_from_a_file_is_the_same(warden, here):
    (here / "main.py").write_text("import sys; print(sys.argv, __file__)\n")
    result = assert_same(warden, "--lang", "python", here / "main.py", "a b", "c", cwd=here)
    assert result["exit_code"] == 0 and "main.py" in result["stdout"]


def test_large_input_and_output_arrive_whole(warden, here):
    data = random.Random(1).randbytes(3_000_000)
    with_it, alone = both(warden, "--", "cat", cwd=here, stdin=data)
    for done in [*with_it, alone]:
        assert done.returncode == 0 and done.stdout == data
    result = assert_same(warden, "--", "cat", cwd=here, stdin=data)
    assert base64.b64decode(result["stdout"]) == data


@pytest.mark.parametrize("size", [60_000, 70_000, 130_000, 1_200_000])
def test_many_and_long_arguments_arrive(size, warden, here):
    words = ["x" * 1000] * (size // 1000)
    result = assert_same(warden, "--", "sh", "-c", 'echo $# "$*" | md5sum', "sh", *words, cwd=here)
    assert result["exit_code"] == 0, result["error"]


def test_thousands_of_arguments_arrive(warden, here):
    for count in (1500, 4000):
        result = assert_same(warden, "--", "sh", "-c", "echo $#", "sh", *(["y"] * count), cwd=here)
        assert result["stdout"] == f"{count}\n", result["error"]


def test_a_large_environment_arrives(warden, here):
    options = [word for i in range(100) for word in ("--env", f"LONG_{i}=" + "v" * 1000)]
    result = assert_same(warden, *options, "--", "sh", "-c", "env | grep -c LONG_", cwd=here)
    assert result["stdout"] == "100\n", result["error"]


def test_code_of_megabytes_arrives(warden, here):
    code = "x = '" + "z" * 100_000 + "'\nprint(len(x))\n"
    result = assert_same(warden, "--lang", "python", "-c", code, cwd=here)
    assert result["stdout"] == "100000\n", result["error"]
    (here / "large.py").write_text("# " + "-" * 4_000_000 + "\nprint('end')\n")
    result = assert_same(warden, "--lang", "python", "-", cwd=here, stdin=(here / "large.py").read_bytes())
    assert result["stdout"] == "end\n", result["error"]


def test_what_people_read_is_the_same(warden, here):
    (here / ".netrc").write_text("machine x\n")
    for args in (["--time", "100ms", "--", "sleep", "9"], ["--", "no-such-program"], ["--", "cat", ".netrc"],
                 ["--stats", "--", "sleep", "0.1"]):
        with_it, alone = both(warden, *args, cwd=here)
        for done in with_it:
            assert done.returncode == alone.returncode
            assert FIGURES.sub("N", done.stderr.decode()) == FIGURES.sub("N", alone.stderr.decode())


@pytest.mark.parametrize("numbers, code", [([signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGHUP], 129),
                                           ([signal.SIGUSR1], 138), ([signal.SIGINT, signal.SIGINT], 137)],
                         ids=lambda value: str(value))
def test_signals_are_passed_on(numbers, code, warden, here):
    twice = len(numbers) == 2
    script = "trap '' INT; echo up; while :; do sleep 0.05; done" if twice else "echo up; exec sleep 60"
    for options in ([], ["--no-warden"]):
        client = warden.start("run", *options, "--", "sh", "-c", script, cwd=here)
        assert client.stdout.readline() == b"up\n"
        time.sleep(0.1)
        for number in numbers:
            client.send_signal(number)
            time.sleep(0.1)
        client.communicate(timeout=20)
        assert client.returncode == code, options


# --- what is the caller's own ---

def inside(warden, here, setting, *options, script="ulimit -a; ulimit -Ha; umask; nice; grep Cpus_allowed_list /proc/self/status"):
    """What a shell in the box says when the caller had this setting."""
    said = []
    for more in ([], [], ["--no-warden"]):
        done = warden.run("run", *more, *options, "--", "sh", "-c", script, cwd=here,
                          wrap=["sh", "-c", f'{setting}; exec "$@"', "sh"])
        assert done.returncode == 0, done
        said.append(done.stdout.decode())
    return said


# A box that stood ready is told by the warden; one with a profile can't stand ready, and is told by its launcher.
SETTINGS = [(setting, []) for setting in (
    "umask 077", "umask 0", "ulimit -n 100", "ulimit -Sn 50", "ulimit -f 1000", "ulimit -Sf 1000", "ulimit -c 0",
    "ulimit -s 4096", "ulimit -Ss 2048", "ulimit -v 4000000", "ulimit -t 50", "ulimit -l 32",
    "renice -n 7 $$ >/dev/null", "taskset -pc 0 $$ >/dev/null")]
SETTINGS += [(setting, options) for setting in ("umask 077", "ulimit -n 100", "renice -n 7 $$ >/dev/null",
                                                  "taskset -pc 0 $$ >/dev/null")
             for options in (["--seccomp", "PROFILE"], ["--command", "sh,nice,grep"])]


@pytest.mark.parametrize("setting, options", SETTINGS, ids=[" ".join([one, *more]) for one, more in SETTINGS])
def test_what_the_caller_may_have_is_what_the_box_may_have(setting, options, warden, here):
    (here / "profile.json").write_text(PROFILE)
    words = [word if word != "PROFILE" else str(here / "profile.json") for word in options]
    first, second, alone = inside(warden, here, setting, *words)
    assert first == alone and second == alone
    if setting not in ("ulimit -c 0", "ulimit -Sn 50", "ulimit -Sf 1000"):  # where the policy's own counts
        assert alone != inside(warden, here, ":", *words)[2], "the setting is to be seen at all"
