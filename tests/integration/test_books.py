"""The watcher's books on credentials and hosts: what all gateways of a user have spent together, in requests and in money, and
what somebody opens or closes by hand in every one of them.

The server is one of Python's with TLS, whose root the gateway is told of by SSL_CERT_FILE.
"""
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading

import pytest

from helpers import eventually

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), os.path.join(os.path.dirname(__file__), "gateway")]
from origins import free_port  # noqa: E402
from watchers import IS_ROOT, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")
CODE = "curl -s -m 9 -o /dev/null -w '%{{http_code}} ' {0}\n"


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    if not shutil.which("openssl") or not shutil.which("curl"):
        pytest.skip("no openssl or curl on this machine")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rf-books-"))
    folder.chmod(0o755)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key", "-out",
                    "root.pem", "-subj", "/CN=api.test", "-addext", "subjectAltName=DNS:api.test", "-days", "2"],
                   cwd=folder, check=True, capture_output=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as one:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "root.pem", folder / "key")
        one.socket = context.wrap_socket(one.socket, server_side=True, do_handshake_on_connect=False)
        one.root, one.port = folder / "root.pem", one.server_address[1]
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one
        one.shutdown()
    shutil.rmtree(folder)


@pytest.fixture
def post(ringfort, as_who, public, server):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="books-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        there.env.update(SSL_CERT_FILE=str(server.root), API_TOKEN="s3cr3t-Value-0123456789")
        yield there
    shutil.rmtree(top, ignore_errors=True)


def line(post, server, how=None, port=None, **more):
    """The words of a run that may reach api.test with a credential."""
    port = port or server.port
    policy = {"credentials": {"token": {"from": "env:API_TOKEN", "hosts": ["api.test:*"], **(how or {})}},
              "network": {"allow": [f"GET api.test:{port}/**"], "hosts": {"api.test": f"127.0.0.1:{port}"}}, **more}
    path = post.top / "policy.yaml"
    path.write_text(json.dumps(policy))
    path.chmod(0o644)
    return ["run", "--policy", path, "--time", "50s"], CODE.format(f"https://api.test:{port}/")


@contextlib.contextmanager
def standing(post, *who):
    """What of these stands: a warden, a gateway."""
    started = [post.start(name) for name in who]
    try:
        for name in who:
            assert eventually(lambda name=name: post.run(name, "--status").returncode == 0, 20)
        yield
    finally:
        for process in started:
            process.terminate()
            process.communicate(timeout=20)


def breakers(post):
    return json.loads(post.run("breaker", "ls", "--json").stdout)


@pytest.mark.parametrize("who", [[], ["warden", "gateway"]])
def test_money_is_spent_by_all_runs_together(post, server, who):
    words, get = line(post, server, {"cost": "0.25", "money": "0.75/day"})
    post.stand()
    with standing(post, *who):
        assert post.run(*words, "--", "sh", "-c", 2 * get).stdout == "200 200 "
        assert post.end() == 0  # the books outlive a watcher
        post.stand()
        done = post.run(*words, "--json", "--", "sh", "-c", 3 * get)
        assert json.loads(done.stdout)["stdout"] == "200 429 429 ", done
        assert post.run(*words, "--", "sh", "-c", get).stdout == "429 "
        told = post.events("--kind", "credential.use")
        assert [event.get("spent") for event in told if event["decision"] == "allow"] == 3 * [250000]
        change = post.events("--kind", "breaker.change")
        assert {(one["breaker"], one["to"], one["by"], one["reason"]) for one in change} == {
            ("credential token", "open", "gateway", "its budget is spent")} and all(one["until_ms"] for one in change)
        figures = post.run("metrics").stdout
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=figures, text=True, capture_output=True, check=False)
            assert checked.returncode == 0, checked.stderr
        assert 'ringfort_breaker_opened_total{kind="credential"}' in figures
        assert 'ringfort_money_total{credential="token"} 0.25\n' in figures  # since this watcher stands
        assert 'ringfort_credential_uses_total{credential="token",decision="deny"} ' in figures
        assert post.run("breaker", "reset", "credential", "token").stdout == "closed: credential token\n"
        assert post.run(*words, "--", "sh", "-c", get).stdout == "200 "


def test_an_agent_has_a_budget_of_money_and_a_credential_one_of_requests(post, server):
    post.stand()
    words, get = line(post, server, {"cost": "0.25", "budget": "3/day"}, agent="bot", budgets={"money_per_hour": "0.5"})
    assert post.run(*words, "--", "sh", "-c", 2 * get).stdout == "200 200 "
    done = post.run(*words, "--", "sh", "-c", get)
    assert done.returncode == 126 and "the budget is spent: 0.5 of 0.5 of money in an hour" in done.stderr, done.stderr
    spent, = post.events("--kind", "budget.spent")
    assert (spent["budget"], spent["spent"], spent["limit"]) == ("money_per_hour", 500000, 500000)
    row, = [row for row in breakers(post) if row["kind"] == "agent"]
    assert row["state"] == "open" and "of money" in row["reason"] and row["box"] is None
    words, get = line(post, server, {"budget": "3/day"}, agent="other")
    assert post.run(*words, "--", "sh", "-c", 2 * get).stdout == "200 429 "


def test_without_a_watcher_a_budget_is_one_run_s(post, server):
    words, get = line(post, server, {"cost": "1", "money": "1/h"})
    for _ in range(2):
        told = json.loads(post.run(*words, "--json", "--", "sh", "-c", 2 * get).stdout)
        assert told["stdout"] == "200 429 "
        assert any("no watcher keeps the books" in text for text in told["warnings"]), told["warnings"]
    words, get = line(post, server, {"budget": "10/min"})
    assert "books" not in str(json.loads(post.run(*words, "--json", "--", "sh", "-c", get).stdout)["warnings"])


def test_runs_at_one_time_share_a_budget(post, server):
    post.stand()
    words, get = line(post, server, {"budget": "6/day"})
    # Each asks for four; what the others did is known after two seconds.
    script = 2 * get + "sleep 5\n" + 2 * get
    runs = [post.start(*words, "--", "sh", "-c", script) for _ in range(3)]
    codes = [run.communicate(timeout=60)[0].split() for run in runs]
    assert codes == 3 * [[b"200", b"200", b"429", b"429"]], codes


@pytest.mark.parametrize("who", [[], ["warden", "gateway"]])
def test_a_host_and_a_credential_are_opened_and_closed_by_hand_while_boxes_run(post, server, who):
    post.stand()
    words, get = line(post, server)
    with standing(post, *who):
        box = post.start(*words, "--", "sh", "-c", f"while :; do {get.strip()}; sleep 0.2; done")
        os.set_blocking(box.stdout.fileno(), False)

        def comes(code):
            return eventually(lambda: code in (box.stdout.read() or b""), 20)

        try:
            assert comes(b"200")
            for kind, name in (("host", "api.test"), ("credential", "token")):
                assert post.run("breaker", "trip", kind, name, "--for", "1h", "--reason", "odd").returncode == 0
                assert comes(b"503"), (kind, name)
                # One that begins now is held from its first request on.
                error = post.run(*words, "--", "curl", "-s", f"https://api.test:{server.port}/").stdout
                assert "by hand: odd" in error and json.loads(error)["error"]["code"] == f"{kind}_breaker_open", error
                assert post.run("breaker", "reset", kind, name).returncode == 0
                assert comes(b"200"), (kind, name)
        finally:
            box.terminate()
            box.communicate(timeout=20)


@pytest.mark.parametrize("who", [[], ["warden"]])
def test_a_host_that_one_box_leaves_alone_is_listed_and_reset(post, server, who):
    post.stand()
    words, get = line(post, server, port=free_port())
    with standing(post, *who):
        box = post.start(*words, "--", "sh", "-c", f"while :; do {get.strip()}; sleep 0.2; done")
        os.set_blocking(box.stdout.fileno(), False)
        try:
            assert eventually(lambda: b"503" in (box.stdout.read() or b""), 20)
            assert eventually(lambda: [row for row in breakers(post) if row["box"]], 10)
            row, = [row for row in breakers(post) if row["box"]]
            assert (row["kind"], row["state"]) == ("host", "open") and row["name"].startswith("api.test:")
            assert 0 < row["retry_ms"] <= 60000 and row["box"] == json.loads(post.run("ps", "--json").stdout)["boxes"][0]["id"]
            assert f"in box {row['box']}" in post.run("breaker", "ls").stdout
            assert 'ringfort_breakers{kind="host",state="open"} 1' in post.run("metrics").stdout
            assert post.run("breaker", "reset", "host", "nowhere.test").returncode != 0
            assert post.run("breaker", "reset", "host", "api.test").returncode == 0
            assert eventually(lambda: b"502" in (box.stdout.read() or b""), 20), "it was not tried again"
        finally:
            box.terminate()
            box.communicate(timeout=20)
    assert eventually(lambda: not [row for row in breakers(post) if row["box"]], 10), "it outlived its box"
    assert {one["by"] for one in post.events("--kind", "breaker.change")} == {"gateway"}


def test_the_report_knows_what_was_used_of_the_network(post, server):
    post.stand()
    words, get = line(post, server, {"cost": "0.25"}, agent="bot", budgets={"money_per_day": "100", "requests_per_day": "9999"})
    policy = json.loads(words[2].read_text())
    policy["network"]["allow"] = [f"GET,POST api.test:{server.port}/**", "never.test"]
    policy["credentials"]["spare"] = {"from": "env:HOME", "hosts": ["never.test"]}
    words[2].write_text(json.dumps(policy))
    assert post.run(*words, "--", "sh", "-c", 2 * get).stdout == "200 200 "
    told, = json.loads(post.run("audit", "report", "--agent", "bot", "--json").stdout)["agents"]
    used = {one["budget"]: (one["used"], one["unit"], one["allowed_in_a_day"]) for one in told["budgets"]}
    assert used["requests"] == (2, "count", 9999) and used["money"] == (500000, "millionths", 100000000)
    grants = {one["grant"]: one for one in told["policies"][0]["grants"]}
    assert grants["network.allow"]["note"] == "never used: never.test" and grants["network.allow"]["tighter"] == "1 entry"
    assert grants["credentials"]["note"] == "never used: spare" and grants["credentials"]["used"] == "1 of them"
    tighter = post.run("audit", "report", "--agent", "bot", "--format", "policy").stdout
    assert f"GET api.test:{server.port}" in tighter and "POST" not in tighter and "never.test" not in tighter and "spare" not in tighter
    words[2].write_text(tighter)
    assert post.run(*words, "--", "sh", "-c", get).stdout == "200 ", "what was used before passes"
