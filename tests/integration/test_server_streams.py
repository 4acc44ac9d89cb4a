"""Many bytes and many clients: output as it is, slow readers, halves of bodies, idle connections; and the front stays small."""
import base64
import contextlib
import json
import pathlib
import resource
import select
import socket
import sys

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = "/v1/run"
BOXES = "/v1/sandboxes"
MIB = 1 << 20
RAW = {"Accept": "application/octet-stream"}


def soon(is_so):
    assert eventually(is_so, 30)


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"streams-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def box(server):
    made = server.post(BOXES, {"timeout": 600})
    assert made.status == 201, made.body
    yield made.json["id"]
    server.delete(f"{BOXES}/{made.json['id']}")


def sizer(server):
    """A function that tells how much memory the front has."""
    front = server.children()["ringfort-front"][0]
    return lambda: int(pathlib.Path(f"/proc/{front}/statm").read_text().split()[1]) * 4096


def head(server, method, path, key=None, **fields):
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key or server.key}\r\n" +
            "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items()) + "\r\n").encode()


class Raw:
    """An answer in chunks, read by hand: http.client passes trailers over."""

    def __init__(self, server, path, body):
        text = json.dumps(body).encode()
        self.sock = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.sock.sendall(head(server, "POST", path, Accept="application/octet-stream", Content_Type="application/json",
                               Content_Length=len(text)) + text)
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.fields = self.read_fields()

    def read_fields(self):
        rows = iter(lambda: self.file.readline().rstrip(b"\r\n"), b"")
        return dict(row.decode().split(": ", 1) for row in rows)

    def chunks(self):
        while size := int(self.file.readline(), 16):
            yield self.file.read(size)
            assert self.file.read(2) == b"\r\n"
        self.trailer = self.read_fields()

    def close(self):
        self.file.close()
        self.sock.close()


def raw(server, path, body):
    with contextlib.closing(Raw(server, path, body)) as answer:
        assert answer.status == 200 and answer.fields["Content-Type"] == "application/octet-stream"
        return b"".join(answer.chunks()), answer.trailer


# --- output as it is ---

ENDS = {
    "a program": ({"argv": ["echo", "hi"]}, b"hi\n", {"X-Ringfort-Status": "ok", "X-Ringfort-Exit-Code": "0"}),
    "any bytes": ({"command": "printf '\\377\\000\\303'"}, b"\xff\0\xc3",
                  {"X-Ringfort-Status": "ok", "X-Ringfort-Exit-Code": "0"}),
    "one that fails": ({"command": "echo no >&2; exit 3"}, b"",
                       {"X-Ringfort-Status": "failed", "X-Ringfort-Exit-Code": "3",
                        "X-Ringfort-Stderr": base64.b64encode(b"no\n").decode()}),
    "one that is killed": ({"command": "echo a; kill -9 $$"}, b"a\n",
                           {"X-Ringfort-Status": "failed", "X-Ringfort-Signal": "9"}),
    "one that says much besides": ({"command": "seq 1000 >&2"}, b"",
                                   {"X-Ringfort-Status": "ok", "X-Ringfort-Exit-Code": "0", "X-Ringfort-Stderr":
                                    base64.b64encode("".join(f"{i}\n" for i in range(1, 1001)).encode()[-1500:]).decode()}),
    "one that is none": ({"argv": ["no-such-program"]}, b"", {"X-Ringfort-Status": "error"}),
    "one that takes too long": ({"command": "echo a; sleep 30", "timeout": 1}, b"a\n", {"X-Ringfort-Status": "timeout"}),
    "input": ({"argv": ["cat"], "stdin": "x" * 300000}, b"x" * 300000,
              {"X-Ringfort-Status": "ok", "X-Ringfort-Exit-Code": "0"}),
}


@pytest.mark.parametrize("asked, wanted, trailer", ENDS.values(), ids=ENDS)
def test_output_is_given_as_it_is_and_the_result_behind_it(server, box, asked, wanted, trailer):
    for path in (RUN, f"{BOXES}/{box}/exec"):
        got, told = raw(server, path, asked)
        if trailer["X-Ringfort-Status"] == "timeout":
            told = {"X-Ringfort-Status": told["X-Ringfort-Status"]}
        assert (got, told) == (wanted, trailer), path


def test_output_comes_while_the_program_runs(server, box):
    for path in (RUN, f"{BOXES}/{box}/exec"):
        with contextlib.closing(Raw(server, path, {"command": "echo one; sleep 60"})) as answer:
            assert next(answer.chunks()) == b"one\n"
    soon(lambda: server.post(f"{BOXES}/{box}/exec", {"command": "grep -lx sleep /proc/[0-9]*/comm"}).json["stdout"] == "")


def test_more_output_than_a_run_may_have_is_cut_and_that_is_said(server):
    got, told = raw(server, RUN, {"command": "head -c 9000000 /dev/zero", "limits": {"output": "2M"}})
    assert len(got) == 2 * MIB
    assert told["X-Ringfort-Status"] == "output" and told["X-Ringfort-Truncated"] == "true"


def test_what_can_not_be_run_is_an_error_with_its_status(server):
    for path, body, status in ((f"{BOXES}/none/exec", {"argv": ["true"]}, 404), (RUN, {}, 422),
                               (RUN, {"argv": ["true"], "limits": {"memory": "-1"}}, 422)):
        answer = server.post(path, body, headers=RAW)
        assert answer.status == status and answer.headers["Content-Type"] == "application/json"


def test_as_much_output_as_there_is_comes_whole_and_the_front_does_not_grow(server, box):
    """100 MB of a pattern whose every byte is known, through pipe and socket, in pieces of all sizes."""
    size, most, at = 100_000_000, 0, 0
    front_bytes = sizer(server)
    before = front_bytes()
    pattern = b"".join(b"%07d\n" % i for i in range(500000))
    twice = memoryview(pattern * 2)
    with contextlib.closing(Raw(server, f"{BOXES}/{box}/exec", {"command":
                            f"seq -f %07.0f 0 499999 >/tmp/p; while cat /tmp/p; do :; done | head -c {size}"})) as answer:
        for chunk in answer.chunks():
            assert twice[at % len(pattern):][:len(chunk)] == chunk, at
            at += len(chunk)
            most = max(most, front_bytes())
    assert at == size and answer.trailer["X-Ringfort-Exit-Code"] == "0"
    assert most - before < 16 * MIB


def test_who_reads_slowly_slows_the_program_down_and_nothing_grows(server, box):
    front_bytes = sizer(server)
    before, counter = front_bytes(), "/tmp/counter"
    line = {"command": f"i=0; while head -c 1000000 /dev/zero; do i=$((i+1)); echo $i >{counter}; done"}
    with contextlib.closing(Raw(server, f"{BOXES}/{box}/exec", line)) as answer:
        chunks = answer.chunks()
        next(chunks)

        def count():
            return int(server.post(f"{BOXES}/{box}/exec", {"argv": ["cat", counter]}).json["stdout"] or 0)

        seen = []

        def stands():
            seen.append(count())
            return len(seen) > 5 and len(set(seen[-5:])) == 1

        soon(stands)
        assert seen[-1] < 40 and front_bytes() - before < 16 * MIB
        got = 0
        while got < 60 * MIB:
            got += len(next(chunks))
        soon(lambda: count() > seen[-1])


# --- figures ---

def test_what_a_sandbox_uses_is_told_once_or_again_and_again(server, box):
    path = f"{BOXES}/{box}/metrics"
    first = server.get(path).json
    assert first["id"] == box and set(first) == {"id", "at_ms", "uptime_ms", "expires_in_ms", "cpu_ms", "memory", "memory_peak",
                                                 "pids", "disk"}
    server.post(f"{BOXES}/{box}/exec", {"command": "head -c 5000000 /dev/zero >/tmp/x; i=0; while [ $i -lt 300000 ]; do"
                                                   " i=$((i+1)); done"})
    later = server.get(path).json
    assert later["disk"] - first["disk"] >= 5000000 and later["cpu_ms"] > first["cpu_ms"]
    assert later["uptime_ms"] >= first["uptime_ms"] and later["memory"] >= 5000000
    with contextlib.closing(server.connect()) as line:
        line.request("GET", f"{path}?interval_ms=100", headers={"Accept": "text/event-stream",
                                                                "Authorization": f"Bearer {server.key}"})
        answer = line.getresponse()
        rows = []
        while len(rows) < 3:
            row = answer.readline()
            if row.startswith(b"data: "):
                rows.append(json.loads(row[6:])["uptime_ms"])
        assert rows == sorted(set(rows))
        server.delete(f"{BOXES}/{box}")
        assert b"event: error\n" in answer.read()  # and that is its end
    assert server.get(path).status == 404
    assert server.get(f"{BOXES}/{box}/metrics?interval_ms=5").status == 422


def test_what_a_sandbox_uses_is_nobody_elses_business(server, box):
    assert server.get(f"{BOXES}/{box}/metrics", key=server.make_key()).status == 404
    assert server.get(f"{BOXES}/{box}/metrics", key="").status == 401


# --- halves, giants, crowds ---

def test_a_body_of_a_gigabyte_is_refused_at_its_first_bytes(server):
    front_bytes = sizer(server)
    before = front_bytes()
    for fields in ({"Content_Length": 1 << 30}, {"Transfer_Encoding": "chunked"}):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
            sock.sendall(head(server, "POST", RUN, Content_Type="application/json", **fields))
            piece = b"x" * 65536
            chunk = piece if "Content_Length" in fields else b"10000\r\n" + piece + b"\r\n"
            sent = 0
            with contextlib.suppress(OSError):
                while sent < 1 << 30 and not select.select([sock], [], [], 0)[0]:
                    sock.sendall(chunk)
                    sent += len(piece)
            assert sock.recv(12) == b"HTTP/1.1 413" and sent < 16 * MIB
    assert front_bytes() - before < 32 * MIB


def test_halves_of_bodies_fill_only_what_there_is_for_them(server):
    """64 MiB of one key, 160 MiB of all: who is beyond that is told to come again, and others go on."""
    front_bytes = sizer(server)
    before, held, refused = front_bytes(), [], {}
    piece = b'{"x":"' + b"y" * (3 * MIB)
    keys = [server.make_key() for _ in range(4)]
    try:
        for key, most in ((keys[0], 24), (keys[1], 21), (keys[2], 21)):
            for _ in range(most):
                sock = socket.create_connection(("127.0.0.1", server.port), timeout=60)
                held.append(sock)
                sock.sendall(head(server, "POST", RUN, key, Content_Type="application/json", Content_Length=4 * MIB) + piece)

        def look():
            for sock in select.select(held, [], [], 0.1)[0]:
                words = sock.recv(65536).decode()
                if words:
                    refused.setdefault(words.split()[1], []).append("\r\nRetry-After: 1\r\n" in words)
            return set(refused) == {"429", "503"}

        soon(look)
        assert all(all(rows) for rows in refused.values()), refused
        assert front_bytes() - before < 400 * MIB
        assert server.get("/v1/health").status == 200
    finally:
        for sock in held:
            sock.close()
    soon(lambda: server.post(RUN, {"argv": ["true"], "stdin": "z" * MIB}, key=keys[0]).status == 200)


def test_ten_thousand_idle_connections_cost_little_and_others_are_served(server):
    want = 10000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    front = server.children()["ringfort-front"][0]
    allowed = int(next(row for row in pathlib.Path(f"/proc/{front}/limits").read_text().splitlines()
                       if row.startswith("Max open files")).split()[3])
    if min(hard, allowed) < want + 500:
        pytest.skip(f"this machine allows {min(hard, allowed)} open files")
    front_bytes = sizer(server)
    before, held = front_bytes(), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, want + 500), hard))
    try:
        for _ in range(want):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            held.append(sock)
            sock.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for sock in held[::97] + held[-1:]:
            assert sock.recv(12) == b"HTTP/1.1 200"
        assert front_bytes() - before < 200 * MIB
        assert server.post(RUN, {"argv": ["echo", "hi"]}).json["stdout"] == "hi\n"
    finally:
        for sock in held:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    soon(lambda: server.get("/v1/health").status == 200)
