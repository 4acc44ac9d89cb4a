"""A place where a watcher can stand and meets nobody else's: runtime and state folders of its own for an
ordinary user, a mount namespace with another /run/ringfort and /var/lib for root.

    with Post(ringfort, "user", folder) as post:
        post.stand("--anchor", "/some/file")
        post.run("run", "--", "true")
        post.events("--kind", "run")

The second half speaks the protocol (docs/protocols/watch.md); Post.python() runs code with it as a client.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

USER_ID = 12345
IS_ROOT = os.geteuid() == 0
PATH = "/usr/local/bin:/usr/bin:/bin"
ROOM = """
	mkdir -p -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind /run/ringfort "$0" && mount -t tmpfs -o mode=700 none /run/ringfort &&
	mkdir -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind "$0/boxes" /run/ringfort/boxes && mount --bind "$0/uids" /run/ringfort/uids &&
	umount "$0" && if [ "$1" ]; then mount --bind "$1" /var/lib; else mount -t tmpfs -o mode=755 none /var/lib; fi &&
	echo ready && read -r _
"""


class Post:
    def __init__(self, ringfort, who, folder):
        self.ringfort, self.who = ringfort, who
        self.top = pathlib.Path(folder)
        self.top.mkdir(mode=0o700)
        self.is_room = IS_ROOT and who == "root"
        self.space = self.root = -1
        self.watcher = None
        self.env = {"PATH": PATH, "HOME": str(self.top), "LANG": "C.UTF-8", "TERM": "dumb",
                    "XDG_RUNTIME_DIR": str(self.top / "run"), "XDG_STATE_HOME": str(self.top / "state")}
        if "RINGFORT_TEST_WITHOUT" in os.environ:  # for a whole suite, with RINGFORT=build/ringfort-unwalled
            self.env["RINGFORT_TEST_WITHOUT"] = os.environ["RINGFORT_TEST_WITHOUT"]
        for name in ("run", "state"):
            (self.top / name).mkdir(mode=0o700)
        if IS_ROOT and who == "user":
            for path in (self.top, self.top / "run", self.top / "state"):
                os.chown(path, USER_ID, USER_ID)
        if self.is_room:
            with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", ROOM,
                                   str(self.top / "run"), self.disk()], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as room:
                assert room.stdout.readline() == b"ready\n"
                self.space = os.open(f"/proc/{room.pid}/ns/mnt", os.O_RDONLY)
                self.root = os.open(f"/proc/{room.pid}/root", os.O_PATH)
                room.stdin.close()

    def disk(self):
        """A folder for the state, where a tmpfs can't have it: layers need user attributes, which came with Linux 6.6."""
        folder = self.top / "disk"
        if "RF_POST_DISK" not in os.environ:
            return ""
        folder.mkdir(mode=0o755)
        return str(folder)

    @property
    def before(self):
        if self.is_room:
            return ["nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.space}", "--wdns=/", "--"]
        if IS_ROOT:
            return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"]
        return []

    @property
    def log(self):
        """The log's folder, as it is seen from here."""
        if self.is_room:
            return pathlib.Path(f"/proc/self/fd/{self.root}/var/lib/ringfort/audit")
        return self.top / "state/ringfort/audit"

    @contextlib.contextmanager
    def small_disk(self, size):
        """The state lies on a disk of so many bytes; gives its folder.  Needs root."""
        where = "/var/lib" if self.is_room else self.top / "state"
        how = f"size={size},mode=755" + ("" if self.is_room else f",uid={USER_ID},gid={USER_ID}")
        enter = self.before if self.is_room else []
        subprocess.run([*enter, "mount", "-t", "tmpfs", "-o", how, "none", where], check=True)
        try:
            yield pathlib.Path(f"/proc/self/fd/{self.root}/var/lib") if self.is_room else where
        finally:
            self.end(signal.SIGKILL)
            subprocess.run([*enter, "umount", "-l", where], check=True)

    def start(self, *args, wrap=(), **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*self.before, *wrap, self.ringfort, *map(os.fspath, args)], cwd="/",
                                env=self.env, start_new_session=True, **options)

    def run(self, *args, wrap=(), timeout=60, program=None):
        return subprocess.run([*self.before, *wrap, program or self.ringfort, *map(os.fspath, args)], cwd="/", env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                              check=False)

    def stand(self, *options, wrap=()):
        """Starts a watcher, and waits until it answers."""
        self.watcher = self.start("watch", *options, wrap=wrap, stdout=subprocess.DEVNULL)
        for _ in range(500):
            if self.watcher.poll() is not None:
                raise RuntimeError(f"the watcher ended: {self.watcher.stderr.read()!r}")
            if self.run("watch", "--status").returncode == 0:
                return self.watcher
            time.sleep(0.02)
        raise RuntimeError("the watcher does not answer")

    def end(self, number=signal.SIGTERM):
        if self.watcher and self.watcher.poll() is None:
            self.watcher.send_signal(number)
        code = self.watcher.wait(20) if self.watcher else 0
        if self.watcher:
            self.watcher.stderr.close()
        self.watcher = None
        return code

    def events(self, *filters):
        done = self.run("audit", "show", "--json", *filters)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def verify(self, *options):
        done = self.run("audit", "verify", "--json", *options)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def python(self, code, *args, wrap=(), timeout=120):
        """Runs Python with this file before it, as one who is what the watcher is."""
        source = pathlib.Path(__file__).read_text() + textwrap.dedent(code)
        folder = "/run/ringfort" if self.is_room else self.env["XDG_RUNTIME_DIR"] + "/ringfort"
        done = subprocess.run([*self.before, *wrap, "/usr/bin/python3", "-c", source, folder, *map(str, args)],
                              env=self.env, cwd="/", capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self):
        with contextlib.suppress(Exception):
            self.end(signal.SIGTERM)
        with contextlib.suppress(Exception):
            self.end(signal.SIGKILL)
        if self.is_room:  # what a watcher that was killed has left for the next one, which there is none of
            for folder, names, _ in os.walk("/sys/fs/cgroup"):  # in which others come and go meanwhile
                if "ringfort.watch" in names:
                    with contextlib.suppress(OSError):
                        os.rmdir(f"{folder}/ringfort.watch")
        for fd in (self.space, self.root):
            if fd >= 0:
                os.close(fd)
        self.space = self.root = -1

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()


# --- the protocol, as docs/protocols/watch.md has it ---

PROVE, TELL, ASK, KEPT, TOLD, LOST, LIVE = 10, 11, 12, 13, 14, 15, 16
RUN_STARTED, RUN_ENDED, DENIAL, CHAIN_STARTED = 1, 2, 4, 22
BOX, USER, PROGRAM, VERDICT, RING, WHAT = 2, 3, 5, 9, 19, 20


def event(kind, **fields):
    """The bytes of an event; texts and numbers by the names of their fields above."""
    values = sorted((globals()[name], value) for name, value in fields.items())
    out = struct.pack("<HHH", 1, kind, len(values))
    for number, value in values:
        data = struct.pack("<Q", value) if isinstance(value, int) else value.encode()
        out += struct.pack("<HH", number, len(data)) + data
    return out


def message(kind, body=b"", number=1, version=3, length=None):
    return struct.pack("=IHHQ", len(body) if length is None else length, version, kind, number) + body


def batch(*events):
    return b"".join(struct.pack("=I", len(one)) + one for one in events)


def connect():
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(sys.argv[1], os.O_PATH | os.O_DIRECTORY)
    try:
        sock.connect(f"/proc/self/fd/{folder}/watch.sock")
    finally:
        os.close(folder)
    sock.settimeout(20)
    prove(sock)
    return sock


def prove(sock):
    """Root shows that it can look at the watcher."""
    if os.geteuid() != 0:
        return
    pid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb") as proof:
        socket.send_fds(sock, [message(PROVE)], [proof.fileno()])


def receive(sock):
    """The type, number and body of the next answer, or None at the end."""
    try:
        data = sock.recv(1 << 16)
    except ConnectionResetError:
        return None
    if not data:
        return None
    _, _, kind, number = struct.unpack("=IHHQ", data[:16])
    return kind, number, data[16:]


def tell(sock, *events, number=1):
    sock.send(message(TELL, batch(*events), number))
    return receive(sock)
