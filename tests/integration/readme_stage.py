"""A place in which the lines of README.md are pasted into a shell, as a reader would: for test_readme.py.

    Stage       a watcher's place (tests/watchers.py) with a network of its own and a home with a project in it
    Shell       a shell that takes line by line, with what each printed and its exit code
    Terminal    a program on a terminal of its own
    compare()   what README shows against what was printed
"""
import contextlib
import ctypes
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, PATH, USER_ID, Post  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGENT = """#!/bin/sh
if [ "$1" = --task ]; then
	echo 'int mended;' > src/parser.c
	exit
fi
curl -sk -m 20 -w '%{http_code}\\n' -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user
curl -sk -m 20 https://example.org >/dev/null || echo 'nobody else'
"""
MAKEFILE = """all:
	@cat key.pem 2>/dev/null || echo 'no key to see'
test:
	@grep -q mended src/parser.c
"""
FILES = {
    "script.py": "print('a script')\nopen('out/made', 'w').close() if __import__('os').access('out', 2) else None\n",
    "report.py": "import os\nprint(os.listdir('/models'))\n",
    "agent": AGENT,
    "Makefile": MAKEFILE,
    "README": "read me\n",
    "key.pem": "a secret key\n",
    "src/parser.c": "int broken;\n",
    "agent.yaml": "limits: { memory: 1G, time: 2m }\nfiles:  { read: [./data], write: [./work] }\n",
    "bot.yaml": "limits: { time: 1m }\n",
    "bad.yaml": "limits:\n  memroy: 1G\n",
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e \\"console.log(6 * 7)\\""}}\n',
}


def make_home(home):
    """A home with a project in it; each test gets a copy."""
    for folder in ("project/src", "project/data", "project/work", "project/out", "models/small"):
        (home / folder).mkdir(parents=True)
    for name, text in FILES.items():
        (home / "project" / name).write_text(text)
    (home / "project/agent").chmod(0o755)
    git = ["git", "-C", home / "project", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "src", "Makefile"], ["commit", "-q", "-m", "the first change"]):
        subprocess.run([*git, *words], check=True, env={"HOME": str(home), "PATH": PATH})
    return home


def in_network(space, make):
    """What `make()` gives, called in another network: sockets stay in the one that they were made in."""
    found = []

    def run():
        assert space < 0 or ctypes.CDLL(None, use_errno=True).setns(space, 0x40000000) == 0
        found.append(make())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


ROOMS = """
	mount -t tmpfs -o mode=755 none /home && mkdir /home/me && mount --bind "$0" /home/me &&
	ip link set lo up && echo ready && read -r _
"""


class Stage(Post):
    """As root it is in a network of its own, and lies in /home/me, as README has it; `project` is where this process finds it."""

    def __init__(self, ringfort, who, folder, home):
        self.spaces = []
        super().__init__(ringfort, who, folder)
        self.home, self.project = self.top / "home", self.top / "home/project"
        owner = f"{USER_ID}:{USER_ID}" if IS_ROOT and who == "user" else f"{os.geteuid()}:{os.getegid()}"
        subprocess.run(["sh", "-c", 'cp -a "$0" "$1" && chown -R "$2" "$1"', home, self.home, owner], check=True)
        self.place = pathlib.Path("/home/me/project") if IS_ROOT else self.project
        if IS_ROOT:
            enter = super().before if self.is_room else ["unshare", "--mount", "--propagation", "private"]
            with subprocess.Popen(["unshare", "--net", *enter, "sh", "-c", ROOMS, self.home], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as room:
                assert room.stdout.readline() == b"ready\n"
                self.spaces = [os.open(f"/proc/{room.pid}/ns/{name}", os.O_RDONLY) for name in ("net", "mnt")]
                room.stdin.close()
        self.env.update(HOME=str(self.place.parent), PATH=f"{os.path.dirname(ringfort)}:{PATH}")

    @property
    def network(self):
        return self.spaces[0] if self.spaces else -1

    @property
    def before(self):
        if not self.spaces:
            return super().before
        words = [f"--{name}=/proc/{os.getpid()}/fd/{fd}" for name, fd in zip(("net", "mount"), self.spaces)]
        become = ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"] if self.who == "user" else []
        return ["nsenter", *words, "--wdns=/", "--", *become]

    def close(self):
        super().close()
        while self.spaces:
            os.close(self.spaces.pop())


class Shell:
    """Its programs have no input; what they print is one stream, as on a screen."""
    LOOP = """cd "$0" && exec 3<"$1" && rm "$1"
        while IFS= read -r line <&3; do eval "$line" 3<&-; printf "\\n<%s:%s>\\n" $((at += 1)) $?; done"""

    def __init__(self, stage, **env):
        pipe = stage.top / "run/lines"
        os.mkfifo(pipe)
        if IS_ROOT and stage.who == "user":
            os.chown(pipe, USER_ID, USER_ID)
        self.count = 0
        self.give = os.open(pipe, os.O_RDWR | os.O_CLOEXEC)
        self.process = subprocess.Popen([*stage.before, "sh", "-c", self.LOOP, str(stage.place), str(pipe)], env={**stage.env, **env},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def paste(self, line, seconds=60):
        """What was printed meanwhile, and the line's exit code."""
        os.write(self.give, line.encode() + b"\n")
        said, end = b"", time.monotonic() + seconds
        self.count += 1
        while not (done := re.search(rb"\n<%d:(\d+)>\n" % self.count, said)):
            assert time.monotonic() < end and select.select([self.process.stdout], [], [], seconds)[0], (line, said)
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, (line, said)
            said += data
        return (said[:done.start()] + said[done.end():]).decode(), int(done[1])

    def background(self, line, ready, seconds=20):
        """Pastes `... &`, and waits until `ready` succeeds, as a reader would; gives all that was printed."""
        assert line.endswith(" &"), line
        said, code = self.paste(line)
        end = time.monotonic() + seconds
        while code == 0:
            more, state = self.paste(f"{ready} >/dev/null 2>&1")
            said += more
            if state == 0:
                return said
            assert time.monotonic() < end, (line, said)
            time.sleep(0.02)
        raise AssertionError((line, code, said))

    def __enter__(self):
        return self

    def __exit__(self, *why):
        with contextlib.suppress(AssertionError, OSError):
            jobs = self.paste("jobs -p")[0].split()  # in a subshell it has none
            self.paste(f"kill {' '.join(jobs)}; wait" if jobs else ":", 20)
        os.close(self.give)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


class Terminal:
    """A line of a shell on a terminal; what is drawn is kept without its escape sequences."""

    def __init__(self, stage, line, **env):
        ours, theirs = pty.openpty()
        self.fd, self.said = ours, ""
        with contextlib.suppress(OSError):
            import fcntl  # pylint: disable=import-outside-toplevel
            import struct  # pylint: disable=import-outside-toplevel
            import termios  # pylint: disable=import-outside-toplevel
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        if IS_ROOT and stage.who == "user":
            os.fchown(theirs, USER_ID, USER_ID)
        self.process = subprocess.Popen(["setsid", "--ctty", "--wait", *stage.before, "sh", "-c", f'cd "$0" && {line}', str(stage.place)],
                                        env={**stage.env, "TERM": "xterm-256color", **env}, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)

    def wait_for(self, words, seconds=20):
        end = time.monotonic() + seconds
        while words not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                assert data, self.said
                self.said += re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|[()][A-Z0-9]|[=>78])", "", data.decode(errors="replace"))
        return self.said

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=20):
        """Its exit code; what it still draws is read meanwhile."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.said
            if select.select([self.fd], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.said += os.read(self.fd, 65536).decode(errors="replace")
        os.close(self.fd)
        return self.process.returncode


# What differs from run to run and from machine to machine, and the form that it has.
DIFFERS = [
    (r"shadow-\d+", r"shadow-\d+"),
    (r"ABI \d+: .*", r"ABI \d+: .*"),
    (r"\d+ instructions", r"\d+ instructions"),
    (r"[\d.]+ ms\b", r"[\d.]+ ms"),
    (r"[\d.]+ MiB of memory", r"[\d.]+ MiB of memory"),
    (r"11 facts", r"1[01] facts"),  # ten where a box has no cgroup
    (r"1000\(box\)", r"\d+\(box\)"),  # the caller's own number
]


def form(line, place):
    """A line of README as a regular expression; spaces are one as good as many."""
    parts, at, line = [], 0, " ".join(line.replace("/home/me/project", str(place)).split())
    found = sorted((match.start(), match.end(), instead) for words, instead in DIFFERS for match in re.finditer(words, line))
    for start, end, instead in found:
        parts += [re.escape(line[at:start]), instead]
        at = end
    return re.compile("".join(parts) + re.escape(line[at:]))


def compare(shown, said, place):
    """Each line that is shown is there, in order; between two of them is nothing else, unless `...` stands there."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    at, may_skip = 0, False
    for part in (line for line in shown if line.strip()):
        if part == "...":
            may_skip = True
            continue
        pattern = form(part, place)
        end = len(lines) if may_skip else at + 1
        found = next((i for i in range(at, min(end, len(lines))) if pattern.fullmatch(lines[i])), None)
        assert found is not None, f"README shows {part!r}, and there is:\n" + "\n".join(lines[at:])
        at, may_skip = found + 1, False
    assert may_skip or at == len(lines) or not shown, "README does not show:\n" + "\n".join(lines[at:])


def copy_tree(public, ringfort):
    """scripts/demo with the built programs beside it, where every user can reach them."""
    tree = public / "readme-tree"
    if not tree.exists():
        shutil.copytree(ROOT / "scripts", tree / "scripts", symlinks=True)
        (tree / "build").symlink_to(os.path.dirname(ringfort))
    return tree
