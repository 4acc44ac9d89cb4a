"""Ports of sandboxes: what a program serves inside is reached through the API, and nothing of the API's goes along."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import socket
import sys
import time
import urllib.parse

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server, raw  # noqa: E402
from websockets import Refused, WebSocket  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

BOXES = "/v1/sandboxes"
PORT, PORT6 = 8080, 8086

# A server in a sandbox: tells what it was sent, and answers as its path says.
PROGRAM = r"""
import hashlib, http.server, json, socket, sys, threading, urllib.parse

gate = threading.Event()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            got = b""
            while size := int(self.rfile.readline(), 16):
                got += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return got
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        path, _, query = self.path.partition("?")
        if path == "/stream":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"4\r\none\n\r\n")
            self.wfile.flush()
            gate.wait()
            self.wfile.write(b"4\r\ntwo\n\r\n0\r\n\r\n")
        elif path == "/go":
            gate.set()
            self.reply(b"")
        elif path == "/much":
            self.reply(b"x" * int(query))
        elif path == "/sha":
            self.reply(hashlib.sha256(self.body()).hexdigest().encode())
        elif path == "/headers":
            status, _, fields = query.partition("&")
            self.reply(b"", int(status), json.loads(urllib.parse.unquote(fields)))
        elif path == "/status":
            self.reply(b"" if query in ("204", "304") else b"words", int(query)) if query not in ("204", "304") else self.bare(int(query))
        elif path == "/until-close":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
            self.close_connection = True
        elif path == "/raw":
            self.wfile.write(urllib.parse.unquote_to_bytes(query))
            self.close_connection = True
        elif path == "/ws":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                             b"X-Asked: " + json.dumps(sorted(self.headers.items())).encode() + b"\r\n\r\n")
            self.wfile.flush()
            while data := self.connection.recv(65536):
                self.connection.sendall(data)
            self.close_connection = True
        else:
            self.reply(json.dumps({"method": self.command, "path": self.path, "headers": sorted(self.headers.items()),
                                   "body": self.body().decode()}).encode())

    def bare(self, status):
        self.send_response(status)
        self.end_headers()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any

    def log_message(self, *words):
        pass

class Six(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

try:
    six = Six(("::1", %d), Handler)
    threading.Thread(target=six.serve_forever, daemon=True).start()
except OSError:
    print("no IPv6", flush=True)
server = http.server.ThreadingHTTPServer(("127.0.0.1", %d), Handler)
print("ready", flush=True)
server.serve_forever()
""" % (PORT6, PORT)


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}

    def start(who):
        if who not in found:
            server = found[who] = Server(ringfort, who, public / f"ports-{who}")
            server.box = server.post(BOXES, {"timeout": 600}).json["id"]
            server.said_inside = serve_in(server, server.box)
        return found[who]

    yield start
    for server in found.values():
        server.close()


def serve_in(server, box):
    begun = server.post(f"{BOXES}/{box}/exec", {"argv": ["python3", "-c", PROGRAM], "background": True})
    assert begun.status == 202, begun.body
    said, cursor = "", 0
    while "ready" not in said:
        log = server.get(f"{BOXES}/{box}/programs/{begun.json['number']}/log?cursor={cursor}&wait_ms=20000").json
        said, cursor = said + "".join(event["data"] for event in log["events"]), log["cursor"]
        assert not log["ended"], said
    return said


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def at(server, path, port=PORT, box=None):
    return f"{BOXES}/{box or server.box}/ports/{port}{path}"


# --- requests ---

@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_request_is_passed_on_as_it_is(server, method):
    body = b"some bytes" if method in ("POST", "PUT", "PATCH") else None
    answer = server.ask(method, at(server, "/a//b/../%41;c?q=1&q=2&&x"), body, headers={"X-Own": "word", "Accept": "a/b"})
    assert answer.status == 200, answer.body
    told = answer.json
    assert (told["method"], told["path"]) == (method, "/a//b/../%41;c?q=1&q=2&&x")
    assert told["body"] == (body or b"").decode()
    fields = {name.lower(): value for name, value in told["headers"]}
    assert fields["x-own"] == "word" and fields["accept"] == "a/b" and fields["host"] == f"localhost:{PORT}"
    assert fields["x-forwarded-prefix"] == at(server, "")


def test_neither_the_key_nor_what_is_about_the_connection_reaches_the_program(server):
    own = {"Forwarded": "for=1.2.3.4", "X-Forwarded-For": "1.2.3.4", "Connection": "X-Hop", "X-Hop": "1", "TE": "trailers",
           "Keep-Alive": "x", "Proxy-Authorization": "Basic eDp5"}
    for shown in ({"Authorization": f"Bearer {server.key}"}, {"X-API-Key": server.key}):
        answer = server.ask("GET", at(server, "/"), key="", headers={**own, **shown})
        assert answer.status == 200 and server.key not in answer.body.decode()
        names = {name.lower() for name, _ in answer.json["headers"]}
        assert not names & {"authorization", "x-api-key", "forwarded", "x-forwarded-for", "x-hop", "te", "keep-alive",
                            "proxy-authorization"}
    # Where the key comes in a field of its own, the other one is the program's.
    answer = server.ask("GET", at(server, "/"), key="", headers={"X-API-Key": server.key, "Authorization": "Basic eDp5"})
    assert ["Authorization", "Basic eDp5"] in answer.json["headers"]


def test_much_is_streamed_both_ways(server):
    data = os.urandom(1 << 20) * 8
    answer = server.ask("POST", at(server, "/sha"), data)
    assert answer.body.decode() == hashlib.sha256(data).hexdigest()
    assert server.get(at(server, "/much?12000000")).body == b"x" * 12000000
    # In pieces whose number is not known.
    with contextlib.closing(server.connect()) as line:
        line.request("POST", at(server, "/sha"), iter([data[:100000], data[100000:200000]]),
                     {"Authorization": f"Bearer {server.key}"}, encode_chunked=True)
        assert line.getresponse().read().decode() == hashlib.sha256(data[:200000]).hexdigest()


def test_an_answer_comes_as_it_is_written(server):
    with contextlib.closing(server.connect()) as line:
        line.request("GET", at(server, "/stream"), headers={"Authorization": f"Bearer {server.key}"})
        answer = line.getresponse()
        assert answer.readline() == b"one\n"
        assert server.post(at(server, "/go"), None).status == 200
        assert answer.read() == b"two\n"


@pytest.mark.parametrize("status", [200, 201, 204, 304, 404, 418, 500, 503])
def test_what_it_answers_is_its_own(server, status):
    answer = server.get(at(server, f"/status?{status}"))
    assert answer.status == status and answer.body == (b"" if status in (204, 304) else b"words")
    head = server.ask("HEAD", at(server, f"/status?{status}"))
    assert head.status == status and head.body == b""


def test_an_answer_without_an_end_ends_with_its_connection(server):
    with contextlib.closing(server.connect()) as line:
        for _ in range(2):  # and ours goes on
            line.request("GET", at(server, "/until-close"), headers={"Authorization": f"Bearer {server.key}"})
            assert line.getresponse().read() == b"all of it"


def test_ipv6_is_reached_where_nobody_listens_on_ipv4(server):
    if "no IPv6" in server.said_inside:
        pytest.skip("this machine has no IPv6")
    assert server.get(at(server, "/", PORT6)).status == 200


# --- what comes back ---

def headers_of(server, *fields, status=200, shown=None):
    path = at(server, f"/headers?{status}&" + urllib.parse.quote(json.dumps(fields)))
    answer = server.ask("GET", path, key="", headers=shown) if shown else server.get(path)
    assert answer.status == status, answer.body
    return answer.headers


def own_places(server):
    """What the program at /headers may name of its own, and as what it reaches the client."""
    prefix = at(server, "")
    return {"/x?y": f"{prefix}/x?y", f"http://localhost:{PORT}/a": f"{prefix}/a", f"http://127.0.0.1:{PORT}": f"{prefix}/",
            "x/y": f"{prefix}/x/y", f"{prefix}/x": f"{prefix}/x", "/v1/run": f"{prefix}/v1/run",
            f"http://127.0.0.1:{server.port}{prefix}/a": f"{prefix}/a", "/a/../b": f"{prefix}/b", "/a/%2e%2e/b": f"{prefix}/b"}


# Where a client must not take its key: to others, and to this server beside the port.
ELSEWHERE = ["https://other.example/z", "//evil.example/", "/\\evil.example/", "\\\\evil.example", "/\t/evil.example",
             f"http://localhost:{PORT + 1}/a", "../../../../run", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/run", "/..%2f..%2f..%2f..%2frun",
             "http:/v1/run", "javascript:x", "https://localhost@evil.example/"]


@pytest.mark.parametrize("status", [200, 201, 301, 302, 303, 307, 308])
def test_places_of_the_port_lead_through_here(server, status):
    for place, told in own_places(server).items():
        got = headers_of(server, ("Location", place), status=status)
        assert got.get_all("Location") == [told] and "X-Ringfort-Location" not in got


@pytest.mark.parametrize("status", [201, 302, 307])
def test_other_places_are_no_redirect_for_a_client_with_a_key(server, status):
    beside = f"http://127.0.0.1:{server.port}"
    for place in [*ELSEWHERE, f"{beside}/v1/run", f"{beside}{at(server, '')}0/x", f"{beside}{at(server, '/../../../../run')}"]:
        for shown in ({"Authorization": f"Bearer {server.key}"}, {"X-API-Key": server.key}):
            got = headers_of(server, ("Location", place), status=status, shown=shown)
            assert "Location" not in got and got.get_all("X-Ringfort-Location") == [place]


def test_two_places_are_none_and_a_program_has_no_field_of_the_servers(server):
    got = headers_of(server, ("Location", "/a"), ("Location", "//evil.example"), ("X-Ringfort-Location", "/c"), status=302)
    assert "Location" not in got and got.get_all("X-Ringfort-Location") == ["/a", "//evil.example"]
    got = headers_of(server, ("X-Ringfort-Location", "/c"), ("x-ringfort-status", "ok"), ("Refresh", "0; url=https://evil.example"), status=302)
    assert not [name for name in got if name.lower().startswith(("x-ringfort", "location", "refresh"))]
    assert headers_of(server, ("Refresh", "5"))["Refresh"] == "5"


def test_a_key_that_is_shown_twice_stays_here(server):
    both = {"Authorization": f"Bearer {server.key}", "X-API-Key": server.key}
    assert server.key not in server.ask("GET", at(server, "/"), key="", headers=both).body.decode()


# Asks a sandbox of its own by the unix socket; prints the fields of each answer, and what the program was told.
LOCAL = """
import time, urllib.parse
box = json.loads(ask("POST", "/v1/sandboxes", {"timeout": 60})[1])["id"]
ask("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["python3", "-c", PROGRAM], "background": True})
for place, headers in ASKED:
    while True:
        line = connect()
        line.request("GET", f"/v1/sandboxes/{box}/ports/PORT{place}", headers=headers)
        answer = line.getresponse()
        body = answer.read().decode()
        if answer.status != 502:
            break
        time.sleep(0.1)
    print(json.dumps([[[name, value.replace(box, "BOX")] for name, value in answer.getheaders()], body]))
ask("DELETE", f"/v1/sandboxes/{box}")
"""


def test_who_needs_no_key_is_sent_anywhere_and_a_key_shown_all_the_same_stays_here(server):
    def place(where):
        return "/headers?302&" + urllib.parse.quote(json.dumps([["Location", where]]))

    shown, own = {"Authorization": f"Bearer {server.key}"}, {"Authorization": "Bearer of-its-own"}
    asked = [(place("/x"), {}), (place("https://other.example/z"), {}), (place("//x"), shown), (place("//x"), {"X-API-Key": server.key}),
             ("/", shown), ("/", own)]
    code = LOCAL.replace("PROGRAM", repr(PROGRAM)).replace("ASKED", repr(asked)).replace("PORT", str(PORT))
    done = server.local(code)
    assert done.returncode == 0, done.stderr
    mine, others, bearer, field, told, passed = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["Location", f"{BOXES}/BOX/ports/{PORT}/x"] in mine[0] and ["Location", "https://other.example/z"] in others[0]
    for fields, _ in (bearer, field):
        assert ["X-Ringfort-Location", "//x"] in fields and "Location" not in dict(fields)
    assert server.key not in told[1] and '"path"' in told[1]
    assert "Bearer of-its-own" in passed[1]  # what is no key of ours is the program's


@pytest.mark.parametrize("word", ["\xa0Path=/", "Path\xa0=/", "\x85Path=/", "Path=/", "\tPath = /", "Other=/", "\xa0Domain=example.org"])
def test_no_client_reads_another_path_into_a_cookie(server, word):
    """Python's jar trims more than HTTP does, and takes the first path: the cookie would go to the API and to other ports."""
    got = headers_of(server, ("Set-Cookie", f"a=b; {word}; Max-Age=9; Secure"))
    assert got.get_all("Set-Cookie") == [f"a=b; Max-Age=9; Secure; Path={at(server, '/')}"]


def test_cookies_hold_for_the_port_alone(server):
    got = headers_of(server, ("Set-Cookie", "a=b; Domain=example.org; path=/; HttpOnly"), ("Set-Cookie", "c=d"))
    assert got.get_all("Set-Cookie") == [f"a=b; HttpOnly; Path={at(server, '/')}", f"c=d; Path={at(server, '/')}"]


def test_nothing_that_a_program_answers_holds_for_the_server_as_a_whole(server):
    got = headers_of(server, ("Strict-Transport-Security", "max-age=1"), ("Clear-Site-Data", '"*"'), ("Alt-Svc", "h3=\":1\""),
                     ("Service-Worker-Allowed", "/"), ("Content-Security-Policy", "default-src *"), ("X-Own", "1"))
    assert not {"strict-transport-security", "clear-site-data", "alt-svc", "service-worker-allowed"} & \
        {name.lower() for name in got}
    policies = got.get_all("Content-Security-Policy")
    assert len(policies) == 2 and policies[1].startswith("sandbox ") and "allow-same-origin" not in policies[1]
    assert got["X-Own"] == "1"


# What a program may say instead of an answer.
NO_ANSWERS = {
    "words": b"hello\r\n\r\n",
    "nothing": b"",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a line that goes on": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
}


@pytest.mark.parametrize("said", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_is_told_as_that(server, said):
    answer = server.get(at(server, "/raw?" + "".join(f"%{byte:02x}" for byte in said)))
    assert (answer.status, answer.json["error"]["code"], answer.json["error"]["where"]) == (502, "no_answer", "port")


def test_an_answer_that_is_cut_is_seen_as_cut(server):
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        server.get(at(server, "/raw?" + "".join(f"%{byte:02x}" for byte in said)))


# --- what is wrong ---

def test_where_nobody_listens_nothing_answers(server):
    answer = server.get(at(server, "/", 9))
    assert answer.status == 502 and "nothing listens on port 9" in answer.json["error"]["message"]


WRONG = {
    "no port": ("/ports/0/", 404), "a port beyond all": ("/ports/65536/", 404), "another spelling": ("/ports/08080/", 404),
    "a word": ("/ports/http/", 404), "no slash": (f"/ports/{PORT}", 404),
}


@pytest.mark.parametrize("path, status", WRONG.values(), ids=WRONG)
def test_what_is_no_port_is_not_found(server, path, status):
    assert server.get(f"{BOXES}/{server.box}{path}").status == status


def test_a_name_with_an_underscore_is_refused(server):
    answer = server.get(at(server, "/"), headers={"X_API_Key": "x"})
    assert answer.status == 400 and "underscore" in answer.json["error"]["message"]


SMUGGLED = {
    "two lengths": "Content-Length: 1\r\nContent-Length: 2\r\n", "a length and chunks": "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    "chunks by another name": "Transfer-Encoding: xchunked\r\n", "a lookalike": "Content_Length: 5\r\n", "two keys": "Authorization: Bearer x\r\nConnection: close\r\n",
}


@pytest.mark.parametrize("fields", SMUGGLED.values(), ids=SMUGGLED)
def test_a_request_that_could_be_read_in_two_ways_is_not_passed_on(server, fields):
    said = raw(server, (f"POST {at(server, '/')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.key}\r\n{fields}\r\n"
                        "GET /x HTTP/1.1\r\nHost: y\r\n\r\n").encode())
    assert said.split()[1] in (b"400", b"501") and b'"path"' not in said


def test_another_tenant_and_a_key_for_reading_reach_nothing(server):
    for scope, status in (("run,read", 404), ("read", 403)):
        assert server.get(at(server, "/"), key=server.make_key("--scope", scope)).status == status
    assert server.get(at(server, "/"), key="").status == 401
    assert server.get(at(server, "/", box="nobody")).status == 404


def test_a_sandbox_that_is_paused_or_has_no_ports_is_told_as_that(server):
    made = server.post(BOXES, {"policy": {"network": {"loopback": "off"}}})
    assert made.status == 201, made.body
    box = made.json["id"]
    assert server.get(at(server, "/", box=box)).status == 403
    server.delete(f"{BOXES}/{box}")
    box = server.post(BOXES, {}).json["id"]
    assert server.post(f"{BOXES}/{box}/pause").status == 200
    assert server.get(at(server, "/", box=box)).status == 409
    server.delete(f"{BOXES}/{box}")


def test_ports_of_the_machine_and_of_other_sandboxes_are_not_reached(server):
    with socket.create_server(("127.0.0.1", 0)) as host:
        assert server.get(at(server, "/", host.getsockname()[1])).status == 502
    box = server.post(BOXES, {}).json["id"]
    assert server.get(at(server, "/", box=box)).status == 502  # where another one serves
    server.delete(f"{BOXES}/{box}")


# --- WebSockets ---

def test_a_websocket_is_passed_on_and_its_key_is_not(server):
    with WebSocket(server.port, at(server, "/ws"), protocols=["chat", f"key.{server.key}"]) as line:
        asked = {name.lower(): value for name, value in json.loads(line.headers["x-asked"])}
        assert asked["sec-websocket-protocol"] == "chat" and asked["upgrade"] == "websocket" and "authorization" not in asked
        assert server.key not in line.headers["x-asked"]
        data = os.urandom(1 << 16) * 40
        line.sock.setblocking(False)
        sent, got = 0, line.rest
        end = time.monotonic() + 60
        while len(got) < len(data) and time.monotonic() < end:  # more than all buffers: both ways at once
            with contextlib.suppress(BlockingIOError):
                sent += line.sock.send(data[sent:sent + 65536])
            with contextlib.suppress(BlockingIOError):
                got += line.sock.recv(1 << 20)
        assert got == data
        line.sock.setblocking(True)
        line.sock.shutdown(socket.SHUT_WR)
        assert line.sock.recv(10) == b""
    with pytest.raises(Refused) as refused:
        WebSocket(server.port, at(server, "/ws"))
    assert refused.value.status == 401
    with pytest.raises(Refused) as refused:
        WebSocket(server.port, at(server, "/"), {"Authorization": f"Bearer {server.key}"})
    assert refused.value.status == 200  # which is what the program answers to one that it does not want


def test_a_key_that_is_removed_takes_its_websockets_along(server):
    key = server.make_key("--scope", "run,read")
    box = server.post(BOXES, {}, key=key).json["id"]
    begun = server.post(f"{BOXES}/{box}/exec", {"argv": ["python3", "-c", PROGRAM], "background": True}, key=key)
    assert begun.status == 202
    assert eventually(lambda: server.get(at(server, "/", box=box), key=key).status == 200, 20)
    with WebSocket(server.port, at(server, "/ws", box=box), {"X-API-Key": key}) as line:
        line.sock.sendall(b"still")
        assert line.exactly(5) == b"still"
        assert server.run("key", "rm", key.split("_")[1]).returncode == 0
        with contextlib.suppress(ConnectionError):
            assert line.sock.recv(10) == b""
