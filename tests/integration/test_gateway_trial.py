"""Requests of a trial run, at the gateway: what only reads passes, what writes is held, and what can't be held is refused."""
import os
import pathlib
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from gates import curl, nginx, odd, program  # noqa: E402,F401 pylint: disable=unused-import
from origins import read_head  # noqa: E402
from tenant import Tenant  # noqa: E402


@pytest.fixture
def trial(program, nginx):
    """Makes a gateway with the box of a trial run; all are closed, and must end well."""
    made = []

    def make(allow=("api.example",), hosts=None):
        hosts = {"api.example": f"127.0.0.1:{nginx.port}", **(hosts or {})}
        made.append(Tenant(program, {"version": 1, "network": {"allow": list(allow), "hosts": hosts}}, holds_writes=True))
        return made[-1]

    yield make
    for tenant in made:
        if tenant.process.poll() is None:
            assert tenant.close() == 0


def test_writes_are_held_in_a_trial_run(trial, nginx):
    gateway = trial()
    before = len(nginx.requests())
    assert curl(gateway, "http://api.example/")[1] == 200
    assert [curl(gateway, "http://api.example/x", "-X", method)[1] for method in ("POST", "PUT", "PATCH", "DELETE")] == [202] * 4
    assert len(nginx.requests()) == before + 1
    assert [event["method"] for event in gateway.finish() if event["verdict"] == "held"] == ["POST", "PUT", "PATCH", "DELETE"]
    assert len(gateway.held) == 4
    assert b"POST /x HTTP/1.1\r\nHost: api.example\r\n" in gateway.held[0]


def test_what_could_write_unseen_is_refused_in_a_trial_run(trial, odd):
    server = odd(lambda connection: connection.sendall(connection.recv(10)))
    gateway = trial(allow=["api.example", "raw.example:7777"], hosts={"raw.example": f"127.0.0.1:{server.port}"})
    upgrade = ["-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Key: x", "-H", "Sec-WebSocket-Version: 13"]
    assert curl(gateway, "http://api.example/", *upgrade)[1] == 403
    assert curl(gateway, "http://api.example/", "-H", "Content-Length: 1048577", "-X", "POST")[1] == 413
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as tunnel:  # bytes that are no HTTP
        tunnel.settimeout(5)
        tunnel.sendall(b"CONNECT raw.example:7777 HTTP/1.1\r\nHost: raw.example:7777\r\n\r\n")
        read_head(tunnel)
        tunnel.sendall(b"\x00hi")
        try:
            assert tunnel.recv(10) == b""
        except ConnectionResetError:
            pass
    assert server.count == 0


def test_a_trial_run_can_hold_so_much_and_no_more(trial, nginx):
    gateway = trial()
    with socket.create_connection(("127.0.0.1", gateway.proxy)) as connection:
        connection.settimeout(10)
        statuses = []
        for _ in range(258):
            connection.sendall(b"DELETE http://api.example/x HTTP/1.1\r\nHost: api.example\r\n\r\n")
            answer = read_head(connection)
            while not answer.endswith(b"\n}\n") and not answer.endswith(b"}}\n"):
                answer += connection.recv(4096)
            statuses.append(int(answer.split()[1]))
            gateway.poll()
    assert statuses == [202] * 256 + [503] * 2
