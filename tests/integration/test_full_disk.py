"""A disk that is full in the middle: a workspace is what it was or what it was to become, and so is its directory."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = [pytest.mark.usefixtures("as_who"), pytest.mark.skipif(not watchers.IS_ROOT, reason="needs root, to mount small disks")]

LOOK = (r"find . -mindepth 1 -printf '%P %y %m\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | "
        "xargs -0 -r cat | sha256sum")


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    top.mkdir()
    if who == "user":
        os.chown(top, watchers.USER_ID, watchers.USER_ID)
    return top


@contextlib.contextmanager
def small(post, tree, size):
    """The directory lies on a disk of so many bytes; gives a function that makes it another number."""
    enter = post.before if post.is_room else []
    owner = 0 if post.is_room else watchers.USER_ID

    def mount(more):
        subprocess.run([*enter, "mount", "-t", "tmpfs", "-o", f"{more},mode=755,uid={owner},gid={owner}", "none", tree], check=True)

    mount(f"size={size}")
    try:
        yield lambda more: mount(f"remount,size={more}")
    finally:
        subprocess.run([*enter, "umount", "-l", tree], check=True)


def good(post, *words):
    done = post.run(*words)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def full(post, *words, stdin=None):
    done = subprocess.run([*post.before, str(post.ringfort), *map(str, words)], env=post.env, cwd="/", input=stdin, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 125 and b"No space left" in done.stderr, (words, done)


def outside(post, tree):
    return subprocess.run([*post.before, "sh", "-c", f"cd {tree} && {LOOK}"], check=True, capture_output=True, text=True).stdout


def history(post):
    log = json.loads(good(post, "log", "-w", "w", "--json"))
    return log["head"], [(point["id"], point["name"]) for point in log["points"]]


def fill(disk):
    filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(filler, bytes(4096)):
            pass
    os.close(filler)


def test_where_the_layers_lie(post, tree, who):
    tree.joinpath("old").write_text("old\n")
    with post.small_disk("1m") as disk:
        good(post, "create", "--name", "w", "--workspace", tree)
        good(post, "exec", "w", "--", "sh", "-c", "echo 1 > one")
        good(post, "exec", "w", "--", "sh", "-c", "echo 2 > two")
        archive = subprocess.run([*post.before, str(post.ringfort), "export", "w"], env=post.env, cwd="/", capture_output=True, check=True).stdout
        before = history(post)
        big = ["w", "--", "sh", "-c", "head -c 3000000 /dev/zero > big; echo 3 > three"]
        full(post, "exec", *big)  # in memory until the run ends, and then there is no room for all of it: so for nothing
        assert history(post) == before
        done = post.run("exec", "--disk", "1G", *big)  # no room from the beginning, as on any disk
        assert done.returncode != 0 and "No space left" in done.stderr, done.stderr
        assert history(post) == before
        fill(disk)
        before = history(post)
        for words in (["checkpoint", "-w", "w", "name"], ["undo", "-w", "w", "@1"], ["fork", "-w", "w", "other"],
                      ["create", "--name", "more", "--workspace", tree]):
            full(post, *words)
            assert history(post) == before
        full(post, "file", "cp", "-", "w:new", stdin=bytes(100000))
        full(post, "import", "w", stdin=archive)
        assert history(post) == before and good(post, "file", "cat", "-w", "w", "one") == "1\n"
        assert "other" not in good(post, "workspaces") and "more" not in good(post, "workspaces")
        (disk / "filler").unlink()
        good(post, "gc")
        good(post, "checkpoint", "-w", "w", "name")
        good(post, "undo", "-w", "w", "@1")
        assert good(post, "exec", "w", "--", "ls") == "old\none\n"
    assert [path.name for path in tree.iterdir()] == ["old"]


def test_where_it_is_applied_to(post, tree, who):
    with small(post, tree, "1m") as resize:
        subprocess.run([*post.before, "sh", "-c", f"cd {tree} && mkdir d && echo old > d/f1 && echo gone > gone"], check=True)
        before = outside(post, tree)
        good(post, "create", "--name", "w", "--workspace", tree)
        good(post, "exec", "w", "--", "sh", "-c", "rm gone; for n in 1 2 3 4 5 6 7 8 9; do head -c 250000 /dev/urandom > d/f$n; done")
        wanted = good(post, "exec", "w", "--", "sh", "-c", LOOK)
        assert wanted != before
        full(post, "apply", "-w", "w")
        assert outside(post, tree) not in (before, wanted)  # that far it came
        good(post, "undo", "-w", "w")
        assert outside(post, tree) == before
        full(post, "apply", "-w", "w")
        assert good(post, "exec", "w", "--", "sh", "-c", LOOK) == wanted  # the workspace itself knows nothing of it
        resize("8m")
        good(post, "apply", "-w", "w")
        assert outside(post, tree) == wanted
        good(post, "undo", "-w", "w")
        assert outside(post, tree) == before
        resize("1m")
        done = post.run("shadow", "--workspace", tree, "--verify", "true", "--", "sh", "-c", "head -c 2000000 /dev/urandom > d/large")
        assert done.returncode == 125 and outside(post, tree) == before, done.stderr
