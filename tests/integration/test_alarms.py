"""Alarms while a box runs: seen, recorded, and answered by the watcher without anybody."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

# Forks as fast as it can, each child short-lived: never many at once.
STORM = "while :; do (:) ; (:) ; (:) ; done"
BOMB = "/usr/bin/python3 -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'"
WRITER = "dd if=/dev/zero of=/dev/null bs=1M"


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="alarm-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        yield there
    shutil.rmtree(top, ignore_errors=True)


def owned(post, name, text, mode=0o644):
    """A file of whoever runs."""
    path = post.top / name
    path.write_text(text)
    path.chmod(mode)
    if IS_ROOT and post.who == "user":
        os.chown(path, USER_ID, USER_ID)
    return path


def run(post, alarms, script, *words):
    policy = owned(post, "policy.yaml", f"alarms: {{{alarms}}}\n")
    began = time.monotonic()
    done = post.run("run", "--json", "--policy", policy, *words, "--", "sh", "-c", script)
    return json.loads(done.stdout), time.monotonic() - began


def alarms(post):
    return post.events("--kind", "alarm")


def test_a_fork_storm_within_its_limit_is_killed_soon(post):
    post.stand()
    result, took = run(post, "forks: 150, on_forks: kill", STORM, "--time", "30s")
    assert result["status"] == "killed" and took < 3, (result["status"], took)
    assert result["error"]["message"].startswith("killed by the watcher: fork_storm: ")
    alarm, = alarms(post)
    assert (alarm["alarm"], alarm["rule"], alarm["box"]) == ("fork_storm", "alarms.forks", result["id"])
    assert alarm["count"] >= 150
    kill, = post.events("--kind", "kill")
    assert (kill["by"], kill["rule"]) == ("watcher", "alarms.forks")
    ended, = post.events("--kind", "run.ended")
    assert ended["verdict"] == "killed" and ended["wall_us"] < 2500000, ended
    assert "fork_storm" in ended["reason"]


def test_a_fork_bomb_at_its_limit_is_a_storm_too(post):
    """Root's has a group, which counts what it refuses; an ordinary user's may have none."""
    post.stand()
    result, _ = run(post, f"forks: {60 if post.is_room else 30}, on_forks: kill", BOMB, "--time", "9s", "--pids", "40")
    assert result["status"] == "killed", result
    assert alarms(post)[0]["alarm"] == "fork_storm"


def test_a_steep_write_is_frozen_and_stays_so(post):
    post.stand()
    policy = owned(post, "policy.yaml", "alarms: {writes: 8M, on_writes: freeze}\n")
    launched = post.start("run", "--json", "--policy", policy, "--time", "4s", "--", "sh", "-c", WRITER)
    assert eventually(lambda: [box["state"] for box in json.loads(post.run("ps", "--json").stdout)["boxes"]]
                      == ["frozen"], 4)
    result = json.loads(launched.communicate(timeout=20)[0])
    assert result["status"] == "timeout"
    assert alarms(post)[0]["alarm"] == "write_storm"
    frozen, = post.events("--kind", "freeze")
    assert (frozen["to"], frozen["by"], frozen["rule"]) == ("frozen", "watcher", "alarms.writes")


def test_without_a_word_an_alarm_is_recorded_and_nothing_else(post):
    post.stand()
    done = post.run("run", "--json", "--time", "1500ms", "--", "sh", "-c",
                    f"({WRITER}) 2>/dev/null & ({WRITER}) 2>/dev/null & wait")
    result = json.loads(done.stdout)
    assert result["status"] == "timeout"
    found = [one["alarm"] for one in alarms(post)]
    assert found == ["write_storm"] and post.events("--kind", "kill") == []


def test_what_is_usual_raises_none(post):
    post.stand()
    result, _ = run(post, "forks: 1000, on_forks: kill, writes: 100M, on_writes: kill",
                    "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; echo x; sleep 0.05; done")
    assert result["status"] == "ok" and alarms(post) == []


def test_an_alarm_opens_the_breaker(post):
    post.stand()
    policy = "alarms: {forks: 150, on_forks: kill, breaker: on}\nagent: bot\n"
    path = owned(post, "agent.yaml", policy)
    done = post.run("run", "--json", "--policy", path, "--", "sh", "-c", STORM)
    assert json.loads(done.stdout)["status"] == "killed"
    refused = post.run("run", "--agent", "bot", "--", "true")
    assert refused.returncode == 126 and "fork_storm" in refused.stderr
    change = [one for one in post.events("--kind", "breaker.change") if one["to"] == "open"]
    assert "fork_storm" in change[0]["reason"]


def test_who_wants_alarms_does_not_run_unwatched(post):
    path = owned(post, "policy.yaml", "alarms: {on_forks: kill}\n")
    done = post.run("run", "--policy", path, "--", "true")
    assert done.returncode == 126 and "alarms, and no watcher stands" in done.stderr
    assert post.run("run", "--policy", path, "--weaker", "allow", "--", "true").returncode == 0
    for text, what in (("alarms: {breaker: on}", "does not say whose"),
                       ("alarms: {forks: 5}\naudit: off", "with `audit: off`"),
                       ("alarms: {on_forks: hook}", "write one of: record, freeze, kill"),
                       ("alarms: {forks: 0}", "alarms.forks")):
        path = owned(post, "policy.yaml", text + "\n")
        done = post.run("run", "--policy", path, "--", "true")
        assert done.returncode == 125 and what in done.stderr, (text, done.stderr)


# --- hooks ---

def hook(post, text):
    return owned(post, "hook", "#!/bin/sh\n" + text + "\n", 0o755)


def test_a_hook_is_told_of_an_alarm_and_of_nothing_else(post):
    seen = post.top / "seen"
    seen.mkdir()
    if IS_ROOT and post.who == "user":
        os.chown(seen, USER_ID, USER_ID)
    path = hook(post, f"/bin/cat >{seen}/event; /usr/bin/env >{seen}/env; echo $# >{seen}/args; echo said; exit 3")
    post.stand("--hook", path)
    result, _ = run(post, "forks: 150, on_forks: kill", STORM)
    assert result["status"] == "killed"
    assert eventually(lambda: post.events("--kind", "hook"))
    event = json.loads((seen / "event").read_text())
    assert (event["kind"], event["alarm"], event["box"]) == ("alarm", "fork_storm", result["id"])
    names = {line.split("=")[0] for line in (seen / "env").read_text().splitlines()}
    assert names <= {"PWD", "SHLVL", "_", "OLDPWD"} and (seen / "args").read_text() == "0\n"
    ended, = post.events("--kind", "hook")
    assert (ended["verdict"], ended["exit_code"], ended["program"]) == ("failed", 3, str(path))
    assert ended["reason"] == "fork_storm" and ended["took_us"] > 0


def test_a_hook_that_hangs_delays_nobody_and_is_killed_with_its_group(post):
    word = f"6{time.time_ns() % 10 ** 9}"
    path = hook(post, f"/bin/sleep {word} & /bin/sleep {word}")
    post.stand("--hook", path)
    result, _ = run(post, "forks: 150, on_forks: kill", STORM)
    assert result["status"] == "killed"
    began = time.monotonic()
    for _ in range(5):
        assert post.run("run", "--audit", "required", "--", "true").returncode == 0
    assert time.monotonic() - began < 4
    assert eventually(lambda: [one["verdict"] for one in post.events("--kind", "hook")] == ["timeout"], 12)

    def left():
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                found += [path] if word.encode() in path.read_bytes() else []
            except OSError:
                pass
        return found
    assert eventually(lambda: not left(), 5)
    assert post.verify()["good"]


def test_a_hook_that_others_could_change_is_refused(post):
    for path, what in ((hook(post, "exit 0"), None), ("/no/such/hook", "No such file"), ("hook", "whole path"),
                       ("/etc/passwd", "can't be executed")):
        if what:
            done = post.run("watch", "--hook", path)
            assert done.returncode == 125 and what in done.stderr, done.stderr
    path = hook(post, "exit 0")
    path.chmod(0o777)
    done = post.run("watch", "--hook", path)
    assert done.returncode == 125 and "could be changed by others" in done.stderr
