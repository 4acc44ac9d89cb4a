"""What a program might try on its gateway: to pass as something else than it is, and to keep it busy."""
import contextlib
import os
import socket
import socketserver
import struct
import threading
import time

import pytest

from gateway.tenant import Tenant, program

HERE, EVIL = "api.example", b"Host: evil.example\r\n\r\n"


class Raw(socketserver.BaseRequestHandler):
    """Takes anything for a request, and says so."""

    def handle(self):
        with contextlib.suppress(OSError):
            self.request.settimeout(20)
            data = b""
            while b"\r\n\r\n" not in data:
                more = self.request.recv(65536)
                if not more:
                    return
                data += more
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n" + (b"switch" if b"h2c" in data.lower() else b"passed"))


@pytest.fixture(scope="module")
def server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Raw) as raw:
        raw.daemon_threads = True
        threading.Thread(target=raw.serve_forever, daemon=True).start()
        yield raw.server_address[1]
        raw.shutdown()


@pytest.fixture
def box(server):
    policy = {"version": 1, "network": {"allow": [f"{HERE}:*"], "hosts": {HERE: f"127.0.0.1:{server}"}}}
    with Tenant(program(), policy) as tenant:
        yield tenant


def dial(box):
    line = socket.create_connection(("127.0.0.1", box.proxy), timeout=10)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def by_socks(box, port):
    line = dial(box)
    line.sendall(b"\5\1\0")
    assert line.recv(2) == b"\5\0"
    line.sendall(b"\5\1\0\3" + bytes([len(HERE)]) + HERE.encode() + struct.pack(">H", port))
    assert line.recv(10)[1] == 0
    return line


def say(line, parts):
    """What comes back on a connection on which all that is said; numbers are seconds of silence, and lists urgent."""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        for part in parts:
            if isinstance(part, float):
                time.sleep(part)
            elif isinstance(part, list):
                line.send(part[0], socket.MSG_OOB)
            else:
                line.sendall(part)
        return line.recv(4096)
    return b""


@pytest.mark.parametrize("port", [80, 9999, 22])  # 22: where the server may speak first
@pytest.mark.parametrize("parts", [
    [b"GET / HTTP/1.1\r\n" + EVIL],
    [b"\r\nGET / HTTP/1.1\r\n" + EVIL],
    [b"GET  / HTTP/1.1\r\n" + EVIL],
    [b"get / HTTP/1.1\r\n" + EVIL],
    [b"P0ST / HTTP/1.1\r\n" + EVIL],
    [b"GET x://evil.example/ HTTP/1.1\r\n" + EVIL],
    [b"GE", 0.1, b"T / HTTP/1.1\r\n" + EVIL],
    [1.3, b"GE", 0.1, b"T / HTTP/1.1\r\n" + EVIL],  # behind where a server might have greeted
    [b"G", [b"E"], b"ET / HTTP/1.1\r\n" + EVIL],
], ids=["plain", "line", "spaces", "small", "digit", "scheme", "pieces", "late", "urgent"])
def test_a_request_for_another_host_does_not_pass_for_something_else(box, port, parts):
    with by_socks(box, port) as line:
        assert b"passed" not in say(line, parts)


def test_what_follows_a_connect_too_soon_is_looked_at_as_a_whole(box):
    head = f"CONNECT {HERE}:9999 HTTP/1.1\r\nHost: {HERE}:9999\r\n\r\n".encode()
    for parts in ([head + b"GE", 0.2, b"T / HTTP/1.1\r\n" + EVIL], [head, b"GET / HTTP/1.1\r\n" + EVIL]):
        with dial(box) as line:
            say(line, parts[:1])
            assert b"passed" not in say(line, parts[1:] + [0.2])


@pytest.mark.parametrize("port", [80, 9999])
@pytest.mark.parametrize("parts", [
    [b"A" * 25 + b" / HTTP/1.1\r\n" + EVIL],
    [b"\x01GET / HTTP/1.1\r\n" + EVIL],
    [b"\xc3\xa9 / HTTP/1.1\r\n" + EVIL],
    [b"\tGET / HTTP/1.1\r\n" + EVIL],
    [b":GET / HTTP/1.1\r\n" + EVIL],
    [b"GET\x0b/ HTTP/1.1\r\n" + EVIL],
    [b"GET nowhere\r\n" + EVIL],
    [b"EHLO host.example\r\n", 0.1, b"\r\n\r\n"],
    [b"\x16GET / HTTP/1.1\r\n" + EVIL],
    [b"\x80\x01GET / HTTP/1.1\r\n" + EVIL],
], ids=["long", "control", "utf8", "tab", "colon", "vt", "versionless", "smtp", "handshake", "ssl2"])
def test_what_no_parser_takes_for_a_request_does_not_pass(box, port, parts):
    with by_socks(box, port) as line:
        assert b"passed" not in say(line, parts)
    assert box.wait_for(lambda event: event["kind"] in ("connect", "request"))["verdict"] == "denied"


def test_what_is_no_http_passes_where_it_is_at_home(box):
    with by_socks(box, 25) as line:
        assert b"passed" in say(line, [b"EHLO host.example\r\n", 0.1, b"\r\n\r\n"])


def test_the_same_refusal_again_and_again_is_answered_each_time(box):
    for _ in range(4):
        with by_socks(box, 9999) as line:
            assert say(line, [b"GET /x HTTP/1.1\r\n" + EVIL]).startswith(b"HTTP/1.1 421")
    assert box.finish() and box.counts["denied"] == 4


def test_it_has_nothing_of_who_started_it(server, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "correct-horse-battery-staple")
    with Tenant(program(), {"version": 1, "network": {"allow": [HERE]}}) as box:
        status = dict(line.split(":\t", 1) for line in open(f"/proc/{box.process.pid}/status") if ":\t" in line)
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0 and status["Seccomp"].strip() == "2"
        with contextlib.suppress(PermissionError):  # which is as good
            assert b"battery" not in open(f"/proc/{box.process.pid}/environ", "rb").read()


def query(number):
    return b"\1\2\1\0\0\1" + bytes(6) + b"".join(bytes([len(label)]) + label for label in (
        b"%060d" % number, b"a" * 60, b"evil", b"example")) + b"\0\0\1\0\1"


def test_what_can_not_be_recorded_is_not_done(box):
    """A flood of refusals does not hide what is done behind it."""
    def ask():
        with by_socks(box, 9999) as line:
            return say(line, [f"GET /done HTTP/1.1\r\nHost: {HERE}:9999\r\n\r\n".encode()])

    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as resolver:
        resolver.connect(("::1", box.dns_udp))
        for number in range(12000):
            resolver.send(query(number))
            if number % 50 == 0:
                time.sleep(0.005)
    assert b" 503 " in ask()
    box.poll(1)
    answers = [ask() for _ in range(3)]
    assert all(b"passed" in answer for answer in answers)
    done = [event for event in box.finish() if event["path"] == "/done" and event["verdict"] == "allowed"]
    assert len(done) == 3 and box.counts["lost_events"] > 0


@pytest.mark.parametrize("rule, address, passes", [
    ("0.0.0.0/0", "127.0.0.1", False), ("0.0.0.0/1", "127.0.0.1", False), ("127.0.0.0/8", "127.0.0.1", True),
    ("127.0.0.1", "127.0.0.1", True), ("::/0", "::1", False), ("0.0.0.0/0", "169.254.169.254", False)])
def test_a_rule_for_the_internet_does_not_name_this_machine(server, rule, address, passes):
    allowed = f"[{rule}]:{server}" if ":" in rule else f"{rule}:{server}"
    with Tenant(program(), {"version": 1, "network": {"allow": [allowed], "connect_time": "2s"}}) as box, dial(box) as line:
        host = f"[{address}]" if ":" in address else address
        line.sendall(f"GET http://{host}:{server}/ HTTP/1.1\r\nHost: {host}:{server}\r\n\r\n".encode())
        answer = line.recv(4096)
        assert (b"passed" in answer) == passes and (passes or b" 403 " in answer), answer


@pytest.mark.parametrize("field, status", [
    ("X-Method: DELETE", 200), ("X-HTTP-Method-Override: POST", 200), ("X-HTTP-Method-Override: DELETE", 403),
    ("x-http-method: delete", 403), ("X-Method-Override: DELETE", 403), ("X-Original-URL: /admin", 403), ("X-Rewrite-Url: /admin", 403),
    ("X_HTTP_Method_Override: DELETE", 403), ("X-HTTP_METHOD-Override: DELETE", 403), ("x_http_method: delete", 403),
    ("X_Original_URL: /admin", 403), ("X-Rewrite_Url: /admin", 403)])
def test_a_request_that_claims_to_be_another_is_judged_as_both(server, field, status):
    policy = {"version": 1, "network": {"allow": [f"GET,POST {HERE}:{server}/work/**"], "hosts": {HERE: "127.0.0.1"}}}
    with Tenant(program(), policy) as box, dial(box) as line:
        place = f"{HERE}:{server}"
        line.sendall(f"POST http://{place}/work/x HTTP/1.1\r\nHost: {place}\r\n{field}\r\nContent-Length: 0\r\n\r\n".encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("protocols", ["h2c", "foo/1, h2c", "foo ,H2C"])
def test_no_upgrade_leads_to_requests_that_nobody_judges(box, protocols):
    with by_socks(box, 9999) as line:
        answer = say(line, [f"GET / HTTP/1.1\r\nHost: {HERE}:9999\r\nConnection: upgrade\r\nUpgrade: {protocols}\r\n\r\n".encode()])
        assert b"passed" in answer


def seconds_of(box):
    fields = open(f"/proc/{box.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("parts", [
    [b"\5"],
    [b"\5\1\0", 0.1, b"\5\1"],
    ["socks", b"ab", [b"c"], b"defgh"],
    ["socks", b"\0", 0.3, [b"c"], b"defgh"],
], ids=["greeting", "wish", "urgent", "urgent later"])
def test_half_a_word_keeps_nobody_busy(box, parts):
    lines = [by_socks(box, 9999) if parts[0] == "socks" else dial(box) for _ in range(4)]
    for line in lines:
        for part in parts[1 if parts[0] == "socks" else 0:]:
            if isinstance(part, float):
                time.sleep(part)
            else:
                with contextlib.suppress(OSError):
                    line.send(*((part[0], socket.MSG_OOB) if isinstance(part, list) else (part,)))
    before = seconds_of(box)
    time.sleep(2)
    assert seconds_of(box) - before < 0.1
    for line in lines:
        line.close()
