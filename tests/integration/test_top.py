"""`ringfort top` in a real terminal: a private tmux, real keys, a real watcher, real boxes."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

PROMPT = "OUTER$"


class Pane:
    """One pane of a tmux server of our own, where the watcher is, with a plain shell in it."""

    def __init__(self, post):
        self.post, self.socket = post, str(post.top / "tmux")
        self.env = {**post.env, "TERM": "screen-256color", "HOME": str(post.top)}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", "/", "env",
                  f"PS1={PROMPT} ", "bash", "--norc", "--noprofile")
        assert self.shows(PROMPT)

    def tmux(self, *args):
        done = subprocess.run([*self.post.before, "tmux", "-u", "-S", self.socket, *args], env=self.env, cwd="/",
                              capture_output=True, timeout=20, check=True)
        return done.stdout.decode(errors="replace")

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().split("\n")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def shows(self, words, seconds=10):
        """Whether these words, a pattern, come to be seen."""
        return eventually(lambda: re.search(words if isinstance(words, re.Pattern) else re.escape(words),
                                            self.text()), seconds)

    def row(self, words):
        """The line that has them, or ""."""
        return next((line for line in self.lines() if words in line), "")

    def is_back(self, seconds=10):
        """At the shell's prompt, with nothing typed there."""
        return eventually(lambda: self.text().rstrip().split("\n")[-1].strip() == PROMPT, seconds)

    def asks(self, *formats):
        return self.tmux("display", "-p", " ".join(f"#{{{name}}}" for name in formats)).split()

    def terminal(self):
        """All that a program could leave behind: which screen, cursor, wrapping, and the settings of its line."""
        with open(self.asks("pane_tty")[0], "rb", buffering=0) as tty:
            return self.asks("alternate_on", "cursor_flag", "wrap_flag", "mouse_any_flag"), termios.tcgetattr(tty)

    def pid(self):
        shell = self.asks("pane_pid")[0]
        return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()[0])

    def top(self, *options):
        self.type(" ".join([self.post.ringfort, "top", *options]))
        assert self.shows("q quit"), self.text()

    def done(self):
        subprocess.run([*self.post.before, "tmux", "-S", self.socket, "kill-server"], env=self.env, cwd="/",
                       capture_output=True, check=False)


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="top-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        there.stand()
        yield there
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture
def pane(need, post):
    need("tmux", "bash")
    pane = Pane(post)
    yield pane
    pane.done()


@contextlib.contextmanager
def box(post, *words, agent="bot", options=("--time", "60s")):
    """A run that stands until it is ended; gives it, once the watcher has seen it."""
    before = {one["id"] for one in living(post)}
    run = post.start("run", "--json", "--agent", agent, *options, "--", *words)
    try:
        def seen():
            return [one for one in living(post) if one["id"] not in before and one["pid"] and one["used"]]
        assert eventually(seen, 10), run.stderr.read() if run.poll() is not None else living(post)
        run.box = seen()[0]["id"]
        yield run
    finally:
        if run.poll() is None:
            run.terminate()
        run.communicate(timeout=20)


def living(post):
    done = post.run("ps", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["boxes"]


def state_of(token):
    """The state of the process of a box whose command line has this token."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0] == b"sleep" and words[1] == token.encode():
                return (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return None


def test_a_box_is_shown_with_its_agent_and_its_limits_used(post, pane):
    with box(post, "sleep", "4711", options=("--time", "60s", "--memory", "64M", "--pids", "20")) as run:
        pane.top()
        assert pane.shows(run.box[:8])
        row = pane.row(run.box[:8])
        # `1/20`: the sleeping program; what it is granted stands behind what it uses.
        assert re.match(rf"> {run.box[:8]} bot +running +[\d.]+s/1m +\d+% +[\d.]+[KM]/64M +\d+/20 +\S*sleep", row), row
        assert re.match(r"ringfort top  1 box  by age +\d\d:\d\d:\d\d UTC", pane.lines()[0]), pane.lines()[0]
        assert all(len(line) < 80 for line in pane.lines())
        pane.keys("i")
        assert pane.shows(re.compile(rf"box +{run.box}\n")) and pane.shows(re.compile(r"memory +\S+ of 64M"))
        pane.keys("Escape")
        assert pane.shows("PROGRAM")
    assert pane.shows("no box lives right now")


def test_a_box_is_frozen_and_thawed(post, pane):
    with box(post, "sleep", "4712") as run:
        pane.top("--interval", "200ms")
        assert pane.shows(run.box[:8]) and state_of("4712") == "S"
        pane.keys("f")
        assert eventually(lambda: "frozen" in pane.row(run.box[:8])), pane.text()
        assert eventually(lambda: state_of("4712") == "T"), state_of("4712")
        assert pane.shows("1 box, 1 frozen")
        pane.keys("t")
        assert eventually(lambda: "running" in pane.row(run.box[:8])), pane.text()
        assert eventually(lambda: state_of("4712") == "S"), state_of("4712")
    told = [(event["to"], event["by"], event["reason"]) for event in post.events("--kind", "freeze")]
    assert told == [("frozen", "hand", "ringfort top"), ("running", "hand", "ringfort top")], told


def test_a_box_is_killed_after_a_yes_and_its_result_says_so(post, pane):
    with box(post, "sleep", "4713") as run, box(post, "sleep", "4714", agent="other") as other:
        pane.top("--interval", "200ms", "--agent", "bot")
        assert pane.shows(run.box[:8]) and not pane.row(other.box[:8])
        pane.keys("k")
        assert pane.shows(f"kill box {run.box[:8]} of bot?")
        pane.keys("n")
        assert pane.shows("not killed") and run.poll() is None
        pane.keys("k", "y")
        out, _ = run.communicate(timeout=20)
        told = json.loads(out)
        assert told["status"] == "killed", told
        assert "ringfort top" in told["error"]["message"], told
        assert state_of("4713") is None
        pane.keys("Escape")
        assert pane.shows(other.box[:8]) and other.poll() is None
        assert eventually(lambda: not pane.row(run.box[:8]))
    assert [event["box"] for event in post.events("--kind", "kill")] == [run.box]


def test_what_is_pasted_is_no_command(post, pane):
    with box(post, "sleep", "4715") as run:
        pane.top()
        assert pane.shows(run.box[:8])
        pane.tmux("set-buffer", "ky\nkyq")
        pane.tmux("paste-buffer", "-p")
        time.sleep(0.5)
        assert pane.shows("q quit") and run.poll() is None
        pane.keys("/")
        pane.tmux("paste-buffer", "-p")
        assert pane.shows("agent: kykyq_")


def test_sorting_filtering_help(post, pane):
    with box(post, "sleep", "4716", agent="alpha") as first, box(post, "sleep", "4717", agent="beta") as second:
        pane.top()
        assert pane.shows(first.box[:8]) and pane.shows(second.box[:8])
        where = [line[2:10] for line in pane.lines()[2:4]]
        assert where == [second.box[:8], first.box[:8]]  # the youngest first
        pane.keys("s", "s", "s", "s")
        assert pane.shows("by agent")
        assert eventually(lambda: [line[2:10] for line in pane.lines()[2:4]] == [first.box[:8], second.box[:8]])
        assert pane.lines()[3].startswith("> "), "the chosen box stays chosen"
        pane.keys("Up")
        assert eventually(lambda: pane.lines()[2].startswith("> ")), pane.text()
        pane.keys("/", "B", "E")
        assert eventually(lambda: not pane.row(first.box[:8])) and pane.row(second.box[:8])
        pane.keys("Enter")
        assert pane.shows("agents with `BE`") and pane.shows("q quit")
        pane.keys("Escape")
        assert pane.shows(first.box[:8])
        pane.keys("?")
        assert pane.shows("thaw it: they go on") and pane.shows("ringfort ps --json")
        pane.keys("x")
        assert pane.shows("PROGRAM")


def test_breakers_and_denials_are_shown(post, pane):
    assert post.run("breaker", "trip", "--reason", "too odd", "runaway").returncode == 0
    post.python("""
        sock = connect()
        for number in range(3):
            tell(sock, event(DENIAL, BOX="00deadbeef", RING="process", WHAT=f"thing {number}"))
    """)
    pane.top()
    assert pane.shows(re.compile(r"BREAKERS +1 open, 0 half-open, 0 closed\n +open +agent runaway: by hand: too odd, until it is reset"))
    assert pane.shows(re.compile(r"LAST DENIALS\n +\d\d:\d\d:\d\d +\S+ +00deadbe .*thing 2\n.*thing 1\n"))
    assert "1 breaker open" in pane.lines()[0]


def test_it_fits_every_size(post, pane):
    with box(post, "sleep", "4718") as run:
        pane.top()
        for columns, rows in ((60, 20), (132, 40), (40, 8)):
            pane.tmux("resize-window", "-x", str(columns), "-y", str(rows))
            assert pane.shows(run.box[:8])
            assert eventually(lambda: pane.lines()[rows - 1].startswith("f freeze")), pane.text()  # noqa: B023
            assert ("LAST DENIALS" in pane.text()) == (rows >= 16)
        pane.tmux("resize-window", "-x", "30", "-y", "6")
        assert pane.shows("please: 40x8,") and pane.shows("not 30x6")
        pane.keys("k", "y")
        pane.tmux("resize-window", "-x", "80", "-y", "24")
        assert pane.shows(run.box[:8]) and run.poll() is None, "who sees nothing kills nothing"


@pytest.mark.parametrize("way", ["q", "C-c", "C-\\", "TERM", "HUP", "INT", "SEGV", "ABRT", "USR1"])
def test_the_terminal_is_given_back(post, pane, way):
    """By top itself: it is started by a script, for an interactive shell would repair much of it."""
    pane.type("echo before; ulimit -c 0")
    assert pane.shows("before\n") and pane.is_back()
    screen = pane.terminal()[0]
    assert screen == ["0", "1", "1", "0"]
    pane.type(f"sh -c 'trap : INT QUIT; stty -g; {post.ringfort} top; echo code $?; stty -g; read -r end'")
    assert pane.shows("q quit")
    during = pane.terminal()
    assert during[0] == ["1", "0", "0", "0"] and not during[1][3] & (termios.ICANON | termios.ECHO)
    if way == "q" or way.startswith("C-"):
        pane.keys(way)
    else:
        shell = pane.pid()
        os.kill(int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()[0]),
                signal.Signals[f"SIG{way}"])
    number = {"q": 0, "C-c": signal.SIGINT, "C-\\": signal.SIGQUIT}.get(way)
    if number is None:
        number = signal.Signals[f"SIG{way}"]
    assert pane.shows(re.compile(rf"code {number + 128 if number else 0}\n[0-9a-f:]+\n")), pane.text()
    settings = re.findall(r"^[0-9a-f]+(?::[0-9a-f]+){10,}$", pane.tmux("capture-pane", "-p", "-J"), re.M)
    assert len(settings) == 2 and settings[0] == settings[1], settings
    assert pane.terminal()[0] == screen and pane.shows("before\n"), "the first screen is there again"


def test_it_is_suspended_and_goes_on(post, pane):
    before = pane.terminal()
    with box(post, "sleep", "4719") as run:
        pane.top()
        for stop in (lambda: pane.keys("C-z"), lambda: os.kill(pid, signal.SIGTSTP), lambda: os.kill(pid, signal.SIGSTOP)):
            pid = pane.pid()
            stop()
            assert pane.shows("Stopped")
            pane.type("clear; echo settings $(stty -a | grep -o -- '[-]*icanon')")
            assert pane.shows("settings icanon")
            pane.type("fg")
            assert pane.shows("q quit") and pane.shows(run.box[:8])
            assert pane.asks("alternate_on", "cursor_flag") == ["1", "0"]
        pane.keys("q")
        assert eventually(lambda: pane.terminal() == before)


def test_hostile_texts_are_shown_and_not_obeyed(post, pane):
    """A program of a name that clears the screen, sets the title, turns the line around and forges another."""
    folder = post.top / "programs"
    folder.mkdir(mode=0o755)
    program = folder / "x\033[2J\033]0;owned\a\u202egpj\nFORGED"
    shutil.copy("/bin/sleep", program)
    with box(post, program, "4720", options=("--read", folder)) as run:
        pane.tmux("resize-window", "-x", "200", "-y", "30")
        pane.top()
        assert pane.shows(run.box)
        assert pane.row(run.box).rstrip().endswith(r"x\x1b[2J\x1b]0;owned\x07\u202egpj\x0aFORGED"), pane.row(run.box)
        pane.keys("i")
        assert pane.shows(re.compile(r"program +x\\x1b\[2J\\x1b\]0;owned\\x07\\u202egpj\\x0aFORGED\n"))
        assert "owned" not in pane.tmux("display", "-p", "#{pane_title}")
        assert "\u202e" not in pane.text() and pane.shows("q quit")


def test_a_watcher_that_goes_and_comes_is_told_of(post, pane):
    pane.top("--interval", "200ms")
    post.end()
    assert pane.shows("no watcher stands") and pane.shows("start one: ringfort watch &")
    post.stand()
    assert pane.shows("no box lives right now")
    # One that is stopped keeps nobody from leaving.
    watcher = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_watcher(post, pid))
    os.kill(watcher, signal.SIGSTOP)
    try:
        assert pane.shows(re.compile(r"the watcher has not answered for \ds"))
        pane.keys("?")
        assert pane.shows("quit; boxes go on", 1)
        pane.keys("x", "q")
        assert pane.is_back()
    finally:
        os.kill(watcher, signal.SIGCONT)


def test_what_was_wanted_of_a_watcher_that_ended_is_not_done_later(post, pane):
    """A `y` that only the next watcher could carry out is forgotten."""
    with box(post, "sleep", "4724") as run:
        pane.top("--interval", "4s")
        assert pane.shows(run.box[:8])
        watcher = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_watcher(post, pid))
        os.kill(watcher, signal.SIGSTOP)
        pane.keys("Space")  # a look is under way, which the kill has to wait for
        pane.keys("k", "y")
        time.sleep(0.3)
        post.end(signal.SIGKILL)
        assert pane.shows("the watcher has ended")
        post.stand()
        assert pane.shows("BREAKERS")
        time.sleep(0.5)
        assert run.poll() is None and "q quit" in pane.text(), "or it would say what came of it"


def is_watcher(post, pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/exe") == str(pathlib.Path(post.ringfort).parent / "ringfort-watch") and \
            os.stat(f"/proc/{pid}").st_uid == (0 if post.is_room else USER_ID if IS_ROOT else os.getuid())
    return False


@contextlib.contextmanager
def on_pty(post, *options, term="xterm"):
    """top on a terminal whose other end is ours; gives both."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    post.env["TERM"] = term
    top = post.start("top", *options, stdin=theirs, stdout=theirs)
    os.close(theirs)
    try:
        yield top, ours
    finally:
        if top.poll() is None:
            top.kill()
        top.communicate(timeout=20)
        with contextlib.suppress(OSError):
            os.close(ours)


def read_for(ours, seconds):
    out, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            out += os.read(ours, 65536)
    return out


def test_a_frame_is_drawn_without_flicker(post):
    """Bytes that are written while nothing changes but the clock: no screen is cleared, no line but the first drawn."""
    with box(post, "sleep", "4721"), on_pty(post, "--interval", "100ms") as (top, ours):
        out = read_for(ours, 3)
        os.write(ours, b"q")
        assert top.wait(10) == 0
    assert out.count(b"\033[2J") == 2  # when the screen is taken, and with the first frame
    frames = len(re.findall(rb"\033\[1;1H", out))
    assert 2 <= frames <= 5 and len(out) < 8000, (frames, len(out))


def test_a_terminal_that_goes_takes_it_along(post):
    with on_pty(post) as (top, ours):
        assert b"quit" in read_for(ours, 1)
        os.close(ours)
        assert top.wait(10) == -signal.SIGHUP


def test_a_terminal_that_can_not_be_drawn_on_is_refused(post):
    with on_pty(post, term="dumb") as (top, _):
        assert top.wait(10) == 125
        assert b"(TERM=dumb) can't" in top.stderr.read()


def test_colour_is_for_who_wants_it(post, pane):
    with box(post, "sleep", "4722") as run:
        pane.top()
        assert pane.shows(run.box[:8])
        assert re.search("\033\\[(0;)?7m", pane.tmux("capture-pane", "-p", "-e"))
        pane.keys("q")
        assert pane.is_back()
        pane.type("export NO_COLOR=1")
        pane.top()
        assert pane.shows(f"> {run.box[:8]}")
        assert "\033[" not in pane.tmux("capture-pane", "-p", "-e")


def test_scripts_are_told_what_is_theirs(post):
    done = post.run("top")
    assert done.returncode == 125 and done.stdout == ""
    assert "top draws on a terminal, and this is none" in done.stderr
    assert "ringfort ps --json" in done.stderr and "ringfort metrics" in done.stderr
    assert "100ms" in post.run("top", "--interval", "1ms").stderr
    assert post.run("top", "what").returncode == 125
    assert "--interval" in post.run("top", "--help").stdout


def test_one_frame_as_text(post):
    with box(post, "sleep", "4723") as run:
        done = post.run("top", "--once")
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^  {run.box} bot +running ", done.stdout, re.M), done.stdout
        assert "BREAKERS" in done.stdout and "\033" not in done.stdout and "quit" not in done.stdout
        assert all(len(line) < 120 for line in done.stdout.split("\n"))
    post.end()
    done = post.run("top", "--once")
    assert done.returncode == 1
    assert "no watcher stands" in done.stderr and "ringfort watch &" in done.stderr
