"""The server's ports under TLS, and HTTP/2 on them: real clients, and clients that no library would be."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server, raw  # noqa: E402
from wardens import IS_ROOT  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = {"argv": ["echo", "hi"]}
JSON = ("-H", "Content-Type: application/json")
HEADERS, RST, SETTINGS, GOAWAY = 1, 3, 4, 7


def openssl(*words, folder):
    subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)


class Papers:
    """Two authorities, and certificates of theirs, as files that everybody may read."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("ca", "other"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", folder=folder)
        for name, authority in (("server", "ca"), ("next", "ca"), ("client", "ca"), ("stranger", "other")):
            self.issue(name, authority)
        for path in folder.iterdir():
            path.chmod(0o644)

    def issue(self, name, authority):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr", folder=self.folder)
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-days", "2",
                "-extfile", "names", "-out", f"{name}.pem", folder=self.folder)

    def __getitem__(self, name):
        return str(self.folder / name)


@pytest.fixture(scope="module")
def papers(public):
    folder = public / "papers"
    folder.mkdir()
    return Papers(folder)


def options(papers, *more):
    return ["--tls-cert", papers["server.pem"], "--tls-key", papers["server.key"], *more]


@pytest.fixture(scope="module")
def standing(ringfort, public, papers):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"tls-{who}", *options(papers)))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def own(ringfort, as_who, public):
    started = []

    def start(*words, **more):
        started.append(Server(ringfort, as_who, public / f"tls-own-{as_who}-{time.monotonic_ns()}", *words, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


def curl(server, papers, path, *words, key=None, scheme="https"):
    return subprocess.run(["curl", "-sS", "--max-time", "40", "--cacert", papers["ca.pem"], "-H",
                           f"Authorization: Bearer {key or server.key}", *words, f"{scheme}://localhost:{server.port}{path}"],
                          capture_output=True, text=True, check=False)


@contextlib.contextmanager
def connected(server, papers, protocols=("http/1.1",), **more):
    context = ssl.create_default_context(cafile=papers["ca.pem"])
    context.set_alpn_protocols(list(protocols))
    for name, value in more.items():
        setattr(context, name, value)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock, \
            context.wrap_socket(sock, server_hostname="localhost") as line:
        yield line


def shown(server, papers):
    """The name in the certificate that a new connection sees."""
    with connected(server, papers) as line:
        return dict(pair[0] for pair in line.getpeercert()["subject"])["commonName"]


# --- TLS ---

@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_the_api_is_served_under_tls(server, papers, version):
    done = curl(server, papers, "/v1/run", version, *JSON, "-d", json.dumps(RUN), "-w", "%{http_version} %{http_code}")
    assert done.returncode == 0, done.stderr
    text, told = done.stdout.rsplit("\n", 1)
    assert json.loads(text)["stdout"] == "hi\n"
    assert told == ("2 200" if version == "--http2" else "1.1 200")


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_stream_comes_as_it_is_written_and_who_goes_takes_the_run_along(server, papers, version):
    word = f"8{time.monotonic_ns()}"
    with subprocess.Popen(["curl", "-sSN", "--max-time", "40", version, "--cacert", papers["ca.pem"], "-H",
                           f"Authorization: Bearer {server.key}", "-H", "Accept: text/event-stream", *JSON, "-d",
                           json.dumps({"command": f"echo one; sleep {word}", "timeout": 60}),
                           f"https://localhost:{server.port}/v1/run"], stdout=subprocess.PIPE, text=True) as client:
        try:
            assert client.stdout.readline() == "event: stdout\n"
            assert json.loads(client.stdout.readline()[6:])["data"] == "one\n"
            assert processes_with(word)
        finally:
            client.kill()
    assert eventually(lambda: not processes_with(word), 20)


def test_what_is_agreed_upon_is_h2_or_http_1_1_and_nothing_old(server, papers):
    for offered, agreed in ((("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1"), ((), None)):
        with connected(server, papers, offered) as line:
            assert line.selected_alpn_protocol() == agreed
            assert line.version() in ("TLSv1.2", "TLSv1.3")
    with pytest.raises(OSError), connected(server, papers, ("spdy/3",)):
        pass
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_1", "-cipher",
                           "ALL:@SECLEVEL=0"], input="", capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode != 0 and "Cipher is (NONE)" in done.stdout


def test_plain_http_on_a_port_of_tls_is_told_so(server):
    answer = raw(server, b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 400 ") and f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)["error"]["message"] == "this port speaks TLS"


HELLOS = {"nothing": b"", "a byte": b"\x16", "a record of no handshake": b"\x16\x03\x01\x00\x05hello", "zeros": b"\0" * 64,
          "SSL 2": b"\x80\x2e\x01", "SSH": b"SSH-2.0-x\r\n"}


@pytest.mark.parametrize("said", HELLOS.values(), ids=HELLOS)
def test_what_is_no_client_hello_ends_a_connection_and_nothing_else(server, papers, said):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
        with contextlib.suppress(OSError):
            sock.sendall(said)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
    assert curl(server, papers, "/v1/health").returncode == 0


def test_a_client_needs_a_certificate_of_its_authority(own, papers):
    server = own(*options(papers, "--tls-client-ca", papers["ca.pem"]))

    def ask(*words):
        return curl(server, papers, "/v1/run", *JSON, "-d", json.dumps(RUN), *words)

    mine = ("--cert", papers["client.pem"], "--key", papers["client.key"])
    done = ask(*mine)
    assert done.returncode == 0 and json.loads(done.stdout)["stdout"] == "hi\n", done.stderr
    assert ask().returncode != 0
    assert ask("--cert", papers["stranger.pem"], "--key", papers["stranger.key"]).returncode != 0
    # It is shown besides a key, and not in place of one.
    done = curl(server, papers, "/v1/sandboxes", *mine, "-w", "%{http_code}", key="rfk_no")
    assert done.stdout.endswith("401")


def test_a_certificate_is_replaced_while_it_serves(own, papers, public, as_who):
    folder = public / f"turn-{as_who}-{time.monotonic_ns()}"
    folder.mkdir(mode=0o755)
    for kind in ("pem", "key"):
        shutil.copy(papers[f"server.{kind}"], folder / f"now.{kind}")
    server = own("--tls-cert", str(folder / "now.pem"), "--tls-key", str(folder / "now.key"))
    with connected(server, papers) as old:
        assert shown(server, papers) == "server"
        for kind in ("pem", "key"):
            shutil.copy(papers[f"next.{kind}"], folder / f"now.{kind}")
        os.kill(server.pid, signal.SIGHUP)
        server.read_until("read anew")
        assert eventually(lambda: shown(server, papers) == "next", 20)
        (folder / "now.key").write_text("no key")
        os.kill(server.pid, signal.SIGHUP)
        server.read_until("stays as it was: the key: there is none without a password")
        assert shown(server, papers) == "next"
        # Who was there before goes on.
        old.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert old.recv(4096).startswith(b"HTTP/1.1 200 ")
    # A front that dies leaves the certificate to the next one.
    os.kill(server.children()["ringfort-front"][0], signal.SIGKILL)
    server.read_until("started anew")
    assert eventually(lambda: curl(server, papers, "/v1/health").returncode == 0, 20)
    assert shown(server, papers) == "next"


WRONG = {
    "a certificate without a key": (("--tls-cert", "server.pem"), "a certificate and its key go together"),
    "another's key": (("--tls-cert", "server.pem", "--tls-key", "next.key"), "the key: it is not the certificate's"),
    "a key for a certificate": (("--tls-cert", "server.key", "--tls-key", "server.key"), "the certificate: there is none"),
    "no such file": (("--tls-cert", "nowhere.pem", "--tls-key", "server.key"), "nowhere.pem"),
    "an authority that is none": (("--tls-cert", "server.pem", "--tls-key", "server.key", "--tls-client-ca", "client.key"),
                                  "the clients' authority: there is no certificate"),
}


@pytest.mark.parametrize("words, said", WRONG.values(), ids=WRONG)
def test_papers_that_do_not_do_are_refused_before_anything_is_served(server, papers, words, said):
    done = server.run("serve", "--check", "--listen", "127.0.0.1:0",
                      *(word if word.startswith("--") else papers[word] for word in words))
    assert done.returncode == 125 and said in done.stderr
    assert server.run("serve", "--check", "--listen", "127.0.0.1:0", *options(papers)).returncode == 0


def test_the_key_is_in_no_environment_and_no_argument(server, papers):
    secret = pathlib.Path(papers["server.key"]).read_bytes().split(b"\n")[1]
    pids = [server.pid, *(pid for pids in server.children().values() for pid in pids)]
    for pid in pids:
        for name in ("environ", "cmdline"):
            if IS_ROOT:
                assert secret not in pathlib.Path(f"/proc/{pid}/{name}").read_bytes()


# --- HTTP/2 ---

@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_two_keys_are_none(server, papers, version):
    done = curl(server, papers, "/v1/sandboxes", version, "-H", "authorization: Bearer x", "-w", "%{http_code}")
    assert done.stdout.endswith("400") and "Authorization: it is there twice" in done.stdout
    done = curl(server, papers, "/v1/sandboxes", version, "-H", "Origin: https://a.example", "-H", "Origin: https://b.example",
                "-w", "%{http_code}")
    assert done.stdout.endswith("400") and "Origin: it is there twice" in done.stdout


def test_many_requests_share_a_connection(server, papers):
    done = subprocess.run(["h2load", "-n", "200", "-c", "2", "-m", "50", f"https://127.0.0.1:{server.port}/v1/health"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert "200 succeeded, 0 failed" in done.stdout, done.stdout
    done = subprocess.run(["nghttp", "-v", f"https://127.0.0.1:{server.port}/v1/version"], capture_output=True, text=True,
                          check=False, timeout=60)
    assert ":status: 200" in done.stdout and "MAX_CONCURRENT_STREAMS(0x03):100" in done.stdout


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def test_a_client_that_begins_and_resets_is_sent_away(server, papers):
    """Rapid reset: requests that are taken back at once cost it its connection, and nobody else anything."""
    # Indexed fields of HPACK's table: GET, https, "/", and the authority as a text.
    head = b"\x82\x87\x84\x41\x09localhost"
    with connected(server, papers, ("h2",)) as line:
        line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
        said = b""
        with contextlib.suppress(OSError):
            for number in range(1, 4000, 2):
                line.sendall(frame(HEADERS, 5, number, head) + frame(RST, 0, number, struct.pack(">I", 8)))
        try:
            while chunk := line.recv(65536):
                said += chunk
        except TimeoutError:
            pytest.fail("it is still connected")
        except OSError:
            pass  # a reset may outrun the last words
    at, kinds = 0, []
    while at + 9 <= len(said):
        size, kind = int.from_bytes(said[at:at + 3], "big"), said[at + 3]
        kinds.append((kind, said[at + 9:at + 9 + size]))
        at += 9 + size
    codes = [struct.unpack(">I", body[4:8])[0] for kind, body in kinds if kind == GOAWAY]
    assert not codes or codes[0] == 11  # ENHANCE_YOUR_CALM
    assert curl(server, papers, "/v1/health", "--http2").returncode == 0


def test_the_host_of_a_request_is_looked_at_over_http_2_as_well(server, papers):
    done = subprocess.run(["curl", "-sS", "--http2", "--max-time", "30", "--cacert", papers["ca.pem"], "-H",
                           "Host: evil.example", "-w", "%{http_code}", f"https://localhost:{server.port}/v1/health"],
                          capture_output=True, text=True, check=False)
    assert done.stdout.endswith("403")
