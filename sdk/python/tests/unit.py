"""What needs a server that misbehaves, or none: unit.py."""
import contextlib
import http.server
import itertools
import json
import random
import threading
import time
import traceback
import unittest.mock
import urllib.parse

import ringfort
from ringfort import Sandbox, _api, _frames, run

RESULT = {"id": "x", "status": "ok", "exit_code": 0, "signal": None, "stdout": "out", "stderr": "", "encoding": {"stdout": "utf-8", "stderr": "utf-8"}}
INFO = {"id": "b", "state": "running", "created": None, "labels": {}, "age_ms": 1, "expires_in_ms": 1, "usage": {}, "programs": []}
CUT = None  # heard, and never answered
STILL = "still"  # a stream that begins, and says nothing more


def no(status, code, headers=None, **more):
    return status, {"error": {"code": code, "message": "no", "remedy": None, "where": None, **more}}, headers or {}


@contextlib.contextmanager
def against(*answers):
    """A server that answers with one row after the other; gives its address, and what it was asked."""
    asked = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.command, self.path, self.headers.get("Idempotency-Key"), body, self.headers.get("Last-Event-ID")))
            row = answers[min(len(asked), len(answers)) - 1]
            if row is CUT:
                self.connection.close()
                return
            if row is STILL:
                self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\nid: 1-1\nevent: following\ndata: {}\n\n")
                time.sleep(10)
                return
            status, said, headers = row
            text = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *words):
            pass

        def handle(self):
            with contextlib.suppress(OSError, ValueError):
                super().handle()

        def finish(self):
            with contextlib.suppress(OSError, ValueError):
                super().finish()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{there.server_address[1]}", asked
        finally:
            there.shutdown()


def fails(kind, call, *words, **more):
    try:
        call(*words, **more)
    except kind as error:
        assert type(error) is kind, error
        return error
    raise AssertionError(f"no {kind.__name__}")


def test_redirects():
    """Also where a server has passed on what it should not."""
    done, own = (200, "done", {}), "/v1/sandboxes/b/ports/80/x"
    with against(done) as (other, taken):
        for place in (other, other.split(":", 1)[1], "/v1/run", "/v1/sandboxes/b/ports/80", "/v1/sandboxes/b/ports/800/x", "../../x", own + "/%2e%2e/%2e%2e/y"):
            with against((200, INFO, {}), (307, "", {"Location": place})) as (url, asked):
                with contextlib.closing(Sandbox.connect("b", url=url, key="k")) as one:
                    answer = one.request(80, "POST", path="/", follow_redirects=True, content=b"x")
                    assert answer.status_code == 307 and len(asked) == 2, place
                    assert "x-api-key" not in {**answer.request.headers, **answer.next_request.headers}
        assert not taken
    with against((200, INFO, {}), (302, "", {"Location": own}), done) as (url, asked):
        with contextlib.closing(Sandbox.connect("b", url=url, key="k")) as one:
            answer = one.request(80, follow_redirects=True)
            assert answer.text == "done" and [row[1] for row in asked[1:]] == ["/v1/sandboxes/b/ports/80/", own] and len(answer.history) == 1
    with against((200, INFO, {}), (302, "", {"Location": own})) as (url, asked):
        with contextlib.closing(Sandbox.connect("b", url=url, key="k")) as one:
            fails(ringfort.Unreachable, one.request, 80, follow_redirects=True)
            assert len(asked) == 1 + 21
    with against((302, "", {"Location": "/v1/x"})) as (url, asked):
        assert fails(ringfort.ServerError, Sandbox.connect, "b", url=url, key="k").status == 302 and len(asked) == 1


def test_nothing_prints_the_key():
    key = "rfk_secret"

    def silent(what):
        assert key not in repr(what) and key not in str(what) and key not in repr(vars(what)), what

    def silent_error(kind, call, *words, **more):
        try:
            call(*words, **more)
        except kind as error:
            told = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
            ours = told.split("silent_error", 1)[1].replace(repr(more), "").replace(f"key = {key!r}", "")
            assert "_sync/" in ours and key not in ours, ours
            return
        raise AssertionError(f"no {kind.__name__}")

    with against((200, INFO, {})) as (url, _):
        one = Sandbox.connect("b", url=url, key=key)
        for what in (one, one._line, one.commands, one.files, one.network, one.pty, ringfort.Approvals(url=url, key=key)):
            silent(what)
        assert key not in repr(one._line.client.headers) and key not in repr(one.request(80).request.headers)
        one.close()
    for answer in (CUT, no(500, "internal"), no(404, "not_found"), (200, "no json", {})):
        with against(answer) as (url, _):
            silent_error(Exception, Sandbox.connect, "b", url=url, key=key, retries=0)
            silent_error(Exception, run, ["x"], url=url, key=key, retries=0)
    silent_error(ringfort.Unreachable, Sandbox.list, url="http://127.0.0.1:9", key=key, retries=0)
    silent_error(OSError, Sandbox.create, url="https://127.0.0.1:9", key=key, ca="/nonexistent")
    with against((200, INFO, {}), CUT) as (url, _):
        with contextlib.closing(Sandbox.connect("b", url=url, key=key, retries=0)) as one:
            silent_error(ringfort.Unreachable, one.request, 80, "POST", content=b"x" * 1000)


def test_again():
    with against(CUT, CUT, (200, RESULT, {})) as (url, asked):
        assert run(["true"], url=url).stdout == "out" and len({row[2:] for row in asked}) == 1 and len(asked) == 3
    with against((200, INFO, {}), CUT) as (url, asked):
        assert not fails(ringfort.Unreachable, Sandbox.connect("b", url=url).commands.run, "true").is_repeatable and len(asked) == 2
    busy = no(409, "under_way", message="a request with this Idempotency-Key is under way", where="Idempotency-Key")
    with against(CUT, busy, busy, busy, (200, RESULT, {})) as (url, asked):
        assert run(["true"], url=url).stdout == "out" and len(asked) == 5
    with against(busy) as (url, asked):
        fails(ringfort.Conflict, run, ["true"], url=url)
    full = no(429, "too_many", {"Retry-After": "3600"}, where="Idempotency-Key")
    with against(full, (200, RESULT, {})) as (url, asked):
        assert run(["true"], url=url).ok and [bool(row[2]) for row in asked] == [True, False]
    with against(full, CUT) as (url, asked):
        assert not fails(ringfort.Unreachable, run, ["true"], url=url).is_repeatable and len(asked) == 2
    away = no(503, "unavailable", {"Retry-After": "0"})
    with against(away, (200, INFO, {}), away) as (url, asked):
        fails(ringfort.ServerError, Sandbox.connect("b", url=url).commands.run, "true")
        assert [row[0] for row in asked] == ["GET", "GET", "POST"]


def test_pages():
    def page(ids, cursor):
        return 200, {"sandboxes": [{**INFO, "id": id} for id in ids], "next_cursor": cursor}, {}
    with against(page("12", "x y"), page("3", "z"), page("", None)) as (url, asked):
        assert [one.id for one in Sandbox.list(url=url)] == ["1", "2", "3"]
        cursors = [urllib.parse.parse_qs(urllib.parse.urlsplit(row[1]).query, keep_blank_values=True)["cursor"] for row in asked]
        assert cursors == [[""], ["x y"], ["z"]]


def test_answers_of_others():
    for said in ("<html>", "{}", "null", '{"error": "x"}', '{"error": null}', '{"error": {"code": 5, "message": [], "where": {}}}', "[1]"):
        with against((502, said, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"})) as (url, _):
            error = fails(ringfort.ServerError, Sandbox.connect, "b", url=url)
            assert error.status == 502 and error.where is None and error.retry_after is None


def test_paths_that_conflict():
    both = {"error": {"code": "conflict", "message": "no", "remedy": None, "where": None}}
    for said, paths in (({"conflicts": ["a", 5, "b"]}, ["a", "b"]), ({"conflicts": "a"}, ()), ({"conflicts": None}, ()), ({}, ())):
        with against((200, INFO, {}), (409, {**both, **said}, {})) as (url, _):
            assert fails(ringfort.Conflict, Sandbox.connect("b", url=url).apply).conflicts == paths


def told(name, id, **more):
    return f"id: {id}\nevent: {name}\ndata: {json.dumps(more)}\n\n"


def test_follow():
    def recorded(cursor):
        return told("audit", cursor, kind="run.ended", time="t")
    away = no(503, "unavailable", {"Retry-After": "0"})
    rows = (200, told("following", "1-1", cursor="1-1"), {}), CUT, (200, ": alive\n\n" + recorded("1-2"), {}), away, (200, recorded("1-3"), {})
    with against(*rows) as (url, asked), ringfort.Audit(url=url) as audit:
        events = audit.follow(since="1h", kind="run")
        assert [event.cursor for event in itertools.islice(events, 2)] == ["1-2", "1-3"]
        assert [row[4] for row in asked] == [None, "1-1", "1-1", "1-2", "1-2"] and len({row[1] for row in asked}) == 1
        events.close()
    with against((200, recorded("1-2"), {}), CUT) as (url, asked), ringfort.Audit(url=url) as audit:
        assert fails(ringfort.Unreachable, list, audit.follow()).code == "unavailable" and len(asked) == 3
    with against((200, told("error", "", error={"code": "no_key", "message": "gone"}), {})) as (url, asked), ringfort.Audit(url=url) as audit:
        assert fails(ringfort.NotAuthorized, list, audit.follow(cursor="1-9")).message == "gone" and asked[0][4] == "1-9" and len(asked) == 1
    with against(no(422, "invalid")) as (url, asked), ringfort.Audit(url=url) as audit:
        fails(ringfort.InvalidRequest, list, audit.follow(kind="x"))
        assert len(asked) == 1


def test_who_says_nothing_for_too_long_counts_as_gone():
    row = told("audit", "1-2", kind="run.ended", time="t")
    with against(STILL, (200, row, {})) as (url, asked), ringfort.Audit(url=url) as audit, unittest.mock.patch.object(_api, "WAIT", 0.1):
        began = time.monotonic()
        assert next(audit.follow()).cursor == "1-2" and [row[4] for row in asked] == [None, "1-1"]
        assert time.monotonic() - began < 5


def test_names_lead_nowhere_else():
    with against(no(404, "not_found")) as (url, asked), ringfort.Workspaces(url=url) as places, ringfort.Breakers(url=url) as breakers:
        fails(ringfort.NotFound, places.delete, "../agents/bot?x#y")
        fails(ringfort.NotFound, places.undo, "a/b", 1)
        fails(ringfort.NotFound, breakers.reset, "a/b")
        fails(ringfort.NotFound, ringfort.Agent.connect, "a b", url=url)
        assert [row[1] for row in asked] == ["/v1/workspaces/..%2Fagents%2Fbot%3Fx%23y", "/v1/workspaces/a%2Fb/undo", "/v1/breakers/a%2Fb/reset",
                                            "/v1/agents/a%20b"]


def bare(kind, body, is_last=True):
    """A frame as servers write it."""
    size = len(body)
    long = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([(0x80 if is_last else 0) | kind]) + long + body


def test_frames():
    text = "grüße".encode()
    whole = (bare(1, text[:3], False) + bare(9, b"p") + bare(0, text[3:]) + bare(2, b"x" * 300) + bare(2, b"") + bare(8, b"\x03\xe8A"))
    for size in range(1, len(whole) + 1):
        frames, messages, answers = _frames.Frames(), [], []
        for at in range(0, len(whole), size):
            heard, said = frames.feed(whole[at:at + size])
            messages += heard
            answers += said
        assert messages == ["grüße", b"x" * 300, b""] and frames.closed == 1000 and len(answers) == 2
    wrong = [b"\xc1\0", b"\x83\0", b"\x81\x80", b"\x89\x7e", b"\x09\0", bare(0, text), bare(1, text, False) + bare(1, text), bare(1, b"\xff"),
             b"\x82\x7f\0\0\0\1\0\0\0\0", b"\x82\x7f" + b"\xff" * 8]
    for data in wrong:
        fails(ringfort.ServerError, _frames.Frames().feed, data)
    parts = _frames.Frames()  # parts without end, and with next to nothing in them
    fails(ringfort.ServerError, lambda: [parts.feed(bare(0 if number else 2, b"x", False)) for number in range(1000000)])
    dice = random.Random(7)
    for _ in range(20000):
        with contextlib.suppress(ringfort.ServerError):
            _frames.Frames().feed(dice.randbytes(dice.randint(1, 40)))


for name, test in sorted(dict(globals()).items()):
    if name.startswith("test_"):
        test()
print("all is well")
