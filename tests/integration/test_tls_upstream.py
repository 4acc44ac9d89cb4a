"""Towards servers: roots of the policy's own, and certificates that the gateway shows for a box which never has them.

A real nginx that asks for certificates; nothing of its authority is known to the system.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from origins import free_port  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    log_format short '$server_protocol|$request_method|$request_uri|$http_content_type|$http_te|$http_authorization';
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name closed.test;
        ssl_client_certificate {folder}/clients.pem;
        ssl_verify_client on;
        location / {{ default_type text/plain; return 200 "hello $ssl_client_s_dn\\n"; }}
        location /leak {{ default_type text/plain; alias {folder}/client.pem; }}
    }}
    server {{
        listen 127.0.0.1:{grpc} ssl http2;
        server_name grpc.test;
        access_log {folder}/grpc.log short;
        client_max_body_size 20m;
        location / {{ proxy_pass http://127.0.0.1:{sink}; add_trailer grpc-status "0"; add_trailer x-told "$http_authorization"; }}
        location /only {{ default_type application/grpc; add_header grpc-status 7; return 200; }}
        location /files/ {{ alias {folder}/files/; error_page 405 =200 $uri; add_trailer grpc-status "0"; }}
        location /gone {{ return 444; }}
    }}
    server {{ listen 127.0.0.1:{sink}; client_max_body_size 20m; client_body_buffer_size 16k;
        location / {{ proxy_pass http://127.0.0.1:{sink}/end; proxy_request_buffering on; }}
        location /end {{ default_type application/grpc; return 200 "answer of $content_length$http_transfer_encoding"; }} }}
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name open.test;
        ssl_client_certificate {folder}/clients.pem;
        ssl_verify_client optional;
        location / {{ default_type text/plain; return 200 "open [$ssl_client_s_dn]\\n"; }}
        location /files/ {{ alias {folder}/files/; add_trailer X-Sum "17-$request_method"; }}
    }}
}}
"""


class Server:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rf-mtls-"))
        self.folder.chmod(0o755)
        self.port, self.grpc, self.sink = free_port(), free_port(), free_port()
        for name in ("root", "clients"):
            self.make("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                      "-out", f"{name}.pem", "-subj", f"/CN=Test {name}", "-days", "2")
        self.sign("server", "root", "subjectAltName=DNS:closed.test,DNS:open.test,DNS:grpc.test\nextendedKeyUsage=serverAuth\n")
        self.sign("client", "clients", "extendedKeyUsage=clientAuth\n")
        whole = self.folder / "client.pem"
        whole.write_text(whole.read_text() + (self.folder / "client.key").read_text())
        (self.folder / "files").mkdir()
        (self.folder / "files/a.txt").write_text("some text\n")
        (self.folder / "nginx.conf").write_text(NGINX.format(folder=self.folder, port=self.port, grpc=self.grpc, sink=self.sink))
        for name in ("root.pem", "client.pem"):  # nginx's workers are nobody's
            (self.folder / name).chmod(0o644)
        self.process = subprocess.Popen(["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if (self.folder / "pid").exists():
                break
            time.sleep(0.02)

    def make(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name, by, extensions):
        (self.folder / "ext").write_text(extensions)
        self.make("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", "csr",
                  "-subj", f"/CN=the {name}")
        self.make("x509", "-req", "-in", "csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", "2",
                  "-extfile", "ext", "-out", f"{name}.pem")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def server():
    for program in ("nginx", "openssl", "curl"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            pytest.skip(f"no {program} on this machine")
    one = Server()
    yield one
    one.close()


@pytest.fixture
def box(run_box, server, workdir, as_who):
    """box(words, roots=[...], credential={...}) runs a program that may reach closed.test and open.test."""
    own = {}
    for name in ("root.pem", "client.pem"):  # whose files may be trusted is who runs the box
        own[name] = workdir / name
        shutil.copy(server.folder / name, own[name])
        own[name].chmod(0o600)
        if os.geteuid() == 0 and as_who == "user":
            os.chown(own[name], 12345, 12345)

    def run(*words, roots=("root.pem",), credential=None, allow=None, mode="enforce"):
        policy = {"version": 1, "network": {
            "mode": mode,
            "allow": allow or [f"GET,POST {name}:{server.port},{server.grpc}/**" for name in ("closed.test", "open.test", "grpc.test")],
            "hosts": {name: "127.0.0.1" for name in ("closed.test", "open.test", "grpc.test")}}}
        if roots:
            policy["network"]["roots"] = [str(own.get(root, root)) for root in roots]
        if credential is not None:
            policy["credentials"] = {"corp": {"from": f"file:{own['client.pem']}", "hosts": [f"closed.test:{server.port}"],
                                              "certificate": "on", **credential}}
        path = workdir / "policy.yaml"
        path.write_text(json.dumps(policy))
        path.chmod(0o644)
        return run_box("--policy", str(path), "--time", "30s", "--no-gateway", "--", *words)
    run.own = own
    return run


def url(server, name, path="/x"):
    return f"https://{name}:{server.port}{path}"


def test_roots_of_the_policy_are_trusted_and_no_others(box, server):
    done = box("curl", "-sS", url(server, "open.test"))
    assert done.out == b"open []\n", done
    done = box("curl", "-sS", url(server, "open.test"), roots=())
    assert b"upstream_" in done.out and b"open []" not in done.out, done


def test_a_certificate_is_shown_where_it_is_bound_and_nowhere_else(box, server):
    done = box("curl", "-sS", url(server, "closed.test"))
    assert b"400" in done.out and b"hello" not in done.out, done  # nginx's own words: none was sent
    done = box("curl", "-sS", url(server, "closed.test"), credential={})
    assert done.out == b"hello CN=the client\n", done
    done = box("curl", "-sS", url(server, "open.test"), credential={})
    assert done.out == b"open []\n", done


def test_it_is_not_shown_where_only_the_mode_lets_pass(box, server):
    for mode in ("report", "open"):
        done = box("curl", "-sS", url(server, "closed.test"), credential={}, allow=[f"GET open.test:{server.port}/**"], mode=mode)
        assert b"hello" not in done.out, done


def test_its_key_is_nowhere_in_the_box_and_not_in_answers(box, server):
    key = [line for line in (server.folder / "client.key").read_text().splitlines() if "-----" not in line]
    done = box("sh", "-c", f"env; cat /proc/self/environ; curl -sS {url(server, 'closed.test', '/leak')}", credential={})
    assert done.code == 0 and b"BEGIN CERTIFICATE" in done.out, done
    for line in key[:3]:
        assert len(line) < 32 or line.encode() not in done.out, line


@pytest.mark.parametrize("change, says", [
    ({"hosts": ["GET closed.test"]}, "before there is a request"),
    ({"header": "X: {}"}, "more than one way"),
    ({"budget": "5/s"}, "a certificate has none"),
    ({"env": "CERT"}, "a certificate has none"),
    ({"from": "stdin:"}, "more than one line"),
    ({"from": "file:/etc/hostname"}, "certificate"),
    ({"certificate": "perhaps"}, "certificate: on"),
])
def test_what_can_not_be_is_refused(box, server, change, says):
    done = box("true", credential=change)
    assert done.code == 125 and says in done.err.decode(), done


def test_a_file_of_roots_that_is_none_or_not_ones_own_is_refused(box, workdir, as_who):
    for name, says in (("/nonexistent/roots.pem", "there is no file"), ("/etc/hostname", "no certificate in PEM")):
        done = box("true", roots=[name])
        assert done.code == 125 and says in done.err.decode() and "network.roots" in done.err.decode(), done
    loose = workdir / "loose.pem"
    shutil.copy(box.own["root.pem"], loose)
    loose.chmod(0o666)
    done = box("true", roots=[str(loose)])
    assert done.code in (125, 126) and "network.roots" in done.err.decode(), done


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_what_follows_a_body_reaches_the_program(box, server, version):
    done = box("curl", "-sS", version, "-D", "-", "-H", "TE: trailers", "-H", "Connection: TE", url(server, "open.test", "/files/a.txt"))
    assert b"some text" in done.out and b"x-sum: 17-get" in done.out.lower(), done


def grpc(server, path="/pkg.Service/Call", name="grpc.test"):
    return f"https://{name}:{server.grpc}{path}"


GRPC = ["-H", "Content-Type: application/grpc", "-H", "TE: trailers"]


def test_grpc_is_carried_with_its_trailer(box, server):
    """HTTP/2 from the program to the server, with all of the policy between; a request of another kind goes as HTTP/1.1."""
    done = box("curl", "-sS", "--http2", "-D", "-", *GRPC, "--data-binary", "hello", grpc(server))
    assert b"answer of 5" in done.out and b"grpc-status: 0" in done.out.lower() and done.out.startswith(b"HTTP/2 200"), done
    log = (server.folder / "grpc.log").read_text().splitlines()[-1].split("|")
    assert log[:5] == ["HTTP/2.0", "POST", "/pkg.Service/Call", "application/grpc", "trailers"], log
    done = box("curl", "-sS", "--http2", "--data-binary", "hello", grpc(server))
    assert b"answer of 5" in done.out and (server.folder / "grpc.log").read_text().splitlines()[-1].startswith("HTTP/1.1|"), done


def test_grpc_with_a_credential_and_long_bodies(box, server, workdir):
    body = workdir / "body"
    body.write_bytes(os.urandom(3_000_000))
    body.chmod(0o644)
    policy = {"credential": {"hosts": [f"grpc.test:{server.grpc}"], "certificate": "on"}}
    done = box("sh", "-c", f"curl -sS --http2 -D - -H 'Content-Type: application/grpc+proto' -T - {grpc(server)} < {body}; "
               f"curl -sS --http2 -D - -H 'Content-Type: application/grpc' -X POST {grpc(server, '/only')}", **policy)
    assert done.out.lower().count(b"grpc-status: 0") == 0 or b"answer of" in done.out, done
    assert b"grpc-status: 7" in done.out.lower(), done


def test_a_server_without_http2_is_told_as_one_for_grpc(box, server):
    done = box("curl", "-sS", "--http2", "-w", "%{http_code}", *GRPC, "--data-binary", "x", url(server, "open.test"))
    assert done.out.endswith(b"502") and b"HTTP/2" in done.out, done
    done = box("curl", "-sS", "--http2", "-w", "%{http_code}", *GRPC, "--data-binary", "x", grpc(server, "/gone"))
    assert done.out.endswith(b"502"), done
    done = box("curl", "-sS", "--http2", "-w", "%{http_code}", *GRPC, "--data-binary", "x", grpc(server), roots=())
    assert done.out.endswith(b"502") and b"certificate" in done.out.lower(), done


def test_many_grpc_requests_use_connections_again(box, server):
    before = len((server.folder / "grpc.log").read_text().splitlines()) if (server.folder / "grpc.log").exists() else 0
    done = box("sh", "-c", f"for i in 1 2 3 4 5; do curl -sS --http2 -Z -D - -H 'Content-Type: application/grpc' --data-binary x "
               f"{' '.join(grpc(server, f'/many/{n}') for n in range(8))}; done")
    assert done.code == 0 and done.out.lower().count(b"grpc-status: 0") == 40, (done.code, done.err, done.out.lower().count(b"grpc-status"))
    assert len((server.folder / "grpc.log").read_text().splitlines()) == before + 40


def test_a_refused_post_over_http2_can_always_be_read(box, server):
    """An answer before the request is whole: a reset behind it would be all that some clients see."""
    done = box("sh", "-c", f"for i in $(seq 25); do curl -sS --http2 -o /dev/null -w '%{{http_code}} ' --data-binary x {url(server, 'open.test')}; done",
               allow=[f"GET open.test:{server.port}/**"])
    assert done.out.split() == [b"403"] * 25 and done.err == b"", done
