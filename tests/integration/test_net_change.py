"""The network of a box that lives, changed from outside: at once, for what is open too, recorded, and never beyond its bounds."""
import http.server
import json
import socket
import subprocess
import threading

import pytest

from helpers import eventually

pytestmark = pytest.mark.usefixtures("as_who")

# Asks for a host each time a line comes, and says what came of it; "hold HOST" opens a connection and says when it is cut.
PROBE = """
import socket, sys, urllib.request, urllib.error
for line in sys.stdin:
    words = line.split()
    try:
        if words[0] == "hold":
            held = socket.create_connection((words[1], 80), 10)
            held.sendall(b"GET /slow HTTP/1.1\\r\\nHost: " + words[1].encode() + b"\\r\\n\\r\\n")
            print("held", flush=True)
            data = b""
            while True:
                more = held.recv(4096)
                if not more:
                    break
                data += more
            print("ended", b"the end" in data, flush=True)
        else:
            print(urllib.request.urlopen("http://" + words[0] + "/", timeout=10).status, flush=True)
    except urllib.error.HTTPError as e:
        print(e.code, flush=True)
    except OSError as e:
        print("none" if "ame or service" in str(e) or "No address" in str(e) else "cut", flush=True)
"""


class Plain(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        yield there.server_address[1]
        there.shutdown()


class Box:
    """A probe in a box; `ask()` has it try a host."""
    def __init__(self, post, port, *options, command=("run",)):
        hosts = [word for name in ("a", "b", "c") for word in ("--host", f"{name}.example=127.0.0.1:{port}")]
        self.post = post
        self.run = post.start(*command, *(hosts if command == ("run",) else []), *options, "--", "/usr/bin/python3", "-uc", PROBE,
                              stdin=subprocess.PIPE)
        assert eventually(lambda: self.listed() is not None), self.run.poll()

    def listed(self):
        found = json.loads(self.post.run("ps", "--json").stdout or '{"boxes": []}')["boxes"]
        mine = [box for box in found if box["launcher"] and box["state"] == "running"]
        self.id = mine[0]["id"] if mine else None
        return self.id

    def ask(self, words):
        self.run.stdin.write((words + "\n").encode())
        self.run.stdin.flush()
        return self.run.stdout.readline().decode().strip()

    def net(self, verb, *words, code=0):
        done = self.post.run("net", verb, self.id, *words)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.run.kill()
        self.run.communicate(timeout=20)


def changes(post):
    lines = post.run("audit", "show", "--json", "--kind", "config.change").stdout
    return [json.loads(line) for line in lines.splitlines() if line.strip().startswith("{")]


def test_rules_of_a_living_box_change_at_once_and_are_recorded(post, server):
    post.stand()
    with Box(post, server, "--net", "a.example", "--time", "60s") as box:
        assert [box.ask("a.example"), box.ask("b.example")] == ["200", "none"]
        box.net("allow", "b.example,c.example", "--reason", "it asked for it")
        assert [box.ask("a.example"), box.ask("b.example")] == ["200", "200"]
        box.net("deny", "b.example")
        assert [box.ask("b.example"), box.ask("c.example")] == ["none", "200"]
        shown = box.net("show")
        assert "- a.example" in shown and "deny:" in shown
        box.net("allow", "b.example")  # is not denied any more
        assert box.ask("b.example") == "200"
        box.net("set", "--net", "c.example")
        assert [box.ask(f"{name}.example") for name in "abc"] == ["none", "none", "200"]
        box.net("set", "--net", "none")
        assert box.ask("c.example") == "none"
        box.net("set", "--net-mode", "report")
        assert box.ask("a.example") == "200"
    found = changes(post)
    assert [event["to"] for event in found][:2] == ["allow b.example,c.example", "deny b.example"]
    assert found[0]["reason"] == "it asked for it" and found[0]["by"] == "hand" and found[0]["setting"] == "network"


def test_a_connection_that_the_new_rules_do_not_allow_is_cut(post, tmp_path):
    post.stand()
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, Box(post, listener.getsockname()[1], "--net", "a.example", "--time", "60s") as box:
        assert box.ask("hold a.example") == "held"
        server, _ = listener.accept()
        with server:
            server.recv(4096)
            server.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
            box.net("set", "--net", "b.example")
            assert box.run.stdout.readline() in (b"ended False\n", b"cut\n")


def test_a_file_says_all_of_the_network_and_nothing_else_counts(post, server, public):
    post.stand()
    wider = public / "wider.yaml"
    wider.write_text(f"files: {{ read: [/usr] }}\nnetwork: {{ allow: [b.example], hosts: {{ b.example: '127.0.0.1:{server}' }} }}\n")
    wider.chmod(0o644)
    with Box(post, server, "--net", "a.example", "--time", "60s") as box:
        box.net("set", "--policy", str(wider))
        assert [box.ask("a.example"), box.ask("b.example")] == ["none", "200"]


@pytest.mark.parametrize("words, says", [
    (("set", "--net", "host"), "host's network"),
    (("allow", "GET a.example/x"), "certificate"),
    (("allow", "0x7f.1"), "network.allow"),
    (("set",), "what is to change"),
    (("set", "--net-mode", "loose"), "net-mode"),
    (("set", "--net", "a.example", "stray"), "no argument"),
])
def test_what_can_not_be_is_refused_and_changes_nothing(post, server, words, says):
    post.stand()
    with Box(post, server, "--net", "a.example", "--time", "60s") as box:
        before = box.net("show")
        assert says in box.net(*words, code=125)
        assert box.net("show") == before and box.ask("a.example") == "200"


def test_what_bounds_a_box_bounds_its_changes(post, server, public):
    """What is final in its policy: narrower is possible, wider is not, and back again is."""
    post.stand()
    policy = public / "final.yaml"
    policy.write_text("network: { allow: [a.example, b.example] }\nfinal: [network.allow]\n")
    policy.chmod(0o644)
    with Box(post, server, "--policy", str(policy), "--time", "60s") as box:
        assert "goes beyond" in box.net("allow", "c.example", code=1)
        assert [box.ask("a.example"), box.ask("c.example")] == ["200", "none"]
        box.net("set", "--net", "b.example")
        assert [box.ask("a.example"), box.ask("b.example")] == ["none", "200"]
        box.net("set", "--net", "a.example")
        assert box.ask("a.example") == "200"
        box.net("set", "--net-mode", "open")
        assert box.ask("c.example") == "none"


def test_an_agents_policy_bounds_its_box(post, server, public):
    post.stand()
    folder = post.top.parent / "work"
    folder.mkdir()
    folder.chmod(0o777)
    made = post.run("agent", "create", "fixer", "--workspace", str(folder), "--net", "a.example", "--time", "60s",
                    "--host", f"a.example=127.0.0.1:{server}", "--host", f"b.example=127.0.0.1:{server}")
    assert made.returncode == 0, made.stderr
    with Box(post, server, "fixer", command=("agent", "run")) as box:
        assert "goes beyond" in box.net("allow", "b.example", code=1)
        assert [box.ask("a.example"), box.ask("b.example")] == ["200", "none"]
        box.net("deny", "a.example")
        assert box.ask("a.example") == "none"


def test_a_wardens_ceiling_bounds_the_network_and_its_changes(post, server, public):
    """The client asks the gateway by itself, for more than the ceiling has; the box gets what both have, or no network."""
    post.stand()
    ceiling = public / "ceiling.yaml"
    ceiling.write_text(f"network: {{ allow: [a.example, 'GET c.example/**'], hosts: {{ a.example: '127.0.0.1:{server}', "
                       f"b.example: '127.0.0.1:{server}', c.example: '127.0.0.1:{server}' }} }}\n")
    ceiling.chmod(0o644)
    warden = post.start("warden", "--ceiling", str(ceiling), stdout=subprocess.DEVNULL)
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0)
        with Box(post, server, "--net", "a.example,b.example", "--time", "60s") as box:
            assert [box.ask("a.example"), box.ask("b.example")] == ["200", "none"]
            assert "goes beyond" in box.net("allow", "b.example", code=1)
            assert box.ask("b.example") == "none"
        # Bounded to requests, for which the box has no certificate: no network, and a word about it.
        done = post.run("run", "--json", "--net", "c.example", "--host", f"c.example=127.0.0.1:{server}", "--", "curl", "-sSm", "5",
                        "http://c.example/")
        assert done.returncode != 0 and "certificate" in done.stdout, done
    finally:
        warden.terminate()
        warden.wait(timeout=20)


def test_a_box_without_a_gateway_and_one_that_is_not_there(post, server):
    post.stand()
    with Box(post, server, "--time", "60s") as box:
        assert "no network that could change" in box.net("allow", "a.example", code=125)
    done = post.run("net", "allow", "0123", "a.example")
    assert done.returncode == 1 and "no box 0123" in done.stdout + done.stderr


def test_it_goes_on_with_the_next_watcher(post, server):
    post.stand()
    with Box(post, server, "--net", "a.example", "--time", "60s") as box:
        box.net("allow", "b.example")
        post.end()
        post.stand()
        assert eventually(lambda: box.listed() is not None, 10)
        box.net("deny", "b.example")
        assert [box.ask("a.example"), box.ask("b.example")] == ["200", "none"]
