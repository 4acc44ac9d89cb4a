"""A client of ringfort-gateway, as src/wire/gate.h has it: for tests of the gateway without a box.

Its lines are ordinary sockets on loopback, so a test reaches by the proxy whatever a box would, and asks its resolver; that
connections are captured in a box's own network is tested with boxes.
"""
import array
import contextlib
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import time

(REFUSED, OPEN, LINES, PORT, PUBLISH, STOCK, CHANGE, CLOSE, SPEAK, READY, EVENT, HELD, DONE) = 9, *range(17, 29)
KINDS = ["connect", "request", "dns", "limit", "breaker", "credential", "secret", "published", "canary"]
VERDICTS = ["allowed", "denied", "reported", "held"]
COUNTS = ["connections", "requests", "names", "denied", "held", "up_bytes", "down_bytes", "lost_events"]


def string(text):
    data = text.encode()
    return struct.pack("=I", len(data)) + data + b"\0"


class Reader:
    """base/pack.h, read."""

    def __init__(self, data):
        self.data = data

    def take(self, form):
        size = struct.calcsize(form)
        value, self.data = struct.unpack(form, self.data[:size])[0], self.data[size:]
        return value

    def u32(self):
        return self.take("=I")

    def u64(self):
        return self.take("=Q")

    def string(self):
        size = self.u32()
        text, self.data = self.data[:size].decode(), self.data[size + 1:]
        return text


def read_events(data):
    """A message tells one event or some."""
    reader = Reader(data)
    while reader.data:
        yield read_event(reader)


def read_event(reader):
    event = {"kind": KINDS[reader.u32()], "verdict": VERDICTS[reader.u32()], "port": reader.u32(), "status": reader.u32()}
    for name in ("time_ms", "up_bytes", "down_bytes", "duration_us", "cost"):
        event[name] = reader.u64()
    for name in ("host", "address", "method", "path", "credential", "rule", "reason", "remedy"):
        event[name] = reader.string()
    return event


class Refused(Exception):
    """The gateway says no."""


class Tenant:
    """One gateway of one's own, and one box on it."""

    def __init__(self, program, policy, box=1, holds_writes=False, credentials=(), canaries=()):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self.process = subprocess.Popen([*([program] if isinstance(program, str) else program), "--fd", str(other.fileno())], pass_fds=[other.fileno()])
        self.box, self.events, self.held, self.counts = box, [], [], None
        self.lines = []
        self.pem = self.open(policy, box, holds_writes, credentials, canaries)
        self.give_lines(box)

    def send(self, kind, body=b"", fds=(), box=None):
        head = struct.pack("=IHHQ", len(body), 3, kind, self.box if box is None else box)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([head + body], control)

    def receive(self, timeout=10):
        if not select.select([self.socket], [], [], timeout)[0]:
            raise TimeoutError("the gateway says nothing")
        packet = self.socket.recv(1 << 16)
        if not packet:
            raise EOFError("the gateway has ended")
        length, _, kind, box = struct.unpack("=IHHQ", packet[:16])
        assert length == len(packet) - 16
        return kind, box, packet[16:]

    def open(self, policy, box, holds_writes=False, credentials=(), canaries=()):
        """`credentials` are (name, value, placeholder), `canaries` (name, value)."""
        text = policy if isinstance(policy, str) else json.dumps(policy)
        self.send(OPEN, string(f"box-{box}") + string("") + string(text) + struct.pack("=II", holds_writes, False) + string("") +
                  struct.pack("=I", len(credentials)) +
                  b"".join(string(text) for credential in credentials for text in credential) +
                  struct.pack("=I", len(canaries)) + b"".join(string(text) for canary in canaries for text in canary), box=box)
        kind, _, body = self.receive()
        if kind == REFUSED:
            raise Refused(body)
        assert kind == READY, kind
        return Reader(body).string()

    def give_lines(self, box):
        tcp, dns_tcp, proxy = (socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(3))
        dns_udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        dns_udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        dns_udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        dns_udp.bind(("::", 0))
        lines = [tcp, dns_udp, dns_tcp, proxy]
        ports = [line.getsockname()[1] for line in lines]
        self.send(LINES, fds=[line.fileno() for line in lines], box=box)
        for line in lines:
            line.close()
        if box == self.box:
            self.tcp, self.dns_udp, self.dns_tcp, self.proxy = ports
        return ports

    def change(self, policy):
        self.send(CHANGE, (policy if isinstance(policy, str) else json.dumps(policy)).encode())

    def poll(self, seconds=0.0):
        """Takes what has been told; waits for the first of it."""
        with contextlib.suppress(TimeoutError):
            while True:
                kind, _, body = self.receive(seconds)
                if kind == EVENT:
                    self.events.extend(read_events(body))
                elif kind == HELD:
                    self.held.append(body)
                elif kind == REFUSED:
                    self.events.append({"kind": "refused", "body": body})
                elif kind == DONE:
                    reader = Reader(body)
                    self.counts = {name: reader.u64() for name in COUNTS}
                    return self.events
                seconds = 0.05
        return self.events

    def wait_for(self, wanted, seconds=10):
        """The first event for which `wanted` holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for event in self.poll(0.1):
                if wanted(event):
                    return event
        raise AssertionError(f"no such event in {self.events}")

    def finish(self):
        """Closes the box; all events, and the counters."""
        self.send(CLOSE)
        while self.counts is None:
            self.poll(10)
        return self.events

    def close(self):
        self.socket.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            assert self.close() == 0


def program():
    """The gateway that was built last."""
    root = pathlib.Path(__file__).resolve().parents[3]
    return os.environ.get("RINGFORT_GATEWAY", str(root / "build" / "ringfort-gateway"))
