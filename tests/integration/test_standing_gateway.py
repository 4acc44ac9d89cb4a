"""A standing gateway: who uses it, who may, what boxes of different runs can do to each other, and what its end means."""
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

# A client that speaks the protocol by hand: what it says first, and what it hears.
CLIENT = """
    import socket, struct, sys
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(sys.argv[1] + "/gateway.sock")
    kind = {"hello": 1, "open": 17, "junk": 0x7777}[sys.argv[2]]
    try:
        s.send(struct.pack("<IHHQ", 4, 3, kind, 1) + b"none" if kind == 17 else struct.pack("<IHHQ", 0, 3, kind, 0))
    except BrokenPipeError:
        pass  # refused before it could say anything
    print(repr(s.recv(65536)))
"""


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was told to be authorised by."""
    hits = 0

    def do_GET(self):  # noqa: N802
        body = (self.headers.get("Authorization") or "nothing").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        Echo.hits += 1

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        yield there.server_address[1]
        there.shutdown()


@pytest.fixture
def gate(post):
    """A place where a gateway stands; gives it, with the gateway's processes in `porter` and `worker()`."""
    post.porter = post.start("gateway", stdout=subprocess.DEVNULL)

    def worker():
        """The process behind the porter: nobody's child, so found by what it was started as, and by whom it ends with."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if words[1:3] == [b"--many", b"3"] and started_after(path, post.porter.pid) and \
                        os.readlink(path / "exe") == os.readlink(f"/proc/{post.porter.pid}/exe"):
                    return int(path.name)
            except OSError:
                continue
        return None

    post.worker = worker
    assert eventually(lambda: post.run("gateway", "--status").returncode == 0)
    yield post
    post.porter.terminate()
    post.porter.wait(20)
    post.porter.stderr.close()


def started_after(path, pid):
    def start(where):
        return int((where / "stat").read_text().rpartition(")")[2].split()[19])
    return start(path) >= start(pathlib.Path(f"/proc/{pid}"))


def run(post, port, script, *options):
    done = post.run("run", "--json", "--net", "api.example", "--host", f"api.example=127.0.0.1:{port}", *options, "--",
                    "sh", "-c", script)
    return json.loads(done.stdout)


def test_status_tells_whether_one_stands(gate, post):
    said = json.loads(post.run("gateway", "--status", "--json").stdout)
    assert said == {"stands": True, "pid": gate.porter.pid, "version": said["version"]}
    assert "a gateway stands" in post.run("gateway", "--status").stdout
    second = post.run("gateway")
    assert second.returncode == 125 and "there already" in second.stderr
    gate.porter.terminate()
    assert gate.porter.wait(20) == 0
    none = post.run("gateway", "--status", "--json")
    assert none.returncode == 1 and json.loads(none.stdout) == {"stands": False}
    assert eventually(lambda: not gate.worker())


def test_boxes_of_different_runs_share_nothing(gate, server, post):
    """Credentials, placeholders, certificates and denials are each box's own."""
    post.env["TOKEN"] = SECRET
    ready, ca = "echo $TOKEN; cat /etc/ringfort/ca.pem", "cat /etc/ringfort/ca.pem"
    with post.start("run", "--json", "--net", "GET api.example/*", "--host", f"api.example=127.0.0.1:{server}", "--credential",
                    "git=env:TOKEN@api.example", "--", "sh", "-c", ready + "; sleep 1.5", text=True) as first:
        other = run(post, server, f"{ca}; curl -s http://evil.example/; curl -s -H 'Authorization: Bearer {SECRET[:8]}' "
                    "http://api.example/x", "--net", "GET api.example/*")
        result = json.loads(first.communicate()[0])
    placeholder, _, theirs = result["stdout"].partition("\n")
    assert placeholder.startswith("ghp_") and placeholder != SECRET
    ours, _, heard = other["stdout"].rpartition("-----END CERTIFICATE-----\n")
    assert "BEGIN CERTIFICATE" in theirs and theirs.strip() not in other["stdout"] and ours
    assert heard == f"Bearer {SECRET[:8]}"
    assert [denial["what"] for denial in other["denials"]] == ["evil.example"] and result["denials"] == []
    # A placeholder of one box is nothing in another.
    stolen = run(post, server, f"curl -s -H 'Authorization: Bearer {placeholder}' http://api.example/x")
    assert stolen["stdout"] == f"Bearer {placeholder}"


def test_who_is_confined_is_refused_and_has_one_of_its_own(gate, server, post):
    assert "different no_new_privs" in gate.python(CLIENT, "open", wrap=["setpriv", "--no-new-privs", "--"])
    assert "namespaces" in gate.python(CLIENT, "open", wrap=["unshare", "--user", "--map-current-user", "--"])
    done = post.run("run", "--net", "api.example", "--host", f"api.example=127.0.0.1:{server}", "--", "curl", "-s",
                    "http://api.example/", wrap=["setpriv", "--no-new-privs", "--"])
    assert (done.returncode, done.stdout) == (0, "nothing"), done.stderr


def test_a_root_that_proves_nothing_is_refused(gate, as_who):
    said = gate.python(CLIENT, "open")
    if as_who == "root":
        assert "may be in a sandbox" in said
    else:
        assert "sandbox" not in said  # it is let in, and told that this is no request


def test_no_box_can_be_shown_the_socket(gate, post):
    folder = "/run/ringfort" if post.is_room else post.env["XDG_RUNTIME_DIR"] + "/ringfort"
    policy = post.top / "run" / "open.yaml"
    policy.write_text(f"files: {{ read: [{folder}] }}\nnetwork: {{ unix: on }}\n")
    policy.chmod(0o644)
    done = post.run("run", "--policy", policy, "--", "true")
    assert done.returncode == 125 and "holds Ringfort's own state" in done.stderr


def test_what_is_no_message_ends_a_connection_and_nothing_else(gate, server, post):
    for _ in range(5):
        assert gate.python(CLIENT, "junk") == "b''\n"
    assert run(post, server, "curl -s http://api.example/")["stdout"] == "nothing"


def test_its_end_is_the_end_of_a_network_and_of_nothing_else(gate, server, post):
    script = "while curl -s -m 5 http://api.example/ >/dev/null; do :; done; echo down"
    hits = Echo.hits
    with post.start("run", "--json", "--net", "api.example", "--host", f"api.example=127.0.0.1:{server}", "--", "sh", "-c", script,
                    text=True) as box:
        before = gate.worker()
        assert eventually(lambda: Echo.hits > hits)
        os.kill(before, signal.SIGKILL)
        result = json.loads(box.communicate(timeout=60)[0])
    assert result["status"] == "ok" and result["stdout"].endswith("down\n")
    assert any("had no network from then on" in warning for warning in result["warnings"]), result["warnings"]
    # The porter has started another one for who comes now.
    assert eventually(lambda: gate.worker() not in (None, before))
    assert run(post, server, "curl -s http://api.example/")["stdout"] == "nothing"


def test_a_run_can_do_without_it(gate, server, post):
    os.kill(gate.worker(), signal.SIGSTOP)
    try:
        assert run(post, server, "curl -s http://api.example/", "--no-gateway")["stdout"] == "nothing"
    finally:
        os.kill(gate.worker(), signal.SIGCONT)
