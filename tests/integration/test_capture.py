"""A box whose network leads to a gateway: what it can reach, what it can't change, and what is left when anybody dies."""
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
import urllib.request

import pytest

from helpers import eventually
from standing import Standing

pytestmark = pytest.mark.usefixtures("as_who")


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{self.headers['Host']} {self.path}\n".encode()
        self.server.asked.append(f"{self.headers['Host']} {self.path}")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


@pytest.fixture
def upstream():
    """A real server on the host's loopback."""
    server = Server(("127.0.0.1", 0), Page)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def policy(upstream, workdir):
    path = workdir / "policy.yaml"
    path.write_text("network:\n  allow: [api.example, '*.api.example']\n"
                    f"  hosts: {{api.example: '127.0.0.1:{upstream.server_port}'}}\n")
    return path


def python(script):
    return ["python3", "-c", "import ctypes, errno, os, socket, struct, subprocess, time\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n" + script]


def word_of(call):
    """Python that prints what became of a call: `ok`, or the error's name."""
    return f"""
try:
    {call}
    print('ok')
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def gateways(ringfort):
    """The pids of gateways that were started beside this `ringfort`."""
    program = os.path.join(os.path.dirname(ringfort), "ringfort-gateway")
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == program:
                found.add(int(entry.name))
        except OSError:
            pass
    return found


def test_an_allowed_host_is_reached_and_nothing_else(run_json, policy, upstream, need):
    need("curl")
    result = run_json("--policy", policy, "--", "sh", "-c",
                      "curl -s http://api.example/one; curl -s -o /dev/null -w '%{http_code} ' http://api.example:81/;"
                      "curl -s -o /dev/null -w '%{http_code} ' http://203.0.113.7/; curl -s http://evil.example/ || echo $?")
    assert result["stdout"] == "api.example /one\n403 403 6\n"
    assert upstream.asked == ["api.example /one"]
    denials = {one["what"]: one["remedy"] for one in result["denials"] if one["kind"] == "network"}
    assert set(denials) == {"GET api.example:81/", "GET 203.0.113.7/", "evil.example"}
    assert "evil.example" in denials["evil.example"]
    assert result["warnings"] == []


def test_the_remedy_of_a_denial_is_what_was_missing(run_json, policy, upstream, need):
    need("curl")
    before = run_json("--policy", policy, "--", "curl", "-s", "http://api.example:8081/two")
    remedy, = (one["remedy"] for one in before["denials"])
    rule = remedy.removeprefix("network.allow: ")
    policy.write_text(policy.read_text().replace("allow: [", "allow: [" + json.loads(rule)[0] + ", "))
    after = run_json("--policy", policy, "--", "curl", "-s", "http://api.example:8081/two")
    assert after["stdout"] == "api.example:8081 /two\n" and after["denials"] == []


def test_what_is_not_http_is_cut_off_and_datagrams_are_refused_at_once(run_box, policy):
    done = run_box("--policy", policy, "--", *python("""
began = time.monotonic()
for family, host in ((socket.AF_INET, '203.0.113.7'), (socket.AF_INET6, '2001:db8::7')):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.connect((host, 443))
    sock.send(b'quic')
    try:
        sock.settimeout(5)
        sock.recv(1)
    except OSError as error:
        print(errno.errorcode[error.errno])
sock = socket.create_connection(('203.0.113.7', 22), 5)
try:
    sock.sendall(b'SSH-2.0-x\\r\\n')
    print(sock.recv(100))
except ConnectionResetError:
    print('reset')
print(time.monotonic() - began < 3)
"""))
    assert done.out == b"ECONNREFUSED\nECONNREFUSED\nreset\nTrue\n", done


def test_services_of_the_box_itself_work_as_ever(run_box, policy):
    done = run_box("--policy", policy, "--", *python("""
for host, family in (('127.0.0.1', socket.AF_INET), ('::1', socket.AF_INET6), ('192.0.0.2', socket.AF_INET)):
    server = socket.socket(family)
    server.bind(('::' if family == socket.AF_INET6 else '0.0.0.0', 0))
    server.listen()
    client = socket.create_connection((host, server.getsockname()[1]), 5)
    inner, _ = server.accept()
    inner.sendall(b'inside')
    print(client.recv(6).decode())
print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))
"""))
    assert done.out.startswith(b"inside\ninside\ninside\n['0', '1', '2']"), done


# What a program that wants out would try, and what it must hear.
CHANGES = {
    "transparent": ("socket.socket().setsockopt(0, 19, 1)", "EPERM"),
    "freebind to a service's port": ("socket.socket().bind(('127.0.0.1', 53))", "EACCES"),
    "the proxy's port": ("s = socket.socket(); s.setsockopt(1, 15, 1); s.bind(('127.0.0.1', 1000))", "EACCES"),
    "the listener's port": ("s = socket.socket(10); s.setsockopt(1, 15, 1); s.bind(('::', 1))", "EACCES"),
    "mark": ("socket.socket().setsockopt(1, 36, 1)", "EPERM"),
    "raw": ("socket.socket(2, 3, 6)", "EPERM"),
    "packet": ("socket.socket(17, 3, 0)", "EAFNOSUPPORT"),
    "nftables": ("socket.socket(16, 3, 12)", "EAFNOSUPPORT"),
    "diag": ("socket.socket(16, 3, 4)", "EAFNOSUPPORT"),
    "a network of its own": ("if libc.unshare(0x40000000): raise OSError(ctypes.get_errno(), 'unshare')", "EPERM"),
}


def netlink(message_type, body):
    """Python that sends one message to the kernel and raises what it answers."""
    return f"""
def ask():
    s = socket.socket(16, 3, 0)
    body = {body!r}
    s.send(struct.pack('=IHHII', 16 + len(body), {message_type}, 5, 1, 0) + body)
    code = -struct.unpack('=i', s.recv(4096)[16:20])[0]
    if code:
        raise OSError(code, 'netlink')
""" + word_of("ask()")


def test_nothing_of_it_can_be_changed_from_inside(run_box, policy, upstream, need):
    need("curl")
    script, wanted = "", []
    for call, word in CHANGES.values():
        script += word_of(call)
        wanted.append(word)
    # RTM_DELROUTE of the default route, RTM_NEWROUTE to nowhere, RTM_DELADDR, RTM_NEWLINK (lo down)
    for number, body in ((25, b"\x02\0\0\0\xfe\x03\xfe\x02\0\0\0\0"), (24, b"\x02\0\0\0\xfe\x03\0\x06\0\0\0\0"),
                         (21, b"\x02\x20\0\0\x01\0\0\0"), (16, b"\0" * 4 + b"\x01\0\0\0" + b"\0" * 4 + b"\x01\0\0\0")):
        script += netlink(number, body)
        wanted.append("EPERM")
    script += "print(subprocess.run(['curl', '-s', 'http://api.example/still'], capture_output=True).stdout.decode())\n"
    done = run_box("--policy", policy, "--", *python(script))
    assert done.out.decode().split("\n")[:len(wanted)] == wanted, done
    assert b"api.example /still" in done.out


def test_the_listener_is_no_way_to_the_gateways_own_loopback(run_json, policy, upstream):
    """Who dials the sockets themselves, or the host's loopback by another name, gets nothing of the host."""
    port = upstream.server_port
    result = run_json("--policy", policy, "--", *python(f"""
def ask(host, port):
    try:
        sock = socket.create_connection((host, port), 5)
        sock.sendall(b'GET /stolen HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n')
        return sock.recv(4096)[9:12].decode() or 'end'
    except OSError as error:
        return errno.errorcode[error.errno]
print(ask('127.0.0.1', 1), ask('127.0.0.1', {port}), ask('::ffff:127.0.0.1', 1), ask('::1', 1), ask('0.0.0.0', {port}),
      ask('127.1.2.3', {port}), ask('192.0.0.2', {port}), ask('10.0.0.1', {port}))
"""))
    assert upstream.asked == []
    assert "200" not in result["stdout"], result


def test_an_ended_gateway_takes_the_network_and_nothing_else(start, ringfort, policy, upstream):
    before = gateways(ringfort)
    process = start("--json", "--no-warden", "--policy", policy, "--", *python("""
print(open('/etc/resolv.conf').readline().strip(), flush=True)
input()
began = time.monotonic()
try:
    socket.create_connection(('203.0.113.7', 443), 10)
    print('connected')
except OSError as error:
    print(errno.errorcode[error.errno], time.monotonic() - began < 1)
"""), stdin=subprocess.PIPE)
    assert eventually(lambda: len(gateways(ringfort) - before) == 1)
    gateway, = gateways(ringfort) - before
    time.sleep(0.3)  # the box has started by then
    os.kill(gateway, signal.SIGKILL)
    assert eventually(lambda: gateway not in gateways(ringfort))
    result = json.loads(process.communicate(b"\n", timeout=20)[0])
    assert result["status"] == "ok" and "ECONNREFUSED True" in result["stdout"], result
    assert any("gateway ended" in one for one in result["warnings"])


def test_a_killed_launcher_takes_the_gateway_with_it(start, ringfort, policy):
    before = gateways(ringfort)
    process = start("--no-warden", "--policy", policy, "--", "sleep", "60")
    assert eventually(lambda: len(gateways(ringfort) - before) == 1)
    process.kill()
    process.wait()
    assert eventually(lambda: gateways(ringfort) == before)


def test_every_end_leaves_no_gateway(run_box, ringfort, policy):
    before = gateways(ringfort)
    for words in (["true"], ["false"], ["no-such-program"], ["sh", "-c", "kill -9 $$"], ["sleep", "60"]):
        run_box("--no-warden", "--policy", policy, "--time", "500ms", "--", *words)
    assert eventually(lambda: gateways(ringfort) == before)


def test_without_the_program_the_error_says_so(ringfort, public, policy, command, environment, workdir):
    alone = public / "alone"
    if not alone.exists():
        alone.mkdir()
        for name in ("ringfort", "ringfort-init"):
            shutil.copy(os.path.join(os.path.dirname(ringfort), name), alone)
    words = [word.replace(ringfort, str(alone / "ringfort")) for word in command("run", "--policy", str(policy), "--", "true")]
    done = subprocess.run(words, cwd=workdir, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 125
    assert "start the gateway" in done.stderr and "ringfort-gateway" in done.stderr


def test_without_namespaces_it_is_refused(public, policy, command, environment, workdir, need):
    need("gcc")
    forbid = public / "forbid-for-capture"
    source = pathlib.Path(__file__).resolve().parents[1] / "lesser/forbid.c"
    if not forbid.exists():
        subprocess.run(["gcc", "-static", "-O1", "-D_GNU_SOURCE", source, "-o", forbid], check=True)
    words = [forbid, "eperm", *command("run", "--weaker", "allow", "--policy", policy, "--", "true")]
    done = subprocess.run(words, cwd=workdir, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 126, done
    assert "needs namespaces" in done.stderr and "doctor" in done.stderr


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_published_port_leads_inside_as_often_as_one_likes(start, workdir):
    port = free_port()
    (workdir / "page").write_text("from inside\n")
    process = start("--no-warden", "--publish", f"{port}:8000", "--", "python3", "-m", "http.server", "8000",
                    "--bind", "127.0.0.1")

    def get():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=5).read()
        except OSError:
            return None

    assert eventually(lambda: get() == b"from inside\n")
    assert [get() for _ in range(50)] == [b"from inside\n"] * 50  # more than there are sockets
    taken = start("--no-warden", "--publish", f"{port}:8000", "--", "true")
    _, err = taken.communicate(timeout=20)
    assert taken.returncode == 125 and b"publish port" in err and b"--publish" in err
    process.terminate()
    process.wait()
    assert get() is None


def test_a_wardens_box_has_the_network_of_the_run_that_it_is_given(ringfort, as_who, runtime, workdir, upstream, policy, need):
    """Built before its policy is known, it is let out by the gateway of whoever gets it."""
    need("curl")
    prefix = [] if as_who == "root" or os.geteuid() else ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    warden = Standing(ringfort, prefix, runtime, workdir)
    other = workdir / "other.yaml"
    other.write_text(policy.read_text().replace("allow: [api.example,", "allow: [other.example,"))
    try:
        for turn in range(3):
            done = warden.run("run", "--json", "--policy", policy, "--", "curl", "-s", f"http://api.example/{turn}")
            result = json.loads(done.stdout)
            assert result["stdout"] == f"api.example /{turn}\n" and result["denials"] == [], result
            time.sleep(0.2)  # the next box is being built
            done = warden.run("run", "--json", "--policy", other, "--", "curl", "-s", f"http://api.example/{turn}")
            result = json.loads(done.stdout)
            assert [one["what"] for one in result["denials"]] == ["api.example"], result
            time.sleep(0.2)
    finally:
        warden.close()
    assert upstream.asked == [f"api.example /{turn}" for turn in range(3)]
    assert eventually(lambda: not gateways(ringfort))
