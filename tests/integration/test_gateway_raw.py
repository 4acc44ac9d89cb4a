"""What is neither HTTP nor TLS: it passes where a rule says TCP, and nowhere else that a rule for names allows."""
import contextlib
import json
import os
import socket
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import gate, odd, program, to  # noqa: E402,F401 pylint: disable=unused-import
from origins import client_hello, read_head  # noqa: E402

SECOND = b"GET /admin HTTP/1.1\r\nHost: admin.example\r\n\r\n"
SECRET = b"CUST-12345678"

# First bytes that no parser of ours takes for a request, though servers do; the connection that they open was a blind pipe.
FIRST = {
    "a method of 25 letters": b"A" * 25 + b" / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "a method of 200 letters": b"A" * 200 + b" / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "a first byte that is no letter": b"\x01GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "a space first": b" GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "a quote first": b'"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n',
    "a byte beyond ASCII": b"\xffGET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "a line without a version": b"get nothing\r\nHost: api.example\r\n\r\n",
    "one word": b"hello\r\n\r\n",
    "no TLS behind its first byte": b"\x16GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
}
LIKE_HTTP = {what for what, first in FIRST.items() if b"HTTP/" in first.split(b"\n")[0]}


def lenient(heard):
    """A server that takes any line for a request, and never hangs up: the answer has what the policy masks."""
    def serve(connection):
        connection.settimeout(5)
        data = b""
        with contextlib.suppress(OSError):
            while True:
                while b"\r\n\r\n" in data:
                    head, _, data = data.partition(b"\r\n\r\n")
                    heard.append(head)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(SECRET), SECRET))
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
    return serve


@contextlib.contextmanager
def tunnel_to(gateway, place, way="connect"):
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.settimeout(8)
        host, port = place.rsplit(":", 1)
        if way == "socks":
            tunnel.sendall(b"\x05\x01\x00")
            assert tunnel.recv(2) == b"\x05\x00"
            tunnel.sendall(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + int(port).to_bytes(2, "big"))
            assert tunnel.recv(10)[:2] == b"\x05\x00"
        else:
            tunnel.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
            assert read_head(tunnel).startswith(b"HTTP/1.1 200")
        yield tunnel


def all_of(tunnel):
    got = b""
    with contextlib.suppress(OSError):
        while piece := tunnel.recv(65536):
            got += piece
    return got


@pytest.mark.parametrize("way", ["connect", "socks"])
@pytest.mark.parametrize("what", FIRST)
def test_what_is_taken_for_no_http_reaches_nobody(gate, odd, what, way):  # noqa: F811
    heard = []
    server = odd(lenient(heard))
    gateway = gate(allow=["api.example:8080"], deny=["admin.example"], hosts=to(server), response_size=4)
    with tunnel_to(gateway, "api.example:8080", way) as tunnel:
        tunnel.sendall(FIRST[what])
        with contextlib.suppress(OSError):
            tunnel.sendall(SECOND)
        got = all_of(tunnel)
    assert not heard and SECRET not in got
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["method"], event["host"], event["port"]) == ("denied", "TCP", "api.example", 8080)
    assert event["remedy"] == 'network.allow: ["TCP api.example:8080"]'
    if what in LIKE_HTTP:
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 403 ") and b"X-Ringfort: network_denied" in head
        assert json.loads(body)["error"]["remedy"] == event["remedy"]
    else:
        assert not got


@pytest.mark.parametrize("more", [{"filter": "on"}, {"writes": "hold"}, {"deny": ["DELETE api.example"]}])
@pytest.mark.parametrize("what", ["a method of 25 letters", "a first byte that is no letter", "one word"])
def test_where_requests_are_read_no_rule_lets_it_pass(gate, odd, what, more):  # noqa: F811
    heard = []
    server = odd(lenient(heard))
    gateway = gate(allow=["TCP api.example:8080"], hosts=to(server), **more)
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(FIRST[what])
        assert SECRET not in all_of(tunnel)
    assert not heard
    assert gateway.wait_for(lambda event: event["kind"] == "connect")["verdict"] == "denied"


def echo(connection):
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            connection.sendall(piece)


def greet(connection):
    connection.sendall(b"SSH-2.0-x\r\n")
    echo(connection)


@pytest.mark.parametrize("rule, port", [("TCP api.example:8080", 8080), ("TCP **.example:*", 8080), ("TCP api.example:443", 443),
                                        ("TCP *:8000-8100", 8080), ("api.example:22", 22), ("api.example:5432", 5432),
                                        ("*:*", 6379), ("127.0.0.0/8:*", 8080)])
@pytest.mark.parametrize("first", [b"\x00raw bytes", b"A" * 25 + b" / HTTP/1.1\r\n\r\n"])
def test_a_rule_that_says_tcp_lets_bytes_pass(gate, odd, rule, port, first):  # noqa: F811
    server = odd(echo)
    name = "api.example" if "example" in rule or "*:" in rule else "127.0.0.1"
    gateway = gate(allow=[rule], hosts=to(server))
    if name == "127.0.0.1":
        port = server.port
    with tunnel_to(gateway, f"{name}:{port}") as tunnel:
        tunnel.sendall(first)
        assert tunnel.recv(100) == first
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["method"]) == ("allowed", "TCP" if name == "api.example" else "")


# A program that waits for an answer to what could be the beginning of a request: git's first words, a command of ZooKeeper's.
@pytest.mark.parametrize("first", [b"0033git-upload-pack /a.git\0host=api.example\0", b"ruok", b"GET", b"get some", b"a /"])
@pytest.mark.parametrize("rule, port", [("TCP api.example:2181", 2181), ("api.example:9418", 9418)])
def test_words_without_an_end_pass_where_tcp_is_allowed(gate, odd, rule, port, first):  # noqa: F811
    server = odd(echo)
    gateway = gate(allow=[rule], hosts=to(server))
    with tunnel_to(gateway, f"api.example:{port}") as tunnel:
        tunnel.sendall(first)
        assert tunnel.recv(100) == first
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["method"]) == ("allowed", "TCP")


@pytest.mark.parametrize("first", [b"0033git-upload-pack /a.git\0host=api.example\0", b"ruok", b"GET", b"\x16\x03\x01\x02"])
@pytest.mark.parametrize("more", [{}, {"filter": "on"}, {"mode": "open"}, {"mode": "report"}])
def test_words_without_an_end_pass_nowhere_else(gate, odd, more, first):  # noqa: F811
    heard = []
    server = odd(lambda connection: heard.append(connection.recv(100)))
    if "mode" in more and b"\0" in first:
        pytest.skip("which is no HTTP, and passes by the mode")
    rule = "TCP api.example:8080" if "filter" in more or first[0] == 22 else "api.example:8080"
    gateway = gate(allow=[] if "mode" in more else [rule], hosts=to(server), **more)
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.settimeout(20)
        tunnel.sendall(first)
        assert not all_of(tunnel)
    assert gateway.wait_for(lambda event: event["kind"] == "connect")["verdict"] == "denied"
    assert not heard


@pytest.mark.parametrize("rule, port", [("TCP api.example:2222", 2222), ("TCP api.example:443", 443), ("api.example:22", 22)])
def test_a_server_may_speak_first_where_tcp_is_allowed(gate, odd, rule, port):  # noqa: F811
    server = odd(greet)
    gateway = gate(allow=[rule], hosts=to(server))
    with tunnel_to(gateway, f"api.example:{port}") as tunnel:
        assert tunnel.recv(100) == b"SSH-2.0-x\r\n"
        tunnel.sendall(b"SSH-2.0-y\r\n")
        assert tunnel.recv(100) == b"SSH-2.0-y\r\n"


def test_a_server_may_not_speak_first_elsewhere(gate, odd):  # noqa: F811
    reached = []
    server = odd(lambda connection: (reached.append(1), greet(connection)))
    gateway = gate(allow=["api.example:2222"], hosts=to(server))
    with tunnel_to(gateway, "api.example:2222") as tunnel:
        tunnel.settimeout(20)
        with pytest.raises(ConnectionResetError):
            tunnel.recv(100)
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert event["verdict"] == "denied" and event["remedy"] == 'network.allow: ["TCP api.example:2222"]'
    assert not reached


def test_a_slow_client_of_http_is_waited_for(gate, odd):  # noqa: F811
    """On a port that is not the web's: it was taken for one whose server speaks first, and cut."""
    heard = []
    server = odd(lenient(heard))
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        time.sleep(1.5)
        tunnel.sendall(b"GET / HTTP/1.1\r\nHost: api.example:8080\r\n\r\n")
        assert tunnel.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("mode, verdict", [("report", "reported"), ("open", "allowed")])
def test_modes_let_it_pass_and_say_which_rule_is_missing(gate, odd, mode, verdict):  # noqa: F811
    server = odd(echo)
    gateway = gate(allow=["api.example:8080"], mode=mode, hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"\x00raw")
        assert tunnel.recv(100) == b"\x00raw"
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["method"]) == (verdict, "TCP")
    assert event["remedy"] == ('network.allow: ["TCP api.example:8080"]' if mode == "report" else "")


def test_a_denial_of_the_host_denies_tcp(gate, odd):  # noqa: F811
    reached = []
    server = odd(lambda connection: reached.append(1))
    gateway = gate(allow=["TCP *:8080"], deny=["api.example"], hosts=to(server))
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
        tunnel.sendall(b"CONNECT api.example:8080 HTTP/1.1\r\nHost: api.example:8080\r\n\r\n")
        assert read_head(tunnel).startswith(b"HTTP/1.1 403")
    assert not reached


def test_a_rule_that_goes_takes_its_connections_with_it(gate, odd):  # noqa: F811
    server = odd(echo)
    gateway = gate(allow=["TCP api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"\x00hi")
        assert tunnel.recv(10) == b"\x00hi"
        gateway.change({"version": 1, "network": {"allow": ["api.example:8080"], "hosts": to(server)}})
        with pytest.raises(ConnectionResetError):
            tunnel.recv(10)


# --- a connection that is switched to something else ---

def switching(heard):
    def serve(connection):
        head = read_head(connection)
        heard.append(head)
        if b"pgrade:" in head:
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: tcp\r\n\r\n")
            echo(connection)
    return serve


@pytest.mark.parametrize("protocol", [b"tcp", b"websocket, tcp", b"postgres"])
@pytest.mark.parametrize("more", [{}, {"filter": "on"}])
def test_a_switch_to_another_protocol_needs_the_same_rule(gate, odd, protocol, more):  # noqa: F811
    heard = []
    server = odd(switching(heard))
    gateway = gate(allow=["api.example:8080"], hosts=to(server), **more)
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\nConnection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n")
        head = read_head(tunnel)
        assert head.startswith(b"HTTP/1.1 403")
    assert not heard
    event = gateway.wait_for(lambda event: event["kind"] == "request")
    assert event["verdict"] == "denied"
    assert event["remedy"] == 'network.allow: ["TCP api.example:8080"]'


def test_a_server_switches_to_nothing_that_was_not_asked_for(gate, odd):  # noqa: F811
    server = odd(switching([]))  # to "tcp", whatever it is asked for
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert read_head(tunnel).startswith(b"HTTP/1.1 502")


KEY, PROOF = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"


@pytest.mark.parametrize("key, proof, status", [(KEY, PROOF, b"101"), (b"", b"", b"502"), (KEY, b"", b"502"), (b"", PROOF, b"502"),
                                                (KEY, PROOF.replace(b"3", b"4"), b"502"), (KEY, PROOF.lower(), b"502")])
def test_a_server_proves_that_it_speaks_websocket(gate, odd, key, proof, status):  # noqa: F811
    """One that says 101 because it says what it is asked for is a web server, and reads what follows as requests."""
    heard = []

    def serve(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" + proof + b"\r\n")
        lenient(heard)(connection)

    server = odd(serve)
    gateway = gate(allow=["api.example:8080"], deny=["admin.example"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + key + b"\r\n")
        assert read_head(tunnel).split()[1] == status
        tunnel.sendall(SECOND)
        tunnel.recv(1000)
    assert bool(heard) == (status == b"101")


def test_a_switch_passes_where_tcp_is_allowed(gate, odd):  # noqa: F811
    heard = []
    server = odd(switching(heard))
    gateway = gate(allow=["TCP api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        assert read_head(tunnel).startswith(b"HTTP/1.1 101")
        tunnel.sendall(b"\x00raw")
        assert tunnel.recv(100) == b"\x00raw"
        gateway.change({"version": 1, "network": {"allow": ["api.example:8080"], "hosts": to(server)}})
        with contextlib.suppress(ConnectionResetError):  # the rule is gone, and so is what it allowed
            assert tunnel.recv(100) == b""


def test_http_and_tls_need_no_more_than_the_host(gate, odd):  # noqa: F811
    heard = []
    server = odd(lenient(heard))
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(b"GET / HTTP/1.1\r\nHost: api.example:8080\r\n\r\n")
        assert tunnel.recv(100).startswith(b"HTTP/1.1 200")
        tunnel.sendall(SECOND)
        assert b" 421 " in tunnel.recv(1000)
    got, hello = [], client_hello("api.example")
    server = odd(lambda connection: got.append(connection.recv(65536)))
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(hello)
        assert not all_of(tunnel)
    assert got == [hello]


# --- TLS that is none ---

def hello_with(inside, name="api.example"):
    """A ClientHello with an extension of one's own: bytes that a server which speaks no TLS may take for something."""
    hello = client_hello(name)
    body = bytearray(hello[5:])
    at = 4 + 2 + 32
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at:at + 2], "big")
    at += 1 + body[at]
    extensions = bytes(body[at + 2:]) + b"\xff\x01" + len(inside).to_bytes(2, "big") + inside
    whole = bytes(body[4:at]) + len(extensions).to_bytes(2, "big") + extensions
    whole = b"\x01" + len(whole).to_bytes(3, "big") + whole
    return b"\x16\x03\x01" + len(whole).to_bytes(2, "big") + whole


@pytest.mark.parametrize("pause", [0, 0.3])
def test_a_client_hello_opens_no_pipe_to_a_server_without_tls(gate, odd, pause):  # noqa: F811
    heard = []

    def serve(connection):
        connection.settimeout(3)
        with contextlib.suppress(OSError):
            heard.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + SECRET)
            heard.append(connection.recv(65536))

    server = odd(serve)
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    hello = client_hello("api.example")
    with tunnel_to(gateway, "api.example:8080") as tunnel, contextlib.suppress(OSError):
        tunnel.sendall(hello)
        time.sleep(pause)
        tunnel.sendall(b"\r\n\r\n" + SECOND)
        assert SECRET not in all_of(tunnel)
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["reason"]) == ("denied", "the server does not speak TLS")
    time.sleep(0.1)
    assert heard[0] == hello and heard[1:] in ([], [b""])


def test_a_client_hello_brings_no_request_along(gate, odd):  # noqa: F811
    heard = []
    server = odd(lenient(heard))
    gateway = gate(allow=["api.example:8080"], hosts=to(server))
    hello = client_hello("api.example")
    for bad in (hello_with(b"\r\n\r\n" + SECOND), hello[:3] + (len(hello) - 5 + len(SECOND)).to_bytes(2, "big") + hello[5:] + SECOND):
        with tunnel_to(gateway, "api.example:8080") as tunnel, contextlib.suppress(OSError):
            tunnel.sendall(bad)
            assert not all_of(tunnel)
        assert gateway.wait_for(lambda event: event["kind"] == "connect")["verdict"] == "denied"
        gateway.events.clear()
    assert not heard
    gateway = gate(allow=["TCP api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, "api.example:8080") as tunnel:
        tunnel.sendall(hello_with(b"\r\n\r\n" + SECOND))
        assert SECRET in tunnel.recv(1000)  # a rule that says TCP lets anything pass


@pytest.mark.parametrize("answer", [b"\x16\x03\x03\x00\x05hello", b"\x15\x03\x01\x00\x02\x02\x28"])
@pytest.mark.parametrize("early", [False, True])
def test_what_follows_a_client_hello_waits_for_the_answer_and_is_whole(gate, odd, answer, early):  # noqa: F811
    heard = []

    def serve(connection):
        connection.settimeout(5)
        heard.append(connection.recv(65536))
        time.sleep(0.3)
        connection.sendall(answer[:1])
        time.sleep(0.1)
        connection.sendall(answer[1:])
        echo(connection)

    server = odd(serve)
    gateway = gate(allow=["api.example:8443"], hosts=to(server))
    hello, rest = client_hello("api.example"), b"\x14\x03\x03\x00\x01\x01" + os.urandom(200000)
    if early:
        with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:
            tunnel.settimeout(8)
            tunnel.sendall(b"CONNECT api.example:8443 HTTP/1.1\r\nHost: api.example:8443\r\n\r\n" + hello + rest[:1000])
            assert read_head(tunnel).endswith(b"\r\n\r\n")
            check_rest(tunnel, heard, hello, rest, 1000, answer)
    else:
        with tunnel_to(gateway, "api.example:8443") as tunnel:
            tunnel.sendall(hello + rest[:1000])
            check_rest(tunnel, heard, hello, rest, 1000, answer)
    event = gateway.wait_for(lambda event: event["kind"] == "connect")
    assert (event["verdict"], event["up_bytes"]) == ("allowed", len(hello) + len(rest))


def receive(tunnel, size):
    got = b""
    while len(got) < size:
        piece = tunnel.recv(65536)
        assert piece, f"it ended after {len(got)} of {size} bytes"
        got += piece
    return got


def check_rest(tunnel, heard, hello, rest, sent, answer):
    got = receive(tunnel, len(answer) + sent)
    assert heard == [hello] and got == answer + rest[:sent]
    tunnel.sendall(rest[sent:])
    assert receive(tunnel, len(rest) - sent) == rest[sent:]
