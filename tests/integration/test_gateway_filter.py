"""Secrets are masked in what a server answers, on its way into a box: plain, compressed, in pieces, as events."""
import gzip
import http.client
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import pytest

from gateway.tenant import Refused, Tenant, program

SECRET = "correct-horse-battery-staple"
TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"  # in parts, for those who look for tokens in sources
CREDENTIAL = ("api", SECRET, "placeholder")
NGINX = """
{user}
daemon off; pid {folder}/pid; error_log {folder}/error; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off; default_type text/plain; root {folder}/www;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any; gzip_http_version 1.0;
    server {{
        listen 127.0.0.1:{port};
        location / {{ }}
        location = /header {{ add_header X-Echo "Bearer {secret}"; return 200 "ok\\n"; }}
        location = /odd {{ add_header Content-Encoding dcb; return 200 "unreadable\\n"; }}
        location /live/ {{ proxy_pass http://127.0.0.1:{backend}; proxy_buffering off; proxy_http_version 1.1; }}
    }}
}}
"""


class Live(http.server.BaseHTTPRequestHandler):
    """Events, one when the one before was read; and a body in chunks that cut a secret anywhere."""
    protocol_version = "HTTP/1.1"
    go_on = threading.Semaphore(0)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.path == "/live/events":
            for number in range(5):
                self.chunk(f"data: event {number}, {SECRET}\n\n".encode())
                assert self.go_on.acquire(timeout=10)
        elif self.path == "/live/hold":
            self.chunk(f"one: {TOKEN[:3]}".encode())
            assert self.go_on.acquire(timeout=10)
            self.chunk(f" two: {SECRET[:10]}".encode())
            assert not self.go_on.acquire(timeout=0.5)
            self.chunk(f"{SECRET[10:]}.".encode())
        else:
            for byte in f"<{SECRET}>" * 3:
                self.chunk(byte.encode())
        self.chunk(b"")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not shutil.which("nginx"):
        pytest.skip("needs nginx")
    folder = tmp_path_factory.mktemp("nginx")
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Live)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    www = folder / "www"
    www.mkdir()
    (www / "echo").write_text(f"Authorization: Bearer {SECRET}\n")
    (www / "big").write_text((f"line of text\n" * 500 + SECRET + "\n") * 200)
    (www / "token").write_text(f"a token: {TOKEN}\n")
    (www / "customer").write_text(f"of CUST-12345678, not CUST-1234; {TOKEN}\n")
    (www / "bomb").write_bytes(b"\0" * (64 << 20))
    user = "user root;" if pathlib.Path("/proc/self").stat().st_uid == 0 else ""
    (folder / "conf").write_text(NGINX.format(folder=folder, port=port, user=user, secret=SECRET, backend=backend.server_port))
    process = subprocess.Popen(["nginx", "-c", folder / "conf", "-p", folder, "-e", folder / "error"],
                               stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield port
    process.terminate()
    process.wait(10)
    backend.shutdown()


@pytest.fixture
def box(server):
    policy = {"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": f"127.0.0.1:{server}"}}}
    with Tenant(program(), policy, credentials=[CREDENTIAL]) as tenant:
        tenant.server = server
        yield tenant


@pytest.fixture
def filtered(server):
    policy = {"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": f"127.0.0.1:{server}"}, "filter": "on"}}
    with Tenant(program(), policy) as tenant:
        tenant.server = server
        yield tenant


def ask(box, path, **fields):
    line = http.client.HTTPConnection("127.0.0.1", box.proxy, timeout=20)
    line.request("GET", f"http://api.example:{box.server}{path}", headers=fields)
    return line.getresponse()


def test_a_plain_answer_keeps_its_length_and_loses_the_secret(box):
    answer = ask(box, "/echo")
    body = answer.read().decode()
    assert answer.getheader("Content-Length") == str(len(body))
    assert body == f"Authorization: Bearer {'*' * len(SECRET)}\n"
    event = box.wait_for(lambda event: event["kind"] == "secret")
    assert event["reason"] == "a known secret" and event["host"] == "api.example"
    assert SECRET not in json.dumps(box.finish())


def test_a_compressed_answer_is_read_and_passes_without_its_coding(box):
    answer = ask(box, "/big", **{"Accept-Encoding": "gzip, br"})
    assert answer.getheader("Content-Encoding") is None
    body = answer.read().decode()
    assert body == ("line of text\n" * 500 + "*" * len(SECRET) + "\n") * 200
    assert box.wait_for(lambda event: event["kind"] == "secret")["reason"] == "200 known secrets"


def test_nginx_does_compress_what_is_asked_for_so(server):
    line = http.client.HTTPConnection("127.0.0.1", server)
    line.request("GET", "/big", headers={"Accept-Encoding": "gzip"})
    answer = line.getresponse()
    assert answer.getheader("Content-Encoding") == "gzip"
    assert SECRET in gzip.decompress(answer.read()).decode()


def test_a_field_of_an_answer_has_no_secret_in_it(box):
    answer = ask(box, "/header")
    assert answer.getheader("X-Echo") == "Bearer " + "*" * len(SECRET)
    assert answer.read() == b"ok\n"


def test_an_event_passes_before_the_next_one_is_sent(box):
    answer = ask(box, "/live/events", **{"Accept-Encoding": "gzip"})
    for number in range(5):
        assert answer.readline().decode() == f"data: event {number}, {'*' * len(SECRET)}\n"
        assert answer.readline() == b"\n"
        Live.go_on.release()
    assert answer.read() == b""


def test_a_secret_that_comes_byte_by_byte_is_masked(box):
    assert ask(box, "/live/bytes").read().decode() == f"<{'*' * len(SECRET)}>" * 3


def test_a_coding_that_can_not_be_read_is_refused(box):
    answer = ask(box, "/odd")
    assert answer.status == 502
    assert json.loads(answer.read())["error"]["code"] == "coding_unknown"


def test_a_bomb_does_not_go_off(box):
    answer = ask(box, "/bomb", **{"Accept-Encoding": "gzip"})
    got = 0
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        while True:
            piece = answer.read(1 << 16)
            if not piece:
                raise ConnectionError
            got += len(piece)
    assert got < 16 << 20


def test_tokens_are_masked_by_their_form_where_the_policy_says_so(filtered):
    assert ask(filtered, "/token").read().decode() == f"a token: {TOKEN[:4]}{'*' * 36}\n"
    assert filtered.wait_for(lambda event: event["kind"] == "secret")["reason"] == "github-token"


def test_tokens_pass_where_it_does_not(box):
    assert ask(box, "/token").read().decode() == f"a token: {TOKEN}\n"


def test_what_a_rule_holds_back_is_let_go_after_a_while_and_a_known_secret_is_not(server):
    policy = {"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": f"127.0.0.1:{server}"}, "filter": "on"}}
    with Tenant(program(), policy, credentials=[CREDENTIAL]) as tenant:
        tenant.server = server
        answer = ask(tenant, "/live/hold")
        assert answer.read(8).decode() == f"one: {TOKEN[:3]}"
        Live.go_on.release()
        assert answer.read().decode() == f" two: {'*' * len(SECRET)}."


def test_the_filter_stays_as_it_is_while_a_box_lives(filtered):
    filtered.change({"version": 1, "network": {"allow": ["other.example"]}})
    refusal = filtered.wait_for(lambda event: event["kind"] == "refused")
    assert b"network.filter and network.mask stay" in refusal["body"]


CUSTOMER = "CUST-[0-9]{8}"


def masking(server, *masks):
    return {"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": f"127.0.0.1:{server}"}, "mask": list(masks)}}


def test_what_matches_an_expression_of_the_policys_own_is_masked(server):
    with Tenant([program(), "--mask"], masking(server, "nothing-like-it", CUSTOMER)) as tenant:
        tenant.server = server
        assert ask(tenant, "/customer").read().decode() == f"of {'*' * 13}, not CUST-1234; {TOKEN}\n"
        assert tenant.wait_for(lambda event: event["kind"] == "secret")["reason"]
        tenant.change(masking(server, CUSTOMER))
        assert b"network.mask stay" in tenant.wait_for(lambda event: event["kind"] == "refused")["body"]


@pytest.mark.parametrize("expression, why", [("a(b", b"expression 2 (a(b)"), ("[0-9]*", b"matches nothing at all"), ("x[0-9]+", b"more than 1024 bytes")])
def test_an_expression_that_cannot_be_kept_opens_no_box_and_is_named(server, expression, why):
    with pytest.raises(Refused) as refused:
        Tenant([program(), "--mask"], masking(server, CUSTOMER, expression))
    assert why in refused.value.args[0] and b"network.mask" in refused.value.args[0]


def test_without_its_engine_a_policy_with_expressions_opens_no_box(server):
    with pytest.raises(Refused) as refused:
        Tenant(program(), masking(server, CUSTOMER))
    assert b"vectorscan" in refused.value.args[0]


@pytest.mark.usefixtures("as_who")
def test_a_program_in_a_box_never_reads_what_matches_an_expression(run_box, server, workdir, need):
    need("curl")
    policy = workdir / "policy.json"
    policy.write_text(json.dumps({"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": "127.0.0.1"}, "mask": [CUSTOMER]}}))
    done = run_box("--policy", str(policy), "--", "curl", "-s", "--compressed", f"http://api.example:{server}/customer")
    assert (done.code, done.out.decode()) == (0, f"of {'*' * 13}, not CUST-1234; {TOKEN}\n"), done.err
    policy.write_text(json.dumps({"version": 1, "network": {"allow": [f"api.example:{server}"], "mask": ["a(b"]}}))
    done = run_box("--policy", str(policy), "--", "true")
    assert done.code == 125 and b"network.mask: filter answers: expression 1 (a(b)" in done.err


@pytest.mark.usefixtures("as_who")
@pytest.mark.parametrize("filter_is", ["on", "off"])
def test_a_program_in_a_box_reads_what_the_filter_leaves(run_box, server, workdir, need, filter_is):
    need("curl")
    policy = workdir / "policy.json"
    policy.write_text(json.dumps({"version": 1, "network": {
        "allow": [f"api.example:{server}"], "hosts": {"api.example": "127.0.0.1"}, "filter": filter_is}}))
    done = run_box("--policy", str(policy), "--", "curl", "-s", "--compressed", f"http://api.example:{server}/token")
    shown = TOKEN[:4] + "*" * 36 if filter_is == "on" else TOKEN
    assert (done.code, done.out.decode()) == (0, f"a token: {shown}\n"), done.err
