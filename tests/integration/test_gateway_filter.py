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


# --- secrets in halves ---

def half(text, secret):
    """True if five letters of a secret stand together in a text."""
    return any(secret[at:at + 5] in text for at in range(len(secret) - 5))


def test_a_request_for_a_range_gets_the_whole_and_no_half_of_a_secret(box, server):
    whole = f"Authorization: Bearer {'*' * len(SECRET)}\n"
    plain = http.client.HTTPConnection("127.0.0.1", server)
    plain.request("GET", "/echo", headers={"Range": "bytes=0-29"})
    answer = plain.getresponse()
    assert answer.status == 206 and half(answer.read().decode(), SECRET)  # nginx does serve them
    etag = answer.getheader("ETag")
    for fields in ({"Range": "bytes=0-29"}, {"Range": "bytes=30-"}, {"Range": "bytes=-20"}, {"Range": "bytes=0-29,30-"}, {"range": "bytes=0-29"},
                   {"Range": "bytes=0-29", "If-Range": etag}, {"Request-Range": "bytes=0-29"}):
        answer = ask(box, "/echo", **fields)
        assert (answer.status, answer.read().decode()) == (200, whole), fields
        assert answer.getheader("Accept-Ranges") is None and answer.getheader("Content-Range") is None
    assert ask(box, "/echo", **{"If-None-Match": etag}).status == 304


def test_tokens_have_no_halves_either(filtered):
    for fields in ({"Range": "bytes=0-29"}, {"Range": "bytes=30-"}):
        answer = ask(filtered, "/token", **fields)
        assert (answer.status, answer.read().decode()) == (200, f"a token: {TOKEN[:4]}{'*' * 36}\n")


def test_answers_that_nobody_filters_keep_their_ranges(server):
    policy = {"version": 1, "network": {"allow": [f"api.example:{server}"], "hosts": {"api.example": f"127.0.0.1:{server}"}}}
    with Tenant(program(), policy) as tenant:
        tenant.server = server
        answer = ask(tenant, "/echo", Range="bytes=0-3")
        assert (answer.status, answer.read(), answer.getheader("Content-Range")) == (206, b"Auth", f"bytes 0-3/{23 + len(SECRET)}")
        answer = ask(tenant, "/echo", Range="bytes=0-3,6-7")
        assert answer.status == 206 and answer.getheader("Content-Type").startswith("multipart/byteranges")


class Parts(http.server.BaseHTTPRequestHandler):
    """Gives a part though none was asked for, in the way that the path names."""
    protocol_version = "HTTP/1.1"
    seen = []
    ways = {
        "/206": (206, {"Content-Range": "bytes 0-9/30"}),
        "/bare": (206, {}),
        "/several": (206, {"Content-Type": "multipart/byteranges; boundary=x"}),
        "/hidden": (200, {"Content-Range": "bytes 0-9/30"}),
        "/several-hidden": (200, {"Content-Type": "Multipart/ByteRanges; boundary=x"}),
        "/difference": (226, {"IM": "vcdiff"}),
        "/grpc": (200, {"Content-Type": "application/grpc", "Grpc-Encoding": "gzip"}),
        "/connect": (200, {"Connect-Content-Encoding": "br"}),
        "/twice": (200, {"Content-Encoding": "gzip, gzip"}),
        "/whole": (200, {"Grpc-Encoding": "identity"}),
    }

    def do_GET(self):
        self.seen.append(dict(self.headers))
        status, fields = self.ways[self.path]
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "10")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(SECRET[:10].encode())

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def parts(server):
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Parts)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    Parts.seen.clear()
    place = f"127.0.0.1:{backend.server_port}"
    policy = {"version": 1, "network": {"allow": [f"api.example:{backend.server_port}"], "hosts": {"api.example": place}}}
    with Tenant(program(), policy, credentials=[CREDENTIAL]) as tenant:
        tenant.server = backend.server_port
        yield tenant
    backend.shutdown()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("way", [way for way in Parts.ways if way != "/whole"])
def test_a_part_that_nobody_asked_for_is_refused(parts, way, method):
    line = http.client.HTTPConnection("127.0.0.1", parts.proxy, timeout=20)
    line.request(method, f"http://api.example:{parts.server}{way}")
    answer = line.getresponse()
    body = answer.read()
    if way == "/twice" and method == "HEAD":  # its body is none, in whatever coding
        return
    code = "coding_unknown" if way in ("/grpc", "/connect", "/twice") else "part_unasked"
    assert (answer.status, answer.getheader("X-Ringfort")) == (502, code)
    assert not half(body.decode(), SECRET)
    assert parts.wait_for(lambda event: event["kind"] == "request")["verdict"] == "denied"


def test_what_asks_for_parts_is_not_passed_on(parts):
    asked = {"Range": "bytes=0-1", "If-Range": '"x"', "Request-Range": "bytes=0-1", "A-IM": "vcdiff", "Grpc-Accept-Encoding": "gzip",
             "Connect-Accept-Encoding": "br", "Accept-Encoding": "dcb, br;q=0.5", "X-Other": "kept"}
    answer = ask(parts, "/whole", **asked)
    assert (answer.status, answer.read()) == (200, SECRET[:10].encode())
    got, = Parts.seen
    assert got["X-Other"] == "kept" and got["Accept-Encoding"] == "br;q=0.5"
    assert not set(got) & (set(asked) - {"X-Other", "Accept-Encoding"})


def test_a_box_that_reads_slowly_does_not_choose_where_a_token_is_cut():
    """What a rule keeps back is let go when a server pauses; a server that is made to pause is none."""
    line_of = f"{TOKEN}\n".encode()

    def pour():
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(line_of) * 400000))
            for _ in range(400):
                connection.sendall(line_of * 1000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=pour, daemon=True).start()
        policy = {"version": 1, "network": {"allow": [f"api.example:{port}"], "hosts": {"api.example": f"127.0.0.1:{port}"}, "filter": "on"}}
        with Tenant(program(), policy) as tenant:
            tenant.server = port
            answer = ask(tenant, "/")
            masked, rest = f"{TOKEN[:4]}{'*' * 36}".encode(), b""
            for _ in range(8):
                time.sleep(0.3)
                rest += answer.read(2000000)
                lines = rest.split(b"\n")
                rest = lines.pop()
                assert set(lines) == {masked}


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
