"""The Python SDK, against the real server: with httpx from PyPI, in a place of its own beneath build/."""
import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import become  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk/python"


@pytest.fixture(scope="session")
def python():
    venv = ROOT / "build/sdk-python"
    if not (venv / "bin/mypy").exists():
        made = subprocess.run(["/usr/bin/python3", "-m", "venv", venv], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no venv can be made: {made.stderr[-200:]}")
        done = subprocess.run([venv / "bin/pip", "-q", "install", "--no-input", "--retries", "1", "httpx", "mypy"],
                              capture_output=True, text=True, timeout=280, check=False)
        if done.returncode:
            pytest.skip(f"httpx and mypy can't be had from PyPI: {done.stderr[-200:]}")
    return venv / "bin/python"


@pytest.fixture(scope="module")
def server(ringfort, public):
    with Server(ringfort, "user", public / "sdk") as there:
        yield there


def run(python, server, workdir, *words, before=(), **env):
    done = subprocess.run([*before, python, "-B", *words], cwd=workdir, capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SDK), "RINGFORT_KEY": server.key,
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
        assert run(python, server, workdir, SDK / "tests/live.py", kind, OTHER_KEY=other, SLOW_KEY=rate, NET_KEY=open_key,
                   NET_PORT=str(port)) == "all is well\n"


def test_its_page_works_as_pasted(python, server, workdir):
    text = (SDK / "README.md").read_text()
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    assert run(python, server, workdir, "-c", code) == "42\n\ndone\n\nhello\n"


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


class Flaky:
    """Stands before a server, and cuts the first connections: at once, or when it has heard the request."""
    def __init__(self, port, cuts, hears):
        self.port, self.cuts, self.hears, self.seen = port, cuts, hears, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            if self.seen <= self.cuts:
                if self.hears:
                    client.recv(65536)
                client.close()
                continue
            there = socket.create_connection(("127.0.0.1", self.port))
            for one, other in ((client, there), (there, client)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_what_was_lost_is_asked_again_unless_it_could_be_done_twice(python, server, workdir):
    code = ("import ringfort, sys\ntry:\n print(%s)\n"
            "except ringfort.Unreachable as error: print('lost', error.was_sent)")
    listing, running = code % "len(ringfort.Sandbox.list()) - 1", code % "ringfort.run(['echo', 'x']).stdout.strip()"
    box = json.loads(server.post("/v1/sandboxes", {}).body)["id"]
    inside = ("import os; os.environ['RINGFORT_URL'], flaky = 'http://127.0.0.1:%d', os.environ['RINGFORT_URL']\nimport ringfort\n"
              "one = ringfort.Sandbox('%s', ringfort._sync._Line(flaky, None, None, 2))\ntry:\n print(one.commands.run('echo x').stdout)\n"
              "except ringfort.Unreachable as error: print('lost', error.was_sent)") % (server.port, box)
    for words, cuts, said, seen in ((listing, 2, "0\n", 3), (listing, 9, "lost True\n", 3), (running, 2, "x\n", 3), (inside, 1, "lost True\n", 1)):
        flaky = Flaky(server.port, cuts, True)
        url = f"http://127.0.0.1:{flaky.listener.getsockname()[1]}"
        assert run(python, server, workdir, "-c", words, RINGFORT_URL=url) == said
        assert flaky.seen == seen
        flaky.listener.close()
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
