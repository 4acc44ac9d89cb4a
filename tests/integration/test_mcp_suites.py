"""Others' programs that speak the Model Context Protocol: its conformance suite, and its Inspector, both from npm."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "gateway"))
import fetched  # noqa: E402
from origins import free_port  # noqa: E402
from servers import Server  # noqa: E402

CONFORMANCE = "0.2.0-alpha.12"
INSPECTOR = "2.12.0"
NODE = "22.23.3"  # both need a newer one than Debian's
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}  # scenarios of the suite


@pytest.fixture(scope="session")
def packages():
    return fetched.npm(f"mcp-{CONFORMANCE}-{INSPECTOR}-{NODE}", f"@modelcontextprotocol/conformance@{CONFORMANCE}",
                       f"@modelcontextprotocol/inspector@{INSPECTOR}", f"node@{NODE}")


@pytest.fixture(scope="module")
def server(ringfort, public):
    with Server(ringfort, "user", public / "inspected") as there:
        yield there


@pytest.fixture(scope="module")
def fixtures(ringfort, public):
    """A server whose front has the tools that the suite asks for, behind an nginx that has its key: the suite has none."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is not there")
    folder = public / "fixtures"
    folder.mkdir()
    for program in pathlib.Path(ringfort).parent.glob("ringfort*"):
        os.link(program, folder / program.name)
    os.replace(folder / "ringfort-front-fixtures", folder / "ringfort-front")
    port = free_port()
    with Server(str(folder / "ringfort"), "user", folder / "place", f"--origin=http://127.0.0.1:{port}") as server:
        conf = folder / "nginx.conf"
        conf.write_text(PROXY.format(folder=folder, port=port, server=server.port, key=server.key))
        with subprocess.Popen(["nginx", "-p", folder, "-c", conf], stderr=subprocess.DEVNULL) as nginx:
            try:
                assert eventually(lambda: is_open(port), 20)
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                nginx.terminate()
    shutil.rmtree(folder, ignore_errors=True)


PROXY = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1; events {{}}
http {{
    access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{server}; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host $http_host; proxy_set_header Authorization "Bearer {key}";
        }}
    }}
}}
"""


def is_open(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@pytest.mark.others
@pytest.mark.parametrize("version", REQUIRED)
def test_the_conformance_suite_finds_nothing(fixtures, packages, workdir, version):
    done = subprocess.run([packages / ".bin/node", packages / "@modelcontextprotocol/conformance/dist/index.js", "server", "--url", fixtures,
                           "--requirements", version, "-o", "out"], cwd=workdir, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    scored, _, _ = done.stdout.partition("Not scored")
    summary = scored[scored.index("=== SUMMARY ==="):]
    required = json.loads(subprocess.run([packages / ".bin/node", "-e", READ_SET, packages, version], capture_output=True, text=True,
                                         check=True).stdout)
    passed = set(re.findall(r"\u2713 ([a-z0-9-]+):", summary))
    assert len(required) == REQUIRED[version] and set(required) <= passed, set(required) - passed


READ_SET = """
const [folder, version] = process.argv.slice(1);
const text = require('fs').readFileSync(`${folder}/@modelcontextprotocol/conformance/requirements/${version}.yaml`, 'utf8');
console.log(JSON.stringify(require(`${folder}/yaml`).parse(text).server));
"""


@pytest.mark.others
@pytest.mark.parametrize("carrier", ["http", "stdio"])
def test_the_inspector_uses_it(server, packages, workdir, carrier):
    words = ["env", "-i", *(f"{name}={value}" for name, value in server.env.items()), *server.before, server.ringfort, "mcp"]
    target = words if carrier == "stdio" else [f"http://127.0.0.1:{server.port}/mcp", "--transport", "http", "--header",
                                               f"Authorization: Bearer {server.key}"]

    def inspect(*more):
        # What is for the server's command line stands behind two dashes.
        line = [*target, *more] if carrier == "http" else [*more, "--", *target]
        return subprocess.run([packages / ".bin/node", packages / ".bin/mcp-inspector", "--cli", *line], cwd=workdir, text=True,
                              capture_output=True, timeout=100, check=False, env={**os.environ, "HOME": str(workdir)})

    listed = inspect("--method", "tools/list")
    assert listed.returncode == 0, listed.stderr + listed.stdout
    assert {"run_code", "create_sandbox"} <= {tool["name"] for tool in json.loads(listed.stdout)["tools"]}
    called = inspect("--method", "tools/call", "--tool-name", "run_command", "--tool-arg", "command=echo hi")
    assert json.loads(called.stdout)["structuredContent"]["stdout"] == "hi\n", called.stdout + called.stderr
    wrong = inspect("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "sandbox=none", "path=/x")
    assert wrong.returncode == 5, wrong.stdout + wrong.stderr
