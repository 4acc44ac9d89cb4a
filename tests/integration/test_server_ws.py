"""WebSockets of the server: programs in sandboxes, and terminals that outlive their connection."""
import hashlib
import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import become  # noqa: E402
from websockets import BINARY, CLOSE, PING, PONG, TEXT, Refused, WebSocket  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

BOXES = "/v1/sandboxes"
PAGE = "https://ui.example"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}

    def start(who):
        if who not in found:
            found[who] = Server(ringfort, who, public / f"ws-{who}", "--origin", PAGE)
            found[who].box = found[who].post(BOXES, {"timeout": 600}).json["id"]
        return found[who]

    yield start
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def own(ringfort, as_who, public):
    started = []

    def start(*options):
        started.append(Server(ringfort, as_who, public / f"ws-own-{as_who}-{time.monotonic_ns()}", *options))
        started[-1].box = started[-1].post(BOXES, {}).json["id"]
        return started[-1]

    yield start
    for one in started:
        one.close()


def connect(server, path=None, key=None, box=None, **more):
    headers = {} if key == "" else {"Authorization": f"Bearer {key or server.key}"}
    headers.update(more.pop("headers", {}))
    return WebSocket(server.port, path or f"{BOXES}/{box or server.box}/exec", headers, **more)


def run(server, order, **more):
    with connect(server, **more) as line:
        line.send(order)
        return (*line.all(), line.closed)


def token():
    return f"7{time.monotonic_ns()}"


# --- a program ---

def test_a_program_writes_and_ends(server):
    texts, streams, closed = run(server, {"command": "echo out; echo err >&2; exit 3"})
    assert [next(iter(text)) for text in texts] == ["started", "result"] and texts[0]["started"]["number"] > 0
    assert streams == {1: b"out\n", 2: b"err\n"} and closed == (1000, "")
    result = texts[1]["result"]
    assert (result["status"], result["exit_code"], result["stdout"]) == ("failed", 3, "")


def test_what_is_sent_is_its_input(server):
    with connect(server) as line:
        line.send({"argv": ["cat"], "stdin": "one "})
        line.send({"data": "two "})
        line.send(b"\0\xff")
        line.send({"data_base64": "IQ=="})
        line.send({"close": True})
        texts, streams = line.all()
    assert streams[1] == b"one two \0\xff!" and texts[-1]["result"]["status"] == "ok"


def test_much_goes_through_both_ways_and_nothing_is_lost(server):
    """More than any pipe or buffer holds: who is slow slows the other down."""
    data = os.urandom(1 << 20) * 6
    with connect(server) as line:
        line.send({"argv": ["sha256sum"]})
        line.send(data)
        line.send({"close": True})
        texts, streams = line.all()
    assert streams[1].split()[0].decode() == hashlib.sha256(data).hexdigest()
    texts, streams, _ = run(server, {"command": "head -c 12000000 /dev/zero"})
    assert len(streams[1]) == 12000000 and texts[-1]["result"]["status"] == "ok"


def test_signals_reach_it(server):
    with connect(server) as line:
        line.send({"command": "trap 'echo caught; exit 7' USR1; echo ready; while :; do sleep 0.1; done"})
        line.read_until(b"ready\n")
        line.send({"signal": "USR1"})
        texts, streams = line.all()
    assert streams[1] == b"caught\n" and texts[-1]["result"]["exit_code"] == 7


@pytest.mark.parametrize("how", ["closed", "cut"])
def test_who_goes_takes_the_program_along(server, how):
    word = token()
    with connect(server) as line:
        line.send({"argv": ["sleep", word]})
        assert "started" in line.receive()
        assert eventually(lambda: processes_with(word), 20)
        if how == "closed":
            line.sock.sendall(line.frame(CLOSE, b"\x03\xe8"))
            kind, data = line.raw()
            assert (kind, data[:2]) == (CLOSE, b"\x03\xe8")
    assert eventually(lambda: not processes_with(word), 20)


def test_a_ping_is_answered(server):
    with connect(server) as line:
        line.sock.sendall(line.frame(PING, b"are you there"))
        assert line.raw() == (PONG, b"are you there")


# --- what is wrong ---

# What the first message is, the code of the close, and words of the error or the reason.
WRONG_ORDERS = {
    "no JSON": ("{", 1008, "body, line 1"),
    "no object": ("[]", 1008, "object"),
    "no program": ({}, 1008, "argv"),
    "an unknown field": ({"argv": ["true"], "color": 1}, 1008, "color"),
    "in the background": ({"argv": ["true"], "background": True}, 1008, "background"),
    "a terminal without rows": ({"argv": ["true"], "terminal": {"rows": 0}}, 1008, "terminal.rows"),
    "a terminal that is kept too long": ({"argv": ["true"], "terminal": {"keep": 99999}}, 1008, "terminal.keep"),
    "bytes": (b"true", 1008, "the first message is a text"),
    "too long": ({"argv": ["true"], "stdin": "x" * 300000}, 1009, "256 KiB"),
}


@pytest.mark.parametrize("order, code, words", WRONG_ORDERS.values(), ids=WRONG_ORDERS)
def test_an_order_that_is_none_is_refused_in_words(server, order, code, words):
    texts, _, closed = run(server, order)
    assert closed[0] == code and words in json.dumps(texts) + closed[1]


# A frame that no client may send, and the code that it is closed with.
WRONG_FRAMES = {
    "not masked": (lambda line: line.frame(TEXT, b"{}", masked=False), 1002),
    "a reserved bit": (lambda line: line.frame(TEXT, b"{}", bits=0x40), 1002),
    "a kind that there is not": (lambda line: line.frame(3, b""), 1002),
    "more of nothing": (lambda line: line.frame(0, b"x"), 1002),
    "a control frame in pieces": (lambda line: line.frame(PING, b"", is_last=False), 1002),
    "no UTF-8": (lambda line: line.frame(TEXT, b"\xff"), 1007),
    "a frame of 17 MiB": (lambda line: line.frame(BINARY, b"")[:1] + b"\xff" + (17 << 20).to_bytes(8, "big") + b"abcd", 1009),
}


@pytest.mark.parametrize("frame, code", WRONG_FRAMES.values(), ids=WRONG_FRAMES)
def test_frames_that_break_a_rule_close_it(server, frame, code):
    with connect(server) as line:
        line.sock.sendall(frame(line))
        assert line.receive() is None and line.closed[0] == code


# Fields of the request, the status, and what is named.
WRONG_HEADS = {
    "no upgrade": ({"Upgrade": None, "Connection": "keep-alive"}, 400, "Upgrade"),
    "another protocol": ({"Upgrade": "h2c"}, 400, "Upgrade"),
    "another version": ({"Sec-WebSocket-Version": "8"}, 400, "Sec-WebSocket-Version"),
    "a key that is none": ({"Sec-WebSocket-Key": "AAAA"}, 400, "Sec-WebSocket-Key"),
    "no protocol of ours": ({"Sec-WebSocket-Protocol": "chat"}, 400, "Sec-WebSocket-Protocol"),
    "a foreign page": ({"Origin": "https://evil.example"}, 403, "Origin"),
    "a foreign name": ({"Host": "evil.example"}, 403, "Host"),
    "no key": ({"Authorization": None}, 401, "Authorization"),
    "a wrong key": ({"Authorization": "Bearer rfk_0"}, 401, "Authorization"),
    "two keys in protocols": ({"Sec-WebSocket-Protocol": "ringfort, key.a, key.b"}, 400, "Sec-WebSocket-Protocol"),
}


@pytest.mark.parametrize("headers, status, where", WRONG_HEADS.values(), ids=WRONG_HEADS)
def test_a_request_that_may_not_become_one_is_answered(server, headers, status, where):
    with pytest.raises(Refused) as refused:
        connect(server, headers=headers)
    assert (refused.value.status, refused.value.error["where"]) == (status, where)


def test_another_tenants_key_finds_nothing(server):
    other, reader = server.make_key("--scope", "run,read"), server.make_key("--scope", "read")
    for path in (f"{BOXES}/{server.box}/exec", f"{BOXES}/{server.box}/terminals/1"):
        for key, status in ((other, 404), (reader, 403)):
            with pytest.raises(Refused) as refused:
                connect(server, path, key=key)
            assert refused.value.status == status


def test_a_page_shows_its_key_as_a_protocol(server):
    with connect(server, key="", protocols=["ringfort", f"key.{server.key}"], headers={"Origin": PAGE}) as line:
        assert line.headers["sec-websocket-protocol"] == "ringfort"
        line.send({"argv": ["true"]})
        assert line.all()[0][-1]["result"]["status"] == "ok"
    with pytest.raises(Refused) as refused:
        connect(server, key="", protocols=["ringfort", "key.rfk_wrong"])
    assert refused.value.status == 401


# --- terminals ---

def open_terminal(server, command, **terminal):
    line = connect(server)
    line.send({"command": command, "terminal": {"rows": 30, "columns": 100, **terminal}})
    return line, line.receive()["started"]["number"]


def test_a_terminal_has_the_size_that_it_was_given_and_gets_another(server):
    line, _ = open_terminal(server, "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done")
    with line:
        assert line.read_until(b"ready\r\n").startswith(b"30 100\r\n")
        line.send({"terminal": {"rows": 12, "columns": 34}})
        texts, streams = line.all()
    assert streams[1] == b"12 34\r\n" and texts[-1]["result"]["status"] == "ok"


def test_keys_are_what_a_terminal_makes_of_them(server):
    line, _ = open_terminal(server, "cat; echo over")
    with line:
        line.send(b"ab\x7fc\n")
        line.read_until(b"ac\r\n")
        line.send(b"\x04")
        assert b"over" in line.all()[1][1]


def test_who_lost_its_connection_comes_back_to_its_terminal(server):
    path = f"{BOXES}/{server.box}/terminals/"
    line, number = open_terminal(server, "PS1='> ' exec sh -i")
    with line:
        line.read_until(b"> ")  # else what is typed comes before the prompt
        line.send(b"A=kept; echo first\n")
        line.read_until(b"\nfirst\r\n")
    with connect(server, path + str(number)) as again:
        assert again.receive() == {"attached": {"number": number, "lost": 0}}
        assert b"first\r\n" in again.read_until(b"first\r\n> ")
        again.send(b"echo is-$A\n")
        again.read_until(b"\nis-kept\r\n")
        # A third one takes it over.
        with connect(server, path + str(number)) as third:
            assert "attached" in third.receive()
            while again.receive() is not None:
                pass
            assert again.closed[0] == 4001
            third.send(b"exit 5\n")
            assert third.all()[0][-1]["result"]["exit_code"] == 5
    with pytest.raises(Refused) as refused:
        connect(server, path + str(number))
    assert refused.value.status == 404


def test_what_was_written_last_is_kept_and_what_is_older_is_counted(server):
    line, number = open_terminal(server, "stty -onlcr; echo go; read x; head -c 1000000 /dev/zero | tr '\\0' x; echo end; sleep 60")
    with line:
        line.read_until(b"go\n")
        line.send(b"\n")
    path = f"{BOXES}/{server.box}/terminals/{number}"

    def last():
        with connect(server, path) as again:
            lost, kept = again.receive()["attached"]["lost"], again.receive()
            return kept[1:].endswith(b"end\n") and (lost, len(kept) - 1)

    assert eventually(last, 20)
    lost, kept = last()
    assert kept == 256 * 1024 and lost > 700000


def test_a_terminal_that_ends_while_nobody_looks_keeps_its_result(server):
    line, number = open_terminal(server, "echo ready; read x; sleep 1; echo done; exit 4")  # nobody looks by then
    with line:
        line.read_until(b"ready\r\n")
        line.send(b"\n")
    word = {}

    def again():
        with connect(server, f"{BOXES}/{server.box}/terminals/{number}") as line:
            word["texts"], word["streams"] = line.all()
        return True

    assert again() and word["texts"][-1]["result"]["exit_code"] == 4 and b"done" in word["streams"][1]


def test_a_terminal_that_nobody_comes_back_to_ends(server):
    word = token()
    line, number = open_terminal(server, f"echo ready; sleep {word}", keep=1)
    with line:
        line.read_until(b"ready\r\n")
    assert eventually(lambda: not processes_with(word), 20)
    with pytest.raises(Refused) as refused:
        connect(server, f"{BOXES}/{server.box}/terminals/{number}")
    assert refused.value.status == 404


def test_a_key_that_is_removed_takes_its_connections_along(server):
    key, word = server.make_key("--scope", "run,read"), token()
    box = server.post(BOXES, {}, key=key).json["id"]
    with connect(server, box=box, key=key) as line:
        line.send({"argv": ["sleep", word], "terminal": {}})
        assert "started" in line.receive()
        assert server.run("key", "rm", key.split("_")[1]).returncode == 0
        while line.receive() is not None:
            pass
        assert line.closed == (1008, "the key was removed")
    assert eventually(lambda: not processes_with(word), 20)


def test_a_server_that_ends_says_so_to_terminals_and_waits_for_programs(own):
    server = own()
    line, _ = open_terminal(server, "echo ready; sleep 60")
    with line, connect(server) as other:
        other.send({"command": "echo on; read x; echo $x"})
        other.read_until(b"on\n")
        line.read_until(b"ready\r\n")
        os.kill(server.pid, signal.SIGTERM)
        while line.receive() is not None:
            pass
        assert line.closed[0] == 1001
        other.send(b"bye\n")
        texts, streams = other.all()
        assert streams[1] == b"bye\n" and texts[-1]["result"]["status"] == "ok"
    assert server.process.wait(30) == 0


# --- a real page ---

PAGE_TEXT = """<!doctype html><script>
const line = new WebSocket("ws://127.0.0.1:%d%s", ["ringfort", "key.%s"]);
line.binaryType = "arraybuffer";
let said = "";
line.onopen = () => line.send(JSON.stringify({command: "read x; echo got $x", terminal: {rows: 5, columns: 40}}));
line.onmessage = (event) => {
  if (typeof event.data === "string") {
    const word = JSON.parse(event.data);
    if (word.started) line.send(new TextEncoder().encode("a page\\n"));
    if (word.result) said += "|" + word.result.status;
  } else {
    said += new TextDecoder().decode(new Uint8Array(event.data).slice(1));
  }
};
line.onclose = (event) => fetch("/", {method: "POST", body: said + "|" + event.code + "|" + line.protocol});
</script>
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """Gives the page, and takes what that has to say."""

    def do_GET(self):
        body = self.server.page.encode() if self.path == "/" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.server.said.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium")
def test_a_page_in_a_real_browser_runs_a_terminal(own, public, as_who):
    home = public / f"home-{as_who}-{time.monotonic_ns()}"
    home.mkdir()
    home.chmod(0o777)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{pages.server_port}"
        server = own("--origin", origin)
        pages.page, pages.said = PAGE_TEXT % (server.port, f"{BOXES}/{server.box}/exec", server.key), queue.Queue()
        browser = subprocess.Popen([*become("user"), "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                                    "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={home}/data", origin + "/"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home)})
        try:
            said = pages.said.get(timeout=90)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
            pages.shutdown()
    assert "got a page" in said and said.endswith("|ok|1000|ringfort")
