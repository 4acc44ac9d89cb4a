"""The server's clerk: does what takes rights, for whom the connection is, and is replaced when it dies."""
import fcntl
import os
import pathlib
import resource
import signal
import sys
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import IS_ROOT, USER_ID  # noqa: E402

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


# --- what a killed one left ---

REST = "0123456789abcdef"


def leave(server):
    """Half-made and half-removed workspaces, such as a clerk that is killed leaves; and what only looks like them."""
    folder = server.state / "tenants/t-left"
    victim = server.state / "victim"
    for path in (folder / f".gone-{REST}/tree/files/deep", folder / f".new-{REST}/tree", folder / ".new-mine", folder / "named", victim):
        path.mkdir(parents=True, exist_ok=True)
    for name in (".usage-4711", ".usage-mine"):
        (folder / name).write_text("1 1\n")
    (victim / "file").write_text("stays")
    (folder / f".gone-{REST}/tree/link").symlink_to("../../../../victim")
    (folder / f".gone-fedc{REST[4:]}").symlink_to("../../victim")
    (folder / f".gone-{REST}/tree/files/deep").chmod(0)
    if IS_ROOT and server.who == "user":
        for path in (server.state / "tenants", folder, *folder.rglob("*"), victim, victim / "file"):
            os.chown(path, USER_ID, USER_ID, follow_symlinks=False)
    return folder, victim


def restart_clerk(server):
    old = server.children()["ringfort-clerk"]
    os.kill(old[0], signal.SIGKILL)
    assert eventually(lambda: server.children().get("ringfort-clerk") not in (None, old), 20)
    assert eventually(lambda: server.get("/v1/key").status == 200, 20)


def test_what_a_killed_clerk_left_of_workspaces_goes_with_the_next(server):
    folder, victim = leave(server)
    restart_clerk(server)
    known = {".used", ".usage"}  # of those that count: what was there counts no more
    assert eventually(lambda: {*os.listdir(folder)} - known == {".new-mine", ".usage-mine", "named"}, 20), os.listdir(folder)
    assert (victim / "file").read_text() == "stays"


def test_more_than_a_clerk_may_have_open_goes_too(server):
    folder, _ = leave(server)
    for number in range(400):
        path = folder / f".new-{number:016x}"
        path.mkdir()
        if IS_ROOT and server.who == "user":
            os.chown(path, USER_ID, USER_ID)
    clerk = server.children()["ringfort-clerk"][0]
    keeper = int(pathlib.Path(f"/proc/{clerk}/stat").read_text().rpartition(")")[2].split()[1])
    before = resource.prlimit(keeper, resource.RLIMIT_NOFILE)
    try:
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, (256, before[1]))
        restart_clerk(server)
    finally:
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, before)
    assert eventually(lambda: not [*folder.glob(".new-0*")], 20), len([*folder.glob(".new-0*")])


def test_what_another_clerk_may_have_in_its_hands_is_left_alone(server):
    folder, _ = leave(server)
    held = os.open(server.state / "tenants", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        restart_clerk(server)
        time.sleep(0.5)
        assert (folder / f".gone-{REST}").exists() and (folder / f".new-{REST}").exists()
    finally:
        os.close(held)
    restart_clerk(server)
    assert eventually(lambda: not (folder / f".gone-{REST}").exists(), 20)
