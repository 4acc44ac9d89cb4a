"""Workspaces: a directory that a box may change without changing it, as root and as an ordinary user."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")

WRECK = "echo spoilt > kept; rm -rf old; mkdir old; echo new > old/new; ln -s /etc/passwd link; chmod 600 mode"


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    """A directory of whoever runs."""
    top = post.top / "tree"
    (top / "old/deep").mkdir(parents=True)
    (top / "kept").write_text("kept\n")
    (top / "mode").write_text("mode\n")
    (top / "old/deep/file").write_text("deep\n")
    (top / ".env").write_text("SECRET=1\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    return top


def picture(top):
    """All that is to be seen of a tree: types, modes, contents, owners, times."""
    seen = {}
    for path in sorted([top, *top.rglob("*")]):
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        seen[str(path.relative_to(top))] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, content)
    return seen


def run_json(post, *args):
    done = post.run(*args)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def changes(result):
    return {row["path"]: row["change"] for row in result["workspace"]["changes"]}


def layers(post):
    state = f"/proc/self/fd/{post.root}/var/lib" if post.is_room else post.top / "state"
    folder = pathlib.Path(state) / "ringfort/layers/all"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_run_changes_a_workspace_and_not_its_directory(post, tree):
    before = picture(tree)
    result = run_json(post, "run", "--json", "--workspace", tree, "--", "sh", "-c", WRECK + "; cat kept; ls old")
    assert (result["status"], result["stdout"]) == ("ok", "spoilt\nnew\n"), result
    assert changes(result) == {"kept": "changed", "old/deep": "deleted", "old/deep/file": "deleted", "old/new": "added",
                               "link": "added", "mode": "mode"}
    assert result["workspace"]["name"] is None and result["workspace"]["point"] is None
    assert picture(tree) == before
    assert layers(post) == []


def test_it_starts_in_the_workspace_and_its_credentials_are_hidden(post, tree):
    result = run_json(post, "run", "--json", "--workspace", tree, "--", "sh", "-c", "pwd; cat .env")
    assert result["stdout"] == f"{tree}\n" and "Permission denied" in result["stderr"]


def test_a_file_that_was_only_touched_is_no_change(post, tree):
    result = run_json(post, "run", "--json", "--workspace", tree, "--", "sh", "-c", "touch kept; printf 'kept\\n' > kept")
    assert changes(result) == {}


def test_what_acts_later_is_said(post, tree):
    script = "mkdir -p .git/hooks .vscode; echo x > .git/hooks/pre-commit; echo {} > .vscode/tasks.json; echo y > plain"
    result = run_json(post, "run", "--json", "--workspace", tree, "--", "sh", "-c", script)
    named = {row["path"]: row["protected"] for row in result["workspace"]["changes"]}
    assert named[".git/hooks/pre-commit"] == "git hook" and named[".vscode/tasks.json"] and named["plain"] is None


def test_runs_follow_each_other_and_can_be_undone(post, tree):
    before = picture(tree)
    assert post.run("create", "--name", "fix", "--workspace", tree).returncode == 0
    assert post.run("exec", "fix", "--", "sh", "-c", "echo one > one").returncode == 0
    assert post.run("checkpoint", "-w", "fix", "good").returncode == 0
    second = run_json(post, "exec", "--json", "fix", "--", "sh", "-c", "cat one; echo two >> one; rm kept")
    assert second["stdout"] == "one\n" and changes(second) == {"one": "changed", "kept": "deleted"}
    assert second["workspace"]["point"] == 2
    assert post.run("exec", "fix", "--", "rm", "-rf", "old", "one").returncode == 0
    assert post.run("undo", "-w", "fix").returncode == 0
    assert run_json(post, "exec", "--json", "fix", "--", "sh", "-c", "cat one; ls")["stdout"] == "one\ntwo\nmode\nold\none\n"
    assert post.run("undo", "-w", "fix", "good").returncode == 0
    assert run_json(post, "exec", "--json", "fix", "--", "cat", "one", "kept")["stdout"] == "one\nkept\n"
    assert post.run("undo", "-w", "fix", "@0").returncode == 0
    assert json.loads(post.run("diff", "-w", "fix", "--json").stdout) == []
    assert picture(tree) == before


def test_a_run_that_changes_nothing_makes_no_point(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    assert run_json(post, "exec", "--json", "fix", "--", "ls")["workspace"]["point"] is None
    assert json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"] == []
    assert layers(post) == []


def test_points_are_compared_with_each_other(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    for script in ("echo 1 > a", "rm a; echo 2 > b", "rm -r old; mkdir old; echo 3 > old/c"):
        assert post.run("exec", "fix", "--", "sh", "-c", script).returncode == 0

    def found(*points):
        return {row["path"]: row["change"] for row in json.loads(post.run("diff", "-w", "fix", "--json", *points).stdout)}

    assert found("@1", "@2") == {"a": "deleted", "b": "added"}
    assert found("@2", "@1") == {"a": "added", "b": "deleted"}
    assert found("@1", "@3") == {"a": "deleted", "b": "added", "old/deep": "deleted", "old/deep/file": "deleted",
                                 "old/c": "added"}
    assert found() == {"b": "added", "old/deep": "deleted", "old/deep/file": "deleted", "old/c": "added"}


def test_a_fork_goes_its_own_way(post, tree):
    post.run("create", "--name", "one", "--workspace", tree)
    post.run("exec", "one", "--", "sh", "-c", "echo shared > shared")
    assert post.run("fork", "-w", "one", "two").returncode == 0
    post.run("exec", "two", "--", "sh", "-c", "echo two > shared")
    assert run_json(post, "exec", "--json", "one", "--", "cat", "shared")["stdout"] == "shared\n"
    assert post.run("rm", "one").returncode == 0
    assert run_json(post, "exec", "--json", "two", "--", "cat", "shared")["stdout"] == "two\n"
    assert post.run("rm", "two").returncode == 0
    assert layers(post) == []


def test_what_was_undone_goes_with_gc(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    for word in ("a", "b", "c"):
        post.run("exec", "fix", "--", "sh", "-c", f"echo {word} > {word}")
    post.run("checkpoint", "-w", "fix", "all")
    post.run("undo", "-w", "fix", "2")
    post.run("exec", "fix", "--", "sh", "-c", "echo d > d")
    post.run("undo", "-w", "fix")
    assert len(layers(post)) == 4
    assert post.run("gc").returncode == 0
    ids = [point["id"] for point in json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"]]
    assert ids == [1, 2, 3] and len(layers(post)) == 3
    assert post.run("undo", "-w", "fix", "all").returncode == 0
    assert run_json(post, "exec", "--json", "fix", "--", "cat", "a", "b", "c")["stdout"] == "a\nb\nc\n"


def test_one_at_a_time(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    with post.start("exec", "fix", "--", "sh", "-c", "echo ready; sleep 30") as first:
        assert first.stdout.readline() == b"ready\n"
        refused = post.run("checkpoint", "-w", "fix", "now", timeout=30)
        assert refused.returncode == 125 and "somebody works on" in refused.stderr
        first.kill()


def test_a_killed_launcher_leaves_nothing_that_gc_does_not_find(post, tree):
    before = picture(tree)
    post.run("create", "--name", "fix", "--workspace", tree)
    post.run("exec", "fix", "--", "sh", "-c", "echo 1 > one")
    with post.start("exec", "fix", "--", "sh", "-c", "echo 2 > two; echo ready; sleep 30") as run:
        assert run.stdout.readline() == b"ready\n"
        run.kill()
    for _ in range(50):  # who cleans up after the launcher holds the layer for a moment
        assert post.run("gc").returncode == 0
        if len(layers(post)) == 1:
            break
        time.sleep(0.1)
    assert len(layers(post)) == 1
    assert run_json(post, "exec", "--json", "fix", "--", "ls")["stdout"] == "kept\nmode\nold\none\n"
    assert picture(tree) == before


@pytest.mark.parametrize("args, word", [
    (["create", "--name", "../x", "--workspace", "TREE"], "can't be a name"),
    (["create", "--name", "x", "--workspace", "TREE/none"], "No such file"),
    (["create", "--name", "x"], "needs a name and a directory"),
    (["exec", "none", "--", "true"], "there is no workspace"),
    (["exec"], "no workspace to run in"),
    (["undo", "-w", "none"], "there is no workspace"),
    (["run", "--workspace", "TREE/kept", "--", "true"], "Not a directory"),
    (["run", "--workspace", "/proc", "--", "true"], "can't be shown"),
])
def test_what_is_wrong_is_said(post, tree, args, word):
    done = post.run(*[arg.replace("TREE", str(tree)) for arg in args])
    assert done.returncode != 0 and word in done.stderr and "hint" in done.stderr, done.stderr


def test_a_link_to_a_directory_is_no_workspace(post, tree):
    (post.top / "link").symlink_to("/etc")
    done = post.run("run", "--workspace", post.top / "link", "--", "true")
    assert done.returncode == 125 and "symbolic link" in done.stderr, done.stderr


def test_another_directory_of_the_same_name_is_refused(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    tree.rename(post.top / "away")
    (post.top / "tree").mkdir()
    done = post.run("exec", "fix", "--", "true")
    assert done.returncode == 125 and "another directory" in done.stderr


def test_roots_box_works_on_another_users_directory(post, tree, who):
    if not watchers.IS_ROOT or who != "root":
        pytest.skip("needs root")
    post.top.chmod(0o755)
    subprocess.run(["chown", "-R", "12345:12345", tree], check=True)
    before = picture(tree)
    post.run("create", "--name", "fix", "--workspace", tree)
    for word in ("one", "two"):
        result = run_json(post, "exec", "--json", "fix", "--", "sh", "-c", f"{WRECK}; echo {word} >> said; cat said")
        assert result["status"] == "ok", result
    assert result["stdout"] == "one\ntwo\n"
    assert picture(tree) == before


def test_the_end_of_a_run_waits_for_no_disk(post, tree):
    """Else each would wait until everything is there that anybody wrote to that file system."""
    done = post.run("run", "--workspace", tree, "--", "cat", "/proc/self/mountinfo")
    line, = [line for line in done.stdout.splitlines() if f" {tree} " in line and " overlay " in line]
    assert {"volatile", "fsync=volatile"} & set(line.split(" - ")[1].split(","))  # its older and its newer name


def test_locks_of_a_box_in_a_workspace_are_its_own(post, tree):
    """Overlayfs has inodes of its own: whoever works on the directory, `ringfort apply` among them, is not kept waiting."""
    locks = "exec 8<. 9<kept; flock -n -x 8 && flock -n -x 9 && echo held; sleep 30"
    post.run("create", "--name", "other", "--workspace", tree)
    assert post.run("exec", "other", "--", "sh", "-c", "echo new > b").returncode == 0
    with post.start("run", "--workspace", tree, "--", "sh", "-c", locks) as run:
        assert run.stdout.readline() == b"held\n"
        for path in (tree, tree / "kept"):
            subprocess.run(["flock", "-n", "-x", path, "true"], check=True)
        assert post.run("apply", "-w", "other", timeout=4).returncode == 0 and (tree / "b").read_text() == "new\n"
        run.kill()


def test_who_only_looks_makes_no_folder(post):
    state = pathlib.Path(f"/proc/self/fd/{post.root}/var/lib" if post.is_room else post.top / "state") / "ringfort"
    for words in (["workspaces"], ["ps"], ["gc"], ["agent", "ls"], ["log", "-w", "none"], ["diff", "-w", "none"], ["rm", "none"],
                  ["checkpoint", "--stop", "-w", "none", "x"], ["file", "ls", "-w", "none"]):
        done = post.run(*words)
        assert done.returncode in (0, 1, 125), done.stderr
    assert not state.exists(), list(state.iterdir())


def test_a_state_that_others_can_read_is_refused_with_the_remedy(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    state = pathlib.Path(f"/proc/self/fd/{post.root}/var/lib" if post.is_room else post.top / "state") / "ringfort/workspaces"
    state.chmod(0o755)
    refused = post.run("checkpoint", "-w", "fix", "x")
    assert refused.returncode == 125 and "closed to others: chmod" in refused.stderr
