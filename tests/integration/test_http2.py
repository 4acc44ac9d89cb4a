"""HTTP/2 in front of HTTP/1.1, over TLS: real clients, and clients that no library would be.

http/front.c ends TLS and HTTP/2 as the gateway does, and hands requests on to http/probe.c.  Both carry sanitizers.
"""
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import time

import pytest

from helpers import eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRONT = ROOT / "build-asan/tests/http2-front"
PROBE = ROOT / "build-asan/tests/http-probe"
NAME = "front.test"

pytestmark = pytest.mark.skipif(not FRONT.exists(), reason="there is no build with sanitizers")

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Front:
    """Both programs, and what they told when they ended."""

    def __init__(self, folder, *limits):
        self.probe = self.start(PROBE, "tcp")
        self.ca = folder / "ca.pem"
        self.front = self.start(FRONT, self.port_of(self.probe), self.ca, *limits)
        self.port = int(self.port_of(self.front))

    def start(self, *words):
        return subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def port_of(self, process):
        return process.stdout.readline().decode().strip()

    def curl(self, path, *words):
        done = subprocess.run(["curl", "-sS", "--http2", "--cacert", self.ca, "--max-time", "30", "--resolve",
                               f"{NAME}:{self.port}:127.0.0.1", *words, f"https://{NAME}:{self.port}{path}"],
                              capture_output=True, check=False)
        return done

    def connect(self, protocols=("h2",)):
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(list(protocols))
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        return context.wrap_socket(sock, server_hostname=NAME)

    def memory(self):
        text = pathlib.Path(f"/proc/{self.front.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0])

    def files(self):
        return len(os.listdir(f"/proc/{self.front.pid}/fd"))

    def end(self):
        out, err = self.front.communicate(timeout=30)
        assert self.front.returncode == 0, err.decode()
        assert b"Sanitizer" not in err and b"runtime error" not in err, err.decode()
        _, probe_err = self.probe.communicate(timeout=30)
        assert self.probe.returncode == 0 and not probe_err, probe_err.decode()
        words = out.decode().split()
        return dict(zip(words[::2], map(int, words[1::2])))


@pytest.fixture
def front(tmp_path):
    started = []

    def start(*limits):
        started.append(Front(tmp_path, *limits))
        return started[-1]

    yield start
    for one in started:
        one.end()


def frame(kind, flags=0, stream=0, body=b""):
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def number(value, bits, first=0):
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes(out + [value])


def fields(*pairs):
    """HPACK: each literal, none kept."""
    return b"".join(b"\0" + number(len(name), 7) + name + number(len(value), 7) + value for name, value in pairs)


def head(path=b"/hello", method=b"GET", host=b"front.test", scheme=b"https", more=()):
    return fields((b":method", method), (b":scheme", scheme), (b":authority", host), (b":path", path), *more)


def frames(sock, until=None, timeout=10):
    """What comes, as (kind, flags, stream, body), until the end or until one satisfies."""
    sock.settimeout(timeout)
    data, seen = b"", []
    with contextlib.suppress(TimeoutError, ssl.SSLError, ConnectionError):
        while piece := sock.recv(65536):
            data += piece
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                size = int.from_bytes(data[:3], "big")
                one = (data[3], data[4], int.from_bytes(data[5:9], "big"), data[9:9 + size])
                data = data[9 + size:]
                seen.append(one)
                if until and until(one):
                    return seen
    return seen


def begin(front):
    sock = front.connect()
    sock.sendall(PREFACE + frame(SETTINGS))
    return sock


def goaway_of(seen):
    codes = [int.from_bytes(body[4:8], "big") for kind, _, _, body in seen if kind == GOAWAY]
    return codes[-1] if codes else None


def test_curl_gets_what_the_server_behind_says(front):
    one = front()
    done = one.curl("/hello", "-w", "%{http_version} %{http_code}")
    assert done.stdout == b"hello\n2 200", done
    done = one.curl("/nothing", "-w", "%{http_code}", "-o", os.devnull)
    assert done.stdout == b"204", done


def test_bodies_go_both_ways_whole(front, tmp_path):
    one = front()
    body = os.urandom(3_000_001)
    (tmp_path / "body").write_bytes(body)
    assert one.curl("/echo", "--data-binary", f"@{tmp_path}/body").stdout == body
    # Of unknown length.
    done = subprocess.run(["curl", "-sS", "--http2", "--cacert", one.ca, "--resolve",
                           f"{NAME}:{one.port}:127.0.0.1", "-T", "-", "-X", "POST",
                           f"https://{NAME}:{one.port}/echo"], input=body, capture_output=True, check=False)
    assert done.stdout == body, done.stderr


def test_head_and_empty_bodies(front):
    one = front()
    done = one.curl("/hello", "--head")
    assert b"content-length: 6" in done.stdout, done
    done = one.curl("/echo", "-X", "POST", "-d", "", "-w", "%{http_code}")
    assert done.stdout == b"200", done


@pytest.mark.skipif(not shutil.which("h2load"), reason="no h2load")
def test_thousands_of_requests_on_few_connections(front):
    one = front()
    files = one.files()
    done = subprocess.run(["h2load", "-n", "3000", "-c", "5", "-m", "50", f"--connect-to=127.0.0.1:{one.port}",
                           f"https://{NAME}:{one.port}/hello"], capture_output=True, text=True, check=False)
    assert "3000 succeeded" in done.stdout and "3000 2xx" in done.stdout, done.stdout
    assert eventually(lambda: one.files() <= files)


def test_an_answer_that_breaks_off_is_reset(front):
    one = front()
    done = one.curl("/short", "-w", "%{http_code}")
    assert done.returncode == 92 or done.stdout == b"502", done  # CURLE_HTTP2_STREAM; or before a byte of it was there


def test_who_speaks_no_http2_is_told_in_the_handshake(front):
    one = front()
    with pytest.raises(ssl.SSLError):
        one.connect(protocols=("spdy/3",))


@pytest.mark.parametrize("bad", [
    dict(scheme=b"http"), dict(host=b"a b"), dict(host=b""), dict(more=[(b"host", b"other.test")]),
    dict(more=[(b"content-length", b"5")]),
], ids=["scheme", "host", "nobody", "two-hosts", "length"])
def test_a_request_that_is_none_is_refused_alone(front, bad):
    one = front()
    with begin(one) as sock:
        sock.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 1, head(**bad)))
        sock.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 3, head()))
        seen = frames(sock, until=lambda f: f[2] == 3 and f[1] & END_STREAM and f[0] == DATA)
    about_first = [f for f in seen if f[2] == 1]
    assert about_first and (about_first[0][0] == RST or b"400" in about_first[0][3] or
                            about_first[0][3][:1] == b"\x8c"), about_first
    assert (DATA, END_STREAM, 3, b"hello\n") in seen or \
        b"hello\n" in b"".join(f[3] for f in seen if f[0] == DATA and f[2] == 3), seen


def test_connect_is_not_carried(front):
    one = front()
    with begin(one) as sock:
        sock.sendall(frame(HEADERS, END_HEADERS, 1, fields((b":method", b"CONNECT"), (b":authority", b"a.test:443"))))
        seen = frames(sock, until=lambda f: f[2] == 1)
    assert seen[-1][2] == 1 and (seen[-1][0] == RST or seen[-1][3][:1] == b"\x8c"), seen


FLOODS = {
    "rapid reset": lambda n: frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, head()) +
                             frame(RST, 0, 2 * n + 1, struct.pack(">I", 8)),
    "pings": lambda n: frame(PING, 0, 0, b"12345678"),
    "settings": lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 3, n)),
    "priorities": lambda n: frame(PRIORITY, 0, 2 * n + 1, struct.pack(">IB", 0, 1)),
    "windows": lambda n: frame(WINDOW, 0, 0, struct.pack(">I", 1)),
    "unknown frames": lambda n: frame(200, 0, 0, b"x"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_frames_for_nothing_ends_the_connection(front, name):
    one = front()
    before = one.memory()
    sent = 0
    sock = begin(one)
    with contextlib.suppress(OSError):
        for n in range(100_000):
            sock.sendall(FLOODS[name](n))
            sent = n
    assert sent < 60_000, "it took them all"
    sock.close()
    assert one.memory() - before < 60_000, "kilobytes"
    assert one.curl("/hello").stdout == b"hello\n"


def test_empty_data_frames_end_the_connection(front):
    one = front()
    sock = begin(one)
    sock.sendall(frame(HEADERS, END_HEADERS, 1, head(b"/echo", b"POST")))
    with pytest.raises(OSError):
        for _ in range(100_000):
            sock.sendall(frame(DATA, 0, 1))
    sock.close()
    assert one.curl("/hello").stdout == b"hello\n"


def test_a_head_without_end_ends_the_connection(front):
    one = front()
    before = one.memory()
    sock = begin(one)
    sock.sendall(frame(HEADERS, END_STREAM, 1, head()))
    with pytest.raises(OSError):
        for n in range(20_000):
            sock.sendall(frame(CONTINUATION, 0, 1, fields((b"x-%d" % n, b"y" * 1000))))
    sock.close()
    assert one.memory() - before < 60_000, "kilobytes"
    assert one.curl("/hello").stdout == b"hello\n"


def test_a_head_that_is_too_large_is_refused(front):
    one = front("head=8000")
    done = one.curl("/hello", "-H", "x: " + "y" * 9000, "-w", "%{http_code}", "-o", os.devnull)
    assert done.stdout == b"431" or done.returncode != 0, done
    assert one.curl("/hello").stdout == b"hello\n"
    # A table that makes much of little: one long field, named again by its number.
    with begin(one) as sock:
        entry = b"\x40" + number(1, 7) + b"x" + number(3000, 7) + b"y" * 3000
        sock.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 1, head() + entry + b"\xbe" * 2000))
        seen = frames(sock, until=lambda f: f[2] == 1)
    assert seen[-1][2] == 1 and (seen[-1][0] == RST or b"431" in seen[-1][3]) or goaway_of(seen) is not None, seen


def test_no_more_streams_than_agreed(front):
    one = front("streams=5")
    with begin(one) as sock:
        for n in range(8):
            sock.sendall(frame(HEADERS, END_HEADERS, 2 * n + 1, head(b"/echo", b"POST")))
        seen = frames(sock, timeout=1)
    refused = {f[2] for f in seen if f[0] == RST}
    assert len(refused) >= 3 or goaway_of(seen) is not None, seen


def test_a_client_that_takes_nothing_costs_little(front):
    one = front()
    before = one.memory()
    socks = []
    for _ in range(5):
        sock = begin(one)
        for n in range(20):
            sock.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, head(b"/sized?50000000")))
        socks.append(sock)
    time.sleep(3)
    assert one.memory() - before < 150_000, "kilobytes for a hundred answers of 50 MB"
    for sock in socks:
        sock.close()
    assert eventually(lambda: one.curl("/hello").stdout == b"hello\n")


def test_silence_ends(front):
    one = front("idle=300")
    with begin(one) as sock:
        start = time.monotonic()
        seen = frames(sock)
    assert goaway_of(seen) == 0 and time.monotonic() - start < 5, seen


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", PREFACE + b"\xff" * 1000,
                                     PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, b"\xff" * 50),
                                     PREFACE + frame(SETTINGS) + frame(DATA, 0, 7, b"x")])
def test_garbage_ends_the_connection(front, garbage):
    one = front()
    with one.connect() as sock:
        sock.sendall(garbage)
        frames(sock, timeout=5)
    assert one.curl("/hello").stdout == b"hello\n"
