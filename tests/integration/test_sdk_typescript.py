"""The TypeScript SDK, against the real server: in Node, over TCP and a unix socket, and in a page of Chromium."""
import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "gateway"))
import typescript  # noqa: E402
from flaky import Flaky  # noqa: E402
from origins import free_port  # noqa: E402
from servers import Server  # noqa: E402
from wardens import become  # noqa: E402

ROOT, SDK = typescript.ROOT, typescript.SDK
ECHO = (ROOT / "tests/echo_websocket.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def compiler():
    return typescript.compiler()


@pytest.fixture(scope="module")
def built(public):
    """The package as it would be installed."""
    folder = public / "node_modules/ringfort"
    typescript.compile_to(folder / "dist")
    shutil.copy(SDK / "package.json", folder)
    for name in ("live.mjs", "unit.mjs"):
        shutil.copy(SDK / "tests" / name, folder)
    return folder


@pytest.fixture(scope="module")
def page_port():
    return free_port()


@pytest.fixture(scope="module")
def server(ringfort, public, page_port):
    with Server(ringfort, "user", public / "sdk-typescript", f"--origin=http://127.0.0.1:{page_port}") as there:
        yield there


def node(server, folder, *words, who=None, **env):
    done = subprocess.run([*(become(who) if who else []), "node", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "ECHO": ECHO, "RINGFORT_KEY": server.key, "RINGFORT_URL": f"http://127.0.0.1:{server.port}", **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USE = """
import { Agent, type Applied, type Approval, Approvals, Audit, type AuditEvent, CommandError, Conflict, type Event } from "ringfort";
import { type FileEvent, Result, run, runStream, Sandbox, type SandboxInfo, Terminal } from "ringfort";
await using box = await Sandbox.create({ timeoutMs: 1000, labels: { a: "b" } });
const text: string = await box.files.read("/a");
const bytes: Uint8Array = await box.files.read("/a", { format: "bytes" });
const result: Result = await box.commands.run("ls", { onStdout: (line) => void line.length });
const number: number = (await box.commands.run("ls", { background: true })).pid;
for await (const event of await box.commands.start(["ls"])) event satisfies Event;
for await (const event of box.files.watch("/a", { depth: 1 })) event satisfies FileEvent;
await using terminal: Terminal = await box.pty.create({ cols: 80, rows: 24, onData: (data) => void data.length });
const message: string | Uint8Array | null = await (await box.webSocket(80)).receive(1);
const status: number = (await box.request(80, "/", { method: "POST", body: "x" })).status;
const age: SandboxInfo["ageMs"] = (await box.info()).ageMs;
const file: Uint8Array | undefined = (await run({ argv: ["ls"], outputs: ["a"] })).files["a"];
await using agent = await Agent.create("bot", { timeout: 60, labels: { a: "b" }, limits: { memory: "64M" } });
const applied: Applied = await box.apply({ conflicts: "origin", dryRun: true });
await using approvals = new Approvals({ retries: 0 });
for (const one of await approvals.list()) one satisfies Approval;
for await (const event of new Audit().follow({ since: "1h" })) event satisfies AuditEvent;
// @ts-expect-error: nobody has that word
await box.apply({ conflicts: "nobody" });
// @ts-expect-error: it has the name of an agent already
await Agent.create("bot", { agent: "other" });
// @ts-expect-error: there is no such option
await box.commands.run("ls", { odd: true });
// @ts-expect-error: nobody could be told
await box.commands.run("ls", { background: true, onStdout: () => undefined });
// @ts-expect-error: what it writes is what the generator gives
runStream({ argv: ["ls"], onStdout: () => undefined });
// @ts-expect-error: a box is made by create()
new Sandbox("id");
try { result.check(); } catch (error) { if (error instanceof CommandError) error.result.exitCode; if (error instanceof Conflict) error.conflicts satisfies readonly string[]; }
export { age, agent, applied, bytes, file, message, number, status, terminal, text };
"""


@pytest.mark.parametrize("module, resolution", [("esnext", "bundler"), ("nodenext", "nodenext")])
def test_its_types_hold_for_who_uses_it(compiler, built, public, module, resolution):
    (public / "use.mts").write_text(USE)
    done = subprocess.run(["node", compiler, "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--module", module,
                           "--moduleResolution", resolution, "--lib", "es2022,esnext.disposable,dom", "--types", "", "use.mts"], cwd=public,
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout


@contextlib.contextmanager
def elsewhere():
    """A server that lets every page ask; gives its address and what it was asked: nothing may lead there."""
    asked = []

    class Anything(http.server.BaseHTTPRequestHandler):
        def handle_any(self):
            asked.append((self.command, self.path, dict(self.headers)))
            self.send_response(200)
            for name in ("Origin", "Headers", "Methods"):
                self.send_header(f"Access-Control-Allow-{name}", self.headers.get("Access-Control-Request-Headers", "*") if name == "Headers" else "*")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_OPTIONS = handle_any

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Anything) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{there.server_address[1]}/taken", asked
        there.shutdown()


def test_it_does_what_it_says(server, built, public):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(public))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        port = there.server_address[1]
        ceiling = server.runtime / "ceiling.yaml"
        ceiling.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": {
            "allow": ["plain.test:*"], "hosts": {"plain.test": f"127.0.0.1:{port}"}}}))
        ceiling.chmod(0o644)
        with elsewhere() as (place, asked):
            out = node(server, built, built / "live.mjs", built / "dist/index.js", ELSEWHERE=place, OTHER_KEY=server.make_key("--tenant", "other"), NO_KEY="1",
                       SLOW_KEY=server.make_key("--rate", "1"), NOWHERE=f"http://127.0.0.1:{free_port()}", NET_PORT=str(port),
                       NET_KEY=server.make_key("--tenant", "net", "--ceiling", str(ceiling)), ADMIN_KEY=server.make_key("--tenant", "net", "--scope", "admin"))
        there.shutdown()
    assert out == "all is well\n" and not asked


def test_it_goes_by_the_user_on_a_unix_socket(server, built):
    url = f"unix:{server.runtime}/ringfort/api.sock"
    assert node(server, built, built / "live.mjs", built / "dist/index.js", who="user", RINGFORT_URL=url, RINGFORT_KEY="") == "all is well\n"


def test_it_minds_servers_that_misbehave(server, built):
    assert node(server, built, built / "unit.mjs", built / "dist") == "all is well\n"


AGAIN = """
import { run, Sandbox, Unreachable } from "ringfort";
const asks = { list: async () => (await Sandbox.list()).length, run: async () => (await run({ command: "echo x" })).stdout.trim() };
console.log(await asks[process.argv[2]]().catch((error) => (error instanceof Unreachable ? `lost ${error.wasSent}` : `${error}`)));
"""


def test_what_was_lost_is_asked_again(server, built, public):
    (public / "again.mjs").write_text(AGAIN)
    for what, cuts, said, seen in (("list", 2, "0\n", 3), ("list", 9, "lost true\n", 3), ("run", 2, "x\n", 3)):
        with Flaky(server.port, cuts) as flaky:
            assert node(server, public, public / "again.mjs", what, RINGFORT_URL=flaky.url) == said
            assert flaky.seen == seen


ENDED = """
import { run } from "ringfort";
const ends = new AbortController();
const done = run({ argv: ["sleep", process.argv[2]], signal: ends.signal, timeout: 600 }).catch((error) => error.name);
process.stdin.once("data", () => ends.abort());
console.log(await done);
process.exit();
"""


def test_a_signal_ends_what_runs(server, built, public):
    (public / "ended.mjs").write_text(ENDED)
    token = f"7{time.monotonic_ns()}"
    with subprocess.Popen(["node", public / "ended.mjs", token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=public,
                          env={"PATH": os.environ["PATH"], "RINGFORT_KEY": server.key, "RINGFORT_URL": f"http://127.0.0.1:{server.port}"}) as asks:
        assert eventually(lambda: len(processes_with(token)) > 1)  # it, and who asks for it
        assert asks.communicate("now\n", timeout=30)[0] == "AbortError\n"
    assert eventually(lambda: not processes_with(token))


def compiled(compiler, folder, name):
    done = subprocess.run(["node", compiler, "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib",
                           "es2022,esnext.disposable,dom", "--types", "", name], cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout


def test_the_front_page_works_as_pasted(compiler, server, built, public):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (public / "front.mts").write_text(text.split("```ts\n", 1)[1].split("```", 1)[0])
    compiled(compiler, public, "front.mts")
    assert node(server, public, public / "front.mjs") == "42\n\n"
    assert json.loads(server.get("/v1/sandboxes").body)["sandboxes"] == []


# What the examples of its page print, in their order.
EXAMPLES = ["42\n\ndone\n\nhello\n", "got one\ngot two\nok\n", "true true\n", "created /tmp/site/a.txt\n200 served\n", "true\none\n\n",
            "a.txt\nadded\ntwo\n\n", "POST http://api.example.com:80/notes hello\napproved\nasked\nallow\n",
            "not_found path\n3\n"]


def test_its_page_works_as_pasted(compiler, server, built, public):
    blocks = re.findall(r"^```(js|ts)\n(.*?)^```", (SDK / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == len(EXAMPLES)
    ceiling = server.runtime / "ceiling-page.yaml"
    ceiling.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": {
        "allow": ["api.example.com"], "hosts": {"api.example.com": f"127.0.0.1:{free_port()}"}}}))
    ceiling.chmod(0o644)
    decides = server.make_key("--tenant", "page", "--ceiling", str(ceiling), "--scope", "run,admin")
    for number, ((kind, code), said) in enumerate(zip(blocks, EXAMPLES)):
        (public / f"page-{number}.m{kind}").write_text(code)
        if kind == "ts":
            compiled(compiler, public, f"page-{number}.mts")
        assert node(server, public, public / f"page-{number}.mjs", RINGFORT_KEY=decides if "Approvals" in code else server.key) == said
    assert json.loads(server.get("/v1/sandboxes").body)["sandboxes"] == []


def test_it_goes_by_tls_to_who_proves_to_be_it(ringfort, built, public):
    folder = public / "typescript-tls"
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=folder, check=True, capture_output=True)
    (folder / "key.pem").chmod(0o644)
    folder.chmod(0o755)
    with Server(ringfort, "user", public / "typescript-tls-server", "--tls-cert", str(folder / "cert.pem"), "--tls-key",
                str(folder / "key.pem")) as safe:
        (public / "tls.mjs").write_text(TLS)
        url = f"https://localhost:{safe.port}"
        assert node(safe, public, public / "tls.mjs", RINGFORT_URL=url, RINGFORT_CA=str(folder / "cert.pem")) == "hi\ntrue\n"
        assert node(safe, public, public / "tls.mjs", RINGFORT_URL=url) == "Unreachable false\n"


TLS = """
import { Sandbox } from "ringfort";
const box = await Sandbox.create().catch((error) => (console.log(error.name, error.wasSent), process.exit()));
console.log((await box.commands.run("echo hi")).stdout.trim());
console.log((await (await box.pty.create("true")).wait()).ok);
await box.kill();
"""


def test_what_is_published_is_what_is_meant(compiler, built, public):
    folder = public / "published"
    shutil.copytree(SDK, folder, ignore=shutil.ignore_patterns("dist", "node_modules"))
    shutil.copytree(built / "dist", folder / "dist")
    done = subprocess.run(["npm", "pack", "--dry-run", "--json", "--ignore-scripts"], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    pack, = json.loads(done.stdout)
    modules = {path.stem for path in (SDK / "src").glob("*.ts")}
    assert {row["path"] for row in pack["files"]} == {
        "package.json", "README.md", "LICENSE", *(f"dist/{name}{end}" for name in modules for end in (".js", ".d.ts"))}
    about = json.loads((SDK / "package.json").read_text())
    assert (about["license"], about["type"], about["engines"]) == ("Apache-2.0", "module", {"node": ">=20"})
    assert not about.get("dependencies") and not list(SDK.glob("*lock*"))
    for path in (about["main"], about["types"], *about["exports"]["."].values()):
        assert (folder / path).exists(), path
    assert (SDK / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    python = (ROOT / "sdk/python/pyproject.toml").read_text()
    assert f'version = "{about["version"]}"' in python and 'license = "Apache-2.0"' in python


PAGE = """<!doctype html><script type="module">
import * as ringfort from "/dist/index.js";
import { check } from "/live.mjs";
const { url, key, other, echo, elsewhere } = await (await fetch("/options")).json();
const said = await check(ringfort, { url, key }, { other, echo, elsewhere, none: true, page: true }).catch((error) => `${error.stack ?? error}`);
await fetch("/said", { method: "POST", body: said });
</script>"""


def test_it_works_in_a_page(server, built, page_port):
    if not shutil.which("chromium"):
        pytest.skip("there is no Chromium")
    with elsewhere() as (place, asked):
        assert said_by_page(server, built, page_port, place) == ["all is well"]
    assert not asked


def said_by_page(server, built, page_port, place):
    """What the tests of the SDK say in a page of Chromium."""
    options = {"elsewhere": place, "url": f"http://127.0.0.1:{server.port}", "key": server.key, "other": server.make_key("--tenant", "page"), "echo": ECHO}
    said, heard = [], threading.Event()

    class Pages(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html"}

        def __init__(self, *words):
            super().__init__(*words, directory=str(built))

        def give(self, body, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.path == "/":
                self.give(PAGE.encode(), "text/html")
            elif self.path == "/options":
                self.give(json.dumps(options).encode(), "application/json")
            else:
                super().do_GET()

        def do_POST(self):
            said.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.give(b"", "text/plain")
            heard.set()

        def log_message(self, *words):
            pass

    pages = http.server.ThreadingHTTPServer(("127.0.0.1", page_port), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="rf-chromium-", ignore_cleanup_errors=True) as profile:
        os.chmod(profile, 0o777)
        browser = subprocess.Popen([*become("user"), "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                    "--no-first-run", f"--user-data-dir={profile}/p", f"http://127.0.0.1:{page_port}/"], start_new_session=True,
                                   env={"PATH": os.environ["PATH"], "HOME": profile}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert heard.wait(90), "the page has said nothing"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(browser.pid, 9)
            browser.wait()
            pages.shutdown()
            pages.server_close()
    return said
