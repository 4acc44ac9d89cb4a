"""A policy that changes while requests and connections are under way: what it does not allow any more is cut, and nothing else."""
import contextlib
import os
import socket
import sys
import threading
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import gate, odd, program, to  # noqa: E402,F401 pylint: disable=unused-import
from origins import client_hello, read_head  # noqa: E402
from test_gateway_raw import all_of, echo, receive, tunnel_to  # noqa: E402

PLACE = "api.example:8080"
UPLOAD = b"POST /x HTTP/1.1\r\nHost: api.example:8080\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
LATER = b"5\r\nLATER\r\n0\r\n\r\n"

# Rules that allow the request no more, and those under which it goes on.
CUTS = {
    "another host": {"allow": ["other.example"]},
    "another port": {"allow": ["api.example:80"]},
    "a denial": {"allow": [PLACE], "deny": ["api.example"]},
    "a denied address": {"allow": [PLACE], "deny": ["127.0.0.0/8"]},
    "a name that leads elsewhere": {"allow": [PLACE], "hosts": {"api.example": "127.0.0.2"}},
    "a name that leads nowhere": {"allow": [PLACE], "hosts": {}},
}
KEEPS = {"the same": {"allow": [PLACE]}, "more": {"allow": [PLACE, "other.example"]}, "a mode": {"allow": [], "mode": "report"}}


def change(gateway, server, network):
    gateway.change({"version": 1, "network": {"hosts": to(server), **network}})
    time.sleep(0.3)


def takes_all(heard, has_begun):
    def serve(connection):
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            while piece := connection.recv(65536):
                heard.append(piece)
                has_begun.set()
                if b"LATER" in piece:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    return serve


@pytest.mark.parametrize("what", [*CUTS, *KEEPS])
def test_a_body_on_its_way_out(gate, odd, what):  # noqa: F811
    heard, has_begun = [], threading.Event()
    server = odd(takes_all(heard, has_begun))
    gateway = gate(allow=[PLACE], hosts=to(server))
    with tunnel_to(gateway, PLACE) as tunnel:
        tunnel.sendall(UPLOAD)
        assert has_begun.wait(5)
        change(gateway, server, CUTS.get(what) or KEEPS[what])
        with contextlib.suppress(OSError):
            tunnel.sendall(LATER)
        head = read_head(tunnel)
    assert head.startswith(b"HTTP/1.1 403 " if what in CUTS else b"HTTP/1.1 200 ")
    assert (b"LATER" in b"".join(heard)) == (what in KEEPS)
    event = gateway.wait_for(lambda event: event["kind"] == "request")
    assert (event["verdict"] == "denied", event["reason"] == "the policy has changed") == (what in CUTS, what in CUTS)


@pytest.mark.parametrize("what", [*CUTS, *KEEPS])
def test_an_answer_on_its_way_in(gate, odd, what):  # noqa: F811
    may_go_on = threading.Event()

    def serve(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhello")
        may_go_on.wait(5)
        with contextlib.suppress(OSError):
            connection.sendall(b"LATER")

    server = odd(serve)
    gateway = gate(allow=[PLACE], hosts=to(server))
    with tunnel_to(gateway, PLACE) as tunnel:
        tunnel.sendall(b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\nConnection: close\r\n\r\n")
        assert tunnel.recv(10)
        change(gateway, server, CUTS.get(what) or KEEPS[what])
        may_go_on.set()
        assert (b"LATER" in all_of(tunnel)) == (what in KEEPS)
    assert (gateway.wait_for(lambda event: event["kind"] == "request")["verdict"] == "denied") == (what in CUTS)


def test_a_request_that_says_that_it_is_another_is_judged_as_both(gate, odd):  # noqa: F811
    heard, has_begun = [], threading.Event()
    server = odd(takes_all(heard, has_begun))
    gateway = gate(allow=["POST,DELETE api.example:8080"], hosts=to(server))
    with tunnel_to(gateway, PLACE) as tunnel:
        tunnel.sendall(UPLOAD.replace(b"Transfer", b"X-HTTP-Method-Override: DELETE\r\nTransfer"))
        assert has_begun.wait(5)
        change(gateway, server, {"allow": ["POST api.example:8080"]})
        with contextlib.suppress(OSError):
            tunnel.sendall(LATER)
        assert read_head(tunnel).startswith(b"HTTP/1.1 403 ")
    assert b"LATER" not in b"".join(heard)


def test_a_request_that_waits_for_its_turn(gate, odd):  # noqa: F811
    heard, has_begun = [], threading.Event()
    server = odd(takes_all(heard, has_begun))
    gateway = gate(allow=["*:8080"], connections=1, hosts={**to(server), "b.example": f"127.0.0.1:{server.port}"})
    with tunnel_to(gateway, PLACE) as first, tunnel_to(gateway, "b.example:8080") as second:
        first.sendall(UPLOAD)
        assert has_begun.wait(5)
        second.sendall(b"GET /second HTTP/1.1\r\nHost: b.example:8080\r\n\r\n")
        time.sleep(0.3)
        change(gateway, server, {"allow": [PLACE], "connections": 1})
        assert read_head(second).startswith(b"HTTP/1.1 403 ")
        first.sendall(LATER)
        assert read_head(first).startswith(b"HTTP/1.1 200 ")
    assert b"/second" not in b"".join(heard)


@pytest.mark.parametrize("what", [*CUTS, "no TCP", "TCP"])
def test_what_began_as_tls_where_anything_could_pass(gate, odd, what):  # noqa: F811
    server = odd(echo)
    gateway = gate(allow=["TCP api.example:8080"], hosts=to(server))
    hello = client_hello("api.example")
    with tunnel_to(gateway, PLACE) as tunnel:
        tunnel.sendall(hello)
        assert tunnel.recv(65536) == hello
        change(gateway, server, CUTS.get(what) or {"allow": [PLACE if what == "no TCP" else "TCP " + PLACE]})
        got = b""
        with contextlib.suppress(OSError):
            tunnel.sendall(b"GET /admin HTTP/1.1\r\nHost: admin.example\r\n\r\n")
            tunnel.shutdown(socket.SHUT_WR)
            got = all_of(tunnel)
    assert (b"admin" in got) == (what == "TCP")


def test_a_connection_of_before_is_not_used_again(gate, odd):  # noqa: F811
    def named(name, waits):
        def serve(connection):
            while read_head(connection):
                waits.wait(5)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + name)
        return serve

    may_answer, at_once = threading.Event(), threading.Event()
    at_once.set()
    old, new = odd(named(b"old", may_answer)), odd(named(b"new", at_once))
    gateway = gate(allow=[PLACE], hosts=to(old))
    request = b"GET /x HTTP/1.1\r\nHost: api.example:8080\r\n\r\n"
    with tunnel_to(gateway, PLACE) as tunnel:
        tunnel.sendall(request)
        time.sleep(0.3)
        change(gateway, new, {"allow": [PLACE]})  # the name leads to another port of the same address
        may_answer.set()
        assert receive(tunnel, 41).endswith(b"old")
        tunnel.sendall(request)
        assert receive(tunnel, 41).endswith(b"new")


# --- what is told of what was refused when it had reached a server ---

@pytest.mark.parametrize("answer", [b"206 Partial Content\r\nContent-Range: bytes 0-1/9", b"200 OK\r\nContent-Encoding: dcb"])
def test_each_request_that_reached_a_server_is_told(gate, odd, answer):  # noqa: F811
    heard = []

    def serve(connection):
        heard.append(read_head(connection))
        connection.sendall(b"HTTP/1.1 " + answer + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    gateway = gate(allow=[PLACE], filter="on", hosts=to(odd(serve)))
    for i in range(8):
        with tunnel_to(gateway, PLACE) as tunnel:
            tunnel.sendall(b"GET /x?%d HTTP/1.1\r\nHost: api.example:8080\r\n\r\n" % i)
            assert read_head(tunnel).startswith(b"HTTP/1.1 502 ")
    told = [event for event in gateway.finish() if event["kind"] == "request"]
    assert len(heard) == 8 and [event["verdict"] for event in told] == ["denied"] * 8


def test_each_connection_that_reached_a_server_is_told(gate, odd):  # noqa: F811
    heard = []

    def serve(connection):
        heard.append(connection.recv(65536))
        connection.sendall(b"no TLS")

    gateway = gate(allow=[PLACE], hosts=to(odd(serve)))
    for _ in range(8):
        with tunnel_to(gateway, PLACE) as tunnel:
            tunnel.sendall(client_hello("api.example"))
            assert not all_of(tunnel)
    told = [event for event in gateway.finish() if event["kind"] == "connect"]
    assert len(heard) == 8 and [event["verdict"] for event in told] == ["denied"] * 8


def test_what_reached_nobody_is_told_once_in_a_while(gate, odd):  # noqa: F811
    gateway = gate(allow=["api.example:8081"], hosts=to(odd(echo)))
    for _ in range(8):
        with tunnel_to(gateway, "api.example:8081") as tunnel:
            tunnel.sendall(b"\0no HTTP")
            assert not all_of(tunnel)
    assert len([event for event in gateway.finish() if event["kind"] == "connect"]) < 8
