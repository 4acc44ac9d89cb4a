"""A server for a test, where it meets nobody else's: as tests/wardens.py does, and with keys of its own.

    with Server(ringfort, "user", folder) as server:
        server.post("/v1/run", {"argv": ["true"]})

The server listens on a free port; `server.key` is the one that it made at its first start.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time

from wardens import IS_ROOT, PATH, USER_ID, become

# What all boxes of root must agree upon, the uids that are taken, stays where it is.
STAND = """
    mkdir -p -m 700 /run/ringfort /var/lib/ringfort && touch /run/ringfort/uids "$0/uids" &&
    mount --bind /run/ringfort/uids "$0/uids" && mount -t tmpfs -o mode=0700 none /run/ringfort &&
    mount -t tmpfs -o mode=0700 none /var/lib/ringfort && touch /run/ringfort/uids &&
    mount --bind "$0/uids" /run/ringfort/uids && echo ready && exec cat
"""

Answer = __import__("collections").namedtuple("Answer", "status headers body")


class Answered(Answer):
    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """Of a stream: (name, data), data read as JSON."""
        found = []
        for block in self.body.decode().split("\n\n"):
            if block:
                name, data = re.fullmatch(r"event: (\w+)\ndata: (.*)", block).groups()
                found.append((name, json.loads(data)))
        return found


class Server:
    def __init__(self, ringfort, who, folder, *options, listen="127.0.0.1:0"):
        self.ringfort, self.who = ringfort, who
        self.runtime = pathlib.Path(folder)
        self.runtime.mkdir(mode=0o700)
        if IS_ROOT and who == "user":
            os.chown(self.runtime, USER_ID, USER_ID)
        self.env = {"PATH": PATH, "HOME": str(self.runtime), "LANG": "C.UTF-8", "TERM": "dumb",
                    "XDG_RUNTIME_DIR": str(self.runtime), "XDG_STATE_HOME": str(self.runtime / "state")}
        self.space, self.root, self.before = -1, -1, become(who)
        if IS_ROOT and who == "root":
            self.make_room()
        self.options = ([f"--listen={listen}"] if listen else []) + list(options)
        self.said, self.key, self.port = "", None, None
        self.start()

    def make_room(self):
        with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", STAND, str(self.runtime)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as room:
            assert room.stdout.readline() == b"ready\n"
            self.space = os.open(f"/proc/{room.pid}/ns/mnt", os.O_RDONLY)
            self.root = os.open(f"/proc/{room.pid}/root", os.O_PATH)
            room.stdin.close()
        self.before = ["nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.space}", "--wdns=/", "--"]

    def start(self):
        """Starts it, again if it has ended; what it said before is forgotten, its key is not."""
        self.said = ""
        self.process = subprocess.Popen([*self.before, self.ringfort, "serve", *self.options], env=self.env, cwd="/",
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        wanted = "serves on http" if any("--listen" in word for word in self.options) else "serves on /"
        self.read_until(wanted)
        self.key = (re.findall(r"rfk_[0-9a-f_]+", self.said) or [self.key])[0]
        self.port = int((re.findall(r"https?://\S+:(\d+)", self.said) or [0])[-1])

    def read_until(self, words, seconds=20):
        """What it says on standard error, up to and with a line that has these words."""
        end = time.monotonic() + seconds
        while words not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self.process.stderr], [], [], 0.2)[0]:
                data = os.read(self.process.stderr.fileno(), 65536)
                assert data or self.process.poll() is None, self.said
                self.said += data.decode()

    @property
    def pid(self):
        return self.process.pid

    def children(self):
        """Its warden, its clerk and its front, by name; the last alone is a child of its own, and has no environment."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                folder, name = os.path.split(words[0].decode(errors="replace"))
                if folder != os.path.dirname(self.ringfort):
                    continue
                if (name == "ringfort-warden" and str(self.runtime).encode() in (path / "environ").read_bytes()) or \
                        (name == "ringfort-clerk" and str(self.runtime).encode() in (path / "environ").read_bytes()) or \
                        (name == "ringfort-front" and f"\nPPid:\t{self.pid}\n" in (path / "status").read_text()):
                    found.setdefault(name, []).append(int(path.name))
        return {name: sorted(pids) for name, pids in found.items()}

    def run(self, *args, **options):
        """`ringfort ARGS` of the same user, where the same keys are."""
        return subprocess.run([*self.before, self.ringfort, *map(os.fspath, args)], env=self.env, cwd="/",
                              capture_output=True, text=True, timeout=30, check=False, **options)

    def make_key(self, *options):
        done = self.run("key", "create", "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["key"]

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, key=None, headers=(), connection=None, timeout=30):
        """One request; `body` is bytes, or what becomes JSON.  `key` is "" for none."""
        fields = dict(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        if key != "":
            fields.setdefault("Authorization", f"Bearer {key or self.key}")
        line = connection or self.connect(timeout)
        try:
            line.request(method, path, body=body, headers=fields)
            answer = line.getresponse()
            return Answered(answer.status, answer.headers, answer.read())
        finally:
            if not connection:
                line.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.ask("PUT", path, body, **more)

    def delete(self, path, **more):
        return self.ask("DELETE", path, **more)

    @property
    def state(self):
        """Its state folder, as it is seen from here."""
        if self.space >= 0:
            return pathlib.Path(f"/proc/self/fd/{self.root}/var/lib/ringfort")
        return self.runtime / "state/ringfort"

    def local(self, code, who=None, wrap=()):
        """Python code of a process on this machine, to which `ask(method, path, body)` and `connect()` are known; gives what it prints.

        `wrap` goes in front of it, and is what it is confined by.
        """
        prefix = [*(self.before if who is None else become(who)), *wrap]
        path = "/run/ringfort/api.sock" if self.space >= 0 else str(self.runtime / "ringfort/api.sock")
        source = f"""
import http.client, json, socket
def connect():
    line = http.client.HTTPConnection("localhost")
    line.sock = socket.socket(socket.AF_UNIX)
    line.sock.connect({path!r})
    return line
def ask(method, path, body=None, headers=()):
    line = connect()
    line.request(method, path, json.dumps(body) if body is not None else None,
                 {{"Content-Type": "application/json", **dict(headers)}} if body is not None else dict(headers))
    answer = line.getresponse()
    return answer.status, answer.read()
{code}
"""
        return subprocess.run([*prefix, "/usr/bin/python3", "-c", source], env=self.env, cwd="/", capture_output=True,
                              text=True, timeout=60, check=False)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            os.kill(self.pid, number)
        return self.process.wait(40)

    def close(self):
        try:
            self.end()
        finally:
            self.process.stderr.close()
            for fd in (self.space, self.root):
                if fd >= 0:
                    os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()


def sockets_of(pid):
    """Of a process, but for those that are closed while we look."""
    found = set()
    with contextlib.suppress(OSError):
        for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(os.readlink(path))
    return {name for name in found if name.startswith("socket:")}


def raw(server, data, seconds=10):
    """What comes back for bytes as they stand, until the end of the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as sock:
        sock.sendall(data)
        got = b""
        with contextlib.suppress(OSError):
            while chunk := sock.recv(65536):
                got += chunk
        return got
