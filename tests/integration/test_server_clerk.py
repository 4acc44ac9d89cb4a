"""The server's clerk: does what takes rights, for whom the connection is, and is replaced when it dies."""
import os
import pathlib
import signal
import sys
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

# What handles files of any uid, and nothing that reaches processes, the network or mounts.
FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 27 | 1 << 31


@pytest.fixture
def server(ringfort, as_who, public):
    with Server(ringfort, as_who, public / f"clerk-{as_who}-{time.monotonic_ns()}") as one:
        yield one


def test_a_key_is_told_what_it_is_good_for(server):
    key = server.make_key("--tenant", "acme", "--scope", "read", "--boxes", "3", "--rate", "60")
    told = server.get("/v1/key", key=key)
    assert told.status == 200, told.body
    assert told.json["id"] == key.split("_")[1] and told.json["tenant"] == "acme"
    assert told.json["scopes"] == ["read"] and told.json["boxes"] == 3 and told.json["rate"] == 60
    assert "network" in told.json["ceiling"]
    assert server.get("/v1/key").json["rate"] is None
    assert server.get("/v1/key", key="").status == 401
    assert server.local("print(ask('GET', '/v1/key')[1].decode())").stdout.count('"tenant": "local"') == 1


def test_a_clerk_that_dies_is_replaced_for_every_key(server):
    keys = [server.key, server.make_key("--tenant", "acme")]
    assert [server.get("/v1/key", key=key).status for key in keys] == [200, 200]
    old = server.children()["ringfort-clerk"][0]
    os.kill(old, signal.SIGKILL)
    server.read_until("ringfort-clerk has ended, and is started anew")
    assert eventually(lambda: [server.get("/v1/key", key=key).status for key in keys] == [200, 200], 20)
    assert server.get("/v1/key", key=keys[1]).json["tenant"] == "acme"
    assert server.children()["ringfort-clerk"] != [old]


def test_it_keeps_few_rights_and_ends_with_the_server(server, as_who):
    clerk = server.children()["ringfort-clerk"][0]
    status = pathlib.Path(f"/proc/{clerk}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    assert int(fields["CapPrm"], 16) & ~FILES == 0 and int(fields["CapBnd"], 16) & ~FILES == 0 or as_who == "user"
    assert int(fields["CapEff"], 16) & ~FILES == 0 and int(fields["CapInh"], 16) == 0
    server.end()
    assert eventually(lambda: not pathlib.Path(f"/proc/{clerk}").exists(), 10)
