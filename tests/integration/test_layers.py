"""Layers over a directory: what they keep out, what they keep, and what a point shows after the directory was changed."""
import fcntl
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"layers-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post):
    top = post.top / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/main.c").write_text("int main;\n")
    (top / "README").write_text("read me\n")
    own(post, top)
    return top


def own(post, *paths):
    if watchers.IS_ROOT and not post.is_room:
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", *paths], check=True)


def good(post, *words):
    done = post.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def made(post, tree, *scripts, name="fix"):
    good(post, "create", "--name", name, "--workspace", tree)
    for script in scripts:
        good(post, "exec", name, "--", "sh", "-c", script)


def inside(post, script, name="fix"):
    return good(post, "exec", name, "--", "sh", "-c", script)


def refused(post, *words):
    done = post.run(*words)
    assert done.returncode == 125 and "hint" in done.stderr, (done.returncode, done.stderr)
    return done.stderr


def setting(post, text):
    """The user's settings, by the variable that names their file."""
    path = post.top / "config.yaml"
    path.write_text(text)
    path.chmod(0o600)
    own(post, path)
    post.env["RINGFORT_CONFIG"] = str(path)


def pool(post):
    state = f"/proc/self/fd/{post.root}/var/lib" if post.is_room else post.top / "state"
    return sorted(path.name for path in (pathlib.Path(state) / "ringfort/layers/all").iterdir())


def points(post, name="fix"):
    return json.loads(good(post, "log", "-w", name, "--json"))["points"]


# --- other file systems ---


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_what_is_mounted_in_a_directory_is_neither_shown_nor_written(post, tree, kind):
    if not watchers.IS_ROOT:
        pytest.skip("needs root, to mount")
    enter = post.before if post.is_room else []
    (tree / "m").mkdir()
    (tree / "m/beneath").write_text("hidden by the mount\n")
    own(post, tree)
    made(post, tree, "echo theirs > m/new; echo theirs > README")
    how = ["-t", "tmpfs", "none"] if kind == "tmpfs" else ["--bind", tree / "src"]
    subprocess.run([*enter, "mount", *how, tree / "m"], check=True)
    try:
        for words in (["create", "--name", "other", "--workspace", tree], ["run", "--workspace", tree, "--", "cat", "m/beneath"],
                      ["exec", "fix", "--", "true"], ["apply", "-w", "fix"], ["diff", "-w", "fix"]):
            assert f"mounted in it: {tree}/m" in refused(post, *words)
        assert (tree / "README").read_text() == "read me\n"
    finally:
        subprocess.run([*enter, "umount", tree / "m"], check=True)
    good(post, "apply", "-w", "fix")
    assert (tree / "m/new").read_text() == "theirs\n" and not (tree / "src/new").exists()


def test_a_directory_that_is_a_mount_itself_is_a_workspace(post, tree):
    if not watchers.IS_ROOT:
        pytest.skip("needs root, to mount")
    enter = post.before if post.is_room else []
    subprocess.run([*enter, "mount", "--bind", tree, tree], check=True)
    try:
        made(post, tree, "echo theirs > README")
        good(post, "apply", "-w", "fix")
    finally:
        subprocess.run([*enter, "umount", tree], check=True)
    assert (tree / "README").read_text() == "theirs\n"


# --- who writes to the directory, and where ---


def test_one_workspace_at_a_time_writes_to_a_directory(post, tree):
    made(post, tree, "echo theirs > README")
    folder = os.open(tree, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert "somebody else writes" in refused(post, "apply", "-w", "fix")
    assert (tree / "README").read_text() == "read me\n"
    threading.Timer(1, lambda: fcntl.flock(folder, fcntl.LOCK_UN)).start()
    good(post, "apply", "-w", "fix")
    assert (tree / "README").read_text() == "theirs\n"
    os.close(folder)


def test_a_name_that_looks_like_one_of_ours_is_the_users(post, tree):
    def fnv(name):
        value = 14695981039346656037
        for byte in name.encode():
            value = (value ^ byte) * 1099511628211 % 2**64
        return f".ringfort-{value:016x}"

    for name in ("README", "new", "folder"):
        (tree / fnv(name)).mkdir()
        (tree / fnv(name) / "dear").write_text("to the user\n")
    own(post, tree)
    made(post, tree, "echo theirs > README; echo new > new; mkdir folder")
    good(post, "apply", "-w", "fix")
    good(post, "undo", "-w", "fix")
    assert [(tree / fnv(name) / "dear").exists() for name in ("README", "new", "folder")] == [True] * 3


def test_the_folder_of_what_is_named_stays_as_it_is(post, tree):
    made(post, tree, "chmod 700 src; echo new > src/new.c; mkdir -m 750 d; echo x > d/x; echo y > d/y")
    before = (tree / "src").stat().st_mode
    good(post, "apply", "-w", "fix", "--only", "src/new.c", "--only", "d/x")
    assert (tree / "src/new.c").exists() and (tree / "src").stat().st_mode == before
    assert (tree / "d").stat().st_mode & 0o777 == 0o750 and (tree / "d/x").exists() and not (tree / "d/y").exists()


def test_as_many_may_be_named_as_there_are(post, tree):
    made(post, tree, "for n in $(seq 150); do echo $n > f$n; done")
    good(post, "apply", "-w", "fix", *(word for n in range(1, 150) for word in ("--only", f"f{n}")))
    assert [(tree / f"f{n}").exists() for n in range(1, 151)] == [True] * 149 + [False]


# --- what the workspace knows of the directory ---


def test_what_was_undone_has_no_say_in_a_conflict(post, tree):
    made(post, tree, "echo one >> README")
    good(post, "undo", "-w", "fix", "@0")
    (tree / "README").write_text("ours, and seen by the second run\n")
    time.sleep(0.05)  # what is written at the very moment that a run begins, the run may have seen or not
    assert inside(post, "cat README; echo two >> README") == "ours, and seen by the second run\n"
    good(post, "apply", "-w", "fix")
    assert (tree / "README").read_text() == "ours, and seen by the second run\ntwo\n"


def test_who_goes_forward_again_still_conflicts(post, tree):
    made(post, tree, "echo one >> README")
    good(post, "undo", "-w", "fix", "@0")
    (tree / "README").write_text("ours\n")
    good(post, "undo", "-w", "fix", "@1")
    assert post.run("apply", "-w", "fix").returncode == 125
    assert (tree / "README").read_text() == "ours\n"


def test_what_a_run_saw_of_an_apply_that_was_taken_back_is_a_conflict(post, tree):
    made(post, tree, "echo one >> README")
    good(post, "apply", "-w", "fix")
    good(post, "undo", "-w", "fix", "@0")
    assert inside(post, "cat README; echo two >> README") == "read me\none\n"
    good(post, "undo", "-w", "fix", "@1")
    good(post, "undo", "-w", "fix")  # the apply
    assert (tree / "README").read_text() == "read me\n"
    good(post, "undo", "-w", "fix", "@2")
    assert post.run("apply", "-w", "fix").returncode == 125


def test_what_is_nearly_all_hole_costs_what_is_in_it(post, tree):
    with open(tree / "holes", "wb") as file:
        file.truncate(200 << 30)
        file.seek(5 << 30)
        file.write(b"x" * 4096)
    with open(tree / "zeros", "wb") as file:
        file.write(bytes(1 << 20))
    own(post, tree)
    began = time.monotonic()
    good(post, "create", "--name", "fix", "--workspace", tree)
    good(post, "exec", "--file-size", "300G", "fix", "--", "sh", "-c",
         "printf y | dd of=holes bs=1 seek=70000000000 conv=notrunc 2>/dev/null; "
         "python3 -c 'import os; os.truncate(\"zeros\", 0); os.truncate(\"zeros\", 1 << 20)'")
    assert good(post, "diff", "-w", "fix").split() == ["changed", "holes"]
    os.utime(tree / "holes")  # a new time, and the same content
    good(post, "apply", "-w", "fix")
    good(post, "undo", "-w", "fix")
    assert time.monotonic() - began < 60
    holes = (tree / "holes").stat()
    assert holes.st_size == 200 << 30 and holes.st_blocks * 512 < 1 << 20


def test_bits_of_the_directory_survive_an_apply_and_its_undo(post, tree):
    (tree / "shared").mkdir()
    (tree / "shared").chmod(0o2775)
    (tree / "tool").write_text("#!/bin/sh\n")
    own(post, tree)
    (tree / "shared").chmod(0o2775)
    (tree / "tool").chmod(0o4755)
    made(post, tree, "mkdir shared/new; echo x > shared/new/x; echo y > shared/y; echo theirs > tool")

    def bits(name):
        return oct((tree / name).stat().st_mode & 0o7777)

    good(post, "apply", "-w", "fix")
    assert bits("shared") == "0o2775" and bits("shared/new") == "0o2755"
    assert bits("tool") == "0o755"  # what a box wrote is never setuid
    good(post, "undo", "-w", "fix")
    assert bits("shared") == "0o2775" and bits("tool") == "0o4755"
    inside(post, "python3 -c 'import os; os.chmod(\"shared\", 0o700)'")  # which is all that a box can set
    good(post, "apply", "-w", "fix", "--only", "shared")
    assert bits("shared") == "0o700"
    good(post, "undo", "-w", "fix")
    assert bits("shared") == "0o2775"


def test_folders_that_deny_writing_are_kept_with_what_is_in_them(post, tree):
    (tree / "closed/deep").mkdir(parents=True)
    for name in ("closed/file", "closed/deep/file"):
        (tree / name).write_text("old\n")
    own(post, tree)
    for name in ("closed/deep", "closed"):
        (tree / name).chmod(0o555)
    made(post, tree, "chmod 755 closed closed/deep; echo new > closed/file; echo new > closed/deep/file; rm README")
    good(post, "apply", "-w", "fix")
    assert (tree / "closed/deep/file").read_text() == "new\n" and (tree / "closed").stat().st_mode & 0o777 == 0o755
    good(post, "undo", "-w", "fix")
    assert [(tree / name).stat().st_mode & 0o777 for name in ("closed", "closed/deep")] == [0o555, 0o555]
    assert (tree / "closed/deep/file").read_text() == "old\n" and (tree / "closed/file").read_text() == "old\n"


def test_pipes_of_the_directory_come_back_and_sockets_stay(post, tree):
    os.mkfifo(tree / "pipe", 0o640)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "sock"))
        own(post, tree)
        made(post, tree, "rm pipe sock; echo file > pipe; echo new > new")
        became = {row["path"]: row["became"] for row in json.loads(good(post, "apply", "-w", "fix", "--json"))}
        assert became == {"pipe": "made", "sock": "no file", "new": "made"}
        assert (tree / "pipe").read_text() == "file\n" and stat.S_ISSOCK((tree / "sock").stat().st_mode)
        good(post, "undo", "-w", "fix")
        mode = (tree / "pipe").stat().st_mode
        assert stat.S_ISFIFO(mode) and mode & 0o777 == 0o640 and not (tree / "new").exists()


# --- points, after the directory was written ---


def test_a_point_shows_what_it_was_whatever_was_applied_since(post, tree):
    made(post, tree, "echo a > a; echo one >> README", "echo b > b; rm a; echo two >> README; rm -r src; echo f > src")
    first, second = "README\na\nsrc\nsrc/main.c\nread me\none\n", "README\nb\nsrc\nread me\none\ntwo\n"
    look = "find . -mindepth 1 | cut -c3- | sort; cat README"
    good(post, "apply", "-w", "fix")
    assert inside(post, look) == second
    good(post, "fork", "-w", "fix", "other")
    for name in ("fix", "other"):
        good(post, "undo", "-w", name, "@1")
        assert inside(post, look, name) == first
        assert {row["path"]: row["change"] for row in json.loads(good(post, "diff", "-w", name, "--json"))} == {
            "README": "changed", "a": "added", "b": "deleted", "src": "type", "src/main.c": "added"}
        good(post, "undo", "-w", name, "@2")
        assert inside(post, look, name) == second
    assert post.run("undo", "-w", "other").returncode == 0  # a run: the apply is not the fork's
    assert (tree / "b").exists()
    good(post, "undo", "-w", "fix", "@0")
    assert inside(post, look) == second  # the directory itself
    inside(post, "echo c > c")
    good(post, "undo", "-w", "fix", "@1")
    good(post, "apply", "-w", "fix")  # back to the first run, in the directory
    assert subprocess.run(["sh", "-c", look], cwd=tree, capture_output=True, text=True, check=True).stdout == first
    good(post, "undo", "-w", "fix")
    assert subprocess.run(["sh", "-c", look], cwd=tree, capture_output=True, text=True, check=True).stdout == second
    good(post, "undo", "-w", "fix", "@2")
    good(post, "undo", "-w", "fix")  # and the apply before it
    assert (tree / "README").read_text() == "read me\n" and (tree / "src/main.c").exists()


def test_many_forks_are_made_at_once_or_none(post, tree):
    made(post, tree, "for n in $(seq 300); do echo $n > f$n; done")
    good(post, "fork", "-w", "fix", "-n", "100", "way")
    names = {line.split()[0] for line in good(post, "workspaces").splitlines()}
    assert names == {"fix", *(f"way-{n}" for n in range(1, 101))}
    inside(post, "rm f7; echo own > own", "way-7")
    assert inside(post, "ls | wc -l; cat f7", "way-8") == "302\n7\n" and "f7" not in inside(post, "ls", "way-7").split()
    assert "way-1" in refused(post, "fork", "-w", "way-7", "-n", "5", "way")
    good(post, "rm", "way-1", "way-2")
    refused(post, "fork", "-w", "way-7", "-n", "5", "way")
    assert good(post, "workspaces").count("way-") == 98
    for number in ("0", "x", "-1", "10001"):
        assert "number of forks" in refused(post, "fork", "-w", "fix", "-n", number, "other")
    assert "can't be a name" in refused(post, "fork", "-w", "fix", "-n", "11", "x" * 61)
    good(post, "rm", "fix", *(f"way-{n}" for n in range(3, 101)))
    assert pool(post) == []


# --- many layers ---

WORK = r"""
import os, random, shutil, sys
r = random.Random(int(sys.argv[1]))
have = sorted(os.path.join(p, n) for p, d, f in os.walk(".") for n in d + f)
folders = [".", *[p for p in have if os.path.isdir(p) and not os.path.islink(p)]]
for _ in range(6):
    path = os.path.join(r.choice(folders), r.choice("abcdef"))
    old = r.choice(have) if have else "a"
    try:
        what = r.randrange(8)
        if what < 3: open(path, "w").write(str(r.random()))
        elif what == 3: os.mkdir(path)
        elif what == 4: os.symlink("a", path)
        elif what == 5: os.remove(old) if not os.path.isdir(old) or os.path.islink(old) else shutil.rmtree(old)
        elif what == 6 and not os.path.islink(old): os.chmod(old, r.choice([0o755, 0o700, 0o555]))
        elif what == 7: os.mkfifo(path + ".pipe")
    except OSError:
        pass
"""
LOOK = r"""
import hashlib, os, stat
for p, d, f in sorted(os.walk(".")):
    for n in sorted(d + f):
        at = os.path.join(p, n); st = os.lstat(at)
        what = os.readlink(at) if os.path.islink(at) else open(at).read() if stat.S_ISREG(st.st_mode) else ""
        print(at, oct(st.st_mode), what)
"""


def test_the_oldest_points_are_merged_and_show_the_same(post, tree):
    setting(post, "points: 8\n")
    seed = int(os.environ.get("RF_SEED", time.time_ns() % 10**6))
    good(post, "create", "--name", "fix", "--workspace", tree)
    seen = {}
    for turn in range(24):
        good(post, "exec", "fix", "--", "python3", "-c", WORK, str(seed + turn))
        head = json.loads(good(post, "log", "-w", "fix", "--json"))["head"]
        seen[head] = inside(post, f"python3 -c '{LOOK}'")
        if turn in (3, 7):
            post.run("checkpoint", "-w", "fix", f"c{turn}")
        if turn == 12:
            good(post, "fork", "-w", "fix", "other")
            forked = {point["id"] for point in points(post)}
        assert len(points(post)) <= 9, f"RF_SEED={seed}"
    kept = points(post)
    assert {"c3", "c7"} <= {point["name"] for point in kept} and kept[-1]["id"] == head
    for name, ids in (("fix", {point["id"] for point in kept}), ("other", forked)):
        for number in ids:
            post.run("undo", "-w", name, f"@{number}")
            assert inside(post, f"python3 -c '{LOOK}'", name) == seen[number], f"RF_SEED={seed} @{number} of {name}"
    assert len(pool(post)) <= len(kept) + len(forked)
    good(post, "rm", "other")
    assert len(pool(post)) == len(kept)
    post.run("undo", "-w", "fix", f"@{head}")
    good(post, "apply", "-w", "fix", "--only", ".", *[
        word for row in json.loads(good(post, "diff", "-w", "fix", "--json")) if row["protected"]
        for word in ("--only", row["path"])])


def test_what_merged_runs_saw_is_known_still(post, tree):
    setting(post, "points: 4\n")
    made(post, tree, "echo one >> README", "echo two >> two")
    good(post, "apply", "-w", "fix")
    for number in range(6):
        inside(post, f"echo {number} >> README; echo {number} > new{number}")
    assert len(points(post)) <= 4
    good(post, "apply", "-w", "fix")
    assert (tree / "README").read_text() == "read me\none\n0\n1\n2\n3\n4\n5\n"
    inside(post, "echo last >> README")
    (tree / "README").write_text("ours\n")
    assert post.run("apply", "-w", "fix").returncode == 125


def test_what_was_undone_is_kept_as_often_as_is_set_and_no_oftener(post, tree):
    setting(post, "points: 4\n")
    made(post, tree, "echo 1 > kept")
    for n in range(3):
        inside(post, f"echo {n} > a; echo {n} > deep")
        inside(post, "rm deep")
        good(post, "undo", "-w", "fix", "2")
    assert len(points(post)) == 7  # four of them were undone before the last two, and may be
    good(post, "undo", "-w", "fix", f"@{points(post)[-1]['id']}")
    good(post, "checkpoint", "-w", "fix", "named")
    good(post, "undo", "-w", "fix", "@1")
    for n in range(6):
        inside(post, f"echo {n} > b")
        good(post, "undo", "-w", "fix")
        assert len(points(post)) <= 3 + 5, points(post)
    assert [point["name"] for point in points(post)].count("named") == 1 and inside(post, "ls") == "README\nkept\nsrc\n"
    assert len(pool(post)) == len(points(post))
    good(post, "undo", "-w", "fix", "named")
    assert inside(post, "cat a kept") == "2\n1\n"


def test_gc_merges_down_to_what_is_set(post, tree):
    made(post, tree, *(f"echo {n} > f{n}" for n in range(10)))
    before = inside(post, "cat f*")
    setting(post, "points: 4\n")
    good(post, "gc")
    assert len(points(post)) <= 4 and inside(post, "cat f*") == before
    assert len(pool(post)) == len(points(post))


def test_as_many_applies_as_anybody_likes(post, tree):
    made(post, tree, "echo first > first")
    for number in range(40):
        inside(post, f"echo {number} >> README; echo {number} > f{number}")
        good(post, "apply", "-w", "fix")
    assert len(json.loads(good(post, "log", "-w", "fix", "--json"))["applies"]) <= 17
    good(post, "undo", "-w", "fix")  # the last apply, and then more of them
    for _ in range(5):
        good(post, "undo", "-w", "fix")
    assert (tree / "README").read_text() == "read me\n" + "".join(f"{n}\n" for n in range(37))
    good(post, "undo", "-w", "fix", "@1")
    assert inside(post, "ls; cat README") == "README\nfirst\nsrc\nread me\n"


def test_two_hundred_checkpoints_lie_on_each_other(post, tree):
    good(post, "create", "--name", "fix", "--workspace", tree)
    for number in range(200):
        inside(post, f"echo {number} > f{number}")
        good(post, "checkpoint", "-w", "fix", f"c{number}")
    assert inside(post, "ls | grep -c f") == "200\n"
    good(post, "undo", "-w", "fix", "c49")
    assert inside(post, "ls | grep -c f") == "50\n"


@pytest.mark.parametrize("text", ["points: 3", "points: 401", "points: many", "points: -5", "points: 8 8"])
def test_a_number_of_points_that_is_none_is_refused(post, tree, text):
    setting(post, text + "\n")
    done = post.run("run", "--", "true")
    assert done.returncode == 125 and "points" in done.stderr
