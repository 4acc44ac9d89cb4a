"""Writes of a server's boxes that wait for approval: seen by their tenant, decided once by who may, sent by the gateway, recorded."""
import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from helpers import eventually  # noqa: E402
from servers import sockets_of  # noqa: E402
from test_server_network import BOXES, PROXY, RUN, Site  # noqa: E402
from test_tls_gateway import SECRET, server as origin  # noqa: E402,F401 pylint: disable=unused-import

pytestmark = pytest.mark.usefixtures("as_who")

WAITING = "/v1/approvals"
ALLOW = ["api.test:*/**"]


class Place(Site):
    """The same, with a key of tenant `one` that may decide, one that may look, and one whose ceiling demands approval."""

    def __init__(self, *args):
        super().__init__(*args)
        self.admin = self.server.make_key("--tenant", "one", "--scope", "admin")
        self.reader = self.server.make_key("--tenant", "one", "--scope", "read")
        self.stranger = self.server.make_key("--tenant", "two", "--scope", "admin")
        self.bound = self.make_key("one", ["api.test:*", "plain.test:*"], writes="hold")

    def begin(self, key=None, beyond="refuse", **network):
        body = {"policy": self.policy(*ALLOW, **network), "credentials": ["github"], "beyond": beyond}
        made = self.server.post(BOXES, body, key=key or self.key)
        assert made.status == 201, made.body
        return made.json["id"]

    def curl(self, box, *words, path="/body", key=None, after=0):
        done = self.server.post(f"{BOXES}/{box}/exec", {"argv": ["sh", "-c", f"sleep {after}; " """
            curl -sS -m 20 -w '\\n%{http_code}' "$@" """, "sh", *words, self.url("api.test", path)]}, key=key or self.key, timeout=60)
        assert done.status == 200, done.body
        body, _, status = done.json["stdout"].rpartition("\n")
        return int(status or 0), body

    def waiting(self, **more):
        done = self.server.get(WAITING, key=self.reader, **more)
        assert done.status == 200, done.body
        return done.json["approvals"]

    def decide(self, which, how, key=None, **more):
        return self.server.post(f"{WAITING}/{which}/{how}", key=key or self.admin, **more)

    def told(self, which):
        """What the log has of one, as its tenant sees it."""
        done = self.server.get("/v1/audit?kind=approval&limit=1000", key=self.reader)
        assert done.status == 200, done.body
        return [event for event in done.json["events"] if event["approval"] == which]


@pytest.fixture(scope="module")
def places(ringfort, public, origin):  # noqa: F811
    made = {}
    yield lambda who: made.get(who) or made.setdefault(who, Place(ringfort, who, public / f"approvals-{who}", origin))
    for place in made.values():
        place.server.close()


@pytest.fixture
def place(places, as_who):
    return places(as_who)


@pytest.fixture
def box(place):
    made = place.begin(writes="hold")
    yield made
    place.server.delete(f"{BOXES}/{made}", key=place.key)


def write(place, box, *words, path="/body", text="hello"):
    """A write that waits; gives what it is called."""
    status, body = place.curl(box, "-d", text, *words, path=path)
    assert status == 202, (status, body)
    return json.loads(body)["held"]["id"]


def write_long(place, box, path):
    """The same with a body of nearly a MiB, which no socket has room for."""
    done = place.server.post(f"{BOXES}/{box}/exec", {"argv": ["sh", "-c", f"""
        head -c 1000000 /dev/zero | tr '\\0' a | curl -sS -m 20 --data-binary @- '{place.url("api.test", path)}'"""]}, key=place.key, timeout=60)
    return json.loads(done.json["stdout"])["held"]["id"]


def lines(place, path):
    return [line for line in place.origin.log() if line["uri"] == path]


# --- what waits ---

def test_reads_pass_and_a_write_waits_until_it_is_approved_and_is_then_sent_with_the_credential(place, box):
    path = f"/body?token=inquery&n={time.monotonic_ns()}"
    assert place.curl(box, path="/x") == (200, "hello GET /x\n")
    which = write(place, box, "-H", "X-Key: mine", path=path)
    assert lines(place, path) == []
    row = next(one for one in place.waiting() if one["id"] == which)
    assert (row["sandbox"], row["state"], row["method"], row["host"], row["path"]) == (box, "waiting", "POST", "api.test", "/body")
    assert row["port"] == place.origin.port and row["scheme"] == "https" and row["size"] > 5 and row["expires"] > row["asked"]
    assert "inquery" not in json.dumps(place.waiting())
    done = place.decide(which, "approve")
    assert done.status == 200 and done.json == {"id": which, "state": "approved", "status": 200, "refused": None}, done.body
    sent = lines(place, path)
    assert [(one["method"], one["auth"], one["key"], one["body"]) for one in sent] == [("POST", f"Bearer {SECRET}", "mine", "hello")]
    assert which not in [one["id"] for one in place.waiting()]
    assert [event["decision"] for event in place.told(which)] == ["asked", "allow"]
    asked, allowed = place.told(which)
    for event in (asked, allowed):
        assert event["box"] == box and event["tenant"] == "one" and event["method"] == "POST" and event["host"] == "api.test"
        assert "inquery" not in json.dumps(event)
    assert allowed["by"] == place.admin.split("_")[1] and allowed["took_us"] > 0


def test_one_is_shown_with_its_head_and_a_part_of_its_body_and_placeholders(place, box):
    done = place.server.post(f"{BOXES}/{box}/exec", {"argv": ["sh", "-c", f"""
        head -c 100000 /dev/zero | tr '\\0' a | curl -sS -m 20 -H "X-Key: $GH_TOKEN" --data-binary @- '{place.url("api.test", "/body?q=1")}'"""]},
                             key=place.key, timeout=60)
    done = place.server.get(f"{WAITING}/{json.loads(done.json['stdout'])['held']['id']}", key=place.reader)
    assert done.status == 200, done.body
    one = done.json
    assert one["head"].startswith("POST /body?q=1 HTTP/1.1\r\n") and "x-key: " in one["head"].lower()
    assert one["is_cut"] and set(one["body"]) == {"a"} and 1000 < len(one["body"]) < 100_000
    assert one["body_size"] == 100_000 and one["body_sha256"] == hashlib.sha256(b"a" * 100_000).hexdigest()
    assert SECRET not in done.body.decode()
    assert place.decide(one["id"], "deny").status == 200


def test_bytes_that_are_no_text_are_shown_as_base64(place, box):
    done = place.server.post(f"{BOXES}/{box}/exec", {"argv": ["sh", "-c", f"""
        printf '\\377\\000x' | curl -sS -m 20 --data-binary @- {place.url("api.test", "/body")}"""]}, key=place.key, timeout=60)
    which = json.loads(done.json["stdout"])["held"]["id"]
    one = place.server.get(f"{WAITING}/{which}", key=place.reader).json
    assert base64.b64decode(one["body_base64"]) == b"\xff\0x" and "body" not in one and not one["is_cut"]


def test_what_is_denied_is_never_sent_and_the_reason_is_in_the_record(place, box):
    path = f"/body?deny={time.monotonic_ns()}"
    which = write(place, box, path=path)
    done = place.decide(which, "deny", body={"reason": "not today"})
    assert done.status == 200 and done.json == {"id": which, "state": "denied"}, done.body
    one = place.server.get(f"{WAITING}/{which}", key=place.reader).json
    assert (one["state"], one["reason"], one["by"]) == ("denied", "not today", place.admin.split("_")[1]) and "head" not in one
    assert [(event["decision"], event.get("reason")) for event in place.told(which)] == [("asked", None), ("deny", "not today")]
    assert lines(place, path) == []


@pytest.mark.parametrize("first", ["approve", "deny"])
def test_each_is_decided_once(place, box, first):
    which = write(place, box)
    assert place.decide(which, first).status == 200
    for how in ("approve", "deny"):
        done = place.decide(which, how)
        assert done.status == 409 and done.json["error"]["code"] == "conflict", done.body


def test_who_may_run_or_look_decides_nothing(place, box):
    path = f"/body?self={time.monotonic_ns()}"
    which = write(place, box, path=path)
    for key in (place.key, place.reader):
        for how in ("approve", "deny"):
            assert place.decide(which, how, key=key).status == 403
    assert lines(place, path) == [] and which in [one["id"] for one in place.waiting()]


def test_another_tenants_is_not_there(place, box):
    which = write(place, box)
    assert place.server.get(WAITING, key=place.stranger).json == {"approvals": [], "next_cursor": None}
    assert place.server.get(f"{WAITING}/{which}", key=place.stranger).status == 404
    for how in ("approve", "deny"):
        assert place.decide(which, how, key=place.stranger).status == 404
        assert place.decide("nobody", how).status == 404
        assert place.decide("a" * 60, how).status == 404
    assert which in [one["id"] for one in place.waiting()]
    assert place.server.get("/v1/audit?kind=approval", key=place.stranger).json["events"] == []


def test_they_are_listed_in_pages_and_by_sandbox(place, box):
    asked = [write(place, box) for _ in range(5)]
    other = place.begin(writes="hold")
    elsewhere = write(place, other)
    got, cursor = [], ""
    while True:
        page = place.server.get(f"{WAITING}?limit=2&sandbox={box}&cursor={cursor}", key=place.reader).json
        assert len(page["approvals"]) <= 2
        got += [one["id"] for one in page["approvals"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert got == asked and elsewhere not in got
    for query in ("limit=0", "limit=1001", "limit=x", "cursor=x", "cursor=-1", "cursor=0", "cursor=10000000000000000000"):
        assert place.server.get(f"{WAITING}?{query}", key=place.reader).status == 422, query
    assert place.server.delete(f"{BOXES}/{other}", key=place.key).status == 204


# --- what a write is ---

@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST", "PROPFIND"])
def test_whatever_does_more_than_read_waits(place, box, method):
    before = len(place.origin.log())
    status, body = place.curl(box, "-X", method, path="/m")
    assert status == 202 and json.loads(body)["held"]["id"]
    assert len(place.origin.log()) == before


def test_a_read_that_pretends_is_a_write(place, box):
    """Many servers take the field for the method, and many see no difference between a hyphen and an underscore."""
    for field in ("X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-HTTP_METHOD-Override", "x_method_override"):
        assert place.curl(box, "-H", f"{field}: DELETE", path="/m")[0] == 202, field
    assert place.curl(box, "-H", "X-HTTP-Method-Override: GET", path="/m")[0] == 200


@pytest.mark.parametrize("words, status, code", [
    (["--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket"], 403, "needs_approval"),
    (["--http1.1", "-H", "Content-Length: 1048577", "-X", "POST"], 413, "too_large_to_hold"),
    # Over HTTP/2 the rest of a body whose length was not told is reset, and curl 7.88 may take that for a failure: see http2.c.
    (["--http1.1", "-H", "Transfer-Encoding: chunked", "--data-binary", "@/tmp/big"], 413, "request_too_large"),
])
def test_what_can_not_wait_is_refused(place, box, words, status, code):
    done = place.server.post(f"{BOXES}/{box}/exec", {"command": "head -c 1100000 /dev/zero > /tmp/big"}, key=place.key)
    assert done.json["status"] == "ok"
    got, body = place.curl(box, *words)
    assert got == status and json.loads(body)["error"]["code"] == code, body


def test_what_is_no_http_is_refused(place, box):
    done = place.server.post(f"{BOXES}/{box}/exec", {"argv": ["/usr/bin/python3", "-c", f"""
import socket
line = socket.create_connection(("api.test", {place.origin.port}), 10)
line.sendall(b"\\0\\1\\2 this is no request\\r\\n")
print(line.recv(100))
"""]}, key=place.key, timeout=60)
    assert done.json["stdout"] in ("b''\n", "") and "hello" not in done.body.decode(), done.body


def test_the_proxy_inside_is_no_way_around(place, box):
    path = f"/body?proxy={time.monotonic_ns()}"
    assert place.curl(box, "-x", PROXY, "-d", "x", path=path)[0] == 202
    assert lines(place, path) == []


def test_what_is_approved_is_judged_by_the_rules_that_hold_then(place, box):
    path = f"/body?late={time.monotonic_ns()}"
    which, long = write(place, box, path=path), write_long(place, box, path)
    done = place.server.put(f"{BOXES}/{box}/network", {"network": {"allow": ["GET api.test:*/**"]}}, key=place.key)
    assert done.status == 200, done.body
    done = place.decide(which, "approve")
    assert done.status == 200 and done.json["status"] == 403 and done.json["refused"] == "network_denied", done.body
    done = place.decide(long, "approve")  # whose end nobody reads
    assert done.status == 200 and done.json["status"] == 403 and done.json["refused"] == "network_denied", done.body
    assert lines(place, path) == []


# --- who demands it ---

def test_a_ceiling_demands_it_of_every_box_whatever_is_asked_for(place):
    path = f"/body?bound={time.monotonic_ns()}"
    refused = place.server.post(BOXES, {"policy": place.policy(*ALLOW, writes="pass")}, key=place.bound)
    assert (refused.status, refused.json["error"]["where"]) == (403, "policy.network.writes"), refused.body
    for network in ({}, {"writes": "pass"}):
        box = place.begin(key=place.bound, beyond="drop", **network)  # pylint: disable=redefined-outer-name
        assert place.curl(box, "-d", "x", path=path, key=place.bound)[0] == 202
        done = place.server.put(f"{BOXES}/{box}/network", {"network": {"allow": ALLOW, "writes": "pass"}}, key=place.bound)
        assert done.status == 422, done.body
        done = place.server.put(f"{BOXES}/{box}/network", {"network": {"allow": ALLOW}}, key=place.bound)
        assert done.status == 200, done.body
        assert place.curl(box, "-d", "x", path=path, key=place.bound)[0] == 202
        assert place.server.delete(f"{BOXES}/{box}", key=place.bound).status == 204
    assert lines(place, path) == []


def test_what_a_request_asked_for_stays_when_the_rules_change(place, box):
    assert place.server.put(f"{BOXES}/{box}/network", {"network": {"allow": ALLOW}}, key=place.key).status == 200
    write(place, box)


def test_without_it_writes_pass(place):
    box = place.begin()  # pylint: disable=redefined-outer-name
    assert place.curl(box, "-d", "x")[0] == 200
    assert place.server.delete(f"{BOXES}/{box}", key=place.key).status == 204


# --- ends ---

def test_nobody_decides_in_time(place):
    box = place.begin(writes="hold", approval_time="1s")  # pylint: disable=redefined-outer-name
    which = write(place, box)
    eventually(lambda: len(place.told(which)) == 2, 15)
    assert [event["decision"] for event in place.told(which)] == ["asked", "expired"]
    done = place.decide(which, "approve")
    assert done.status == 409 and "in time" in done.json["error"]["message"], done.body
    assert place.server.get(f"{WAITING}/{which}", key=place.reader).json["state"] == "expired"
    assert place.server.delete(f"{BOXES}/{box}", key=place.key).status == 204


def test_a_sandbox_takes_its_own_along(place):
    box = place.begin(writes="hold")  # pylint: disable=redefined-outer-name
    which = write(place, box)
    assert place.server.delete(f"{BOXES}/{box}", key=place.key).status == 204
    eventually(lambda: len(place.told(which)) == 2)
    assert [(event["decision"], event.get("reason")) for event in place.told(which)] == [
        ("asked", None), ("deny", "its sandbox has ended")]
    assert place.decide(which, "approve").status == 409


def test_a_run_can_ask_for_it_too(place):
    done = place.server.post(RUN, {"argv": ["curl", "-sS", "-m", "20", "-d", "x", place.url("api.test", "/body")],
                                   "policy": place.policy(*ALLOW, writes="hold", )}, key=place.key, timeout=60)
    assert done.status == 200, done.body
    which = json.loads(done.json["stdout"])["held"]["id"]
    eventually(lambda: len(place.told(which)) == 2)
    assert {event["box"] for event in place.told(which)} == {done.json["id"]}
    assert [event["decision"] for event in place.told(which)] == ["asked", "deny"]


def test_a_sandbox_has_room_for_so_many(place, box):
    code = f"""
import http.client, ssl
got = []
for _ in range(258):
    line = http.client.HTTPSConnection("api.test", {place.origin.port})
    line.request("POST", "/body", "x")
    got.append(line.getresponse().status)
print(got.count(202), got.count(503), got[-1])
"""
    done = place.server.post(f"{BOXES}/{box}/exec", {"argv": ["/usr/bin/python3", "-c", code]}, key=place.key, timeout=90)
    assert done.json["stdout"] == "256 2 503\n", done.body
    first = place.waiting()[0]["id"]
    assert place.decide(first, "deny").status == 200
    write(place, box)


def test_what_a_gateway_does_not_take_in_is_over_and_nobody_can_write_the_rest_of_it(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"stuck-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        box = place.begin(writes="hold")  # pylint: disable=redefined-outer-name
        path = f"/body?stuck={time.monotonic_ns()}"
        which = write_long(place, box, path)
        stopped = place.gateways()
        assert stopped
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            done = place.decide(which, "approve", timeout=60)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert done.status == 504 and "take it in" in done.json["error"]["message"], done.body
        eventually(lambda: len(place.told(which)) == 3)
        assert [(event["decision"], event.get("reason")) for event in place.told(which)] == [
            ("asked", None), ("allow", None), ("deny", "it was approved, and could not be sent")]
        assert place.curl(box, path="/x")[0] == 200
        assert lines(place, path) == [] and place.decide(which, "approve").status == 409


def test_a_tenant_has_room_for_so_much_whatever_its_sandboxes_are(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"much-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        got = []
        for _ in range(2):
            done = place.server.post(f"{BOXES}/{place.begin(writes='hold')}/exec", {"command": f"""
                head -c 1000000 /dev/zero > /tmp/big
                for n in $(seq 9); do curl -sS -m 20 -o /dev/null -w '%{{http_code}} ' --data-binary @/tmp/big '{place.url("api.test", "/body")}'; done
                """}, key=place.key, timeout=120)
            got += done.json["stdout"].split()
        assert got == ["202"] * 16 + ["503"] * 2


class Silent:
    """A server in clear that takes requests, and answers them when it is told to."""

    def __init__(self, head=b"", status=b"201 Created"):
        self.socket, self.lines, self.head, self.status = socket.create_server(("127.0.0.1", 0), backlog=64), [], head, status
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        with contextlib.suppress(OSError):
            while True:
                self.lines.append(self.socket.accept()[0])

    def answer(self):
        for line in self.lines:
            with contextlib.suppress(OSError):
                line.sendall(b"HTTP/1.1 " + self.status + b"\r\n" + self.head + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            line.close()
        self.lines.clear()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.answer()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def begin(self, place):
        key = place.make_key("one", ["silent.test:*"], hosts={"silent.test": f"127.0.0.1:{self.port}"})
        made = place.server.post(BOXES, {"policy": {"network": {"allow": ["silent.test:*/**"], "writes": "hold"}}}, key=key)
        assert made.status == 201, made.body
        return made.json["id"], key

    def write(self, place, box, key, count=1):
        """So many that wait; gives what they are called."""
        done = place.server.post(f"{BOXES}/{box}/exec", {"command": f"for n in $(seq {count}); do curl -sS -m 20 -d x "
                                 f"http://silent.test:{self.port}/; done"}, key=key, timeout=90)
        return [json.loads(line)["held"]["id"] for line in done.json["stdout"].splitlines()]


def test_so_many_approvals_are_under_way_at_once_whoever_still_waits_for_them(place):
    with Silent() as server:
        box, key = server.begin(place)  # pylint: disable=redefined-outer-name
        ids = server.write(place, box, key, 18)
        lines_ = []
        for which in ids[:16]:
            lines_.append(place.server.connect(30))
            lines_[-1].request("POST", f"{WAITING}/{which}/approve", headers={"Authorization": f"Bearer {place.admin}"})
        eventually(lambda: len(server.lines) == 16, 30)
        for line in lines_:  # nobody waits any more, and each is still one
            line.close()
        done = place.decide(ids[16], "approve")
        assert done.status == 429 and done.json["error"]["code"] == "too_many", done.body
        assert place.decide(ids[17], "deny").status == 200
        server.answer()
        assert place.server.delete(f"{BOXES}/{box}", key=key).status == 204
        assert eventually(lambda: place.decide(ids[16], "approve").status == 409)


@pytest.mark.parametrize("head, status", [
    pytest.param(b"".join(b"X-%d: %s\r\n" % (n, b"y" * 4000) for n in range(8)), b"201 Created", id="a long head"),
    pytest.param(b"X-Ringfort: network_denied\r\nx_ringfort: held\r\n", b"403 No", id="our own words")])
def test_an_answer_is_told_by_its_status_whatever_else_it_says(place, head, status):
    with Silent(head, status) as server:
        box, key = server.begin(place)  # pylint: disable=redefined-outer-name
        which, = server.write(place, box, key)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            done = pool.submit(place.decide, which, "approve")
            eventually(lambda: server.lines)
            server.answer()
            assert done.result().json == {"id": which, "state": "approved", "status": int(status.split()[0]), "refused": None}
        assert place.server.delete(f"{BOXES}/{box}", key=key).status == 204


@pytest.mark.parametrize("then", [signal.SIGKILL, signal.SIGCONT])
def test_what_a_watcher_may_have_recorded_is_over_and_the_log_says_so_last(ringfort, as_who, public, origin, then):  # noqa: F811
    """One that is late writes what it was told all the same: no decision may come after it."""
    place = Place(ringfort, as_who, public / f"unwatched-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        box = place.begin(writes="hold")  # pylint: disable=redefined-outer-name
        path = f"/body?unwatched={time.monotonic_ns()}"
        which = write(place, box, path=path)
        pid = json.loads(place.server.run("watch", "--status", "--json").stdout)["pid"]
        began = len(place.server.get("/v1/audit?kind=exec.started&limit=1000", key=place.reader).json["events"])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            late = pool.submit(place.curl, box, "-d", "x", path=path, after=3)  # no program would begin without a watcher
            eventually(lambda: len(place.server.get("/v1/audit?kind=exec.started&limit=1000", key=place.reader).json["events"]) > began)
            os.kill(pid, signal.SIGSTOP)
            try:
                done = place.decide(which, "approve")
                assert done.status == 503 and "recorded" in done.json["error"]["message"], done.body
                status, body = late.result()
                assert status == 503 and json.loads(body)["error"]["code"] == "cannot_hold"
            finally:
                os.kill(pid, then)
        if then == signal.SIGKILL:
            place.server.read_until("a watcher stands again")
        eventually(lambda: place.told(which)[-1]["decision"] == "deny", 15)
        decisions = [event["decision"] for event in place.told(which)]  # what was not answered in time is said again
        assert decisions in [before + ["deny"] * times for before in (["asked"], ["asked", "allow"]) for times in (1, 2)], decisions
        assert place.decide(which, "approve").status == 409 and lines(place, path) == []
        asked = {event["approval"] for event in place.server.get("/v1/audit?kind=approval", key=place.reader).json["events"]}
        for one in asked:
            eventually(lambda: place.told(one)[-1]["decision"] == "deny", 15)  # pylint: disable=cell-var-from-loop


def test_without_a_watcher_nothing_is_decided_and_it_waits_on(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"gone-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        box = place.begin(writes="hold")  # pylint: disable=redefined-outer-name
        path = f"/body?gone={time.monotonic_ns()}"
        which = write(place, box, path=path)
        pid = json.loads(place.server.run("watch", "--status", "--json").stdout)["pid"]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not os.path.exists(f"/proc/{pid}") or not sockets_of(pid))
        done = eventually(lambda: (lambda one: one if one.status != 503 else None)(place.decide(which, "approve")), 15)
        if done.status == 409:  # a last thread of the watcher was at its disk, and might have recorded it
            assert eventually(lambda: place.told(which)[-1]["decision"] == "deny", 10) and lines(place, path) == []
            return
        assert done.status == 200 and done.json["status"] == 200 and len(lines(place, path)) == 1


def test_a_clerk_that_is_killed_takes_what_waits_along_and_nothing_is_sent(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"clerkless-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        box = place.begin(writes="hold")  # pylint: disable=redefined-outer-name
        path = f"/body?clerk={time.monotonic_ns()}"
        which = write(place, box, path=path)
        os.kill(place.server.children()["ringfort-clerk"][0], signal.SIGKILL)
        eventually(lambda: place.server.get(WAITING, key=place.reader).status == 200)
        done = eventually(lambda: (lambda one: one if one.status == 404 else None)(place.decide(which, "approve")))
        assert done.status == 404 and lines(place, path) == []
        assert place.curl(box, "-d", "x")[0] == 0


def test_what_is_still_being_decided_when_the_server_ends_has_a_last_record(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"halfway-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        path = f"/body?halfway={time.monotonic_ns()}"
        which = write_long(place, place.begin(writes="hold"), path)
        stopped = place.gateways()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            line = place.server.connect(30)
            line.request("POST", f"{WAITING}/{which}/approve", headers={"Authorization": f"Bearer {place.admin}"})
            eventually(lambda: len(place.told(which)) == 2)
            assert place.server.end() == 0
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        done = place.server.run("audit", "show", "--json", "--kind", "approval")
        told = [json.loads(row) for row in done.stdout.splitlines()]
        assert [(event["decision"], event["approval"]) for event in told] == [("asked", which), ("allow", which), ("deny", which)]
        assert lines(place, path) == []


def test_the_server_that_ends_denies_what_waits(ringfort, as_who, public, origin):  # noqa: F811
    place = Place(ringfort, as_who, public / f"ending-{as_who}-{time.monotonic_ns()}", origin)  # pylint: disable=redefined-outer-name
    with place.server:
        which = write(place, place.begin(writes="hold"))
        assert place.server.end() == 0
        done = place.server.run("audit", "show", "--json", "--kind", "approval")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(event["decision"], event["approval"]) for event in told] == [("asked", which), ("deny", which)]
