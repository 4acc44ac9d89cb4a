"""What a box leaves in a workspace that denies its own owner to read it, or is odd in another way: nothing is lost,
nothing stands in the way, and nothing is left half-done."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")

ODD = r"""
import os, stat
os.mkdir("shut"); open("shut/in", "w").write("in\n"); os.mkdir("shut/deep"); open("shut/deep/file", "w").write("deep\n")
os.chmod("shut/deep", 0); os.chmod("shut", 0)
open("blind", "w").write("secret\n"); os.chmod("blind", 0)
os.mkdir("listed"); open("listed/file", "w").write("x\n"); os.chmod("listed", 0o600)
os.mkdir("fixed"); open("fixed/file", "w").write("x\n"); os.chmod("fixed", 0o555)
os.mkfifo("pipe"); os.mknod("socket", stat.S_IFSOCK | 0o600)
open(b"line\nbreak\x1b[31m\xff", "w").write("z\n"); open("n" * 255, "w").write("z\n"); os.symlink("round", "round")
for depth in range(40):
    os.mkdir("d" * 200); os.chdir("d" * 200)
open("bottom", "w").write("deep\n")
"""


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"closed-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post):
    top = post.top / "tree"
    (top / "own").mkdir(parents=True)
    (top / "own/file").write_text("own\n")
    (top / "cache").mkdir()
    (top / "cache/module").write_text("module\n")
    (top / "cache/module").chmod(0o444)
    (top / "cache").chmod(0o555)
    if watchers.IS_ROOT and not post.is_room:
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    good(post, "create", "--name", "odd", "--workspace", top)
    return top


def good(post, *words, wrap=()):
    done = post.run(*words, wrap=wrap)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(post, script):
    return good(post, "exec", "odd", "--", "sh", "-c", script)


def changes(post, *words, wrap=()):
    return {row["path"]: row["change"] for row in json.loads(good(post, "diff", "-w", "odd", "--json", *words, wrap=wrap))}


def points(post):
    return json.loads(good(post, "log", "-w", "odd", "--json"))["points"]


def stays(post, *words):
    rows = json.loads(good(post, "apply", "-w", "odd", "--json", *words))
    return {row["path"]: row["became"] for row in rows if row["became"] != "made"}


def test_what_is_written_to_a_folder_that_is_closed_again_is_kept(post, tree):
    inside(post, "mkdir shut; echo one > shut/one; chmod 0 shut")
    inside(post, "chmod 700 shut; echo two > shut/two; chmod 0 shut")
    inside(post, "chmod 700 own; echo more >> own/file; chmod 0 own")
    assert len(points(post)) == 3
    assert changes(post) == {"shut": "added", "shut/one": "added", "shut/two": "added", "own": "mode",
                             "own/file": "changed"}
    assert inside(post, "chmod 700 shut own; cat shut/* own/file") == "one\ntwo\nown\nmore\n"
    assert good(post, "file", "cat", "-w", "odd", "--at", "@2", "shut/two") == "two\n"


def test_without_user_namespaces_it_is_said_that_a_closed_folder_was_written_to(post, tree, public, who):
    if who == "root":
        pytest.skip("root reads what is closed")
    forbid = public / "forbid-for-closed"
    if not forbid.exists():
        source = pathlib.Path(__file__).resolve().parents[1] / "lesser/forbid.c"
        subprocess.run(["gcc", "-static", "-O1", "-D_GNU_SOURCE", source, "-o", forbid], check=True)
    inside(post, "mkdir shut; echo one > shut/one; chmod 0 shut")
    inside(post, "chmod 700 shut; echo two > shut/two; chmod 0 shut")
    assert changes(post, "@1", "@2", wrap=[forbid, "eperm"]) == {"shut": "changed"}
    assert changes(post, "@1", "@2") == {"shut/two": "added"}


def test_points_with_closed_folders_are_merged(post, tree):
    path = post.top / "config.yaml"
    path.write_text("points: 4\n")
    path.chmod(0o600)
    os.chown(path, *([watchers.USER_ID] * 2 if watchers.IS_ROOT and not post.is_room else [-1, -1]))
    inside(post, "mkdir -p shut/deep; echo 0 > shut/deep/f; echo x > blind; chmod 0 blind shut/deep shut")
    post.env["RINGFORT_CONFIG"] = str(path)
    for number in range(1, 7):
        inside(post, f"chmod 700 shut shut/deep; echo {number} >> shut/deep/f; chmod 0 shut/deep shut")
    assert len(points(post)) <= 4
    said = inside(post, "stat -c %a shut blind; chmod 700 shut shut/deep blind; cat shut/deep/f blind")
    assert said == "0\n0\n" + "".join(f"{n}\n" for n in range(7)) + "x\n"


def test_every_command_takes_what_is_odd(post, tree):
    good(post, "exec", "odd", "--", "python3", "-c", ODD)
    found = changes(post)
    assert {"shut/deep/file", "blind", "listed/file", "fixed/file", "pipe", "socket", "round"} <= set(found)
    for form in (["--stat"], ["--patch"]):
        good(post, "diff", "-w", "odd", *form)
    good(post, "log", "-w", "odd")
    good(post, "checkpoint", "-w", "odd", "all")
    good(post, "undo", "-w", "odd", "@0")
    good(post, "undo", "-w", "odd", "all")
    good(post, "fork", "-w", "odd", "twin")
    assert "in\n" in good(post, "file", "ls", "-w", "odd", "shut")
    archive = subprocess.run([*post.before, post.ringfort, "export", "odd"], env=post.env, cwd="/", check=True,
                             capture_output=True).stdout
    names = subprocess.run(["tar", "--zstd", "-t"], input=archive, capture_output=True, check=True).stdout.decode(errors="replace")
    assert {"shut/deep/file", "blind", "listed/file"} <= set(names.split("\n"))
    apart = [word for path in found for word in ("--only", path) if len(path) < 300]
    left = stays(post, *apart)
    assert {left.get(name) for name in ("pipe", "socket")} == {"no file"}
    closed = {path for path, became in left.items() if became == "closed"}
    if post.is_room:
        assert not closed and stat.S_IMODE((tree / "shut").stat().st_mode) == 0
    else:
        assert closed == {"shut", "shut/in", "shut/deep", "shut/deep/file", "blind", "listed", "listed/file"}
        assert not (tree / "shut").exists()
    assert (tree / "fixed/file").read_text() == "x\n" and stat.S_IMODE((tree / "fixed").stat().st_mode) == 0o555
    good(post, "undo", "-w", "odd")
    assert sorted(os.listdir(tree)) == ["cache", "own"]
    good(post, "discard", "twin")
    good(post, "gc")
    good(post, "rm", "odd", "twin")
    pool = pathlib.Path(f"/proc/self/fd/{post.root}/var/lib" if post.is_room else post.top / "state") / "ringfort/layers/all"
    assert not os.listdir(pool)


def test_a_folder_that_nobody_may_write_to_goes_and_comes_back_as_a_whole(post, tree):
    inside(post, "chmod -R u+w cache; rm -r cache; mkdir mod; echo x > mod/x; chmod 555 mod")
    assert stays(post) == {}
    assert sorted(os.listdir(tree)) == ["mod", "own"]
    good(post, "undo", "-w", "odd")
    assert sorted(os.listdir(tree)) == ["cache", "own"] and (tree / "cache/module").read_text() == "module\n"
    assert stat.S_IMODE((tree / "cache").stat().st_mode) == 0o555


def test_what_a_folder_of_the_directory_does_not_take_stays_and_is_named(post, tree):
    inside(post, "chmod u+w cache; echo new > cache/new; rm -f cache/module; chmod u-w cache; echo ok > fine")
    left = stays(post)
    if post.is_room:
        assert left == {}
    else:
        assert left == {"cache/new": "fixed", "cache/module": "fixed"}
        assert os.listdir(tree / "cache") == ["module"]
    assert (tree / "fine").read_text() == "ok\n"
    good(post, "undo", "-w", "odd")
    assert sorted(os.listdir(tree)) == ["cache", "own"] and os.listdir(tree / "cache") == ["module"]
