"""Canaries: who reads a planted credential is killed, and the alarm is recorded."""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

PLACE = "/home/box/.aws/credentials"


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="canary-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        policy = there.top / "policy.yaml"
        policy.write_text("files: { canaries: [~/.aws/credentials, /opt/app/.env] }\n")
        if IS_ROOT and as_who == "user":
            os.chown(policy, USER_ID, USER_ID)
        there.policy = policy
        yield there
    shutil.rmtree(top, ignore_errors=True)


def run(post, *argv):
    done = post.run("run", "--json", "--policy", post.policy, "--time", "20s", "--", *argv)
    return json.loads(done.stdout)


def test_reading_it_kills_at_once_and_is_recorded(post):
    post.stand()
    result = run(post, "sh", "-c", f"cat {PLACE}; sleep 10; echo late")
    assert result["status"] == "killed" and "late" not in result["stdout"]
    assert result["error"]["message"] == f"killed because it read the canary {PLACE}"
    planted = {one["credential"]: one["reason"] for one in post.events("--kind", "credential")}
    assert sorted(planted.values()) == [PLACE, "/opt/app/.env"]
    alarm, = post.events("--kind", "alarm")
    assert (alarm["alarm"], alarm["what"], alarm["severity"]) == ("canary", PLACE, "critical")
    assert alarm["box"] == result["id"] and planted[alarm["credential"]] == PLACE
    ended, = post.events("--kind", "run.ended")
    assert ended["verdict"] == "killed" and PLACE in ended["reason"]
    assert ended["wall_us"] < 200000 + ended["start_us"] + 300000  # the shell and cat take their part
    if "secret" in result["stdout"]:  # it may be killed before it has said anything
        value = result["stdout"].split("aws_secret_access_key = ")[1].strip()
        assert alarm["credential"] == hashlib.sha256(value.encode()).hexdigest()
        stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
        assert value.encode() not in stored


def test_no_two_boxes_have_the_same_value(post):
    post.stand()
    for _ in range(3):
        run(post, "cat", PLACE)
    assert len({one["credential"] for one in post.events("--kind", "credential")}) == 6


def test_looking_at_its_name_is_nothing_and_the_rest_is_undisturbed(post):
    script = f"ls -la ~/.aws /opt/app; stat {PLACE}; test -r {PLACE}; find / -xdev -name '*cred*' 2>/dev/null;" \
             "echo x >/tmp/y; cat /tmp/y; sleep 0.3; echo fine"
    result = run(post, "sh", "-c", script)
    assert result["status"] == "ok" and result["stdout"].endswith("x\nfine\n") and result["error"] is None


WAYS = {
    "mmap": "m = mmap.mmap(os.open(P, os.O_RDONLY), 0, prot=mmap.PROT_READ); m[:]",
    "copy_file_range": "o = os.open('/tmp/o', os.O_RDWR | os.O_CREAT); os.copy_file_range(os.open(P, 0), o, 99)",
    "sendfile": "o = os.open('/tmp/o', os.O_RDWR | os.O_CREAT); os.sendfile(o, os.open(P, 0), 0, 99)",
    "proc-fd": "d = os.open(P, os.O_PATH); os.open(f'/proc/self/fd/{d}', 0)",
    "hard-link": "os.link(P, os.path.dirname(P) + '/other'); open(os.path.dirname(P) + '/other').read()",
    "symlink": "os.symlink(P, '/tmp/l'); open('/tmp/l').read()",
    "rename": "os.rename(P, os.path.dirname(P) + '/other'); open(os.path.dirname(P) + '/other').read()",
    "rename-folder": "os.rename(os.path.dirname(P), '/tmp/moved'); open('/tmp/moved/credentials').read()",
    "openat": "d = os.open(os.path.dirname(P), 0); os.read(os.open('credentials', 0, dir_fd=d), 99)",
    "exec": "os.execv('/bin/cat', ['cat', P])",
    "fork": "os.fork() or open(P).read()",
    "double": "[open(P).read() for _ in range(2000)]",
    "other": "open('/opt/app/.env').read()",
}


@pytest.mark.parametrize("way", WAYS)
def test_whichever_way_it_is_read_it_is_seen(post, way):
    """Where the box may not do the first step at all, it tries the plain way."""
    code = f"""
import mmap, os, time
P = {PLACE!r}
try:
    {WAYS[way]}
except OSError:
    open(P).read()
time.sleep(10)
"""
    result = run(post, "/usr/bin/python3", "-c", code)
    assert result["status"] == "killed" and "canary" in result["error"]["message"], (way, result)


def test_a_run_that_ends_right_after_is_caught_all_the_same(post):
    post.stand()
    result = run(post, "cat", PLACE)
    assert result["status"] == "killed" and len(post.events("--kind", "alarm")) == 1


def test_a_warden_is_passed_by(post):
    warden = post.start("warden")
    try:
        for _ in range(2):
            assert run(post, "cat", PLACE)["status"] == "killed"
    finally:
        warden.terminate()
        warden.communicate(timeout=20)


def test_a_canary_opens_the_breaker_where_alarms_do(post):
    post.stand()
    with post.policy.open("a", encoding="utf-8") as policy:
        policy.write("alarms: { breaker: on }\nagent: bot\n")
    assert run(post, "cat", PLACE)["status"] == "killed"
    refused = post.run("run", "--agent", "bot", "--", "true")
    assert refused.returncode == 126 and "canary: a planted credential was read" in refused.stderr
    change, = [one for one in post.events("--kind", "breaker.change") if one["to"] == "open"]
    assert change["by"] == "watcher" and "canary" in change["reason"]
