"""Requests of a shadow run: what only reads passes, what writes is held back, and is sent once the run is applied."""
import http.server
import json
import pathlib
import shutil
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
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
