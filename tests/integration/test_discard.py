"""What was done in a workspace is dropped; and what is done to one while a program runs in it, as root and as a user."""
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"discard-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    top.mkdir()
    (top / "kept").write_text("kept\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    assert post.run("create", "--name", "fix", "--workspace", top).returncode == 0
    return top


def state(post):
    return pathlib.Path(f"/proc/self/fd/{post.root}/var/lib/ringfort" if post.is_room else post.top / "state/ringfort")


def layers(post):
    folder = state(post) / "layers/all"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def change(post, script):
    done = post.run("exec", "fix", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def seen(post, name="fix"):
    return post.run("exec", name, "--", "sh", "-c", "head -n 99 *").stdout


def log(post, name="fix"):
    return json.loads(post.run("log", "-w", name, "--json").stdout)


def test_all_that_was_done_is_dropped_and_the_workspace_stays(post, tree):
    before = seen(post)
    change(post, "echo 1 > one; rm kept")
    assert post.run("checkpoint", "-w", "fix", "good").returncode == 0
    change(post, "echo 2 > two")
    done = post.run("discard", "fix")
    assert done.returncode == 0 and "2 points are gone" in done.stderr, done.stderr
    assert seen(post) == before and log(post)["points"] == [] and layers(post) == []
    change(post, "echo 3 > three")
    assert "three" in seen(post)


def test_what_was_applied_stays_and_can_be_taken_back(post, tree):
    change(post, "echo 1 > one")
    assert post.run("apply", "-w", "fix").returncode == 0
    change(post, "echo 2 > two")
    assert post.run("discard", "-w", "fix").returncode == 0
    assert (tree / "one").exists() and "two" not in seen(post)
    assert post.run("undo", "-w", "fix").returncode == 0, "the apply"
    assert not (tree / "one").exists()


def test_what_somebody_changed_after_the_apply_is_not_taken_back(post, tree):
    change(post, "echo 1 > one; echo 1 > other")
    assert post.run("apply", "-w", "fix").returncode == 0
    assert post.run("discard", "fix").returncode == 0
    (tree / "one").write_text("mine\n")
    done = post.run("undo", "-w", "fix")
    assert done.returncode == 125 and "has changed" in done.stderr, done.stderr
    assert (tree / "one").read_text() == "mine\n" and (tree / "other").exists()


def test_a_fork_keeps_what_the_other_drops(post, tree):
    change(post, "echo 1 > one")
    assert post.run("fork", "-w", "fix", "other").returncode == 0
    assert post.run("discard", "fix").returncode == 0
    assert "one" in seen(post, "other") and "one" not in seen(post)


@pytest.mark.parametrize("args, word", [
    (["discard"], "which workspace"),
    (["discard", "fix", "-w", "fix"], "which workspace"),
    (["discard", "none"], "there is no workspace"),
    (["discard", "../x"], "can't be a name"),
])
def test_it_has_to_be_named(post, tree, args, word):
    change(post, "echo 1 > one")
    done = post.run(*args, wrap=["sh", "-c", f'cd {tree} && exec "$@"', "sh"])
    assert done.returncode in (1, 125) and word in done.stderr and "hint" in done.stderr, done.stderr
    assert "one" in seen(post)


@pytest.fixture
def program(post, tree):
    """Something that runs in the workspace: it has made a file, and stays."""
    started = []

    def start(script):
        run = post.start("exec", "--time", "60s", "fix", "--", "sh", "-c", f"{script}; echo 2 > two; echo ready; while :; do sleep 0.1; done")
        started.append(run)
        assert run.stdout.readline() == b"ready\n"
        return run

    change(post, "echo 1 > one")
    yield start
    for run in started:
        run.kill()
        run.communicate()


COMMANDS = [["checkpoint", "-w", "fix", "now"], ["undo", "-w", "fix"], ["fork", "-w", "fix", "other"], ["discard", "fix"]]


@pytest.mark.parametrize("command", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_while_a_program_runs_it_is_refused_with_the_remedy(post, program, command):
    run = program(":")
    done = post.run(*command)
    assert done.returncode == 125 and "a program runs in it" in done.stderr and "--stop" in done.stderr, done.stderr
    assert run.poll() is None


@pytest.mark.parametrize("script", [":", "trap '' TERM INT HUP"], ids=["willing", "unwilling"])
def test_a_checkpoint_after_the_program_was_ended_has_what_it_did(post, program, script):
    run = program(script)
    done = post.run("checkpoint", "--stop", "-w", "fix", "now")
    assert done.returncode == 0, done.stderr
    run.wait(10)
    points = log(post)["points"]
    assert points[-1]["name"] == "now" and points[-1]["id"] == 2
    assert "two" in seen(post)


def test_an_undo_takes_back_what_was_ended(post, program):
    program(":")
    assert post.run("undo", "--stop", "-w", "fix").returncode == 0
    assert "two" not in seen(post) and "one" in seen(post)


def test_a_fork_begins_with_what_was_ended(post, program):
    program(":")
    assert post.run("fork", "--stop", "-w", "fix", "other").returncode == 0
    assert "two" in seen(post, "other")


def test_all_is_dropped_with_what_was_ended(post, program):
    program(":")
    assert post.run("discard", "--stop", "fix").returncode == 0
    assert "two" not in seen(post) and "one" not in seen(post) and layers(post) == []


def test_nobody_else_is_ended(post, tree):
    """A note of somebody who was killed, whose number another process has now; and a lock that is no run's."""
    folder = state(post) / "workspaces/fix"
    with subprocess.Popen(["sleep", "60"]) as other:
        space = os.stat("/proc/self/ns/pid").st_ino
        (folder / "run").write_text(f"{other.pid} 1 {space}\n")
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = post.run("checkpoint", "--stop", "-w", "fix", "now")
        assert done.returncode == 125 and "somebody works on" in done.stderr and "a program runs" not in done.stderr
        assert other.poll() is None
        os.close(lock)
        other.kill()


@pytest.mark.parametrize("note", ["", "\n", "1", "-1 0 0\n", "0 0 0\n", "x y z\n", "99999999999999999999 1 1\n", "9" * 500])
def test_a_note_that_is_none_names_nobody(post, tree, note):
    path = state(post) / "workspaces/fix/run"
    path.write_text(note)
    os.chown(path, path.parent.stat().st_uid, -1)
    change(post, "echo 1 > one")
    assert post.run("checkpoint", "--stop", "-w", "fix", "now").returncode == 0


def test_nothing_of_a_run_is_left_in_the_folder(post, tree):
    change(post, "echo 1 > one")
    assert not (state(post) / "workspaces/fix/run").exists()


# Writes two files that belong together, again and again: a copy that was made meanwhile would show it.
PAIRS = r"""
import os, sys
n = 0
os.mkdir("d"); os.remove("kept"); os.symlink("one", "link")
for i in range(300):
    open(f"d/{i}", "w").write("x" * 1000)
while True:
    n += 1
    for name in ("a", "b"):
        with open("d/new", "w") as file:
            file.write(str(n))
        os.replace("d/new", name)
    if n == 3:
        print("ready", flush=True)
"""


@pytest.fixture
def living(post, tree):
    change(post, "echo 1 > one; mkdir old; echo x > old/x")
    change(post, "rm -r old; mkdir old; echo y > old/y")
    run = post.start("exec", "--time", "60s", "fix", "--", "python3", "-c", PAIRS)
    assert run.stdout.readline() == b"ready\n"
    yield run
    run.kill()
    run.communicate()


def look(post, name):
    return post.run("exec", name, "--", "sh", "-c", "ls; readlink link; cat old/*; cut -c1-40 a b; cmp -n 1 a b").stdout.splitlines()


def test_a_living_program_is_copied_and_goes_on(post, living):
    for word in ("first", "second", "third"):
        done = post.run("checkpoint", "--live", "-w", "fix", word)
        assert done.returncode == 0 and "goes on" in done.stderr, done.stderr
    assert post.run("checkpoint", "--live", "-w", "fix").returncode == 0 and log(post)["points"][-1]["name"] == "checkpoint-6"
    assert living.poll() is None
    points = log(post)["points"][:5]
    assert [(row["name"], row["parent"], row["status"]) for row in points[2:]] == [(word, 2, "running") for word in ("first", "second", "third")]
    assert log(post)["head"] == 2
    assert post.run("undo", "--stop", "-w", "fix", "first").returncode == 0
    assert living.wait(20) != 0
    points = log(post)["points"]
    assert len(points) == 7 and points[-1]["parent"] == 2, "what it did to its end is a point, too"
    assert log(post)["head"] == 3
    found = look(post, "fix")
    assert found[:7] == ["a", "b", "d", "link", "old", "one", "one"] and found[7] == "y", found
    states = [json.loads(post.run("diff", "--json", "-w", "fix", "@2", f"@{row['id']}").stdout) for row in points[2:]]
    for state_ in states:
        assert {row["path"]: row["change"] for row in state_ if "/" not in row["path"]} == {"a": "added", "b": "added", "d": "added", "kept": "deleted", "link": "added"}


def test_a_fork_of_a_living_program_goes_its_own_way(post, living):
    done = post.run("fork", "--live", "-w", "fix", "other")
    assert done.returncode == 0, done.stderr
    assert living.poll() is None
    found = look(post, "other")
    assert found[:6] == ["a", "b", "d", "link", "old", "one"], found
    assert log(post, "other")["head"] == 3 and log(post)["head"] == 2
    assert post.run("rm", "other").returncode == 0


def test_what_is_copied_is_of_one_moment(post, living):
    """The program writes `a`, then `b`: at any moment `b` has what `a` has, or what it had just before."""
    for number in range(5):
        assert post.run("checkpoint", "--live", "-w", "fix", f"at{number}").returncode == 0
    assert post.run("checkpoint", "--stop", "-w", "fix", "end").returncode == 0
    for number in range(5):
        post.run("undo", "-w", "fix", f"at{number}")
        a, b = map(int, post.run("exec", "fix", "--", "sh", "-c", "cat a; echo; cat b").stdout.split())
        assert a - b in (0, 1), (a, b)


TICKS = r"""
import os, time
os.mkdir("many")
for number in range(6000):
    open(f"many/{number}", "w").write("x")
while True:
    print("tick", flush=True)
    time.sleep(0.02)
"""


def stopped_in(launcher):
    """True if a process beneath this one is stopped."""
    try:
        pids = [int(pid) for task in os.listdir(f"/proc/{launcher}/task")
                for pid in pathlib.Path(f"/proc/{launcher}/task/{task}/children").read_text().split()]
        return any(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "Tt" or stopped_in(pid)
                   for pid in pids)
    except OSError:
        return False


def test_a_program_goes_on_when_who_copies_is_killed(post, tree):
    run = post.start("exec", "--time", "60s", "--output", "1G", "--inodes", "20000", "fix", "--", "python3", "-c", TICKS)
    assert run.stdout.readline() == b"tick\n"
    caught = 0
    for number in range(20):
        command = post.start("checkpoint", "--live", "-w", "fix", f"at{number}")
        while command.poll() is None and not stopped_in(run.pid):
            pass
        command.kill()
        caught += command.wait() == -signal.SIGKILL
        os.set_blocking(run.stdout.fileno(), False)
        while run.stdout.read(1 << 20):  # what was said before
            pass
        os.set_blocking(run.stdout.fileno(), True)
        ready, _, _ = select.select([run.stdout], [], [], 2)
        assert ready, "it stands still"
        command.communicate()
        if caught == 3:
            break
    assert caught == 3, "none was killed while it copied"
    assert not stopped_in(run.pid)
    run.terminate()
    run.communicate()


def test_without_a_program_live_is_as_always(post, tree):
    change(post, "echo 1 > one")
    assert post.run("checkpoint", "--live", "-w", "fix", "now").returncode == 0
    assert post.run("fork", "--live", "-w", "fix", "other").returncode == 0
    assert log(post)["points"][0]["name"] == "now" and "one" in seen(post, "other")


def test_what_is_wrong_with_a_living_copy_is_said(post, living):
    assert post.run("checkpoint", "--live", "-w", "fix", "good").returncode == 0
    for args in (["checkpoint", "--live", "-w", "fix", "good"], ["checkpoint", "--live", "-w", "fix", "../x"],
                 ["fork", "--live", "-w", "fix", "fix"]):
        done = post.run(*args)
        assert done.returncode == 125 and "hint" in done.stderr, done.stderr
    assert living.poll() is None and len(layers(post)) == 4
    assert post.run("checkpoint", "--live", "-w", "none", "x").returncode == 1


def test_a_copy_that_is_killed_leaves_the_workspace_whole(post, living):
    for number in range(12):
        with post.start("checkpoint", "--live", "-w", "fix", f"at{number}") as command:
            try:
                command.wait(0.002 * number)
            except subprocess.TimeoutExpired:
                command.kill()
            command.communicate()
        assert isinstance(log(post), dict)
    assert post.run("checkpoint", "--live", "-w", "fix", "last").returncode == 0, "and lets a program go on that was left standing"
    assert living.poll() is None
    assert post.run("undo", "--stop", "-w", "fix", "last").returncode == 0
    assert look(post, "fix")[:6] == ["a", "b", "d", "link", "old", "one"]
    assert post.run("gc").returncode == 0
    assert len(layers(post)) == len(log(post)["points"])
