"""TLS that is none, from both sides: the connection ends, the event tells, and the gateway serves the next one."""
import contextlib
import os
import socket
import ssl
import struct
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import gate, odd, program  # noqa: E402,F401 pylint: disable=unused-import
from origins import client_hello  # noqa: E402

HELLO = client_hello("api.example")


def record(payload, kind=22, version=b"\x03\x01", size=None):
    return bytes([kind]) + version + struct.pack(">H", len(payload) if size is None else size) + payload


# What a program sends in place of a handshake, behind a CONNECT to a host whose requests are looked into.
FROM_INSIDE = {
    "cut in the record's head": HELLO[:3],
    "cut in the hello": HELLO[:60],
    "nothing but a record's head": record(b"", size=16384),
    "a record that is too long": record(b"a" * 40000, size=40000),
    "an empty record": record(b"") * 50,
    "a record of another kind": record(b"\x01", 23) + HELLO,
    "an alert": record(b"\x02\x28", 21),
    "SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"\x01\x00\x80" * 7 + b"a" * 16,
    "SSL 3": record(HELLO[5:9] + b"\x03\x00" + HELLO[11:], version=b"\x03\x00"),
    "a hello that says another length": record(b"\x01\xff\xff\xff" + HELLO[9:]),
    "a hello byte by byte, and then noise": None,
    "a hello, and then noise": HELLO + os.urandom(5000),
    "a hello twice": HELLO + HELLO,
    "noise": b"\x16\x03\x01" + os.urandom(20000),
    "a hello of which each byte is wrong in turn": None,
}


def connect(gateway):
    line = socket.create_connection(("127.0.0.1", gateway.proxy), timeout=20)
    line.sendall(b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n")
    head = b""
    while b"\r\n\r\n" not in head:
        piece = line.recv(1)
        assert piece, head
        head += piece
    assert head.startswith(b"HTTP/1.1 200"), head
    return line


def drain(line, most=8):
    """All that comes until the end, or for so many seconds."""
    line.settimeout(most)
    data = b""
    try:
        while True:
            piece = line.recv(65536)
            if not piece:
                return data, True
            data += piece
    except TimeoutError:
        return data, False
    except OSError:
        return data, True


def answers_a_real_client(gateway):
    context = ssl.create_default_context(cadata=gateway.pem)
    with connect(gateway) as line, context.wrap_socket(line, server_hostname="api.example") as tls:
        tls.sendall(b"GET /x HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n")
        return drain(tls)[0]


@pytest.mark.parametrize("what", FROM_INSIDE)
def test_what_is_no_handshake_ends_and_harms_nobody(gate, odd, what):  # noqa: F811
    reached = []
    server = odd(lambda connection: reached.append(connection.recv(1)))
    gateway = gate(allow=["GET api.example:443/x"], hosts={"api.example": f"127.0.0.1:{server.port}"})
    if what == "a hello of which each byte is wrong in turn":
        for at in range(0, len(HELLO), 3):
            with connect(gateway) as line, contextlib.suppress(OSError):  # it may be ended before that
                line.sendall(HELLO[:at] + bytes([HELLO[at] ^ 0xff]) + HELLO[at + 1:])
                line.shutdown(socket.SHUT_WR)
    elif what == "a hello byte by byte, and then noise":
        with connect(gateway) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(len(HELLO)):
                line.sendall(HELLO[at:at + 1])
            with contextlib.suppress(OSError):
                line.sendall(os.urandom(500))
                line.shutdown(socket.SHUT_WR)
            assert drain(line)[1]
    else:
        with connect(gateway) as line:
            with contextlib.suppress(OSError):
                line.sendall(FROM_INSIDE[what])
                line.shutdown(socket.SHUT_WR)
            assert drain(line)[1], "the connection stays open"
    assert not reached, "the server heard of it"
    assert b"502" in answers_a_real_client(gateway)  # whose server speaks no TLS
    assert gateway.process.poll() is None


def test_silence_in_a_handshake_is_given_up_and_holds_up_nobody(gate, odd):  # noqa: F811
    server = odd(lambda connection: connection.recv(1))
    gateway = gate(allow=["GET api.example:443/x"], hosts={"api.example": f"127.0.0.1:{server.port}"}, connections=200)
    lines = [connect(gateway) for _ in range(40)]
    for line in lines:
        line.sendall(HELLO[:50])
    began = time.monotonic()
    assert b"502" in answers_a_real_client(gateway)
    assert time.monotonic() - began < 5
    for line in lines:
        line.close()


# What a server sends in place of its part of a handshake.
FROM_OUTSIDE = {
    "nothing, and hangs up": b"",
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "noise": os.urandom(4000),
    "an alert": record(b"\x02\x28", 21),
    "a record that is too long": record(b"a" * 40000, size=40000),
    "a hello of a client": HELLO,
    "a thousand empty records": record(b"") * 1000,
    "a hello that ends in the midst": record(b"\x02\x00\x00\x46\x03\x03" + b"a" * 20),
}


@pytest.mark.parametrize("what", FROM_OUTSIDE)
def test_a_server_that_speaks_no_tls_is_told_as_one(gate, odd, what):  # noqa: F811
    def serve(connection):
        connection.recv(65536)
        connection.sendall(FROM_OUTSIDE[what])
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(5)
        connection.recv(65536)

    gateway = gate(allow=["GET api.example:443/x"], hosts={"api.example": f"127.0.0.1:{odd(serve).port}"})
    answer = answers_a_real_client(gateway)
    assert answer.startswith(b"HTTP/1.1 502") and b'"upstream_' in answer, answer
    event = gateway.wait_for(lambda one: one["kind"] == "request")
    assert event["status"] == 502 and event["reason"], event
