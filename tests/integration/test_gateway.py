"""The egress gateway, driven from outside: a client that opens a box, real programs, a real nginx, and servers that lie."""
import json
import os
import pathlib
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import ask, curl, gate, nginx, odd, program, to  # noqa: E402,F401 pylint: disable=unused-import
from origins import client_hello, free_port, read_head  # noqa: E402
from tenant import Refused, Tenant  # noqa: E402


def query(name, kind=1, more=b""):
    labels = b"".join(bytes([len(part)]) + part for part in name.split(b".") if part)
    return b"\x12\x34\x01\x00\x00\x01\0\0\0\0\0" + bytes([bool(more)]) + labels + b"\0" + struct.pack(">HH", kind, 1) + more


def resolve(gateway, name, kind=1):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(5)
        asker.sendto(query(name, kind), ("127.0.0.1", gateway.dns_udp))
        answer = asker.recv(2048)
    code, count = answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
    return code, answer[-4:] if count else b"", answer


# --- the policy ---

@pytest.mark.parametrize("way", ["http", "socks5h"])
@pytest.mark.parametrize("more", [[], ["-p"]])
def test_an_allowed_host_is_reached_and_its_events_tell(gate, nginx, way, more):
    gateway = gate(hosts=to(nginx))
    code, status, body = curl(gateway, "http://api.example/index.html?secret=1", *more, way=way)
    assert (code, status, body) == (0, 200, b"hello from nginx\n")
    event = gateway.wait_for(lambda event: event["kind"] == "request")
    assert (event["verdict"], event["host"], event["method"], event["path"], event["status"], event["down_bytes"]) == \
        ("allowed", "api.example", "GET", "/index.html", 200, 17)
    assert event["address"] == "127.0.0.1" and event["rule"] == "api.example"
    assert "secret" not in json.dumps(gateway.finish())


def test_a_denied_host_is_refused_with_what_would_allow_it(gate, nginx):
    gateway = gate(hosts={**to(nginx), "evil.example": f"127.0.0.1:{nginx.port}"})
    before = len(nginx.requests())
    _, status, body = curl(gateway, "http://evil.example/x")
    error = json.loads(body)["error"]
    assert status == 403
    assert (error["code"], error["rule"], error["host"]) == ("network_denied", "default", "evil.example:80")
    assert error["remedy"] == 'network.allow: ["evil.example"]'
    event = gateway.wait_for(lambda event: event["verdict"] == "denied")
    assert (event["host"], event["remedy"]) == ("evil.example", error["remedy"])
    assert len(nginx.requests()) == before


def test_the_remedy_is_a_line_that_allows_it(gate, nginx):
    hosts = {"evil.example": f"127.0.0.1:{nginx.port}"}
    gateway = gate(allow=["api.example"], hosts=hosts)
    remedy = json.loads(curl(gateway, "http://evil.example:8080/a/b")[2])["error"]["remedy"]
    allowed = json.loads(remedy.partition(": ")[2])
    assert curl(gate(allow=allowed, hosts=hosts), "http://evil.example:8080/echo")[1] == 200


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/echo/a", 200), ("GET", "/echo/a/b", 403), ("POST", "/echo/a", 403), ("GET", "/echo", 403),
    ("GET", "/echo/%61", 200), ("GET", "/echo/b/../a", 403), ("GET", "/echo/..%2fetc", 403), ("GET", "//echo/a", 403)])
def test_methods_and_paths_are_judged_in_their_one_form(gate, nginx, method, path, status):
    gateway = gate(allow=["GET api.example/echo/*"], hosts=to(nginx))
    assert curl(gateway, f"http://api.example{path}", "--path-as-is", "-X", method)[1] == status


def test_deny_wins_and_says_so(gate, nginx):
    gateway = gate(allow=["**.example"], deny=["api.example"], hosts=to(nginx))
    error = json.loads(curl(gateway, "http://api.example/")[2])["error"]
    assert error["rule"] == "api.example" and "network.deny" in error["remedy"]


def test_what_is_only_reported_passes_and_is_told(gate, nginx):
    gateway = gate(allow=["other.example"], hosts=to(nginx), mode="report")
    assert curl(gateway, "http://api.example/")[1] == 200
    event = gateway.wait_for(lambda event: event["kind"] == "request")
    assert event["verdict"] == "reported" and event["remedy"] == 'network.allow: ["api.example"]'


def test_open_is_open_but_for_what_is_denied(gate, nginx):
    gateway = gate(allow=["other.example"], deny=["web.example"], hosts={**to(nginx), "web.example": f"127.0.0.1:{nginx.port}"}, mode="open")
    assert [curl(gateway, f"http://{host}/")[1] for host in ("api.example", "web.example")] == [200, 403]


def test_a_port_must_be_named(gate, nginx):
    gateway = gate(hosts=to(nginx))
    assert curl(gateway, "http://api.example:8080/")[1] == 403
    assert curl(gate(allow=["api.example:8080"], hosts=to(nginx)), "http://api.example:8080/")[1] == 200


@pytest.mark.parametrize("request_bytes,status", [
    (b"GET http://api.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n", b"421"),  # a proxy must be told
    (b"GET http://user@api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n", b"400"),
    (b"GET https://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n", b"421"),
    (b"GET http://api.example\0.evil/ HTTP/1.1\r\nHost: api.example\r\n\r\n", b"400"),
])
def test_where_a_request_goes_is_said_once(gate, nginx, request_bytes, status):
    gateway = gate(hosts=to(nginx))
    before = len(nginx.requests())
    assert ask(gateway, request_bytes, 2).startswith(b"HTTP/1.1 " + status)
    assert len(nginx.requests()) == before


def test_in_a_tunnel_host_must_be_the_tunnels(gate, nginx):
    gateway = gate(allow=["**.example"], hosts={**to(nginx), "other.example": f"127.0.0.1:{nginx.port}"})
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.settimeout(5)
        tunnel.sendall(b"CONNECT api.example:80 HTTP/1.1\r\nHost: api.example:80\r\n\r\n")
        assert read_head(tunnel).startswith(b"HTTP/1.1 200")
        tunnel.sendall(b"GET /echo HTTP/1.1\r\nHost: other.example\r\n\r\n")
        answer = tunnel.recv(65536)
        assert answer.startswith(b"HTTP/1.1 421") and b"host_mismatch" in answer


@pytest.mark.parametrize("name,passes", [("api.example", True), ("evil.example", False), ("API.example", True)])
def test_tls_for_another_name_never_reaches_the_server(gate, odd, name, passes):
    got = []
    server = odd(lambda connection: got.append(connection.recv(65536)))
    gateway = gate(hosts=to(server))
    tunnel = socket.create_connection(("127.0.0.1", gateway.proxy))
    tunnel.settimeout(5)
    tunnel.sendall(b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n")
    assert read_head(tunnel).startswith(b"HTTP/1.1 200")
    hello = client_hello(name)
    tunnel.sendall(hello[:10])
    time.sleep(0.05)
    tunnel.sendall(hello[10:])
    if passes:
        assert tunnel.recv(1) == b"" and got == [hello]
    else:
        with pytest.raises(ConnectionResetError):
            tunnel.recv(1)
        assert server.count == 0
        assert "another name" in gateway.wait_for(lambda event: event["verdict"] == "denied")["reason"]
    tunnel.close()


# --- where names lead ---

SPELLINGS = ["127.0.0.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "127.1", "127.0.1", "0", "0.0.0.0", "[::1]", "[::]",
             "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "127.0.0.1.",
             "①②⑦.⓪.⓪.①", "localhost", "127.0.0.1%00.api.example", "169.254.169.254", "[fd00:ec2::254]", "api.example%00.evil.example",
             "017700000001", "0x7f.1", "127.000.000.001", "[0:0:0:0:0:ffff:127.0.0.1]", "127。0。0。1"]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("mode", ["enforce", "open"])
def test_no_spelling_of_an_address_leads_to_this_machine(gate, odd, spelling, mode):
    server = odd(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nINSIDE"))
    gateway = gate(allow=["**.example"], mode=mode)
    host = f"{spelling}:{server.port}".encode()
    for data in (b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host),
                 b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nGET / HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host, host)):
        assert b"INSIDE" not in ask(gateway, data, 0.3)
    name = spelling.strip("[]").encode()
    wish = b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack(">H", server.port)
    assert b"INSIDE" not in ask(gateway, wish + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 0.3)
    assert server.count == 0


def test_a_rule_with_addresses_allows_them(gate, nginx):
    gateway = gate(allow=[f"127.0.0.0/8:{nginx.port}"])
    assert curl(gateway, f"http://127.0.0.1:{nginx.port}/", "--noproxy", "")[1] == 200
    with socket.create_connection(("127.0.0.1", gateway.tcp)) as captured:  # which goes to an address that is not allowed
        captured.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert captured.recv(65536).startswith(b"HTTP/1.1 4")


# --- names ---

def test_names_that_are_allowed_have_addresses_and_others_do_not_exist(gate):
    gateway = gate(allow=["api.example", "*.pkgs.example:8443"])
    code, address, answer = resolve(gateway, b"aPi.eXample")
    assert code == 0 and address[0] == 28 and b"\x03aPi\x07eXample" in answer
    assert resolve(gateway, b"API.example")[1] == address
    assert resolve(gateway, b"a.pkgs.example")[1][0] == 28
    for name in (b"evil.example", b"pkgs.example", b"api.example.evil", b"api\0.example", b"_x._tcp.api.example", b"127.0.0.1"):
        assert resolve(gateway, name)[0] == 3, name
    for kind in (28, 64, 65):  # AAAA, SVCB, HTTPS
        assert resolve(gateway, b"api.example", kind)[:2] == (0, b"")
    for kind in (16, 15, 255, 2, 6):  # TXT, MX, ANY, NS, SOA
        assert resolve(gateway, b"api.example", kind)[:2] == (5, b"")
    event = gateway.wait_for(lambda event: event["kind"] == "dns" and event["host"] == "evil.example")
    assert event["verdict"] == "denied" and event["remedy"] == 'network.allow: ["evil.example"]'


def test_names_are_answered_on_a_connection_too(gate):
    gateway = gate()
    ask_twice = b"".join(struct.pack(">H", len(one)) + one for one in [query(b"api.example"), query(b"evil.example")])
    with socket.create_connection(("127.0.0.1", gateway.dns_tcp)) as connection:
        for octet in ask_twice:
            connection.sendall(bytes([octet]))
        got = b""
        while len(got) < 45 + 2 + 30:
            got += connection.recv(1000)
    assert got[2 + 3] & 15 == 0 and got[47 + 2 + 3] & 15 == 3


def test_a_tunnel_of_names_is_bounded_and_leaves_nothing(gate):
    gateway = gate(allow=["**.example"])
    before = pathlib.Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1]
    first = resolve(gateway, b"api.example")[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(5)
        asker.connect(("127.0.0.1", gateway.dns_udp))
        for i in range(0, 100000, 50):
            for number in range(i, i + 50):
                asker.send(query(b"n%d.example" % number))
            for _ in range(50):
                assert asker.recv(600)[3] & 15 == 0
            if i % 1000 == 0:  # who is told nothing is not asked on
                gateway.poll()
                gateway.events.clear()
    after = pathlib.Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1]
    assert (int(after) - int(before)) * 4096 < 8 << 20
    assert resolve(gateway, b"api.example")[1] != first  # that one is forgotten, and never stands for another name


# --- HTTP ---

def test_bodies_pass_both_ways_whole(gate, nginx, odd):
    import hashlib
    data = os.urandom(5 << 20)

    def echo(connection):
        head = read_head(connection)
        rest = head.partition(b"\r\n\r\n")[2]
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(rest) < length:
            rest += connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + hashlib.sha256(rest).hexdigest().encode())

    server = odd(echo)
    gateway = gate(hosts=to(server))
    done = subprocess.run(["curl", "-sS", "-x", f"http://127.0.0.1:{gateway.proxy}", "--data-binary", "@-", "http://api.example/"],
                          input=data, capture_output=True, timeout=30, check=True)
    assert done.stdout.decode() == hashlib.sha256(data).hexdigest()
    gateway = gate(hosts=to(nginx))
    large = (nginx.folder / "root/large").read_bytes()
    assert curl(gateway, "http://api.example/large")[2] == large
    assert curl(gateway, "http://api.example/large", "-p")[2] == large


def test_a_spliced_connection_passes_everything_and_keeps_half_closes(gate, odd):
    def server_of(connection):
        got = b""
        while True:
            piece = connection.recv(65536)
            if not piece:
                break
            got += piece
        connection.sendall(b"%d" % len(got))

    server = odd(server_of)
    gateway = gate(allow=["TCP api.example:7777"], hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.sendall(b"CONNECT api.example:7777 HTTP/1.1\r\nHost: api.example:7777\r\n\r\n")
        read_head(tunnel)
        data = b"\x00binary" * 500000
        tunnel.sendall(data)
        tunnel.shutdown(socket.SHUT_WR)
        assert tunnel.recv(100) == b"%d" % len(data)
        assert tunnel.recv(100) == b""
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["up_bytes"], event["down_bytes"]) == (len(data), 7)


def test_a_server_that_speaks_first_is_heard(gate, odd):
    server = odd(lambda connection: (connection.sendall(b"220 hello\r\n"), connection.sendall(connection.recv(100))))
    gateway = gate(allow=["api.example:25"], hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.settimeout(5)
        tunnel.sendall(b"CONNECT api.example:25 HTTP/1.1\r\nHost: api.example:25\r\n\r\n")
        read_head(tunnel)
        assert tunnel.recv(100) == b"220 hello\r\n"
        tunnel.sendall(b"EHLO me\r\n")
        assert tunnel.recv(100) == b"EHLO me\r\n"


def test_behind_a_greeting_tls_for_another_name_is_cut(gate, odd):
    got = []
    server = odd(lambda connection: (connection.sendall(b"220 hello\r\n"), got.append(connection.recv(65536))))
    gateway = gate(allow=["api.example:25"], hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.settimeout(5)
        tunnel.sendall(b"CONNECT api.example:25 HTTP/1.1\r\nHost: api.example:25\r\n\r\n")
        read_head(tunnel)
        assert tunnel.recv(100) == b"220 hello\r\n"
        tunnel.sendall(client_hello("evil.example"))
        with pytest.raises(ConnectionResetError):
            tunnel.recv(100)
    assert got in ([], [b""])


def test_a_websocket_is_passed_through(gate, odd):
    def server_of(connection):
        assert b"Upgrade: websocket" in read_head(connection)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nX-A: b\r\n"
                           b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello")
        while True:
            piece = connection.recv(65536)
            if not piece:
                return
            connection.sendall(piece[::-1])

    server = odd(server_of)
    gateway = gate(hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as client:
        client.settimeout(5)
        client.sendall(b"GET http://api.example/ws HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        head = read_head(client)
        assert head.startswith(b"HTTP/1.1 101") and b"X-A: b" in head
        rest = head.partition(b"\r\n\r\n")[2] or client.recv(5)
        assert rest == b"hello"
        client.sendall(b"abc")
        assert client.recv(3) == b"cba"
    assert gateway.wait_for(lambda event: event["kind"] == "request")["status"] == 101


def test_what_is_only_between_neighbours_is_not_passed_on(gate, odd):
    heads = []
    server = odd(lambda connection: (heads.append(read_head(connection)),
                                     connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: x-b\r\nX-B: 1\r\nX-C: 2\r\nContent-Length: 0\r\n\r\n")))
    gateway = gate(hosts=to(server))
    answer = ask(gateway, b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close, x-a\r\nX-A: 1\r\nX-D: 2\r\n"
                 b"Proxy-Authorization: Basic x\r\nTE: trailers\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\n\r\n")
    assert heads == [b"GET / HTTP/1.1\r\nHost: api.example\r\nX-D: 2\r\nConnection: te\r\nTE: trailers\r\n\r\n"]
    assert b"X-C: 2" in answer and b"X-B" not in answer


def test_expect_is_answered_here_and_the_body_sent(gate, odd):
    def server_of(connection):
        data = read_head(connection)
        while not data.endswith(b"abc"):
            data += connection.recv(100)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    server = odd(server_of)
    gateway = gate(hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as client:
        client.settimeout(5)
        client.sendall(b"POST http://api.example/echo HTTP/1.1\r\nHost: api.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(b"abc")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
    gateway = gate(hosts=to(server))  # and one that is refused is sent no body
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as client:
        client.settimeout(5)
        client.sendall(b"POST http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 403")


def test_head_and_empty_answers_keep_their_shape(gate, nginx):
    gateway = gate(hosts=to(nginx))
    answer = ask(gateway, b"HEAD http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n"
                 b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n")
    first, _, rest = answer.partition(b"\r\n\r\n")
    assert b"Content-Length: 17" in first and rest.startswith(b"HTTP/1.1 200")
    etag = re.search(rb"ETag: (\S+)", first)[1]
    answer = ask(gateway, b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nIf-None-Match: " + etag + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 304") and answer.endswith(b"\r\n\r\n")


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: api.example\r\n\r\n"
SMUGGLING = [
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + SMUGGLED,
    b"Content-Length: 0, 44\r\n\r\n" + SMUGGLED,
    b"Content-Length: +0\r\n\r\n" + SMUGGLED,
    b"Content-Length : 0\r\n\r\n" + SMUGGLED,
    b"Content-Length: 0\n\n" + SMUGGLED,
    b"Content-Length: 0x0\r\n\r\n" + SMUGGLED,
    b"Content_Length: 44\r\n\r\n" + SMUGGLED[:0],
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    b"X: y\0\r\nContent-Length: 0\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n0\n\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n0;\n\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 44\r\n\r\n" + SMUGGLED,
    b"Transfer-Encoding: chunked\r\n\r\n1\r\nZZ0\r\n\r\n" + SMUGGLED,
    b"Connection: content-length\r\nContent-Length: 44\r\n\r\n" + SMUGGLED,
    b"Host: other.example\r\nContent-Length: 0\r\n\r\n" + SMUGGLED,
]


@pytest.mark.parametrize("number", range(len(SMUGGLING)))
def test_no_request_is_smuggled(gate, nginx, number):
    gateway = gate(allow=["POST api.example/**"], hosts=to(nginx))
    before = len(nginx.requests())
    answer = ask(gateway, b"POST http://api.example/echo HTTP/1.1\r\nHost: api.example\r\n" + SMUGGLING[number], 1)
    seen = nginx.requests()[before:]
    assert not any("smuggled" in line for line in seen), seen
    assert len(seen) <= 1, seen
    assert answer.count(b"HTTP/1.1 200") <= 1


# --- servers that should not be ---

OK = b"HTTP/1.1 200 OK\r\n"
LIARS = {
    "hangs up at once": (b"", 502),
    "hangs up in the head": (OK + b"Content-Le", 502),
    "speaks nonsense": (b"\x16\x03\x01\x02\x00", 502),
    "is too short": (OK + b"Content-Length: 10\r\n\r\nshort", 200),
    "breaks off a chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", 200),
    "has two lengths": (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502),
    "has length and chunks": (OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    "folds a line": (OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n", 502),
    "never ends its head": (OK + b"X: " + b"a" * 200000, 502),
    "has a line feed alone": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", 502),
    "says a hundred interim answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 502),
}


@pytest.mark.parametrize("what", LIARS)
def test_a_server_that_lies_is_told_as_one(gate, odd, what):
    answer, expected = LIARS[what]
    server = odd(lambda connection: (read_head(connection), connection.sendall(answer)))
    gateway = gate(hosts=to(server))
    code, status, body = curl(gateway, "http://api.example/")
    assert status == expected
    if expected == 502:
        assert json.loads(body)["error"]["code"] == "upstream_failed"
    else:
        assert code in (18, 56), "who is sent a part must see that it is one"


def test_bytes_behind_an_answer_are_nobodys(gate, odd):
    server = odd(lambda connection: [(read_head(connection), connection.sendall(
        OK + b"Content-Length: 2\r\n\r\nok" + OK + b"Content-Length: 6\r\n\r\nPOISON")) for _ in range(2)])
    gateway = gate(hosts=to(server))
    answer = ask(gateway, b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n" * 3, 2)
    assert answer.count(b"\r\n\r\nok") == 3 and b"POISON" not in answer


def test_a_server_that_says_nothing_is_given_up(gate, odd):
    server = odd(lambda connection: time.sleep(20))
    gateway = gate(hosts=to(server), idle_time="1s")
    began = time.monotonic()
    _, status, body = curl(gateway, "http://api.example/")
    assert status == 504 and json.loads(body)["error"]["code"] == "upstream_timeout"
    assert time.monotonic() - began < 5


def test_a_server_that_drips_is_not_cut_and_one_that_stops_is(gate, odd):
    def drip(connection):
        read_head(connection)
        connection.sendall(OK + b"Content-Length: 100\r\n\r\n")
        for _ in range(6):
            time.sleep(0.4)
            connection.sendall(b"x")
        time.sleep(20)

    server = odd(drip)
    gateway = gate(hosts=to(server), idle_time="1s")
    code, status, body = curl(gateway, "http://api.example/")
    assert status == 200 and body == b"xxxxxx" and code in (18, 56)


def test_nobody_listens_there(gate):
    gateway = gate(hosts={"api.example": f"127.0.0.1:{free_port()}"})
    _, status, body = curl(gateway, "http://api.example/")
    assert status == 502 and "refused" in json.loads(body)["error"]["message"]


def test_a_client_that_drips_its_head_is_told_and_closed(gate):
    gateway = gate()
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as client:
        client.settimeout(20)
        began = time.monotonic()
        client.sendall(b"GET http://api.example/ HT")
        answer = client.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408") and time.monotonic() - began < 15


# --- limits ---

def test_a_rate_is_kept(gate, nginx):
    gateway = gate(hosts=to(nginx), rate="5/min")
    answers = [curl(gateway, "http://api.example/")[1] for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2


def test_sizes_are_kept_both_ways(gate, nginx, odd):
    def reads_first(connection):  # nginx answers before it has read a body, and an answer that is whole is passed on
        data = read_head(connection)
        while not data.endswith(b"0\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    gateway = gate(hosts=to(nginx), request_size="10K", response_size="1M")
    assert curl(gateway, "http://api.example/echo", "-d", "x" * 5000)[1] == 200
    assert curl(gateway, "http://api.example/echo", "-d", "x" * 50000)[1] == 413
    assert curl(gateway, "http://api.example/large")[1] == 502
    gateway = gate(hosts=to(odd(reads_first)), request_size="10K")
    for size, status in ((5000, 200), (50000, 413)):
        assert curl(gateway, "http://api.example/", "-d", "x" * size, "-H", "Transfer-Encoding: chunked")[1] == status


def test_bandwidth_is_kept_and_uses_what_it_has(gate, nginx, odd):
    gateway = gate(hosts=to(nginx), bandwidth="8M")
    for more in ([], ["-p"]):
        began = time.monotonic()
        assert len(curl(gateway, "http://api.example/large", "-r", "0-16777215", *more)[2]) == 16 << 20
        assert 1.5 < time.monotonic() - began < 4

    def flood(connection):
        connection.recv(10)
        connection.sendall(b"x" * (16 << 20))

    server = odd(flood)
    gateway = gate(allow=["TCP api.example:7777"], hosts=to(server), bandwidth="8M")
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.sendall(b"CONNECT api.example:7777 HTTP/1.1\r\nHost: api.example:7777\r\n\r\n")
        read_head(tunnel)
        tunnel.sendall(b"\x00go")
        got = 0
        while True:
            piece = tunnel.recv(1 << 20)
            if not piece:
                break
            got += len(piece)
    assert got == 16 << 20 and 1.5 < time.monotonic() - began < 4


def test_connections_are_counted_and_more_wait_or_are_refused(gate, odd):
    server = odd(lambda connection: (read_head(connection), time.sleep(1), connection.sendall(OK + b"Content-Length: 2\r\n\r\nok")))
    gateway = gate(hosts=to(server), connections=2, pending=2)
    results = []
    threads = [threading.Thread(target=lambda: results.append(curl(gateway, "http://api.example/")[1])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] * 4 + [429] * 4
    assert curl(gateway, "http://api.example/")[1] == 200


def test_a_host_that_fails_is_left_alone_for_a_while(gate):
    gateway = gate(hosts={"api.example": f"127.0.0.1:{free_port()}"})
    answers = [curl(gateway, "http://api.example/") for _ in range(7)]
    assert [status for _, status, _ in answers] == [502] * 5 + [503] * 2
    error = json.loads(answers[-1][2])["error"]
    assert error["code"] == "host_breaker_open" and 0 < error["retry_after_s"] <= 60
    event = gateway.wait_for(lambda event: event["kind"] == "breaker")
    assert (event["host"], event["method"], event["rule"]) == ("api.example:80", "closed", "open")
    assert "in a row" in event["reason"] and 0 < event["duration_us"] <= 60_000_000


def test_what_is_no_request_is_told_as_well(gate, nginx):
    gateway = gate(hosts=to(nginx))
    assert ask(gateway, b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nA : b\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    event = gateway.wait_for(lambda event: event["kind"] == "request")
    assert (event["verdict"], event["status"]) == ("denied", 400) and event["reason"]
    assert nginx.requests() == [] or "A :" not in nginx.requests()[-1]


def test_an_address_that_is_denied_is_denied_however_it_is_wrapped(gate):
    gateway = gate(allow=["2000::/3", "64:ff9b::/96"], deny=["8.8.4.0/24"], connect_time="200ms")
    for host in ("[64:ff9b::808:404]", "[2002:808:404::1]"):
        _, status, body = curl(gateway, f"http://{host}/")
        assert status == 403 and json.loads(body)["error"]["rule"] == "8.8.4.0/24"


# --- while a box lives ---

def test_a_policy_changes_under_connections(gate, nginx, odd):
    server = odd(lambda connection: connection.sendall(connection.recv(10)) or time.sleep(20))
    gateway = gate(allow=["TCP api.example:7777", "web.example"], hosts={**to(server), "web.example": f"127.0.0.1:{nginx.port}"})
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.settimeout(5)
        tunnel.sendall(b"CONNECT api.example:7777 HTTP/1.1\r\nHost: api.example:7777\r\n\r\n")
        read_head(tunnel)
        tunnel.sendall(b"\x00hi")
        assert tunnel.recv(10) == b"\x00hi"
        assert curl(gateway, "http://web.example/")[1] == 200
        gateway.change({"version": 1, "network": {"allow": ["other.example"]}})
        with pytest.raises(ConnectionResetError):
            tunnel.recv(10)
    assert curl(gateway, "http://web.example/")[1] == 403
    gateway.change({"version": 1, "network": {"allow": "nonsense here ::"}})
    gateway.wait_for(lambda event: event["kind"] == "refused")
    assert curl(gateway, "http://web.example/")[1] == 403  # the old one stays


def test_a_malformed_policy_opens_nothing(program):
    with pytest.raises(Refused):
        Tenant(program, {"version": 1, "network": {"allow": ["http://x y"]}})


def test_its_client_gone_the_gateway_is(program, nginx):
    gateway = Tenant(program, {"version": 1, "network": {"allow": ["api.example"], "hosts": to(nginx)}})
    tunnel = socket.create_connection(("127.0.0.1", gateway.proxy))
    tunnel.sendall(b"GET http://api.ex")
    gateway.socket.close()
    assert gateway.process.wait(5) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", gateway.proxy)).close()
    tunnel.close()


def test_many_connections_of_one_box_leave_another_its_latency(program, nginx, odd):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11000:
        pytest.skip("10,000 connections need more descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    policy = {"version": 1, "network": {"allow": ["api.example:7777", "api.example"], "connections": 5000, "pending": 5000,
                                        "hosts": to(nginx)}}
    connections = []
    with Tenant(program, policy) as gateway:
        gateway.open({"version": 1, "network": {"allow": ["api.example"], "hosts": to(nginx)}}, 2)
        other = gateway.give_lines(2)[3]
        try:
            for i in range(10000):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(("127.0.0.1", gateway.proxy))
                connections.append(connection)
                if i % 500 == 0:
                    time.sleep(0.01)
            for connection in connections:
                try:
                    connection.send(b"CONNECT api.example:7777 HTTP/1.1\r\nHost: api.example:7777\r\n\r\n")
                except OSError:
                    pass
            took = []
            for _ in range(100):
                began = time.monotonic()
                answer = ask(gateway, b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n", port=other)
                took.append(time.monotonic() - began)
                assert answer.startswith(b"HTTP/1.1 200")
            assert sorted(took)[50] < 0.02, sorted(took)[50]
        finally:
            for connection in connections:
                connection.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gateway.events.clear()
        gateway.process.poll()


def test_with_no_descriptors_left_it_waits_and_recovers(program, nginx):
    policy = {"version": 1, "network": {"allow": ["api.example"], "hosts": to(nginx), "connections": 500}}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        gateway = Tenant(program, policy)
        resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with gateway:
        idle = [socket.create_connection(("127.0.0.1", gateway.proxy)) for _ in range(60)]
        time.sleep(0.3)
        assert gateway.process.poll() is None
        for connection in idle:
            connection.close()
        assert curl(gateway, "http://api.example/")[1] == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="all of this file is an ordinary user's then")
def test_an_ordinary_user_has_it_all(program, nginx):
    words = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--", program]
    with Tenant(words, {"version": 1, "network": {"allow": ["api.example"], "hosts": to(nginx)}}) as gateway:
        assert curl(gateway, "http://api.example/")[1] == 200
        assert curl(gateway, "http://evil.example/")[1] == 403
        assert resolve(gateway, b"api.example")[1][0] == 28
        assert re.search(r"Uid:\s12345\s12345", pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text())


def test_the_process_has_given_up_what_it_does_not_need(program, gate):
    if "asan" in program:
        pytest.skip("a build with sanitizers keeps its calls")
    gateway = gate()
    status = pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text()
    assert re.search(r"NoNewPrivs:\s1", status) and re.search(r"Seccomp:\s2", status)
    if os.geteuid() != 0:
        assert not os.access(f"/proc/{gateway.process.pid}/mem", os.R_OK)
    limits = pathlib.Path(f"/proc/{gateway.process.pid}/limits").read_text()
    assert re.search(r"Max core file size\s+0\s+0", limits)
