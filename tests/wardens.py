"""A standing warden for a test, where it meets nobody else's: its own runtime directory for an ordinary
user; for root, whose socket has one place on a machine, a mount namespace with another /run/ringfort.

    with Warden(ringfort, "user", folder) as warden:
        subprocess.run([*warden.before, ringfort, "run", "--", "true"], env=warden.env, cwd=...)

`before` goes in front of every client: it enters the namespace and becomes the user.
"""
import contextlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

USER_ID = 12345  # as in tests/conftest.py
IS_ROOT = os.geteuid() == 0
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# What all boxes of root must agree upon, the uids that are taken, stays where it is.
STAND = """
    mkdir -p -m 700 /run/ringfort && touch /run/ringfort/uids "$0/uids" && mount --bind /run/ringfort/uids "$0/uids" &&
    mount -t tmpfs -o mode=0700 none /run/ringfort && touch /run/ringfort/uids &&
    mount --bind "$0/uids" /run/ringfort/uids && echo ready && exec cat
"""


def become(who):
    """What makes a command run as `who`."""
    if IS_ROOT and who == "user":
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]
    return []


class Warden:
    def __init__(self, ringfort, who, folder, *options, before=(), **popen):
        """`folder` (made here) becomes XDG_RUNTIME_DIR.  `before` goes in front of the warden itself."""
        self.who, self.ringfort = who, ringfort
        self.runtime = pathlib.Path(folder)
        self.runtime.mkdir(mode=0o700)
        if IS_ROOT and who == "user":
            os.chown(self.runtime, USER_ID, USER_ID)
        self.env = {"PATH": PATH, "HOME": str(self.runtime), "LANG": "C.UTF-8", "TERM": "dumb",
                    "XDG_RUNTIME_DIR": str(self.runtime)}
        # As files, the namespace and its root stay when every process in them is gone.
        self.space, self.root, self.enter = -1, -1, []
        if IS_ROOT and who == "root":
            self.make_room()
        self.process = subprocess.Popen([*self.before_in("/"), *before, ringfort, "warden", *options], env=self.env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, cwd="/", **popen)
        self.pid = self.process.pid  # nsenter and setpriv become the warden
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.close()
            raise

    def make_room(self):
        """A mount namespace with another /run/ringfort.  Not the warden's own: that changes its now and then."""
        with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", STAND,
                               str(self.runtime)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as room:
            assert room.stdout.readline() == b"ready\n"
            self.space = os.open(f"/proc/{room.pid}/ns/mnt", os.O_RDONLY)
            self.root = os.open(f"/proc/{room.pid}/root", os.O_PATH)
            room.stdin.close()
        self.enter = ["nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.space}"]

    @property
    def before(self):
        return self.before_in(None)

    def before_in(self, cwd):
        """The same for a client that is started in `cwd`: entering a namespace leads to its root."""
        if self.enter:
            return [*self.enter, f"--wdns={cwd or '/'}", "--"]
        return become(self.who)

    def run(self, *args, cwd="/", stdin=b"", timeout=20, env=None, wrap=(), **options):
        """`ringfort ARGS`; gives the finished process."""
        return subprocess.run([*self.before_in(cwd), *wrap, self.ringfort, *map(os.fspath, args)], cwd=cwd,
                              env={**self.env, **(env or {})}, input=stdin, capture_output=True,
                              timeout=timeout, check=False, start_new_session=True, **options)

    def start(self, *args, cwd="/", env=None, wrap=(), **options):
        """`ringfort ARGS`, started and not waited for.  The process is ringfort itself."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*self.before_in(cwd), *wrap, self.ringfort, *map(os.fspath, args)], cwd=cwd,
                                env={**self.env, **(env or {})}, start_new_session=True, **options)

    def wait_until_it_answers(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(f"the warden ended: {self.process.stderr.read()!r}")
            if self.is_there() and self.run("warden", "--status").returncode == 0:
                return
            time.sleep(0.02)
        raise RuntimeError("the warden does not answer")

    def is_there(self):
        """True when the process is the warden by now, and not what starts it."""
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{self.pid}/exe").endswith("/ringfort-warden")
        return False

    @property
    def folder(self):
        """$RUN, as it is seen from here; also when the warden is gone."""
        if self.who == "root" and IS_ROOT:
            return pathlib.Path(f"/proc/self/fd/{self.root}/run/ringfort")
        return self.runtime / "ringfort"

    @property
    def records(self):
        boxes = self.folder / "boxes"
        return sorted(os.listdir(boxes)) if boxes.exists() else []

    @property
    def children(self):
        """The boxes that the warden keeps, and its janitor, by their pids."""
        with contextlib.suppress(OSError):
            return [int(word) for word in
                    pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        return []

    @property
    def waiting(self):
        """Pids of the boxes' first processes: of those that run, and of those that wait."""
        found = []
        for pid in self.children:
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ringfort-init\0"):
                    found.append(pid)
        return found

    def wait_for_ready(self, is_so, seconds=20):
        """Waits until is_so(pids of all boxes); gives the pids."""
        end = time.monotonic() + seconds
        while not is_so(self.waiting) and time.monotonic() < end:
            time.sleep(0.01)
        return self.waiting

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            os.kill(self.pid, number)
        return self.process.wait(20)

    def python(self, code, *args, wrap=(), timeout=60):
        """Runs Python code, with all of this file before it, as a client that speaks the protocol itself: it must
        be who and where the warden is.  connect() gives a connection.  Gives what it printed."""
        source = pathlib.Path(__file__).read_text() + textwrap.dedent(code)
        done = subprocess.run([*self.before_in("/"), *wrap, "/usr/bin/python3", "-c", source,
                               "/run/ringfort" if self.enter else str(self.folder), *map(str, args)],
                              env=self.env, cwd="/", capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self):
        try:
            self.end()
        finally:
            self.process.stdout.close()
            self.process.stderr.close()
            for fd in (self.space, self.root):
                if fd >= 0:
                    os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()


def connect():
    """A bare connection to the socket in the folder that is the first argument."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(sys.argv[1], os.O_PATH | os.O_DIRECTORY)
    try:
        sock.connect(f"/proc/self/fd/{folder}/warden.sock")
    finally:
        os.close(folder)
    sock.settimeout(20)
    prove(sock)
    return sock


def prove(sock, warden=None):
    """Root shows that it can look at the warden."""
    if os.geteuid() != 0:
        return
    pid = warden or struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb") as proof:
        send(sock, message(PROVE), [proof.fileno()])


# --- the protocol, as docs/protocols/warden.md has it ---

HELLO, JOIN, RUN, SIGNAL, END, WELCOME, STARTED, ENDED, REFUSED, PROVE = range(1, 11)
KEEP, EXEC, ATTACH, FREEZE, THAW, RENEW, CLOSE, LIST, TERMINAL, BOXES = range(29, 39)
BOUND = 44
HEAD = struct.Struct("=IHHQ")
VERSION = 3
INFINITY = 2**64 - 1


def message(kind, body=b"", number=1, version=VERSION, length=None):
    return HEAD.pack(len(body) if length is None else length, version, kind, number) + body


def string(text):
    if text is None:
        return struct.pack("=I", 2**32 - 1)
    data = text.encode()
    return struct.pack("=I", len(data)) + data + b"\0"


def strings(words):
    return struct.pack("=I", len(words)) + b"".join(map(string, words))


def errand(*argv, policy="", cwd="/", home="/", env=("PATH=/usr/bin:/bin",), umask=0o22, nice=0, rlimits=None,
           command=0, extras=(), own=(), note=None, idle_ms=0, request=None, trace=None, workspace=None,
           whole=False, path="/usr/bin:/bin", drops=False):
    """A RUN's body.  `extras` are (kind, path, source)."""
    rlimits = rlimits or [(INFINITY, INFINITY)] * 16
    return b"".join([
        struct.pack("=I", command), string(policy), string("/"), string(home), string(cwd), strings(argv),
        strings(env), struct.pack("=I", len(extras)),
        *(struct.pack("=I", kind) + string(path) + string(source) + struct.pack("=II", 1, 0) + string("") + string("")
          for kind, path, source in extras),
        string(path), struct.pack("=I", 0),
        struct.pack("=I", umask), struct.pack("=i", nice), *(struct.pack("=QQ", *pair) for pair in rlimits),
        struct.pack("=I", 0xffffffff), strings(own), string(note),  # no ceiling
        struct.pack("=Q", idle_ms), string(request), string(trace), string(workspace),
        struct.pack("=II", whole, drops)])


def bind(sock, key="k1", tenant="acme", ceiling="version: 1\n", boxes=4, is_recorded=False, sums=(0, 0, 0)):
    """A further connection, on terms."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        send(sock, message(BOUND, string(key) + string(tenant) + string(ceiling) +
                            struct.pack("=IIQQQQQ", boxes, is_recorded, *sums, 0, 0)),
             [theirs.fileno()])
    ours.settimeout(20)
    return ours


def send(sock, data, fds=()):
    if fds:
        socket.send_fds(sock, [data], list(fds))
    else:
        sock.send(data)


def receive(sock):
    """The next message: its kind, its number and its body.  A long body is fetched; None at the end."""
    data, fds, _, _ = socket.recv_fds(sock, 65536, 4)
    if not data:
        return None
    length, _, kind, number = HEAD.unpack(data[:HEAD.size])
    body = data[HEAD.size:]
    if fds:
        body = os.pread(fds[-1], length, 0)
        for fd in fds:
            os.close(fd)
    assert len(body) == length
    return kind, number, body


class Run:
    """A run that was asked for on a bare connection, with pipes of our own."""

    def __init__(self, sock, body, number=7):
        self.sock = sock
        pipes = [os.pipe() for _ in range(3)]
        try:
            send(sock, message(RUN, body, number), [pipes[0][0], pipes[1][1], pipes[2][1]])
        finally:
            for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
                os.close(fd)
        self.stdin, self.stdout, self.stderr = pipes[0][1], pipes[1][0], pipes[2][0]

    def read(self):
        out = b""
        while chunk := os.read(self.stdout, 65536):
            out += chunk
        return out

    def close(self):
        for fd in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                os.close(fd)
