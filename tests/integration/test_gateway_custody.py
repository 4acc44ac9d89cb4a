"""Writes that wait for approval, at the gateway: who was named before the seal decides, and nobody else who has the connection."""
import array
import json
import os
import select
import socket
import struct
import sys
import threading
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from helpers import eventually  # noqa: E402
from gates import curl, gate, nginx, program, to  # noqa: E402,F401 pylint: disable=unused-import
from tenant import SPEAK, Reader, string  # noqa: E402

SEAL, CUSTODY, NAME, ASKED, TAKEN = 62, 88, 89, 90, 91
URL = "http://api.example/x"


class Custodian:
    """Who decides: takes each write that it is told of, or says why not."""

    def __init__(self, gateway, reason=""):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.asked, self.names, self.reason = [], [], reason
        with other:
            gateway.send(CUSTODY, fds=[other.fileno()])
        threading.Thread(target=self.serve, daemon=True).start()

    def send(self, kind, body, number=0, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([struct.pack("=IHHQ", len(body), 3, kind, number) + body], control)

    def serve(self):
        while packet := self.socket.recv(1 << 17):
            kind, number, reader = *struct.unpack("=IHHQ", packet[:16])[2:], Reader(packet[16:])
            if kind == NAME:
                self.names.append(reader.string())
                continue
            assert kind == ASKED
            wait_ms = reader.u64()
            host, port, is_tls, method, path = reader.string(), reader.u32(), reader.u32(), reader.string(), reader.string()
            self.asked.append({"wait_ms": wait_ms, "host": host, "port": port, "is_tls": is_tls, "method": method, "path": path,
                               "message": reader.data})
            self.send(TAKEN, string("" if self.reason else f"held-{number}") + string(self.reason), number)

    def speak(self, one):
        """Has it sent; gives the connection on which it is answered."""
        ours, theirs = socket.socketpair()
        ours.settimeout(10)
        with theirs:
            self.send(SPEAK, string(one["host"]) + struct.pack("=II", one["port"], one["is_tls"]), fds=[theirs.fileno()])
        ours.sendall(one["message"])
        return ours


def seal(gateway, nginx, **more):  # noqa: F811
    gateway.send(SEAL, json.dumps({"network": {"allow": ["api.example"], "hosts": to(nginx), **more}}).encode())


@pytest.fixture
def held(gate, nginx):  # noqa: F811
    gateway = gate(hosts=to(nginx), writes="hold", approval_time="90s")
    custodian = Custodian(gateway)
    seal(gateway, nginx, writes="hold")
    return gateway, custodian


def test_a_write_is_told_answered_with_its_name_and_sent_when_it_is_approved(held, nginx):  # noqa: F811
    gateway, custodian = held
    before = len(nginx.requests())
    assert curl(gateway, URL)[1] in (200, 404)
    assert len(nginx.requests()) == before + 1
    _, status, body = curl(gateway, URL, "-d", "hello")
    assert status == 202 and json.loads(body)["held"]["id"] == "held-1"
    one, = custodian.asked
    assert (one["host"], one["method"], one["path"], one["wait_ms"]) == ("api.example", "POST", "/x", 90000)
    assert one["message"].startswith(b"POST /x HTTP/1.1\r\nHost: api.example\r\n") and one["message"].endswith(b"\r\n\r\nhello")
    assert len(nginx.requests()) == before + 1
    with custodian.speak(one) as line:
        assert line.recv(65536).startswith(b"HTTP/1.1 ")
    assert len(nginx.requests()) == before + 2


def test_what_was_approved_is_taken_in_at_once_whatever_the_box_may_send(held, nginx):  # noqa: F811
    """Who brings it is one of few who decide for everybody."""
    gateway, custodian = held
    assert curl(gateway, URL, "-d", "x" * 60_000)[1] == 202
    gateway.change({"network": {"allow": ["api.example"], "hosts": to(nginx), "writes": "hold", "bandwidth_up": "1K"}})

    def is_slow():
        began = time.monotonic()
        assert curl(gateway, URL, "-d", "x" * 4_000)[1] == 202
        return time.monotonic() - began > 1

    assert eventually(is_slow, 30)
    began = time.monotonic()
    with custodian.speak(custodian.asked[0]) as line:
        assert line.recv(65536).startswith(b"HTTP/1.1 ") and time.monotonic() - began < 5


def test_behind_what_was_approved_nothing_else_is_spoken(held, nginx):  # noqa: F811
    """The connection on which it is answered ends in hands that are trusted with nothing."""
    gateway, custodian = held
    assert curl(gateway, URL, "-d", "hello")[1] == 202
    before = len(nginx.requests())
    with custodian.speak(custodian.asked[0]) as line:
        assert line.recv(65536)
        line.sendall(b"DELETE /everything HTTP/1.1\r\nHost: api.example\r\n\r\n")
        try:
            while line.recv(65536):
                pass
        except ConnectionError:
            pass
    assert len(nginx.requests()) == before + 1 and len(custodian.asked) == 1


@pytest.mark.parametrize("words, status", [
    (["-X", "GET", "-d", "x"], 202), (["-X", "OPTIONS", "-d", "x"], 202), (["-X", "GET", "-H", "Transfer-Encoding: chunked", "-d", "x"], 202),
    (["-X", "GET", "-H", "Content-Length: 0"], 200), (["-I"], 200)])
def test_a_read_with_a_body_waits_too(held, nginx, words, status):  # noqa: F811
    gateway, custodian = held
    before = len(nginx.requests())
    assert curl(gateway, "http://api.example/", *words)[1] == status
    assert len(custodian.asked) == (status == 202) and len(nginx.requests()) == before + (status == 200)


def test_who_has_the_sealed_connection_speaks_as_the_box_and_waits_as_it(held, nginx):  # noqa: F811
    gateway, custodian = held
    before = len(nginx.requests())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        gateway.send(SPEAK, string("api.example") + struct.pack("=II", 80, 0), fds=[theirs.fileno()])
        ours.sendall(b"DELETE /x HTTP/1.1\r\nHost: api.example\r\n\r\n")
        assert ours.recv(65536).startswith(b"HTTP/1.1 202 ")
    assert len(nginx.requests()) == before and custodian.asked[-1]["method"] == "DELETE"


def test_who_has_the_sealed_connection_can_not_take_the_custodians_place(held, nginx):  # noqa: F811
    gateway, custodian = held
    thief = Custodian(gateway)
    assert thief.socket.recv(100) == b"" if select.select([thief.socket], [], [], 5)[0] else False
    gateway.change({"network": {"allow": ["api.example"], "hosts": to(nginx), "writes": "pass"}})
    assert curl(gateway, URL, "-d", "hello")[1] == 202
    assert len(custodian.asked) == 1 and thief.asked == []


def test_a_box_has_one_custodian_from_before_the_seal_or_none(gate, nginx):  # noqa: F811
    gateway = gate(hosts=to(nginx), writes="hold")
    seal(gateway, nginx)
    Custodian(gateway)
    assert curl(gateway, URL)[1] in (200, 404)
    _, status, body = curl(gateway, URL, "-d", "hello")
    assert status == 403 and json.loads(body)["error"]["code"] == "needs_approval"


def test_without_anybody_to_ask_writes_are_refused(gate, nginx):  # noqa: F811
    gateway = gate(hosts=to(nginx), writes="hold")
    _, status, body = curl(gateway, URL, "-X", "DELETE")
    error = json.loads(body)["error"]
    assert status == 403 and (error["code"], error["remedy"]) == ("needs_approval", "network.writes: pass")


def test_a_custodian_that_takes_nothing_or_goes_has_writes_refused(gate, nginx):  # noqa: F811
    gateway = gate(hosts=to(nginx), writes="hold")
    custodian = Custodian(gateway, reason="there is no room")
    _, status, body = curl(gateway, URL, "-d", "hello")
    assert status == 503 and "there is no room" in json.loads(body)["error"]["message"]
    custodian.socket.shutdown(socket.SHUT_RDWR)
    custodian.socket.close()
    assert curl(gateway, URL, "-d", "hello")[1] == 503
    assert curl(gateway, URL)[1] in (200, 404)


def test_the_first_name_counts(held):
    gateway, custodian = held
    for name in ("one", "two"):
        gateway.send(NAME, string(name))
    assert curl(gateway, URL, "-d", "hello")[1] == 202
    assert custodian.names == ["one"]


@pytest.mark.parametrize("kind, body", [(TAKEN, b"x"), (SPEAK, b"x"), (ASKED, b""), (7, b"")])
def test_a_custodian_that_says_what_is_no_answer_is_none(held, kind, body):
    gateway, custodian = held
    if kind == SPEAK:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            custodian.send(kind, body, fds=[theirs.fileno()])
    else:
        custodian.send(kind, body)
    assert curl(gateway, URL, "-d", "hello")[1] == 503
    assert curl(gateway, URL)[1] in (200, 404)
