"""Names whose answers lead inside: a name server that answers whatever serves an attacker, and a gateway that asks it.

As root only: the gateway is given another /etc/resolv.conf in a mount namespace of its own.
"""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from origins import Odd  # noqa: E402
from tenant import Tenant  # noqa: E402

ADDRESS = "127.9.9.9"  # of the name server

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another resolv.conf, and port 53")


class NameServer:
    """Answers each question with what `answers(name, number of this question)` gives."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((ADDRESS, 53))
        self.answers, self.asked = lambda name, count: [], 0
        self.socket.settimeout(0.05)
        self.is_closed = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.is_closed:
            try:
                data, sender = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1:at + 1 + data[at]].decode())
                at += data[at] + 1
            kind = struct.unpack(">H", data[at + 1:at + 3])[0]
            family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
            records = []
            for address in self.answers(".".join(labels), self.asked):
                if (":" in address) == (family == socket.AF_INET6) and family:
                    octets = socket.inet_pton(family, address)
                    records.append(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(octets)) + octets)
            self.asked += kind == 1
            head = data[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, len(records), 0, 0)
            self.socket.sendto(head + data[12:at + 5] + b"".join(records), sender)

    def close(self):
        self.is_closed = True
        self.thread.join()
        self.socket.close()


@pytest.fixture
def names():
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def inside():
    server = Odd(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nINSIDE"))
    yield server
    server.close()


@pytest.fixture
def gate(ringfort, tmp_path, inside):
    made = []
    (tmp_path / "resolv.conf").write_text(f"nameserver {ADDRESS}\n")
    program = str(pathlib.Path(ringfort).parent / "ringfort-gateway")
    if not os.path.exists(program):
        pytest.skip("ringfort-gateway is not built here")

    def make(**more):
        network = {"allow": [f"**.example:{inside.port}"], "connect_time": "300ms", **more}
        words = ["unshare", "-m", "sh", "-c", f'mount --bind {tmp_path}/resolv.conf /etc/resolv.conf && exec {program} "$@"', "gateway"]
        made.append(Tenant(words, {"version": 1, "network": network}))
        return made[-1]

    yield make
    for tenant in made:
        if tenant.process.poll() is None:
            assert tenant.close() == 0


def get(gateway, host, port):
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as client:
        client.settimeout(5)
        client.sendall(f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        got = b""
        while True:
            piece = client.recv(65536)
            if not piece:
                return got
            got += piece


def own_addresses():
    words = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    return words[:2]


INSIDE = ["127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "169.254.169.254", "192.168.0.1", "172.16.0.1", "100.64.0.1", "224.0.0.1",
          "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1", "fd00:ec2::254", "ff02::1",
          *own_addresses()]


@pytest.mark.parametrize("address", INSIDE)
def test_a_name_that_leads_inside_is_refused(gate, names, inside, address):
    names.answers = lambda name, count: [address]
    gateway = gate()
    answer = get(gateway, "rebind.example", inside.port)
    assert answer.startswith(b"HTTP/1.1 403") and b"address_denied" in answer
    event = gateway.wait_for(lambda event: event["verdict"] == "denied")
    assert event["host"] == "rebind.example" and inside.count == 0


def test_a_name_that_flips_never_leads_inside(gate, names, inside):
    names.answers = lambda name, count: ["127.0.0.1" if count % 2 else "192.0.2.1"]
    gateway = gate(mode="open", rate="1000000/s")
    for number in range(3000):  # each name is asked for anew
        assert b"INSIDE" not in get(gateway, f"n{number}.example", inside.port)
        if number % 100 == 0:
            gateway.poll()  # who does not listen is answered no more
    assert inside.count == 0 and names.asked >= 3000


def test_of_several_addresses_only_those_outside_are_dialled(gate, names, inside):
    names.answers = lambda name, count: ["127.0.0.1", "198.51.100.1", "::1", "10.0.0.1"]
    assert get(gate(), "many.example", inside.port).startswith(b"HTTP/1.1 403")  # for 198.51.100.1 is nobody's, too
    assert inside.count == 0


def test_a_rule_that_names_the_address_allows_it(gate, names, inside):
    names.answers = lambda name, count: ["127.0.0.1"]
    gateway = gate(allow=[f"**.example:{inside.port}", f"127.0.0.1:{inside.port}"])
    assert get(gateway, "here.example", inside.port).endswith(b"INSIDE")


def test_what_can_t_be_resolved_says_so(gate, names, inside):
    gateway = gate()
    assert b"resolved" in get(gateway, "nowhere.example", inside.port)
    names.close()
    assert get(gateway, "silent.example", inside.port).startswith(b"HTTP/1.1 50")
