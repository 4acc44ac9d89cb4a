"""The Python SDK, against the real server: with httpx from PyPI, in a place of its own beneath build/."""
import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fetched  # noqa: E402
from flaky import Flaky  # noqa: E402
from servers import Server  # noqa: E402
from wardens import become  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk/python"


@pytest.fixture(scope="session")
def python():
    return fetched.venv(ROOT / "build/sdk-python", "httpx", "mypy", "hatchling") / "python"


@pytest.fixture(scope="module")
def server(ringfort, public):
    with Server(ringfort, "user", public / "sdk") as there:
        yield there


def run(python, server, workdir, *words, before=(), **env):
    done = subprocess.run([*before, python, "-B", *words], cwd=workdir, capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SDK), "ECHO": str(ROOT / "tests/echo_websocket.py"), "RINGFORT_KEY": server.key,
                               "RINGFORT_URL": f"http://127.0.0.1:{server.port}", **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def files_of_the_host(folder):
    """A server of files on a free port."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        try:
            yield there.server_address[1]
        finally:
            there.shutdown()


@contextlib.contextmanager
def elsewhere():
    """A server to which nothing may lead; gives its address, and what it was asked."""
    asked = []

    class Anything(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.command, self.path, dict(self.headers)))
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Anything) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{there.server_address[1]}/taken", asked
        finally:
            there.shutdown()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_it_does_what_it_says(python, server, workdir, kind):
    other = server.make_key("--tenant", "other")
    rate = server.make_key("--rate", "1")
    with files_of_the_host(workdir) as port:
        ceiling = server.runtime / f"ceiling-{kind}.yaml"
        ceiling.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": {
            "allow": ["plain.test:*"], "hosts": {"plain.test": f"127.0.0.1:{port}"}}}))
        ceiling.chmod(0o644)
        open_key = server.make_key("--tenant", f"net-{kind}", "--ceiling", str(ceiling))
        admin = server.make_key("--tenant", f"net-{kind}", "--scope", "admin")
        with elsewhere() as (place, asked):
            assert run(python, server, workdir, SDK / "tests/live.py", kind, OTHER_KEY=other, SLOW_KEY=rate, NET_KEY=open_key,
                       ADMIN_KEY=admin, NET_PORT=str(port), ELSEWHERE=place) == "all is well\n"
        assert not asked


def key_to(server, host, tenant, *options):
    """A key whose boxes may reach a host, where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ceiling = server.runtime / f"ceiling-{tenant}.yaml"
    ceiling.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": {
        "allow": [host], "hosts": {host: f"127.0.0.1:{port}"}}}))
    ceiling.chmod(0o644)
    return server.make_key("--tenant", tenant, "--ceiling", str(ceiling), *options)


# What the examples of its page print, in their order.
EXAMPLES = ["42\n\ndone\n\nhello\n", "got one\ngot two\nok\n", "True True\n", "/tmp/site/log True\n200 served\n", "True\none\n",
            "['a.txt']\nadded\ntwo\n",
            "POST http://api.example.com:80/notes b'hello'\napproved\nasked\nallow\n"]


def test_its_page_works_as_pasted(python, server, workdir):
    blocks = re.findall(r"^```python\n(.*?)^```", (SDK / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == len(EXAMPLES)
    decides = key_to(server, "api.example.com", "page", "--scope", "run,admin")
    for number, (code, said) in enumerate(zip(blocks, EXAMPLES)):
        assert run(python, server, workdir, "-c", code, RINGFORT_KEY=decides if "Approvals" in code else server.key) == said
        (workdir / f"page_{number}.py").write_text(code)
    done = subprocess.run([python, "-m", "mypy", "--strict", f"--cache-dir={ROOT}/build/sdk-mypy", *workdir.glob("page_*.py")], cwd=workdir,
                          capture_output=True, text=True, timeout=280, check=False, env={**os.environ, "MYPYPATH": str(SDK)})
    assert done.returncode == 0, done.stdout


def test_it_minds_servers_that_misbehave(python, server, workdir):
    assert run(python, server, workdir, SDK / "tests/unit.py", RINGFORT_KEY="k") == "all is well\n"


def test_the_client_without_a_loop_is_made_from_the_other():
    done = subprocess.run([sys.executable, "-B", SDK / "make_sync.py", "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


WHO = "import ringfort; print(ringfort.run(['echo', 'hi']).stdout, end='')"


def test_it_goes_by_the_socket_of_its_user_without_a_key(python, server, workdir):
    said = run(python, server, workdir, "-c", WHO, before=become("user"), RINGFORT_KEY="",
               RINGFORT_URL=f"unix:{server.runtime}/ringfort/api.sock")
    assert said == "hi\n"


def test_it_goes_by_tls_to_who_proves_to_be_it(python, ringfort, public, workdir):
    folder = public / "sdk-tls"
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=folder, check=True, capture_output=True)
    (folder / "key.pem").chmod(0o644)
    folder.chmod(0o755)
    with Server(ringfort, "user", public / "sdk-tls-server", "--tls-cert", str(folder / "cert.pem"), "--tls-key",
                str(folder / "key.pem")) as safe:
        url = f"https://localhost:{safe.port}"
        assert run(python, safe, workdir, "-c", WHO, RINGFORT_URL=url, RINGFORT_CA=str(folder / "cert.pem")) == "hi\n"
        refused = ("import ringfort\ntry:\n ringfort.run(['true'])\nexcept ringfort.Unreachable as error: print('CERTIFICATE' in error.message)")
        assert run(python, safe, workdir, "-c", refused, RINGFORT_URL=url) == "True\n"


def test_what_was_lost_is_asked_again_unless_it_could_be_done_twice(python, server, workdir):
    code = ("import ringfort, sys\ntry:\n print(%s)\n"
            "except ringfort.Unreachable as error: print('lost', error.was_sent)")
    listing, running = code % "len(ringfort.Sandbox.list()) - 1", code % "ringfort.run(['echo', 'x']).stdout.strip()"
    box = json.loads(server.post("/v1/sandboxes", {}).body)["id"]
    inside = ("import os; os.environ['RINGFORT_URL'], flaky = 'http://127.0.0.1:%d', os.environ['RINGFORT_URL']\nimport ringfort\n"
              "one = ringfort.Sandbox('%s', ringfort._sync.line.Line(flaky, None, None, 2))\ntry:\n print(one.commands.run('echo x').stdout)\n"
              "except ringfort.Unreachable as error: print('lost', error.was_sent)") % (server.port, box)
    for words, cuts, said, seen in ((listing, 2, "0\n", 3), (listing, 9, "lost True\n", 3), (running, 2, "x\n", 3), (inside, 1, "lost True\n", 1)):
        with Flaky(server.port, cuts) as flaky:
            assert run(python, server, workdir, "-c", words, RINGFORT_URL=flaky.url) == said
            assert flaky.seen == seen
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        assert run(python, server, workdir, "-c", running, RINGFORT_URL=f"http://127.0.0.1:{nobody.getsockname()[1]}") == "lost False\n"
    assert server.ask("DELETE", f"/v1/sandboxes/{box}").status == 204


def front_page(language):
    """The block in a language that speaks of the server, from README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return next(block for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S) if "box" in block)


def test_the_front_page_works_as_pasted(python, server, workdir):
    assert run(python, server, workdir, "-c", front_page("python")) == "42\n\n"
    done = subprocess.run(["sh", "-i"], input=front_page("sh"), cwd=workdir, capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": os.environ["PATH"], "PS1": "", "RINGFORT_KEY": server.key,
                               "RINGFORT_URL": f"http://127.0.0.1:{server.port}"})
    answer, = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert (answer["status"], answer["stdout"]) == ("ok", "42\n"), done.stderr
    assert json.loads(server.get("/v1/sandboxes").body)["sandboxes"] == []


def test_its_types_hold(python):
    done = subprocess.run([python, "-m", "mypy", "--strict", f"--cache-dir={ROOT}/build/sdk-mypy", "ringfort"], cwd=SDK, capture_output=True,
                          text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout


def test_what_is_published_is_what_is_meant(python, workdir):
    folder = workdir / "sdk"
    shutil.copytree(SDK, folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([python.parent / "hatchling", "build"], cwd=folder, check=True, capture_output=True, timeout=100)
    wheel, = (folder / "dist").glob("*.whl")
    modules = {str(path.relative_to(SDK)) for path in (SDK / "ringfort").rglob("*") if path.suffix in (".py", ".typed")}
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        about = packed.read("ringfort-0.1.0.dist-info/METADATA").decode()
    assert {name for name in names if ".dist-info/" not in name} == modules and "ringfort/py.typed" in names
    assert "ringfort-0.1.0.dist-info/licenses/LICENSE" in names
    for line in ("License-Expression: Apache-2.0", "Requires-Python: >=3.9", "Requires-Dist: httpx>=0.24", "Classifier: Typing :: Typed"):
        assert line in about.splitlines(), about
    archive, = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        top = {name.split("/")[1] for name in packed.getnames()}
    assert top == {"ringfort", "tests", "make_sync.py", "README.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
    assert (SDK / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
