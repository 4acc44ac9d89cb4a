"""Who is told what happened: webhooks, signed and tried again, and a collector of OpenTelemetry."""
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import sys
import threading
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import nginx  # noqa: E402,F401 pylint: disable=unused-import
from servers import Server  # noqa: E402
from wardens import IS_ROOT, USER_ID  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = "correct horse"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Receiver:
    """A server that notes what it is sent; the first so many answers are refusals."""

    def __init__(self, refusals=0):
        self.got, self.left = [], refusals
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, dict(self.headers), body))
                outer.left -= 1
                self.send_response(503 if outer.left >= 0 else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    made = []

    def make(*args):
        made.append(Receiver(*args))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def serve(ringfort, as_who, public):
    started = []

    def start(config):
        name = public / f"herald-{as_who}-{time.monotonic_ns()}.yaml"
        name.write_text(json.dumps(config))
        secret = name.with_suffix(".secret")
        secret.write_text(SECRET + "\n")
        secret.chmod(0o600)
        name.chmod(0o644)
        if IS_ROOT and as_who == "user":
            os.chown(secret, USER_ID, USER_ID)
        name.write_text(json.dumps(config).replace("SECRET", f"file:{secret}"))
        started.append(Server(ringfort, as_who, name.with_suffix(""), f"--config={name}"))
        return started[-1]

    yield start
    for one in started:
        one.close()


def trip(server, agent):
    done = server.post("/v1/run", {"argv": ["true"], "policy": {"version": 1, "agent": agent}})
    assert done.status == 200, done.body
    done = server.post(f"/v1/breakers/{agent}/trip", {"reason": "enough"})
    assert done.status == 200, done.body


def test_a_webhook_is_told_signed_and_again_until_it_takes_it(serve, receiver):
    place = receiver(2)
    server = serve({"webhooks": [{"url": place.url + "/hook", "secret": "SECRET", "events": ["breakers"]}]})
    trip(server, "bot")
    eventually(lambda: len(place.got) >= 3, 30)
    assert {body for _, _, body in place.got[:3]} == {place.got[0][2]}
    assert len({headers["Ringfort-Id"] for _, headers, _ in place.got[:3]}) == 1
    for path, headers, body in place.got:
        told = dict(part.split("=", 1) for part in headers["Ringfort-Signature"].split(","))
        assert abs(int(told["t"]) - time.time()) < 300
        right = hmac.new(SECRET.encode(), told["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
        assert told["v1"] == right and path == "/hook"
        assert headers["Ringfort-Event"] == "breaker.change"
    event = json.loads(place.got[0][2])
    assert event["kind"] == "breaker.change" and event["to"] == "open" and event["agent"].endswith("/bot")


def test_what_nobody_takes_is_given_up_and_recorded_and_the_next_is_told(serve, receiver):
    place = receiver(2)
    server = serve({"webhooks": [{"url": place.url, "secret": "SECRET", "tries": "2"}]})
    trip(server, "one")

    def given_up():
        done = server.run("audit", "show", "--json", "--kind", "hook")
        return [json.loads(line) for line in done.stdout.splitlines()]

    lost = eventually(given_up, 30)
    assert lost[0]["verdict"] == "failed" and place.url in lost[0]["program"] and "503" in lost[0]["reason"]
    trip(server, "two")
    eventually(lambda: any(b"/two" in body for _, _, body in place.got), 30)


def test_a_webhook_is_told_of_what_waits_for_approval_and_can_name_it(serve, receiver, nginx, as_who, public):  # noqa: F811
    place = receiver()
    server = serve({"webhooks": [{"url": place.url, "secret": "SECRET", "events": ["approvals"]}]})
    ceiling = public / f"waits-{as_who}-{time.monotonic_ns()}.yaml"
    network = {"allow": ["api.example"], "writes": "hold"}
    ceiling.write_text(json.dumps({"files": {"current": "none"}, "network": {**network, "hosts": {"api.example": f"127.0.0.1:{nginx.port}"}}}))
    if IS_ROOT and as_who == "user":
        os.chown(ceiling, USER_ID, USER_ID)
    ceiling.chmod(0o600)
    key = server.make_key("--tenant", "acme", "--ceiling", str(ceiling), "--scope", "admin")
    made = server.post("/v1/sandboxes", {"policy": {"agent": "bot", "network": {"allow": ["api.example"]}}}, key=key)
    assert made.status == 201, made.body
    done = server.post(f"/v1/sandboxes/{made.json['id']}/exec", {"argv": ["curl", "-sS", "-m", "20", "-d", "x", "http://api.example/x?secret=1"]},
                       key=key, timeout=60)
    which = json.loads(done.json["stdout"])["held"]["id"]
    eventually(lambda: place.got, 30)
    _, headers, body = place.got[0]
    event = json.loads(body)
    assert headers["Ringfort-Event"] == "approval" and (event["decision"], event["approval"]) == ("asked", which)
    assert (event["box"], event["agent"], event["tenant"]) == (made.json["id"], "acme/bot", "acme") and b"secret" not in body
    assert server.post(f"/v1/approvals/{which}/approve", key=key).json["status"] in (200, 404, 405)
    eventually(lambda: len(place.got) == 2, 30)
    assert json.loads(place.got[1][2])["decision"] == "allow"


def test_a_collector_gets_spans_of_requests_and_runs_in_the_client_s_trace_and_figures(serve, receiver):
    place = receiver()
    server = serve({"otlp": {"endpoint": place.url, "every": "1s"}})
    done = server.post("/v1/run", {"argv": ["true"]}, headers={"traceparent": TRACE, "X-Request-Id": "order-9"})
    assert done.status == 200, done.body

    def spans():
        found = [span for path, _, body in place.got if path == "/v1/traces"
                 for resource in json.loads(body)["resourceSpans"]
                 for scope in resource["scopeSpans"] for span in scope["spans"]
                 if span["traceId"] == TRACE.split("-")[1]]
        return found if len(found) >= 2 else None

    found = {span["name"]: span for span in eventually(spans, 30)}
    asked, ran = found["POST /v1/run"], found["run"]
    assert asked["parentSpanId"] == TRACE.split("-")[2] and asked["kind"] == 2
    assert ran["parentSpanId"] == asked["spanId"]
    assert int(asked["endTimeUnixNano"]) >= int(asked["startTimeUnixNano"]) > 0
    known = {row["key"]: row["value"] for row in ran["attributes"]}
    assert known["ringfort.box"]["stringValue"] == done.json["id"]
    assert known["ringfort.request"]["stringValue"] == "order-9"

    def figures():
        return {metric["name"] for path, _, body in place.got if path == "/v1/metrics"
                for resource in json.loads(body)["resourceMetrics"]
                for scope in resource["scopeMetrics"] for metric in scope["metrics"]}

    eventually(lambda: "ringfort_runs_total" in figures(), 30)
    check_messages(place.got)


def check_messages(got):
    """As OpenTelemetry's own messages, where those are here."""
    try:
        from google.protobuf import json_format  # pylint: disable=import-outside-toplevel
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2  # pylint: disable=import-outside-toplevel
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    for path, _, body in got:
        message = (trace_service_pb2.ExportTraceServiceRequest() if path == "/v1/traces"
                   else metrics_service_pb2.ExportMetricsServiceRequest())
        json_format.Parse(body, message)
