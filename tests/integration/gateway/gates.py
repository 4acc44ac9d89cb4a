"""Fixtures of the tests that drive a gateway by its protocol: the program, servers behind it, boxes, and a client or two."""
import os
import pathlib
import socket
import subprocess

import pytest

from origins import Nginx, Odd
from tenant import Tenant


@pytest.fixture(scope="module")
def program(ringfort):
    path = os.environ.get("RINGFORT_GATEWAY", str(pathlib.Path(ringfort).parent / "ringfort-gateway"))
    if not os.path.exists(path):
        pytest.skip("ringfort-gateway is not built here")
    return path


@pytest.fixture(scope="module")
def nginx():
    server = Nginx()
    yield server
    server.close()


@pytest.fixture
def odd():
    servers = []

    def make(how):
        servers.append(Odd(how))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def gate(program):
    """Makes a gateway with one box; all are closed, and must end well."""
    made = []

    def make(allow=("api.example",), hosts=None, **more):
        network = {"allow": list(allow), **more}
        if hosts:
            network["hosts"] = hosts
        made.append(Tenant(program, {"version": 1, "network": network}))
        return made[-1]

    yield make
    for tenant in made:
        if tenant.process.poll() is None:
            assert tenant.close() == 0


def to(server):
    return {"api.example": f"127.0.0.1:{server.port}"}


def curl(gateway, url, *more, way="http", timeout=20):
    done = subprocess.run(["curl", "-sS", "-m", "15", "-o", "-", "-w", "\n%{http_code}", "-x", f"{way}://127.0.0.1:{gateway.proxy}",
                           *more, url], capture_output=True, timeout=timeout, check=False)
    body, _, status = done.stdout.rpartition(b"\n")
    return done.returncode, int(status or 0), body


def ask(gateway, data, timeout=5, port=None):
    """Sends bytes to the proxy; all that comes back until the end or the time."""
    with socket.create_connection(("127.0.0.1", port or gateway.proxy)) as connection:
        connection.settimeout(timeout)
        connection.sendall(data)
        got = b""
        try:
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return got
                got += piece
        except (TimeoutError, ConnectionError):
            return got
