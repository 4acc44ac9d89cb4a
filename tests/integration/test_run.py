"""`ringfort run`: what goes in, what comes out, and with what the program starts."""
import base64
import collections
import fcntl
import hashlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

BIG = os.urandom(5 * 1024 * 1024)


# ------------------------------------------------------------- exit codes

def test_both_outputs_come_through_apart(run_box):
    done = run_box("--", "sh", "-c", "echo out; echo err >&2")
    assert done == (0, b"out\n", b"err\n")


@pytest.mark.parametrize("code", [0, 1, 2, 42, 124, 125, 126, 127, 128, 137, 255])
def test_the_exit_code_is_the_programs_own(run_box, code):
    assert run_box("--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "TERM", "USR1"])
def test_a_signal_that_ends_the_program_gives_128_and_its_number(run_box, name):
    done = run_box("--", "sh", "-c", f"kill -{name} $$")
    assert done.code == 128 + getattr(signal, "SIG" + name)


def test_a_program_that_is_nowhere_gives_127(run_box):
    done = run_box("--", "no-such-program")
    assert done.code == 127
    assert b"no-such-program" in done.err and b"/usr/bin" in done.err


def test_a_program_only_on_the_callers_path_gives_127_and_says_where_it_is(run_box, workdir):
    tool = workdir / "bin" / "my-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho hello\n")
    tool.chmod(0o755)
    tool.parent.chmod(0o755)
    done = run_box("--", "my-tool", env={"PATH": f"{tool.parent}:/usr/bin"})
    assert done.code == 127
    assert str(tool).encode() in done.err and b"--read" in done.err
    assert run_box("--", tool).out == b"hello\n", "the remedy works"


@pytest.mark.parametrize("mode, text", [(0o644, "#!/bin/sh\n"), (0o755, "no script\n")])
def test_a_file_that_cannot_be_executed_gives_126(run_box, workdir, mode, text):
    (workdir / "plain").write_text(text)
    (workdir / "plain").chmod(mode)
    done = run_box("--", "./plain")
    assert done.code == 126
    assert b"./plain" in done.err and b"hint" in done.err


@pytest.mark.parametrize("way", ["name", "link", "script"])
def test_what_leads_to_pid_1_itself_gives_126_and_says_so(run_box, workdir, way):
    """While the program's exec is looked for, /proc/self/exe is ringfort-init."""
    if way == "link":
        (workdir / "it").symlink_to("/proc/self/exe")
    if way == "script":
        (workdir / "it").write_text("#!/proc/self/exe\n")
        (workdir / "it").chmod(0o755)
    done = run_box("--", "/proc/self/exe" if way == "name" else "./it")
    assert (done.code, done.out) == (126, b"")
    assert b"/proc/self/exe" in done.err and b"pid 1" in done.err


def test_a_directory_is_not_a_program(run_box):
    assert run_box("--", "/usr").code == 126


@pytest.mark.parametrize("args", [
    ("--no-such-option", "--", "true"), ("--memory", "lots", "--", "true"), ("--",), (),
    ("--read", "/no/such/place", "--", "true"), ("--policy", "/no/such/file", "--", "true"),
    ("--workdir", "/no/such/place", "--", "true"),
])
def test_errors_of_ringforts_own_give_125_and_say_what_to_do(run_box, args):
    done = run_box(*args)
    assert done.code == 125
    assert done.err.startswith(b"ringfort: ") and done.out == b""


def test_success_is_quiet(run_box):
    assert run_box("--", "true") == (0, b"", b"")


def test_forty_boxes_at_once_all_run(start):
    """A start that takes longer than usual, and neighbours that come and go, are no reason to fail."""
    ends = collections.Counter()
    for _ in range(4):
        together = [start("--", "sleep", "0.02") for _ in range(40)]
        for process in together:
            _, err = process.communicate(timeout=20)
            ends[process.returncode, re.sub(rb"[0-9a-f]{16}", b"ID", err)] += 1
    assert ends == {(0, b""): 160}


@pytest.mark.parametrize("processors", [1, 2])
def test_a_box_is_the_same_however_many_processors_build_it(start, processors):
    """With a second one, another process makes the namespaces meanwhile."""
    ours = sorted(os.sched_getaffinity(0))
    if len(ours) < processors:
        pytest.skip(f"this machine gives us fewer than {processors} processors")
    script = "tail -n +3 /proc/net/dev; wc -l < /proc/self/uid_map"
    box = start("--json", "--", "sh", "-c", script,
                preexec_fn=lambda: os.sched_setaffinity(0, ours[:processors]))
    out, _ = box.communicate(timeout=20)
    result = json.loads(out)
    assert result["status"] == "ok" and result["isolation"]["missing"] == []
    lines = result["stdout"].splitlines()
    assert [line.split(":")[0].strip() for line in lines if ":" in line][0] == "lo"
    assert lines[-1] == "1"
    net = result["isolation"]["proof"]["namespace_ids"]["net"]
    assert net not in (0, os.stat("/proc/self/ns/net").st_ino)


# ------------------------------------------------------------- standard input

@pytest.mark.parametrize("data", [b"", b"x", b"two\nlines", bytes(range(256)), BIG],
                         ids=["empty", "byte", "lines", "bytes", "5MB"])
def test_standard_input_arrives_byte_for_byte(run_box, data):
    done = run_box("--", "sha256sum", stdin=data)
    assert done.out.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_what_goes_in_comes_out(run_box):
    done = run_box("--", "cat", stdin=BIG)
    assert done.code == 0 and done.out == BIG


def test_standard_input_may_be_a_file(start, workdir):
    (workdir / "data").write_bytes(BIG)
    with open(workdir / "data", "rb") as file:
        out, err = start("--", "sha256sum", stdin=file).communicate(timeout=20)
    assert out.split()[0].decode() == hashlib.sha256(BIG).hexdigest(), err


def test_standard_input_may_be_a_socket(start):
    ours, theirs = socket.socketpair()
    process = start("--", "cat", stdin=theirs)
    theirs.close()
    ours.sendall(b"through a socket")
    ours.shutdown(socket.SHUT_WR)
    assert process.communicate(timeout=20)[0] == b"through a socket"
    ours.close()


@pytest.mark.parametrize("where", ["/dev/null", "/usr"])
def test_standard_input_without_content_ends_at_once(start, where):
    fd = os.open(where, os.O_RDONLY)
    process = start("--", "sh", "-c", "wc -c; exit 3", stdin=fd)
    os.close(fd)
    assert process.communicate(timeout=10)[0] == b"0\n"
    assert process.returncode == 3


def test_a_program_that_reads_nothing_ends_while_its_input_stays_open(start):
    process = start("--", "true", stdin=subprocess.PIPE)
    assert process.wait(10) == 0


def test_a_program_that_reads_only_the_beginning_ends_in_time(run_box):
    done = run_box("--", "head", "-c", "1", stdin=BIG)
    assert done.code == 0 and done.out == BIG[:1]


def test_a_program_may_close_its_input_and_go_on(run_box):
    done = run_box("--", "sh", "-c", "exec 0<&-; sleep 0.1; echo done; exit 4", stdin=BIG)
    assert (done.code, done.out) == (4, b"done\n")


def test_input_arrives_while_the_program_runs(start):
    process = start("--", "cat", stdin=subprocess.PIPE)
    for line in (b"one\n", b"two\n"):
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline() == line
    process.stdin.close()
    assert process.wait(10) == 0


# ------------------------------------------------------------- standard output and error

@pytest.mark.parametrize("closed", [
    "".join(c) for n in range(1, 4) for c in itertools.combinations("012", n)])
def test_descriptors_that_are_closed_at_the_start_do_no_harm(command, environment, workdir, closed):
    words = command("run", "--", "sh", "-c", "wc -c; echo out; echo err >&2; exit 7")
    shut = " ".join(f"{fd}{'<' if fd == '0' else '>'}&-" for fd in closed)
    done = subprocess.run(["sh", "-c", f'exec "$@" {shut}', "sh", *words], input=b"abc", cwd=workdir,
                          env=environment, capture_output=True, timeout=20, check=False)
    assert done.returncode == 7
    count = b"0\n" if "0" in closed else b"3\n"
    assert done.stdout == (b"" if "1" in closed else count + b"out\n")
    assert done.stderr == (b"" if "2" in closed else b"err\n")


def test_standard_output_may_be_a_file_and_is_appended_to(start, workdir):
    with open(workdir / "log", "wb") as file:
        file.write(b"before\n")
        file.flush()
        assert start("--", "echo", "inside", stdout=file).wait(10) == 0
        os.write(file.fileno(), b"after\n")
    assert (workdir / "log").read_bytes() == b"before\ninside\nafter\n"


def test_a_reader_that_goes_away_ends_the_program_by_sigpipe(start):
    process = start("--", "yes")
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    began = time.monotonic()
    assert process.wait(10) == 128 + signal.SIGPIPE
    assert time.monotonic() - began < 2


def test_a_pipe_into_head_ends_promptly(command, environment, workdir):
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", '"$@" | head -n 1', "sh", *command("run", "--", "yes")],
                          cwd=workdir, env=environment, capture_output=True, timeout=20, check=False)
    assert done.stdout == b"y\n" and time.monotonic() - began < 5


def test_a_reader_of_errors_that_goes_away_does_not_stop_the_output(start):
    process = start("--", "sh", "-c", "read go; (echo lost >&2) 2>/dev/null; echo kept",
                    stdin=subprocess.PIPE)
    process.stderr.close()
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.stdout.read() == b"kept\n"
    process.wait(10)


def test_output_that_the_device_refuses_is_not_lost_in_silence(start):
    with open("/dev/full", "wb") as full:
        process = start("--", "echo", "text", stdout=full)
        err = process.communicate(timeout=10)[1]
    assert err != b"" or process.returncode != 0


def test_a_result_that_the_device_refuses_is_an_error(start):
    with open("/dev/full", "wb") as full:
        process = start("--json", "--", "true", stdout=full)
        process.communicate(timeout=10)
    assert process.returncode == 125


def test_a_flood_into_a_full_device_ends_promptly(start):
    with open("/dev/full", "wb") as full:
        process = start("--", "yes", stdout=full)
        process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGPIPE


def test_a_slow_reader_gets_every_byte(start):
    process = start("--", "python3", "-c",
                    "import os, sys\nfor i in range(2000): os.write(1, b'%09d\\n' % i * 100)")
    time.sleep(0.3)
    got = b""
    while part := os.read(process.stdout.fileno(), 40000):
        got += part
        if len(got) < 600000:
            time.sleep(0.01)
    assert process.wait(10) == 0
    assert got == b"".join(b"%09d\n" % i * 100 for i in range(2000))


def test_nobody_buffers_what_a_reader_does_not_take(start):
    process = start("--output", "none", "--", "sh", "-c", "yes & yes >&2")
    time.sleep(0.5)
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    process.terminate()
    assert resident < 16 * 1024, "KiB in the launcher"


def test_the_callers_pipe_is_left_as_it_was(start):
    reading, writing = os.pipe()
    before = fcntl.fcntl(writing, fcntl.F_GETFL)
    process = start("--", "sh", "-c", "echo ready; sleep 5", stdout=writing)
    assert os.read(reading, 100) == b"ready\n"
    assert fcntl.fcntl(writing, fcntl.F_GETFL) == before
    process.terminate()
    os.close(reading)
    os.close(writing)


def test_a_pipe_that_does_not_block_gets_every_byte(start):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = start("--", "head", "-c", "1000000", "/dev/zero", stdout=writing)
    os.close(writing)
    time.sleep(0.2)
    got = 0
    while part := os.read(reading, 65536):
        got += len(part)
    os.close(reading)
    assert (process.wait(10), got) == (0, 1000000)


def test_output_of_a_child_that_outlives_the_program_is_not_waited_for(run_box):
    began = time.monotonic()
    done = run_box("--", "sh", "-c", "(sleep 20; echo late) & echo now")
    assert done.out == b"now\n" and time.monotonic() - began < 5


# ------------------------------------------------------------- bytes

def test_the_program_starts_with_no_signal_ignored_or_blocked(command, environment, workdir):
    words = command("run", "--", "grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
    done = subprocess.run(["sh", "-c", "trap '' HUP INT QUIT USR1 PIPE; exec \"$@\"", "sh", *words],
                          cwd=workdir, env=environment, capture_output=True, timeout=20, check=False)
    assert [line.split()[1] for line in done.stdout.splitlines()] == [b"0" * 16] * 2


def test_a_box_has_no_real_time_turn_of_its_callers(command, environment, workdir):
    words = command("run", "--", "sh", "-c", "chrt -p 0; ionice")
    ahead = ["chrt", "-f", "10", "ionice", "-c", "1"]
    if subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to a real-time turn")
    done = subprocess.run([*ahead, *words], cwd=workdir, env=environment, capture_output=True, timeout=20, check=False)
    assert b"SCHED_OTHER" in done.stdout and b"realtime" not in done.stdout, done


def test_a_box_is_as_idle_as_its_caller(command, environment, workdir):
    words = command("run", "--", "sh", "-c", "chrt -p 0; ionice")
    done = subprocess.run(["chrt", "-i", "0", "ionice", "-c", "3", *words], cwd=workdir, env=environment,
                          capture_output=True, timeout=60, check=False)
    assert b"SCHED_IDLE" in done.stdout and b"idle" in done.stdout.splitlines()[-1], done


def test_a_box_is_the_first_to_go_when_memory_runs_out(run_box):
    assert run_box("--", "cat", "/proc/self/oom_score_adj").out == b"1000\n"


def test_arguments_that_are_not_utf8_arrive_byte_for_byte(run_box):
    odd = bytes(range(1, 256))
    assert run_box("--", "printf", "%s", odd, b"\xff\xfe").out == odd + b"\xff\xfe"


def test_empty_arguments_and_dashes_arrive(run_box):
    done = run_box("--", "printf", "[%s]", "", "--", "--json", "-m", " ", "a\nb")
    assert done.out == b"[][--][--json][-m][ ][a\nb]"


def test_a_thousand_arguments_arrive(run_box):
    words = [str(i) for i in range(1000)]
    assert run_box("--", "echo", *words).out.split() == [w.encode() for w in words]


def test_an_argument_of_100_kilobytes_arrives(run_box):
    assert run_box("--", "printf", "%s", "x" * 100_000).out == b"x" * 100_000


def test_very_many_arguments_work_or_are_refused_clearly(run_box):
    done = run_box("--", "echo", *["a"] * 20_000)
    assert done.code == 0 and len(done.out) == 40_000 or done.code == 125 and b"arguments" in done.err


@pytest.mark.parametrize("data, encoding", [
    (b"plain", "utf-8"), ("Größe ✓ 𝄞".encode(), "utf-8"), (b"\x1b[0m\r\t\x7f", "utf-8"), (b"nul \0", None),
    (b"\xff\xfe\x00", "base64"), (b"cut \xe2\x82", "base64"), (b"\xed\xa0\x80", "base64"),
    (bytes(range(256)), "base64"), (b"", "utf-8")])
def test_output_survives_json_byte_for_byte(run_json, data, encoding):
    result = run_json("--", "cat", stdin=data)
    text, got = result["stdout"], result["encoding"]["stdout"]
    assert got == encoding or encoding is None and got in ("utf-8", "base64")
    assert (base64.b64decode(text, validate=True) if got == "base64" else text.encode()) == data


def test_each_stream_has_its_own_encoding_in_json(run_json):
    result = run_json("--", "sh", "-c", r"printf '\377'; echo text >&2")
    assert result["encoding"] == {"stdout": "base64", "stderr": "utf-8"}
    assert (result["stdout"], result["stderr"]) == ("/w==", "text\n")


# ------------------------------------------------------------- environment

def variables(done):
    return dict(line.split("=", 1) for line in done.out.decode().splitlines())


def test_nothing_of_the_callers_environment_is_inside(run_box):
    done = run_box("--", "env", env={"SECRET": "s3cret", "LD_PRELOAD_NOT": "x", "PS1": "y"})
    assert set(variables(done)) == {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "PWD"}
    done = run_box("--", "sh", "-c", "cat /proc/self/environ /proc/1/environ", env={"SECRET": "s3cret"})
    assert b"s3cret" not in done.out


def test_the_box_has_a_user_a_home_and_a_path_of_its_own(run_box, workdir):
    got = variables(run_box("--", "env", env={"PATH": "/usr/bin:/elsewhere", "HOME": "/elsewhere"}))
    assert got["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert (got["HOME"], got["USER"], got["LOGNAME"], got["TMPDIR"]) == ("/home/box", "box", "box", "/tmp")
    assert got["PWD"] == str(workdir)
    done = run_box("--", "sh", "-c", "whoami; id -u; ls -A ~ /tmp; touch ~/f /tmp/f && echo writable")
    name, number, *rest = done.out.decode().split("\n")
    assert name == "box" and number != "0"
    assert rest == ["/home/box:", "", "/tmp:", "writable", ""] or rest[-2] == "writable", done


def test_passed_variables_are_inside_and_missing_ones_are_no_error(run_box):
    got = variables(run_box("--pass", "TOKEN", "--pass", "NOT_THERE", "--", "env",
                            env={"TOKEN": "a=b c", "OTHER": "x"}))
    assert got["TOKEN"] == "a=b c"
    assert "NOT_THERE" not in got and "OTHER" not in got


def test_set_variables_win_over_passed_ones_and_over_the_boxs_own(run_box):
    got = variables(run_box("--pass", "A", "--env", "A=set", "-e", "HOME=/tmp", "--env", "EMPTY=",
                            "--env=B=x=y", "--", "env", env={"A": "passed"}))
    assert (got["A"], got["HOME"], got["EMPTY"], got["B"]) == ("set", "/tmp", "", "x=y")


@pytest.mark.parametrize("text", ["NOVALUE", "=x", "1A=x", "A B=x", "A-B=x"])
def test_a_variable_with_a_bad_name_is_an_error(run_box, text):
    done = run_box("--env", text, "--", "true")
    assert done.code == 125 and b"--env" in done.err


def test_an_env_file_sets_variables_and_may_hold_comments(run_box, workdir):
    (workdir / "vars").write_text("# comment\n\n  A=1\nB=two words # kept\nC=\n\t# another\nD=x=y")
    got = variables(run_box("--env-file", "vars", "--", "env"))
    assert (got["A"], got["B"], got["C"], got["D"]) == ("1", "two words # kept", "", "x=y")


def test_an_env_file_with_windows_line_ends_means_the_same(run_box, workdir):
    (workdir / "vars").write_bytes(b"A=1\r\n\r\nB=2\r\n")
    got = run_box("--env-file", "vars", "--", "sh", "-c", 'printf "[%s][%s]" "$A" "$B"')
    assert got.out == b"[1][2]"


@pytest.mark.parametrize("bad", ["no equals sign", "1A=x", "=x"])
def test_a_bad_line_of_an_env_file_is_named_by_its_number(run_box, workdir, bad):
    (workdir / "vars").write_text(f"A=1\n# comment\n{bad}\n")
    done = run_box("--env-file", "vars", "--", "true")
    assert done.code == 125 and b"vars:3" in done.err


def test_an_env_file_that_is_not_there_is_an_error(run_box):
    done = run_box("--env-file", "nowhere", "--", "true")
    assert done.code == 125 and b"nowhere" in done.err
