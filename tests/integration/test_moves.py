"""What is done with workspaces is recorded, and a run that an alarm ended is taken back, as root and as an
ordinary user."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

CANARY = "/home/box/.aws/credentials"
KINDS = ("checkpoint", "undo", "apply", "recovery")


def give(post, *paths):
    if IS_ROOT and post.who == "user":
        subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", *paths], check=True)


@pytest.fixture
def tree(post):
    top = post.top / "tree"
    top.mkdir()
    (top / "kept").write_text("kept\n")
    give(post, top)
    return top


@pytest.fixture
def fix(post, tree):
    """A workspace called fix over the tree, and a watcher."""
    post.stand()
    assert post.run("create", "--name", "fix", "--workspace", tree).returncode == 0
    return tree


def moves(post):
    return [one for one in post.events() if one["kind"] in KINDS]


def in_it(post, script, *words):
    return post.run("exec", *words, "fix", "--", "sh", "-c", script)


def test_what_is_done_by_hand_is_recorded(post, fix):
    assert in_it(post, "echo 1 > one; rm kept", "--agent", "bot").returncode == 0
    assert in_it(post, "echo 2 > one").returncode == 0
    assert post.run("checkpoint", "-w", "fix", "good").returncode == 0
    assert post.run("undo", "-w", "fix").returncode == 0
    assert post.run("apply", "-w", "fix").returncode == 0
    assert post.run("undo", "-w", "fix").returncode == 0
    one, two, good, back, applied, taken = moves(post)
    user = USER_ID if post.who == "user" and IS_ROOT else os.geteuid()
    assert all((each["workspace"], each["user"]) == ("fix", user) for each in moves(post))
    assert (one["kind"], one["checkpoint"], one["agent"]) == ("checkpoint", "@1", "bot")
    assert (one["added"], one["deleted"], "modified" in one) == (1, 1, False)
    assert (two["checkpoint"], two["modified"]) == ("@2", 1)
    assert (good["kind"], good["checkpoint"]) == ("checkpoint", "@2 good")
    assert (back["kind"], back["checkpoint"], back["by"]) == ("undo", "@1", "hand")
    assert (applied["kind"], applied["verdict"], applied["added"], applied["deleted"]) == ("apply", "applied", 1, 1)
    assert (taken["kind"], taken["reason"]) == ("undo", "of what was applied")
    started = post.events("--kind", "run.started")
    assert [each["workspace"] for each in started] == ["fix", "fix"]
    assert one["box"] == started[0]["box"]
    assert post.verify()["good"]


def test_a_refused_apply_is_recorded_with_the_reason(post, fix):
    assert in_it(post, "mkdir .vscode; echo > .vscode/tasks.json").returncode == 0
    assert post.run("apply", "-w", "fix").returncode != 0
    apply = moves(post)[-1]
    assert (apply["kind"], apply["verdict"]) == ("apply", "refused") and apply["reason"]
    assert not (fix / ".vscode").exists()


def test_without_a_watcher_they_work_as_well(post, tree):
    assert post.run("create", "--name", "fix", "--workspace", tree).returncode == 0
    assert in_it(post, "echo 1 > one").returncode == 0
    for words in (["checkpoint", "-w", "fix", "good"], ["undo", "-w", "fix"]):
        done = post.run(*words)
        assert done.returncode == 0 and "record" not in done.stderr, done.stderr


def test_a_hung_watcher_holds_no_command_up_for_long(post, fix):
    assert in_it(post, "echo 1 > one").returncode == 0
    post.watcher.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    done = post.run("checkpoint", "-w", "fix", "good")
    took = time.monotonic() - began
    post.watcher.send_signal(signal.SIGCONT)
    assert done.returncode == 0 and "that is done, and not recorded" in done.stderr and took < 15


def test_an_apply_that_was_interrupted_is_recorded_when_it_goes_on(post, fix):
    assert in_it(post, "for n in $(seq 400); do echo $n > file$n; done").returncode == 0
    began = time.monotonic()
    assert post.run("apply", "-w", "fix").returncode == 0
    took = time.monotonic() - began
    assert post.run("undo", "-w", "fix").returncode == 0
    for _ in range(100):  # until one is killed in the middle
        with post.start("apply", "-w", "fix") as apply:
            time.sleep(random.uniform(0.2, 1) * took)
            apply.kill()
            apply.communicate()
        assert post.run("apply", "-w", "fix").returncode == 0
        found = [one for one in moves(post) if one["kind"] == "recovery"]
        if found:
            break
        post.run("undo", "-w", "fix")
    assert [(one["what"], one["workspace"], one["verdict"]) for one in found] == \
        [("an apply that was interrupted", "fix", "finished")]
    assert len(list(fix.glob("file*"))) == 400


def policy(post, text):
    path = post.top / "policy.yaml"
    path.write_text(text)
    give(post, path)
    return path


WAYS = {
    "canary": ("files: { canaries: [~/.aws/credentials] }\n", f"cat {CANARY}"),
    "alarm": ("alarms: { writes: 8M, on_writes: kill }\n", "dd if=/dev/zero of=/dev/null bs=1M"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_run_that_an_alarm_ended_is_taken_back(post, fix, way, is_on):
    text, deed = WAYS[way]
    if is_on:
        text = text.replace("{ writes", "{ rollback: on, writes") if way == "alarm" else text + "alarms: { rollback: on }\n"
    assert in_it(post, "echo good > kept").returncode == 0
    done = post.run("exec", "--json", "--policy", policy(post, text), "--time", "20s", "fix", "--", "sh", "-c",
                    f"echo wreck > kept; echo x > new; {deed}; sleep 10")
    result = json.loads(done.stdout)
    assert result["status"] == "killed", result["error"]
    assert (result["workspace"]["point"], result["workspace"]["undone"]) == (2, is_on)
    seen = post.run("exec", "fix", "--", "sh", "-c", "cat kept; ls")
    assert seen.stdout == ("good\nkept\n" if is_on else "wreck\nkept\nnew\n")
    looked = json.loads(post.run("diff", "--json", "-w", "fix", "@1", "@2").stdout)  # it is still there to be looked at
    assert [row["path"] for row in looked] == ["kept", "new"]
    undone = [one for one in moves(post) if one["kind"] == "undo"]
    assert [(one["checkpoint"], one["by"], one["box"]) for one in undone] == \
        ([("@1", "launcher", result["id"])] if is_on else [])
    if is_on:
        assert any("is at @1 again" in warning for warning in result["warnings"])


def test_what_ends_by_itself_or_by_its_limits_is_kept(post, fix):
    path = policy(post, "alarms: { rollback: on }\n")
    for script in ("echo 1 > one; exit 3", "echo 2 > one; sleep 9", "echo 3 > one; kill -9 $$"):
        done = post.run("exec", "--json", "--policy", path, "--time", "1s", "fix", "--", "sh", "-c", script)
        result = json.loads(done.stdout)
        assert not result["workspace"]["undone"] and result["status"] != "ok"
    assert post.run("exec", "fix", "--", "cat", "one").stdout == "3\n"
