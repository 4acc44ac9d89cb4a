"""A terminal of the box's own: driven by a person's keys, in a private tmux, and by Python's pty."""
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time

import pytest

from helpers import USER_ID, children_of, eventually, processes_with

pytestmark = pytest.mark.usefixtures("as_who")


class Pane:
    """One pane of a tmux server of our own, with a plain shell of whoever runs in it."""

    def __init__(self, folder, command, environment, workdir, user):
        self.socket = str(folder / "tmux")
        before = []
        if os.geteuid() == 0 and user == "user":
            before = ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]
        self.before, self.words = before, " ".join(command[len(before):])
        self.env = {**environment, "TERM": "screen", "HOME": str(workdir), "PS1": "OUTER$ "}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", str(workdir),
                  "env", "PS1=OUTER$ ", "bash", "--norc", "--noprofile")
        assert self.shows("OUTER$")

    def tmux(self, *args):
        done = subprocess.run([*self.before, "tmux", "-S", self.socket, *args], env=self.env,
                              capture_output=True, timeout=20, check=True)
        return done.stdout.decode(errors="replace")

    def text(self):
        return self.tmux("capture-pane", "-p", "-J").rstrip()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def shows(self, words, seconds=10):
        return eventually(lambda: words in self.text(), seconds)

    def last(self):
        return self.text().split("\n")[-1].strip()

    def is_back(self, seconds=10):
        """At the outer shell's prompt, with nothing typed there."""
        return eventually(lambda: self.last() == "OUTER$", seconds)

    def pid(self):
        outer = self.tmux("display", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{outer}/task/{outer}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def settings(self, name):
        self.type(f"clear; stty -a >{name}; echo saved")
        assert self.shows("saved\n") and self.is_back()

    def done(self):
        subprocess.run([*self.before, "tmux", "-S", self.socket, "kill-server"], env=self.env,
                       capture_output=True, check=False)


@pytest.fixture
def pane(need, command, environment, workdir, public, who):
    need("tmux", "bash")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tmux-", dir=public))
    if os.geteuid() == 0 and who == "user":
        os.chown(folder, USER_ID, USER_ID)
    pane = Pane(folder, command(), environment, workdir, who)
    yield pane
    pane.done()
    shutil.rmtree(folder, ignore_errors=True)


def enter(pane, *options):
    pane.type(" ".join([pane.words, "shell", *options]))
    assert pane.shows("(box)"), pane.text()


def test_a_shell_greets_and_leaves_with_its_own_code(pane, workdir):
    enter(pane)
    assert "a shell in a box" in pane.text() and "read-only" in pane.text()
    pane.type("tty; touch here || echo 'not' writable")
    assert pane.shows("/dev/pts/0") and pane.shows("not writable")
    pane.type("exit 5")
    assert pane.is_back()
    pane.type("echo code=$?")
    assert pane.shows("code=5")


def test_what_is_shown_writable_can_be_changed(pane, workdir):
    enter(pane, "--write", ".")
    pane.type("echo made >here; exit")
    assert pane.is_back() and (workdir / "here").read_text() == "made\n"


def test_keys_control_jobs_inside_and_not_the_launcher(pane):
    enter(pane)
    pane.type("sleep 100471; echo code=$?")
    assert eventually(lambda: processes_with("sleep\x00100471"))
    pane.keys("C-c")
    assert pane.shows("^C")
    pane.type("sleep 100472")
    assert eventually(lambda: processes_with("sleep\x00100472"))
    pane.keys("C-z")
    assert pane.shows("Stopped")
    pane.type("clear; jobs")
    assert pane.shows("[1]+")
    pane.type("fg")
    time.sleep(0.5)
    pane.keys("C-c")
    pane.type("echo still $((40 + 2))")
    assert pane.shows("still 42")
    pane.keys("C-d")
    assert pane.is_back()


def test_the_window_size_follows(pane):
    enter(pane)
    pane.type("stty size")
    assert pane.shows("30 100")
    pane.type("trap 'echo told' WINCH")
    pane.tmux("resize-window", "-x", "90", "-y", "25")
    assert eventually(lambda: pane.type("stty size") or pane.shows("25 90", 1), 10)
    pane.type("exit")


def test_a_full_screen_program_works_and_its_screen_is_left(pane, need, workdir):
    need("less")
    (workdir / "long").write_text("".join(f"line {i}\n" for i in range(200)))
    pane.type(f"clear; echo before; {pane.words} run -t -- less long")
    assert pane.shows("line 20") and "before" not in pane.text()
    pane.keys("G")
    assert pane.shows("line 199")
    pane.keys("q")
    assert pane.is_back() and "before" in pane.text()


@pytest.mark.parametrize("end", ["exit", "term", "hup", "leave", "timeout", "killed"])
def test_every_end_gives_the_terminal_back(pane, workdir, end):
    pane.settings("before")
    screen = "printf '\\033[?1049h\\033[?25l\\033[31m\\033[?1000h'; "
    wait = "exit 0" if end == "exit" else "stty raw -echo; sleep 60"
    option = "--time 1s" if end == "timeout" else ""
    pane.type(f"{pane.words} run -t {option} -- bash -c \"{screen}{wait}\"")
    time.sleep(0.6)
    if end in ("term", "hup"):
        os.kill(pane.pid(), {"term": signal.SIGTERM, "hup": signal.SIGHUP}[end])
    elif end == "leave":
        pane.keys("C-]", "C-]", "C-]")
    elif end == "killed":
        found = [pid for pid in children_of(pane.pid())
                 if b"ringfort-init" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(found[0], signal.SIGKILL)
    assert pane.is_back(), pane.text()
    assert pane.tmux("display", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").split() == [
        "0", "1", "0"]
    pane.settings("after")
    assert (workdir / "after").read_text() == (workdir / "before").read_text()


def test_a_stop_gives_the_terminal_back_and_takes_it_again(pane, workdir):
    pane.settings("before")
    enter(pane)
    os.kill(pane.pid(), signal.SIGTSTP)
    assert pane.shows("Stopped")
    pane.settings("during")
    assert (workdir / "during").read_text() == (workdir / "before").read_text()
    pane.type("fg")
    time.sleep(0.3)
    pane.type("echo again $((40 + 2))")
    assert pane.shows("again 42")
    pane.type("exit")
    assert pane.is_back()


HOSTILE = ("\\033]52;c;cm0=\\a\\033]0;owned\\a\\033[21t\\033[6n\\033[c\\033[5n\\005\\033P$qm\\033\\\\\\\\"
           "\\033]11;?\\a\\033[?1000h\\033[?1004h\\033Z")


@pytest.mark.parametrize("options", ["", "-t"])
def test_hostile_output_types_nothing_at_the_outer_prompt(pane, options):
    pane.tmux("set", "-g", "set-clipboard", "on")
    for _ in range(3):
        pane.type(f"clear; {pane.words} run {options} -- printf 'seen{HOSTILE}'; echo")
        assert pane.shows("seen") and pane.is_back(), pane.text()
        time.sleep(0.4)
        assert pane.last() == "OUTER$", pane.text()
    assert pane.tmux("list-buffers") == ""


def test_the_same_output_without_a_box_does_type_and_fill_the_clipboard(pane):
    """The control: this terminal answers, or the test above would prove nothing."""
    pane.tmux("set", "-g", "set-clipboard", "on")
    pane.type(f"clear; printf 'seen{HOSTILE}'; echo")
    assert eventually(lambda: pane.tmux("list-buffers"), 5)
    assert eventually(lambda: "OUTER$" in pane.text() and not pane.last().endswith("OUTER$"), 5)


# --- without tmux ---

def talk(words, environment, workdir, stdin=None, until=10):
    """Runs `words` with a terminal as its output, and as its input unless told; gives code, bytes."""
    master, slave = pty.openpty()
    with subprocess.Popen(words, stdin=stdin or slave, stdout=slave, stderr=slave, cwd=workdir,
                          env={**environment, "TERM": "xterm"}, start_new_session=True) as process:
        os.close(slave)
        out, end = b"", time.monotonic() + until
        while time.monotonic() < end:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                got = os.read(master, 65536)
            except OSError:
                break
            if not got:
                break
            out += got
        os.close(master)
        return process.wait(5), out


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGALRM", "SIGXCPU"])
def test_a_signal_that_ends_us_on_the_spot_gives_the_terminal_back(name, command, environment, workdir):
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with subprocess.Popen(command("run", "-t", "--", "sleep", "60"), stdin=slave, stdout=slave,
                          stderr=slave, cwd=workdir, env={**environment, "TERM": "xterm"},
                          start_new_session=True) as process:
        assert eventually(lambda: termios.tcgetattr(slave) != before, 5)
        process.send_signal(getattr(signal, name))
        assert process.wait(5) == -getattr(signal, name)
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


SAMPLE = "\\033[31mred\\033[0m\\033]52;c;QQ==\\a\\033[6n.\\n"


def test_a_terminal_gets_what_draws_and_nothing_that_answers(command, environment, workdir):
    code, out = talk(command("run", "--", "printf", SAMPLE), environment, workdir,
                     subprocess.DEVNULL)
    assert (code, out) == (0, b"\x1b[31mred\x1b[0m.\r\n")


def test_a_pipe_gets_every_byte(run_box):
    assert run_box("--", "printf", SAMPLE).out == b"\x1b[31mred\x1b[0m\x1b]52;c;QQ==\a\x1b[6n.\n"


def test_plain_is_text_in_a_pipe_in_json_and_with_a_terminal(run_box, run_json):
    assert run_box("--plain", "--", "printf", SAMPLE).out == b"red.\n"
    assert run_json("--plain", "--", "printf", SAMPLE)["stdout"] == "red.\n"
    assert run_box("-t", "--plain", "--", "printf", SAMPLE).out == b"red.\r\n"


def test_what_a_program_left_switched_on_is_switched_off(command, environment, workdir):
    code, out = talk(command("run", "--", "printf", "\\033[?1049h\\033[?25l\\033[7mx"), environment,
                     workdir, subprocess.DEVNULL)
    assert (code, out) == (0, b"\x1b[?1049h\x1b[?25l\x1b[7mx\x1b[?1049l\x1b[?25h\x1b[m")


def test_json_holds_both_streams_in_one(run_json):
    result = run_json("-t", "--", "sh", "-c", "tty; echo err >&2")
    assert (result["status"], result["stdout"], result["stderr"]) == ("ok", "/dev/pts/0\r\nerr\r\n", "")
    assert result["isolation"]["proof"]["session"] and result["isolation"]["proof"]["descriptors"]


def test_input_that_is_no_terminal_is_typed_and_then_ends(run_box):
    done = run_box("-t", "--", "cat", stdin=b"one\ntwo")
    assert done.code == 0 and done.out.startswith(b"one\r\ntwo") and done.out.count(b"two") == 2
    assert run_box("-t", "--", "python3", "-c", "input()", stdin=b"").code == 1


def test_a_program_that_changes_modes_sees_the_end_of_input_too(run_box, need):
    need("bash")
    assert run_box("-t", "--", "bash", "--norc", stdin=b"").code == 0


def test_all_output_arrives_and_nobody_else_delays_the_end(run_box):
    began = time.monotonic()
    done = run_box("-t", "--", "sh", "-c", "(trap '' HUP; sleep 30) & seq 20000; echo end")
    assert done.out.endswith(b"20000\r\nend\r\n") and done.out.count(b"\n") == 20001
    assert time.monotonic() - began < 15


def test_what_a_program_does_to_its_terminal_does_not_reach_ours(run_box):
    done = run_box("-t", "--", "python3", "-c", """
import fcntl, os, struct, termios
settings = termios.tcgetattr(0)
settings[3] |= 0o200000  # EXTPROC
settings[6] = [b"\\x01"] * len(settings[6])
termios.tcsetattr(0, termios.TCSANOW, settings)
fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 65535, 65535, 65535, 65535))
fcntl.ioctl(0, termios.TIOCEXCL)
try:
    fcntl.ioctl(0, termios.TIOCPKT, struct.pack("i", 1))
except OSError as error:
    print("no packets:", error.errno)
print("done")
for fd in range(3): os.close(fd)
os._exit(9)
""")
    assert done.code == 9 and b"done" in done.out and b"no packets" in done.out, done


def test_output_has_no_limit_unless_one_is_set(run_box):
    much = ("--", "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x")
    assert len(run_box("-t", *much).out) == 20000000
    assert run_box("-t", "--output", "1M", *much).code == 137


def test_a_shell_without_a_terminal_reads_a_script(call):
    done = call("shell", stdin=b"echo $((6 * 7)); tty; exit 3")
    assert (done.code, done.out) == (3, b"42\nnot a tty\n")


def test_a_shell_has_no_limit_on_time(call, run_box):
    done = call("shell", "--json", stdin=b"ulimit -t")
    assert json.loads(done.out)["status"] == "ok"
    assert call("shell", "--time", "300ms", stdin=b"sleep 20").code == 124


def test_a_signal_reaches_the_foreground(start):
    process = start("-t", "--", "bash", "-c",
                    "trap 'echo got; exit 7' INT; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"ready\r\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 7


def test_a_shell_that_ignores_a_signal_ends_all_the_same(start):
    process = start("-t", "--", "bash", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    assert process.stdout.readline() == b"ready\r\n"
    process.terminate()
    assert process.wait(8) == 137
