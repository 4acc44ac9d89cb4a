"""Requests of a shadow run: what only reads passes, what writes is held back, and is sent once the run is applied."""
import http.server
import json
import os
import pathlib
import shutil
import signal
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tls_site import TlsSite  # noqa: E402
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


class Api(http.server.BaseHTTPRequestHandler):
    """Remembers what it was sent.  /broken fails."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, body))
        self.answer(500 if self.path == "/broken" else 201, b"made\n")

    do_PUT = do_DELETE = do_POST

    def do_GET(self):
        self.answer(200, b"read\n")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def api():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def post(ringfort, public, who, request):
    if not (pathlib.Path(ringfort).parent / "ringfort-gateway").exists() or not shutil.which("curl"):
        pytest.skip("needs ringfort-gateway and curl")
    folder = public / f"held-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def shadow(post, who, api):
    """Runs a script with a network of one host, in a tree of its own; gives the exit code and the document."""
    tree, policy = post.top / "tree", post.top / "policy.yaml"
    tree.mkdir()
    if watchers.IS_ROOT and who == "user":
        shutil.chown(tree, watchers.USER_ID, watchers.USER_ID)
    policy.write_text(json.dumps({"version": 1, "network": {
        "allow": ["api.example"], "hosts": {"api.example": f"127.0.0.1:{api.server_address[1]}"}}}))
    policy.chmod(0o644)

    def run(script, *options, verify="true"):
        done = post.run("shadow", "--json", "--policy", policy, "--workspace", tree, "--verify", verify, *options, "--",
                        "sh", "-c", script)
        return done.returncode, json.loads(done.stdout)

    return run


SEND = "curl -s -o /dev/null -w '%{http_code} '"


def test_writes_are_sent_when_the_run_is_applied(shadow, api):
    script = (f"curl -s http://api.example/; {SEND} -d one 'http://api.example/a?k=v'; head -c 300000 /dev/zero > big; "
              f"{SEND} -X PUT --data-binary @big http://api.example/b; {SEND} -X DELETE http://api.example/c; echo x > made")
    code, document = shadow(script, verify="test -e made")
    assert code == 0 and document["verdict"] == "applied"
    assert document["run"]["stdout"] == "read\n202 202 202 "
    assert api.seen == [("POST", "/a?k=v", b"one"), ("PUT", "/b", b"\0" * 300000), ("DELETE", "/c", b"")]
    assert [(row["method"], row["url"], row["state"], row["status"]) for row in document["requests"]] == [
        ("POST", "http://api.example/a", "sent", 201), ("PUT", "http://api.example/b", "sent", 201),
        ("DELETE", "http://api.example/c", "sent", 201)]


@pytest.mark.parametrize("verify", ["false", f"{SEND} -d no http://api.example/x && false"])
def test_nothing_is_sent_where_the_run_is_discarded(shadow, api, verify):
    code, document = shadow(f"{SEND} -d one http://api.example/a; echo x > made", verify=verify)
    assert code == 2 and document["verdict"] == "discarded"
    assert api.seen == []
    assert [row["state"] for row in document["requests"]] == ["kept"]


def test_what_a_verification_sends_is_nobodys(shadow, api):
    code, document = shadow("echo x > made", verify=f"{SEND} -d no http://api.example/x")
    assert code == 0 and document["requests"] == [] and api.seen == []


def test_a_request_that_fails_is_the_last(shadow, api):
    code, document = shadow(f"for path in a broken b; do {SEND} -d one http://api.example/$path; done; echo x > made")
    assert code == 5 and document["verdict"] == "applied" and "500" in document["reason"]
    assert [path for _, path, _ in api.seen] == ["/a", "/broken"]
    assert [row["state"] for row in document["requests"]] == ["sent", "failed", "kept"]


def test_requests_alone_count_too(shadow, api):
    code, document = shadow(f"{SEND} -d one http://api.example/a")
    assert code == 0 and document["changes"] == [] and len(api.seen) == 1


def test_the_document_is_as_its_schema_says(shadow):
    jsonschema = pytest.importorskip("jsonschema")
    _, document = shadow(f"{SEND} -d one http://api.example/a; {SEND} -d one http://api.example/broken")
    schema = json.loads((DOCS / "shadow.schema.json").read_text())
    for row in document["requests"]:
        jsonschema.validate(row, schema["properties"]["requests"]["items"])
    assert set(schema["required"]) <= set(document)


# ------------------------------------------------------------- the record

SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd"


@pytest.fixture
def bound(post, who):
    """Runs a script as agent `bot`, with a credential for a server under TLS and with a watcher; gives the exit code and the document."""
    tree, policy = post.top / "tree", post.top / "bound.yaml"
    tree.mkdir()
    if watchers.IS_ROOT and who == "user":
        shutil.chown(tree, watchers.USER_ID, watchers.USER_ID)
    post.env["TOKEN"] = SECRET
    post.stand()
    with TlsSite(post.top / "site", "api.example") as site:
        def run(script, *options, verify="true", credential=None, **more):
            policy.write_text(json.dumps({"agent": "bot", "network": site.network(allow=["api.example"]), **more, "credentials": {
                "git": {"from": "env:TOKEN", "hosts": ["api.example"], **(credential or {})}}}))
            policy.chmod(0o644)
            done = post.run("shadow", "--json", "--policy", policy, "--workspace", tree, "--verify", verify, *options, "--",
                            "sh", "-c", script)
            return done.returncode, json.loads(done.stdout)

        run.site = site
        yield run


def told(post, document):
    """What the log has of the run's requests, in order; each is the agent's and the run's."""
    events = [event for event in post.events() if event["kind"] in ("net.request", "credential.use")]
    assert events and all((event["agent"], event["box"]) == ("bot", document["run"]["id"]) for event in events), events
    return [(event["kind"], event.get("path"), event["decision"], event.get("code"), event.get("credential")) for event in events]


def test_what_is_sent_after_the_apply_is_told_like_any_other_request(post, bound):
    code, document = bound(f"{SEND} -d one 'https://api.example/a?k=hidden'; {SEND} -X PUT -d two https://api.example/b; echo x > made")
    assert code == 0 and [row["state"] for row in document["requests"]] == ["sent", "sent"], document
    assert [one[3]["Authorization"] for one in bound.site.seen] == [f"Bearer {SECRET}"] * 2
    use = ("credential.use", None, "allow", None, "git")
    assert told(post, document) == [
        ("net.request", "/a", "hold", 202, None), ("net.request", "/b", "hold", 202, None),
        use, ("net.request", "/a", "allow", 200, None), use, ("net.request", "/b", "allow", 200, None)]
    show = post.run("audit", "show", "--box", document["run"]["id"]).stdout.splitlines()
    assert [line.split()[2] for line in show][-1] == "apply" and sum("decision=allow" in line for line in show) == 4
    log = [json.loads(line) for line in post.run("net", "log", "--json", "--agent", "bot").stdout.splitlines()]
    sent = [(one["method"], one["path"], one["code"], one["bytes_out"]) for one in log if one["decision"] == "allow" and "method" in one]
    assert sent == [("POST", "/a", 200, 3), ("PUT", "/b", 200, 3)]
    assert "credential git for api.example" in post.run("net", "log").stdout
    agent, = json.loads(post.run("audit", "report", "--format", "json").stdout)["agents"]
    grants = {grant["grant"]: grant for grant in agent["policies"][0]["grants"]}
    assert agent["agent"] == "bot" and grants["credentials"]["used"] == "1 of them", agent
    assert {"name": "git", "rule": "allow", "count": 2}.items() <= agent["credentials"]["rows"][0].items(), agent["credentials"]
    assert "never used" not in post.run("audit", "report").stdout
    stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
    assert SECRET.encode() not in stored and b"hidden" not in stored


def each_sent(post, document):
    return [event[:4] for event in told(post, document) if event[0] == "net.request" and event[2] != "hold"]


def test_what_a_standing_gateway_sends_is_told_once(post, bound):
    with post.start("gateway") as gateway:
        until = time.monotonic() + 10
        while post.run("gateway", "--status").returncode:
            assert time.monotonic() < until and gateway.poll() is None
            time.sleep(0.05)
        try:
            code, document = bound(f"for path in a b; do {SEND} -d one https://api.example/$path; done; echo x > made")
        finally:
            gateway.terminate()
            gateway.communicate(timeout=20)
    assert code == 0 and len(bound.site.seen) == 2, document
    assert each_sent(post, document) == [("net.request", path, "allow", 200) for path in ("/a", "/b")]


@pytest.mark.parametrize("audit", ["auto", "required"])
def test_what_is_sent_while_the_watcher_restarts_is_told_once(post, bound, audit):
    def restart(path):
        if path == "/b":
            post.end(signal.SIGKILL)
            post.stand()

    bound.site.before = restart
    code, document = bound(f"for path in a b c; do {SEND} -d one https://api.example/$path; done; echo x > made", audit=audit)
    assert code == 0 and len(bound.site.seen) == 3, document
    assert not any("is recorded" in warning for warning in document["run"]["warnings"]), document
    assert each_sent(post, document) == [("net.request", path, "allow", 200) for path in ("/a", "/b", "/c")]
    assert post.verify()["good"]


@pytest.mark.parametrize("how", ["500", "refused", "budget"])
def test_what_fails_after_the_apply_is_told_too(post, bound, how):
    script = f"for path in a b c; do {SEND} -d one https://api.example/$path; done; echo x > made"
    if how == "500":
        bound.site.status = 500
    elif how == "refused":
        bound.site.server.shutdown()
        bound.site.server.server_close()
    code, document = bound(script, credential={"budget": "1/day"} if how == "budget" else None)
    assert code == 5 and document["verdict"] == "applied", document
    sent = [event for event in told(post, document) if event[0] == "net.request" and event[2] != "hold"]
    if how == "500":
        assert sent == [("net.request", "/a", "allow", 500, None)]
    elif how == "refused":
        assert sent == [("net.request", "/a", "allow", 502, None)]
    else:
        assert sent[0] == ("net.request", "/a", "allow", 200, None) and ("credential.use", None, "deny", None, "git") in told(post, document)
    assert any(event["kind"] == "apply" and "not all requests were sent" in event["reason"] for event in post.events())


def during_verification(post, act):
    """Acts while a verification runs that waits for it."""
    def wait():
        until = time.monotonic() + 30
        while time.monotonic() < until and sum(event["kind"] == "run.started" for event in post.events()) < 2:
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


NEEDS = {"a record": {"audit": "required"}, "budgets": {"budgets": {"requests_per_hour": 100}}, "a breaker": {"breaker": {"failures": 5}}}


@pytest.mark.parametrize("needs", NEEDS.values(), ids=NEEDS)
def test_with_a_record_required_nothing_is_sent_that_nobody_would_know_of(post, bound, needs):
    thread = during_verification(post, lambda: post.end(signal.SIGKILL))
    code, document = bound(f"{SEND} -d one https://api.example/a; echo x > made", verify="sleep 3", **needs)
    thread.join()
    assert bound.site.seen == [] and code in (5, 125), document
    assert [row["state"] for row in document["requests"]] == ["kept"]


def test_a_request_that_never_reached_a_gateway_is_told_by_the_launcher(post, bound, public):
    """Its gateway can't be started any more when it is to be sent."""
    folder = public / "held-programs"
    folder.mkdir()
    for name in ("ringfort", "ringfort-init", "ringfort-gateway", "ringfort-watch", "ringfort-audit"):
        path = pathlib.Path(post.ringfort).parent / name
        if path.exists():
            shutil.copy2(os.path.realpath(path), folder / name)
    old, post.ringfort = post.ringfort, str(folder / "ringfort")
    thread = during_verification(post, (folder / "ringfort-gateway").unlink)
    try:
        code, document = bound(f"{SEND} -d one https://api.example/a; echo x > made", "--no-gateway", verify="sleep 3")
    finally:
        thread.join()
        post.ringfort = old
        shutil.rmtree(folder)
    assert code == 5 and bound.site.seen == [], document
    assert told(post, document)[-1][:3] == ("net.request", "/a", "deny")
    last = [event for event in post.events() if event["kind"] == "net.request"][-1]
    assert "ringfort-gateway" in last["reason"] and (last["method"], last["host"], last["port"]) == ("POST", "api.example", 443)
