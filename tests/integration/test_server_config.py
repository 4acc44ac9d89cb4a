"""What a server's file says: checked at start as a policy is, and what it comes to."""
import configparser
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import IS_ROOT, USER_ID, become  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging/systemd/ringfort-server.service"


@pytest.fixture
def check(ringfort, as_who, public):
    """`ringfort serve --check` with that file."""
    def run(text, *options, mode=0o644):
        folder = public / f"config-{as_who}-{time.monotonic_ns()}"
        folder.mkdir(mode=0o755)
        path = folder / "ringfort.yaml"
        path.write_text(text)
        path.chmod(mode)
        if IS_ROOT and as_who == "user":
            os.chown(folder, USER_ID, USER_ID)
            os.chown(path, USER_ID, USER_ID)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        return subprocess.run([*become(as_who), ringfort, "serve", "--check", f"--config={path}", *options], env=env, cwd="/",
                              capture_output=True, text=True, timeout=60, check=False)
    return run


def test_what_a_file_comes_to_is_told(check):
    done = check("listen: ['127.0.0.1:0']\nhosts: boxes.example\norigins: [https://ui.example]\ngrace: 1m\n")
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1:0" in done.stdout and "boxes.example" in done.stdout and "60s" in done.stdout


@pytest.mark.parametrize("text, says", [
    ("listne: [x]", ["line 1, column 1", "listne", "listen"]),
    ("tls:\n  crt: /x\n", ["line 2, column 3", "tls.crt", "cert"]),
    ("grace: never", ["line 1, column 8", "grace"]),
    ("listen: ['127.0.0.1:99999']", ["99999"]),
    ("tls: {cert: /nowhere/c.pem, key: /nowhere/k.pem}\nlisten: ['127.0.0.1:0']", ["/nowhere/c.pem"]),
    ("tls: {cert: /c.pem}", ["tls.key"]),
    ("webhooks: [{url: 'http://127.0.0.1:1/', secret: 'file:/nowhere/s'}]", ["/nowhere/s"]),
    ("webhooks: [{url: 'http://127.0.0.1:1/', secret: hunter2}]", ["never written here"]),
    ("a: &x 1", ["line 1"]),
])
def test_what_is_wrong_is_told_with_its_place(check, text, says):
    done = check(text)
    assert done.returncode == 125
    for words in says:
        assert words in done.stderr, done.stderr


def test_a_file_that_others_could_change_is_not_used(check):
    done = check("grace: 1m", mode=0o666)
    assert done.returncode == 125 and "others" in done.stderr


def test_a_port_that_is_taken_is_told(check, ringfort, as_who, public):
    with Server(ringfort, as_who, public / f"taken-{as_who}-{time.monotonic_ns()}") as server:
        done = check(f"listen: ['127.0.0.1:{server.port}']")
        assert done.returncode == 125 and str(server.port) in done.stderr


def test_a_server_serves_as_its_file_says(ringfort, as_who, public):
    path = public / f"serves-{as_who}-{time.monotonic_ns()}.yaml"
    path.write_text(json.dumps({"origins": ["https://ui.example"], "hosts": ["boxes.example"]}))
    path.chmod(0o644)
    with Server(ringfort, as_who, path.with_suffix(""), f"--config={path}") as server:
        assert server.get("/v1/version", headers={"Host": "boxes.example"}).status == 200
        assert server.get("/v1/version", headers={"Host": "other.example"}).status == 403
        told = server.get("/v1/version", headers={"Origin": "https://ui.example"})
        assert told.headers["Access-Control-Allow-Origin"] == "https://ui.example"


def test_the_unit_of_the_machine_s_server_is_one(ringfort):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    service = unit["Service"]
    assert service["Delegate"] == "yes" and service["ProtectSystem"] == "strict"
    assert "--config /etc/ringfort/ringfort.yaml" in service["ExecStart"]
    if shutil.which("systemd-analyze"):
        copy = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"unit-{time.monotonic_ns()}"
        copy.mkdir()
        try:
            text = UNIT.read_text().replace("ExecStart=ringfort", f"ExecStart={ringfort}") \
                .replace("ExecStartPre=ringfort", f"ExecStartPre={ringfort}")
            (copy / UNIT.name).write_text(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy / UNIT.name)], capture_output=True,
                                  text=True, timeout=60, check=False)
            wrong = [line for line in (done.stdout + done.stderr).splitlines() if UNIT.name in line]
            assert not wrong, wrong
        finally:
            shutil.rmtree(copy)
