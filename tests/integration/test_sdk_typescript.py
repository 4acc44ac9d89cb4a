"""The TypeScript SDK, against the real server: in Node, over TCP and a unix socket, and in a page of Chromium."""
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "gateway"))
from origins import free_port  # noqa: E402
from servers import Server  # noqa: E402
from wardens import become  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk/typescript"
TYPESCRIPT = "7.0.2"  # which is a native program, and quick


@pytest.fixture(scope="session")
def compiler():
    """The compiler, fetched once into a folder of the user's cache."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("node and npm are not there")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ringfort-tests"
    folder = cache / f"typescript-{TYPESCRIPT}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1",
                               f"typescript@{TYPESCRIPT}"], capture_output=True, text=True, timeout=280, check=False, cwd=folder)
        if done.returncode:
            pytest.skip(f"typescript can't be had from npm: {done.stderr[-200:]}")
        (folder / "done").touch()
    return folder / "node_modules/typescript/bin/tsc"


@pytest.fixture(scope="module")
def built(compiler, public):
    """The package as it would be installed; its types are checked, strictly, when it is made."""
    folder = public / "node_modules/ringfort"
    done = subprocess.run(["node", compiler, "-p", SDK, "--outDir", folder / "dist"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    shutil.copy(SDK / "package.json", folder)
    shutil.copy(SDK / "tests/live.mjs", folder)
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
                          env={"PATH": os.environ["PATH"], "RINGFORT_KEY": server.key, "RINGFORT_URL": f"http://127.0.0.1:{server.port}", **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USE = """
import { CommandError, Result, Sandbox } from "ringfort";
await using box = await Sandbox.create({ timeoutMs: 1000, labels: { a: "b" } });
const text: string = await box.files.read("/a");
const bytes: Uint8Array = await box.files.read("/a", { format: "bytes" });
const result: Result = await box.commands.run("ls", { onStdout: (line) => void line.length });
const number: number = (await box.commands.run("ls", { background: true })).pid;
// @ts-expect-error: there is no such option
await box.commands.run("ls", { odd: true });
try { result.check(); } catch (error) { if (error instanceof CommandError) error.result.exitCode; }
export { bytes, number, text };
"""


def test_its_types_hold_for_who_uses_it(compiler, built, public):
    (public / "use.ts").write_text(USE)
    done = subprocess.run(["node", compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler",
                           "--lib", "es2022,esnext.disposable,dom", "--types", "", "use.ts"], cwd=public, capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0, done.stdout


def test_it_does_what_it_says(server, built):
    out = node(server, built, built / "live.mjs", built / "dist/index.js", OTHER_KEY=server.make_key("--tenant", "other"), NO_KEY="1",
               SLOW_KEY=server.make_key("--rate", "1"), NOWHERE=f"http://127.0.0.1:{free_port()}")
    assert out == "all is well\n"


def test_it_goes_by_the_user_on_a_unix_socket(server, built):
    url = f"unix:{server.runtime}/ringfort/api.sock"
    assert node(server, built, built / "live.mjs", built / "dist/index.js", who="user", RINGFORT_URL=url, RINGFORT_KEY="") == "all is well\n"


def test_the_front_page_works_as_pasted(compiler, server, built, public):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (public / "front.mts").write_text(text.split("```ts\n", 1)[1].split("```", 1)[0])
    done = subprocess.run(["node", compiler, "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib",
                           "es2022,esnext.disposable,dom", "--types", "", "front.mts"], cwd=public, capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stdout
    assert node(server, public, public / "front.mjs") == "42\n\n"
    assert json.loads(server.get("/v1/sandboxes").body)["sandboxes"] == []


def test_its_page_works_as_pasted(server, built, public):
    code = (SDK / "README.md").read_text().split("```js\n", 1)[1].split("```", 1)[0]
    page = public / "page.mjs"
    page.write_text(code)
    assert node(server, public, page) == "42\n\ndone\n\nhello\n"


PAGE = """<!doctype html><script type="module">
import * as ringfort from "/dist/index.js";
import { check } from "/live.mjs";
const { url, key, other } = await (await fetch("/options")).json();
const said = await check(ringfort, { url, key }, { other, none: true }).catch((error) => `${error.stack ?? error}`);
await fetch("/said", { method: "POST", body: said });
</script>"""


def test_it_works_in_a_page(server, built, page_port):
    if not shutil.which("chromium"):
        pytest.skip("there is no Chromium")
    options = {"url": f"http://127.0.0.1:{server.port}", "key": server.key, "other": server.make_key("--tenant", "page")}
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
    assert said == ["all is well"]
