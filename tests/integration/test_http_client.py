"""The HTTP core as a client: real servers, and servers that lie, stall and hang up.

http/caller.c makes calls through a pool as it is told, a line at a time.  It is let loose on our own server, on nginx, on Python's
http.server, and on sockets that answer whatever a test wants.
"""
import contextlib
import http.server
import os
import socket
import subprocess
import threading
import time

import pytest

from helpers import eventually
from test_http import PROBES, ROOT, Probe

CALLERS = {name: path.parent / "http-caller" for name, path in PROBES.items()}
OK = b"HTTP/1.1 200 OK\r\n"


class Caller:
    def __init__(self, program, where, *limits):
        self.process = subprocess.Popen([program, str(where), *limits], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def call(self, method="GET", target="/", kind="none", count=0):
        return self.tell(f"{method} {target} {kind} {count}")

    def end(self):
        _, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0 and not err, err


@pytest.fixture(params=list(CALLERS))
def caller(request):
    """caller(port, *limits) starts a client."""
    program, started = CALLERS[request.param], []
    if not program.exists():
        pytest.skip(f"there is no {program.relative_to(ROOT)}")

    def start(where, *limits):
        started.append(Caller(program, where, *limits))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def odd():
    """odd(*answers) listens: each connection is read once and sent the next of the answers, which are bytes or functions of the socket."""
    listeners, threads = [], []

    def serve(listener, answers):
        for answer in answers:
            with contextlib.suppress(OSError):
                sock, _ = listener.accept()
                with sock:
                    sock.settimeout(10)
                    if callable(answer):
                        answer(sock)
                    else:
                        sock.recv(65536)
                        sock.sendall(answer)

    def start(*answers):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(10)
        listeners.append(listener)
        threads.append(threading.Thread(target=serve, args=(listener, answers), daemon=True))
        threads[-1].start()
        return listener.getsockname()[1]

    yield start
    for thread in threads:
        thread.join(15)
    for listener in listeners:
        listener.close()


@pytest.fixture
def server():
    one = Probe(PROBES["plain"])
    yield one
    one.end()


# --- servers that everybody has ---

def test_our_own_server_in_every_way(caller, server):
    for kind in ("length", "chunked"):  # on a connection that is not there yet
        assert caller(server.where).call("POST", "/sink", kind, 5000000).startswith("200 8 ")
    client = caller(server.where)
    assert client.call("GET", "/hello") == "200 6 542 new"
    assert client.call("GET", "/sized?9000000").startswith("200 9000000 ")
    assert client.call("GET", "/stream?9000000").startswith("200 9000000 ")
    assert client.call("HEAD", "/sized?5") == "200 0 0 kept"
    assert client.call("GET", "/nothing") == "204 0 0 kept"
    for kind in ("length", "chunked"):
        assert client.call("POST", "/echo", kind, 5000000) == f"200 5000000 {5000000 * ord('x')} kept"
        assert client.call("POST", "/sink", kind, 5000000).startswith("200 8 ")
    assert client.call("CONNECT", "a.example:443") == "tunnel 200 ping"
    assert client.call("GET", "/", "upgrade") == "tunnel 101 ping"
    assert client.call("GET", "/hello") == "200 6 542 new"


def test_a_unix_socket(caller, tmp_path):
    one = Probe(PROBES["plain"], where=f"unix:{tmp_path}/s")
    client = caller(f"unix:{tmp_path}/s")
    assert [client.call("GET", "/hello") for _ in range(2)] == ["200 6 542 new", "200 6 542 kept"]
    one.end()
    assert client.call("GET", "/hello").startswith(("error stale", "error connect"))


def test_http_server_of_python(caller, tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 300000)

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __init__(self, *words):
            super().__init__(*words, directory=tmp_path)

        def log_message(self, *words):
            pass

    for version in ("HTTP/1.1", "HTTP/1.0"):
        Handler.protocol_version = version
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as python:
            threading.Thread(target=python.serve_forever, daemon=True).start()
            client = caller(python.server_address[1])
            assert client.call("GET", "/file") == f"200 300000 {300000 * ord('x')} new"
            assert client.call("GET", "/none").startswith("404 ")
            assert client.call("HEAD", "/file").startswith("200 0 0 ")
            python.shutdown()


def test_nginx(caller, need, tmp_path):
    need("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"x" * 3000000)
    (tmp_path / "conf").write_text(f"""
        {"user root;" if os.geteuid() == 0 else ""}
        daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error; worker_processes 1;
        events {{ }}
        http {{
            access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;
            fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
            client_max_body_size 1000;
            server {{ listen 127.0.0.1:{port}; root {tmp_path}/root;
                      location = /say {{ return 200 "said"; }}
                      location = /zip {{ gzip on; gzip_types *; gzip_min_length 0; alias {tmp_path}/root/file; }} }}
        }}""")
    nginx = subprocess.Popen(["nginx", "-c", tmp_path / "conf", "-p", tmp_path, "-e", tmp_path / "error"],
                             stderr=subprocess.DEVNULL)
    try:
        def is_up():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return True
            return False

        assert eventually(is_up)
        client = caller(port)
        assert client.call("GET", "/say").startswith("200 4 ") and client.call("GET", "/say").endswith(" kept")
        assert client.call("GET", "/file") == f"200 3000000 {3000000 * ord('x')} kept"
        assert client.call("GET", "/none").startswith("404 ")
        assert client.call("POST", "/say", "length", 5000000).startswith("413 "), "answered before the body is sent"
        assert client.call("POST", "/say", "chunked", 900).startswith("200 4 ")
    finally:
        nginx.terminate()
        nginx.wait(10)


# --- servers that nobody has ---

@pytest.mark.parametrize("answer, words", [
    (b"", "the server ended the connection before its answer"),
    (OK, "the server ended the connection before its answer"),
    (OK + b"Content-Length: 5\r\n\r\nfour", "the server ended the connection before its answer"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n", "the server ended the connection before its answer"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfive5\r\n0\r\n\r\n", "a chunk's data is not followed by CR LF"),
    (OK + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n1", "more than one Content-Length"),
    (OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "both Content-Length and"),
    (OK + b"X: a\r\n b\r\n\r\n", "folded lines are obsolete"),
    (OK + b"X: " + b"a" * 20000, "a field is too long"),
    (OK + b"X: a\r\n" * 101 + b"\r\n", "too many fields"),
    (OK + b"\r\n" + b"a" * 1001, "the body is too long"),
    (b"SSH-2.0-x\r\n\r\n", "the version is not of the form"),
    (b"\x15\x03\x01", "a control character"),
    (b"HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "another protocol than was asked for"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 17, "too many interim answers"),
    (b"HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nfour", "a body where there can be none"),
])
def test_an_answer_that_is_wrong_fails_with_the_reason(caller, odd, answer, words):
    client = caller(odd(answer), "body_bytes=1000")
    told = client.call()
    assert told.startswith("error ") and words in told


@pytest.mark.parametrize("answer, told", [
    (OK + b"\r\nuntil the end", "200 13 1252 new"),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 1\r\nConnection: close\r\n\r\nx",
     "200 1 120 new"),
    (b"HTTP/1.0 200 OK\r\n\r\nold", "200 3 319 new"),
    (OK + b"Content-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 1 120 new"),
])
def test_odd_answers_that_are_right(caller, odd, answer, told):
    client = caller(odd(answer, OK + b"Content-Length: 1\r\n\r\ny"))
    assert client.call() == told
    assert client.call() == "200 1 121 new", "that connection is not used again"


def test_an_answer_byte_by_byte(caller, odd):
    def drip(sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.recv(65536)
        for byte in OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n":
            sock.sendall(bytes([byte]))
            time.sleep(0.001)

    assert caller(odd(drip)).call() == "200 3 294 new"


def test_an_answer_before_the_request_is_sent(caller, odd):
    """The server reads no more, and hangs up: what it said is heard all the same."""
    def refuse(sock):
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass

    assert caller(odd(refuse)).call("POST", "/", "length", 50000000).startswith("413 3 ")


def test_a_connection_that_ended_while_it_waited_is_told(caller, odd):
    """Closed while the client was busy elsewhere: the call fails as one that may be tried again.  While it waits: a new one."""
    port = odd(OK + b"Content-Length: 1\r\n\r\nx", OK + b"Content-Length: 1\r\n\r\ny", OK + b"Content-Length: 1\r\n\r\nz")
    client = caller(port)
    assert client.call() == "200 1 120 new"
    time.sleep(0.2)
    assert client.call().startswith("error stale ")
    assert client.call() == "200 1 121 new"
    assert eventually(lambda: client.tell("wait 50") == "waited 0")
    assert client.call() == "200 1 122 new"


def test_nobody_there(caller):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = caller(port)
    assert client.call() == "error connect: Connection refused"
    assert client.call() == "error connect: Connection refused"


# --- time and amounts ---

def timed(client, *words):
    begin = time.monotonic()
    told = client.call(*words)
    return told, time.monotonic() - begin


def test_a_server_that_does_not_accept(caller):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        fillers = []
        for _ in range(3):
            fillers.append(socket.socket())
            fillers[-1].setblocking(False)
            with contextlib.suppress(BlockingIOError):
                fillers[-1].connect(full.getsockname())
        told, seconds = timed(caller(full.getsockname()[1], "connect_ms=300"))
        assert told.startswith("error connect: ") and 0.2 < seconds < 5
        for sock in fillers:
            sock.close()


@pytest.mark.parametrize("limit, sends, words", [
    ("answer_ms=300", b"", "error wait for the answer"),
    ("answer_ms=300", OK + b"Content-Le", "error wait for the answer"),
    ("stall_ms=300", OK + b"Content-Length: 9\r\n\r\nabc", "error the server stalls"),
    ("total_ms=300", OK + b"Content-Length: 9\r\n\r\nabc", "error finish in time"),
])
def test_a_server_that_stalls(caller, odd, limit, sends, words):
    def stall(sock):
        sock.recv(65536)
        sock.sendall(sends)
        sock.recv(1)

    told, seconds = timed(caller(odd(stall), limit))
    assert told.startswith(words) and 0.2 < seconds < 5


def test_a_server_that_takes_nothing(caller, odd):
    told, seconds = timed(caller(odd(lambda sock: time.sleep(2)), "stall_ms=300"), "POST", "/", "length", 100000000)
    assert told.startswith("error the server stalls") and 0.2 < seconds < 5


def test_a_call_begun_where_another_ends_finds_its_connection(caller, server):
    told = caller(server.where).tell("load 8 400 /sized?100000").split()
    assert told[:4] == ["load", "400", "392", "40000000"]
    assert server.stats()["requests"] == 401


def test_more_wait_than_may(caller, server):
    client = caller(server.where, "most_idle=3")
    assert client.tell("load 8 400 /hello").startswith("load 400 ")
    assert client.tell("wait 1") == "waited 3"


def test_connections_wait_no_longer_than_they_may(caller, server):
    client = caller(server.where, "idle_ms=1500")
    assert client.call("GET", "/hello").endswith("new")
    assert client.tell("wait 50") == "waited 1"
    assert client.tell("wait 2000") == "waited 0"
    none = caller(server.where, "most_idle=0")
    assert none.call("GET", "/hello").endswith("new") and none.call("GET", "/hello").endswith("new")
    assert eventually(lambda: server.stats()["connections"] == 1)
