"""A front that was taken over: what it had of others ends with it, and with a key what the key had, whatever the front does."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sys
import threading
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from websockets import WebSocket  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = "/v1/run"
BOXES = "/v1/sandboxes"

# In the place of ringfort-front: the first one that is started does what ORDER says, and later ones are the real one.  The accomplice is a process that
# the front gave its connections to, and outlives it.
FRONT = r"""#!/usr/bin/python3 -I
import os, pathlib, select, signal, socket, struct, sys, time
here = pathlib.Path(__file__).resolve().parent
notes = pathlib.Path("@NOTES@")
try:
    os.open(notes / "begun", os.O_CREAT | os.O_EXCL)
except OSError:
    os.execv(here / "ringfort-front-real", [str(here / "ringfort-front"), *sys.argv[1:]])
(notes / "pid").write_text(str(os.getpid()))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
host = socket.socket(fileno=3)

def message(kind, body=b"", number=0):
    return struct.pack("=IHHQ", len(body), 3, kind, number) + body

def take(kind):
    while True:
        data, fds, _, _ = socket.recv_fds(host, 65536, 9)
        assert data, "the server has gone"
        if struct.unpack("=IHHQ", data[:16])[2] == kind:
            return data[16:], fds

take(45)
host.send(message(52))
while not (notes / "order").exists():
    time.sleep(0.05)
order, key = (notes / "order").read_text().split()

if order == "deaf":  # asks and asks, and reads no answer
    for i in range(20000):
        host.send(message(53, b"rfk_nobody", i + 1))
    time.sleep(600)

host.send(message(53, key.encode(), 7))
lines = dict(zip(("warden", "clerk"), take(47)[1]))
(notes / "holds").write_text(" ".join(lines))
if os.fork() == 0:
    os.setsid()
    host.close()
    for name, fd in lines.items():
        end = select.select([fd], [], [], 60)[0]
        said = os.read(fd, 65536) if end else b"nothing"
        (notes / name).write_text("ended" if said == b"" else repr(said))
    os._exit(0)
if order == "nonsense":
    host.send(b"nonsense")
time.sleep(600)  # also when the key is removed, and when the server has hung up
"""


class Taken(Server):
    """A server whose first front is FRONT, which acts once it is told how."""
    def __init__(self, ringfort, who, folder):
        self.notes, programs = folder / "notes", folder / "bin"
        for path in (folder, self.notes, programs):
            path.mkdir()
            path.chmod(0o777)
        for program in pathlib.Path(ringfort).parent.iterdir():
            name = "ringfort-front-real" if program.name == "ringfort-front" else program.name
            shutil.copy(program, programs / name)
        (programs / "ringfort-front").write_text(FRONT.replace("@NOTES@", str(self.notes)))
        (programs / "ringfort-front").chmod(0o755)
        super().__init__(str(programs / "ringfort"), who, folder / "run")

    def tell(self, order, key="-"):
        (self.notes / "new").write_text(f"{order} {key}")
        (self.notes / "new").chmod(0o644)
        (self.notes / "new").rename(self.notes / "order")

    def read(self, name):
        path = self.notes / name
        return path.read_text() if path.exists() else ""

    @property
    def has_old_front(self):
        return os.path.exists(f"/proc/{self.read('pid')}/exe")


@pytest.fixture
def taken(ringfort, as_who, public):
    with Taken(ringfort, as_who, public / f"taken-{as_who}-{time.monotonic_ns()}") as server:
        yield server
        if server.has_old_front:
            os.kill(int(server.read("pid")), signal.SIGKILL)


@pytest.fixture
def server(ringfort, as_who, public):
    with Server(ringfort, as_who, public / f"keys-{as_who}-{time.monotonic_ns()}") as server:
        yield server


def id_of(key):
    return key.split("_")[1]


def is_over(pid):
    """Gone, or a zombie, which has closed what it had."""
    try:
        return "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def can_listen(port):
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
            sock.listen()
        except OSError:
            return False
    return True


# --- the front ---

def test_what_a_front_had_ends_with_it_and_so_does_it(taken):
    """It says nonsense and stays; somebody else has its connections.  The server kills the one, the warden and the clerk end the others."""
    taken.tell("nonsense", taken.key)
    taken.read_until("is started anew")
    assert eventually(lambda: not taken.has_old_front, 10), "it was not killed"
    assert taken.read("holds") == "warden clerk"
    assert eventually(lambda: taken.read("warden") and taken.read("clerk"), 20)
    assert (taken.read("warden"), taken.read("clerk")) == ("ended", "ended")
    assert taken.post(RUN, {"argv": ["echo", "on"]}).json["stdout"] == "on\n"


def test_a_front_that_does_not_hear_of_a_removed_key_has_nothing_of_it(taken):
    key = taken.make_key("--tenant=other")
    taken.tell("silent", key)
    assert eventually(lambda: taken.read("holds"), 10)
    time.sleep(0.5)
    assert not taken.read("warden")
    assert taken.run("key", "rm", id_of(key)).returncode == 0
    assert eventually(lambda: taken.read("warden") and taken.read("clerk"), 20)
    assert (taken.read("warden"), taken.read("clerk")) == ("ended", "ended")
    assert taken.has_old_front, "it may have other keys', and serves on"


def test_a_front_that_does_not_read_keeps_nobody_waiting_and_is_replaced(taken):
    """It has asked thousands of times, and takes no answer: none of them is waited for."""
    taken.tell("deaf")
    taken.read_until("ringfort-front does not read, and is killed", 25)
    taken.read_until("is started anew")
    assert not taken.has_old_front
    assert taken.post(RUN, {"argv": ["echo", "on"]}).json["stdout"] == "on\n"


def test_a_front_that_would_outlive_its_server_does_not(server):
    """It is stopped, so it hears of nothing, as one that does not want to; and the server is killed, so nobody else ends it."""
    front, = server.children()["ringfort-front"]
    os.kill(front, signal.SIGSTOP)
    assert eventually(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{front}/status").read_text(), 10)
    try:
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: is_over(front), 10), "it lives, and has the port"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(front, signal.SIGKILL)
    assert can_listen(server.port), "somebody has the port"


# --- a key ---

def test_a_removed_keys_runs_end_and_its_tenants_sandboxes_stay(server):
    mark = f"8766{time.monotonic_ns()}"
    key, other = server.make_key("--tenant=acme"), server.make_key("--tenant=acme")
    box = server.post(BOXES, {}, key=key).json["id"]
    assert server.post(f"{BOXES}/{box}/exec", {"command": "sleep 60 & echo $! >pid", "background": True}, key=key).status == 202
    said = {}

    def run(name, path):
        said[name] = server.post(path, {"command": f": {mark}; sleep 60", "timeout": 120}, key=key)
    threads = [threading.Thread(target=run, args=at) for at in (("run", RUN), ("exec", f"{BOXES}/{box}/exec"))]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(processes_with(mark)) >= 2, 20)
    assert server.run("key", "rm", id_of(key)).returncode == 0
    for thread in threads:
        thread.join(20)
    for name in ("run", "exec"):
        assert said[name].status == 401 and "removed" in said[name].json["error"]["message"], (name, said[name].body)
    assert eventually(lambda: not processes_with(mark), 20), "it runs on"
    assert server.get(f"{BOXES}/{box}", key=other).json["state"] == "running"
    assert server.post(f"{BOXES}/{box}/exec", {"command": "kill -0 $(cat pid)"}, key=other).json["exit_code"] == 0
    assert server.get(f"{BOXES}/{box}", key=key).status == 401


def test_a_key_that_came_to_anothers_terminal_loses_it_when_it_is_removed(server):
    key, guest = server.make_key("--tenant=acme"), server.make_key("--tenant=acme")
    box = server.post(BOXES, {}, key=key).json["id"]

    def connect(path, who):
        return WebSocket(server.port, f"{BOXES}/{box}/{path}", {"Authorization": f"Bearer {who}"})
    with connect("exec", key) as first:
        first.send({"argv": ["/bin/sh"], "terminal": {"rows": 24, "columns": 80}})
        number = first.receive()["started"]["number"]
        with connect(f"terminals/{number}", guest) as second:
            assert second.receive()["attached"]["number"] == number
            assert server.run("key", "rm", id_of(guest)).returncode == 0
            second.all()
            assert second.closed == (1008, "the key was removed")
    with connect(f"terminals/{number}", key) as again:  # it is the other key's, and goes on
        assert again.receive()["attached"]["number"] == number



# --- the unix socket ---

ASK = "print(*ask('GET', '/v1/key'))"


def test_a_process_that_is_confined_needs_a_key_on_the_socket_too(server, as_who):
    """The uid is the same, and the folder is seen: what the process could not do itself it is not done here for it."""
    free = server.local(ASK)
    assert free.stdout.startswith("200 "), free
    confined = {"no_new_privs": ["setpriv", "--no-new-privs"],
                "network": ["unshare", "--net"] if as_who == "root" else ["unshare", "--user", "--map-current-user", "--net"],
                "capabilities": ["setpriv", "--bounding-set=-sys_boot", "--"]}
    if as_who == "user":
        del confined["capabilities"]
    for name, wrap in confined.items():
        said = server.local(ASK, wrap=wrap).stdout
        assert said.startswith("401 ") and "no_key" in said, (name, said)
        said = server.local(ASK.replace("')", f"', headers={{'X-API-Key': '{server.key}'}})"), wrap=wrap).stdout
        assert said.startswith("200 ") and server.get("/v1/key").json["id"] in said, (name, said)
    assert server.local(ASK).stdout.startswith("200 "), "others are served on"
    server.read_until("somebody on api.sock needs a key")
