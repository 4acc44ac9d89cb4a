"""A sealed connection to the gateway: who has it afterwards gets nowhere that the seal does not lead."""
import array
import json
import os
import select
import socket
import struct
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import curl, gate, nginx, odd, program, to  # noqa: E402,F401 pylint: disable=unused-import
from tenant import CHANGE, OPEN, REFUSED, Reader, read_event, string  # noqa: E402

WIRE = 3  # the version of messages
HAND, SHOW, POLICY, BOUND, BOOKS, SEAL, LOG, LOGGED = 39, 40, 41, 42, 43, 62, 63, 64
COUNTS = ["connections", "requests", "names", "denied", "held", "up_bytes", "down_bytes", "lost_events"]


class Hand:
    """On a box's network, as a server has it."""

    def __init__(self, gateway, is_bounded):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            gateway.send(HAND, struct.pack("=I", is_bounded), fds=[other.fileno()])

    def ask(self, kind, body=b""):
        self.socket.sendmsg([struct.pack("=IHHQ", len(body), WIRE, kind, 7) + body])
        assert select.select([self.socket], [], [], 10)[0]
        packet = self.socket.recv(1 << 17)
        assert packet, "the gateway took the hand away"
        _, _, kind, number = struct.unpack("=IHHQ", packet[:16])
        assert number == 7
        return kind, packet[16:]

    def change(self, policy):
        return self.ask(CHANGE, json.dumps(policy).encode())

    def page(self, cursor=0, is_summary=False):
        kind, body = self.ask(LOG, struct.pack("=QQ", cursor, is_summary))
        assert kind == LOGGED
        reader, page = Reader(body), {}
        page["counts"] = {name: reader.u64() for name in COUNTS}
        page["next"], page["missed"], page["unlisted"] = reader.u64(), reader.u64(), reader.u64()
        page["hosts"] = {reader.string(): [reader.u64() for _ in range(5)] for _ in range(reader.u32())}
        page["events"] = []
        while reader.data:
            page["events"].append(read_event(reader))
        return page


def network(allow, hosts, **more):
    return {"network": {"allow": allow, "hosts": hosts, **more}}


@pytest.fixture
def sealed(gate, nginx):  # noqa: F811
    """A box that may reach a.example, and never more than that and b.example."""
    hosts = {name: f"127.0.0.1:{nginx.port}" for name in ("a.example", "b.example", "c.example")}
    gateway = gate(allow=["a.example"], hosts=hosts)
    gateway.names = hosts
    gateway.send(SEAL, json.dumps(network(["a.example", "b.example"], hosts)).encode())
    return gateway


def status(gateway, name):
    return curl(gateway, f"http://{name}/index.html")[1]


def test_a_change_leads_to_the_seal_and_not_beyond(sealed):
    assert [status(sealed, name) for name in sealed.names] == [200, 403, 403]
    sealed.change(network(["a.example", "b.example", "c.example"], sealed.names))
    assert [status(sealed, name) for name in sealed.names] == [200, 200, 403]
    sealed.change(network(["*"], {"c.example": "127.0.0.1"}, mode="open"))
    assert [status(sealed, name) for name in sealed.names] == [200, 200, 403]


def test_a_bound_narrows_and_widens_nothing(sealed):
    sealed.send(BOUND, json.dumps(network(["c.example", "b.example"], sealed.names)).encode())
    assert [status(sealed, name) for name in sealed.names] == [403, 200, 403]


def test_there_is_no_other_box_and_no_other_seal(sealed):
    sealed.send(OPEN, string("box-2") + string("") + string(json.dumps(network(["*"], {}, mode="open"))) +
                struct.pack("=II", 0, 0) + string("") + struct.pack("=II", 0, 0), box=2)
    kind, box, body = sealed.receive()
    assert (kind, box) == (REFUSED, 2) and b"sealed" in body
    sealed.send(SEAL, json.dumps(network(["*"], sealed.names)).encode())
    kind, _, body = sealed.receive()
    assert kind == REFUSED and b"sealed already" in body
    assert curl(sealed, "http://c.example/")[0] != 0  # and the box is over


@pytest.mark.parametrize("is_bounded", [0, 1])
def test_a_hand_leads_to_the_seal_and_not_beyond(sealed, is_bounded):
    hand = Hand(sealed, is_bounded)
    kind, text = hand.change(network(["b.example", "c.example"], sealed.names))
    assert kind == POLICY and b"b.example" in text
    assert [status(sealed, name) for name in sealed.names] == [403, 200, 403]
    kind, why = hand.change({"network": {"filter": "off", "allow": []}})
    assert kind == REFUSED and b"stays as it is" in why
    assert hand.ask(SHOW)[1] == text


def test_what_happened_is_kept_and_read_by_a_cursor(sealed):
    hand = Hand(sealed, 1)
    assert hand.page()["events"] == []
    assert status(sealed, "a.example") == 200 and status(sealed, "c.example") == 403
    sealed.wait_for(lambda event: event["verdict"] == "denied")
    page = hand.page()
    told = [(event["kind"], event["verdict"], event["host"]) for event in page["events"] if event["kind"] == "request"]
    assert told == [("request", "allowed", "a.example"), ("request", "denied", "c.example")]
    assert hand.page(page["next"])["events"] == []
    assert status(sealed, "b.example") == 403
    sealed.wait_for(lambda event: event["host"] == "b.example")
    assert [event["host"] for event in hand.page(page["next"])["events"]] == ["b.example"]
    sums = hand.page(is_summary=True)
    assert sums["events"] == [] and sums["counts"]["denied"] == 2
    assert sums["hosts"]["a.example"][1:3] == [1, 0] and sums["hosts"]["a.example"][4] > 0
    assert sums["hosts"]["c.example"][2] == 1


def test_of_a_box_that_is_not_sealed_nothing_is_kept(gate, nginx):  # noqa: F811
    hand = Hand(gate(hosts=to(nginx)), 1)
    kind, why = hand.ask(LOG, struct.pack("=QQ", 0, 0))
    assert kind == REFUSED and b"nothing is kept" in why


def test_several_hands_are_there_at_once_and_the_oldest_goes(sealed):
    hands = [Hand(sealed, 1) for _ in range(4)]
    assert [hand.ask(SHOW)[0] for hand in hands] == [POLICY] * 4
    fifth = Hand(sealed, 1)
    assert fifth.ask(SHOW)[0] == POLICY and hands[1].ask(SHOW)[0] == POLICY
    assert hands[0].socket.recv(100) == b""


def test_books_open_breakers_of_a_sealed_box_and_close_none(sealed):
    sealed.send(BOOKS, b"serial 1\nopen host a.example - odd\n")
    assert status(sealed, "a.example") == 503
    sealed.send(BOOKS, b"serial 2\nreset host a.example\nopen host a.example - odd\n")
    assert status(sealed, "a.example") == 503
