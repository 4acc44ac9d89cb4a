"""The HTTP core as a server: real clients, and clients that no library would be.

http/probe.c is a server that does all a handler can do.  It is driven here by curl, Python's http.client, nginx as a
proxy in front of it, and bare sockets.  Where there is a build with sanitizers, its probe is driven, too.
"""
import contextlib
import http.client
import pathlib
import resource
import socket
import subprocess
import threading
import time

import pytest

from helpers import eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBES = {"plain": ROOT / "build/tests/http-probe", "sanitized": ROOT / "build-asan/tests/http-probe"}
HELLO = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n"


class Probe:
    """A server that runs; `seen` is what it told when it ended."""

    def __init__(self, program, *limits, where="tcp", files=None):
        def fewer():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        self.process = subprocess.Popen([program, where, *limits], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, preexec_fn=fewer if files else None)
        self.where = self.process.stdout.readline().decode().strip()
        self.seen = None

    def connect(self, timeout=10):
        return socket.create_connection(("127.0.0.1", int(self.where)), timeout=timeout)

    def url(self, path):
        return f"http://127.0.0.1:{self.where}{path}"

    def stats(self):
        with self.connect() as sock:
            words = talk(sock, b"GET /stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").split()
        return {words[at].decode(): int(words[at + 1]) for at in range(len(words) - 8, len(words), 2)}

    def memory(self):
        """Kilobytes that are resident."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0])

    def end(self):
        out, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0 and not err, err.decode()
        words = out.decode().split()
        self.seen = dict(zip(words[::2], map(int, words[1::2])))
        assert self.seen["whole"] + self.seen["cut"] == self.seen["requests"], "an exchange did not end once"


@pytest.fixture(params=list(PROBES))
def program(request):
    if not PROBES[request.param].exists():
        pytest.skip(f"there is no {PROBES[request.param].relative_to(ROOT)}")
    return PROBES[request.param]


@pytest.fixture
def probe(program):
    """probe(*limits) starts a server, and looks at its end whether every exchange ended once."""
    started = []

    def start(*limits, **options):
        started.append(Probe(program, *limits, **options))
        return started[-1]

    yield start
    for one in started:
        one.end()


def read_all(sock):
    """All bytes up to the end; a reset is a failure of the test that did not expect one."""
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def talk(sock, request):
    sock.sendall(request)
    return read_all(sock)


def read_some(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        assert part, f"the end, after {data!r}"
        data += part
    return data


def curl(*words, code=0):
    done = subprocess.run(["curl", "-s", "-S", "-m", "20", *map(str, words)], capture_output=True, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout


@pytest.fixture
def blob(tmp_path):
    path = tmp_path / "blob"
    path.write_bytes(bytes(range(256)) * 12000)
    return path


# --- clients that everybody has ---

def test_curl_is_answered_and_keeps_its_connection(probe, need):
    need("curl")
    server = probe()
    out = curl("-v", server.url("/hello"), server.url("/hello"), "-w", "%{num_connects}\n")
    assert out == b"hello\n1\nhello\n0\n"


@pytest.mark.parametrize("version", ["--http1.1", "--http1.0"])
def test_curl_gets_long_answers_whole(probe, need, version):
    need("curl")
    server = probe()
    for path in ("/sized?10000000", "/stream?10000000"):
        assert len(curl(version, server.url(path))) == 10000000
    assert curl(version, "-I", server.url("/sized?5")).startswith(b"HTTP/1.1 200 OK\r\n")
    assert curl(version, "-o", "/dev/null", "-w", "%{http_code}", server.url("/nothing")) == b"204"


def test_curl_sends_bodies_in_every_way(probe, need, blob):
    need("curl")
    server = probe()
    size = blob.stat().st_size
    for words in (["--data-binary", f"@{blob}"], ["-T", blob], ["-T", blob, "-H", "Transfer-Encoding: chunked"],
                  ["-T", blob, "-H", "Expect: 100-continue"], ["-T", blob, "-H", "Expect:"]):
        assert curl(*words, server.url("/sink")) == b"%d\n" % size
        assert curl(*words, server.url("/echo")) == blob.read_bytes()


def test_an_answer_before_the_body_arrives(probe, need, blob):
    """One that is sent all the same is read as far as a server promises to (drain_bytes); of a longer one the end may be a reset."""
    need("curl")
    server = probe()
    short = blob.with_name("short")
    short.write_bytes(blob.read_bytes()[:200_000])
    for body, expect in ((short, "Expect:"), (blob, "Expect: 100-continue")):
        out = curl("-T", body, "-H", expect, "-w", "%{http_code}", server.url("/no/such"))
        assert out == b"no such path\n404"


def test_a_unix_socket_is_as_good(probe, need, tmp_path):
    need("curl")
    probe(where=f"unix:{tmp_path}/s")
    out = curl("--unix-socket", tmp_path / "s", "http://a.example/fields", "http://a.example/sized?300000")
    assert out.startswith(b"GET /fields for a.example:0\nHost=a.example\n") and len(out) > 300000


def test_http_client_of_python(probe):
    server = probe()
    client = http.client.HTTPConnection("127.0.0.1", int(server.where), timeout=10)
    for turn in range(50):
        client.request("POST", "/echo", body=iter([b"a" * turn, b"b" * 1000]), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
        assert client.getresponse().read() == b"a" * turn + b"b" * 1000
        client.request("GET", f"/sized?{turn}")
        assert len(client.getresponse().read()) == turn
    client.close()
    assert server.stats()["requests"] == 101


def test_nginx_as_a_proxy_in_front(probe, need, tmp_path, blob):
    need("nginx", "curl")
    server = probe()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "conf").write_text(f"""
        daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error; worker_processes 1;
        events {{ }}
        http {{
            access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;
            fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
            client_max_body_size 0;
            upstream ours {{ server 127.0.0.1:{server.where}; keepalive 4; }}
            server {{
                listen 127.0.0.1:{port};
                location / {{ proxy_pass http://ours; proxy_http_version 1.1; proxy_set_header Connection "";
                              proxy_set_header Host a.example; proxy_request_buffering off; proxy_buffering off; }}
            }}
        }}""")
    tmp_path.chmod(0o755)
    proxy = subprocess.Popen(["nginx", "-c", tmp_path / "conf", "-p", tmp_path, "-e", tmp_path / "error"],
                             stderr=subprocess.DEVNULL)
    try:
        def is_up():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return True
            return False

        assert eventually(is_up)
        url = f"http://127.0.0.1:{port}"
        for _ in range(5):
            assert curl(f"{url}/hello") == b"hello\n"
            assert len(curl(f"{url}/stream?3000000")) == 3000000
            assert curl("-T", blob, "-H", "Transfer-Encoding: chunked", f"{url}/echo") == blob.read_bytes()
            assert curl("-T", blob, f"{url}/sink") == b"%d\n" % blob.stat().st_size
    finally:
        proxy.terminate()
        proxy.wait(10)


# --- clients that nobody has ---

def test_requests_in_one_piece_are_answered_in_order(probe):
    server = probe()
    with server.connect() as sock:
        sock.sendall(HELLO * 100)
        assert read_some(sock, len(ANSWER) * 100) == ANSWER * 100


def test_a_request_byte_by_byte(probe):
    server = probe()
    with server.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n":
            sock.sendall(bytes([byte]))
            time.sleep(0.001)
        wanted = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\nX: y\r\n\r\n"
        assert read_some(sock, len(wanted)) == wanted


def test_who_sends_no_more_is_still_answered(probe):
    server = probe()
    with server.connect() as sock:
        sock.sendall(HELLO + HELLO + b"GET /slow?200 HTTP/1.1\r\nHost: a\r\n\r\n")
        sock.shutdown(socket.SHUT_WR)
        answer = read_all(sock)
        assert answer.startswith(ANSWER * 2) and answer.endswith(b"late\n")


def test_a_client_that_goes_away_is_no_trouble(probe):
    server = probe()
    for request in (b"", b"GET", HELLO, b"GET /slow?100 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /stream?9000000 HTTP/1.1\r\nHost: a\r\n\r\n",
                    b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"):
        with server.connect() as sock:
            sock.sendall(request)
        with server.connect() as sock:  # and with a reset
            sock.sendall(request)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    assert eventually(lambda: server.stats()["connections"] == 1)


@pytest.mark.parametrize("request_, status, words", [
    (b"GET / HTTP/1.1\nHost: a\n\n", 400, b"a line ends in LF alone"),
    (b"GET / HTTP/1.1\r\n\r\n", 400, b"HTTP/1.1 needs a Host field"),
    (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, b"a version other"),
    (b"GET /" + b"a" * 20000, 414, b"the first line is too long"),
    (b"GET / HTTP/1.1\r\nX: " + b"a" * 20000, 431, b"a field is too long"),
    (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 101 + b"\r\n", 431, b"too many fields"),
    (b"POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + b"a" * 1001, 413, b"the body is too long"),
    (b"POST /sink HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, b"a Transfer-Encoding other"),
    (b"POST /sink HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400, b"a chunk's size"),
    (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 400, b"a control character"),
])
def test_what_breaks_a_rule_is_told_and_closed(probe, request_, status, words):
    server = probe("body_bytes=1000")
    with server.connect() as sock:
        sock.sendall(HELLO)
        assert read_some(sock, len(ANSWER)) == ANSWER
        answer = talk(sock, request_)
    assert answer.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close\r\n" in answer and words in answer


def test_a_refusal_is_readable_though_more_is_sent(probe):
    """Bytes that nobody reads would make the kernel reset the connection: the client could not send on, and see no answer."""
    server = probe()
    with server.connect() as sock:
        sock.sendall(b"GET / HTTP/1.1\nHost: a\r\n\r\n" + b"x" * 50000)
        for _ in range(3):
            time.sleep(0.1)
            sock.sendall(b"x" * 5000)
        assert b"400 Bad Request" in read_all(sock)


def test_a_body_that_waits_is_asked_for_once(probe):
    server = probe()
    with server.connect() as sock:
        sock.sendall(b"POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        wanted = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert read_some(sock, len(wanted)) == wanted
        sock.sendall(b"abcd" + HELLO)
        answer = read_some(sock, len(ANSWER) - 4 + len(ANSWER))
        assert b"100" not in answer and answer.endswith(b"\r\n\r\n4\n" + ANSWER)
    with server.connect() as sock:  # refused: it is not asked for, and the connection ends
        answer = talk(sock, b"POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 404") and b"Connection: close\r\n" in answer


def test_an_answer_that_is_not_what_was_announced_is_cut(probe):
    server = probe()
    for path in (b"/short", b"/long"):
        with server.connect() as sock:
            sock.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path)
            with pytest.raises(ConnectionResetError):
                read_all(sock)
    assert server.stats()["cut"] == 2


# --- other protocols ---

@pytest.mark.parametrize("head, answer", [
    (b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
    (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
     b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"),
])
def test_a_connection_is_handed_over_with_all_its_bytes(probe, head, answer):
    server = probe()
    with server.connect() as sock:
        sock.sendall(HELLO + head + b"\x16\x03 not HTTP at all\n\n")
        wanted = ANSWER + answer + b"\x16\x03 not HTTP at all\n\n"
        assert read_some(sock, len(wanted)) == wanted
        sock.sendall(b"x" * 100000)
        assert read_some(sock, 100000) == b"x" * 100000
    assert eventually(lambda: server.stats()["connections"] == 1)


# --- time ---

def until_end(sock):
    """Seconds until the connection ends, and what came before."""
    begin = time.monotonic()
    data = read_all(sock)
    return time.monotonic() - begin, data


def test_a_head_that_drips_is_not_waited_for(probe):
    server = probe("head_ms=400", "idle_ms=60000")
    with server.connect() as sock:
        stop = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                for byte in b"GET /hello HTTP/1.1\r\n" + b"X: y\r\n" * 1000:
                    sock.sendall(bytes([byte]))
                    if stop.wait(0.05):
                        return

        dripper = threading.Thread(target=drip)
        dripper.start()
        seconds, data = until_end(sock)
        stop.set()
        dripper.join()
    assert data.startswith(b"HTTP/1.1 408 ") and 0.3 < seconds < 5


def test_a_connection_without_a_request_is_closed_silently(probe):
    server = probe("idle_ms=300", "head_ms=60000")
    with server.connect() as sock:
        seconds, data = until_end(sock)
    assert data == b"" and 0.2 < seconds < 5
    with server.connect() as sock:
        sock.sendall(HELLO)
        seconds, data = until_end(sock)
    assert data == ANSWER and 0.2 < seconds < 5


def test_a_body_that_stalls_is_not_waited_for(probe):
    server = probe("stall_ms=300")
    with server.connect() as sock:
        sock.sendall(b"POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        seconds, data = until_end(sock)
    assert data.startswith(b"HTTP/1.1 408 ") and 0.2 < seconds < 5


def test_a_handler_that_stalls_is_not_the_clients_fault(probe):
    server = probe("stall_ms=200", "idle_ms=200", "head_ms=200")
    with server.connect() as sock:
        sock.sendall(b"GET /slow?800 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert until_end(sock)[1].endswith(b"late\n")


def test_a_handler_that_pauses_is_not_the_clients_fault(probe):
    server = probe("stall_ms=1000")
    with server.connect() as sock:
        sock.sendall(b"POST /later?1500 HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n" + b"x" * 10)
        time.sleep(1.7)  # its time runs again from when it is read
        sock.sendall(b"x")
        assert read_some(sock, 17) == b"HTTP/1.1 200 OK\r\n"


def test_a_client_that_takes_nothing_is_cut(probe):
    server = probe("stall_ms=300")
    with server.connect() as sock:
        sock.sendall(b"GET /stream?1000000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert eventually(lambda: server.stats()["cut"] == 1)


def test_all_takes_at_most_so_long(probe):
    server = probe("total_ms=300")
    with server.connect() as sock:
        sock.sendall(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
        seconds, data = until_end(sock)
    assert data.startswith(b"HTTP/1.1 504 ") and 0.2 < seconds < 5


# --- amounts ---

def test_neither_side_fills_the_others_memory(probe, program):
    server = probe("out_bytes=65536")
    before = server.memory()
    with server.connect() as taker, server.connect() as sender:
        taker.sendall(b"GET /stream?1000000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        sender.settimeout(1)
        sender.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
        sent = 0
        with pytest.raises(TimeoutError):  # what it sends comes back, and it does not read
            while sent < 1000000000:
                sent += sender.send(b"x" * 65536)
        if "asan" not in str(program):
            assert server.memory() - before < 6000
        assert sent < 50000000


def test_more_connections_than_allowed_wait(probe):
    server = probe("most=2")
    with server.connect() as one, server.connect() as two:
        for sock in (one, two):
            sock.sendall(HELLO)
            assert read_some(sock, len(ANSWER)) == ANSWER
        with server.connect() as three:
            three.sendall(HELLO)
            three.settimeout(0.3)
            with pytest.raises(TimeoutError):
                three.recv(1)
            one.close()
            three.settimeout(5)
            assert read_some(three, len(ANSWER)) == ANSWER


def test_descriptors_that_are_used_up_come_back(probe):
    server = probe(files=16)
    socks = [server.connect() for _ in range(40)]
    for sock in socks:
        sock.close()
    with server.connect() as sock:
        sock.sendall(HELLO)
        assert read_some(sock, len(ANSWER)) == ANSWER


def test_a_thousand_idle_connections_cost_little(probe, program):
    server = probe()
    server.stats()
    before = server.memory()
    socks = [server.connect() for _ in range(1000)]
    for sock in socks:  # a head and an answer that need much more
        sock.sendall(HELLO[:-2] + b"X: " + b"y" * 15000 + b"\r\nY: " + b"z" * 15000 + b"\r\n\r\n")
        assert read_some(sock, len(ANSWER)) == ANSWER
        sock.sendall(b"GET /sized?50000 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert read_some(sock, 50000 + 42)[-4:] == b"\0" * 4
    assert server.stats()["connections"] == 1001
    if "asan" not in str(program):
        assert (server.memory() - before) / 1000 < 12, "kilobytes a connection"
    for sock in socks:
        sock.close()
    assert eventually(lambda: server.stats()["connections"] == 1)
