"""What boxes ask of the network is recorded: `net log`, `net summary`, and what no record holds."""
import csv
import io
import json
import pathlib
import socket
import socketserver
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def server(tmp_path):
    """A server of files on a free port of the host's loopback."""
    (tmp_path / "file").write_text("x" * 1000)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)], cwd=tmp_path,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
        process.terminate()


def run(post, port, script, *options):
    done = post.run("run", "--json", "--net", "GET api.example/file", "--host", f"api.example=127.0.0.1:{port}", *options,
                    "--", "sh", "-c", script)
    return json.loads(done.stdout)


def test_requests_are_logged_with_verdict_rule_and_remedy(post, server):
    post.stand()
    result = run(post, server, "curl -s 'http://api.example/file?token=hidden-in-query' -o /dev/null; curl -s http://api.example/other;"
                               " curl -s -X DELETE http://api.example/file; curl -s http://evil.example/")
    assert result["status"] in ("ok", "failed"), result["error"]
    events = post.events("--kind", "net")
    assert all(event["box"] == result["id"] for event in events)
    said = {(event.get("method", "-"), event["host"], event.get("path", "-"), event["decision"]) for event in events}
    assert ("GET", "api.example", "/file", "allow") in said
    assert ("GET", "api.example", "/other", "deny") in said
    assert ("DELETE", "api.example", "/file", "deny") in said
    assert any(host == "evil.example" and decision == "deny" for _, host, _, decision in said)
    allowed = next(event for event in events if event["decision"] == "allow")
    assert (allowed["code"], allowed["bytes_in"], allowed["rule"]) == (200, 1000, "GET api.example/file")
    assert allowed["took_us"] > 0
    denied = next(event for event in events if event.get("method") == "DELETE")
    assert "DELETE api.example/file" in denied["remedy"]
    stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
    assert b"hidden-in-query" not in stored

    text = post.run("net", "log")
    assert text.returncode == 0 and "DELETE api.example:80/file" in text.stdout and "to allow it" in text.stdout
    last = post.run("net", "log", "--json", "--last", "1", "--box", result["id"])
    assert json.loads(last.stdout)["kind"] == "net.request"


def test_a_summary_counts_and_names_the_line_to_add(post, server):
    post.stand()
    for _ in range(3):
        run(post, server, "curl -s http://api.example/file -o /dev/null; curl -s http://api.example/admin")
    summary = json.loads(post.run("net", "summary", "--json").stdout)
    assert summary["events"] >= 6 and summary["denied"] == 3 and summary["bytes_in"] >= 3000
    assert [(row["name"], row["denied"]) for row in summary["hosts"]] == [("api.example", 3)]
    assert summary["methods"][0]["name"] == "GET"
    assert {row["name"] for row in summary["codes"]} == {"200", "403"}
    denial, = summary["denials"]
    assert denial["name"] == "GET api.example/admin" and denial["count"] == 3
    assert "GET api.example/admin" in denial["remedy"]
    rows = list(csv.DictReader(io.StringIO(post.run("net", "summary", "--csv").stdout)))
    assert any(row["table"] == "denials" and row["count"] == "3" for row in rows)
    assert "to allow it: network.allow" in post.run("net", "summary").stdout
    # The remedy is a rule: with it, the same request passes.
    allowed = run(post, server, "curl -s -w '%{http_code}' -o /dev/null http://api.example/admin", "--net",
                  "GET api.example/admin")
    assert allowed["stdout"] == "404" and allowed["denials"] == []


def test_a_credential_is_never_in_the_record_nor_in_the_box(post, server):
    post.stand()
    post.env["TOKEN"] = SECRET
    result = run(post, server, "echo $TOKEN; env; curl -s http://api.example/file -o /dev/null; tr '\\0' '\\n' </proc/self/environ",
                 "--credential", "git=env:TOKEN@api.example")
    assert result["status"] == "ok", result["error"]
    assert SECRET not in json.dumps(result)
    assert result["stdout"].startswith("ghp_") and len(result["stdout"].split("\n", maxsplit=1)[0]) == len(SECRET)
    stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
    assert SECRET.encode() not in stored


@pytest.fixture
def echo():
    """A server that is no HTTP: it says again what it hears."""
    class Again(socketserver.BaseRequestHandler):
        def handle(self):
            while piece := self.request.recv(65536):
                self.request.sendall(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Again) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_what_is_no_http_is_refused_by_a_host_alone_told_and_learnt(post, echo):
    post.stand()
    hosts = ("--host", f"db.example=127.0.0.1:{echo}")
    say = ("--", "python3", "-c", "import socket; s = socket.create_connection(('db.example', 7000)); s.sendall(b'\\0hello'); "
                                  "print(s.recv(10).decode()[1:])")
    result = json.loads(post.run("run", "--json", "--net", "db.example:7000", *hosts, *say).stdout)
    assert result["status"] == "failed" and "hello" not in result["stdout"]
    denial, = result["denials"]
    assert denial["what"] == "TCP db.example:7000" and denial["remedy"] == 'network.allow: ["TCP db.example:7000"]'
    event = next(event for event in post.events("--kind", "net") if event["host"] == "db.example" and event["decision"] == "deny")
    assert (event["method"], event["remedy"]) == ("TCP", denial["remedy"])
    learnt = post.run("policy", "learn", *hosts, *say)
    assert learnt.returncode == 0 and '- "TCP db.example:7000"' in learnt.stdout, learnt.stdout
    policy = post.top / "run" / "learnt-tcp.yaml"
    policy.write_text(learnt.stdout)
    result = json.loads(post.run("run", "--json", "--policy", policy, *say).stdout)
    assert (result["status"], result["stdout"], result["denials"]) == ("ok", "hello\n", [])


def test_what_was_learnt_lets_the_same_run_pass_and_nothing_else(post, server):
    script = "curl -sf http://api.example/file -o /dev/null && curl -sf http://api.example:8080/file?x=1 -o /dev/null"
    learnt = post.run("policy", "learn", "--host", f"api.example=127.0.0.1:{server}", "--", "sh", "-c", script + "; echo said")
    assert learnt.returncode == 0, learnt.stderr
    assert "said" in learnt.stderr and "said" not in learnt.stdout
    assert "GET api.example/file" in learnt.stdout and "report" not in learnt.stdout.replace("# ", "")
    policy = post.top / "run" / "learnt.yaml"
    again = post.run("policy", "learn", "-o", policy, "--host", f"api.example=127.0.0.1:{server}", "--", "sh", "-c", script)
    assert again.returncode == 0 and policy.read_text() == learnt.stdout
    done = post.run("run", "--json", "--policy", policy, "--", "sh", "-c", script)
    result = json.loads(done.stdout)
    assert result["status"] == "ok" and result["denials"] == []
    done = post.run("run", "--json", "--policy", policy, "--", "curl", "-s", "http://api.example/other")
    assert json.loads(done.stdout)["denials"][0]["what"] == "GET api.example/other"
    assert post.run("policy", "learn", "-o", policy, "--", "true").returncode == 125  # it is there already
