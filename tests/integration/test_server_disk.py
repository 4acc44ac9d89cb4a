"""The disk that tenants' workspaces lie on: space is not taken unseen, and whoever fills the disk is stopped before it is full."""
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import IS_ROOT, USER_ID, Server  # noqa: E402

pytestmark = [pytest.mark.usefixtures("as_who"), pytest.mark.skipif(not IS_ROOT, reason="needs root, to mount a disk")]

BOXES = "/v1/sandboxes"
MIB = 2**20
CLAIM = ("import ctypes, os; fd = os.open('/work/f', 66); libc = ctypes.CDLL(None, use_errno=True); "
         "print(libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(1200 << 20)), os.strerror(ctypes.get_errno()), os.fstat(fd).st_blocks)")
FILL = "while head -c 1M /dev/zero; do :; done > /work/fill; sleep 30"


@contextlib.contextmanager
def disk(server, size):
    """The server's state lies on an ext4 of so many MiB."""
    image = server.runtime / "image"
    state = "/var/lib/ringfort" if server.space >= 0 else str(server.runtime / "state/ringfort")
    enter = server.before if server.space >= 0 else []
    owner = 0 if server.space >= 0 else USER_ID
    with open(image, "wb") as file:
        os.truncate(file.fileno(), size * MIB)
    server.end()
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-E", f"root_owner={owner}:{owner},lazy_itable_init=0", image], check=True)
    subprocess.run([*enter, "mount", "-o", "loop", image, state], check=True)
    try:
        subprocess.run([*enter, "rmdir", f"{state}/lost+found"], check=True)
        subprocess.run([*enter, "chmod", "700", state], check=True)
        server.start()
        yield server
    finally:
        server.end()
        subprocess.run([*enter, "umount", "-l", state], check=True)
        image.unlink()


@contextlib.contextmanager
def serve(ringfort, who, public, name, *options):
    with Server(ringfort, who, public / f"disk-{who}-{name}", *options) as made, disk(made, 300):
        yield made


@pytest.fixture
def server(ringfort, public, as_who, request):
    with serve(ringfort, as_who, public, abs(hash(request.node.name)) % 10**6) as made:
        yield made


def left(server):
    fs = os.statvfs(server.state)
    return fs.f_bavail * fs.f_frsize // MIB


def run(server, command, **more):
    name = f"w{time.monotonic_ns()}"
    assert server.post("/v1/workspaces", {"name": name}).status == 201
    done = server.post("/v1/run", {"command": command, "workspace": {"name": name}, "limits": {"disk": "250M"}, **more}, timeout=60)
    assert done.status == 200, done.body
    return done.json


def test_a_tenant_claims_no_space_without_writing_it(server):
    result = run(server, f'python3 -c "{CLAIM}"', limits={"disk": "20M"})
    assert result["stdout"] == "-1 Operation not supported 0\n", result
    assert left(server) > 200


def test_the_limit_of_one_box_holds_in_its_workspace(server):
    before = left(server)
    result = run(server, "head -c 150M /dev/zero > /work/big; sleep 30", limits={"disk": "8M"})
    assert result["status"] == "disk" and result["limits_hit"] == ["disk"], result
    # Sampled: what is written between two looks is more than the limit, and far less than was tried.
    assert before - left(server) < 100, left(server)
    box = server.post(BOXES, {"workspace": {}, "limits": {"disk": "8M"}}).json["id"]
    between = left(server)
    server.post(f"{BOXES}/{box}/exec", {"command": "head -c 150M /dev/zero > /work/big; sleep 30", "timeout": 20}, timeout=60)
    deadline = time.monotonic() + 10
    while server.get(f"{BOXES}/{box}").status != 404 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert server.get(f"{BOXES}/{box}").status == 404
    assert between - left(server) < 100, left(server)


def test_a_box_that_fills_the_disk_is_stopped_before_it_is_full(server):
    quiet = server.post(BOXES, {"workspace": {}}).json["id"]
    assert server.post(f"{BOXES}/{quiet}/exec", {"command": "head -c 2M /dev/zero > /work/mine"}).json["exit_code"] == 0
    first = run(server, "head -c 100M /dev/zero > /work/some; echo well")
    assert (first["status"], first["stdout"]) == ("ok", "well\n"), first
    assert left(server) > 100
    result = run(server, FILL)
    assert result["status"] == "disk" and result["limits_hit"] == ["disk"], result
    assert any("nearly full" in text for text in result["warnings"]), result["warnings"]
    assert 16 < left(server) < 70, left(server)
    # Who did not fill it goes on, and what happened is in the log, which had room for it.
    assert server.post(f"{BOXES}/{quiet}/exec", {"command": "cat /work/mine | wc -c"}).json["stdout"] == f"{2 * MIB}\n"
    events = server.get("/v1/audit").json["events"]
    assert any(event["kind"] == "run.ended" and "disk" in str(event) for event in events), events[-3:]
    assert server.run("audit", "verify").returncode == 0
    # And no other box begins to write there.
    refused = server.post(BOXES, {"workspace": {}})
    assert refused.status == 429 and "nearly full" in refused.body.decode(), refused.body


def test_of_several_writers_the_one_that_wrote_most_goes_first(server):
    ends = {}

    def fill(name, command):
        ends[name] = (run(server, command), time.monotonic())

    slow = "for i in $(seq 40); do head -c 64K /dev/zero >> /work/slow; sleep 0.1; done; echo well"
    threads = [threading.Thread(target=fill, args=item) for item in (("slow", slow), ("fast", FILL))]
    for thread in threads:
        thread.start()
        time.sleep(0.5)
    for thread in threads:
        thread.join()
    assert ends["fast"][0]["status"] == "disk", ends["fast"]
    assert (ends["slow"][0]["status"], ends["slow"][0]["stdout"]) == ("ok", "well\n"), (ends["slow"][0]["warnings"], ends["fast"][0]["warnings"])


def test_the_margin_is_the_operators(ringfort, public, as_who):
    with serve(ringfort, as_who, public, "margin", "--disk-margin", "150M") as server:
        result = run(server, FILL)
        assert result["status"] == "disk" and 100 < left(server) < 152, (result, left(server))
