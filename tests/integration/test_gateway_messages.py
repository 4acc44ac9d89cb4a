"""What follows a body, and what follows an upgrade, through the gateway: trailers both ways, and the frames of a WebSocket."""
import base64
import os
import socket
import struct
import sys
import threading

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import ask, gate, odd, program, to  # noqa: E402,F401 pylint: disable=unused-import
from origins import read_head  # noqa: E402
from tenant import Tenant  # noqa: E402

SECRET = "tok-0123456789abcdefghijklmnop"
PLACEHOLDER = "tok-9876543210zyxwvutsrqponmlk"
CANARY = "canary-5f3a9c01b7d2e846"


@pytest.fixture
def filtered(program):  # noqa: F811
    """Makes a gateway whose box has a credential for somebody else, a canary, and the rules of form."""
    made = []

    def make(server, **network):
        policy = {"version": 1, "network": {"allow": ["api.example"], "hosts": to(server), **network},
                  "credentials": {"token": {"from": "env:TOKEN", "hosts": ["other.example"]}}}
        made.append(Tenant(program, policy, credentials=[("token", SECRET, PLACEHOLDER)], canaries=[("/home/me/.key", CANARY)]))
        return made[-1]

    yield make
    for tenant in made:
        if tenant.process.poll() is None:
            assert tenant.close() == 0


# --- trailers ---

def answers(text, requests=None):
    def serve(connection):
        data = read_head(connection)
        while b"chunked" in data and not (b"0\r\n" in data and data.endswith(b"\r\n\r\n")):
            data += connection.recv(65536)
        if requests is not None:
            requests.append(data)
        connection.sendall(text)
    return serve


PLAIN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 17\r\nX-More: a b\r\n\r\n"
GET = b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n"
POST = b"POST http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"


def test_trailers_pass_both_ways(gate, odd):  # noqa: F811
    heard = []
    server = odd(answers(PLAIN, heard))
    gateway = gate(hosts=to(server))
    answer = ask(gateway, POST + b"X-Check: 99\r\nX-Other: c\r\n\r\n")
    assert answer.endswith(b"2\r\nok\r\n0\r\nX-Sum: 17\r\nX-More: a b\r\n\r\n"), answer
    assert heard[0].endswith(b"2\r\nab\r\n0\r\nX-Check: 99\r\nX-Other: c\r\n\r\n"), heard


def test_an_old_client_gets_the_body_without_them(gate, odd):  # noqa: F811
    gateway = gate(hosts=to(odd(answers(PLAIN))))
    answer = ask(gateway, b"GET http://api.example/ HTTP/1.0\r\nHost: api.example\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nok") and b"chunked" not in answer, answer


@pytest.mark.parametrize("field", [b"Content-Length: 3", b"Host: x", b"Transfer-Encoding: chunked", b"Authorization: a", b"A B: c", b"\x00: a"])
def test_a_trailer_that_decides_about_messages_is_refused_either_way(gate, odd, field):  # noqa: F811
    server = odd(answers(PLAIN.replace(b"X-Sum: 17", field)))
    answer = ask(gate(hosts=to(server)), GET)
    assert not answer.endswith(b"0\r\n\r\n") and field not in answer.partition(b"ok")[2], answer
    answer = ask(gate(hosts=to(odd(answers(PLAIN)))), POST + field + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400"), answer


def test_secrets_are_masked_in_trailers_and_placeholders_and_canaries_do_not_leave(filtered, odd):  # noqa: F811
    heard = []
    server = odd(answers(PLAIN.replace(b"17", b"x" + SECRET.encode()), heard))
    gateway = filtered(server)
    assert ask(gateway, GET).endswith(b"X-Sum: x" + b"*" * len(SECRET) + b"\r\nX-More: a b\r\n\r\n")
    heard.clear()
    answer = ask(gateway, POST + b"X-A: " + base64.b64encode(PLACEHOLDER.encode()) + b"\r\n\r\n")
    assert b"403" in answer and b"credential_not_bound" in answer, answer
    answer = ask(filtered(server), POST + b"X-A: " + CANARY.encode() + b"\r\n\r\n")
    assert b"403" in answer and b"canary" in answer, answer
    assert not any(data.endswith(b"\r\n\r\n") and b"X-A" in data for data in heard), heard


# --- WebSocket ---

def frame(payload, kind=1, is_last=True, mask=None):
    head = bytes([kind | (0x80 if is_last else 0)])
    size = len(payload)
    bit = 0x80 if mask else 0
    head += bytes([bit | size]) if size < 126 else bytes([bit | 126]) + struct.pack(">H", size) if size < 65536 else \
        bytes([bit | 127]) + struct.pack(">Q", size)
    if mask:
        payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        head += mask
    return head + payload


def read_all(connection, size):
    """So many bytes, or fewer at the end.  A socket with a time limit does not wait for all of them by itself."""
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


def read_frame(connection):
    head = read_all(connection, 2)
    if len(head) < 2:
        return None
    size = head[1] & 127
    if size > 125:
        size = struct.unpack(">H" if size == 126 else ">Q", read_all(connection, 2 if size == 126 else 8))[0]
    mask = read_all(connection, 4) if head[1] & 128 else b"\0" * 4
    payload = read_all(connection, size)
    return head[0] & 15, bool(head[0] & 128), bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def read_message(connection):
    """A message, put together; control frames between its parts are given with it."""
    kind, text, control = None, b"", []
    while True:
        got = read_frame(connection)
        if got is None:
            return None, text, control
        if got[0] >= 8:
            control.append((got[0], got[2]))
            continue
        kind = got[0] or kind
        text += got[2]
        if got[1]:
            return kind, text, control


MASK = b"\x11\x22\x33\x44"
ASK = (b"GET http://api.example/ws HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
       b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
       b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
AGREED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"


class Socket:
    """A WebSocket of the box's through a gateway; what the server got is in `heads` and `got`."""

    def __init__(self, gateway, odd, says, agreed=AGREED):  # noqa: F811
        self.client = socket.create_connection(("127.0.0.1", gateway.proxy))
        self.client.settimeout(20)
        self.client.sendall(ASK)
        self.head = b""
        while b"\r\n\r\n" not in self.head:
            piece = self.client.recv(1)
            if not piece:
                break
            self.head += piece

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.client.close()


def websocket(odd, says, agreed=AGREED):  # noqa: F811
    """A server that says frames, one behind the other in one write or byte by byte, then echoes what it gets as text."""
    heads, got = [], []

    def serve(connection):
        heads.append(read_head(connection))
        connection.sendall(agreed)
        for piece in says:
            connection.sendall(piece)
        while True:
            one = read_frame(connection)
            if one is None:
                got.append(None)
                return
            got.append(one)
            connection.sendall(frame(one[2], one[0], one[1]))
    server = odd(serve)
    server.heads, server.got = heads, got
    return server


def bytes_of(data):
    return [data[i:i + 1] for i in range(len(data))]


def test_frames_of_a_server_are_masked_however_they_are_cut(filtered, odd):  # noqa: F811
    secret = SECRET.encode()
    text = b'{"token": "' + secret + b'", "n": 1}'
    github = b"glpat-" + b"Q7wE9rT2yU4iO6pA8sDf"
    says = [frame(text),
            frame(text[:15], is_last=False) + frame(b"ping", 9) + frame(text[15:20], 0, False) + frame(text[20:], 0),
            *bytes_of(frame(text)),
            frame(secret * 5000, 2),
            frame(b""),
            frame(b"x " + github + b" y"),
            frame(b"caf\xc3\xa9 " + base64.b64encode(secret))]
    server = websocket(odd, says)
    gateway = filtered(server, filter="on")
    with Socket(gateway, odd, says) as box:
        assert box.head.startswith(b"HTTP/1.1 101"), box.head
        masked = text.replace(secret, b"*" * len(secret))
        assert read_message(box.client) == (1, masked, [])
        assert read_message(box.client) == (1, masked, [(9, b"ping")])
        assert read_message(box.client) == (1, masked, [])
        assert read_message(box.client) == (2, b"*" * len(secret) * 5000, [])
        assert read_message(box.client) == (1, b"", [])
        kind, got, _ = read_message(box.client)
        assert kind == 1 and github not in got and got.startswith(b"x ") and got.endswith(b" y"), got
        kind, got, _ = read_message(box.client)
        assert got.startswith(b"caf\xc3\xa9 ") and base64.b64encode(secret)[:20] not in got, got
        box.client.sendall(frame(b"hello", mask=MASK))
        assert read_message(box.client) == (1, b"hello", [])
        box.client.sendall(frame(b"\x03\xe8bye", 8, mask=MASK))
        assert read_frame(box.client) == (8, True, b"\x03\xe8bye")
    assert b"Sec-WebSocket-Extensions" not in server.heads[0] and b"Sec-WebSocket-Key" in server.heads[0]
    event = gateway.wait_for(lambda one: one["kind"] == "secret")
    assert "known secret" in event["reason"] and "gitlab" in event["reason"].lower(), event


def test_a_secret_in_a_close_or_a_ping_is_masked(filtered, odd):  # noqa: F811
    secret = SECRET.encode()
    says = [frame(b"a" + secret, 9), frame(b"\x03\xe8" + secret, 8)]
    with Socket(filtered(websocket(odd, says)), odd, says) as box:
        assert read_frame(box.client) == (9, True, b"a" + b"*" * len(secret))
        assert read_frame(box.client) == (8, True, b"\x03\xe8" + b"*" * len(secret))


@pytest.mark.parametrize("pieces, kind", [
    ([frame(b"x" + PLACEHOLDER.encode(), mask=MASK)], "credential"),
    ([frame(PLACEHOLDER[:9].encode(), is_last=False, mask=MASK), frame(b"p", 9, mask=MASK),
      frame(PLACEHOLDER[9:].encode(), 0, mask=b"abcd")], "credential"),
    ([frame(base64.b64encode(PLACEHOLDER.encode()), 2, mask=MASK)], "credential"),
    ([frame(PLACEHOLDER.encode(), 9, mask=MASK)], "credential"),
    ([frame(b"x" + CANARY.encode() + b"y", mask=MASK)], "canary"),
    ([frame(CANARY.encode(), 10, mask=MASK)], "canary"),
])
def test_a_placeholder_or_a_canary_in_a_frame_ends_it(filtered, odd, pieces, kind):  # noqa: F811
    server = websocket(odd, [])
    gateway = filtered(server)
    with Socket(gateway, odd, []) as box:
        box.client.sendall(frame(b"first", mask=MASK))
        assert read_message(box.client) == (1, b"first", [])
        for piece in pieces:
            box.client.sendall(piece)
        with pytest.raises((ConnectionError, TimeoutError, AssertionError)):
            while read_frame(box.client):
                pass
            raise ConnectionError("it was ended")
    assert gateway.wait_for(lambda one: one["kind"] == kind)
    request = gateway.wait_for(lambda one: one["kind"] == "request")
    assert request["verdict"] == "denied" and "WebSocket" in request["reason"], request
    for one in server.got:
        assert one is None or (PLACEHOLDER.encode() not in one[2] and CANARY.encode() not in one[2]), server.got


@pytest.mark.parametrize("bad", [
    frame(b"a", mask=MASK),                      # a server masks nothing
    b"\xc1\x01a",                                # a reserved bit: an extension that nobody agreed on
    b"\x83\x01a",                                # a kind that there is not
    b"\x81\x7e\x00\x01a",                        # a length in too long a form
    b"\x80\x01a",                                # a part of nothing
    frame(b"\xff\xfe"),                          # no UTF-8
    b"\x81\x7f\x7f" + b"\xff" * 7,               # longer than anything
    frame(b"a" * 126, 9),                        # a ping that is too long
    frame(b"\x03\xe9", 8) + frame(b"more"),      # behind a close
])
def test_frames_of_a_server_that_break_a_rule_do_not_pass(filtered, odd, bad):  # noqa: F811
    gateway = filtered(websocket(odd, [bad]))
    with Socket(gateway, odd, [bad]) as box:
        box.client.settimeout(2)
        seen = []
        try:
            while (got := read_frame(box.client)) is not None:
                seen.append(got)
        except (ConnectionError, TimeoutError):
            pass
        assert all(one[0] == 8 for one in seen), seen


def test_an_extension_that_was_not_asked_for_is_refused(filtered, odd):  # noqa: F811
    agreed = AGREED.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
    with Socket(filtered(websocket(odd, [], agreed)), odd, [], agreed) as box:
        assert box.head.startswith(b"HTTP/1.1 502"), box.head


def test_without_filters_bytes_pass_as_they_are(gate, odd):  # noqa: F811
    """Extensions, too: what nobody looks into is the program's and the server's business."""
    server = websocket(odd, [b"\xc1\x05abcde"])
    with Socket(gate(hosts=to(server)), odd, []) as box:
        assert read_all(box.client, 7) == b"\xc1\x05abcde"
    assert b"permessage-deflate" in server.heads[0]


def test_a_flood_of_small_frames_costs_no_more_than_its_bytes(filtered, odd):  # noqa: F811
    """Both ways, some hundred thousand frames: each is looked at, and none makes the gateway look at much more than itself."""
    count = 60000
    small = frame(b"x", mask=MASK)
    server = websocket(odd, [frame(b"y") * 5000] * (count // 5000) + [frame(b"", 9) * 20000, frame(b"the end")])
    gateway = filtered(server, filter="on")
    with Socket(gateway, odd, []) as box:
        box.client.settimeout(60)
        before = processor_time(gateway.process.pid)
        got = b""
        while not got.endswith(b"the end"):
            got += box.client.recv(1 << 20)
        assert got.count(b"\x81\x01y") == count
        sender = threading.Thread(target=box.client.sendall, args=[small * count + frame(b"last", mask=MASK)])
        sender.start()
        got = b""
        while not got.endswith(b"last"):
            got += box.client.recv(1 << 20)
        sender.join()
        assert processor_time(gateway.process.pid) - before < 5


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
